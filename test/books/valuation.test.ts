/** What an offer is worth against the books: by hand, and for random offers and earnings. */

import { describe, expect, test } from 'vitest';
import {
  add,
  compare,
  decimal,
  equals,
  isZero,
  sum,
  written,
  writtenOrNull,
  zero,
} from '../../server/domain/diligence/decimals.ts';
import {
  certainMoney,
  differencesOf,
  multiplesOf,
  priceByEarnings,
  type EarningsBasis,
  type OfferAmounts,
} from '../../server/domain/offers/valuation.ts';
import { apportion } from '../../server/domain/diligence/fractions.ts';
import { assessed } from '../../server/domain/offers/assessment.ts';
import { nothingTyped } from '../../server/domain/offers/debt.ts';
import { monthRow } from './clean-books.ts';
import { random } from './random.ts';

describe('offers compared with books', () => {
  const heldAgainst = (months: readonly string[], earned: number, label: string | null = null) =>
    assessed({
      offers: [
        { id: 'o', participant_id: null, expired: false, payload: { currency: 'USD', purchase_price: '1000000' } },
      ],
      books: {
        currency: 'USD',
        uploads: [{ id: 'a', completed_at: '2026-09-01T00:00:00.000000Z', source_name: null }],
        periods: months.map((month) =>
          monthRow('a', month, {
            revenue: 10_000_000,
            cogs: 10_000_000 - earned,
            opex: 0,
            owner: 0,
            da: 0,
            interest: 0,
            tax: 0,
          }),
        ),
        customers: [],
        adjustments: [],
      },
      funding: null,
      day: '2026-11-22',
      label,
      typed: nothingTyped,
    });
  const monthsOf = (year: number, count: number) =>
    Array.from({ length: count }, (_, place) => `${year}-${String(place + 1).padStart(2, '0')}`);

  test('use twelve months, never a partial year', () => {
    const months = [...monthsOf(2025, 12), ...monthsOf(2026, 7)];
    const all = heldAgainst(months, 1_000_000);
    expect(all.periods).toEqual(['TTM', 'FY2025']);
    // The partial year is not used when it is asked for by name, either.
    expect(heldAgainst(months, 1_000_000, '2026, 7 months')).toEqual(all);
    expect(all.offers[0]?.multiples?.reported_ebitda).toBe('8.33');
    expect(heldAgainst(monthsOf(2026, 7), 1_000_000, '2026, 7 months')).toMatchObject({ basis: null, periods: [] });
  });

  test('have a single sentence that no debt is covered if nothing is earned', () => {
    const [offer] = heldAgainst(monthsOf(2025, 12), -1_000).offers;
    expect(offer?.coverage?.sentences).toEqual([
      'With all cash borrowed, debt of $1,000,000 is not covered: there are no earnings to pay it from.',
    ]);
  });
});

const basis: EarningsBasis = {
  period: 'TTM',
  currency: 'USD',
  revenue: decimal('4800000'),
  reportedEbitda: decimal('640000'),
  adjustedEbitda: decimal('800000'),
  sde: decimal('950000'),
  addBacks: [
    { id: 'b', amount: decimal('40000') },
    { id: 'a', amount: decimal('120000') },
  ],
};

const offer: OfferAmounts = {
  currency: 'USD',
  purchase_price: decimal('4000000'),
  cash_at_close: decimal('2500000'),
  seller_note: decimal('900000'),
  earnout: decimal('400000'),
  rollover_equity: decimal('200000'),
};

/** The same value with every decimal as text. */
const told = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_key, one: unknown) =>
      typeof one === 'object' && one !== null && 'units' in one ? written(one as typeof zero) : one,
    ).replaceAll('undefined', 'null'),
  );

describe('multiples', () => {
  test('are computed from reported and adjusted EBITDA, SDE and revenue', () => {
    const found = multiplesOf(offer, basis)!;
    expect(Object.fromEntries(Object.entries(found).map(([name, one]) => [name, writtenOrNull(one)]))).toEqual({
      reported_ebitda: '6.25',
      adjusted_ebitda: '5',
      sde: '4.21',
      revenue: '0.83',
    });
  });

  test('are null without positive earnings, a price or a common currency', () => {
    expect(multiplesOf(offer, { ...basis, reportedEbitda: decimal('-1') })?.reported_ebitda).toBeNull();
    expect(multiplesOf(offer, { ...basis, revenue: zero })?.revenue).toBeNull();
    expect(multiplesOf({ ...offer, currency: 'EUR' }, basis)).toBeNull();
    expect(multiplesOf({ ...offer, purchase_price: null }, basis)).toBeNull();
  });
});

describe('the price of each add-back', () => {
  test('is computed with the multiple of adjusted EBITDA, with the price without it', () => {
    const found = priceByEarnings(offer, basis)!;
    expect(written(found.reported)).toBe('3200000');
    expect(found.add_backs.map(({ id, worth, price_without }) => [id, written(worth), written(price_without)])).toEqual(
      [
        ['a', '600000', '3400000'],
        ['b', '200000', '3800000'],
      ],
    );
  });

  test('is not computed for a business without earnings', () => {
    expect(priceByEarnings(offer, { ...basis, adjustedEbitda: zero })).toBeNull();
  });
});

describe('the certainty of the money', () => {
  test('is given in shares of the price', () => {
    expect(certainMoney(offer)!.parts.map(({ part, share }) => [part, written(share)])).toEqual([
      ['cash_at_close', '0.625'],
      ['seller_note', '0.225'],
      ['earnout', '0.1'],
      ['rollover_equity', '0.05'],
    ]);
  });

  test('includes the part that the offer leaves open, and the amount beyond its price', () => {
    const partly = certainMoney({ ...offer, earnout: null, rollover_equity: null })!;
    expect(partly.parts.map(({ part, amount }) => [part, written(amount)]).at(-1)).toEqual(['unsaid', '600000']);
    const beyond = certainMoney({ ...offer, purchase_price: decimal('3500000') })!;
    expect(writtenOrNull(beyond.beyond_price)).toBe('500000');
    expect(
      certainMoney({ ...offer, cash_at_close: null, seller_note: null, earnout: null, rollover_equity: zero }),
    ).toBeNull();
  });
});

describe('two offers side by side', () => {
  test('have a difference for each amount that is not the same', () => {
    const other = { ...offer, purchase_price: decimal('4100000.50'), earnout: decimal('500000.50') };
    expect(differencesOf(offer, other)!.map(({ term, by }) => [term, written(by)])).toEqual([
      ['purchase_price', '-100000.5'],
      ['earnout', '-100000.5'],
    ]);
    expect(differencesOf(offer, offer)).toEqual([]);
    expect(differencesOf(offer, { ...other, currency: 'EUR' })).toBeNull();
  });
});

describe('for random offers and earnings', () => {
  const dice = random(13);
  const amount = () => decimal(`${dice(10_000_000)}.${dice(10_000)}`);
  const signed = () => (dice(3) === 0 ? add(zero, { ...amount(), units: -amount().units }) : amount());

  test('parts add up to the whole, to the last digit', () => {
    for (let round = 0; round < 300; round += 1) {
      const weights = Array.from({ length: 1 + dice(12) }, signed);
      const total = amount();
      const parts = apportion(total, weights, 2n);
      if (isZero(sum(weights))) expect(parts).toBeNull();
      else expect(equals(sum(parts!), total)).toBe(true);
    }
  });

  test('the parts of the price and the shares of the money add up', () => {
    for (let round = 0; round < 300; round += 1) {
      const addBacks = Array.from({ length: dice(8) }, (_, place) => ({ id: `n${place}`, amount: signed() }));
      const reportedEbitda = signed();
      const adjustedEbitda = add(reportedEbitda, sum(addBacks.map((one) => one.amount)));
      const some = (): OfferAmounts => ({
        currency: 'USD',
        purchase_price: amount(),
        cash_at_close: dice(4) === 0 ? null : amount(),
        seller_note: dice(2) === 0 ? null : amount(),
        earnout: dice(2) === 0 ? null : amount(),
        rollover_equity: dice(2) === 0 ? null : amount(),
      });
      const [one, other] = [some(), some()];
      const found = priceByEarnings(one, { ...basis, reportedEbitda, adjustedEbitda, addBacks });
      if (compare(adjustedEbitda, zero) <= 0) expect(found).toBeNull();
      else {
        expect(equals(sum([found!.reported, ...found!.add_backs.map(({ worth }) => worth)]), one.purchase_price!)).toBe(
          true,
        );
        for (const { worth, price_without } of found!.add_backs)
          expect(equals(add(worth, price_without), one.purchase_price!)).toBe(true);
        const turned = priceByEarnings(one, {
          ...basis,
          reportedEbitda,
          adjustedEbitda,
          addBacks: addBacks.toReversed(),
        });
        expect(told(turned)).toEqual(told(found));
      }
      const money = certainMoney(one);
      if (money) expect(equals(sum(money.parts.map(({ share }) => share)), decimal('1'))).toBe(true);
      for (const { first, second, by } of differencesOf(one, other)!) expect(equals(add(second, by), first)).toBe(true);
    }
  });
});
