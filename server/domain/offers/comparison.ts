/** Compares two offers, or two revisions of one offer, term by term: both values, and by how much they differ. */

import { daysFrom } from '../diligence/calendar.ts';
import {
  absolute,
  decimal,
  divide,
  isZero,
  subtract,
  written,
  writtenOrNull,
  type Decimal,
} from '../diligence/decimals.ts';
import { moneyParts, type MoneyPart } from './valuation.ts';
import { amountsOf, assessed, type BasisSummary, type Given, type ValuationSummary } from './assessment.ts';
import { leastCoverage } from './debt.ts';
import { hasPassed, offerFields, timeIn, type OfferPayload, type OfferRevision } from './offers.ts';

/**
 * The kind of both values of a line, and so the unit of the difference: amounts, shares of one, times or days; other
 * kinds have no difference. The number of days between two times depends on the reader's time zone, so the web
 * application computes it.
 */
type LineKind = 'money' | 'share' | 'times' | 'day' | 'time' | 'yes_no' | 'text';

const multiples = ['adjusted_ebitda', 'reported_ebitda', 'sde', 'revenue'] as const;

/**
 * The compared terms, in the order of the table. Terms that an offer states itself have the name of the payload's
 * field.
 */
type ComparedLineTerm =
  | 'currency'
  | 'purchase_price'
  | MoneyPart
  | `share_${MoneyPart | 'unsaid'}`
  | `multiple_${(typeof multiples)[number]}`
  | 'debt'
  | 'most_cost'
  | 'most_cost_without_largest'
  | 'least_coverage'
  | 'least_coverage_without_largest'
  | 'financing_contingency'
  | 'target_close_date'
  | 'expires_at'
  | 'terms'
  | 'other';

export interface ComparedLine {
  readonly term: ComparedLineTerm;
  /** Completes the term: the name of another term, or how many times the debt is to be covered. */
  readonly of: string | null;
  readonly kind: LineKind;
  /** As written; null when the offer does not state the value, or it cannot be computed. */
  readonly first: string | null;
  readonly second: string | null;
  readonly same: boolean;
  /** First less second, or how many days later the first is; negative when the first is less or earlier. */
  readonly by: string | null;
  /** The same as a share of the second, to four digits. */
  readonly by_share: string | null;
}

/** One of the two compared offers, as a heading names it. */
export interface ComparedOffer {
  readonly id: string;
  readonly buyer_user_id: string;
  readonly buyer_name: string | null;
  readonly mine: boolean;
  readonly revision_number: number;
  readonly is_current: boolean;
  readonly agreed: boolean;
  readonly submitted_at: string;
  readonly currency: string | null;
}

export interface TwoOffers {
  readonly first: ComparedOffer;
  readonly second: ComparedOffer;
  /** The period that the offers are compared with; null when the caller sees no earnings. */
  readonly basis: Pick<BasisSummary, 'period' | 'first' | 'last'> | null;
  readonly lines: readonly ComparedLine[];
}

type Sides<T> = readonly [first: T, second: T];

const days = /^\d{4}-\d\d-\d\d$/;

const dayIn = (value: unknown): string | null =>
  typeof value === 'string' && days.test(value) && !Object.is(Date.parse(value), NaN) ? value : null;

const textIn = (value: unknown): string | null =>
  value === null || value === undefined || value === ''
    ? null
    : typeof value === 'string'
      ? value
      : JSON.stringify(value);

/** Returns by how many days the first is later than the second. */
const daysAfter = ([first, second]: Sides<string>): string => String(daysFrom(second, first) - 1n);

interface Line {
  readonly term: ComparedLineTerm;
  readonly of?: string | null;
  readonly kind: LineKind;
  readonly values: Sides<string | null>;
  /** The values for the difference when they are not the displayed values: a missing amount counts as zero. */
  readonly counted?: Sides<Decimal | null>;
}

const numbers: readonly LineKind[] = ['money', 'share', 'times'];

function lineOf({ term, of = null, kind, values, counted }: Line): ComparedLine {
  const [first, second] = values;
  const same = first === second;
  const line: ComparedLine = { term, of, kind, first, second, same, by: null, by_share: null };
  if (same) return line;
  if (kind === 'day' && first !== null && second !== null) return { ...line, by: daysAfter([first, second]) };
  if (!numbers.includes(kind)) return line;
  const [a, b] = counted ?? [first === null ? null : decimal(first), second === null ? null : decimal(second)];
  if (a === null || b === null) return line;
  const by = subtract(a, b);
  const share = kind === 'money' && !isZero(b) ? divide(by, absolute(b), 4n) : null;
  return { ...line, by: written(by), by_share: share && written(share) };
}

/** Returns the lines of the payloads' amounts. Amounts in two currencies are not subtracted. */
function amountLines(payloads: Sides<OfferPayload>): Line[] {
  const [a, b] = [amountsOf(payloads[0]), amountsOf(payloads[1])];
  const comparable = a.currency === b.currency;
  const nothing = decimal('0');
  const amount = (term: 'purchase_price' | MoneyPart, unsaid: Decimal | null): Line => ({
    term,
    kind: 'money',
    values: [writtenOrNull(a[term]), writtenOrNull(b[term])],
    counted: comparable ? [a[term] ?? unsaid, b[term] ?? unsaid] : [null, null],
  });
  return [
    ...(comparable ? [] : [{ term: 'currency', kind: 'text', values: [a.currency, b.currency] } satisfies Line]),
    amount('purchase_price', null),
    ...moneyParts.map((part) => amount(part, nothing)),
  ];
}

/** Returns the lines computed from the amounts, and from the books if the caller sees them. */
function worthLines([a, b]: Sides<ValuationSummary>, sameCurrency: boolean): Line[] {
  const share = ({ money }: ValuationSummary, part: MoneyPart | 'unsaid') =>
    money && (money.parts.find((one) => one.part === part)?.share ?? '0');
  const both = <T>(of: (worth: ValuationSummary) => T): Sides<T> => [of(a), of(b)];
  const most = (term: 'most_cost' | 'most_cost_without_largest', place: number): Line[] => {
    const of = ({ coverage }: ValuationSummary) =>
      (term === 'most_cost' ? coverage : coverage?.without_largest)?.most_cost[place];
    const covered = of(a)?.covered ?? of(b)?.covered;
    return covered === undefined
      ? []
      : [{ term, of: covered, kind: 'share', values: both((worth) => of(worth)?.cost ?? null) }];
  };
  return [
    ...([...moneyParts, 'unsaid'] as const).map((part): Line => ({
      term: `share_${part}`,
      kind: 'share',
      values: both((worth) => share(worth, part)),
    })),
    ...multiples.map((of): Line => ({
      term: `multiple_${of}`,
      kind: 'times',
      values: both((worth) => worth.multiples?.[of] ?? null),
    })),
    {
      term: 'debt',
      kind: 'money',
      values: both(({ coverage }) => coverage?.debt ?? null),
      ...(sameCurrency ? {} : { counted: [null, null] }),
    },
    ...most('most_cost', 0),
    ...most('most_cost', 1),
    ...most('most_cost_without_largest', 0),
    ...most('most_cost_without_largest', 1),
    {
      term: 'least_coverage',
      kind: 'times',
      values: both(({ coverage }) => writtenOrNull(leastCoverage(coverage?.years))),
    },
    {
      term: 'least_coverage_without_largest',
      kind: 'times',
      values: both(({ coverage }) => writtenOrNull(leastCoverage(coverage?.years_without_largest))),
    },
  ];
}

/** Returns the lines of conditions, dates, free text and unknown keys. */
function saidLines([a, b]: Sides<OfferPayload>): Line[] {
  const both = <T>(of: (payload: OfferPayload) => T): Sides<T> => [of(a), of(b)];
  const others = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((name) => !offerFields.includes(name));
  const own = (payload: OfferPayload, name: string): unknown =>
    Object.hasOwn(payload, name) ? payload[name] : undefined;
  return [
    {
      term: 'financing_contingency',
      kind: 'yes_no',
      values: both(({ financing_contingency: is }) => (is === true ? 'yes' : is === false ? 'no' : null)),
    },
    { term: 'target_close_date', kind: 'day', values: both(({ target_close_date: day }) => dayIn(day)) },
    { term: 'expires_at', kind: 'time', values: both(({ expires_at: until }) => timeIn(until)) },
    { term: 'terms', kind: 'text', values: both(({ terms }) => textIn(terms)) },
    ...others.toSorted().map((name): Line => ({
      term: 'other',
      of: name,
      kind: 'text',
      values: both((payload) => textIn(own(payload, name))),
    })),
  ];
}

const named = (offer: OfferRevision, caller: string): ComparedOffer => ({
  id: offer.id,
  buyer_user_id: offer.buyer_user_id,
  buyer_name: offer.buyer_name,
  mine: offer.buyer_user_id === caller,
  revision_number: offer.revision_number,
  is_current: offer.is_current,
  agreed: offer.agreed,
  submitted_at: offer.submitted_at,
  currency: amountsOf(offer.payload).currency,
});

/** The data that two offers are compared with, as the caller sees it, and the caller. */
interface Asked extends Omit<Given, 'offers'> {
  readonly caller: string;
  readonly now: string;
}

/** Returns two offers that the caller sees side by side, without the lines that have no value in either. */
export function twoOffers(first: OfferRevision, second: OfferRevision, { caller, now, ...given }: Asked): TwoOffers {
  const payloads: Sides<OfferPayload> = [first.payload, second.payload];
  const { basis, offers } = assessed({
    ...given,
    offers: [first, second].map(({ id, participant_id, payload }) => ({
      id,
      participant_id,
      payload,
      expired: hasPassed(payload.expires_at, now),
    })),
  });
  const [a, b] = offers;
  const sides = [named(first, caller), named(second, caller)] as const;
  const lines = [
    ...amountLines(payloads),
    ...(a && b ? worthLines([a, b], sides[0].currency === sides[1].currency) : []),
    ...saidLines(payloads),
  ];
  const isKnown = ({ term, values }: Line): boolean =>
    // A share of zero in both says no more than the amount.
    term.startsWith('share_') ? values.some((value) => value !== null && value !== '0') : values.some(Boolean);
  return {
    first: sides[0],
    second: sides[1],
    basis: basis && { period: basis.period, first: basis.first, last: basis.last },
    lines: lines.filter(isKnown).map(lineOf),
  };
}
