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
  sbaInWords,
  sbaSentence,
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

function periodsSheet({ periods, computed }: ReportContents): ReportSheet {
  return {
    name: 'Periods',
    widths: [14, 11, 11, 24, ...plAmounts.map(() => 16)],
    rows: [
      ...titled(
        'Profit and loss as uploaded',
        `In ${computed.currency}. Of rows that tell of the same dates the one uploaded last. Change a number, and the other sheets follow.`,
        [
          head('Period', false),
          head('From', false),
          head('To', false),
          head('Upload', false),
          ...plAmounts.map((line) => head(lineWords[line])),
        ],
      ),
      ...periods.map((period, place) => [
        text(period.label),
        day(period.first),
        day(period.last),
        text(period.upload ?? ''),
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
    widths: [16, 20, 16, 80],
    rows: [
      ...titled(
        'Add-backs and adjustments',
        `In ${computed.currency}. Each counts for the period whose name it bears, letter for letter.`,
        [head('Period', false), head('Category', false), head('Amount'), head('Why', false)],
      ),
      ...adjustments.map((one) => [
        text(one.period_label),
        text(categoryWords[one.category]),
        amount(one.amount),
        text(one.rationale ?? '', { wrap: true }),
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
    day(one.first),
    day(one.last),
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
    widths: [40, ...earnings.map(() => 16)],
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
    widths: [52, 18, 18, 14, 18, 14],
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
          text(one.name),
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
    widths: [52, 18, 18, 18, 20],
    rows: [
      ...titled(
        'What became of the customers',
        `In ${changes.currency}: ${dashed(changes.before.first, changes.before.last)}, and ${dashed(changes.after.first, changes.after.last)}. By their exact names.`,
        [head('Customer', false), head('Before'), head('After'), head('Difference'), head('', false)],
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
          text(name),
          kind === 'new' ? null : amount(before),
          kind === 'lost' ? null : amount(after),
          formula(`${is}-${was}`, differenceOf(after, before)),
          textFormula(
            `IF(ISBLANK(${was}),"${changeWords.new}",IF(ISBLANK(${is}),"${changeWords.lost}",IF(ROUND(${is}-${was},4)=0,"${changeWords.kept}",IF(${is}>${was},"${changeWords.grown}","${changeWords.shrunk}"))))`,
            changeWords[kind],
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

const offerColumns = ['purchase_price', ...moneyParts] as const;
const firstTerm = 6;
const termColumn = (term: (typeof offerColumns)[number]): number => firstTerm + offerColumns.indexOf(term);

/** Where on the sheet of earnings stands what the offers are held against: the cell of a line, or null. */
function basisCells({ offers: { basis }, computed }: ReportContents): (line: string) => string | null {
  const place = computed.earnings.findIndex(({ label, kind }) => label === basis?.period && kind !== 'partial_year');
  return (line) => (place < 0 ? null : `Earnings!${fixed(1 + place, earningRow(line))}`);
}

const offerStanding = ({ agreed, expired }: Offer): string => (agreed ? 'Agreed' : expired ? 'Expired' : 'Stands');

function offersSheet(contents: ReportContents): ReportSheet | null {
  const { items, basis } = contents.offers;
  if (items.length === 0) return null;
  const earned = basisCells(contents);
  const price = (row: number) => at(termColumn('purchase_price'), row);
  const unsaidColumn = termColumn('rollover_equity') + 1;
  const debtColumn = unsaidColumn + 1 + 4;
  const partOf = (offer: Offer, wanted: string) => offer.money?.parts.find(({ part }) => part === wanted);
  const rows = items.map((offer, place): Row => {
    const row = firstRow + place;
    const parts = `SUM(${at(termColumn('cash_at_close'), row)}:${at(termColumn('rollover_equity'), row)})`;
    const times = (line: string, comes: string | null | undefined) => {
      const cell = earned(line);
      if (!cell || comes === null || comes === undefined) return null;
      return formula(`IF(${cell}>0,ROUND(${price(row)}/${cell},2),"")`, comes, 'multiple');
    };
    const adjusted = earned('adjusted_ebitda');
    const most = (coverage: string, comes: string | null | undefined) => {
      if (!adjusted || comes === null || comes === undefined) return null;
      const exact = `${adjusted}/(${coverage}*${at(debtColumn, row)})`;
      return formula(`ROUNDDOWN(ROUND(${exact},9),3)`, comes, 'share');
    };
    return [
      text(offer.buyer),
      text(offerStanding(offer)),
      count(offer.revision),
      day(offer.submitted_at.slice(0, 10)),
      offer.target_close_date === null ? null : day(offer.target_close_date),
      text(offer.currency ?? ''),
      ...offerColumns.map((term) => amount(offer.amounts[term])),
      offer.amounts.purchase_price === null || offer.money === null
        ? null
        : formula(`MAX(0,${price(row)}-${parts})`, partOf(offer, 'unsaid')?.amount ?? '0'),
      times('adjusted_ebitda', offer.multiples?.adjusted_ebitda),
      times('ebitda', offer.multiples?.reported_ebitda),
      times('sde', offer.multiples?.sde),
      times('revenue', offer.multiples?.revenue),
      amount(offer.coverage?.debt ?? null),
      most('1.15', offer.most_costs[0]),
      most('1.25', offer.most_costs[1]),
    ];
  });
  return {
    name: 'Offers',
    widths: [28, 10, 9, 12, 12, 9, 16, 16, 16, 16, 16, 16, 12, 12, 10, 10, 16, 16, 16],
    rows: [
      ...titled(
        'Offers compared',
        basis
          ? `Multiples against ${basis.period}. The debt is what is recorded as borrowed, or where nothing is, all cash but the buyer’s own money, with the seller’s note.`
          : 'There are no earnings to hold them against.',
        [
          head('Buyer', false),
          head('Offer', false),
          head('Revision'),
          head('Submitted', false),
          head('Close by', false),
          head('Currency', false),
          ...offerColumns.map((term) => head(termWords[term])),
          head(termWords.unsaid),
          head('× Adjusted EBITDA'),
          head('× Reported EBITDA'),
          head('× SDE'),
          head('× Revenue'),
          head('Debt'),
          head('May cost a year, covered 1.15 times'),
          head('May cost a year, covered 1.25 times'),
        ],
      ),
      ...rows,
      ...comparedRows(contents, firstRow + rows.length + 1),
    ],
    frozen: below,
    landscape: true,
  };
}

/** The two best offers side by side, below the others; `row` is the first. */
function comparedRows({ offers: { items, compared } }: ReportContents, row: number): Row[] {
  const place = (id: string) => items.findIndex((offer) => offer.id === id);
  if (!compared) return [];
  const [first, second] = [place(compared.first), place(compared.second)];
  if (first < 0 || second < 0) return [];
  return [
    [],
    [
      text('The two highest side by side', { bold: true }),
      null,
      null,
      null,
      null,
      null,
      head(items[first]?.buyer ?? ''),
      head(items[second]?.buyer ?? ''),
      head('Difference'),
    ],
    ...compared.differences.map((one, at0): Row => {
      const [here, column] = [row + 2 + at0, termColumn(one.term)];
      return [
        text(termWords[one.term]),
        null,
        null,
        null,
        null,
        null,
        formula(at(column, firstRow + first), one.first),
        formula(at(column, firstRow + second), one.second),
        formula(`${at(6, here)}-${at(7, here)}`, one.by),
      ];
    }),
  ];
}

function sbaSheet({ offers: { items, sba_rules: rules } }: ReportContents): ReportSheet | null {
  const rows = items.flatMap(({ buyer, sba }) =>
    (sba ?? []).map(({ id, answer }): Row => {
      const rule = rules.find((one) => one.id === id);
      const [result, sentence] = sbaInWords(answer);
      return [
        text(buyer),
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
    widths: [28, 10, 60, 60, 30, 12],
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
    widths: [80, 60, 60],
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
        text(one.label),
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
    widths: [44, 36, 14, 32],
    rows: [
      ...titled('What was uploaded, and by whom', 'Completed uploads, the latest first.', [
        head('Upload', false),
        head('Tells of', false),
        head('Completed', false),
        head('By', false),
      ]),
      ...uploads.map((one) => [
        text(one.source_name ?? 'Without a name'),
        text(uploadWords[one.snapshot_type]),
        day(one.completed_at.slice(0, 10)),
        text(one.by ?? 'Someone'),
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
    ...offers.items.flatMap((offer) => offerColumns.map((term) => offer.amounts[term])),
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
    widths: [44, 26],
    rows: [
      [text(titleOf(deal), { title: true })],
      [text(computedFrom, { faint: true })],
      [],
      [text('Brokerage'), text(deal.brokerage, { right: true })],
      [text('Made for'), text(reader, { right: true })],
      [text('On'), day(contents.day)],
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
                { faint: true },
              ),
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
