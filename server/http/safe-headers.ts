/** The headers that every answer has, whichever routes it comes from. */

import type { ServerResponse } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import type { Context, MiddlewareHandler, Next } from 'hono';

/** For what is no page: nothing is loaded or run, whatever a browser makes of it, and nobody frames it. */
const nothing = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The headers of what a page of ours may read in a frame of its own, and nobody else, as names and values. */
export const inOwnFrame: readonly (readonly [string, string])[] = [
  ['X-Frame-Options', 'SAMEORIGIN'],
  ['Content-Security-Policy', nothing.replace("frame-ancestors 'none'", "frame-ancestors 'self'")],
];

/**
 * Calls the next middleware, with these headers on the answer unless it sets them itself. They are put on Node.js's own response, which an answer's
 * own headers replace: on the answer they would make web headers of those of each answer, which takes longer than all the rest of them.
 */
export async function nextWithHeaders(
  c: Context,
  headers: readonly (readonly [string, string])[],
  next: Next,
): Promise<void> {
  // What stays open would keep its headers there for as long, about a kilobyte of them.
  const staysOpen = c.req.header('accept') === 'text/event-stream';
  const outgoing = staysOpen ? undefined : (c.env as Partial<HttpBindings>).outgoing;
  for (const [name, value] of headers) (outgoing as ServerResponse | undefined)?.setHeader(name, value);
  await next();
  // An answer that is made to be kept, and sent without the app, has no response of its own.
  if (outgoing) return;
  for (const [name, value] of headers) if (!c.res.headers.has(name)) c.res.headers.set(name, value);
}

/** Sets {@link headersOfAll} of an answer, the strictest there are, unless it sets them itself. */
export function safeHeaders(baseUrl: string): MiddlewareHandler {
  const headers = headersOfAll(baseUrl);
  return (c, next) => nextWithHeaders(c, headers, next);
}

/** What a browser may make of an answer, what a link in it reveals of where it was followed, and how long it is kept, as names and values. */
export function headersOfAll(baseUrl: string): [string, string][] {
  return [
    ['X-Content-Type-Options', 'nosniff'],
    ['X-Frame-Options', 'DENY'],
    ...(baseUrl.startsWith('https:')
      ? ([['Strict-Transport-Security', 'max-age=31536000']] as [string, string][])
      : []),
    ['Content-Security-Policy', nothing],
    ['Referrer-Policy', 'no-referrer'],
    // No page elsewhere keeps hold of one of ours that it opened, and none loads our answers as its own pictures or scripts.
    ['Cross-Origin-Opener-Policy', 'same-origin'],
    ['Cross-Origin-Resource-Policy', 'same-origin'],
    ['Cache-Control', 'no-store'],
  ];
}
