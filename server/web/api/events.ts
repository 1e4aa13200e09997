/** GET /events: a stream (text/event-stream) of what changed that the person sees; the pages ask again for what they show. */

import { setTimeout } from 'node:timers/promises';
import { Hono, type Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { Services } from '../../services.ts';
import type { Change } from '../../database/changes.ts';
import { Denied } from '../../database/errors.ts';
import { seenChanges, type SeenChange } from '../../domain/visibility/changes.ts';
import { enterWithSession, sessionsAlive, type SessionCaller } from '../../domain/accounts/sessions.ts';
import { sessionDigest } from '../../http/session.ts';
import { signedOut } from '../../http/person.ts';
import { Problem } from '../../http/problem.ts';

/** Changes that come close together are looked at together, in milliseconds. */
const gathering = 150;
/** The most changes about which one statement asks whether a person sees them. */
const asked = 1_000;
/** The most changes that wait here to be looked at; more wait in the database's queue. */
const most = 10_000;
/** The most streams looked at side by side: most connections to the database stay free for requests. */
const sideBySide = 3;
/** A person who sees more of what changed at once is told that anything may have changed. */
const singly = 200;
/** The most events that wait for a client which does not read; then its stream ends. */
const unread = 1_000;
/** The most streams that are open at once. A browser holds one for all its tabs. */
const open = { session: 10, person: 30, node: 5_000 } as const;

const everything: SeenChange = { topic: 'deal', deal_id: null };

interface Stream {
  readonly sessionId: string;
  readonly userId: string;
  /** Sends those of the changes that the person sees, each topic of a deal once; null: that anything may have changed. */
  readonly tell: (noted: readonly Change[] | null) => Promise<void>;
  /** Sends a word, so that nothing on the way closes the connection. */
  readonly beat: () => void;
  readonly end: () => void;
}

/**
 * The open streams of this node: counts them, tells them what changes, and ends those whose session is over.
 * However much changes, each stream is told what its person sees and no more: a word to everybody that much has changed
 * would tell of hidden records.
 */
function openStreams({ database, config, changes, log }: Services) {
  const streams = new Set<Stream>();
  let beating: NodeJS.Timeout | undefined;
  let waiting = new Map<string, Change>();
  let missed = false;
  let looking = false;

  const beat = async () => {
    for (const stream of streams) stream.beat();
    try {
      const alive = await database.run(sessionsAlive([...new Set([...streams].map(({ sessionId }) => sessionId))]));
      for (const stream of streams) if (!alive.has(stream.sessionId)) stream.end();
    } catch (error) {
      // The next look finds them.
      log.warn({ reason: String(error) }, 'the sessions of open streams could not be looked at');
    }
  };
  const look = async () => {
    while (waiting.size > 0 || missed) {
      await setTimeout(gathering, undefined, { ref: false });
      const noted = missed ? null : [...waiting.values()];
      waiting = new Map();
      missed = false;
      changes.resume();
      const left = [...streams].values();
      const tellThem = async () => {
        for (const stream of left) await stream.tell(noted);
      };
      await Promise.all(Array.from({ length: sideBySide }, tellThem));
    }
    looking = false;
  };
  changes.follow((change) => {
    if (change?.table === 'sessions') {
      for (const stream of streams) if (stream.sessionId === change.record) stream.end();
      return;
    }
    if (streams.size === 0) return;
    if (change === null) missed = true;
    else waiting.set([change.table, change.record, change.deal_id, change.gone].join(' '), change);
    if (waiting.size >= most) changes.pause();
    if (looking) return;
    looking = true;
    void look();
  });
  return {
    /** Why one more of this person is too many, or null. */
    refusal({ session_id: sessionId, user_id: userId }: SessionCaller): Problem | null {
      const count = (of: (stream: Stream) => boolean) => [...streams].filter(of).length;
      if (streams.size >= open.node) return new Problem(503, 'busy', 'Too many pages are open at this moment.');
      const all =
        count((stream) => stream.sessionId === sessionId) >= open.session ||
        count((stream) => stream.userId === userId) >= open.person;
      return all ? new Problem(429, 'rate_limited', 'You have too many live connections: close some pages.') : null;
    },
    add(stream: Stream) {
      streams.add(stream);
      beating ??= setInterval(() => void beat(), config.streamHeartbeatSeconds * 1000).unref();
    },
    remove(stream: Stream) {
      streams.delete(stream);
      if (streams.size > 0) return;
      clearInterval(beating);
      beating = undefined;
    },
  };
}

export function eventRoutes(services: Services) {
  const { database, stopping } = services;
  const streams = openStreams(services);

  /** Who listens. A stream is no use of the session: one that is left open does not keep it alive. */
  async function listener(c: Context): Promise<SessionCaller> {
    const person = await database.run(enterWithSession(sessionDigest(c), false));
    if (person === null) throw signedOut();
    return person;
  }

  return new Hono().get('/events', async (c) => {
    const person = await listener(c);
    // Nobody would read the stream, and nothing would tell that they have gone.
    if (c.req.method === 'HEAD') return c.body(null, 200, { 'Content-Type': 'text/event-stream' });
    const refusal = streams.refusal(person);
    if (refusal !== null) {
      c.header('Retry-After', '60');
      throw refusal;
    }
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const over = new AbortController();
    let behind = false;
    let unwritten = 0;
    let write: (text: string) => Promise<unknown> = () => Promise.resolve();
    const send = (text: string) => {
      if (over.signal.aborted) return;
      unwritten += 1;
      if (unwritten > unread) return finish();
      void write(text).then(() => (unwritten -= 1), finish);
    };
    const sendEvent = (event: SeenChange) => send(`data: ${JSON.stringify(event)}\n\n`);

    /** Enters anew each time: who signed out, or was removed, hears nothing more. */
    async function seenOf(noted: readonly Change[]): Promise<readonly SeenChange[]> {
      const [still, seen] = await database.together(enterWithSession(sessionDigest(c), false), seenChanges(noted));
      if (still !== null) return seen;
      finish();
      return [];
    }
    async function tell(noted: readonly Change[] | null): Promise<void> {
      if (over.signal.aborted) return;
      try {
        if (noted === null) {
          await seenOf([]);
          sendEvent(everything);
          behind = false;
          return;
        }
        const told = new Set<string>();
        const key = ({ topic, deal_id }: Change | SeenChange) => `${topic} ${deal_id}`;
        for (let at = 0; at < noted.length && !over.signal.aborted; at += asked) {
          const part = noted.slice(at, at + asked).filter((change) => !told.has(key(change)));
          const seen = part.length > 0 ? await seenOf(part) : [];
          if (told.size + seen.length > singly) return sendEvent(everything);
          for (const event of seen) {
            told.add(key(event));
            sendEvent(event);
          }
        }
      } catch (error) {
        if (error instanceof Denied) return finish();
        // The database did not answer: made up for with the next beat.
        behind = true;
      }
    }
    const own: Stream = {
      sessionId: person.session_id,
      userId: person.user_id,
      tell,
      beat() {
        send(': \n\n');
        if (behind) void tell(null);
      },
      end: finish,
    };
    function finish() {
      over.abort();
      streams.remove(own);
      stopping.removeEventListener('abort', finish);
      end();
    }
    // Counted before anything is waited for.
    streams.add(own);
    c.req.raw.signal.addEventListener('abort', finish, { once: true });
    stopping.addEventListener('abort', finish, { once: true });

    return streamSSE(c, async (stream) => {
      write = (text) => stream.write(text);
      stream.onAbort(finish);
      send(': \n\n');
      await ended;
    });
  });
}
