/** The sheet of offers side by side, with multiples, shares of the price and the highest debt service. */

import { moneyParts } from '../../offers/valuation.ts';
import { askedCoverages, type AskedCoverage } from '../../offers/debt.ts';
import {
  amount,
  at,
  count,
  day,
  fixed,
  formatIn,
  formula,
  head,
  text,
  type ReportSheet,
  type SheetCell,
} from '../cells.ts';
import type { ReportContents } from '../contents.ts';
import { moreOffers, multipleWords, offersTitle, standingOf, termWords, worthWords } from '../words.ts';
import { basisCells } from './earnings.ts';
import { below, dated, firstRow, titled, widthFor, type Row } from './layout.ts';

type Offer = ReportContents['offers']['items'][number];

export const offerTerms = ['purchase_price', ...moneyParts] as const;
const sharedParts = [...moneyParts, 'unsaid'] as const;

/** The rows of the sheet of offers, which has a column for each offer. */
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
  ...askedCoverages.map((coverage) => `cost_${coverage}` as const),
] as const;
type OfferRow = (typeof offerRows)[number];
/** The column width that the amounts of an offer need. */
export const offerWidth = (offer: Offer | undefined): number =>
  Math.max(18, widthFor(Object.values(offer?.amounts ?? {})));

/** The row number of a term or figure of an offer. */
export const offerRow = (name: OfferRow): number => firstRow + offerRows.indexOf(name);

const offerWords: Readonly<Record<OfferRow, string>> = {
  space: '',
  standing: 'The offer',
  revision: 'Revision',
  submitted: 'Submitted',
  close_by: 'Target closing',
  contingency: 'Financing contingency',
  currency: 'Currency',
  ...termWords,
  beyond_price: 'Parts beyond the price',
  share_cash_at_close: 'Share: cash at close',
  share_seller_note: 'Share: seller note',
  share_earnout: 'Share: earn-out',
  share_rollover_equity: 'Share: rollover equity',
  share_unsaid: 'Share: not stated',
  x_adjusted_ebitda: multipleWords.adjusted_ebitda,
  x_reported_ebitda: multipleWords.reported_ebitda,
  x_sde: multipleWords.sde,
  x_revenue: multipleWords.revenue,
  debt: 'Debt',
  'cost_1.15': `${worthWords.highestDebtService} 1.15× coverage`,
  'cost_1.25': `${worthWords.highestDebtService} 1.25× coverage`,
};

/**
 * A formula for the part of `total` that falls to one of `weights`, divided as the domain does (`apportion`): in whole
 * units, and the units that rounding leaves over go to the parts of which most was cut off, among equal ones to the
 * first. `order` holds the places in this order, of all weights and of this one.
 */
export function apportioned(
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
  const format = formatIn(offer.currency, contents.computed.currency);
  const partOf = (wanted: string) => money?.parts.find(({ part }) => part === wanted);
  const times = (line: string, comes: string | null | undefined) => {
    const under = earned(line);
    if (!under || comes === null || comes === undefined) return null;
    return formula(`IF(${under}>0,ROUND(${price}/${under},2),"")`, comes, 'multiple');
  };
  const adjusted = earned('adjusted_ebitda');
  const most = (coverage: AskedCoverage) => {
    const comes = offer.coverage?.most_cost.find(({ covered }) => covered === coverage)?.cost;
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
    purchase_price: amount(offer.amounts.purchase_price, { bold: true, format }),
    cash_at_close: amount(offer.amounts.cash_at_close, { format }),
    seller_note: amount(offer.amounts.seller_note, { format }),
    earnout: amount(offer.amounts.earnout, { format }),
    rollover_equity: amount(offer.amounts.rollover_equity, { format }),
    unsaid: isPriced ? formula(`MAX(0,${price}-${parts})`, partOf('unsaid')?.amount ?? '0', format) : null,
    beyond_price: isPriced ? formula(`MAX(0,${parts}-${price})`, money.beyond_price ?? '0', format) : null,
    share_cash_at_close: shareOf('cash_at_close'),
    share_seller_note: shareOf('seller_note'),
    share_earnout: shareOf('earnout'),
    share_rollover_equity: shareOf('rollover_equity'),
    share_unsaid: shareOf('unsaid'),
    x_adjusted_ebitda: times('adjusted_ebitda', offer.multiples?.adjusted_ebitda),
    x_reported_ebitda: times('ebitda', offer.multiples?.reported_ebitda),
    x_sde: times('sde', offer.multiples?.sde),
    x_revenue: times('revenue', offer.multiples?.revenue),
    debt: amount(offer.coverage?.debt ?? null, { format }),
    'cost_1.15': most('1.15'),
    'cost_1.25': most('1.25'),
  };
}

/** Returns the sheet of offers; null when the reader sees none. */
export function offersSheet(contents: ReportContents): ReportSheet | null {
  const { items, basis, more } = contents.offers;
  if (items.length === 0) return null;
  const columns = items.map((offer, place) => offerCells(offer, 1 + place, contents));
  const against = basis
    ? `Multiples of the figures of ${dated(basis.period, basis)}. The debt is what is recorded as borrowed (if nothing is, all cash except the buyer’s own money), plus the seller note.`
    : 'There are no earnings to compare them with.';
  return {
    name: 'Offers',
    widths: [38, ...Array.from({ length: Math.max(3, items.length) }, (_, place) => offerWidth(items[place]))],
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

/** The two highest offers side by side, below the others; `row` is the row of their heading. */
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
