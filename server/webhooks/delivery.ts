/**
 * Delivers webhooks. What is due of one webhook is claimed as a lot, the records are read together with the rights of the webhook's key, and how it went is noted
 * for many at once: a node that dies before leaves it to another one, which sends it under the same webhook-id.
 */

import { hash } from 'node:crypto';
import type { ChangeEvent } from '../domain/events/changes.ts';
import { Busy } from '../database/errors.ts';
import { recordsOf, withRecords } from '../domain/changed-records.ts';
import {
  claimDeliveries,
  enterForDeliveries,
  noteDeliveries,
  queueWebhooks,
  seesChanges,
  type Attempted,
  type ClaimedDelivery,
  type ClaimedLot,
  type NotedLot,
} from '../domain/webhooks/deliveries.ts';
import { guardedFetch, NotFetched, type KeptConnections } from '../http/guarded-fetch.ts';
import type { Services } from '../services.ts';
import { noteEnd, startDelivering } from '../woken.ts';
import { openReceivers } from './connections.ts';
import { openedSecrets, signedHeaders } from './signature.ts';

export interface WebhookDelivery {
  /** Takes what is due now, and begins to send it; resolves when no more can be taken at once. */
  begin(): Promise<void>;
  /** Delivers what is due now, and what becomes due by it; resolves when nothing is any more. */
  deliverDue(): Promise<void>;
  /** Takes no more, and waits for those that are being sent. */
  stop(): Promise<void>;
}

/** To how many webhooks a node sends at once, how much at once to each, and how many deliveries of it are taken together. */
const atOnce = { webhooks: 32, requests: 4, taken: 50 } as const;
/** How many attempts in a row fail before the rest of a lot is left for later. */
const mostFailures = 5;
/** For how long deliveries of a lot are begun, well within the claim; for how long more are taken; how old what is sent may be; how long ends are gathered, in milliseconds. */
const millis = { lot: 30_000, taking: 5_000, record: 1_000, gathering: 100 } as const;
/** What is to be noted of a lot, and who is given what is taken for it then. */
interface Ended {
  readonly lot: NotedLot;
  readonly take: ((taken: readonly ClaimedDelivery[]) => void) | undefined;
}

/** How much of an answer is kept, in characters. */
const keptAnswer = 4_096;

const nothing = { url: null, bytes: null, digest: null, status: null, answer: null, answer_type: null, millis: null };

/** A text that the database can keep. */
const storable = (text: string): string => text.replaceAll('\0', '\uFFFD').toWellFormed();

/** Runs `work`, never twice at the same time, and again when it was asked for meanwhile. */
function inTurn(work: () => Promise<void>): () => Promise<void> {
  let isWanted = false;
  let running: Promise<void> | undefined;
  return () => {
    isWanted = true;
    running ??= (async () => {
      try {
        while (isWanted) {
          isWanted = false;
          await work();
        }
      } finally {
        running = undefined;
      }
    })();
    return running;
  };
}

/** Opens the delivery of this node; it does nothing by itself. */
export function openWebhooks(services: Services): WebhookDelivery {
  const { config, database, secrets, clock, log } = services;
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  const receivers = openReceivers();
  /** What is to be noted of each lot, by its webhook and its claim, which the lots taken together share: once, as what was noted behind its end would be lost. */
  let ended = new Map<string, Ended>();

  /** What is sent for each, by its id, read with the rights of the webhook's key; null when the key does not see it any more. Undefined when the lot is over: {@link enterForDeliveries}. */
  async function bodiesOf(lot: ClaimedLot, deliveries: readonly ClaimedDelivery[]) {
    const changes = deliveries.filter(({ seq }) => seq !== null).map((one) => eventOf(one) as ChangeEvent);
    const seqs = deliveries.flatMap(({ seq }) => seq ?? []);
    const [isEntered, seen, ...records] = await database.together(
      enterForDeliveries(lot),
      seesChanges(seqs),
      ...recordsOf(changes, config.features),
    );
    if (!isEntered) return undefined;
    const shown = new Map(withRecords(changes, records).map((event) => [event.id, event]));
    return new Map(
      deliveries.map((one) => {
        const { id, seq, event_id } = one;
        if (seq === null) return [id, JSON.stringify({ ...eventOf(one), data: null })];
        return [id, seen.has(seq) ? JSON.stringify(shown.get(event_id)) : null];
      }),
    );
  }

  async function attempt(
    { url }: ClaimedLot,
    { event_id }: ClaimedDelivery,
    body: string | null,
    signing: readonly string[],
    kept: KeptConnections,
  ): Promise<Attempted> {
    if (body === null) return { ...nothing, outcome: 'dropped', error: 'The key does not see this record any more.' };
    const sent = { url, bytes: Buffer.byteLength(body), digest: hash('sha256', body) };
    try {
      const signed = signedHeaders(event_id, clock(), body, signing);
      const headers = { ...signed, 'Content-Type': 'application/json', 'User-Agent': 'Dealkeep-Webhooks/1' };
      const answer = await guardedFetch(
        url,
        { method: 'POST', headers, body },
        { allowLoopback: config.webhooksAllowLoopback, kept },
      );
      const { status } = answer;
      const isTaken = status >= 200 && status < 300;
      return {
        ...sent,
        outcome: isTaken ? 'delivered' : 'failed',
        status,
        error: isTaken ? null : `The answer was ${status} and not 2xx.`,
        answer: storable(answer.body.toString('utf8')).slice(0, keptAnswer).toWellFormed(),
        answer_type: storable(answer.headers['content-type'] ?? '') || null,
        millis: answer.millis,
      };
    } catch (error) {
      if (!(error instanceof NotFetched)) throw error;
      return { ...nothing, ...sent, outcome: 'failed', error: error.message };
    }
  }

  /** Sends what is in a lot and what is taken besides, as long as it goes well and for half a minute at most; what is left then is taken anew. */
  async function deliver(lot: ClaimedLot): Promise<void> {
    const { endpoint_id: endpoint, claim: by } = lot;
    const { kept, giveBack } = receivers.of(endpoint);
    const began = performance.now();
    const left = [...lot.deliveries];
    const held = new Set(left.map(({ id }) => id));
    /** What is sent, and when it was read. */
    const bodies = new Map<string, { readonly text: string | null; readonly at: number }>();
    let attempts: NotedLot['attempts'][number][] = [];
    /** How many were asked for last came: then there may be more. */
    let isFull = left.length === atOnce.taken;
    let together: number = atOnce.taken;
    let reading: Promise<void> | undefined;
    let taking: Promise<void> | undefined;
    let failures = lot.failures;
    let isOver = false;
    let notesAt: NodeJS.Timeout | undefined;

    const isFresh = ({ id }: ClaimedDelivery) => performance.now() - (bodies.get(id)?.at ?? -Infinity) < millis.record;
    /** Reads what is left and was not read just now. */
    function read(): Promise<void> {
      reading ??= (async () => {
        const some = left.filter((one) => !isFresh(one)).slice(0, together);
        try {
          const found = await bodiesOf(lot, some);
          isOver ||= found === undefined;
          const at = performance.now();
          for (const [id, text] of found ?? []) bodies.set(id, { text, at });
        } catch (error) {
          // What takes too long together is read in smaller parts.
          if (!(error instanceof Busy) || together === 1) throw error;
          together = Math.ceil(together / 8);
        }
      })().finally(() => (reading = undefined));
      return reading;
    }
    /** Leaves what has ended by now to be noted. */
    function leave(is_over: boolean, take?: Ended['take']): void {
      clearTimeout(notesAt);
      notesAt = undefined;
      const key = `${endpoint} ${by}`;
      const before = ended.get(key);
      for (const { id } of attempts) held.delete(id);
      const noted = [...(before?.lot.attempts ?? []), ...attempts];
      attempts = [];
      const wanted = take ?? before?.take;
      const more = wanted === undefined || is_over ? 0 : atOnce.taken;
      ended.set(key, {
        lot: { endpoint, claim: by, is_over, more, held: more === 0 ? [] : [...held], attempts: noted },
        take: wanted,
      });
    }
    /** Takes more, before the last of what is left is sent, while it goes so quickly that others are not kept waiting for their turn. */
    function takeMore(): void {
      if (!isFull || taking || isOver || left.length > atOnce.taken / 2 || performance.now() - began > millis.taking)
        return;
      const taken = Promise.withResolvers<readonly ClaimedDelivery[]>();
      leave(false, taken.resolve);
      taking = (async () => {
        const found = await taken.promise;
        isFull = found.length === atOnce.taken;
        for (const one of found) held.add(one.id);
        left.push(...found);
        if (found.length > 0 && !isOver) await read();
      })().finally(() => (taking = undefined));
      // Whoever waits for it hears of it, and whoever reads next finds it again.
      taking.catch(() => {});
      void note();
    }
    const isGoingOn = () => !isOver && !stopping.signal.aborted && performance.now() - began < millis.lot;
    async function send(signing: readonly string[]): Promise<void> {
      while ((left.length > 0 || taking) && isGoingOn()) {
        const [next] = left;
        if (next === undefined || !isFresh(next)) {
          await (next === undefined ? taking : read());
          continue;
        }
        left.shift();
        takeMore();
        const nth = next.attempts + 1;
        const attempted = await attempt(lot, next, bodies.get(next.id)!.text, signing, kept);
        bodies.delete(next.id);
        const { outcome, status, error } = attempted;
        attempts.push({ id: next.id, nth, ...attempted });
        notesAt ??= setTimeout(() => {
          leave(false);
          void note();
        }, millis.gathering);
        if (outcome === 'delivered') failures = 0;
        if (outcome !== 'failed') continue;
        failures += 1;
        isOver ||= failures >= mostFailures;
        // Neither the address nor what was sent: its id leads to it.
        log.info(
          { webhook: endpoint, delivery: next.id, attempt: nth, status, reason: error },
          'a webhook was not delivered',
        );
      }
    }

    let isTaken = false;
    try {
      const signing = openedSecrets(secrets, lot);
      const sending = Array.from({ length: Math.min(atOnce.requests, left.length) }, () => send(signing));
      for (const one of await Promise.allSettled(sending)) if (one.status === 'rejected') throw one.reason;
      isTaken = true;
    } finally {
      giveBack();
      // After a fault of our own the claim is left to run out: what failed here would fail again at once.
      leave(isTaken);
      await note();
    }
  }

  /** Notes what has ended, of all lots together, and gives each what it takes besides. */
  const note = inTurn(async () => {
    while (ended.size > 0) {
      const parts = [...ended.values()];
      ended = new Map();
      const keep = async (some: readonly Ended[]) => {
        const taken = await database.run(noteDeliveries(some.map(({ lot }) => lot)));
        for (const { lot, take } of some) take?.(taken.get(lot.endpoint) ?? []);
      };
      const failed = (error: unknown) => log.warn({ err: error }, 'noting deliveries of webhooks failed');
      // What cannot be noted of one webhook does not keep others from it.
      await keep(parts).catch(() =>
        Promise.all(
          parts.map(async (part) => {
            await noteEnd(() => keep([part])).catch(failed);
            part.take?.([]);
          }),
        ),
      );
    }
  });

  function start(lot: ClaimedLot): void {
    const run = deliver(lot)
      .catch((error: unknown) => log.warn({ err: error, webhook: lot.endpoint_id }, 'delivering a webhook failed'))
      .finally(() => {
        running.delete(run);
        // It has made room, and the next of its records may be due.
        claim().catch((error: unknown) => log.warn({ err: error }, 'delivering webhooks failed'));
      });
    running.add(run);
  }

  const claim = inTurn(async () => {
    const room = atOnce.webhooks - running.size;
    if (stopping.signal.aborted || room === 0) return;
    // What becomes due by them is taken when one of them has ended.
    for (const lot of await database.run(claimDeliveries(room))) start(lot);
  });

  /** Writes deliveries of what has changed; those that are written are sent meanwhile. */
  const queue = inTurn(async () => {
    while (!stopping.signal.aborted && (await database.run(queueWebhooks()))) await claim();
  });

  const begin = async (): Promise<void> => {
    await queue();
    await claim();
  };

  return {
    begin,
    async deliverDue() {
      do {
        await begin();
        await Promise.all(running);
        await claim();
      } while (running.size > 0);
    },
    async stop() {
      stopping.abort();
      await Promise.allSettled([queue(), claim()]);
      await Promise.all(running);
      receivers.close();
    },
  };
}

/** What is told of a change, before its record. */
const eventOf = ({ event_id: id, type, object_type, object_id, deal_id, occurred_at }: ClaimedDelivery) => ({
  id,
  type,
  objectType: object_type,
  objectId: object_id,
  dealId: deal_id,
  occurredAt: occurred_at,
});

/** Delivers as long as the node runs: when changes are published, and every few seconds. The function returned ends that. */
export function startWebhooks(services: Services): () => Promise<void> {
  const delivery = openWebhooks(services);
  return startDelivering(services, 'delivering webhooks failed', {
    deliver: () => delivery.begin(),
    finish: () => delivery.stop(),
  });
}
