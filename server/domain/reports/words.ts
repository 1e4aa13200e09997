/** The words of reports, the same in the PDF and in the workbook. */

import type { answerWords } from '../diligence/contradiction-answers.ts';
import { decimal, placesOf, spoken } from '../diligence/decimals.ts';
import type { AdjustmentCategory } from '../diligence/normalizations.ts';
import type { lineWords, Snapshot } from '../diligence/snapshots.ts';
import type { SbaAnswer } from '../diligence/sba-rules.ts';
import { mostOffersAPage } from '../offers/offers.ts';
import type { ReportContents } from './contents.ts';

/** Also used by the pages ({@link SharedWords}). */
export const categoryWords = {
  owner_comp: 'Owner compensation',
  related_party: 'Related party',
  one_time: 'One-time',
  other: 'Other',
} as const satisfies Record<AdjustmentCategory, string>;

/** The words that the pages and the reports share. */
export interface SharedWords {
  readonly lines: typeof lineWords;
  readonly categories: typeof categoryWords;
  readonly uploads: typeof uploadWords;
  readonly changes: typeof changeWords;
  readonly terms: typeof termWords;
  readonly multiples: typeof multipleWords;
  readonly computedFrom: typeof computedFrom;
  readonly answers: typeof answerWords;
  readonly worth: typeof worthWords;
  readonly accepted: typeof acceptedWords;
  readonly restated: typeof restatedSentence;
}

export const uploadWords = {
  profit_and_loss: 'Profit and loss',
  customer_revenue: 'Revenue by customer',
  full: 'P&L and revenue by customer',
} as const satisfies Record<Snapshot['snapshot_type'], string>;

export const changeWords = {
  grown: 'Grown',
  new: 'New',
  kept: 'Unchanged',
  shrunk: 'Shrunk',
  lost: 'Lost',
} as const;

export const termWords = {
  purchase_price: 'Price',
  cash_at_close: 'Cash at close',
  seller_note: 'Seller note',
  earnout: 'Earn-out',
  rollover_equity: 'Rollover equity',
  unsaid: 'Not stated',
} as const;

export const multipleWords = {
  adjusted_ebitda: 'Price to adjusted EBITDA',
  reported_ebitda: 'Price to reported EBITDA',
  sde: 'Price to SDE',
  revenue: 'Price to revenue',
} as const;

/** The words for comparing offers with the books. */
export const worthWords = {
  /** With books: "Compared with FY2025, computed from the uploaded financials: adjusted EBITDA USD 960,000". */
  against: 'Compared with',
  computed: 'computed from the uploaded financials: adjusted EBITDA',
  /** Without books. */
  partsOnly: 'The parts of each price as shares, most certain first.',
  /** "Maximum debt service at 1.25× coverage". */
  highestDebtService: 'Maximum debt service at',
} as const;

/** The words for an accepted offer: one whose terms are agreed now, or were agreed before. */
export const acceptedWords = {
  now: 'Accepted',
  earlier: 'Accepted earlier',
} as const;

export const restatedSentence = 'Line by line, where two uploads cover the same dates.';

/** The result of an SBA rule, as it is shown, and the sentence that explains it. */
export function sbaInWords(answer: SbaAnswer['answer']): readonly [result: string, sentence: string] {
  if (answer.result === 'ask') return ['Ask', answer.ask];
  return [answer.result === 'met' ? 'Met' : 'Not met', answer.why];
}

export const sbaSentence =
  'What the rules for 7(a) loans say about each offer, based on what was entered. The lender decides.';

/** The disclaimer of every report. */
export const computedFrom = 'Computed from the uploaded financials. This is not an audit and not advice.';

/** The sentence that names the customers left out of all figures; empty when there are none. */
export function leftOutWords({
  count,
  items,
}: NonNullable<ReportContents['computed']['concentration']>['left_out']): string {
  if (count === 0) return '';
  const names = items.map(
    ({ name, currency, revenue }) => `${name} (${currency} ${spoken(decimal(revenue), placesOf(currency))})`,
  );
  const more = count - items.length;
  return `In another currency, and not in these figures: ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`;
}

/** The sentence about adjustments in another currency than the figures; empty when there are none. */
export function adjustmentsLeftOutWords({ adjustments_left_out: all }: ReportContents): string {
  if (all.length === 0) return '';
  const shown = all
    .slice(0, 10)
    .map(
      (one) =>
        `${one.period_label} (${one.currency} ${spoken(decimal(one.amount), one.currency ? placesOf(one.currency) : undefined)})`,
    )
    .join(', ');
  return `Adjustments recorded in another currency, and in no figures: ${shown}${all.length > 10 ? ` and ${all.length - 10} more` : ''}.`;
}

/** Says, after another sentence, that the customers of a period were uploaded by shorter ones; otherwise empty. */
export const addedUpWords = (uploadedPeriods: number): string =>
  uploadedPeriods > 1 ? ` Added up from ${uploadedPeriods} uploaded periods.` : '';

/** Whether a report contains offers only: its reader sees no uploads. */
export const isOfOffers = ({ uploads, offers }: Pick<ReportContents, 'uploads' | 'offers'>): boolean =>
  uploads.length === 0 && offers.items.length > 0;

/** The title of a report: "Quality of earnings: Harbor HVAC". */
export const titleOf = (contents: Pick<ReportContents, 'uploads' | 'offers' | 'deal'>): string =>
  `${isOfOffers(contents) ? 'Offers' : 'Quality of earnings'}: ${contents.deal.title}`;

/** The heading above the offers, of which there may be just one. */
export const offersTitle = ({ offers: { items } }: ReportContents): string =>
  items.length > 1 ? 'Offers compared' : items[0]?.mine ? 'Your offer' : 'The offer';

/** The state of an offer. */
export function standingOf({
  agreed,
  accepted_earlier: earlier,
  expired,
}: ReportContents['offers']['items'][number]): string {
  if (agreed) return acceptedWords.now;
  if (earlier) return `${acceptedWords.earlier}, ${expired ? 'expired' : 'open'}`;
  return expired ? 'Expired' : 'Open';
}

/** Printed when there are more offers than the report contains. */
export const moreOffers = `Only the latest ${mostOffersAPage} offers are shown; there are more.`;

export const smallerAddBacks = 'All smaller add-backs';
