/** What the sheets of a workbook have in common: their heads, where their rows begin, how wide amounts are. */

import { downFrom, fixed, text, type SheetCell } from '../cells.ts';

export type Row = readonly (SheetCell | null)[];

/** The first row below a sheet's title, its sentence and its headings. */
export const firstRow = 5;

/** The first rows of a sheet: its title, its sentence, its headings. */
export const titled = (title: string, sentence: string, heads: Row): Row[] => [
  [text(title, { title: true })],
  [text(sentence, { faint: true })],
  [],
  heads,
];
/** What stays in sight of such a sheet. */
export const below = { rows: firstRow - 1, columns: 1 };

/** From one day to another. */
export const dashed = (first: string, last: string): string => `${first} to ${last}`;

/** "A1:A12,A14" of these rows of a column, those that follow each other as one range. */
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

/** As wide as the longest of these amounts needs, shown with two digits behind the point. */
export function widthFor(amounts: readonly (string | null | undefined)[]): number {
  const longest = Math.max(0, ...amounts.map((one) => (one ?? '').split('.')[0]?.length ?? 0));
  return Math.min(28, Math.max(12, Math.ceil(longest * (4 / 3)) + 4));
}
