/** Determines the decimal mark of a file from its amounts. */

import { inPortions } from '../portions.ts';
import { marksIn, type Marks } from './values.ts';
import type { Table } from './workbook-reader.ts';

/**
 * Returns the decimal mark of these columns. Other columns are ignored: points and commas in account numbers, names and
 * titles do not show how amounts are written.
 */
export async function decimalMarksOf(
  { written }: Pick<Table, 'written'>,
  rows: Iterable<{ readonly cells: readonly string[] }>,
  columns: readonly number[],
): Promise<Marks> {
  if (!written) return 'point';
  const said = new Set<Marks>();
  for await (const { cells } of inPortions(rows)) {
    for (const index of columns) {
      const marks = marksIn(cells[index] ?? '');
      if (marks) said.add(marks);
    }
  }
  const [marks = 'open', ...others] = said;
  return others.length > 0 ? 'open' : marks;
}
