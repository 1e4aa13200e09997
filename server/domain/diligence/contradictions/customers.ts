/** Finds customer revenue that does not fit the profit and loss of the same dates. */

import { plural } from '../../../lib/plural.ts';
import { datesOf, type BookedPeriod } from '../books.ts';
import { byText } from '../calendar.ts';
import { isNegative, spoken, subtract, sum } from '../decimals.ts';
import { together } from '../earnings.ts';
import type { Found } from './contradiction.ts';
import { differs } from './rounded.ts';
import { partsOf, type View } from './view.ts';
import { listed, sayDifference } from './words.ts';

/** Periods whose customers do not add up to the revenue of the same dates. */
export function customersOff({ byDates, months, pieces, mended, listings }: View): Found[] {
  return listings.flatMap((listing): Found[] => {
    const [one] = listing;
    if (!one || listing.some(({ currency }) => currency !== one.currency)) return [];
    const revenueOf = (row: BookedPeriod) => (mended.get(row.id) ?? row.amounts).revenue;
    const row = byDates.get(datesOf(one));
    const parts = partsOf(one.first, one.last, { months, pieces });
    const reported = [row ? [row] : [], parts ?? []].flatMap((its) => {
      const values = its.map(revenueOf);
      const amount = together(values);
      return amount ? [{ amount, values }] : [];
    });
    const revenue = reported[0]?.amount;
    const counting = row ?? parts?.[0];
    if (!revenue || counting?.currency !== one.currency) return [];
    const total = sum(listing.map((customer) => customer.revenue));
    const billed = { values: listing.map((customer) => customer.revenue) };
    if (reported.some(({ amount, values }) => !differs(total, amount, { values }, billed))) return [];
    const difference = subtract(total, revenue);
    return [
      {
        kind: 'customers_total',
        of: `${one.first} ${one.last}`,
        sentence: `The customers of ${one.first} to ${one.last} come to ${spoken(total)}, but the revenue of the same dates is ${spoken(revenue)}: ${sayDifference(difference)}.`,
        ask: isNegative(difference)
          ? 'Ask whether the list has all customers, and who brought in the rest.'
          : 'Ask which customers were billed outside of these dates or counted twice.',
        amounts: { customers: total, revenue, difference },
        rows: row ? [row.id] : (parts ?? []).map(({ id }) => id),
      },
    ];
  });
}

/** Customers in another currency than the profit and loss of the same dates. */
export function customersInOtherCurrency({ byDates, months, pieces, listings }: View): Found[] {
  return listings.flatMap((its): Found[] => {
    const [one] = its;
    const reported = one && (byDates.get(datesOf(one)) ?? partsOf(one.first, one.last, { months, pieces })?.[0]);
    const foreign = reported
      ? its.filter(({ currency }) => currency !== reported.currency).toSorted((a, b) => byText(a.id, b.id))
      : [];
    if (!one || !reported || foreign.length === 0) return [];
    const revenue = sum(foreign.map((customer) => customer.revenue));
    return [
      {
        kind: 'currency',
        of: `customers ${one.first} ${one.last}`,
        says: [reported.currency, ...foreign.map(({ currency }) => currency).toSorted(byText)],
        sentence: `${plural(foreign.length, 'customer')} of ${one.first} to ${one.last} ${foreign.length === 1 ? 'is' : 'are'} in ${listed([...new Set(foreign.map(({ currency }) => currency))])}, but the profit and loss is in ${reported.currency}.`,
        ask: 'Ask in which currency these customers were billed.',
        amounts: { revenue },
        rows: foreign.map(({ id }) => id).slice(0, 20),
      },
    ];
  });
}
