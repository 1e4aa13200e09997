/**
 * The SBA's rules for 7(a) loans that finance the purchase of a business, as dated data: requirement, citation and
 * dates in force. The results are computed from what was entered; the decision is the lender's.
 */

import type { Day } from './calendar.ts';
import {
  compare,
  decimal,
  divide,
  isPositive,
  isZero,
  multiply,
  spokenMoney,
  subtract,
  sum,
  written,
  zero,
  type Decimal,
} from './decimals.ts';

/** The facts entered about a purchase; null where nobody has entered the fact. */
export interface SbaFacts {
  readonly price: Decimal | null;
  /** As recorded in the buyer's sources of financing, otherwise as offered. */
  readonly seller_note: Decimal | null;
  readonly rollover: Decimal | null;
  /** The 7(a) loan, as recorded in the buyer's sources of financing. */
  readonly loan: Decimal | null;
  /** The buyer's and their investors' own money, as recorded in the sources of financing. */
  readonly equity: Decimal | null;
  /** The investors' part of `equity`. */
  readonly investors: Decimal | null;
  /** Price, fees and working capital together. */
  readonly project_cost: Decimal | null;
  /** Whether the seller note is on full standby, without any payment, for the life of the loan. */
  readonly full_standby: boolean | null;
  /** Years until the loan is repaid. */
  readonly loan_years: bigint | null;
  /** EBITDA divided by the annual cost of all debt. */
  readonly coverage: Decimal | null;
  /** Whether no payment is due in any year: nothing is borrowed, or all of it is on standby. */
  readonly pays_nothing: boolean;
}

/** The result of a rule for a purchase. `by` is the shortfall, `ask` the question whose answer is missing. */
type SbaResult =
  | { readonly result: 'met'; readonly why: string }
  | { readonly result: 'not_met'; readonly why: string; readonly by: string }
  | { readonly result: 'ask'; readonly ask: string };

/** Where a rule was read: in the text of the SBA or of the law itself, or in a secondary source. */
type SourceRead = 'original' | 'secondary';

export interface SbaRule {
  /** Stable; the successor of a rule has the same id. */
  readonly id: string;
  readonly rule: string;
  /** "13 CFR 120.151", or the SOP with its section. */
  readonly citation: string;
  /** The URL of the text. */
  readonly source: string;
  readonly source_read: SourceRead;
  /**
   * The first day on which the rule is in force, and the first day on which it no longer is. A loan is under the rules
   * of the day on which it gets its SBA loan number.
   */
  readonly effective: Day;
  readonly superseded: Day | null;
  /** The facts that `judge` reads. */
  readonly needs: readonly (keyof SbaFacts)[];
  readonly judge: (facts: SbaFacts) => SbaResult;
}

const sop8 = 'https://legacy.sba.gov/document/sop-50-10-lender-development-company-loan-programs';
const sop81 = 'https://legacy.sba.gov/sites/default/files/2026-08/SOP%2050%2010%208.1%20effective%2010.1.2026_0.docx';
const cfr = (section: string): string => `https://www.ecfr.gov/current/title-13/section-${section}`;

/** The first days of SOP 50 10 8 and SOP 50 10 8.1. */
const [since8, since81]: readonly [Day, Day] = ['2025-06-01', '2026-10-01'];

/** Common fields of rules in Appendix 15. */
const inAppendix15 = {
  citation: 'SOP 50 10 8.1, Appendix 15',
  source: sop81,
  source_read: 'secondary',
  effective: since81,
  superseded: null,
} as const;

const met = (why: string): SbaResult => ({ result: 'met', why });
const notMet = (why: string, by: string): SbaResult => ({ result: 'not_met', why, by });
const ask = (question: string): SbaResult => ({ result: 'ask', ask: question });
const usd = (amount: Decimal): string => spokenMoney(amount, 'USD');
const atMost = (a: Decimal, b: Decimal): boolean => compare(a, b) <= 0;

const tenth = decimal('0.1');
const half = decimal('0.5');

const addSource = 'The buyer’s side adds it as a source of financing.';
const askLoan = `How much of the price is to come from an SBA 7(a) loan? ${addSource}`;
const askCost = 'What does the whole purchase cost: the price, fees and working capital?';
const askStandby = 'Is the seller note on full standby, without any payment, as long as the SBA loan runs?';

/** The part of a seller note that counts as equity: at most half of the required equity, and only on full standby. */
function countedNote(facts: SbaFacts, required: Decimal): Decimal {
  const note = facts.full_standby === true ? (facts.seller_note ?? zero) : zero;
  const most = multiply(required, half);
  return atMost(note, most) ? note : most;
}

/**
 * Requires equity of a tenth of the project cost: the money put in, and the part of the seller note that counts.
 * Investors without control and the note together count for at most half of the requirement.
 */
function judgeEquity(facts: SbaFacts): SbaResult {
  const { project_cost: cost, equity, seller_note: note } = facts;
  if (cost === null) return ask(askCost);
  if (equity === null) return ask(`How much money do the buyer and their investors put in? ${addSource}`);
  const required = multiply(cost, tenth);
  const counted = countedNote(facts, required);
  const all = sum([equity, counted]);
  const share = divide(multiply(all, decimal('100')), cost, 2n, 'down');
  const named = `Equity of ${usd(all)} is ${share ? written(share) : '0'}% of the project cost of ${usd(cost)}${isZero(counted) ? '' : `; ${usd(counted)} of it is the seller note`}.`;
  if (atMost(required, all)) {
    const most = multiply(required, half);
    const joint = sum([facts.investors ?? zero, counted]);
    const beside = subtract(all, joint);
    if (atMost(joint, most) || atMost(required, sum([beside, most]))) return met(named);
    return ask(
      `Do the investors have control of the business? Without it, their money and a seller note together count for at most ${usd(most)} of the equity.`,
    );
  }
  if (facts.full_standby === null && note !== null && isPositive(note)) {
    const withNote = sum([equity, countedNote({ ...facts, full_standby: true }, required)]);
    if (atMost(required, withNote)) return ask(askStandby);
  }
  return notMet(named, usd(subtract(required, all)));
}

/** A seller note counts for at most half of the required equity, and not at all if it is paid while the loan runs. */
function judgeNote(facts: SbaFacts): SbaResult {
  const { seller_note: note, project_cost: cost, full_standby: standby, investors } = facts;
  if (note === null || !isPositive(note)) return met('No seller note was entered.');
  if (cost === null) return ask(askCost);
  if (standby === null) return ask(askStandby);
  const most = multiply(multiply(cost, tenth), half);
  if (!standby)
    return met(
      `The note of ${usd(note)} is paid while the loan runs: none of it counts as equity, and its payments count as debt.`,
    );
  if (!atMost(note, most)) return met(`At most ${usd(most)} of the note of ${usd(note)} counts.`);
  if (investors !== null && isPositive(investors) && !atMost(sum([note, investors]), most))
    return met(
      `Of the note of ${usd(note)} and the investors’ ${usd(investors)}, at most ${usd(most)} counts in total, unless the investors have control.`,
    );
  return met(`The note of ${usd(note)} counts in full.`);
}

/** A judge for rules that do not limit investors' money. */
const whoeverInvests =
  (judge: SbaRule['judge']): SbaRule['judge'] =>
  (facts) =>
    judge({ ...facts, investors: null });

const ceiling = decimal('5000000');

function judgeCeiling({ loan }: SbaFacts): SbaResult {
  if (loan === null) return ask(askLoan);
  if (atMost(loan, ceiling)) return met(`The loan is ${usd(loan)}.`);
  return notMet(`The loan is ${usd(loan)}.`, usd(subtract(loan, ceiling)));
}

const tenYears = 10n;

function judgeMaturity({ loan_years: years }: SbaFacts): SbaResult {
  if (years === null) return ask('Over how many years is the loan paid back?');
  if (years <= tenYears) return met(`The loan is paid back in ${years} years.`);
  return ask(
    `Does the loan of ${years} years also pay for real estate, or for equipment that lasts longer than ten years?`,
  );
}

const askTerms = 'At what rate, and over how many years, is the debt paid back? Enter the terms.';
const askEbitda = 'What is EBITDA for twelve months, in US dollars? Coverage is computed from it.';

/** Requires that EBITDA covers the annual cost of all debt at least `least` times. */
const covers =
  (least: string, when: (facts: SbaFacts) => SbaResult | null = () => null) =>
  (facts: SbaFacts): SbaResult => {
    const beside = when(facts);
    if (beside) return beside;
    if (facts.pays_nothing) return met('Nothing has to be paid on borrowed money.');
    if (facts.coverage === null) return ask(facts.loan_years === null ? askTerms : askEbitda);
    const covered = `EBITDA covers the debt ${written(facts.coverage)} times.`;
    const required = decimal(least);
    return atMost(required, facts.coverage)
      ? met(covered)
      : notMet(covered, written(subtract(required, facts.coverage)));
  };

const smallLoan = decimal('350000');

const onlyAboveSmall = ({ loan }: SbaFacts): SbaResult | null => {
  if (loan === null) return ask(askLoan);
  return atMost(loan, smallLoan)
    ? met(`The loan of ${usd(loan)} is a 7(a) small loan, which has a rule of its own.`)
    : null;
};
const onlySmall = ({ loan }: SbaFacts): SbaResult | null => {
  if (loan === null) return ask(askLoan);
  return atMost(loan, smallLoan) ? null : met(`The loan of ${usd(loan)} is not a 7(a) small loan.`);
};

const keepsShare = ({ rollover }: SbaFacts): boolean => rollover !== null && isPositive(rollover);
const sellerLeaves = met('The offer leaves the seller no share of the business.');

/** Asks `question` where the price `isLarge`; otherwise the rule is met. */
const forPrices =
  (isLarge: (price: Decimal) => boolean, question: string) =>
  ({ price }: SbaFacts): SbaResult => {
    if (price === null) return ask('What is the price?');
    return isLarge(price) ? ask(question) : met(`The price is ${usd(price)}.`);
  };

const smallPrice = decimal('350000');
const largePrice = decimal('3000000');

/** Every known rule, including predecessors. */
export const sbaRules: readonly SbaRule[] = [
  {
    id: 'loan_ceiling',
    rule: 'One 7(a) loan is at most $5,000,000.',
    citation: '13 CFR 120.151, as amended by 81 FR 41428',
    source: cfr('120.151'),
    source_read: 'original',
    effective: '2016-06-27',
    superseded: null,
    needs: ['loan'],
    judge: judgeCeiling,
  },
  {
    id: 'maturity',
    rule: 'The loan is paid back in ten years or less, unless it pays for real estate or for equipment that lasts longer.',
    citation: '13 CFR 120.212(b), as amended by 87 FR 38908',
    source: cfr('120.212'),
    source_read: 'original',
    effective: '2022-06-30',
    superseded: null,
    needs: ['loan_years'],
    judge: judgeMaturity,
  },
  {
    id: 'owners_guarantee',
    rule: 'Whoever holds at least 20% of the business generally guarantees the loan.',
    citation: '13 CFR 120.160(a), as amended by 82 FR 39502',
    source: cfr('120.160'),
    source_read: 'original',
    effective: '2017-08-21',
    superseded: null,
    needs: ['rollover'],
    judge: (facts) =>
      keepsShare(facts)
        ? ask(
            'What share of the business does the seller keep? At 20% or more, they generally guarantee the loan, as the buyer does.',
          )
        : ask('Do all who will hold 20% or more of the business guarantee the loan?'),
  },
  {
    id: 'equity',
    rule: 'For a complete change of ownership, at least 10% of the total project cost is equity.',
    citation: 'SOP 50 10 8, page 131',
    source:
      'https://starfieldsmith.com/2025/05/best-practices-a-review-of-equity-injection-requirements-under-sop-50-10-8/amp',
    source_read: 'secondary',
    effective: since8,
    superseded: since81,
    needs: ['project_cost', 'equity', 'seller_note', 'full_standby'],
    judge: whoeverInvests(judgeEquity),
  },
  {
    id: 'equity',
    rule: 'For an initial acquisition, at least 10% of the total project cost is equity; the lender may not go below it.',
    ...inAppendix15,
    needs: ['project_cost', 'equity', 'investors', 'seller_note', 'full_standby'],
    judge: judgeEquity,
  },
  {
    id: 'seller_note',
    rule: 'A seller note counts as equity only on full standby for the life of the loan, and for at most half of what is required.',
    citation: 'SOP 50 10 8, page 131',
    source:
      'https://starfieldsmith.com/2025/05/best-practices-a-review-of-equity-injection-requirements-under-sop-50-10-8/amp',
    source_read: 'secondary',
    effective: since8,
    superseded: since81,
    needs: ['seller_note', 'project_cost', 'full_standby'],
    judge: whoeverInvests(judgeNote),
  },
  {
    id: 'seller_note',
    rule: 'A seller note counts as equity only on full standby for the life of the loan; it, other debt on standby and investors without control together count for at most half of what is required.',
    citation: 'SOP 50 10 8.1, Appendix 15',
    source: 'https://www.pbmares.com/new-sba-business-acquisition-rules-take-effect-october-1/',
    source_read: 'secondary',
    effective: since81,
    superseded: null,
    needs: ['seller_note', 'investors', 'project_cost', 'full_standby'],
    judge: judgeNote,
  },
  {
    id: 'coverage',
    rule: 'Above $350,000, EBITDA covers the debt at least 1.15 times, by the books or by projections.',
    citation: 'SOP 50 10 8, Section B, Chapter 1, page 129',
    source: sop8,
    source_read: 'secondary',
    effective: since8,
    superseded: since81,
    needs: ['loan', 'loan_years', 'coverage', 'pays_nothing'],
    judge: covers('1.15', onlyAboveSmall),
  },
  {
    id: 'coverage_small',
    rule: 'Up to $350,000, EBITDA covers the debt at least 1.1 times.',
    citation: 'SBA Procedural Notice 5000-875701',
    source:
      'https://starfieldsmith.com/2026/01/best-practices-sop-50-10-8-update-new-7a-small-loan-underwriting-requirements/amp',
    source_read: 'secondary',
    effective: '2026-03-01',
    superseded: since81,
    needs: ['loan', 'loan_years', 'coverage', 'pays_nothing'],
    judge: covers('1.1', onlySmall),
  },
  {
    id: 'coverage',
    rule: 'For an initial acquisition, past EBITDA covers the debt at least 1.25 times; projections do not count.',
    ...inAppendix15,
    needs: ['loan_years', 'coverage', 'pays_nothing'],
    judge: covers('1.25'),
  },
  {
    id: 'seller_stays',
    rule: 'A seller who keeps less than 20% guarantees the full loan for two years after it is paid out.',
    citation: 'SOP 50 10 8, partial changes of ownership',
    source:
      'https://starfieldsmith.com/2025/05/best-practices-eligible-transaction-structures-for-changes-in-ownership/amp',
    source_read: 'secondary',
    effective: since8,
    superseded: since81,
    needs: ['rollover'],
    judge: (facts) =>
      keepsShare(facts)
        ? ask('Will the seller guarantee the full loan for two years after it is paid out?')
        : sellerLeaves,
  },
  {
    id: 'seller_stays',
    rule: 'Where an owner stays, the purchase is an owner buyout: at least one original owner remains and guarantees the loan.',
    ...inAppendix15,
    needs: ['rollover'],
    judge: (facts) =>
      keepsShare(facts)
        ? ask(
            'How does the lender classify the purchase, given that the seller keeps a share, and does the seller guarantee the loan?',
          )
        : sellerLeaves,
  },
  {
    id: 'valuation',
    rule: 'Above a price of $350,000 the business is valued by an independent qualified source.',
    ...inAppendix15,
    needs: ['price'],
    judge: forPrices(
      (price) => !atMost(price, smallPrice),
      'Has the lender ordered an independent valuation of the business?',
    ),
  },
  {
    id: 'quality_of_earnings',
    rule: 'At a price of $3,000,000 or more, the lender orders an independent quality of earnings report.',
    ...inAppendix15,
    needs: ['price'],
    judge: forPrices(
      (price) => atMost(largePrice, price),
      'Has the lender ordered an independent quality of earnings report?',
    ),
  },
];

/** The rules that are in force on a day. */
export const rulesOn = (day: Day): SbaRule[] =>
  sbaRules.filter(({ effective, superseded }) => effective <= day && (superseded === null || day < superseded));

/** The result of one rule for a purchase. */
export interface SbaAnswer {
  readonly id: string;
  readonly answer: SbaResult;
}

/**
 * The results of the rules of a day for a purchase: rules not met first, then rules with a question, then rules met.
 */
export function judged(facts: SbaFacts, day: Day): SbaAnswer[] {
  const order = ['not_met', 'ask', 'met'];
  return rulesOn(day)
    .map(({ id, judge }) => ({ id, answer: judge(facts) }))
    .toSorted((a, b) => order.indexOf(a.answer.result) - order.indexOf(b.answer.result));
}
