/**
 * Responses that stay open. They are written to Node.js's own response: a web stream, the request's context and the
 * objects they reference would take several times the memory of the connection itself.
 */

import type { ServerResponse } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context, MiddlewareHandler } from 'hono';

/** The Node.js response to this request. */
export const responseOf = (c: Context): ServerResponse => (c.env as HttpBindings).outgoing;

/**
 * A response of 200 that begins with `text` and is left open: more is written to {@link responseOf}, which also ends
 * it.
 */
export function keepOpen(c: Context, headers: Readonly<Record<string, string>>, text: string): Response {
  c.set('heldOpenWith', text);
  return c.body(null, 200, headers);
}

/**
 * Sends the head of responses that are held open, with their own headers and those of every response; must be the
 * outermost middleware.
 */
export const openResponses: MiddlewareHandler = async (c, next) => {
  await next();
  const text: unknown = c.get('heldOpenWith');
  if (typeof text !== 'string' || c.res.status !== 200) return;
  const response = responseOf(c);
  if (!response.destroyed) {
    response.writeHead(200, Object.fromEntries(c.res.headers));
    // Flushed on its own, the head does not stay in memory as the hundred pieces it was built from.
    response.flushHeaders();
    response.write(text);
  }
  // The request headers are no longer needed, and take a kilobyte for a browser.
  const { incoming } = c.env as HttpBindings;
  incoming.rawHeaders = [];
  incoming.headers = {};
  // Cleared first, since Hono would otherwise merge the headers of the existing response into the new one.
  c.res = undefined;
  c.res = RESPONSE_ALREADY_SENT;
};
