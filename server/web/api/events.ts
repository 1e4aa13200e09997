/**
 * GET /events: a stream (text/event-stream) of changes that the person may see; the pages then reload what they show.
 */

import { Hono } from 'hono';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import { enterWithSession } from '../../domain/accounts/sessions.ts';
import { keepOpen, responseOf } from '../../http/open-response.ts';
import { signedOut } from '../../http/person.ts';
import { sessionDigest } from '../../http/session.ts';
import { query } from './input.ts';
import { OpenStreams } from './open-streams.ts';

/**
 * Milliseconds before a browser reconnects when its stream ends: random, so that not all reconnect at the same time.
 */
const reopening = { least: 2_000, most: 10_000 } as const;

const headers = {
  'Content-Type': 'text/event-stream',
  // Otherwise nginx buffers small writes.
  'X-Accel-Buffering': 'no',
  // No other request follows on the connection, which would otherwise be kept open for a minute after the stream ends.
  Connection: 'close',
} as const;

/**
 * When the page's data was first requested, as Unix milliseconds by the server's clock: later changes are sent as well.
 */
const Query = z.object({
  since: z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
    .optional(),
});

/** The event routes, below /api/web. */
export function eventRoutes(services: Services) {
  const streams = new OpenStreams(services);
  return new Hono().get('/events', query(Query), async (c) => {
    const digest = sessionDigest(c);
    // A stream does not count as a use of the session, so that an open one does not keep the session alive.
    const person = digest && (await services.database.run(enterWithSession(digest, false)));
    if (digest === null || person === null) throw signedOut();
    // Nobody would read the stream, and the server would not notice when the client disconnects.
    if (c.req.method === 'HEAD') return c.body(null, 200, headers);
    const refusal = streams.refusal(person);
    if (refusal !== null) throw refusal;
    const response = responseOf(c);
    // A browser that reconnects sends the id of the last event; its pages then reload everything.
    const since = c.req.header('last-event-id') === undefined ? (c.req.valid('query').since ?? null) : null;
    // Counted before the first `await`.
    if (!response.destroyed) streams.add(response, person, digest, since);
    const retry = Math.round(reopening.least + Math.random() * (reopening.most - reopening.least));
    return keepOpen(c, headers, `retry: ${retry}\nid: 1\n\n`);
  });
}
