/** Whether earnings pay a debt: by hand, and for random debts, terms and earnings. */

import { describe, expect, test } from 'vitest';
import {
  annualCost,
  coverageByYear,
  coverageInWords,
  mostAnnualCost,
  repayment,
  withoutCustomer,
} from '../../server/domain/diligence/coverage.ts';
import {
  add,
  compare,
  decimal,
  equals,
  isZero,
  spokenMoney,
  sum,
  written,
  writtenOrNull,
  zero,
  type Decimal,
} from '../../server/domain/diligence/decimals.ts';
import { byFraction, fraction, rounded, timesFraction } from '../../server/domain/diligence/fractions.ts';
import { random } from './random.ts';

const least = decimal('1.15');

const inDollars = (amount: Decimal) => spokenMoney(amount, 'USD');

test('a sentence states the highest annual debt service that is covered, and that of usual terms', () => {
  expect(coverageInWords(decimal('840420'), decimal('2900000'), least, inDollars)).toBe(
    'Debt of $2,900,000 is covered 1.15 times if annual debt service is at most 25.2% of the debt (10 years at 10%: 15.86%).',
  );
  expect(
    coverageInWords(decimal('840420'), decimal('2900000'), least, inDollars, { rate: decimal('7.25'), years: 1n }),
  ).toMatch(/\(1 year at 7\.25%: 103\.97%\)\.$/);
  expect(coverageInWords(decimal('-1'), decimal('2900000'), least, inDollars)).toBe(
    'Debt of $2,900,000 is not covered: there are no earnings to pay it from.',
  );
  expect(coverageInWords(decimal('1'), zero, least, inDollars)).toBe('There is no debt to cover.');
});

test('EBITDA without a customer is rounded once, and null without revenue', () => {
  const less = (revenue: string) =>
    withoutCustomer(decimal('100'), decimal('5004'), { revenue: decimal(revenue), grossProfit: decimal('1') });
  // 100 - 0.005004 = 99.994996
  expect(writtenOrNull(less('1000000'))).toBe('99.99');
  expect(less('0')).toBeNull();
  expect(less('-1000000')).toBeNull();
});

describe('a loan', () => {
  test('costs what the PMT function of a spreadsheet computes', () => {
    // =-PMT(10%/12, 120, 1) * 12 and =-PMT(8.75%/12, 300, 1) * 12 in a spreadsheet
    expect(written(rounded(annualCost({ rate: decimal('10'), years: 10n }), 10n, 'nearest'))).toBe('0.1585808843');
    expect(written(rounded(annualCost({ rate: decimal('8.75'), years: 25n }), 10n, 'nearest'))).toBe('0.0986572363');
    expect(written(rounded(annualCost({ rate: zero, years: 4n }), 4n, 'nearest'))).toBe('0.25');
  });

  test('is repaid year by year, with the rounding difference in the last payment', () => {
    const years = repayment({ amount: decimal('1000'), rate: decimal('12'), years: 2n });
    expect(
      years.map(({ year, interest, principal, paid, balance }) => [
        year,
        ...[interest, principal, paid, balance].map(written),
      ]),
    ).toEqual([
      [1n, '94.7', '470.14', '564.84', '529.86'],
      [2n, '35.09', '529.86', '564.95', '0'],
    ]);
  });

  test('on standby costs nothing at first, and grows by its interest', () => {
    const [first, second, third] = repayment({ amount: decimal('1000'), rate: decimal('12'), years: 1n, standby: 1n });
    expect([written(first!.paid), written(first!.balance)]).toEqual(['0', '1126.84']);
    expect(compare(second!.paid, decimal('1126.84'))).toBe(1);
    expect(third).toBeUndefined();
  });
});

test('coverage by year adds up the loans, and is rounded down', () => {
  const bank = { amount: decimal('2000000'), rate: decimal('10'), years: 10n };
  const note = { amount: decimal('900000'), rate: decimal('6'), years: 3n, standby: 2n };
  const years = coverageByYear(decimal('800000'), [bank, note]);
  expect(years.map(({ year, paid, coverage }) => [year, written(paid), writtenOrNull(coverage)])).toEqual([
    [1n, '317161.8', '2.52'],
    [2n, '317161.8', '2.52'],
    [3n, '687498', '1.16'],
    [4n, '687498', '1.16'],
    [5n, '687497.83', '1.16'],
    ...[6n, 7n, 8n, 9n].map((year) => [year, '317161.8', '2.52']),
    [10n, '317161.29', '2.52'],
  ]);
});

test('coverage of a loss is rounded down, too: away from zero', () => {
  const loan = { amount: decimal('1200'), rate: zero, years: 1n };
  const covered = (earned: string) => coverageByYear(decimal(earned), [loan]).map((one) => writtenOrNull(one.coverage));
  expect(covered('1000')).toEqual(['0.83']);
  expect(covered('0')).toEqual(['0']);
  expect(covered('-1000')).toEqual(['-0.84']);
  expect(covered('-1')).toEqual(['-0.01']);
  expect(covered('-1200')).toEqual(['-1']);
});

describe('for random debts and earnings', () => {
  const dice = random(29);
  const amount = () => decimal(`${1 + dice(9_000_000)}.${10 + dice(90)}`);

  test('the highest annual cost gives exactly the requested coverage', () => {
    for (let round = 0; round < 500; round += 1) {
      const [earned, debt] = [amount(), amount()];
      const asked = decimal(`1.${dice(1000)}`);
      const cost = mostAnnualCost(earned, debt, asked)!;
      const covered = byFraction(fraction(earned), timesFraction(fraction(debt), cost));
      expect(covered.over * 10n ** asked.scale).toBe(asked.units * covered.under);
    }
    expect(mostAnnualCost(zero, decimal('1'), least)).toBeNull();
    expect(mostAnnualCost(decimal('1'), zero, least)).toBeNull();
  });

  test('the repaid principal equals the debt to the cent, and the final balance is zero', () => {
    for (let round = 0; round < 60; round += 1) {
      const debt = amount();
      const terms = { rate: decimal(`${dice(20)}.${dice(100)}`), years: BigInt(1 + dice(25)) };
      const years = repayment({ amount: debt, ...terms });
      expect(equals(sum(years.map(({ principal }) => principal)), debt)).toBe(true);
      expect(isZero(years.at(-1)!.balance)).toBe(true);
      expect(BigInt(years.length)).toBe(terms.years);
      for (const { interest, principal, paid } of years) expect(equals(add(interest, principal), paid)).toBe(true);
    }
  });
});
