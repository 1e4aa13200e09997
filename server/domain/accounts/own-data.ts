/** People's actions on their own personal data: exporting it, and erasing their identity. */

import { mapped, row, rows, takingLong, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';

const exported = row<{ data: string | null }>('own_data', 'select app.own_data($1, $2, $3)::text as data');

/**
 * Returns the data about the session's owner as JSON text, of very long lists only the latest entries; null when the
 * session has ended. Needs a recent sign-in.
 */
export const ownData = (session: Buffer | null, { address, requestId }: Origin): Statement<string | null> =>
  takingLong(mapped(exported(session, address, requestId), (answer) => answer?.data ?? null));

const mails = rows<{ id: string }>('mails_of_oneself', 'select m.id from app.mails_of_oneself($1) m (id)');

/**
 * Returns the ids of the mails that the session's owner received or caused, all traces of which an erasure removes.
 * Needs a recent sign-in.
 */
export const mailsOfOneself = (session: Buffer | null): Statement<string[]> =>
  mapped(mails(session), (found) => found.map(({ id }) => id));

const erase = row<{ pseudonym: string | null }>('erase_oneself', 'select app.erase_oneself($1, $2) as pseudonym');

/**
 * Erases the identity of the session's owner at once and returns the pseudonym; null when the session has ended. Needs
 * a recent sign-in.
 */
export const eraseOneself = (session: Buffer | null, { requestId }: Origin): Statement<string | null> =>
  takingLong(mapped(erase(session, requestId), (answer) => answer?.pseudonym ?? null));
