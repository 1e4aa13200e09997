/** The common parts of the workbook's sheets: titles and headings, the first row, and column widths. */

import { downFrom, fixed, text, type SheetCell } from '../cells.ts';

export type Row = readonly (SheetCell | null)[];

/** The first row of data, below a sheet's title, sentence and headings. */
export const firstRow = 5;

/** The first rows of a sheet: title, sentence and headings. */
export const titled = (title: string, sentence: string, heads: Row): Row[] => [
  [text(title, { title: true })],
  [text(sentence, { faint: true })],
  [],
  heads,
];
/** The frozen rows and columns of a sheet with these first rows. */
export const below = { rows: firstRow - 1, columns: 1 };

/** "2025-01-01 to 2025-12-31". */
export const dashed = (first: string, last: string): string => `${first} to ${last}`;

/** A period with its dates: "TTM (2025-08-01 to 2026-07-31)". */
export const dated = (label: string, { first, last }: { first: string; last: string }): string =>
  `${label} (${dashed(first, last)})`;

/** The references to these rows of a column, "A1:A12,A14": consecutive rows become one range. */
export function listed(sheet: string, column: number, rows: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const row of rows.toSorted((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last && last[1] + 1 === row) last[1] = row;
    else runs.push([row, row]);
  }
  return runs
    .map(([first, last]) => `${sheet}!${first === last ? fixed(column, first) : downFrom(column, first, last)}`)
    .join(',');
}

/** The column width that the longest of these amounts needs, shown with two digits after the decimal point. */
export function widthFor(amounts: readonly (string | null | undefined)[]): number {
  const longest = Math.max(0, ...amounts.map((one) => (one ?? '').split('.')[0]?.length ?? 0));
  return Math.min(28, Math.max(12, Math.ceil(longest * (4 / 3)) + 4));
}
