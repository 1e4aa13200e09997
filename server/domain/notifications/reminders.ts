/** Reminders that a broker sends of what a person has to do: sign an NDA, answer a question, meet a closing condition (058_reminders_by_brokers.sql). */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';

/** What a person can be reminded of. */
export const remindable = ['ndas', 'questions', 'closing_conditions'] as const;
export type Remindable = (typeof remindable)[number];

interface SentReminder {
  subject: Remindable;
  subject_id: string;
  sent_at: string;
}

/** What reminders were sent of on a deal within the last 24 hours, the latest first, at most 500; to its brokers alone. */
export const sentReminders = rows<SentReminder, [dealId: string]>(
  'reminders_sent',
  'select subject, subject_id, sent_at from app.reminders_sent($1) order by sent_at desc, subject_id',
);

const send = row<{ reminded: number | null }>('remind', 'select app.remind($1, $2, $3, $4) as reminded');

/**
 * Reminds the people whom a record waits for; how many they are, or null: there is none that the caller sees as a broker of its deal. Refused with
 * `deal_closed`, `deal_withdrawn`, `nobody_to_remind`, `reminded_already` (within 24 hours) and `too_many_reminders` (60 within an hour).
 */
export const remind = (subject: Remindable, id: string, { address, requestId }: Origin): Statement<number | null> =>
  mapped(send(subject, id, address, requestId), (found) => found?.reminded ?? null);
