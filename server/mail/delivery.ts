/**
 * Delivers the mails in the outbox. A mail is claimed in a transaction of its own before it is handed over, and the
 * outcome is recorded in another one after: if a node ends between them, another node sends the mail under the same
 * Message-ID once the claim has expired.
 */

import type { Services } from '../services.ts';
import { recordOutcome, startDeliveryWorker } from '../background/queue-worker.ts';
import { claimMail, mailFailed, mailNotNeeded, mailSent, type ClaimedMail } from '../domain/outbox/mails.ts';
import { notificationMail } from '../domain/notifications/events.ts';
import { logoOfMail } from '../domain/people/logos.ts';
import { letterOf } from './contents.ts';
import { notificationLetter } from './notifications.ts';
import { openedToken } from './secrets.ts';
import { traced, type OpenSpan } from '../telemetry/tracing.ts';
import { render, type Letter, type LetterLogo } from './template.ts';
import { connections, NotSent, type Mail } from './transport.ts';

export interface Delivery {
  /** Delivers the mails that are due; resolves when none is left, or when the mail server cannot be used. */
  deliverDue(): Promise<void>;
  /** Claims no more mails, and waits for those being handed over. */
  stop(): Promise<void>;
}

/** Returns the domain part of Message-IDs: the domain that the mails come from. */
function domainOf(mailFrom: string): string {
  return /@([A-Za-z0-9.-]+)/.exec(mailFrom)?.[1] ?? 'localhost';
}

/**
 * Returns the current content of the mail; null when its reader has already read it, does not want it, or may no longer
 * see it.
 */
async function letter({ config, database, secrets }: Services, claimed: ClaimedMail): Promise<Letter | null> {
  const { id, kind, brokerage_name, facts, secret } = claimed;
  const sending = {
    baseUrl: config.baseUrl,
    brokerage: brokerage_name,
    token: secret === null ? '' : openedToken(secrets, secret),
  };
  if (kind === 'notifications') {
    const [first, ...others] = await database.run(notificationMail(id));
    return first === undefined ? null : notificationLetter([first, ...others], sending);
  }
  const made = letterOf(kind, facts, sending);
  if (made === null) throw new NotSent('This node does not know this kind of e-mail: a newer release wrote it.', false);
  return made;
}

/**
 * Returns the logo of the brokerage in whose name the mail is sent; null when it has none, or when Dealkeep is the
 * sender.
 */
async function logoFor({ database }: Services, { id, brokerage_name }: ClaimedMail): Promise<LetterLogo | null> {
  const logo = brokerage_name === null ? null : await database.run(logoOfMail(id));
  if (logo === null) return null;
  const { media_type: mediaType, width, height, picture: content } = logo;
  return { mediaType, width, height, content };
}

async function composed(services: Services, claimed: ClaimedMail): Promise<Mail | null> {
  const messageId = `${claimed.id}@${domainOf(services.config.mailFrom)}`;
  const said = await letter(services, claimed);
  if (said === null) return null;
  return { messageId, to: claimed.recipient, ...render({ ...said, logo: await logoFor(services, claimed) }) };
}

/** Codes of nodemailer for what goes wrong before anything is said about a mail. */
const outages: ReadonlySet<unknown> = new Set([
  'EAUTH',
  'EDNS',
  'ECONNECTION',
  'ESOCKET',
  'ETIMEDOUT',
  'ETLS',
  'EPROTOCOL',
]);

/** Whether any other mail would have failed in the same way: the mail server cannot be used by this node for now. */
function isOutage({ cause }: NotSent): boolean {
  if (!(cause instanceof Error)) return false;
  const { code, command, responseCode, timeoutType } = cause as Error &
    Partial<Record<'code' | 'command' | 'responseCode' | 'timeoutType', unknown>>;
  // 421 ends the connection, in answer to whatever command. Rejected senders are an error of our configuration, but a
  // server may already reject here what is too large for it (552).
  if (typeof responseCode === 'number' && responseCode !== 421)
    return responseCode !== 552 && command !== 'RCPT TO' && command !== 'DATA';
  // A server that took the whole mail and does not answer may have accepted it: it is not to get it every five minutes.
  return outages.has(code) && timeoutType !== 'SOCKET_TIMEOUT';
}

/** Opens the delivery of this node, with `atOnce` concurrent mails; it starts nothing by itself. */
export function openDelivery(services: Services, atOnce = connections): Delivery {
  const { database, mail, log, metrics, tracing } = services;
  const stopping = new AbortController();

  async function handOver(written: Mail): Promise<void> {
    let outcome: 'sent' | 'failed' = 'failed';
    try {
      await traced(tracing, { name: 'mail send', kind: 'client', below: 'open' }, () => mail.send(written));
      outcome = 'sent';
    } finally {
      metrics.mailTried(outcome);
    }
  }

  function deliver(claimed: ClaimedMail): Promise<boolean> {
    const { id, kind, attempts } = claimed;
    const attributes = { 'dealkeep.mail.id': id, 'dealkeep.mail.kind': kind, 'dealkeep.mail.attempt': attempts };
    return traced(tracing, { name: 'mail deliver', kind: 'internal', attributes, below: 'nothing' }, (span) =>
      tryToDeliver(claimed, span),
    );
  }

  /** Returns whether the mail server can be used. */
  async function tryToDeliver(claimed: ClaimedMail, span: OpenSpan): Promise<boolean> {
    const { id, kind, attempts } = claimed;
    try {
      const written = await composed(services, claimed);
      if (written === null) {
        await database.run(mailNotNeeded(claimed));
        return true;
      }
      await handOver(written);
    } catch (error) {
      const failure = error instanceof NotSent ? error : new NotSent('The e-mail could not be composed.', false, error);
      const { message: reason, final } = failure;
      const outage = error instanceof NotSent && isOutage(failure);
      span.fail(final ? 'given_up' : 'not_sent');
      // Neither the address nor the content is logged; the id is enough to find the mail.
      log.warn({ mail: id, kind, attempt: attempts, reason, final }, 'an e-mail was not delivered');
      await database.run(mailFailed(claimed, { reason, final, outage }));
      return !outage;
    }
    await recordOutcome(() => database.run(mailSent(claimed)));
    return true;
  }

  /** Delivers mails one after the other, until none is due or the mail server cannot be used. */
  async function lane(run: { ends: boolean }, first: ClaimedMail | null = null): Promise<void> {
    for (let next = first; next !== null || !(stopping.signal.aborted || run.ends); next = null) {
      const claimed = next ?? (await database.run(claimMail()));
      if (claimed === null) return;
      // The others are due still, when the server works again: the next run begins within seconds.
      if (!(await deliver(claimed))) run.ends = true;
    }
  }

  async function deliverDue(): Promise<void> {
    if (stopping.signal.aborted) return;
    const first = await database.run(claimMail());
    if (first === null) return;
    const run = { ends: false };
    const others = Array.from({ length: atOnce - 1 }, () => lane(run));
    const ends = await Promise.allSettled([lane(run, first), ...others]);
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed) throw failed.reason;
  }

  const running = new Set<Promise<void>>();
  return {
    deliverDue() {
      const run = deliverDue().finally(() => running.delete(run));
      running.add(run);
      return run;
    },
    async stop() {
      stopping.abort();
      await Promise.allSettled(running);
    },
  };
}

/**
 * Delivers mails while the node runs: as soon as one is written, and every few seconds. The returned function stops it.
 */
export function startDelivery(services: Services): () => Promise<void> {
  const delivery = openDelivery(services);
  return startDeliveryWorker(services, 'delivering e-mails failed', {
    deliver: () => delivery.deliverDue(),
    finish: () => delivery.stop(),
  });
}
