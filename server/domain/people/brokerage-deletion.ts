/** Deleting a brokerage: requested by an admin or the operator, canceled before its day, or carried out on it. */

import { mapped, row, rows, takingLong, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';

const ask = row<{ due_at: string | null }>(
  'ask_brokerage_deletion',
  'select app.ask_brokerage_deletion($1, $2, $3, $4) as due_at',
);

/**
 * Has a brokerage deleted after so many days; for its admins, with a recent sign-in. When that is; null: the caller is no admin of it.
 * Refused with `legal_hold` and `deletion_asked`.
 */
export const askBrokerageDeletion = (
  id: string,
  days: number,
  { address, requestId }: Origin,
): Statement<string | null> => mapped(ask(id, days, address, requestId), (answer) => answer?.due_at ?? null);

const cancel = row<{ done: boolean | null }>(
  'cancel_brokerage_deletion',
  'select app.cancel_brokerage_deletion($1, $2, $3) as done',
);

/** Takes that back; for its admins. False: the caller is none; null: nothing was asked for. Refused with `deletion_begun`. */
export const cancelBrokerageDeletion = (id: string, { address, requestId }: Origin): Statement<boolean | null> =>
  mapped(cancel(id, address, requestId), (answer) => answer?.done ?? null);

interface DeletedPart {
  /** Nothing is left of it. */
  finished: boolean;
}

const next = row<{ id: string | null }>('brokerage_to_delete', 'select app.brokerage_to_delete($1) as id');

/** The first brokerage whose time has come, of those that are not named; null when there is none. */
export const brokerageToDelete = (skipped: readonly string[]): Statement<string | null> =>
  mapped(next(skipped), (found) => found?.id ?? null);

const mails = rows<{ id: string }>(
  'mails_of_deleted_brokerage',
  'select m.id from app.mails_of_deleted_brokerage($1, $2) m (id)',
);

/** Which of these mails were sent in the name of a brokerage whose time has come, or of one of its deals: as long as their rows are there. */
export const mailsOfDeletedBrokerage = (id: string, among: readonly string[]): Statement<string[]> =>
  mapped(mails(id, among), (found) => found.map((mail) => mail.id));

const deletePart = row<DeletedPart, [id: string, most: number]>(
  'delete_brokerage_part',
  'select finished from app.delete_brokerage_part($1, $2)',
);

/** Deletes about `most` rows of a brokerage whose time has come; null when it is not so any more, or another node is at it. */
export const deleteBrokeragePart = (id: string, most: number): Statement<DeletedPart | null> =>
  takingLong(deletePart(id, most));
