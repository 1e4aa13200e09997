/** The SBA's rules as dated data: each with a source and its dates, and what they say of a purchase. */

import { describe, expect, test } from 'vitest';
import { add, decimal, zero } from '../../server/domain/diligence/decimals.ts';
import { judged, rulesOn, sbaRules, type SbaFacts } from '../../server/domain/diligence/sba-rules.ts';

const unknown: SbaFacts = {
  price: null,
  seller_note: null,
  rollover: null,
  loan: null,
  equity: null,
  investors: null,
  project_cost: null,
  full_standby: null,
  loan_years: null,
  coverage: null,
  pays_nothing: false,
};
const facts: SbaFacts = {
  price: decimal('2900000'),
  seller_note: decimal('145000'),
  rollover: zero,
  loan: decimal('2610000'),
  equity: decimal('145000'),
  investors: null,
  project_cost: decimal('2900000'),
  full_standby: true,
  loan_years: 10n,
  coverage: decimal('1.3'),
  pays_nothing: false,
};
const today = '2026-11-22';

const said = (given: Partial<SbaFacts>, id: string, day = today) =>
  judged({ ...facts, ...given }, day).find((rule) => rule.id === id)?.answer;

describe('each SBA rule', () => {
  test.each(sbaRules.map((rule) => [`${rule.id} from ${rule.effective}`, rule] as const))(
    '%s has a sentence, a citation, a source, its dates and the facts that it needs',
    (_name, rule) => {
      expect(rule.rule).toMatch(/^[A-Z].*\.$/);
      expect(rule.citation).toMatch(/^(13 CFR 120\.\d+|SOP 50 10 8|SBA Procedural Notice 5000-\d{6})/);
      expect(rule.source).toMatch(/^https:\/\//);
      expect(['original', 'secondary']).toContain(rule.source_read);
      expect(rule.effective).toMatch(/^20\d\d-\d\d-\d\d$/);
      expect(rule.superseded === null || rule.superseded > rule.effective).toBe(true);
      expect(rule.needs.length).toBeGreaterThan(0);
      // When every fact that it needs is unknown, a rule never says that it is not met.
      expect(rule.judge(unknown).result).not.toBe('not_met');
    },
  );

  test('has only one version in force on any day', () => {
    const days = sbaRules.flatMap(({ effective, superseded }) => [effective, ...(superseded ? [superseded] : [])]);
    for (const day of [...days, today]) {
      const ids = rulesOn(day).map(({ id }) => id);
      expect(ids).toEqual([...new Set(ids)]);
    }
  });

  test('depends only on the facts that it declares', () => {
    for (const rule of sbaRules) {
      const needed = Object.fromEntries(rule.needs.map((name) => [name, facts[name]]));
      expect(rule.judge({ ...unknown, ...needed })).toEqual(rule.judge(facts));
    }
  });
});

describe('equity', () => {
  test('is sufficient at 10% of the cost, of which a seller note on full standby may be half', () => {
    expect(said({}, 'equity')).toEqual({
      result: 'met',
      why: 'Equity of $290,000 is 10% of the project cost of $2,900,000; $145,000 of it is the seller note.',
    });
    expect(said({ seller_note: decimal('900000'), equity: decimal('144999.99') }, 'equity')).toEqual({
      result: 'not_met',
      why: 'Equity of $289,999.99 is 9.99% of the project cost of $2,900,000; $145,000 of it is the seller note.',
      by: '$0.01',
    });
  });

  test('of investors without control counts with the note for at most half of the required amount', () => {
    const purchase = (own: string, investors: string, seller_note: string | null): Partial<SbaFacts> => ({
      project_cost: decimal('1000000'),
      equity: add(decimal(own), decimal(investors)),
      investors: decimal(investors),
      seller_note: seller_note === null ? null : decimal(seller_note),
    });
    const control = {
      result: 'ask',
      ask: 'Do the investors have control of the business? Without it, their money and a seller note together count for at most $50,000 of the equity.',
    };
    expect(said(purchase('0', '100000', null), 'equity')).toEqual(control);
    expect(said(purchase('0', '100000', null), 'equity', '2026-09-30')).toMatchObject({ result: 'met' });
    expect(said(purchase('50000', '50000', null), 'equity')).toMatchObject({ result: 'met' });
    expect(said(purchase('100000', '900000', '50000'), 'equity')).toMatchObject({ result: 'met' });
    expect(said(purchase('40000', '30000', '50000'), 'equity')).toEqual(control);
    expect(said(purchase('40000', '10000', '40000'), 'equity')).toMatchObject({ result: 'not_met', by: '$10,000' });
    const note = (investors: string, day?: string) => said(purchase('0', investors, '40000'), 'seller_note', day);
    expect(note('10000')).toMatchObject({ why: 'The note of $40,000 counts in full.' });
    expect(note('10000.01')).toMatchObject({
      why: 'Of the note of $40,000 and the investors’ $10,000.01, at most $50,000 counts in total, unless the investors have control.',
    });
    expect(note('90000', '2026-09-30')).toMatchObject({ why: 'The note of $40,000 counts in full.' });
  });

  test('asks for a missing fact only if it would change the answer', () => {
    expect(said({ full_standby: null }, 'equity')).toMatchObject({
      result: 'ask',
      ask: expect.stringContaining('standby'),
    });
    expect(said({ full_standby: null, equity: decimal('290000') }, 'equity')).toMatchObject({ result: 'met' });
    expect(said({ full_standby: null, equity: decimal('10000') }, 'equity')).toMatchObject({ result: 'not_met' });
    expect(said({ full_standby: false }, 'equity')).toMatchObject({ result: 'not_met', by: '$145,000' });
    expect(said({ equity: null }, 'equity')).toMatchObject({ result: 'ask' });
  });
});

test.each([
  ['loan_ceiling', { loan: decimal('5000000') }, { result: 'met' }],
  ['loan_ceiling', { loan: decimal('5000000.01') }, { result: 'not_met', by: '$0.01' }],
  ['loan_ceiling', { loan: null }, { result: 'ask' }],
  ['maturity', { loan_years: 11n }, { result: 'ask' }],
  ['coverage', { coverage: decimal('1.25') }, { result: 'met' }],
  ['coverage', { coverage: decimal('1.24') }, { result: 'not_met', by: '0.01' }],
  ['coverage', { coverage: null }, { result: 'ask', ask: expect.stringContaining('EBITDA for twelve months') }],
  [
    'coverage',
    { coverage: null, pays_nothing: true },
    { result: 'met', why: 'Nothing has to be paid on borrowed money.' },
  ],
  [
    'seller_note',
    { seller_note: decimal('200000'), investors: decimal('10000') },
    { result: 'met', why: 'At most $145,000 of the note of $200,000 counts.' },
  ],
  ['coverage', { coverage: null, loan_years: null }, { result: 'ask', ask: expect.stringContaining('the terms') }],
  [
    'seller_note',
    { seller_note: decimal('200000') },
    { result: 'met', why: expect.stringContaining('At most $145,000') },
  ],
  ['seller_note', { full_standby: false }, { result: 'met', why: expect.stringContaining('none of it counts') }],
  ['seller_stays', { rollover: decimal('1') }, { result: 'ask' }],
  ['valuation', { price: decimal('350000') }, { result: 'met' }],
  ['valuation', { price: decimal('350000.01') }, { result: 'ask' }],
  ['quality_of_earnings', { price: decimal('2999999.99') }, { result: 'met' }],
  ['quality_of_earnings', { price: decimal('3000000') }, { result: 'ask' }],
] as const)('the rule %s has the expected answer for %o', (id, given, answer) =>
  expect(said(given as Partial<SbaFacts>, id)).toMatchObject(answer),
);

test('the rules in force on the given day apply', () => {
  expect(said({ coverage: decimal('1.2') }, 'coverage', '2026-09-30')).toMatchObject({ result: 'met' });
  expect(said({ coverage: decimal('1.2') }, 'coverage', '2026-10-01')).toMatchObject({ result: 'not_met', by: '0.05' });
  const small = { loan: decimal('300000'), coverage: decimal('1.05') };
  expect(said(small, 'coverage_small', '2026-03-01')).toMatchObject({ result: 'not_met', by: '0.05' });
  expect(said(small, 'coverage_small', '2026-02-28')).toBeUndefined();
});

test('rules that are not met come first, then rules with a question', () => {
  const results = judged({ ...facts, loan: decimal('6000000'), rollover: decimal('1') }, today).map(
    ({ answer }) => answer.result,
  );
  expect(results).toEqual(
    results.toSorted((a, b) => ['not_met', 'ask', 'met'].indexOf(a) - ['not_met', 'ask', 'met'].indexOf(b)),
  );
  expect(results[0]).toBe('not_met');
});
