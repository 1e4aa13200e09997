/**
 * Delivers the mails in the outbox. A mail is claimed in a transaction of its own before it is handed over, and the
 * outcome is recorded in another one after: if a node ends between them, another node sends the mail under the same
 * Message-ID once the claim has expired.
 */

import type { Services } from '../services.ts';
import { recordOutcome, startDeliveryWorker } from '../background/queue-worker.ts';
import {
  claimMail,
  linkOfMail,
  mailFailed,
  mailNotNeeded,
  mailSent,
  zoneOfMail,
  type ClaimedMail,
} from '../domain/outbox/mails.ts';
import { notificationMail, timesOfMail } from '../domain/notifications/events.ts';
import { logoOfMail } from '../domain/people/logos.ts';
import { letterOf } from './contents.ts';
import { isSecurity, notificationLetter } from './notifications.ts';
import { openedToken } from './secrets.ts';
import { traced, type OpenSpan } from '../telemetry/tracing.ts';
import { render, type Letter, type LetterLogo } from './template.ts';
import { connections, NotSent, type Mail } from './transport.ts';

export interface Delivery {
  /** Begins to deliver the mails that are due, and resolves before they are delivered. */
  begin(): Promise<void>;
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
  const { id, kind, brokerage_name, facts, secret, created_at } = claimed;
  const link = secret === null ? null : await database.run(linkOfMail(id));
  const sending = {
    baseUrl: config.baseUrl,
    brokerage: brokerage_name,
    token: secret === null ? '' : openedToken(secrets, secret),
    linkUntil: link?.expires_at ?? null,
    replyTo: link?.reply_to ?? null,
    timeZone: await database.run(zoneOfMail(id)),
    at: created_at,
  };
  if (kind === 'notifications') {
    const [first, ...others] = await database.run(notificationMail(id));
    if (first === undefined) return null;
    const items = [first, ...others] as const;
    const times = items.some(isSecurity) ? await database.run(timesOfMail(id)) : [];
    return notificationLetter(items, new Map(times.map(({ kind: of, at }) => [of, at])), sending);
  }
  const made = letterOf(kind, facts, sending);
  if (made === null) throw new NotSent('This node does not know this kind of e-mail: a newer release wrote it.');
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

const failed = 'delivering e-mails failed';

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
      const failure =
        error instanceof NotSent ? error : new NotSent('The e-mail could not be composed.', { cause: error });
      const { message: reason, final, isOutage } = failure;
      span.fail(final ? 'given_up' : 'not_sent');
      // Neither the address nor the content is logged; the id is enough to find the mail.
      log.warn({ mail: id, kind, attempt: attempts, reason, final }, 'an e-mail was not delivered');
      await database.run(mailFailed(claimed, { reason, final, outage: isOutage }));
      return !isOutage;
    }
    await recordOutcome(() => database.run(mailSent(claimed)));
    return true;
  }

  const starts = new Set<Promise<void>>();
  const lanes = new Set<Promise<void>>();
  /** How often a delivery was begun. */
  let begun = 0;
  /** Whether the mail server could not be used since: the other mails wait until a delivery is begun again. */
  let isAway = false;

  /** Claims a mail that is due, if any, unless the node stops or the mail server cannot be used. */
  async function following(): Promise<ClaimedMail | null> {
    for (;;) {
      if (stopping.signal.aborted || isAway) return null;
      const before = begun;
      const claimed = await database.run(claimMail());
      // A mail may have been written while the database was asked, when no lane was free.
      if (claimed !== null || begun === before) return claimed;
    }
  }

  /** Delivers mails one after the other, until none is due or the mail server cannot be used. */
  async function lane(first: ClaimedMail): Promise<void> {
    for (let next: ClaimedMail | null = first; next !== null; next = await following())
      if (!(await deliver(next))) isAway = true;
  }

  /** Starts lanes while mails are due; none waits for one whose mail the server takes long to accept. */
  async function startLanes(): Promise<void> {
    while (!stopping.signal.aborted && !isAway && lanes.size < atOnce) {
      const claimed = await database.run(claimMail());
      if (claimed === null) return;
      const started = lane(claimed)
        .catch((error: unknown) => log.warn({ err: error }, failed))
        .finally(() => lanes.delete(started));
      lanes.add(started);
    }
  }

  function begin(): Promise<void> {
    begun += 1;
    isAway = false;
    const start = startLanes().finally(() => starts.delete(start));
    starts.add(start);
    return start;
  }

  return {
    begin,
    async deliverDue() {
      await begin();
      await Promise.all(lanes);
    },
    async stop() {
      stopping.abort();
      await Promise.allSettled(starts);
      await Promise.all(lanes);
    },
  };
}

/**
 * Delivers mails while the node runs: as soon as one is written, and every few seconds. The returned function stops it.
 */
export function startDelivery(services: Services): () => Promise<void> {
  const delivery = openDelivery(services);
  return startDeliveryWorker(services, failed, {
    deliver: () => delivery.begin(),
    finish: () => delivery.stop(),
  });
}
