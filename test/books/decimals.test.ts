/** Exact decimals, with which every figure is computed. */

import { describe, expect, test } from 'vitest';
import {
  add,
  compare,
  decimal,
  divide,
  multiply,
  round,
  spoken,
  spokenMoney,
  subtract,
  sum,
  written,
  writtenOrNull,
  type Rounding,
} from '../../server/domain/diligence/decimals.ts';
import { randomOf } from '../hostile/random.ts';
import { formatMoney } from '../../web/src/lib/format.ts';

const d = decimal;

describe('decimals', () => {
  test('keep every digit of their text, and are written without trailing zeros', () => {
    const texts = [
      '0',
      '-0.0001',
      '1234567890123456.7891',
      '+7',
      '.5',
      '5.',
      '-12.3400',
      `9${'0'.repeat(38)}.${'0'.repeat(38)}1`,
    ];
    expect(texts.map((text) => written(d(text)))).toEqual([
      '0',
      '-0.0001',
      '1234567890123456.7891',
      '7',
      '0.5',
      '5',
      '-12.34',
      `9${'0'.repeat(38)}.${'0'.repeat(38)}1`,
    ]);
    for (const text of ['', '.', '-', '1e3', 'NaN', 'Infinity', '1,000', ' 1', '0x10', '--1'])
      expect(() => d(text), text).toThrow(RangeError);
  });

  test('add numbers that floats cannot add exactly', () => {
    expect(written(sum([d('0.1'), d('0.2')]))).toBe('0.3');
    expect(written(add(d('9007199254740993'), d('0.0001')))).toBe('9007199254740993.0001');
    expect(written(sum([]))).toBe('0');
    expect(written(multiply(d('0.1'), d('-0.3')))).toBe('-0.03');
  });

  test('round half away from zero as PostgreSQL does, or down, or up', () => {
    const of = (rounding: Rounding) =>
      ['2.5', '-2.5', '2.4', '-2.6', '2'].map((text) => written(round(d(text), 0n, rounding)));
    expect(of('nearest')).toEqual(['3', '-3', '2', '-3', '2']);
    expect(of('down')).toEqual(['2', '-2', '2', '-2', '2']);
    expect(of('up')).toEqual(['3', '-3', '3', '-3', '2']);
    expect(written(divide(d('2'), d('-3'), 6n) ?? d('9'))).toBe('-0.666667');
    expect(writtenOrNull(divide(d('1'), d('0.00'), 2n))).toBeNull();
  });

  test('are formatted with thousands separators', () => {
    expect(['1234567.5', '-999', '1000', '0.12345'].map((text) => spoken(d(text)))).toEqual([
      '1,234,567.50',
      '-999',
      '1,000',
      '0.12345',
    ]);
    expect(['1234567.5', '-999', '12345678901234567.8901'].map((text) => spokenMoney(d(text), 'USD'))).toEqual([
      '$1,234,567.50',
      '-$999',
      '$12,345,678,901,234,567.8901',
    ]);
    expect(spokenMoney(d('1000'), 'EUR')).toBe('€1,000');
    // As many places as the currency has.
    for (const say of [(amount: string, of: string) => spokenMoney(d(amount), of), formatMoney])
      expect([say('1000.5', 'KWD'), say('1000.5', 'JPY'), say('1000', 'KWD')]).toEqual([
        'KWD\u{a0}1,000.500',
        '¥1,000.5',
        'KWD\u{a0}1,000',
      ]);
  });

  test('obey the laws of arithmetic', () => {
    const chance = randomOf(7);
    const next = (below: number) => Math.floor(chance() * below);
    const any = () => ({ units: BigInt(next(2_000_001) - 1_000_000), scale: BigInt(next(7)) });
    for (let time = 0; time < 300; time += 1) {
      const [a, b, c] = [any(), any(), any()];
      expect(written(subtract(add(a, b), b))).toBe(written(a));
      expect(written(multiply(a, add(b, c)))).toBe(written(add(multiply(a, b), multiply(a, c))));
      expect(compare(a, b) + compare(b, a)).toBe(0);
      expect(written(d(written(a)))).toBe(written(a));
      const quotient = b.units === 0n ? null : divide(a, b, 10n);
      // Multiplied by the divisor, the quotient gives the dividend, except for half a unit of the quotient's last
      // digit.
      if (quotient) expect(written(round(subtract(multiply(quotient, b), a), 3n))).toBe('0');
    }
  });
});
