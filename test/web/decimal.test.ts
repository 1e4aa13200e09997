/** Amounts in the web application: exact sums, and numbers typed in the person's own notation. */

import { describe, expect, test } from 'vitest';
import {
  asUnread,
  compare,
  isDecimal,
  negate,
  readDecimal,
  shareOf,
  sum,
  unreadIn,
} from '../../web/src/lib/decimal.ts';
import { formatMoney, formatMultiple, formatShare } from '../../web/src/lib/format.ts';

describe('decimal arithmetic', () => {
  test.each([
    [['0.1', '0.2'], '0.3'],
    [['9007199254740993', '0.0001'], '9007199254740993.0001'],
    [['10', '-10.00'], '0'],
    [['-0.5', '0.25'], '-0.25'],
    [[], '0'],
  ])('adds %j up to exactly %s', (values, total) => expect(sum(values)).toBe(total));

  test('compares numbers by value, not as text', () => {
    expect(compare('9.99', '10')).toBeLessThan(0);
    expect(compare('1.50', '1.5')).toBe(0);
    expect(compare('-2', '-10')).toBeGreaterThan(0);
  });

  test('negates a number and normalizes its zeros', () => {
    expect(negate('12.30')).toBe('-12.3');
    expect(negate('-7')).toBe('7');
    expect(negate('0.00')).toBe('0');
  });

  test.each([
    ['1', '3', '0.333'],
    ['-2', '3', '-0.667'],
    ['0.0005', '1', '0.001'],
    // Less than a half: 12.345 % is 12.3 %, not first 12.35 % and then 12.4 %.
    ['12345', '100000', '0.123'],
    ['-12345', '100000', '-0.123'],
    ['9007199254740993', '9007199254740993.00', '1'],
    ['-5', '-2', '2.5'],
    ['0', '7', '0'],
    ['7', '0.00', null],
  ])('divides %s by %s to the share %s', (part, all, share) => expect(shareOf(part, all)).toBe(share));

  test.each(['', '1e3', '1,000', '0x10', '.', 'NaN', '1.', '--1'])('rejects %j as a decimal', (text) =>
    expect(isDecimal(text)).toBe(false),
  );
});

describe('a typed amount', () => {
  test.each([
    ['en', '1,250,000.50', '1250000.50'],
    ['en', '$ 850,000', '850000'],
    ['en', '\u22124.5', '-4.5'],
    ['en', '.5', '0.5'],
    ['en', '007', '7'],
    ['de', '1.250.000,5', '1250000.5'],
    ['fr', '1 250 000,5 €', '1250000.5'],
    ['fr', '1250.50', '1250.50'],
    ['fr-CH', '1250,50', '1250.50'],
    ['de-AT', '250.000', '250000'],
    ['de-CH', "1'250'000.50", '1250000.50'],
    ['de-CH', '1’250’000.50', '1250000.50'],
    ['fa', '۱٬۲۵۰٬۰۰۰٫۵۰', '1250000.50'],
    ['fa', '1250000.50', '1250000.50'],
    ['ar-EG', '\u061c-٤٥٠٫٥', '-450.5'],
    ['mr', '१२,५०,०००.५', '1250000.5'],
    ['ja', '￥１，２５０．５', '1250.5'],
  ])('in %s notation, %j is read as %s', (language, typed, read) => expect(readDecimal(typed, language)).toBe(read));

  test.each([
    ['en', '1.250,5'],
    ['en', '1,25'],
    ['en', '1.2.3'],
    ['en', '12k'],
    ['en', ''],
    ['de', '1,250,000'],
    ['de', '1250.50'],
    ['nb', '250.000'],
    ['fr', '1 250.500'],
    ['fa', '250.000'],
    ['pl', '250.000'],
  ])('in %s notation, %j is rejected rather than misread', (language, typed) =>
    expect(readDecimal(typed, language)).toBeNull(),
  );

  test.each(['de-AT', 'de-CH', 'fr-CH', 'en-DE', 'en-IN', 'es', 'fa', 'nb', 'pl', 'sv'])(
    'in %s notation, an amount is read as pages print it',
    (language) => {
      const euros = new Intl.NumberFormat(language, { style: 'currency', currency: 'EUR' });
      expect(readDecimal(euros.format(-1234567.8), language)).toBe('-1234567.80');
    },
  );

  test('is kept as typed and counts as invalid if it cannot be read', () => {
    expect(isDecimal(asUnread('250.000').trim())).toBe(false);
    expect(unreadIn(asUnread('250.000 '))).toBe('250.000 ');
    expect(asUnread(' ')).toBe('');
    expect(unreadIn('250.000')).toBeNull();
  });
});

test('what rounds to zero is shown without a minus', () => {
  expect([formatShare('-0.0004'), formatMultiple('-0.004'), formatMoney('-0.4', 'USD', { rounded: true })]).toEqual([
    formatShare('0'),
    formatMultiple('0'),
    formatMoney('0', 'USD'),
  ]);
  expect(formatShare('-0.0006')).not.toBe(formatShare('0.0006'));
});
