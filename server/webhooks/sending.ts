/**
 * Sends one batch: its records are read together, with the rights of the webhook's key; a few requests are in progress
 * at once, and more deliveries are claimed while sending goes well.
 */

import { hash } from 'node:crypto';
import { Busy } from '../database/errors.ts';
import { amongDealsOf, recordsOf, withRecords } from '../domain/changed-records.ts';
import type { ChangeEvent } from '../domain/events/changes.ts';
import { lengths } from '../domain/lengths.ts';
import {
  enterForDeliveries,
  seesChanges,
  type Attempted,
  type ClaimedDelivery,
  type ClaimedBatch,
  type NotedBatch,
} from '../domain/webhooks/deliveries.ts';
import { guardedFetch, NotFetched } from '../http/guarded-fetch.ts';
import type { Services } from '../services.ts';
import type { Receivers } from './connections.ts';
import { takenAtOnce, type DeliveryResults } from './delivery-results.ts';
import { signedHeaders, signingKeys, type SigningKeys } from './signature.ts';

/** Concurrent requests to a webhook. */
const requestsAtOnce = 4;
/** After this many failed attempts in a row the rest of a batch is left for later. */
const mostFailures = 5;
/**
 * In milliseconds: how long deliveries of a batch are begun, well within the claim; how long more are claimed; how old
 * a record may be when it is sent; how long outcomes are gathered before they are stored.
 */
const millis = { batch: 30_000, taking: 5_000, record: 1_000, gathering: 100 } as const;

const nothing = { url: null, bytes: null, digest: null, status: null, answer: null, answer_type: null, millis: null };

/** The text without NUL and lone surrogates, which the database cannot store. */
const storable = (text: string): string => text.replaceAll('\0', '\uFFFD').toWellFormed();

/** The event sent for a change, without its record. */
const eventOf = ({ event_id: id, type, object_type, object_id, deal_id, occurred_at }: ClaimedDelivery) => ({
  id,
  type,
  objectType: object_type,
  objectId: object_id,
  dealId: deal_id,
  occurredAt: occurred_at,
});

/** A request body and when its record was read; null when the key no longer sees the record. */
interface Read {
  readonly body: string | null;
  readonly at: number;
}

/** What all batches of a node share. */
interface Sender {
  readonly services: Services;
  readonly notes: DeliveryResults;
  readonly receivers: Receivers;
  readonly stopping: AbortSignal;
}

/** Sends one batch. */
export class Sending {
  readonly #sender: Sender;
  readonly #batch: ClaimedBatch;
  readonly #receiver: ReturnType<Receivers['of']>;
  readonly #began = performance.now();
  /** Deliveries that are not begun yet. */
  readonly #left: ClaimedDelivery[];
  /** Ids of the deliveries without a stored outcome. */
  readonly #held: Set<string>;
  readonly #bodies = new Map<string, Read>();
  #attempts: NotedBatch['attempts'][number][] = [];
  #failures: number;
  /** Whether more deliveries may be due: the last claim returned as many as were asked for. */
  #mayBeMore: boolean;
  #isOver = false;
  #readTogether = takenAtOnce;
  #reading: Promise<void> | undefined;
  #taking: Promise<void> | undefined;
  #notingSoon: NodeJS.Timeout | undefined;

  constructor(sender: Sender, batch: ClaimedBatch) {
    this.#sender = sender;
    this.#batch = batch;
    this.#receiver = sender.receivers.of(batch.endpoint_id);
    this.#left = [...batch.deliveries];
    this.#held = new Set(batch.deliveries.map(({ id }) => id));
    this.#failures = batch.failures;
    this.#mayBeMore = batch.deliveries.length === takenAtOnce;
  }

  /**
   * Sends the batch's deliveries and those claimed meanwhile, for at most half a minute and as long as it goes well;
   * the remaining ones are claimed again later.
   */
  async run(): Promise<void> {
    let isDone = false;
    try {
      const keys = signingKeys(this.#sender.services.secrets, this.#batch);
      const senders = Array.from({ length: Math.min(requestsAtOnce, this.#left.length) }, () => this.#sendNext(keys));
      for (const one of await Promise.allSettled(senders)) if (one.status === 'rejected') throw one.reason;
      isDone = true;
    } finally {
      this.#receiver.giveBack();
      // After an internal error the claim is left to expire: the same would fail again at once.
      this.#leave(isDone);
      await this.#sender.notes.note();
    }
  }

  #age = (): number => performance.now() - this.#began;

  #isGoingOn(): boolean {
    return !this.#isOver && !this.#sender.stopping.aborted && this.#age() < millis.batch;
  }

  #isFresh = ({ id }: ClaimedDelivery): boolean =>
    performance.now() - (this.#bodies.get(id)?.at ?? -Infinity) < millis.record;

  /** Sends deliveries one after the other; several of these loops run concurrently. */
  async #sendNext(keys: SigningKeys): Promise<void> {
    while ((this.#left.length > 0 || this.#taking) && this.#isGoingOn()) {
      const [next] = this.#left;
      if (next === undefined) {
        await this.#taking;
      } else if (!this.#isFresh(next)) {
        await this.#read();
      } else {
        this.#left.shift();
        this.#takeMore();
        const { body } = this.#bodies.get(next.id)!;
        this.#ended(next, await this.#attempt(next, body, keys));
      }
    }
  }

  /**
   * Reads the records of the deliveries that are left unless they were read just now, once for all callers that wait.
   */
  #read(): Promise<void> {
    this.#reading ??= this.#readLeft().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #readLeft(): Promise<void> {
    const some = this.#left.filter((one) => !this.#isFresh(one)).slice(0, this.#readTogether);
    try {
      const found = await this.#bodiesOf(some);
      this.#isOver ||= found === undefined;
      const at = performance.now();
      for (const [id, body] of found ?? []) this.#bodies.set(id, { body, at });
    } catch (error) {
      // A read that takes too long is repeated in smaller parts.
      if (!(error instanceof Busy) || this.#readTogether === 1) throw error;
      this.#readTogether = Math.ceil(this.#readTogether / 8);
    }
  }

  /**
   * The request body of each delivery by its id; null when the key no longer sees the record. Undefined when the batch
   * is over, see {@link enterForDeliveries}.
   */
  async #bodiesOf(deliveries: readonly ClaimedDelivery[]): Promise<Map<string, string | null> | undefined> {
    const { database, config } = this.#sender.services;
    const changes = deliveries.filter(({ seq }) => seq !== null).map((one) => eventOf(one) as ChangeEvent);
    const [isEntered, , seen, ...records] = await database.together(
      enterForDeliveries(this.#batch),
      amongDealsOf(changes),
      seesChanges(deliveries.flatMap(({ seq }) => seq ?? [])),
      ...recordsOf(changes, config.features),
    );
    if (!isEntered) return undefined;
    const shown = new Map(withRecords(changes, records).map((event) => [event.id, event]));
    const bodyOf = (one: ClaimedDelivery): string | null => {
      if (one.seq === null) return JSON.stringify({ ...eventOf(one), data: null });
      return seen.has(one.seq) ? JSON.stringify(shown.get(one.event_id)) : null;
    };
    return new Map(deliveries.map((one) => [one.id, bodyOf(one)]));
  }

  async #attempt({ event_id }: ClaimedDelivery, body: string | null, keys: SigningKeys): Promise<Attempted> {
    if (body === null) return { ...nothing, outcome: 'dropped', error: 'The key can no longer see this record.' };
    const { url } = this.#batch;
    const { clock, config } = this.#sender.services;
    const sent = { url, bytes: Buffer.byteLength(body), digest: hash('sha256', body) };
    const began = performance.now();
    try {
      const signed = signedHeaders(event_id, clock(), body, keys);
      const headers = { ...signed, 'Content-Type': 'application/json', 'User-Agent': 'Dealkeep-Webhooks/1' };
      const answer = await guardedFetch(
        url,
        { method: 'POST', headers, body },
        { allowLoopback: config.webhooksAllowLoopback, kept: this.#receiver.kept },
      );
      const { status } = answer;
      const isTaken = status >= 200 && status < 300;
      return {
        ...sent,
        outcome: isTaken ? 'delivered' : 'failed',
        status,
        error: isTaken ? null : `The response was ${status}, not 2xx.`,
        // Needed only to find out what went wrong: some receivers repeat what they were sent, which is not to be kept.
        answer: isTaken
          ? null
          : storable(answer.body.toString('utf8')).slice(0, lengths.webhook_deliveries.answer).toWellFormed(),
        answer_type: storable(answer.headers['content-type'] ?? '') || null,
        millis: answer.millis,
      };
    } catch (error) {
      if (!(error instanceof NotFetched)) throw error;
      const took = Math.round(performance.now() - began);
      return { ...nothing, ...sent, outcome: 'failed', error: error.message, millis: took };
    }
  }

  /**
   * Keeps the outcome of an attempt until it is stored together with others; after several failures in a row nothing
   * more is sent.
   */
  #ended({ id, attempts }: ClaimedDelivery, attempted: Attempted): void {
    const { outcome, status, error } = attempted;
    const nth = attempts + 1;
    this.#bodies.delete(id);
    this.#attempts.push({ id, nth, ...attempted });
    this.#notingSoon ??= setTimeout(() => {
      this.#leave(false);
      void this.#sender.notes.note();
    }, millis.gathering);
    if (outcome === 'delivered') this.#failures = 0;
    if (outcome !== 'failed') return;
    this.#failures += 1;
    this.#isOver ||= this.#failures >= mostFailures;
    // Neither the URL nor the body is logged: the delivery's id leads to both.
    this.#sender.services.log.info(
      { webhook: this.#batch.endpoint_id, delivery: id, attempt: nth, status, reason: error },
      'a webhook was not delivered',
    );
  }

  /** Queues the outcomes so far for storage. */
  #leave(is_over: boolean, take?: (taken: readonly ClaimedDelivery[]) => void): void {
    clearTimeout(this.#notingSoon);
    this.#notingSoon = undefined;
    for (const { id } of this.#attempts) this.#held.delete(id);
    const { endpoint_id: endpoint, claim } = this.#batch;
    this.#sender.notes.leave({ endpoint, claim, is_over, held: [...this.#held], attempts: this.#attempts }, take);
    this.#attempts = [];
  }

  /**
   * Claims more deliveries before the last ones are sent, as long as the batch is so quick that other webhooks are not
   * kept waiting.
   */
  #takeMore(): void {
    const isEarly = this.#left.length > takenAtOnce / 2 || !this.#mayBeMore;
    if (isEarly || this.#taking || this.#isOver || this.#age() > millis.taking) return;
    const taken = Promise.withResolvers<readonly ClaimedDelivery[]>();
    this.#leave(false, taken.resolve);
    this.#taking = this.#add(taken.promise).finally(() => (this.#taking = undefined));
    // The caller that awaits the promise gets the error; without this handler the rejection would count as unhandled
    // until then.
    this.#taking.catch(() => {});
    void this.#sender.notes.note();
  }

  async #add(taken: Promise<readonly ClaimedDelivery[]>): Promise<void> {
    const found = await taken;
    this.#mayBeMore = found.length === takenAtOnce;
    for (const { id } of found) this.#held.add(id);
    this.#left.push(...found);
    if (found.length > 0 && !this.#isOver) await this.#read();
  }
}
