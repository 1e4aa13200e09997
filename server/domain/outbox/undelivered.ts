/** Mails that have not arrived, as the admins of the brokerage in whose name they were sent see them: never what they say. */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { NewLink } from '../accounts/secret-tokens.ts';
import type { Origin } from '../audit/audited.ts';

/** How the mail of an invitation fares: tried and not taken yet, or given up; null when nothing is wrong. */
export type MailTrouble = 'delayed' | 'undelivered' | null;

export interface UndeliveredMail {
  id: string;
  kind: string;
  recipient: string;
  created_at: string;
  /** Nobody tries any more. */
  given_up: boolean;
  /** How often it was tried. */
  attempts: number;
  next_attempt_at: string;
  last_error: string | null;
}

/** The mails of a brokerage that wait or were given up, the latest first, 200 at most; none but for its admins. */
export const undeliveredMails = rows<UndeliveredMail, [brokerageId: string]>(
  'undelivered_mails',
  `select id, kind, recipient, created_at, given_up, attempts, next_attempt_at, last_error from app.undelivered_mails($1)`,
);

const resend = row<{ done: boolean }>('resend_mail', 'select app.resend_mail($1, $2, $3, $4, $5, $6) as done');

/**
 * Sends one of them again, with a new link where the old one was forgotten; for admins of the brokerage. False: there is no
 * such mail. Refused with `mail_under_way`, `link_expired` and `too_many_mails`.
 */
export const resendMail = (
  brokerageId: string,
  mailId: string,
  { token, secret }: NewLink,
  { address, requestId }: Origin,
): Statement<boolean> =>
  mapped(resend(brokerageId, mailId, token, secret, address, requestId), (answer) => answer?.done ?? false);
