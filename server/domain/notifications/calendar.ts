/** Deadlines as a calendar: the secret link by which a person subscribes to theirs, and what is in it (057_calendar.sql). */

import { entering, mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';

const madeAt = row<{ created_at: string | null }, []>('calendar_link', 'select app.calendar_link() as created_at');

/** When the caller made the link to their calendar; null: they have none. */
export const calendarLink = (): Statement<string | null> => mapped(madeAt(), (found) => found?.created_at ?? null);

const make = row('make_calendar_link', 'select app.make_calendar_link($1, $2, $3)');

/** Gives the caller a link with a token of this digest, in the place of the one that they had. */
export const makeCalendarLink = (token: Buffer, { address, requestId }: Origin): Statement<unknown> =>
  make(token, address, requestId);

const end = row<{ done: boolean }>('end_calendar_link', 'select app.end_calendar_link($1, $2) as done');

/** Takes the caller's link away; false when they had none. */
export const endCalendarLink = ({ address, requestId }: Origin): Statement<boolean> =>
  mapped(end(address, requestId), (found) => found?.done ?? false);

const enter = row<{ user_id: string }>(
  'enter_with_calendar_link',
  'select user_id from app.enter_with_calendar_link($1)',
);

/** Enters as the person whose link has a token of this digest, for reading alone; null: it leads nowhere. */
export const enterWithCalendarLink = (token: Buffer): Statement<{ user_id: string } | null> =>
  entering(token, enter(token));

export interface Deadline {
  subject: 'offers' | 'exclusivities' | 'ndas' | 'closing_conditions';
  subject_id: string;
  deal_id: string;
  deal_title: string;
  /** When it has passed; of a day, when that is over everywhere on earth. */
  due_at: string;
  /** The day (YYYY-MM-DD), where it is one and no moment. */
  due_on: string | null;
  /** It is the caller's to see to: their side's offer, NDA or exclusivity, or a condition that is theirs to meet. */
  own: boolean;
  /** When the record began, and when it was changed last. */
  begun_at: string;
  changed_at: string;
}

/**
 * What ends or is due on the open deals in which the caller takes part, as far as they see it: within two years, and closing
 * conditions that should have been met within the last 60 days; the soonest first, at most 1,000.
 */
export const deadlines = rows<Deadline, []>(
  'deadlines',
  'select subject, subject_id, deal_id, deal_title, due_at, due_on, own, begun_at, changed_at from app.deadlines()',
);
