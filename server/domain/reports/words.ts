/** The words of a report, the same in the PDF and in the workbook. */

import type { answerWords } from '../diligence/contradiction-answers.ts';
import { decimal, spoken } from '../diligence/decimals.ts';
import type { AdjustmentCategory } from '../diligence/normalizations.ts';
import type { lineWords, Snapshot } from '../diligence/snapshots.ts';
import type { SbaAnswer } from '../diligence/sba-rules.ts';
import { mostOffersAPage } from '../offers/offers.ts';
import type { ReportContents } from './contents.ts';

/** The pages have these words, too ({@link SharedWords}). */
export const categoryWords = {
  owner_comp: 'Owner compensation',
  related_party: 'Related party',
  one_time: 'One-time',
  other: 'Other',
} as const satisfies Record<AdjustmentCategory, string>;

/** The words of what is both in pages and in reports. */
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

/** What is said of offers beside the books. */
export const worthWords = {
  /** "Against FY2025, computed from what was uploaded: adjusted EBITDA USD 960,000", where there are books. */
  against: 'Against',
  computed: 'computed from what was uploaded: adjusted EBITDA',
  /** Where there are none. */
  partsOnly: 'The parts of each price as shares, the most certain first.',
  /** "Highest debt service at 1.25× coverage". */
  highestDebtService: 'Highest debt service at',
} as const;

/** What is said of an offer that was accepted: of the terms that are agreed now, and of those that were agreed before. */
export const acceptedWords = {
  now: 'Accepted',
  earlier: 'Accepted earlier',
} as const;

export const restatedSentence = 'Line by line, where two uploads cover the same dates.';

/** What a rule of the SBA answers, in the order in which it is shown, and the sentence that it answers with. */
export function sbaInWords(answer: SbaAnswer['answer']): readonly [result: string, sentence: string] {
  if (answer.result === 'ask') return ['Ask', answer.ask];
  return [answer.result === 'met' ? 'Met' : 'Not met', answer.why];
}

export const sbaSentence =
  'What the rules for 7(a) loans say of each offer, from what was entered. The lender decides.';

/** What every report says of itself. */
export const computedFrom = 'Computed from the uploaded financials. This is not an audit and not advice.';

/** Which customers are in none of the figures; empty where all are in them. */
export function leftOutWords({
  count,
  items,
}: NonNullable<ReportContents['computed']['concentration']>['left_out']): string {
  if (count === 0) return '';
  const names = items.map(({ name, currency, revenue }) => `${name} (${currency} ${spoken(decimal(revenue))})`);
  const more = count - items.length;
  return `In another currency, and in none of these figures: ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`;
}

/** Whether a report is of offers alone: its reader sees no uploads. */
export const isOfOffers = ({ uploads, offers }: Pick<ReportContents, 'uploads' | 'offers'>): boolean =>
  uploads.length === 0 && offers.items.length > 0;

/** "Quality of earnings: Harbor HVAC": what a report is called. */
export const titleOf = (contents: Pick<ReportContents, 'uploads' | 'offers' | 'deal'>): string =>
  `${isOfOffers(contents) ? 'Offers' : 'Quality of earnings'}: ${contents.deal.title}`;

/** The heading above the offers, which may be one. */
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

/** Printed where there are more offers than a report has. */
export const moreOffers = `Only the latest ${mostOffersAPage} offers are shown; there are more.`;

export const smallerAddBacks = 'The smaller ones together';
