/**
 * Deletion of a brokerage: requested by an admin or the operator, canceled before its due date, or carried out when
 * due.
 */

import { mapped, row, rows, takingLong, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';

const ask = row<{ due_at: string | null }>(
  'ask_brokerage_deletion',
  'select app.ask_brokerage_deletion($1, $2, $3, $4) as due_at',
);

/**
 * Schedules the deletion of a brokerage in this many days; for its admins, with a recent sign-in. Returns the due time;
 * null: the caller is not an admin of the brokerage. Refused with `legal_hold` and `deletion_asked`.
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

/**
 * Cancels the deletion; for admins. False: the caller is not an admin; null: no deletion was requested. Refused with
 * `deletion_begun`.
 */
export const cancelBrokerageDeletion = (id: string, { address, requestId }: Origin): Statement<boolean | null> =>
  mapped(cancel(id, address, requestId), (answer) => answer?.done ?? null);

interface DeletedPart {
  /** Whether nothing of the brokerage is left. */
  finished: boolean;
}

const next = row<{ id: string | null }>('brokerage_to_delete', 'select app.brokerage_to_delete($1) as id');

/** The first brokerage whose deletion is due, except those in `skipped`; null when there is none. */
export const brokerageToDelete = (skipped: readonly string[]): Statement<string | null> =>
  mapped(next(skipped), (found) => found?.id ?? null);

const mails = rows<{ id: string }>(
  'mails_of_deleted_brokerage',
  'select m.id from app.mails_of_deleted_brokerage($1, $2) m (id)',
);

/**
 * Which of these mails were sent in the name of a brokerage whose deletion is due, or of one of its deals: as long as
 * their rows exist.
 */
export const mailsOfDeletedBrokerage = (id: string, among: readonly string[]): Statement<string[]> =>
  mapped(mails(id, among), (found) => found.map((mail) => mail.id));

const deletePart = row<DeletedPart, [id: string, most: number]>(
  'delete_brokerage_part',
  'select finished from app.delete_brokerage_part($1, $2)',
);

/**
 * Deletes about `most` rows of a brokerage whose deletion is due; null when it is no longer due, or another node is
 * deleting it.
 */
export const deleteBrokeragePart = (id: string, most: number): Statement<DeletedPart | null> =>
  takingLong(deletePart(id, most));
