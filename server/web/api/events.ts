/** GET /events: a stream (text/event-stream) of what changed that the person sees; the pages ask again for what they show. */

import { Hono, type Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { Services } from '../../services.ts';
import type { Change } from '../../database/changes.ts';
import { Denied } from '../../database/errors.ts';
import { seenChanges } from '../../domain/audit/changes.ts';
import { enterWithSession, sessionsAlive, type SessionCaller } from '../../domain/accounts/sessions.ts';
import { sessionDigest } from '../../http/session.ts';
import { signedOut } from './person.ts';
import { Problem } from './problems.ts';

/** Changes that come close together are looked at together, in milliseconds. */
const gathering = 150;
/** More than this at once, whoever may see it, is told as "everything": so many that it tells of no deal. */
const most = 2_000;
/** The most streams that are open at once. A browser holds one for all its tabs. */
const open = { session: 10, person: 30, node: 5_000 } as const;

interface Stream {
  readonly sessionId: string;
  readonly userId: string;
  /** Sends a word, so that nothing on the way closes the connection. */
  readonly beat: () => void;
  readonly end: () => void;
}

/** The open streams of this node: counts them, and ends those whose session is over. */
function openStreams({ database, config, log }: Services) {
  const streams = new Set<Stream>();
  let beating: NodeJS.Timeout | undefined;

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

export function eventRoutes(services: Services): Hono {
  const { database, changes, stopping } = services;
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
    // Counted before anything is waited for.
    let beat = () => {};
    const own: Stream = { sessionId: person.session_id, userId: person.user_id, beat: () => beat(), end };
    streams.add(own);
    void ended.then(() => streams.remove(own));
    c.req.raw.signal.addEventListener('abort', () => end(), { once: true });
    stopping.addEventListener('abort', () => end(), { once: true });

    return streamSSE(c, async (stream) => {
      let gathered: Change[] = [];
      let missed = false;
      let looking: NodeJS.Timeout | undefined;

      const look = async () => {
        const noted = gathered;
        const everything = missed || noted.length > most;
        gathered = [];
        missed = false;
        looking = undefined;
        try {
          // Enters anew each time: who signed out, or was removed, hears nothing more.
          const entering = enterWithSession(sessionDigest(c), false);
          const [still, seen] = await database.together(entering, seenChanges(everything ? [] : noted));
          if (still === null) return end();
          if (everything) await stream.writeSSE({ data: JSON.stringify({ topic: 'deal', deal_id: null }) });
          for (const change of seen) await stream.writeSSE({ data: JSON.stringify(change) });
        } catch (error) {
          if (error instanceof Denied) return end();
          missed = true;
        }
      };
      const unfollow = changes.follow((change) => {
        if (change?.table === 'sessions') {
          if (change.record === person.session_id) end();
          return;
        }
        if (change === null) missed = true;
        else gathered.push(change);
        looking ??= setTimeout(() => void look(), gathering);
      });
      beat = () => void stream.write(': \n\n').catch(end);
      stream.onAbort(end);
      await stream.write(': \n\n');
      await ended;
      unfollow();
      clearTimeout(looking);
    });
  });
}
