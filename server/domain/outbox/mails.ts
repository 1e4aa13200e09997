/** The outbox: mails waiting for delivery, each written in the transaction of its cause (040_outbox.sql). */

import { mapped, row, type Statement } from '../../database/statement.ts';

/** The facts that each kind of mail holds besides its recipient and its link, as they were when it was caused. */
export interface MailFacts {
  /** `deal`: the deal's title; null for an invitation to the brokerage. */
  invitation: { name: string; by: string; brokerage: string; deal: string | null };
  password_reset: { name: string };
  address_change: { name: string };
  address_changed: { name: string; new_email: string };
  security_change: { name: string; what: SecurityChange };
  /**
   * To each admin: a webhook to this host was turned off because it accepted no delivery for three days. `webhook`: its
   * id.
   */
  webhook_off: { name: string; brokerage: string; host: string; error: string | null; webhook?: string };
  /** To each admin of the brokerage. `by`: who requested or canceled the deletion; null for the operator. */
  brokerage_deletion: { name: string; brokerage: string; by: string | null; due_at: string; cancelled: boolean };
  /** To everybody else who is with the brokerage, or on one of its deals. */
  deletion_of_deals: { name: string; brokerage: string; due_at: string; cancelled: boolean };
}

/** A change of an account's security settings. */
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
  /** SQL of the address; no mail is written when it is null. */
  readonly to: string;
  /** SQL of a jsonb with the facts. */
  readonly facts: string;
  /** SQL of the brokerage in whose name the mail is sent, or of the deal: their admins see whether it was delivered. */
  readonly brokerage?: string;
  readonly deal?: string;
  /** SQL of the sealed token of the mail's link, and of the token's digest. */
  readonly secret?: string;
  readonly link?: string;
  /** False for a mail that may be delivered after those that a person is waiting for. */
  readonly urgent?: boolean;
}

/**
 * Returns an SQL expression that puts a mail into the outbox, for the select list of a query whose rows are the changes
 * made: the mail is written together with them or not at all.
 */
export const queueMail = (
  kind: MailKind,
  { to, facts, brokerage = 'null', deal = 'null', secret = 'null', link = 'null', urgent = true }: Queued,
): string =>
  `app.queue_mail('${kind}', ${to}, null, ${brokerage}, ${deal}, ${urgent}, ${facts}, ${secret}::text, ${link}::bytea)`;

/** A mail claimed for delivery. */
export interface ClaimedMail {
  id: string;
  kind: string;
  recipient: string;
  /** The brokerage in whose name it is sent. */
  brokerage_name: string | null;
  deal_id: string | null;
  facts: Record<string, unknown>;
  /** The sealed token of its link. */
  secret: string | null;
  /** The number of this attempt, passed along when the outcome is recorded. */
  attempts: number;
  created_at: string;
}

/** Claims a due mail for five minutes, in which no other process claims it; null when none is due. */
export const claimMail: () => Statement<ClaimedMail | null> = row<ClaimedMail, []>(
  'claim_mail',
  `select id, kind, recipient, brokerage_name, deal_id, facts, secret, attempts, created_at from app.claim_mails(1)`,
);

/** The link of a mail, and the address to which its reader may reply. */
export interface MailLink {
  expires_at: string | null;
  reply_to: string | null;
}

/** The link of a mail that is being delivered. */
export const linkOfMail: (mailId: string) => Statement<MailLink | null> = row<MailLink, [mailId: string]>(
  'link_of_mail',
  'select expires_at, reply_to from app.link_of_mail($1)',
);

const zone = row<{ zone: string | null }, [mailId: string]>('zone_of_mail', 'select app.zone_of_mail($1) as zone');

/** The time zone of a mail's reader; null when it is not known. */
export const zoneOfMail = (mailId: string): Statement<string | null> =>
  mapped(zone(mailId), (found) => found?.zone ?? null);

const sent = row<{ done: boolean }, [string, number]>('mail_sent', 'select app.mail_sent($1, $2) as done');

/** Records that a mail was delivered, and clears its content; false when another process has claimed it since. */
export const mailSent = ({ id, attempts }: ClaimedMail): Statement<boolean> =>
  mapped(sent(id, attempts), (answer) => answer?.done ?? false);

const notNeeded = row<{ done: boolean }, [string, number]>(
  'mail_not_needed',
  'select app.mail_not_needed($1, $2) as done',
);

/** Deletes a mail that its reader no longer needs; false when another process has claimed it since. */
export const mailNotNeeded = ({ id, attempts }: ClaimedMail): Statement<boolean> =>
  mapped(notNeeded(id, attempts), (answer) => answer?.done ?? false);

const failed = row<{ done: boolean }, [string, number, string, boolean, boolean]>(
  'mail_failed',
  'select app.mail_failed($1, $2, $3, $4, $5) as done',
);

/** Why a mail was not delivered. */
interface Failure {
  readonly reason: string;
  /** Whether it will never be accepted. */
  readonly final: boolean;
  /** Whether the mail server could not be used at all, so that the failure says nothing about this mail. */
  readonly outage: boolean;
}

/**
 * Records why a mail was not delivered; it is retried later, soon after an outage, unless the failure is `final` or
 * three days have passed.
 */
export const mailFailed = ({ id, attempts }: ClaimedMail, { reason, final, outage }: Failure): Statement<boolean> =>
  mapped(failed(id, attempts, reason, final, outage), (answer) => answer?.done ?? false);
