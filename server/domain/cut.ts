/** Lists with a maximum: one row more is read than is shown, which tells whether there are more. */

/** The rows of a list as far as they are shown, and whether there are more. */
export interface Cut<Row> {
  readonly rows: Row[];
  readonly more: boolean;
}

/**
 * Returns at most `most` of the rows in their order. Of one row too many, the last of those with the highest `rank` is
 * left out.
 */
export function cut<Row>(rows: Row[], most: number, rank: (row: Row) => number = () => 0): Cut<Row> {
  if (rows.length <= most) return { rows, more: false };
  const ranks = rows.map(rank);
  const leftOut = ranks.lastIndexOf(Math.max(...ranks));
  return { rows: rows.toSpliced(leftOut, 1).slice(0, most), more: true };
}
