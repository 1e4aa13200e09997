/** A report as the sheets of a workbook: what was uploaded as numbers, everything that follows from it as formulas over them. */

import { answerInWords } from '../diligence/contradiction-answers.ts';
import { decimal, subtract, sum, written } from '../diligence/decimals.ts';
import { adjustmentCategories } from '../diligence/normalizations.ts';
import { plAmounts, type PlAmount } from '../diligence/snapshots.ts';
import { moneyParts } from '../diligence/worth.ts';
import {
  amount,
  at,
  count,
  day,
  downFrom,
  fixed,
  formula,
  head,
  isKept,
  text,
  textFormula,
  type ReportSheet,
  type SheetCell,
} from './cells.ts';
import type { ReportContents } from './contents.ts';
import type { Paper } from './xlsx.ts';
import {
  categoryWords,
  changeWords,
  computedFrom,
  leftOutWords,
  lineWords,
  moreOffers,
  offersTitle,
  sbaInWords,
  sbaSentence,
  smallerAddBacks,
  standingOf,
  termWords,
  titleOf,
  uploadWords,
} from './words.ts';

type Row = readonly (SheetCell | null)[];
type Earned = ReportContents['computed']['earnings'][number];

/** The first row below a sheet's title, its sentence and its headings. */
const firstRow = 5;
const titled = (title: string, sentence: string, heads: Row): Row[] => [
  [text(title, { title: true })],
  [text(sentence, { faint: true })],
  [],
  heads,
];
const below = { rows: firstRow - 1, columns: 1 };
const dashed = (first: string, last: string): string => `${first} to ${last}`;

/** "A1:A12,A14" of these rows of a column, those that follow each other as one range. */
function listed(sheet: string, column: number, rows: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const row of rows.toSorted((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last && last[1] + 1 === row) last[1] = row;
    else runs.push([row, row]);
  }
  return runs
    .map(([first, last]) => `${sheet}!${first === last ? fixed(column, first) : downFrom(column, first, last)}`)
    .join(',');
}

// ---- What was uploaded: the rows that everything else is computed of.

const firstAmount = 4;

/** As wide as the longest of these amounts needs, shown with two digits behind the point. */
function widthFor(amounts: readonly (string | null | undefined)[]): number {
  const longest = Math.max(0, ...amounts.map((one) => (one ?? '').split('.')[0]?.length ?? 0));
  return Math.min(28, Math.max(12, Math.ceil(longest * (4 / 3)) + 4));
}
const amountColumn = (line: PlAmount): number => firstAmount + plAmounts.indexOf(line);

/** EBITDA and gross profit that nobody uploaded follow from the other lines. */
function plCell({ amounts, gross_profit, ebitda }: ReportContents['periods'][number], line: PlAmount, row: number) {
  const of = (name: PlAmount) => at(amountColumn(name), row);
  if (line === 'gross_profit' && amounts.gross_profit === null && gross_profit !== null)
    return formula(`${of('revenue')}-${of('cost_of_goods_sold')}`, gross_profit);
  if (line === 'ebitda' && amounts.ebitda === null && ebitda !== null)
    return formula(
      `${of('net_income')}+${of('interest_expense')}+${of('tax_expense')}+${of('depreciation_amortization')}`,
      ebitda,
    );
  return amount(amounts[line]);
}

const numbered = (number: number | undefined): SheetCell | null => (number === undefined ? null : count(number));

function periodsSheet({ periods, computed, uploads }: ReportContents): ReportSheet {
  const numbers = new Map(uploads.map(({ id }, place) => [id, place + 1]));
  return {
    name: 'Periods',
    widths: [14, 11, 11, 8, ...plAmounts.map((line) => widthFor(periods.map(({ amounts }) => amounts[line])))],
    rows: [
      ...titled(
        'Profit and loss as uploaded',
        `In ${computed.currency}. Of rows that tell of the same dates the one uploaded last, by the number of the upload. Change an amount, and the other sheets follow.`,
        [
          head('Period', false),
          head('From', false),
          head('To', false),
          head('Upload'),
          ...plAmounts.map((line) => head(lineWords[line])),
        ],
      ),
      ...periods.map((period, place) => [
        text(period.label, { wrap: true }),
        day(period.first),
        day(period.last),
        numbered(numbers.get(period.upload)),
        ...plAmounts.map((line) => plCell(period, line, firstRow + place)),
      ]),
    ],
    frozen: below,
    landscape: true,
  };
}

function adjustmentsSheet({ adjustments, computed }: ReportContents): ReportSheet {
  return {
    name: 'Adjustments',
    widths: [16, 20, 16, 70],
    rows: [
      ...titled(
        'Add-backs and adjustments',
        `In ${computed.currency}. Each counts for the period whose name it bears, letter for letter.`,
        [head('Period', false), head('Category', false), head('Amount'), head('Why', false, { indent: true })],
      ),
      ...adjustments.map((one) => [
        text(one.period_label, { wrap: true }),
        text(categoryWords[one.category]),
        amount(one.amount),
        text(one.rationale ?? '', { wrap: true, indent: true }),
      ]),
    ],
    frozen: below,
    landscape: false,
  };
}

// ---- Earnings.

/** The rows of the sheet of earnings, by what they tell. */
const earningRows = Object.fromEntries(
  [
    'from',
    'to',
    ...plAmounts,
    'space',
    ...adjustmentCategories,
    'adjusted_ebitda',
    'owner_pay_added',
    'sde',
    'space2',
    'gross_margin',
    'ebitda_margin',
    'adjusted_ebitda_margin',
    'revenue_growth',
    'ebitda_growth',
  ].map((name, place) => [name, firstRow + place]),
) as Readonly<Record<string, number>>;
const earningRow = (name: string): number => earningRows[name] ?? 0;

const sumOf = (amounts: readonly string[]): string => written(sum(amounts.map(decimal)));
const differenceOf = (after: string, before: string): string => written(subtract(decimal(after), decimal(before)));

/** The cells of one period, row by row, in the order of {@link earningRows}. */
function earningCells(one: Earned, column: number, contents: ReportContents): (SheetCell | null)[] {
  const places = new Map(contents.periods.map(({ id }, place) => [id, firstRow + place]));
  const rowsOf = (ids: readonly string[]) => ids.flatMap((id) => places.get(id) ?? []);
  const cell = (name: string) => at(column, earningRow(name));
  const last = firstRow + contents.adjustments.length - 1;
  const adjusted = (category: (typeof adjustmentCategories)[number]) => {
    const its = one.adjustments.filter((each) => each.category === category).map((each) => each.amount);
    if (contents.adjustments.length === 0) return formula('0', '0');
    const label = `--EXACT(Adjustments!${downFrom(0, firstRow, last)},${at(column, firstRow - 1)})`;
    const kind = `--(Adjustments!${downFrom(1, firstRow, last)}="${categoryWords[category]}")`;
    return formula(`SUMPRODUCT(${label},${kind},Adjustments!${downFrom(2, firstRow, last)})`, sumOf(its));
  };
  const summed = (line: PlAmount) =>
    one.amounts[line] === null
      ? null
      : formula(`SUM(${listed('Periods', amountColumn(line), rowsOf(one.rows))})`, one.amounts[line]);
  const ratio = (over: string, under: string, comes: string | null) =>
    comes === null ? null : formula(`IF(${cell(under)}>0,ROUND(${cell(over)}/${cell(under)},6),"")`, comes, 'share');
  const before = rowsOf(contents.years_before[contents.computed.earnings.indexOf(one)] ?? []);
  const growth = (line: PlAmount, comes: string | null) => {
    if (comes === null) return null;
    const was = `SUM(${listed('Periods', amountColumn(line), before)})`;
    return formula(`IF(${was}>0,ROUND((${cell(line)}-${was})/${was},6),"")`, comes, 'share');
  };
  const isEarned = one.adjusted_ebitda !== null;
  return [
    day(one.first, { right: true }),
    day(one.last, { right: true }),
    ...plAmounts.map(summed),
    null,
    ...adjustmentCategories.map(adjusted),
    isEarned
      ? formula(
          `${cell('ebitda')}+SUM(${cell(adjustmentCategories[0])}:${cell(adjustmentCategories.at(-1) ?? '')})`,
          one.adjusted_ebitda,
          'amount',
          { bold: true },
        )
      : null,
    one.owner_pay_added === null
      ? null
      : formula(`MAX(0,${cell('owner_compensation')}-${cell('owner_comp')})`, one.owner_pay_added),
    one.sde === null
      ? null
      : formula(`${cell('adjusted_ebitda')}+${cell('owner_pay_added')}`, one.sde, 'amount', { bold: true }),
    null,
    ratio('gross_profit', 'revenue', one.gross_margin),
    ratio('ebitda', 'revenue', one.ebitda_margin),
    ratio('adjusted_ebitda', 'revenue', one.adjusted_ebitda_margin),
    growth('revenue', one.revenue_growth),
    growth('ebitda', one.ebitda_growth),
  ];
}

const earningWords: readonly string[] = [
  'From',
  'To',
  ...plAmounts.map((line) => (line === 'ebitda' ? 'Reported EBITDA' : lineWords[line])),
  '',
  ...adjustmentCategories.map((category) => `Adjustments: ${categoryWords[category]}`),
  'Adjusted EBITDA',
  'Owner’s pay that no adjustment adds back',
  'SDE',
  '',
  'Gross margin',
  'EBITDA margin',
  'Adjusted EBITDA margin',
  'Revenue growth',
  'EBITDA growth',
];

function earningsSheet(contents: ReportContents): ReportSheet {
  const { earnings, currency } = contents.computed;
  const columns = earnings.map((one, place) => earningCells(one, 1 + place, contents));
  return {
    name: 'Earnings',
    widths: [40, ...earnings.map(({ amounts }) => Math.max(15, widthFor(Object.values(amounts))))],
    rows: [
      ...titled('Earnings', `In ${currency}, computed from the sheets Periods and Adjustments.`, [
        head('', false),
        ...earnings.map(({ label }) => head(label)),
      ]),
      ...earningWords.map((word, place) => [
        text(word, { bold: word === 'Adjusted EBITDA' || word === 'SDE' }),
        ...columns.map((cells) => cells[place] ?? null),
      ]),
    ],
    frozen: below,
    landscape: true,
  };
}

// ---- Customers.

/** Where the sheet of customers begins to list them: below what they come to together. */
const customerHead = 10;

function customersSheet({ customers, periods, computed }: ReportContents): ReportSheet | null {
  if (!customers) return null;
  const { others } = customers;
  const listing = [
    ...customers.customers,
    ...(others.count > 0
      ? [
          {
            name: `${others.count} more together`,
            revenue: others.revenue,
            share: null,
            cumulative: null,
          },
        ]
      : []),
  ];
  const [first, last] = [customerHead + 1, customerHead + listing.length];
  const lastTold = customerHead + customers.customers.length;
  const revenues = downFrom(1, first, last);
  const [total, ofRevenue] = ['$B$4', '$B$5'];
  const places = new Map(periods.map(({ id }, place) => [id, firstRow + place]));
  const rows = customers.rows.flatMap((id) => places.get(id) ?? []);
  const ofPeriods = (line: PlAmount) => `SUM(${listed('Periods', amountColumn(line), rows)})`;
  const isWhole = others.count === 0;
  const without = customers.ebitda_without_largest;
  const summary: Row[] = [
    [text(`Customers, ${dashed(customers.first, customers.last)}`, { title: true })],
    [text(`In ${customers.currency}, of the upload completed last that tells of them.`, { faint: true })],
    [],
    [text('Uploaded customers together'), formula(`SUM(${revenues})`, customers.total)],
    [
      text('Revenue of the same dates'),
      customers.revenue === null ? null : formula(ofPeriods('revenue'), customers.revenue),
    ],
    [
      text('HHI of the uploaded customers, up to 10,000'),
      customers.hhi === null
        ? null
        : isWhole
          ? formula(`ROUND(SUMSQ(${revenues})*10000/${total}^2,0)`, customers.hhi, 'count')
          : amount(customers.hhi, { format: 'count' }),
    ],
    [
      text('HHI of all revenue'),
      customers.hhi_of_revenue === null
        ? null
        : isWhole
          ? formula(`ROUND(SUMSQ(${revenues})*10000/${ofRevenue}^2,0)`, customers.hhi_of_revenue, 'count')
          : amount(customers.hhi_of_revenue, { format: 'count' }),
    ],
    [
      text('Reported EBITDA without the largest, at gross margin'),
      without === null
        ? null
        : formula(
            `ROUND((${ofPeriods('ebitda')}*${ofRevenue}-${fixed(1, first)}*${ofPeriods('gross_profit')})/${ofRevenue},2)`,
            without,
          ),
    ],
    [text(computed.concentration ? leftOutWords(computed.concentration.left_out) : '', { faint: true })],
    [
      head('Customer', false),
      head('Revenue'),
      head('Share of customers'),
      head('Cumulative'),
      head('Share of revenue'),
      head('Cumulative'),
    ],
  ];
  return {
    name: 'Customers',
    widths: [48, Math.max(16, widthFor([customers.total])), 14, 12, 14, 12],
    rows: [
      ...summary,
      ...listing.map((one, place): Row => {
        const row = first + place;
        const upTo = `SUM(${fixed(1, first)}:${at(1, row)})`;
        const share = (body: string, of: string, comes: string | null | undefined) =>
          comes === null || comes === undefined || row > lastTold
            ? null
            : formula(`IF(${of}>0,ROUND(${body}/${of},6),"")`, comes, 'share');
        const told = customers.customers[place];
        return [
          text(one.name, { wrap: true }),
          amount(one.revenue),
          share(at(1, row), total, told?.share),
          share(upTo, total, told?.cumulative),
          share(at(1, row), ofRevenue, told?.share_of_revenue),
          share(upTo, ofRevenue, told?.cumulative_of_revenue),
        ];
      }),
    ],
    frozen: { rows: customerHead, columns: 1 },
    landscape: false,
  };
}

function changesSheet({ changes }: ReportContents): ReportSheet | null {
  if (!changes) return null;
  const listing = changes.parts.flatMap(({ kind, items, others }) => [
    ...items.map((item) => ({ ...item, kind })),
    ...(others.count > 0 ? [{ name: `${others.count} more together`, ...others, kind }] : []),
  ]);
  const [first, last] = [firstRow + 7, firstRow + 6 + listing.length];
  const sums = changes.parts.map(({ kind, difference }): Row => [
    text(changeWords[kind]),
    null,
    null,
    formula(`SUMIF(${downFrom(4, first, last)},"${changeWords[kind]}",${downFrom(3, first, last)})`, difference),
  ]);
  return {
    name: 'Customer changes',
    widths: [46, 17, 17, 17, 20],
    rows: [
      ...titled(
        'What became of the customers',
        `In ${changes.currency}: ${dashed(changes.before.first, changes.before.last)}, and ${dashed(changes.after.first, changes.after.last)}. By their exact names.`,
        [head('Customer', false), head('Before'), head('After'), head('Difference'), head('', false, { indent: true })],
      ),
      [
        text('All together', { bold: true }),
        formula(`SUM(${downFrom(1, first, last)})`, changes.before.total, 'amount', { bold: true }),
        formula(`SUM(${downFrom(2, first, last)})`, changes.after.total, 'amount', { bold: true }),
        formula(
          `${at(2, firstRow)}-${at(1, firstRow)}`,
          differenceOf(changes.after.total, changes.before.total),
          'amount',
          { bold: true },
        ),
      ],
      ...sums,
      [],
      ...listing.map(({ name, before, after, kind }, place): Row => {
        const row = first + place;
        const [was, is] = [at(1, row), at(2, row)];
        return [
          text(name, { wrap: true }),
          kind === 'new' ? null : amount(before),
          kind === 'lost' ? null : amount(after),
          formula(`${is}-${was}`, differenceOf(after, before)),
          textFormula(
            `IF(ISBLANK(${was}),"${changeWords.new}",IF(ISBLANK(${is}),"${changeWords.lost}",IF(ROUND(${is}-${was},4)=0,"${changeWords.kept}",IF(${is}>${was},"${changeWords.grown}","${changeWords.shrunk}"))))`,
            changeWords[kind],
            { indent: true },
          ),
        ];
      }),
    ],
    frozen: below,
    landscape: false,
  };
}

// ---- Offers.

type Offer = ReportContents['offers']['items'][number];

const offerTerms = ['purchase_price', ...moneyParts] as const;
const sharedParts = [...moneyParts, 'unsaid'] as const;

/** The rows of the sheet of offers, by what they tell: a column for each offer. */
const offerRows = [
  'standing',
  'revision',
  'submitted',
  'close_by',
  'contingency',
  'currency',
  'space',
  ...offerTerms,
  'unsaid',
  'beyond_price',
  'space',
  ...sharedParts.map((part) => `share_${part}` as const),
  'space',
  'x_adjusted_ebitda',
  'x_reported_ebitda',
  'x_sde',
  'x_revenue',
  'space',
  'debt',
  'cost_1.15',
  'cost_1.25',
] as const;
type OfferRow = (typeof offerRows)[number];
const offerRow = (name: OfferRow): number => firstRow + offerRows.indexOf(name);

const offerWords: Readonly<Record<OfferRow, string>> = {
  space: '',
  standing: 'The offer',
  revision: 'Revision',
  submitted: 'Submitted',
  close_by: 'Close by',
  contingency: 'Financing contingency',
  currency: 'Currency',
  ...termWords,
  beyond_price: 'Parts beyond the price',
  share_cash_at_close: 'Share: cash at close',
  share_seller_note: 'Share: seller’s note',
  share_earnout: 'Share: earn-out',
  share_rollover_equity: 'Share: rollover equity',
  share_unsaid: 'Share: not said',
  x_adjusted_ebitda: 'Price by adjusted EBITDA',
  x_reported_ebitda: 'Price by reported EBITDA',
  x_sde: 'Price by SDE',
  x_revenue: 'Price by revenue',
  debt: 'Debt',
  'cost_1.15': 'May cost a year, covered 1.15 times',
  'cost_1.25': 'May cost a year, covered 1.25 times',
};

/** Where on the sheet of earnings stands what the offers are held against: the cell of a line, or null. */
function basisCells({ offers: { basis }, computed }: ReportContents): (line: string) => string | null {
  const place = computed.earnings.findIndex(({ label, kind }) => label === basis?.period && kind !== 'partial_year');
  return (line) => (place < 0 ? null : `Earnings!${fixed(1 + place, earningRow(line))}`);
}

/**
 * The part of `total` that falls to one of `weights`, as the domain divides (`apportion`): whole units, of which what rounding
 * leaves over goes to where most was cut off, of equal ones to the first. `order` says which come first: of all, and of this one.
 */
function apportioned(
  total: string,
  units: string,
  weights: string,
  weight: string,
  order: { all: string; own: string },
): string {
  const exact = (of: string) => `ROUND(${total}*${units}*${of}/SUM(${weights}),6)`;
  const rest = (of: string, place: string) => `(ROUND(${exact(of)}-INT(${exact(of)}),6)-${place}/10^12)`;
  const before = `SUMPRODUCT(--(${rest(weights, order.all)}>${rest(weight, order.own)}))`;
  const left = `ROUND(${total}*${units}-SUMPRODUCT(INT(${exact(weights)})),0)`;
  return `(INT(${exact(weight)})+(${before}<${left}))/${units}`;
}

function offerCells(offer: Offer, column: number, contents: ReportContents): Record<OfferRow, SheetCell | null> {
  const earned = basisCells(contents);
  const cell = (name: OfferRow) => at(column, offerRow(name));
  const price = cell('purchase_price');
  const parts = `SUM(${cell('cash_at_close')}:${cell('rollover_equity')})`;
  const { money } = offer;
  const partOf = (wanted: string) => money?.parts.find(({ part }) => part === wanted);
  const times = (line: string, comes: string | null | undefined) => {
    const under = earned(line);
    if (!under || comes === null || comes === undefined) return null;
    return formula(`IF(${under}>0,ROUND(${price}/${under},2),"")`, comes, 'multiple');
  };
  const adjusted = earned('adjusted_ebitda');
  const most = (coverage: string, comes: string | null | undefined) => {
    if (!adjusted || comes === null || comes === undefined) return null;
    return formula(`ROUNDDOWN(ROUND(${adjusted}/(${coverage}*${cell('debt')}),9),3)`, comes, 'share');
  };
  const all = `${fixed(column, offerRow('cash_at_close'))}:${fixed(column, offerRow('unsaid'))}`;
  const shareOf = (part: (typeof sharedParts)[number]) => {
    if (money === null) return null;
    const order = { all: `ROW(${all})`, own: `ROW(${cell(part)})` };
    const body = `IF(SUM(${all})>0,${apportioned('1', '10000', all, cell(part), order)},"")`;
    return formula(body, partOf(part)?.share ?? '0', 'share');
  };
  const isPriced = offer.amounts.purchase_price !== null && money !== null;
  const yesOrNo = offer.financing_contingency === null ? '' : offer.financing_contingency ? 'Yes' : 'No';
  const right = { right: true };
  return {
    space: null,
    standing: text(standingOf(offer), right),
    revision: count(offer.revision),
    submitted: day(offer.submitted_at.slice(0, 10), right),
    close_by: offer.target_close_date === null ? null : day(offer.target_close_date, right),
    contingency: text(yesOrNo, right),
    currency: text(offer.currency ?? '', right),
    purchase_price: amount(offer.amounts.purchase_price, { bold: true }),
    cash_at_close: amount(offer.amounts.cash_at_close),
    seller_note: amount(offer.amounts.seller_note),
    earnout: amount(offer.amounts.earnout),
    rollover_equity: amount(offer.amounts.rollover_equity),
    unsaid: isPriced ? formula(`MAX(0,${price}-${parts})`, partOf('unsaid')?.amount ?? '0') : null,
    beyond_price: isPriced ? formula(`MAX(0,${parts}-${price})`, money.beyond_price ?? '0') : null,
    share_cash_at_close: shareOf('cash_at_close'),
    share_seller_note: shareOf('seller_note'),
    share_earnout: shareOf('earnout'),
    share_rollover_equity: shareOf('rollover_equity'),
    share_unsaid: shareOf('unsaid'),
    x_adjusted_ebitda: times('adjusted_ebitda', offer.multiples?.adjusted_ebitda),
    x_reported_ebitda: times('ebitda', offer.multiples?.reported_ebitda),
    x_sde: times('sde', offer.multiples?.sde),
    x_revenue: times('revenue', offer.multiples?.revenue),
    debt: amount(offer.coverage?.debt ?? null),
    'cost_1.15': most('1.15', offer.most_costs[0]),
    'cost_1.25': most('1.25', offer.most_costs[1]),
  };
}

function offersSheet(contents: ReportContents): ReportSheet | null {
  const { items, basis, more } = contents.offers;
  if (items.length === 0) return null;
  const columns = items.map((offer, place) => offerCells(offer, 1 + place, contents));
  const against = basis
    ? `Multiples against ${basis.period}. The debt is what is recorded as borrowed, or where nothing is, all cash but the buyer’s own money, with the seller’s note.`
    : 'There are no earnings to hold them against.';
  return {
    name: 'Offers',
    widths: [38, ...Array.from({ length: Math.max(3, items.length) }, () => 18)],
    rows: [
      ...titled(offersTitle(contents), more ? `${against} ${moreOffers}` : against, [
        head('', false),
        ...items.map(({ buyer }) => head(buyer)),
      ]),
      ...offerRows.map((name) => [
        text(offerWords[name], { bold: name === 'purchase_price' }),
        ...columns.map((cells) => cells[name]),
      ]),
      ...comparedRows(contents, firstRow + offerRows.length + 1),
    ],
    frozen: below,
    landscape: true,
  };
}

/** The two best offers side by side, below the others; `row` is that of their heading. */
function comparedRows({ offers: { items, compared } }: ReportContents, row: number): Row[] {
  const place = (id: string) => items.findIndex((offer) => offer.id === id);
  if (!compared) return [];
  const [first, second] = [place(compared.first), place(compared.second)];
  if (first < 0 || second < 0) return [];
  return [
    [],
    [
      head('The two highest side by side', false),
      head(items[first]?.buyer ?? ''),
      head(items[second]?.buyer ?? ''),
      head('Difference'),
    ],
    ...compared.differences.map((one, place0): Row => {
      const here = row + 1 + place0;
      return [
        text(termWords[one.term]),
        formula(at(1 + first, offerRow(one.term)), one.first),
        formula(at(1 + second, offerRow(one.term)), one.second),
        formula(`${at(1, here)}-${at(2, here)}`, one.by),
      ];
    }),
  ];
}

/** What of each price is paid for reported EBITDA and for each add-back, at the multiple of adjusted EBITDA. */
function addBacksSheet(contents: ReportContents): ReportSheet | null {
  const { items, basis } = contents.offers;
  const earned = basisCells(contents);
  const [reported, adjusted] = [earned('ebitda'), earned('adjusted_ebitda')];
  const held = items.flatMap((offer, place) => (offer.paid_for ? [{ offer, paid: offer.paid_for, place }] : []));
  if (!basis || !reported || !adjusted || held.length === 0 || basis.add_backs.length === 0) return null;
  const [first, last] = [firstRow, firstRow + basis.add_backs.length];
  const weights = downFrom(2, first, last);
  // What rounding leaves over goes by the ids of the add-backs where it is a tie, and first to reported EBITDA.
  const byId = basis.add_backs.map(({ id }) => id).toSorted((a, b) => (a < b ? -1 : 1));
  const places = [0, ...basis.add_backs.map(({ id }) => 1 + byId.indexOf(id))];
  const amountOf = ({ id, amount: told }: (typeof basis.add_backs)[number]): SheetCell => {
    const row = contents.adjustments.findIndex((one) => one.id === id);
    return row < 0
      ? formula(`${adjusted}-SUM(${downFrom(2, first, last - 1)})`, told)
      : formula(`Adjustments!${fixed(2, firstRow + row)}`, told);
  };
  const cells = (row: number, amounts: (of: (typeof held)[number]) => readonly [worth?: string, without?: string]) =>
    held.flatMap((one, column): (SheetCell | null)[] => {
      const [worth, without] = amounts(one);
      const price = `Offers!${fixed(1 + one.place, offerRow('purchase_price'))}`;
      const units = `10^${Math.max(2, one.offer.price_digits)}`;
      const order = { all: `{${places.join(';')}}`, own: String(places[row - first] ?? 0) };
      return [
        worth === undefined ? null : formula(apportioned(price, units, weights, fixed(2, row), order), worth),
        without === undefined ? null : formula(`${price}-${at(3 + 2 * column, row)}`, without),
      ];
    });
  return {
    name: 'Add-backs',
    widths: [24, 40, 16, ...held.flatMap(() => [18, 18])],
    rows: [
      ...titled(
        'What is paid for each add-back',
        `At the multiple of adjusted EBITDA of ${basis.period}, and the price at the same multiple if it does not stand.`,
        [
          head('Add-back', false),
          head('Why', false),
          head('Amount'),
          ...held.flatMap(({ offer }) => [head(`${offer.buyer} pays`), head('Price without it')]),
        ],
      ),
      [
        text('Reported EBITDA'),
        null,
        formula(reported, basis.reported_ebitda),
        ...cells(first, ({ paid }) => [paid.reported_ebitda]),
      ],
      ...basis.add_backs.map((one, place): Row => {
        const row = first + 1 + place;
        return [
          text(one.category ? categoryWords[one.category] : smallerAddBacks),
          text(one.rationale ?? '', { wrap: true }),
          amountOf(one),
          ...cells(row, ({ paid }) => {
            const found = paid.add_backs.find(({ id }) => id === one.id);
            return [found?.worth, found?.price_without];
          }),
        ];
      }),
      [
        text('Together', { bold: true }),
        null,
        formula(`SUM(${weights})`, basis.adjusted_ebitda, 'amount', { bold: true }),
        ...held.flatMap(({ offer }, column) => [
          formula(`SUM(${downFrom(3 + 2 * column, first, last)})`, offer.amounts.purchase_price, 'amount', {
            bold: true,
          }),
          null,
        ]),
      ],
    ],
    frozen: below,
    landscape: true,
  };
}

function sbaSheet({ offers: { items, sba_rules: rules } }: ReportContents): ReportSheet | null {
  const rows = items.flatMap(({ buyer, sba }) =>
    (sba ?? []).map(({ id, answer }): Row => {
      const rule = rules.find((one) => one.id === id);
      const [result, sentence] = sbaInWords(answer);
      return [
        text(buyer, { wrap: true }),
        text(result),
        text(sentence, { wrap: true }),
        text(rule?.rule ?? id, { wrap: true }),
        text(rule?.citation ?? '', { wrap: true }),
        rule ? day(rule.effective) : null,
      ];
    }),
  );
  if (rows.length === 0) return null;
  return {
    name: 'SBA rules',
    widths: [24, 9, 48, 48, 28, 11],
    rows: [
      ...titled('SBA 7(a) rules', sbaSentence, [
        head('Buyer', false),
        head('Answer', false),
        head('Why, or what to ask', false),
        head('Rule', false),
        head('Stands in', false),
        head('Since', false),
      ]),
      ...rows,
    ],
    frozen: below,
    landscape: true,
  };
}

// ---- What is to be cleared up, restated, and uploaded.

function contradictionsSheet({ computed: { contradictions } }: ReportContents): ReportSheet | null {
  const { explained } = contradictions;
  const items = [...contradictions.items, ...explained.items];
  if (items.length === 0) return null;
  const more = contradictions.count + explained.count - items.length;
  return {
    name: 'To clear up',
    widths: [66, 50, 50],
    rows: [
      ...titled(
        'To clear up',
        'Where the uploaded figures contradict themselves, what to ask, and what a broker says to it.',
        [head('What contradicts itself', false), head('What to ask', false), head('Answer', false)],
      ),
      ...items.map(({ sentence, ask, answer }) => [
        text(sentence, { wrap: true }),
        answer ? null : text(ask, { wrap: true }),
        answer ? text(answerInWords(answer), { wrap: true }) : null,
      ]),
      ...(more > 0 ? [[text(`And ${more} more.`, { faint: true })]] : []),
    ],
    frozen: below,
    landscape: true,
  };
}

function restatedSheet({ computed: { restatements } }: ReportContents): ReportSheet | null {
  if (restatements.count === 0) return null;
  const more = restatements.count - restatements.items.length;
  return {
    name: 'Restated',
    widths: [16, 32, 10, 16, 16, 16],
    rows: [
      ...titled('Restated figures', 'Where two uploads tell of the same dates, line by line.', [
        head('Period', false),
        head('Line', false),
        head('Currency', false),
        head('Before'),
        head('Now'),
        head('Difference'),
      ]),
      ...restatements.items.map((one, place): Row => [
        text(one.label, { wrap: true }),
        text(lineWords[one.line]),
        text(one.currency),
        amount(one.old),
        amount(one.new),
        formula(`${at(4, firstRow + place)}-${at(3, firstRow + place)}`, one.difference),
      ]),
      ...(more > 0 ? [[text(`And ${more} more.`, { faint: true })]] : []),
    ],
    frozen: below,
    landscape: false,
  };
}

function uploadsSheet({ uploads }: ReportContents): ReportSheet {
  return {
    name: 'Uploads',
    widths: [8, 40, 34, 12, 26],
    rows: [
      ...titled('What was uploaded, and by whom', 'Completed uploads, the latest first.', [
        head('Number'),
        head('Upload', false, { indent: true }),
        head('Tells of', false),
        head('Completed', false),
        head('By', false),
      ]),
      ...uploads.map((one, place) => [
        count(place + 1),
        text(one.source_name ?? 'Without a name', { wrap: true, indent: true }),
        text(uploadWords[one.snapshot_type]),
        day(one.completed_at.slice(0, 10)),
        text(one.by ?? 'Someone', { wrap: true }),
      ]),
    ],
    frozen: below,
    landscape: false,
  };
}

/** How many amounts have more digits than a spreadsheet keeps. */
function cutAmounts({ periods, adjustments, customers, offers }: ReportContents): number {
  const all = [
    ...periods.flatMap(({ amounts }) => plAmounts.map((line) => amounts[line])),
    ...adjustments.map((one) => one.amount),
    ...(customers?.customers ?? []).map(({ revenue }) => revenue),
    ...offers.items.flatMap((offer) => offerTerms.map((term) => offer.amounts[term])),
  ];
  return all.filter((one) => one !== null && !isKept(one)).length;
}

function summarySheet(contents: ReportContents): ReportSheet {
  const { deal, computed, offers, reader } = contents;
  const cell = basisCells(contents);
  const { basis } = offers;
  const figure = (word: string, line: string, comes: string | null | undefined): Row[] => {
    const from = cell(line);
    return from && comes ? [[text(word), formula(from, comes)]] : [];
  };
  const cut = cutAmounts(contents);
  const asked = deal.asking_price;
  return {
    name: 'Summary',
    widths: [44, 44],
    rows: [
      [text(titleOf(contents), { title: true, span: 2 }), null],
      [text(computedFrom, { faint: true })],
      [],
      [text('Brokerage'), text(deal.brokerage, { right: true, wrap: true })],
      [text('Made for'), text(reader, { right: true, wrap: true })],
      [text('On'), day(contents.day, { right: true })],
      [text('Amounts are in'), text(computed.currency, { right: true })],
      ...(asked === null ? [] : [[text(`Asking price, in ${deal.currency}`), amount(asked)]]),
      [],
      ...(basis
        ? [
            [text(`Earnings of ${basis.period}`, { bold: true })],
            ...figure('Revenue', 'revenue', basis.revenue),
            ...figure('Reported EBITDA', 'ebitda', basis.reported_ebitda),
            ...figure('Adjusted EBITDA', 'adjusted_ebitda', basis.adjusted_ebitda),
            ...figure('SDE', 'sde', basis.sde),
          ]
        : [[text('There are no earnings of twelve months that you may see.')]]),
      ...(cut > 0
        ? [
            [],
            [
              text(
                `${cut} of the amounts ${cut === 1 ? 'has' : 'have'} more than the 15 digits that a spreadsheet keeps, and ${cut === 1 ? 'is' : 'are'} rounded to them here.`,
                { faint: true, wrap: true, span: 2 },
              ),
              null,
            ],
          ]
        : []),
    ],
    landscape: false,
  };
}

/** The sheets of a report; one that would tell nothing is left out. */
export function reportSheets(contents: ReportContents): ReportSheet[] {
  const hasEarnings = contents.computed.earnings.length > 0;
  return [
    summarySheet(contents),
    hasEarnings ? earningsSheet(contents) : null,
    customersSheet(contents),
    changesSheet(contents),
    offersSheet(contents),
    addBacksSheet(contents),
    sbaSheet(contents),
    contradictionsSheet(contents),
    restatedSheet(contents),
    contents.periods.length > 0 ? periodsSheet(contents) : null,
    hasEarnings || contents.adjustments.length > 0 ? adjustmentsSheet(contents) : null,
    contents.uploads.length > 0 ? uploadsSheet(contents) : null,
  ].filter((sheet) => sheet !== null);
}

/** What the reader's printer is taken to hold: by the currency of the deal, as nothing else tells where they are. */
export const paperOf = ({ deal }: ReportContents): Paper => (['USD', 'CAD'].includes(deal.currency) ? 'Letter' : 'A4');
