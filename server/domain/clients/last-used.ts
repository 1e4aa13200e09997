/** When sessions, API keys and access tokens were last used (054_last_use_aside.sql). */

import { row, type Statement } from '../../database/statement.ts';

const note = row<unknown, [digests: readonly Buffer[], ages: readonly number[]]>(
  'note_uses',
  'select app.note_uses($1, $2)',
);

/** A credential that was used: its digest, and the milliseconds since its use. */
interface LastUse {
  readonly digest: Buffer;
  readonly age: number;
}

/** Records the last use of each of these credentials, at most once per clock minute. */
export const recordLastUses = (uses: readonly LastUse[]): Statement<unknown> =>
  note(
    uses.map(({ digest }) => digest),
    uses.map(({ age }) => age),
  );
