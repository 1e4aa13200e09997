/** The outbox: mails that wait to be delivered, each written in the transaction of what causes it (040_outbox.sql). */

import { mapped, row, type Statement } from '../../database/statement.ts';

/** What is known of each kind of mail, beside its recipient and its link: facts of the moment at which it was caused. */
export interface MailFacts {
  /** `deal`: its title; null for an invitation to the brokerage. */
  invitation: { name: string; by: string; brokerage: string; deal: string | null };
  password_reset: { name: string };
  address_change: { name: string };
  address_changed: { name: string; new_email: string };
  security_change: { name: string; what: SecurityChange };
  /** To each admin: a webhook to this host was turned off, which has taken nothing for three days. */
  webhook_off: { name: string; brokerage: string; host: string; error: string | null };
  /** To each admin of it. `by`: who asked for the deletion or canceled it; null: the operator. */
  brokerage_deletion: { name: string; brokerage: string; by: string | null; due_at: string; cancelled: boolean };
}

/** How the protection of an account was changed. */
export type SecurityChange =
  | 'password_changed'
  | 'password_reset'
  | 'authenticator_added'
  | 'authenticator_removed'
  | 'recovery_codes_renewed'
  | 'passkey_added'
  | 'passkey_removed';

export type MailKind = keyof MailFacts;

interface Queued {
  /** The address, in SQL; where it is null, no mail is written. */
  readonly to: string;
  /** A jsonb of the facts, in SQL. */
  readonly facts: string;
  /** The brokerage in whose name it is sent, or the deal, in SQL: their admins see whether it was delivered. */
  readonly brokerage?: string;
  readonly deal?: string;
  /** The token of the mail's link, sealed, and its digest; in SQL. */
  readonly secret?: string;
  readonly link?: string;
  /** False for a mail that may wait behind those that a person is waiting for. */
  readonly urgent?: boolean;
}

/**
 * An expression in SQL that puts a mail into the outbox: stands in the list of a select whose rows are what took place, so
 * that the mail is written with it or not at all.
 */
export const queueMail = (
  kind: MailKind,
  { to, facts, brokerage = 'null', deal = 'null', secret = 'null', link = 'null', urgent = true }: Queued,
): string =>
  `app.queue_mail('${kind}', ${to}, null, ${brokerage}, ${deal}, ${urgent}, ${facts}, ${secret}::text, ${link}::bytea)`;

/** A mail that was taken to be delivered. */
export interface ClaimedMail {
  id: string;
  kind: string;
  recipient: string;
  /** The brokerage in whose name it is sent. */
  brokerage_name: string | null;
  deal_id: string | null;
  facts: Record<string, unknown>;
  /** The token of its link, as it was sealed. */
  secret: string | null;
  /** Which attempt this is; named when its end is noted. */
  attempts: number;
  created_at: string;
}

/** Takes a mail that is due, for five minutes in which nobody else takes it; null when none is. */
export const claimMail: () => Statement<ClaimedMail | null> = row<ClaimedMail, []>(
  'claim_mail',
  `select id, kind, recipient, brokerage_name, deal_id, facts, secret, attempts, created_at from app.claim_mails(1)`,
);

const sent = row<{ done: boolean }, [string, number]>('mail_sent', 'select app.mail_sent($1, $2) as done');

/** Notes that a mail was delivered, and empties it; false when another process has taken it since. */
export const mailSent = ({ id, attempts }: ClaimedMail): Statement<boolean> =>
  mapped(sent(id, attempts), (answer) => answer?.done ?? false);

const notNeeded = row<{ done: boolean }, [string, number]>(
  'mail_not_needed',
  'select app.mail_not_needed($1, $2) as done',
);

/** Deletes a mail that has nothing to say to its reader any more; false when another process has taken it since. */
export const mailNotNeeded = ({ id, attempts }: ClaimedMail): Statement<boolean> =>
  mapped(notNeeded(id, attempts), (answer) => answer?.done ?? false);

const failed = row<{ done: boolean }, [string, number, string, boolean]>(
  'mail_failed',
  'select app.mail_failed($1, $2, $3, $4) as done',
);

/** Notes why a mail was not delivered; it is tried again later, unless that is `final` or a day has passed. */
export const mailFailed = ({ id, attempts }: ClaimedMail, reason: string, final: boolean): Statement<boolean> =>
  mapped(failed(id, attempts, reason, final), (answer) => answer?.done ?? false);
