/** GET /events: a stream (text/event-stream) of changes that the person may see; the pages then load again what they show. */

import { Hono } from 'hono';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import { enterWithSession } from '../../domain/accounts/sessions.ts';
import { keepOpen, responseOf } from '../../http/open-response.ts';
import { signedOut } from '../../http/person.ts';
import { sessionDigest } from '../../http/session.ts';
import { query } from './input.ts';
import { OpenStreams } from './open-streams.ts';

/** After how long a browser asks again when its stream ends, in milliseconds: not all of them at the same time. */
const reopening = { least: 2_000, most: 10_000 } as const;

const headers = {
  'Content-Type': 'text/event-stream',
  // nginx would gather what is small.
  'X-Accel-Buffering': 'no',
  // Nothing else is asked for on the connection, which would be kept for a minute after the end.
  Connection: 'close',
} as const;

/** When what the page shows was asked for first, as Unix time in milliseconds of our clock: what changed since is sent as well. */
const Query = z.object({
  since: z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
    .optional(),
});

/** Its routes, below /api/web. */
export function eventRoutes(services: Services) {
  const streams = new OpenStreams(services);
  return new Hono().get('/events', query(Query), async (c) => {
    const digest = sessionDigest(c);
    // A stream is no use of the session: one that is left open does not keep it alive.
    const person = digest && (await services.database.run(enterWithSession(digest, false)));
    if (digest === null || person === null) throw signedOut();
    // Nobody would read the stream, and nothing would show that the client has gone.
    if (c.req.method === 'HEAD') return c.body(null, 200, headers);
    const refusal = streams.refusal(person);
    if (refusal !== null) throw refusal;
    const response = responseOf(c);
    // A browser that opens the same stream again names what it received last; its pages then load everything again.
    const since = c.req.header('last-event-id') === undefined ? (c.req.valid('query').since ?? null) : null;
    // Counted before anything is waited for.
    if (!response.destroyed) streams.add(response, person, digest, since);
    const retry = Math.round(reopening.least + Math.random() * (reopening.most - reopening.least));
    return keepOpen(c, headers, `retry: ${retry}\nid: 1\n\n`);
  });
}
