/** Undelivered mails, for the admins of the brokerage in whose name they were sent; never their content. */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { NewLink } from '../accounts/secret-tokens.ts';
import type { Origin } from '../audit/audited.ts';

/** Delivery state of an invitation's mail: failed so far and retried, or given up; null when there is no problem. */
export type MailTrouble = 'delayed' | 'undelivered' | null;

export interface UndeliveredMail {
  id: string;
  kind: string;
  recipient: string;
  created_at: string;
  /** Whether delivery is no longer retried. */
  given_up: boolean;
  attempts: number;
  next_attempt_at: string;
  last_error: string | null;
}

/**
 * The mails of a brokerage that are waiting or were given up, newest first, at most 200; empty unless the caller is one
 * of its admins. Who left and is invited back is named by the address of the day they left, without the error, which
 * may name the present one.
 */
export const undeliveredMails = rows<UndeliveredMail, [brokerageId: string]>(
  'undelivered_mails',
  `select o.id, o.kind, coalesce(k.address, o.recipient) as recipient, o.created_at, o.given_up, o.attempts, o.next_attempt_at,
     case when k.address is null then o.last_error end as last_error
   from app.undelivered_mails($1) o cross join lateral app.recipient_known_as(o.id) k (address)`,
);

const resend = row<{ done: boolean }>('resend_mail', 'select app.resend_mail($1, $2, $3, $4, $5, $6) as done');

/**
 * Resends one of these mails, an invitation with a new link; for admins of the brokerage. False when there is no such
 * mail. Refused with `mail_under_way`, `link_expired` and `too_many_mails`.
 */
export const resendMail = (
  brokerageId: string,
  mailId: string,
  { token, secret }: NewLink,
  { address, requestId }: Origin,
): Statement<boolean> =>
  mapped(resend(brokerageId, mailId, token, secret, address, requestId), (answer) => answer?.done ?? false);
