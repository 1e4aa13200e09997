/** What people do themselves with their personal data: export it, and erase their identity. */

import { mapped, row, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';

const exported = row<{ data: string | null }>('own_data', 'select app.own_data($1, $2, $3)::text as data');

/** Everything that is about the session's owner, as JSON text; null: the session is over. Needs a recent sign-in. */
export const ownData = (session: Buffer | null, { address, requestId }: Origin): Statement<string | null> =>
  mapped(exported(session, address, requestId), (answer) => answer?.data ?? null);

const erase = row<{ pseudonym: string | null }>('erase_oneself', 'select app.erase_oneself($1, $2) as pseudonym');

/** Erases who the session's owner is, at once; the pseudonym, or null: the session is over. Needs a recent sign-in. */
export const eraseOneself = (session: Buffer | null, { requestId }: Origin): Statement<string | null> =>
  mapped(erase(session, requestId), (answer) => answer?.pseudonym ?? null);
