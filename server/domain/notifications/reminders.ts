/**
 * Reminders with which a broker reminds people of their tasks: to sign an NDA, answer a question, meet a closing
 * condition (058_reminders_by_brokers.sql).
 */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';

/** The kinds of records of which a person can be reminded. */
export const remindable = ['ndas', 'questions', 'closing_conditions'] as const;
export type Remindable = (typeof remindable)[number];

interface SentReminder {
  subject: Remindable;
  subject_id: string;
  sent_at: string;
}

/**
 * The records of a deal about which reminders were sent within the last 24 hours, latest first, at most 500; none
 * unless the caller is a broker of the deal.
 */
export const sentReminders = rows<SentReminder, [dealId: string]>(
  'reminders_sent',
  'select subject, subject_id, sent_at from app.reminders_sent($1) order by sent_at desc, subject_id',
);

const send = row<{ reminded: number | null }>('remind', 'select app.remind($1, $2, $3, $4) as reminded');

/**
 * Reminds the people for whom a record is waiting; returns their number, or null when there is no such record that the
 * caller sees as a broker of its deal. Rejected with `deal_closed`, `deal_withdrawn`, `nobody_to_remind`,
 * `reminded_already` (within 24 hours) or `too_many_reminders` (60 within an hour).
 */
export const remind = (subject: Remindable, id: string, { address, requestId }: Origin): Statement<number | null> =>
  mapped(send(subject, id, address, requestId), (found) => found?.reminded ?? null);
