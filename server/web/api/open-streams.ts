/** The open change streams of one node: counts them, sends changes to them, and ends those whose session has ended. */

import type { ServerResponse } from 'node:http';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { Counts } from '../../lib/counts.ts';
import type { Services } from '../../services.ts';
import type { Change } from '../../database/changes.ts';
import { Unavailable } from '../../database/errors.ts';
import {
  changesForListeners,
  type ChangedRecords,
  type SeenChange,
  type ListenerChange,
} from '../../domain/visibility/changes.ts';
import { sessionsAlive, type SessionCaller } from '../../domain/accounts/sessions.ts';
import { Problem, retryAfter } from '../../http/problem.ts';
import { keyOf, SessionDigests } from './session-digests.ts';
import { RecentChanges } from './recent-changes.ts';

/** Milliseconds for which changes are collected before they are processed together. */
const gathering = 150;
/**
 * At most this many groups of changed records (by table and deal), and this many records in all, are processed by one
 * query.
 */
const asked = { groups: 50, records: 1_000 } as const;
/** At most this many changed records wait in memory; further ones wait in the database's queue. */
const most = 10_000;
/**
 * How long a node remembers changes for streams that open after their page was loaded, in milliseconds, and at most how
 * many records: few enough that a person who repeatedly opens streams does not delay current changes.
 */
const remembered = { millis: 30_000, records: 2_000 } as const;
/** A session that sees more changes than this at once gets the event that anything may have changed. */
const mostEach = 200;
/** At most this many unsent bytes are buffered for a client that does not read. */
const mostUnread = 16_384;
/**
 * At most this many streams are open at once per session, per person and per node. A browser holds one for all its
 * tabs.
 */
const open = { session: 10, person: 30, node: 12_000 } as const;
/**
 * At most this many sessions are checked by one query, and this many streams are written to before the event loop
 * yields to requests.
 */
const atOnce = 1_000;
/** Milliseconds before a failed query is retried, and how many times it is tried. */
const again = { after: 1_000, times: 5 } as const;

const comment = ': \n\n';
const asEvent = ({ topic, deal_id }: SeenChange) => `data: ${JSON.stringify({ topic, deal_id })}\n\n`;
const everything = asEvent({ topic: 'deal', deal_id: null });

/** A session with at least one open stream. */
interface Listening {
  readonly id: string;
  readonly userId: string;
  /** Its key in {@link SessionDigests}. */
  readonly key: string;
  readonly streams: ServerResponse[];
}

/** A stream whose page was loaded before the stream was opened: at `since`, in Unix milliseconds. */
interface Opened {
  readonly stream: ServerResponse;
  readonly since: number;
}

/** Changed records, grouped as one query processes them. */
type Groups = Map<string, ChangedRecords & { readonly seen: Set<string> }>;

/** Adds a change; returns false when it is already there. */
function group(groups: Groups, { topic, table, record, deal_id, gone }: Change): boolean {
  const key = [topic, table, deal_id, gone].join(' ');
  const own = groups.get(key) ?? { topic, table, deal_id, gone, records: [], seen: new Set() };
  groups.set(key, own);
  if (own.seen.has(record)) return false;
  own.seen.add(record);
  own.records.push(record);
  return true;
}

/**
 * However much changes, each stream gets exactly what its person sees: an event that tells everybody that much has
 * changed would reveal that there are hidden records. Waiting changes are processed by queries of bounded size, one
 * after another.
 */
export class OpenStreams {
  readonly #services: Pick<Services, 'database' | 'config' | 'changes' | 'log' | 'metrics'>;
  readonly #streams = new Map<ServerResponse, Listening>();
  readonly #sessions = new Map<string, Listening>();
  readonly #ofPerson = new Counts();
  readonly #digests = new SessionDigests();
  /** Streams that have missed events because their client did not read. */
  readonly #unread = new Set<ServerResponse>();
  #waiting: Groups = new Map();
  #waits = 0;
  readonly #recent = new RecentChanges(remembered);
  readonly #opened: Opened[] = [];
  #missed = false;
  #isProcessing = false;
  #heartbeats: NodeJS.Timeout | undefined;
  #second = 0;
  #round: Iterator<ServerResponse, undefined> = new Map<ServerResponse, Listening>().keys();

  constructor({ database, config, changes, log, metrics, stopping }: Services) {
    this.#services = { database, config, changes, log, metrics };
    changes.follow((change) => {
      if (change?.table === 'sessions') return this.#endSession(change.record);
      if (change === null) this.#recent.forget();
      else this.#recent.add(change);
      if (this.#streams.size === 0) return;
      if (change === null) this.#missed = true;
      else if (group(this.#waiting, change) && ++this.#waits >= most) changes.pause();
      this.#processSoon();
    });
    stopping.addEventListener('abort', () => {
      for (const stream of this.#streams.keys()) this.#end(stream);
    });
  }

  /** The problem to respond with when the node, the session or the person has too many open streams; null otherwise. */
  refusal({ session_id: sessionId, user_id: userId }: SessionCaller): Problem | null {
    const later = retryAfter(60);
    if (this.#streams.size >= open.node) return new Problem(503, 'busy', 'Too many pages are open right now.', later);
    const isFull =
      (this.#sessions.get(sessionId)?.streams.length ?? 0) >= open.session || this.#ofPerson.of(userId) >= open.person;
    return isFull
      ? new Problem(429, 'rate_limited', 'You have too many live connections: close some pages.', later)
      : null;
  }

  /**
   * Sends changes to this response, from when its headers are sent until it is closed; first the changes since its page
   * was loaded (`since`, in Unix milliseconds), or none of them where `since` is null, because the page then reloads
   * everything itself. `digest` is the session's.
   */
  add(
    stream: ServerResponse,
    { session_id: id, user_id: userId }: SessionCaller,
    digest: Buffer,
    since: number | null = null,
  ): void {
    const session = this.#sessions.get(id) ?? { id, userId, key: keyOf(digest), streams: [] };
    if (session.streams.push(stream) === 1) {
      this.#sessions.set(id, session);
      this.#digests.add(session.key);
    }
    this.#ofPerson.add(userId, 1);
    this.#streams.set(stream, session);
    this.#services.metrics.streams.inc();
    stream.on('close', this.#closed);
    stream.on('error', this.#closed);
    this.#heartbeats ??= setInterval(() => this.#heartbeat(), 1_000).unref();
    if (since === null) return;
    this.#opened.push({ stream, since });
    this.#processSoon();
  }

  // One function for all streams; it is called with the response as `this`.
  readonly #closed = ((streams: OpenStreams) =>
    function closed(this: ServerResponse) {
      streams.#remove(this);
    })(this);

  #remove(stream: ServerResponse): void {
    const session = this.#streams.get(stream);
    if (session === undefined) return;
    this.#streams.delete(stream);
    this.#services.metrics.streams.dec();
    this.#unread.delete(stream);
    session.streams.splice(session.streams.indexOf(stream), 1);
    if (session.streams.length === 0) {
      this.#sessions.delete(session.id);
      this.#digests.delete(session.key);
    }
    this.#ofPerson.add(session.userId, -1);
    if (this.#streams.size > 0) return;
    clearInterval(this.#heartbeats);
    this.#heartbeats = undefined;
  }

  #end(stream: ServerResponse): void {
    this.#remove(stream);
    stream.end();
  }

  #endSession(id: string): void {
    for (const stream of this.#sessions.get(id)?.streams.slice() ?? []) this.#end(stream);
  }

  /** Writes nothing to a client that does not read: it later gets the event that anything may have changed. */
  #write(stream: ServerResponse, text: string): void {
    if (!stream.headersSent || stream.destroyed || this.#unread.has(stream)) return;
    if (stream.writableLength > mostUnread) this.#unread.add(stream);
    else stream.write(text);
  }

  /**
   * Runs once a second and writes to a fraction of the streams, so that each gets its turn and requests are not held
   * up.
   */
  #heartbeat(): void {
    const { streamHeartbeatSeconds: seconds } = this.#services.config;
    if (this.#second === 0) {
      this.#round = this.#streams.keys();
      void this.#endOverSessions();
    }
    this.#second = (this.#second + 1) % seconds;
    for (let left = Math.ceil(this.#streams.size / seconds); left > 0; left -= 1) {
      const { value: stream } = this.#round.next();
      if (stream === undefined) return;
      this.#keepOpen(stream);
    }
  }

  /** Sends a comment (heartbeat) so that no proxy closes the connection. */
  #keepOpen(stream: ServerResponse): void {
    if (!this.#unread.has(stream)) this.#write(stream, comment);
    else if (stream.writableLength > mostUnread) {
      // The client has read nothing since the last heartbeat.
      this.#remove(stream);
      stream.destroy();
    } else {
      this.#unread.delete(stream);
      this.#write(stream, everything);
    }
  }

  async #endOverSessions(): Promise<void> {
    const { database, log } = this.#services;
    const ids = [...this.#sessions.keys()];
    try {
      for (let at = 0; at < ids.length; at += atOnce) {
        const part = ids.slice(at, at + atOnce);
        const alive = await database.run(sessionsAlive(part));
        for (const id of part) if (!alive.has(id)) this.#endSession(id);
      }
    } catch (error) {
      // The next check ends them.
      log.warn({ reason: String(error) }, 'the sessions of open streams could not be checked');
    }
  }

  #processSoon(): void {
    if (this.#isProcessing) return;
    this.#isProcessing = true;
    void this.#process();
  }

  async #process(): Promise<void> {
    const { changes } = this.#services;
    while (this.#waiting.size > 0 || this.#missed || this.#opened.length > 0) {
      await setTimeout(gathering, undefined, { ref: false });
      await this.#sendToOpened();
      const noted = this.#waiting;
      this.#waiting = new Map();
      this.#waits = 0;
      changes.resume();
      if (!this.#missed)
        await this.#sendChanges([...noted.values()], this.#digests, (id) => this.#sessions.get(id)?.streams ?? []);
      if (this.#missed) {
        this.#missed = false;
        // The end of a session may be among the missed changes.
        await this.#endOverSessions();
        await this.#sendEverything();
      }
    }
    this.#isProcessing = false;
  }

  /**
   * Sends to newly opened streams the changes since their pages were loaded, in one pass however many streams there
   * are.
   */
  async #sendToOpened(): Promise<void> {
    const streams = new Map<string, ServerResponse[]>();
    const digests = new SessionDigests();
    let from = Infinity;
    for (const { stream, since } of this.#opened.splice(0)) {
      const session = this.#streams.get(stream);
      if (session === undefined) continue;
      if (!this.#recent.reaches(since)) {
        this.#write(stream, everything);
        continue;
      }
      digests.add(session.key);
      streams.set(session.id, [...(streams.get(session.id) ?? []), stream]);
      from = Math.min(from, since);
    }
    const groups: Groups = new Map();
    for (const change of this.#recent.since(from)) group(groups, change);
    await this.#sendChanges([...groups.values()], digests, (id) => streams.get(id) ?? []);
  }

  async #sendEverything(): Promise<void> {
    let written = 0;
    for (const stream of this.#streams.keys()) {
      this.#write(stream, everything);
      written += 1;
      if (written % atOnce === 0) await setImmediate();
    }
  }

  /** Sends to the sessions with these digests the changes that each one's person sees. */
  async #sendChanges(
    groups: readonly ChangedRecords[],
    digests: SessionDigests,
    streamsOf: (session: string) => readonly ServerResponse[],
  ): Promise<void> {
    const sentBefore = new Map<string, Set<string>>();
    for (const batch of inBatches(groups)) {
      const found = await this.#ask(batch, digests);
      if (found === null) {
        this.#missed = true;
        return;
      }
      let written = 0;
      for (const { session_id: id, topic, deal_id } of found) {
        const event = asEvent({ topic, deal_id });
        const before = sentBefore.get(id) ?? new Set();
        sentBefore.set(id, before);
        if (before.has(event) || before.size > mostEach) continue;
        before.add(event);
        const text = before.size > mostEach ? everything : event;
        for (const stream of streamsOf(id)) this.#write(stream, text);
        written += 1;
        if (written % atOnce === 0) await setImmediate();
      }
    }
  }

  /**
   * The events of each session; null after repeated errors. Waits without limit while the database is
   * {@link Unavailable}.
   */
  async #ask(batch: readonly ChangedRecords[], digests: SessionDigests): Promise<readonly ListenerChange[] | null> {
    const { database, log } = this.#services;
    for (let tries = 1; this.#streams.size > 0;) {
      try {
        return await database.run(changesForListeners(batch, digests.bytes()));
      } catch (error) {
        log.warn({ reason: String(error) }, 'the recipients of a change could not be determined');
        if (!(error instanceof Unavailable) && ++tries > again.times) return null;
        await setTimeout(again.after, undefined, { ref: false });
      }
    }
    return [];
  }
}

/** Splits the changes into batches, each for one query. */
function* inBatches(groups: readonly ChangedRecords[]): Generator<ChangedRecords[]> {
  let batch: ChangedRecords[] = [];
  let records = 0;
  for (const { topic, table, deal_id, gone, records: all } of groups) {
    for (let at = 0; at < all.length; at += asked.records) {
      const part = all.slice(at, at + asked.records);
      if (batch.length === asked.groups || records + part.length > asked.records) {
        if (batch.length > 0) yield batch;
        batch = [];
        records = 0;
      }
      batch.push({ topic, table, deal_id, gone, records: part });
      records += part.length;
    }
  }
  if (batch.length > 0) yield batch;
}
