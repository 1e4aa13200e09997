/**
 * Delivers webhooks. A delivery is claimed in a transaction of its own, the record is read with the rights of the webhook's key, and its end is noted
 * in another: a node that dies between them leaves it to another one, which sends it under the same webhook-id.
 */

import { hash } from 'node:crypto';
import type { ChangeEvent } from '../domain/events/changes.ts';
import { recordsOf, withRecords } from '../domain/changed-records.ts';
import {
  claimDeliveries,
  enterForDelivery,
  noteDelivery,
  queueWebhooks,
  seesChange,
  type Attempted,
  type ClaimedDelivery,
} from '../domain/webhooks/deliveries.ts';
import { guardedFetch, NotFetched } from '../http/guarded-fetch.ts';
import type { Services } from '../services.ts';
import { noteEnd, startDelivering } from '../woken.ts';
import { openedSecrets, signedHeaders } from './signature.ts';

export interface WebhookDelivery {
  /** Takes what is due now, and begins to send it; resolves when no more can be taken at once. */
  begin(): Promise<void>;
  /** Delivers what is due now, and what becomes due by it; resolves when nothing is any more. */
  deliverDue(): Promise<void>;
  /** Takes no more, and waits for those that are being sent. */
  stop(): Promise<void>;
}

/** How many a node sends at once. */
const atOnce = 32;
/** How much of an answer is kept, in characters. */
const keptAnswer = 4_096;

const nothing = { url: null, bytes: null, digest: null, status: null, answer: null, answerType: null, millis: null };

/** A text that the database can keep. */
const storable = (text: string): string => text.replaceAll('\0', '\uFFFD').toWellFormed();

/** Opens the delivery of this node; it does nothing by itself. */
export function openWebhooks(services: Services): WebhookDelivery {
  const { config, database, secrets, clock, log } = services;
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  let isWanted = false;
  let taking: Promise<void> | undefined;

  /** What is sent, read with the rights of its key; null when the key does not see it any more, undefined when the claim or the key has ended. */
  async function bodyOf(claimed: ClaimedDelivery): Promise<string | null | undefined> {
    const { event_id: id, type, seq, object_type, object_id, deal_id, occurred_at } = claimed;
    const event = { id, type, objectType: object_type, objectId: object_id, dealId: deal_id, occurredAt: occurred_at };
    if (seq === null) return JSON.stringify({ ...event, data: null });
    const change = event as ChangeEvent;
    const [entered, isSeen, ...records] = await database.together(
      enterForDelivery(claimed),
      seesChange(seq),
      ...recordsOf([change], config.features),
    );
    if (!entered) return undefined;
    return isSeen ? JSON.stringify(withRecords([change], records)[0]) : null;
  }

  async function attempt(claimed: ClaimedDelivery): Promise<Attempted | undefined> {
    const body = await bodyOf(claimed);
    if (body === undefined) return undefined;
    if (body === null) return { ...nothing, outcome: 'dropped', error: 'The key does not see this record any more.' };
    const { url, event_id } = claimed;
    const sent = { url, bytes: Buffer.byteLength(body), digest: hash('sha256', body) };
    try {
      const signed = signedHeaders(event_id, clock(), body, openedSecrets(secrets, claimed));
      const headers = { ...signed, 'Content-Type': 'application/json', 'User-Agent': 'Dealkeep-Webhooks/1' };
      const answer = await guardedFetch(
        url,
        { method: 'POST', headers, body },
        { allowLoopback: config.webhooksAllowLoopback },
      );
      const { status, millis } = answer;
      const isTaken = status >= 200 && status < 300;
      return {
        ...sent,
        outcome: isTaken ? 'delivered' : 'failed',
        status,
        error: isTaken ? null : `The answer was ${status} and not 2xx.`,
        answer: storable(answer.body.toString('utf8')).slice(0, keptAnswer).toWellFormed(),
        answerType: storable(answer.headers['content-type'] ?? '') || null,
        millis,
      };
    } catch (error) {
      if (!(error instanceof NotFetched)) throw error;
      return { ...nothing, ...sent, outcome: 'failed', error: error.message };
    }
  }

  async function deliver(claimed: ClaimedDelivery): Promise<void> {
    const attempted = await attempt(claimed);
    if (attempted === undefined) return;
    const { outcome, status, error } = attempted;
    if (outcome === 'failed') {
      // Neither the address nor what was sent: its id leads to it.
      const { id, endpoint_id: webhook, attempts } = claimed;
      log.info({ webhook, delivery: id, attempt: attempts, status, reason: error }, 'a webhook was not delivered');
    }
    await noteEnd(() => database.run(noteDelivery(claimed, attempted)));
  }

  function start(claimed: ClaimedDelivery): void {
    const run = deliver(claimed)
      .catch((error: unknown) => log.warn({ err: error, delivery: claimed.id }, 'delivering a webhook failed'))
      .finally(() => {
        running.delete(run);
        // It has made room, and the next of its record may be due.
        begin().catch((error: unknown) => log.warn({ err: error }, 'delivering webhooks failed'));
      });
    running.add(run);
  }

  async function take(): Promise<void> {
    while (!stopping.signal.aborted && (await database.run(queueWebhooks())));
    while (!stopping.signal.aborted && running.size < atOnce) {
      const claimed = await database.run(claimDeliveries(atOnce - running.size));
      if (claimed.length === 0) return;
      claimed.forEach(start);
    }
  }

  function begin(): Promise<void> {
    isWanted = true;
    taking ??= (async () => {
      try {
        while (isWanted && !stopping.signal.aborted) {
          isWanted = false;
          await take();
        }
      } finally {
        taking = undefined;
      }
    })();
    return taking;
  }

  return {
    begin,
    async deliverDue() {
      do {
        await begin();
        await Promise.all(running);
      } while (running.size > 0 || taking !== undefined);
    },
    async stop() {
      stopping.abort();
      await taking?.catch(() => {});
      await Promise.all(running);
    },
  };
}

/** Delivers as long as the node runs: when changes are published, and every few seconds. The function returned ends that. */
export function startWebhooks(services: Services): () => Promise<void> {
  const delivery = openWebhooks(services);
  return startDelivering(services, 'delivering webhooks failed', {
    deliver: () => delivery.begin(),
    finish: () => delivery.stop(),
  });
}
