/** Three years of a commercial HVAC contractor: busy in summer and in deep winter, growing slowly, forty customers. */

import { customersOf, type Books, type Lines, type Period } from '../../books.ts';
import { daysOf, monthsBefore, yearBefore } from '../../relative-times.ts';
import { dollars } from '../../money.ts';

/** Revenue of each month as a share of an average month's, January first, in thousandths. */
const season = [980, 870, 820, 880, 1010, 1240, 1330, 1270, 1000, 850, 830, 920];

/** Returns a pseudorandom whole number from -reach to reach for a line of a month, the same in every load. */
function wobble(month: number, line: number, reach: number): number {
  let mixed = Math.imul(month + 1, 0x9e3779b1) ^ Math.imul(line + 7, 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  mixed ^= mixed >>> 13;
  return ((mixed >>> 0) % (2 * reach + 1)) - reach;
}

const thousandths = (amount: bigint, parts: number): bigint => (amount * BigInt(parts)) / 1000n;

/** The lines of the nth of the 36 months. */
function linesOf(nth: number, month: number): Lines {
  const yearly = dollars(6_120_000 + nth * 37_500);
  const usual = thousandths(yearly / 12n, season[month - 1] ?? 1000);
  const revenue = thousandths(usual, 1000 + wobble(nth, 1, 24)) + BigInt(wobble(nth, 2, 4999));
  // Materials and field labor; their share of the revenue falls a little every four months.
  const costOfGoodsSold = thousandths(revenue, 641 - Math.floor(nth / 4) + wobble(nth, 3, 11));
  const operatingExpenses =
    dollars(112_400 + nth * 410 + wobble(nth, 4, 3800)) + thousandths(revenue, 14) + BigInt(wobble(nth, 5, 49) + 50);
  return {
    revenue,
    costOfGoodsSold,
    operatingExpenses,
    ownerCompensation: dollars(20_000),
    depreciationAmortization: dollars(11_850 + Math.floor(nth / 12) * 940),
    interestExpense: dollars(3_480) - BigInt(nth * 4_125),
    taxExpense: (revenue * 26n) / 10_000n,
  };
}

/** Customers of the last twelve months, with their shares of the revenue in about ten-thousandths. */
const customersNow = [
  ['Marlow Heights School District', 1385],
  ['Fenwick Cold Storage', 962],
  ['St. Brannoc Senior Living', 741],
  ['Tollgate Office Partners', 587],
  ['Quillfeather Foods', 512],
  ['County of Ashgrove, Facilities', 448],
  ['Pennywhistle Hotels', 396],
  ['Dunmore Road Medical Plaza', 351],
  ['Harvest Lantern Grocers', 327],
  ['Ironbark Distribution', 298],
  ['Bexworth Community College', 276],
  ['Three Chimneys Brewing', 251],
  ['Larkhill Data Halls', 239],
  ['Orchard Gate Apartments', 224],
  ['Saltbox Restaurant Group', 211],
  ['Wren & Tally Printing', 198],
  ['Northfold Auto Mall', 187],
  ['Cobbler Street Church', 176],
  ['Mossbank Veterinary Hospital', 168],
  ['Pinder Plastics', 161],
  ['Upper Fallow Library Board', 154],
  ['Gable & Stave Builders', 147],
  ['Redhen Bakeries', 139],
  ['Village of Carrow Mill', 132],
  ['Lindenwald Dental Associates', 126],
  ['Copper Finch Coffee Works', 121],
  ['Everly Fitness Clubs', 115],
  ['Stonecrop Nursery', 109],
  ['Bluepost Freight Terminal', 104],
  ['Haddon Funeral Homes', 98],
  ['Ridgemere Montessori', 93],
  ['Tinker & Vale Machine', 88],
  ['Amberly Self Storage', 83],
  ['Kettle Run Golf Club', 79],
  ['Moorhen Property Management', 74],
  ['Fallowfield Credit Union', 68],
  ['Old Foundry Lofts', 62],
  ['Sparrow Lane Daycare', 56],
  ['Gantry Theater Trust', 51],
  ['Weatherby Event Barn', 103],
] as const;

/** Customers of the twelve months before: the data hall was still being built, and a warehouse was still a customer. */
const customersBefore = customersNow.map(([name, weight], place): readonly [string, number] => {
  if (name === 'Larkhill Data Halls') return ['Summit Pike Warehousing', 404];
  if (name === 'Marlow Heights School District') return [name, 1184];
  if (name === 'Fenwick Cold Storage') return [name, 1010];
  return [name, weight + wobble(place, 9, Math.floor(weight / 9))];
});

const months = (read: Date): Period[] =>
  monthsBefore(read, 36).map((month, nth) => {
    const { first, last } = daysOf(month);
    return { label: first.slice(0, 7), first, last, lines: linesOf(nth, month.month) };
  });

function wholeOf(periods: readonly Period[]) {
  const revenue = periods.reduce((sum, { lines }) => sum + lines.revenue, 0n);
  return { first: periods[0]?.first ?? '', last: periods.at(-1)?.last ?? '', revenue };
}

/**
 * The books as they were imported for diligence: 36 months, and two years of customers whose revenues add up to that of
 * the months.
 */
export const books: Books = (read) => {
  const periods = months(read);
  return {
    periods,
    customers: [
      customersOf(wholeOf(periods.slice(24)), customersNow),
      customersOf(wholeOf(periods.slice(12, 24)), customersBefore),
    ],
  };
};

const untilDiligence = 184 * 86_400_000;

/**
 * What the broker had for the listing, half a year earlier: the customers of the last calendar year, from the same
 * books.
 */
export const customersAtListing: Books = (read) => {
  const later = months(new Date(read.getTime() + untilDiligence));
  const year = later.filter(({ label }) => label.startsWith(String(yearBefore(read))));
  return { periods: [], customers: [customersOf(wholeOf(year), customersBefore)] };
};
