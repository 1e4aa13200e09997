/** GET /events: a stream (text/event-stream) of what changed that the person sees; the pages ask again for what they show. */

import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { House } from '../../context.ts';
import type { Change } from '../../database/changes.ts';
import { seenChanges } from '../../domain/changes.ts';
import { asPerson, withPerson } from './person.ts';
import { Problem } from './problems.ts';

/** Changes that come close together are looked at together, in milliseconds. */
const gathering = 150;
/** How often a word is sent so that nothing on the way closes the connection, in milliseconds. */
const heartbeat = 25_000;
/** More than this at once is told as "everything". */
const most = 200;

export function eventRoutes(house: House): Hono {
  return new Hono().get('/events', async (c) => {
    await withPerson(house, c);
    // Nobody would read the stream, and nothing would tell that they have gone.
    if (c.req.method === 'HEAD') return c.body(null, 200, { 'Content-Type': 'text/event-stream' });
    return streamSSE(c, async (stream) => {
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      let gathered: Change[] = [];
      let missed = false;
      let looking: NodeJS.Timeout | undefined;

      const look = async () => {
        const changes = gathered;
        const everything = missed || changes.length > most;
        gathered = [];
        missed = false;
        looking = undefined;
        try {
          // Enters anew each time: who signed out, or was removed, hears nothing more.
          const [seen] = await asPerson(house, c, seenChanges(everything ? [] : changes));
          if (everything) await stream.writeSSE({ data: JSON.stringify({ topic: 'deal', deal_id: null }) });
          for (const change of seen) await stream.writeSSE({ data: JSON.stringify(change) });
        } catch (error) {
          if (error instanceof Problem) return end();
          missed = true;
        }
      };
      const unfollow = house.changes.follow((change) => {
        if (change === null) missed = true;
        else gathered.push(change);
        looking ??= setTimeout(() => void look(), gathering);
      });
      const beating = setInterval(() => void stream.write(': \n\n').catch(end), heartbeat);
      stream.onAbort(end);
      house.stopping.addEventListener('abort', () => end(), { once: true });
      await stream.write(': \n\n');
      await ended;
      unfollow();
      clearTimeout(looking);
      clearInterval(beating);
    });
  });
}
