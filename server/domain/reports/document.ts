/** A report as a PDF for printing: the contents of the workbook, the most important first. */

import { answerInWords } from '../diligence/contradiction-answers.ts';
import {
  absolute,
  compare,
  decimal,
  multiply,
  placesOf,
  round,
  spoken,
  sum,
  whole,
  written,
} from '../diligence/decimals.ts';
import { monthOf } from '../diligence/calendar.ts';
import { isMonthRow } from '../diligence/earnings.ts';
import { lineWords } from '../diligence/snapshots.ts';
import type { ReportContents } from './contents.ts';
import { Pages, type Column, type Fonts, type TableRow } from './pdf-layout.ts';
import {
  addedUpWords,
  adjustmentsLeftOutWords,
  categoryWords,
  changeWords,
  computedFrom,
  isOfOffers,
  leftOutWords,
  moreOffers,
  offersTitle,
  restatedSentence,
  sbaInWords,
  sbaSentence,
  smallerAddBacks,
  standingOf,
  termWords,
  titleOf,
  uploadWords,
  worthWords,
} from './words.ts';
import { paperOf } from './workbook.ts';

/** At most this many entries of each list are printed, or stand side by side; the workbook has more. */
const most = {
  periods: 24,
  adjustments: 40,
  customers: 50,
  restated: 60,
  columns: 6,
  offers: 4,
  judged: 3,
  addBacks: 15,
  uploads: 60,
  names: 20,
  /** Characters of each name in a page's footer. */
  foot: 42,
};

const none = '–';
/** An amount with as many decimal places as its currency has, which is null for another number. */
const money = (amount: string | null | undefined, currency: string | null): string =>
  amount === null || amount === undefined
    ? none
    : spoken(decimal(amount), currency === null ? undefined : placesOf(currency)).replace('-', '−');
const signed = (amount: string | null | undefined, currency: string | null): string =>
  `${amount && !amount.startsWith('-') && amount !== '0' ? '+' : ''}${money(amount, currency)}`;
const padded = (value: string, digits: number): string => {
  const [integer = '', fraction = ''] = value.split('.');
  return `${integer}.${fraction.padEnd(digits, '0')}`.replace('-', '−');
};
const share = (of: string | null | undefined): string =>
  of === null || of === undefined ? none : `${padded(written(round(multiply(decimal(of), whole(100n)), 1n)), 1)}%`;
const times = (multiple: string | null | undefined): string =>
  multiple === null || multiple === undefined ? none : `${padded(multiple, 2)}×`;

const dayFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });
const dayOf = (day: string): string => {
  const date = new Date(`${day.slice(0, 10)}T00:00:00Z`);
  return Number.isNaN(date.getTime()) ? day : dayFormat.format(date);
};
interface Dates {
  first: string;
  last: string;
}
const span = ({ first, last }: Dates): string => `${dayOf(first)} – ${dayOf(last)}`;
/** A period with its dates: "TTM (1 Aug 2025 – 31 Jul 2026)". */
const dated = (label: string, dates: Dates): string => `${label} (${span(dates)})`;
/** An uploaded period; the label of a month says its dates. */
const datedRow = ({ label, ...dates }: Dates & { label: string }): string =>
  isMonthRow(dates) && label === monthOf(dates.first) ? label : dated(label, dates);
const andMore = (pages: Pages, count: number): void => {
  if (count > 0) pages.soft(`And ${spoken(whole(BigInt(count)))} more, in the workbook.`);
};

/** Rows that are printed only when they have a value. */
const seldom: ReadonlySet<string> = new Set([termWords.unsaid, 'Parts beyond the price']);

const right = (head: string, of = 1): Column => ({ head, share: of, right: true });
const left = (head: string, of: number): Column => ({ head, share: of });

// ---- Earnings.

type Earned = ReportContents['computed']['earnings'][number];

const earningLines: readonly [
  label: string,
  of: (one: Earned, currency: string) => string,
  look?: Pick<TableRow, 'sub' | 'strong'>,
][] = [
  ['From', ({ first }) => dayOf(first), { sub: true }],
  ['To', ({ last }) => dayOf(last), { sub: true }],
  ['Revenue', ({ amounts }, currency) => money(amounts.revenue, currency)],
  ['Revenue growth', (one) => share(one.revenue_growth), { sub: true }],
  ['Gross profit', ({ amounts }, currency) => money(amounts.gross_profit, currency)],
  ['Gross margin', (one) => share(one.gross_margin), { sub: true }],
  ['Reported EBITDA', (one, currency) => money(one.reported_ebitda, currency)],
  ['EBITDA margin', (one) => share(one.ebitda_margin), { sub: true }],
  ['EBITDA growth', (one) => share(one.ebitda_growth), { sub: true }],
  ['Adjusted EBITDA', (one, currency) => money(one.adjusted_ebitda, currency), { strong: true }],
  ['Adjusted EBITDA margin', (one) => share(one.adjusted_ebitda_margin), { sub: true }],
  ['SDE', (one, currency) => money(one.sde, currency), { strong: true }],
];

function writeEarnings(pages: Pages, { computed: { earnings, currency, seasonality } }: ReportContents): void {
  if (earnings.length === 0) return;
  const shown = earnings
    .toSorted((a, b) => Number(a.kind === 'partial_year') - Number(b.kind === 'partial_year'))
    .slice(0, most.columns);
  pages.section(
    'Earnings and margins',
    `In ${currency}. SDE is adjusted EBITDA plus the owner compensation that no adjustment has added back.`,
  );
  pages.table(
    [left('', 1.9), ...shown.map(({ label }) => right(label))],
    earningLines.map(([label, of, look]) => ({ cells: [label, ...shown.map((one) => of(one, currency))], ...look })),
  );
  andMore(pages, earnings.length - shown.length);
  const [best] = seasonality.toSorted((a, b) => Number(b.share) - Number(a.share));
  const worst = seasonality.toSorted((a, b) => Number(a.share) - Number(b.share))[0];
  const month = (of: string) =>
    new Intl.DateTimeFormat('en-GB', { month: 'long', timeZone: 'UTC' }).format(new Date(`2001-${of}-01T00:00:00Z`));
  if (best && worst && best.share !== worst.share)
    pages.soft(
      `Over whole years, ${month(best.month)} brings the most revenue (${share(best.share)}) and ${month(worst.month)} the least (${share(worst.share)}).`,
    );
}

/** Names the rows that are in no total: below the earnings, or in their place. */
function writeNotCounted(pages: Pages, { computed: { counted, earnings } }: ReportContents): void {
  for (const sentence of counted.not_counted)
    if (earnings.length > 0) pages.soft(sentence);
    else pages.paragraph(sentence);
}

function writeBridge(pages: Pages, { bridge, bridged: its }: ReportContents): void {
  const { period_label: label, first, last } = bridge;
  if (label === null || first === null || last === null) return;
  const period = dated(label, { first, last });
  if (its.length === 0) return pages.soft(`Nothing was adjusted in ${period}: adjusted EBITDA equals reported EBITDA.`);
  const sizeOf = ({ amount }: (typeof its)[number]) => decimal(amount);
  const isLong = its.length > most.adjustments;
  const largest = isLong ? its.toSorted((a, b) => compare(absolute(sizeOf(b)), absolute(sizeOf(a)))) : its;
  const [shown, others] = [largest.slice(0, most.adjustments), largest.slice(most.adjustments)];
  pages.section('From reported to adjusted EBITDA', `${period}, in ${bridge.currency}.`);
  pages.table(
    [left('', 1.3), left('Why', 2.6), right('Amount', 1.1)],
    [
      { cells: ['Reported EBITDA', '', money(bridge.reported_ebitda, bridge.currency)], strong: true },
      ...shown.map(({ category, rationale, amount }) => ({
        cells: [categoryWords[category], rationale ?? '', signed(amount, bridge.currency)],
      })),
      ...(others.length > 0
        ? [
            {
              cells: [
                `${others.length} smaller ${others.length === 1 ? 'adjustment' : 'adjustments'}`,
                '',
                signed(written(sum(others.map(sizeOf))), bridge.currency),
              ],
            },
          ]
        : []),
      { cells: ['Adjusted EBITDA', '', money(bridge.adjusted_ebitda, bridge.currency)], strong: true },
    ],
  );
}

const printedLines = [
  'revenue',
  'cost_of_goods_sold',
  'gross_profit',
  'operating_expenses',
  'owner_compensation',
  'ebitda',
  'net_income',
] as const;

function writePeriods(pages: Pages, { periods, computed: { currency } }: ReportContents): void {
  if (periods.length === 0) return;
  const shown = periods.toReversed().slice(0, most.periods);
  pages.section(
    'Profit and loss as uploaded',
    `In ${currency}, latest first. Where rows cover the same dates, the one uploaded last counts.`,
  );
  pages.table(
    [left('Period', 1.1), ...printedLines.map((line) => right(lineWords[line]))],
    shown.map(({ label, first, last, amounts, ebitda, gross_profit }) => {
      const lines = { ...amounts, ebitda, gross_profit };
      return { cells: [datedRow({ label, first, last }), ...printedLines.map((line) => money(lines[line], currency))] };
    }),
  );
  andMore(pages, periods.length - shown.length);
}

// ---- Contradictions.

function writeContradictions(pages: Pages, { computed: { contradictions } }: ReportContents): void {
  const { explained } = contradictions;
  const items = [...contradictions.items, ...explained.items];
  if (items.length === 0) return;
  pages.section(
    contradictions.count > 0 ? `Open contradictions (${contradictions.count})` : 'Explained contradictions',
    'Where the uploaded figures contradict themselves, and what to ask or how a broker explained it.',
  );
  pages.table(
    [left('Contradiction', 1.2), left('What to ask, or the answer', 1)],
    items.map(({ sentence, ask, answer }) => ({ cells: [sentence, answer ? answerInWords(answer) : ask] })),
  );
  const more = contradictions.count + explained.count - items.length;
  if (more > 0) pages.soft(`And ${more} more.`);
}

// ---- Customers.

function writeCustomers(pages: Pages, { customers, changes, computed }: ReportContents): void {
  if (!customers) return;
  const { currency, customers: all, others } = customers;
  pages.section('Customers', `${span(customers)}, in ${currency}.${addedUpWords(customers.uploaded_periods)}`);
  const hhi = customers.hhi_of_revenue ?? customers.hhi;
  const [largest] = all;
  pages.facts([
    {
      label: 'Half of the uploaded revenue comes from',
      value: customers.half === 1 ? '1 customer' : `${customers.half} customers`,
    },
    ...(hhi === null
      ? []
      : [
          {
            label: customers.hhi_of_revenue
              ? 'HHI of all revenue, up to 10,000'
              : 'HHI of uploaded customers, up to 10,000',
            value: money(hhi, null),
          },
        ]),
    ...(largest ? [{ label: 'Share of the largest', value: share(largest.share_of_revenue ?? largest.share) }] : []),
    ...(customers.ebitda_without_largest === null
      ? []
      : [
          {
            label: 'Reported EBITDA without it, at gross margin',
            value: money(customers.ebitda_without_largest, currency),
          },
        ]),
  ]);
  const shown = all.slice(0, most.customers);
  const ofRevenue = customers.revenue !== null;
  pages.table(
    [
      left('Customer', 2.6),
      right('Revenue'),
      right('Share of customers', 0.9),
      right('Cumulative', 0.9),
      ...(ofRevenue ? [right('Share of revenue', 0.9)] : []),
    ],
    [
      ...shown.map((one) => ({
        cells: [
          one.name,
          money(one.revenue, currency),
          share(one.share),
          share(one.cumulative),
          ...(ofRevenue ? [share(one.share_of_revenue)] : []),
        ],
      })),
      { cells: ['All uploaded customers', money(customers.total, currency), '', '', ''], strong: true },
    ],
  );
  andMore(pages, all.length + others.count - shown.length);
  if (computed.concentration) pages.soft(leftOutWords(computed.concentration.left_out));
  if (changes) {
    const { before, after } = changes;
    const isShown = after.first === customers.first && after.last === customers.last;
    pages.subsection(isShown ? `Since ${span(before)}` : `From ${span(before)} to ${span(after)}`);
    pages.table(
      [left('', 1.4), right('Customers', 0.6), right('Revenue', 0.9), left('Largest', 2.4)],
      [
        { cells: ['Before', '', money(changes.before.total, currency), ''], strong: true },
        ...changes.parts.map(({ kind, count, difference, items }) => {
          const names = items.slice(0, 3).map(({ name }) => name);
          const more = count - names.length;
          return {
            cells: [
              changeWords[kind],
              String(count),
              signed(difference, currency),
              `${names.join(', ')}${more > 0 && names.length > 0 ? ` and ${more} more` : ''}`,
            ],
          };
        }),
        { cells: ['After', '', money(changes.after.total, currency), ''], strong: true },
      ],
    );
  }
  const same = customers.same_names.slice(0, most.names);
  if (same.length > 0) {
    pages.subsection('Names that may be the same customer');
    for (const { names, revenue } of same)
      pages.paragraph(`${names.join(' · ')}: together ${money(revenue, currency)}`);
    andMore(pages, customers.same_names.length - same.length);
  }
}

// ---- Offers.

type Offer = ReportContents['offers']['items'][number];

const partOf = (offer: Offer, wanted: string): string => {
  const found = offer.money?.parts.find(({ part }) => part === wanted);
  return found ? `${money(found.amount, offer.currency)} (${share(found.share)})` : none;
};

const offerLines: readonly [label: string, of: (offer: Offer) => string, look?: Pick<TableRow, 'sub' | 'strong'>][] = [
  [
    'Price',
    (offer) => `${offer.currency ?? ''} ${money(offer.amounts.purchase_price, offer.currency)}`.trim(),
    { strong: true },
  ],
  [termWords.cash_at_close, (offer) => partOf(offer, 'cash_at_close')],
  [termWords.seller_note, (offer) => partOf(offer, 'seller_note')],
  [termWords.earnout, (offer) => partOf(offer, 'earnout')],
  [termWords.rollover_equity, (offer) => partOf(offer, 'rollover_equity')],
  [termWords.unsaid, (offer) => partOf(offer, 'unsaid')],
  ['Parts beyond the price', (offer) => money(offer.money?.beyond_price, offer.currency)],
  ['Multiple of adjusted EBITDA', (offer) => times(offer.multiples?.adjusted_ebitda), { strong: true }],
  ['of reported EBITDA', (offer) => times(offer.multiples?.reported_ebitda)],
  ['of SDE', (offer) => times(offer.multiples?.sde)],
  ['of revenue', (offer) => times(offer.multiples?.revenue)],
  ['Financing contingency', ({ financing_contingency: is }) => (is === null ? none : is ? 'Yes' : 'No')],
  ['Target closing', ({ target_close_date: day }) => (day === null ? none : dayOf(day))],
  ['Submitted', (offer) => `${dayOf(offer.submitted_at)}, revision ${offer.revision}`],
  ['The offer', standingOf],
];

function writeCoverage(pages: Pages, offer: Offer): void {
  if (!offer.coverage) return;
  pages.subsection(`Debt coverage: ${offer.buyer}`);
  const { sentences, without_largest: without } = offer.coverage;
  const of = without?.customer_period ? ` (revenue of ${span(without.customer_period)})` : '';
  const withoutLargest = (without?.sentences ?? []).map((sentence) => `Without ${without?.customer}${of}: ${sentence}`);
  pages.paragraphs([...sentences, ...withoutLargest]);
}

function writeAddBacks(pages: Pages, { offers: { basis, items, compared } }: ReportContents): void {
  const priced = items
    .filter(({ id, paid_for }) => paid_for && (compared ? [compared.first, compared.second].includes(id) : true))
    .slice(0, 2);
  if (!basis || priced.length === 0 || basis.add_backs.length === 0) return;
  const shown = basis.add_backs.slice(0, most.addBacks);
  const paid = (offer: Offer, id: string) => offer.paid_for?.add_backs.find((one) => one.id === id);
  pages.subsection('What is paid for each add-back, at the multiple of adjusted EBITDA');
  pages.table(
    [
      left('Add-back', 2),
      right('Amount', 0.9),
      ...priced.flatMap(({ buyer }) => [right(`${buyer} pays`, 0.9), right('Price without it')]),
    ],
    shown.map(({ id, category, rationale, amount }) => ({
      cells: [
        category ? `${categoryWords[category]}${rationale ? `: ${rationale}` : ''}` : smallerAddBacks,
        money(amount, basis.currency),
        ...priced.flatMap((offer) =>
          [paid(offer, id)?.worth, paid(offer, id)?.price_without].map((one) => money(one, basis.currency)),
        ),
      ],
    })),
  );
  andMore(pages, basis.add_backs.length - shown.length);
}

function writeOffers(pages: Pages, contents: ReportContents): void {
  const { basis, items, compared, more } = contents.offers;
  if (items.length === 0) return;
  pages.section(
    offersTitle(contents),
    basis
      ? `${worthWords.against} ${dated(basis.period, basis)}, ${worthWords.computed} ${basis.currency} ${money(basis.adjusted_ebitda, basis.currency)}, SDE ${money(basis.sde, basis.currency)}.`
      : worthWords.partsOnly,
  );
  for (const some of beside(items, most.offers))
    pages.table(
      [left('', 1.3), ...some.map(({ buyer }) => right(buyer))],
      earnedOnly(offerLines, basis !== null)
        .map(([label, of, look]) => ({ cells: [label, ...some.map(of)], ...look }))
        .filter(({ cells: [label = '', ...values] }) => !seldom.has(label) || values.some((one) => one !== none)),
      some.length === 1 ? 0.6 : 1,
    );
  if (more) pages.soft(moreOffers);
  const offered = (id: string) => items.find((offer) => offer.id === id);
  if (compared && compared.differences.length > 0) {
    const [one, other] = [offered(compared.first), offered(compared.second)];
    const currency = one?.currency ?? null;
    pages.subsection('The two highest side by side');
    pages.table(
      [left('', 1.3), right(one?.buyer ?? ''), right(other?.buyer ?? ''), right('Difference')],
      compared.differences.map(({ term, first, second, by }) => ({
        cells: [termWords[term], money(first, currency), money(second, currency), signed(by, currency)],
      })),
    );
  }
  writeAddBacks(pages, contents);
  for (const offer of items.slice(0, most.offers)) writeCoverage(pages, offer);
}

/** The items in groups of at most `room` side by side, all of about the same size. */
function beside<T>(items: readonly T[], room: number): T[][] {
  const each = Math.ceil(items.length / Math.ceil(items.length / room));
  return Array.from({ length: Math.ceil(items.length / each) }, (_, at) => items.slice(at * each, (at + 1) * each));
}

function writeSba(pages: Pages, { offers: { items, sba_rules: rules } }: ReportContents): void {
  const held = items.filter(({ sba }) => sba !== null);
  const shown = held.slice(0, most.offers);
  if (shown.length === 0) return;
  pages.section('SBA 7(a) rules', sbaSentence);
  for (const some of beside(shown, most.judged))
    pages.table(
      [
        left('Rule', 1.5),
        left('Source, in effect since', 1),
        ...some.map(({ buyer }) => left(buyer, some.length > 2 ? 1 : 1.3)),
      ],
      rules.map(({ id, rule, citation, effective }) => ({
        cells: [
          rule,
          `${citation}, ${dayOf(effective)}`,
          ...some.map(({ sba }) => {
            const found = sba?.find((one) => one.id === id);
            return found ? sbaInWords(found.answer).join(': ') : none;
          }),
        ],
      })),
    );
  if (held.length > shown.length) pages.soft(`And ${held.length - shown.length} more, in the workbook.`);
}

/** Lines with multiples are printed only when there are earnings. */
const earnedOnly = (lines: typeof offerLines, earned: boolean): typeof offerLines =>
  earned ? lines : lines.filter(([label]) => !/^(of |Multiple)/.test(label));

// ---- Uploads and restatements.

function writeRestated(pages: Pages, { computed: { restatements, currency } }: ReportContents): void {
  const { count, items } = restatements;
  if (count === 0) return;
  const shown = items.slice(0, most.restated);
  pages.section(`Restated figures (${count})`, restatedSentence);
  pages.table(
    [left('Period', 1), left('Line', 1.6), right('Before'), right('Now'), right('Difference')],
    shown.map((one) => ({
      cells: [
        datedRow(one),
        lineWords[one.line],
        ...[one.old, one.new].map((amount) => money(amount, currency)),
        signed(one.difference, currency),
      ],
    })),
  );
  andMore(pages, count - shown.length);
}

function writeUploads(pages: Pages, { uploads }: ReportContents): void {
  if (uploads.length === 0) return;
  const shown = uploads.slice(0, most.uploads);
  pages.section('What was uploaded, and by whom');
  pages.table(
    [left('Upload', 2), left('Covers', 1.6), left('Completed', 0.9), left('By', 1.3)],
    shown.map((one) => ({
      cells: [
        one.source_name ?? 'Without a name',
        uploadWords[one.snapshot_type],
        dayOf(one.completed_at),
        one.by ?? 'Someone',
      ],
    })),
  );
  andMore(pages, uploads.length - shown.length);
}

function shortened(text: string, length: number): string {
  const signs = [...text];
  if (signs.length <= length) return text;
  const kept = signs.slice(0, length - 1).join('');
  return `${kept.trimEnd()}…`;
}

/** Writes a report as a PDF; returns its bytes. */
export function reportDocument(contents: ReportContents, fonts: Fonts): Promise<Buffer> {
  const { deal, reader, day, computed, offers } = contents;
  const title = titleOf(contents);
  const pages = new Pages({ title, author: deal.brokerage, at: contents.at, size: paperOf(contents) }, fonts);
  const of = isOfOffers(contents) ? 'Offers' : 'Quality of earnings';
  pages.title(deal.brokerage, deal.title, `${of}, ${dayOf(day)}. Prepared for ${reader}. Dates are in UTC.`);
  const { basis } = offers;
  const hasFigures = contents.periods.length > 0 || contents.customers !== null;
  pages.facts([
    ...(basis
      ? [
          {
            label: `Revenue, ${dated(basis.period, basis)}`,
            value: money(basis.revenue, basis.currency),
            isAmount: true,
          },
          { label: 'Reported EBITDA', value: money(basis.reported_ebitda, basis.currency), isAmount: true },
          { label: 'Adjusted EBITDA', value: money(basis.adjusted_ebitda, basis.currency), isAmount: true },
          { label: 'SDE', value: money(basis.sde, basis.currency), isAmount: true },
        ]
      : []),
    ...(deal.asking_price === null
      ? []
      : [{ label: `Asking price, ${deal.currency}`, value: money(deal.asking_price, deal.currency), isAmount: true }]),
    ...(hasFigures ? [{ label: 'Figures are in', value: computed.currency }] : []),
  ]);
  pages.soft(computedFrom);
  if (!hasFigures && offers.items.length === 0) pages.paragraph('There are no figures yet that you may see.');
  writeEarnings(pages, contents);
  writeNotCounted(pages, contents);
  writeBridge(pages, contents);
  pages.soft(adjustmentsLeftOutWords(contents));
  writeContradictions(pages, contents);
  writeCustomers(pages, contents);
  writeOffers(pages, contents);
  writeSba(pages, contents);
  writeRestated(pages, contents);
  writePeriods(pages, contents);
  writeUploads(pages, contents);
  if (pages.lacksSigns)
    pages.soft('Characters that this font lacks are printed as boxes (□). The workbook shows them.');
  const foot = [deal.brokerage, deal.title, reader].map((one) => shortened(one, most.foot)).join(' · ');
  return pages.ended(computedFrom, foot, dayOf(day));
}
