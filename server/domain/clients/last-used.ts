/** When sessions, API keys and access tokens were last used (054_last_use_aside.sql). */

import { row, type Statement } from '../../database/statement.ts';

const note = row<unknown, [digests: readonly Buffer[], ages: readonly number[]]>(
  'note_uses',
  'select app.note_uses($1, $2)',
);

/** A credential that was used: its digest, and how many milliseconds ago. */
interface LastUse {
  readonly digest: Buffer;
  readonly age: number;
}

/** Writes the last use of each of these credentials down, at most once in a minute of the clock. */
export const recordLastUses = (uses: readonly LastUse[]): Statement<unknown> =>
  note(
    uses.map(({ digest }) => digest),
    uses.map(({ age }) => age),
  );
