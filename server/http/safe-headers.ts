/** The security headers of every response, on all routes. */

import type { ServerResponse } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import type { Context, MiddlewareHandler, Next } from 'hono';

/**
 * The policy for responses that are not pages: however a browser treats them, nothing is loaded or run, and no page may
 * frame them.
 */
const nothing = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The headers, as names and values, of a response that only our own pages may show in a frame. */
export const inOwnFrame: readonly (readonly [string, string])[] = [
  ['X-Frame-Options', 'SAMEORIGIN'],
  ['Content-Security-Policy', nothing.replace("frame-ancestors 'none'", "frame-ancestors 'self'")],
];

/**
 * Calls the next middleware, with these headers on the response unless it sets them itself. They are set on Node.js's
 * own response, whose headers those of the app's response replace: setting them on the app's response would turn its
 * headers into web headers, which takes longer than everything else here.
 */
export async function nextWithHeaders(
  c: Context,
  headers: readonly (readonly [string, string])[],
  next: Next,
): Promise<void> {
  // An event stream would keep about a kilobyte of headers in memory there for as long as it is open.
  const staysOpen = c.req.header('accept') === 'text/event-stream';
  const outgoing = staysOpen ? undefined : (c.env as Partial<HttpBindings>).outgoing;
  for (const [name, value] of headers) (outgoing as ServerResponse | undefined)?.setHeader(name, value);
  await next();
  // Event streams, and prebuilt responses that have no Node.js response, carry the headers themselves.
  if (outgoing) return;
  for (const [name, value] of headers) if (!c.res.headers.has(name)) c.res.headers.set(name, value);
}

/** Sets {@link headersOfAll} on each response, the strictest there are, unless it sets them itself. */
export function safeHeaders(baseUrl: string): MiddlewareHandler {
  const headers = headersOfAll(baseUrl);
  return (c, next) => nextWithHeaders(c, headers, next);
}

/**
 * Lets whoever opened a page in a popup keep its reference to the window, if the page is `consent` or returns to it.
 * Clients need it: they wait for the popup to close, or for a message from their callback in it. Every response on the
 * way must allow it, redirects and errors too.
 */
export const keepOpener =
  (consent: string): MiddlewareHandler =>
  (c, next) =>
    c.req.path === consent || c.req.query('return_to')?.startsWith(`${consent}?`)
      ? nextWithHeaders(c, [['Cross-Origin-Opener-Policy', 'unsafe-none']], next)
      : next();

/**
 * The headers, as names and values, that restrict what a browser does with a response, what its links reveal in the
 * Referer, and caching.
 */
export function headersOfAll(baseUrl: string): [string, string][] {
  return [
    ['X-Content-Type-Options', 'nosniff'],
    ['X-Frame-Options', 'DENY'],
    ...(baseUrl.startsWith('https:')
      ? ([['Strict-Transport-Security', 'max-age=31536000']] as [string, string][])
      : []),
    ['Content-Security-Policy', nothing],
    ['Referrer-Policy', 'no-referrer'],
    // No page of another origin keeps a reference to one of ours that it opened (except where keepOpener says so), and
    // none loads our responses as images or scripts.
    ['Cross-Origin-Opener-Policy', 'same-origin'],
    ['Cross-Origin-Resource-Policy', 'same-origin'],
    ['Cache-Control', 'no-store'],
  ];
}
