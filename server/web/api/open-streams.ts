/** The open streams of changes of one node: counts them, sends them what changes, and ends those whose session is over. */

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

/** Changes that come close together are looked at together, in milliseconds. */
const gathering = 150;
/** The most groups of changed records (by table and deal), and the most records in one, that one query asks about. */
const asked = { groups: 50, records: 1_000 } as const;
/** The most changed records that wait here to be looked at; more wait in the database's queue. */
const most = 10_000;
/**
 * For how long a node remembers what changed for those whose stream opens after their page was loaded, in milliseconds, and the most records:
 * few enough that a person who opens streams again and again does not delay what changes now.
 */
const remembered = { millis: 30_000, records: 2_000 } as const;
/** A person who sees more changes than this at once gets the event that anything may have changed. */
const mostEach = 200;
/** The most bytes that wait for a client which does not read. */
const mostUnread = 16_384;
/** The most streams that are open at once. A browser holds one for all its tabs. */
const open = { session: 10, person: 30, node: 12_000 } as const;
/** How many sessions one query looks at, and to how many streams is written without giving way to requests. */
const atOnce = 1_000;
/** After how long what the database did not answer is asked again, in milliseconds, and how often. */
const again = { after: 1_000, times: 5 } as const;

const comment = ': \n\n';
const asEvent = ({ topic, deal_id }: SeenChange) => `data: ${JSON.stringify({ topic, deal_id })}\n\n`;
const everything = asEvent({ topic: 'deal', deal_id: null });

/** A session with at least one open stream. */
interface Listening {
  readonly id: string;
  readonly userId: string;
  /** Its part of {@link SessionDigests}. */
  readonly key: string;
  readonly streams: ServerResponse[];
}

/** A stream whose page was loaded before it was opened: at `since`, as Unix time in milliseconds. */
interface Opened {
  readonly stream: ServerResponse;
  readonly since: number;
}

/** Changed records by what one query asks about together. */
type Groups = Map<string, ChangedRecords & { readonly seen: Set<string> }>;

/** Adds a change; false where it is there already. */
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
 * However much changes, each stream gets what its person sees and no more: an event to everybody that much has changed
 * would reveal that there are hidden records. What waits is asked for in queries of a bounded size, one after the other.
 */
export class OpenStreams {
  readonly #services: Pick<Services, 'database' | 'config' | 'changes' | 'log' | 'metrics'>;
  readonly #streams = new Map<ServerResponse, Listening>();
  readonly #sessions = new Map<string, Listening>();
  readonly #ofPerson = new Counts();
  readonly #digests = new SessionDigests();
  /** Those that have missed something because their client did not read. */
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

  /** Why one more stream of this person is too many, or null. */
  refusal({ session_id: sessionId, user_id: userId }: SessionCaller): Problem | null {
    const later = retryAfter(60);
    if (this.#streams.size >= open.node)
      return new Problem(503, 'busy', 'Too many pages are open at this moment.', later);
    const isFull =
      (this.#sessions.get(sessionId)?.streams.length ?? 0) >= open.session || this.#ofPerson.of(userId) >= open.person;
    return isFull
      ? new Problem(429, 'rate_limited', 'You have too many live connections: close some pages.', later)
      : null;
  }

  /**
   * Sends changes to this response, from when its answer has begun until it is closed; first of those since its page was loaded, as Unix time in
   * milliseconds, or not where `since` is null: its page loads everything again by itself. `digest` is the session's.
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

  // One function for all streams, which is called with the response as `this`.
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

  /** A client that does not read is not written to: it gets the event that anything may have changed later. */
  #write(stream: ServerResponse, text: string): void {
    if (!stream.headersSent || stream.destroyed || this.#unread.has(stream)) return;
    if (stream.writableLength > mostUnread) this.#unread.add(stream);
    else stream.write(text);
  }

  /** Runs once a second and writes to a part of the streams, so that each has its turn and none of them holds up requests. */
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

  /** Sends a comment (heartbeat), so that no proxy closes the connection. */
  #keepOpen(stream: ServerResponse): void {
    if (!this.#unread.has(stream)) this.#write(stream, comment);
    else if (stream.writableLength > mostUnread) {
      // It has not been read from one turn to the next.
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
      // The next look finds them.
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
        // The end of a session may be among what was missed.
        await this.#endOverSessions();
        await this.#sendEverything();
      }
    }
    this.#isProcessing = false;
  }

  /** Sends to streams that were opened meanwhile what changed since their pages were loaded: together, however many they are. */
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

  /** Sends the people of the sessions with these digests the changes that they see, each by their own streams. */
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

  /** The events of each session; null when the database failed again and again. */
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

/** The same changes in batches that one query asks about. */
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
