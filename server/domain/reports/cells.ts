/** Sheets of a workbook as they are put together: cells of text, of amounts, and of formulas with what they come to. */

/** How a number is shown. */
export const formats = {
  amount: '#,##0.00',
  share: '0.0%',
  multiple: '0.00"×"',
  count: '#,##0',
  day: 'yyyy-mm-dd',
} as const;
export type Format = keyof typeof formats;

interface Look {
  readonly bold?: boolean;
  readonly faint?: boolean;
  readonly wrap?: boolean;
  readonly title?: boolean;
  readonly head?: boolean;
  /** Of a text behind numbers, which end where it begins. */
  readonly indent?: boolean;
  /** Over so many columns. */
  readonly span?: number;
}

export type SheetCell = Look &
  (
    | { readonly text: string; readonly right?: boolean }
    | { readonly number: number; readonly format: Format }
    /** A day on which a spreadsheet can count. */
    | { readonly day: string; readonly right?: boolean }
    /** Without its `=`; `comes` is what it comes to, null nothing. */
    | { readonly formula: string; readonly comes: number | string | null; readonly format: Format }
  );

export interface ReportSheet {
  readonly name: string;
  readonly widths: readonly number[];
  readonly rows: readonly (readonly (SheetCell | null)[])[];
  /** How many of the first rows and columns stay in sight, and how many rows stand on each printed page. */
  readonly frozen?: { readonly rows: number; readonly columns: number };
  readonly landscape: boolean;
}

/** The letters of a column, the first being 0. */
export const letters = (column: number): string =>
  column < 26
    ? String.fromCharCode(65 + column)
    : letters(Math.floor(column / 26) - 1) + String.fromCharCode(65 + (column % 26));

/** "A1", "$A$1" of a column, the first being 0, and a row as it is called, the first being 1. */
export const at = (column: number, row: number): string => `${letters(column)}${row}`;
/** The absolute name of a cell: column and row do not move when a formula is copied. */
export const fixed = (column: number, row: number): string => `$${letters(column)}$${row}`;
/** "$A$1:$A$9" of one column. */
export const downFrom = (column: number, first: number, last: number): string =>
  `${fixed(column, first)}:${fixed(column, last)}`;

/** The most digits of a number that spreadsheets keep. */
const mostDigits = 15;

/** Whether a spreadsheet keeps every digit of a written decimal. */
export const isKept = (amount: string): boolean =>
  amount.replace(/^-/, '').replace('.', '').replace(/^0+/, '').length <= mostDigits;

/** A cell of text. */
export const text = (value: string, look: Look & { right?: boolean } = {}): SheetCell => ({ text: value, ...look });
/** A column's heading; `right` above numbers. */
export const head = (value: string, right = true, look: Look = {}): SheetCell => ({
  text: value,
  head: true,
  bold: true,
  right,
  ...look,
});
/** A written decimal; nothing for null. */
export const amount = (value: string | null, look: Look & { format?: Format } = {}): SheetCell | null => {
  const { format = 'amount', ...rest } = look;
  return value === null ? null : { number: Number(value), format, ...rest };
};
/** A cell of a whole number. */
export const count = (value: number): SheetCell => ({ number: value, format: 'count' });
/** A formula and the written decimal that it comes to. */
export const formula = (body: string, comes: string | null, format: Format = 'amount', look: Look = {}): SheetCell => ({
  formula: body,
  comes: comes === null ? null : Number(comes),
  format,
  ...look,
});
/** A formula that comes to a text. */
export const textFormula = (body: string, comes: string, look: Look = {}): SheetCell => ({
  formula: body,
  comes,
  format: 'amount',
  ...look,
});
/** Whether the text is a day that there is. */
const isDay = (value: string): boolean => {
  const date = new Date(`${value}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value);
};

/** A day; what is none, or one before spreadsheets count days, is a text. */
export const day = (value: string, look: { right?: boolean } = {}): SheetCell =>
  isDay(value) && value >= '1900-03-01' ? { day: value, ...look } : { text: value, ...look };
