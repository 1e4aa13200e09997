/** The cells and sheets that make up a workbook: text, amounts, and formulas with their results. */

import { placesOf } from '../diligence/decimals.ts';

/** The number formats. */
export const formats = {
  /** Amounts are written in {@link amountFormat}. */
  amount: '#,##0.00',
  foreign: '#,##0.00##',
  share: '0.0%',
  multiple: '0.00"×"',
  count: '#,##0',
  day: 'yyyy-mm-dd',
} as const;
export type Format = keyof typeof formats;

/** The format of amounts in this currency, with as many decimal places as it has. */
export const amountFormat = (currency: string): string => {
  const places = placesOf(currency);
  return places === 0 ? formats.count : `${formats.count}.${'0'.repeat(places)}`;
};

/** The format of amounts in this currency in a workbook whose figures are in `books`; null is the same currency. */
export const formatIn = (currency: string | null, books: string | null): Format =>
  currency === null || currency === books ? 'amount' : 'foreign';

interface Look {
  readonly bold?: boolean;
  readonly faint?: boolean;
  readonly wrap?: boolean;
  readonly title?: boolean;
  readonly head?: boolean;
  /** Whether the text is indented, to separate it from the right-aligned numbers before it. */
  readonly indent?: boolean;
  /** Number of columns that the cell spans. */
  readonly span?: number;
}

export type SheetCell = Look &
  (
    | { readonly text: string; readonly right?: boolean }
    | { readonly number: number; readonly format: Format }
    /** A day as a spreadsheet date. */
    | { readonly day: string; readonly right?: boolean }
    /** A formula without its `=`; `comes` is its result, null for none. */
    | { readonly formula: string; readonly comes: number | string | null; readonly format: Format }
  );

export interface ReportSheet {
  readonly name: string;
  readonly widths: readonly number[];
  readonly rows: readonly (readonly (SheetCell | null)[])[];
  /** Number of first rows and columns that stay visible on screen and are repeated on each printed page. */
  readonly frozen?: { readonly rows: number; readonly columns: number };
  readonly landscape: boolean;
}

/** The letters of a column, counted from 0. */
export const letters = (column: number): string =>
  column < 26
    ? String.fromCharCode(65 + column)
    : letters(Math.floor(column / 26) - 1) + String.fromCharCode(65 + (column % 26));

/** The relative reference of a cell, "A1"; columns are counted from 0, rows from 1. */
export const at = (column: number, row: number): string => `${letters(column)}${row}`;
/** The absolute reference of a cell, "$A$1": it stays the same when a formula is copied. */
export const fixed = (column: number, row: number): string => `$${letters(column)}$${row}`;
/** The absolute range of rows in one column, "$A$1:$A$9". */
export const downFrom = (column: number, first: number, last: number): string =>
  `${fixed(column, first)}:${fixed(column, last)}`;

/** Spreadsheets keep at most this many digits of a number. */
const mostDigits = 15;

/** Whether a spreadsheet keeps every digit of a written decimal. */
export const isKept = (amount: string): boolean =>
  amount.replace(/^-/, '').replace('.', '').replace(/^0+/, '').length <= mostDigits;

/** A cell of text. */
export const text = (value: string, look: Look & { right?: boolean } = {}): SheetCell => ({ text: value, ...look });
/** A column's heading; `right` aligns it above numbers. */
export const head = (value: string, right = true, look: Look = {}): SheetCell => ({
  text: value,
  head: true,
  bold: true,
  right,
  ...look,
});
/** A cell of a written decimal; null for null. */
export const amount = (value: string | null, look: Look & { format?: Format } = {}): SheetCell | null => {
  const { format = 'amount', ...rest } = look;
  return value === null ? null : { number: Number(value), format, ...rest };
};
/** A cell of a whole number. */
export const count = (value: number): SheetCell => ({ number: value, format: 'count' });
/** A cell of a formula with its result, a written decimal. */
export const formula = (body: string, comes: string | null, format: Format = 'amount', look: Look = {}): SheetCell => ({
  formula: body,
  comes: comes === null ? null : Number(comes),
  format,
  ...look,
});
/** A cell of a formula whose result is text. */
export const textFormula = (body: string, comes: string, look: Look = {}): SheetCell => ({
  formula: body,
  comes,
  format: 'amount',
  ...look,
});
/** Whether the text is an existing day, "YYYY-MM-DD". */
const isDay = (value: string): boolean => {
  const date = new Date(`${value}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value);
};

/**
 * A cell of a day; text when it is not a day or is before 1900-03-01, the first day that all spreadsheets number alike.
 */
export const day = (value: string, look: { right?: boolean } = {}): SheetCell =>
  isDay(value) && value >= '1900-03-01' ? { day: value, ...look } : { text: value, ...look };
