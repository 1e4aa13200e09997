/**
 * Deadlines as a calendar: the secret link with which a person subscribes to their calendar, and its content
 * (057_calendar.sql).
 */

import { entering, mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';

const madeAt = row<{ created_at: string | null }, []>('calendar_link', 'select app.calendar_link() as created_at');

/** When the caller created their calendar link; null without a link. */
export const calendarLink = (): Statement<string | null> => mapped(madeAt(), (found) => found?.created_at ?? null);

const make = row('make_calendar_link', 'select app.make_calendar_link($1, $2, $3)');

/** Gives the caller a link with a token of this digest, which replaces the earlier one. */
export const makeCalendarLink = (token: Buffer, { address, requestId }: Origin): Statement<unknown> =>
  make(token, address, requestId);

const end = row<{ done: boolean }>('end_calendar_link', 'select app.end_calendar_link($1, $2) as done');

/** Removes the caller's link; false when they had none. */
export const endCalendarLink = ({ address, requestId }: Origin): Statement<boolean> =>
  mapped(end(address, requestId), (found) => found?.done ?? false);

const enter = row<{ user_id: string }>(
  'enter_with_calendar_link',
  'select user_id from app.enter_with_calendar_link($1)',
);

/**
 * Enters the transaction, read-only, as the person whose link has a token of this digest; null when there is no such
 * link.
 */
export const enterWithCalendarLink = (token: Buffer): Statement<{ user_id: string } | null> =>
  entering(token, enter(token));

export interface Deadline {
  subject: 'offers' | 'exclusivities' | 'ndas' | 'closing_conditions';
  subject_id: string;
  deal_id: string;
  deal_title: string;
  /** When the deadline passes; a deadline that is a day passes when that day is over everywhere on earth. */
  due_at: string;
  /** The day (YYYY-MM-DD) of a deadline without a time; null otherwise. */
  due_on: string | null;
  /**
   * Whether the caller is responsible: for their side's offer, NDA or exclusivity, or a condition that they must meet.
   */
  own: boolean;
  /** When the record began, and when it was last changed. */
  begun_at: string;
  changed_at: string;
}

/**
 * The deadlines on the open deals in which the caller takes part, as far as they see them: ends within two years, and
 * closing conditions that were due within the last 60 days; soonest first, at most 1,000.
 */
export const deadlines = rows<Deadline, []>(
  'deadlines',
  'select subject, subject_id, deal_id, deal_title, due_at, due_on, own, begun_at, changed_at from app.deadlines()',
);
