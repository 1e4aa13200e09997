/**
 * Answers that stay open. They are written to Node.js's own response: a web stream, the context of its request and what
 * they hold on to would take several times the memory of the connection itself.
 */

import type { ServerResponse } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context, MiddlewareHandler } from 'hono';

/** The response that will carry the answer to this request. */
export const responseOf = (c: Context): ServerResponse => (c.env as HttpBindings).outgoing;

/** An answer of 200 that begins with `text` and is left open: more is written to {@link responseOf}, which also ends it. */
export function keepOpen(c: Context, headers: Readonly<Record<string, string>>, text: string): Response {
  c.set('heldOpenWith', text);
  return c.body(null, 200, headers);
}

/** Begins the answers that are held open, with the headers of the answer and those that every answer has: the outermost of all. */
export const openResponses: MiddlewareHandler = async (c, next) => {
  await next();
  const text: unknown = c.get('heldOpenWith');
  if (typeof text !== 'string' || c.res.status !== 200) return;
  const response = responseOf(c);
  if (!response.destroyed) {
    response.writeHead(200, Object.fromEntries(c.res.headers));
    // Sent by itself, the head does not stay in memory as the hundred pieces that it was put together of.
    response.flushHeaders();
    response.write(text);
  }
  // Nobody asks any more what the request said, which is a kilobyte of a browser's.
  const { incoming } = c.env as HttpBindings;
  incoming.rawHeaders = [];
  incoming.headers = {};
  // Set twice, since what is there would be merged into it.
  c.res = undefined;
  c.res = RESPONSE_ALREADY_SENT;
};
