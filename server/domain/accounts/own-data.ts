/** What people do themselves with their personal data: export it, and erase their identity. */

import { mapped, row, rows, takingLong, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';

const exported = row<{ data: string | null }>('own_data', 'select app.own_data($1, $2, $3)::text as data');

/** What is about the session's owner, as JSON text, with the latest of lists that are very long; null: the session is over. Needs a recent sign-in. */
export const ownData = (session: Buffer | null, { address, requestId }: Origin): Statement<string | null> =>
  takingLong(mapped(exported(session, address, requestId), (answer) => answer?.data ?? null));

const mails = rows<{ id: string }>('mails_of_oneself', 'select m.id from app.mails_of_oneself($1) m (id)');

/** The ids of the mails which the session's owner got or caused, of which an erasure leaves no trace. Needs a recent sign-in. */
export const mailsOfOneself = (session: Buffer | null): Statement<string[]> =>
  mapped(mails(session), (found) => found.map(({ id }) => id));

const erase = row<{ pseudonym: string | null }>('erase_oneself', 'select app.erase_oneself($1, $2) as pseudonym');

/** Erases who the session's owner is, at once; the pseudonym, or null: the session is over. Needs a recent sign-in. */
export const eraseOneself = (session: Buffer | null, { requestId }: Origin): Statement<string | null> =>
  takingLong(mapped(erase(session, requestId), (answer) => answer?.pseudonym ?? null));
