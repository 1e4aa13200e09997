/** The headers that every answer has, whichever routes it comes from. */

import type { MiddlewareHandler } from 'hono';

/** For what is no page: nothing is loaded or run, whatever a browser makes of it, and nobody frames it. */
const nothing = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * Sets the headers that hold of everything, and the strictest of those that an answer has not set itself: its policy,
 * what a link tells of where it was followed, and how long it is kept.
 */
export function safeHeaders(baseUrl: string): MiddlewareHandler {
  const secure = baseUrl.startsWith('https:');
  return async (c, next) => {
    await next();
    const { headers } = c.res;
    headers.set('X-Content-Type-Options', 'nosniff');
    headers.set('X-Frame-Options', 'DENY');
    if (secure) headers.set('Strict-Transport-Security', 'max-age=31536000');
    if (!headers.has('Content-Security-Policy')) headers.set('Content-Security-Policy', nothing);
    if (!headers.has('Referrer-Policy')) headers.set('Referrer-Policy', 'no-referrer');
    // No page elsewhere keeps hold of one of ours that it opened, and none loads our answers as its own pictures or scripts.
    headers.set('Cross-Origin-Opener-Policy', 'same-origin');
    headers.set('Cross-Origin-Resource-Policy', 'same-origin');
    if (!headers.has('Cache-Control')) headers.set('Cache-Control', 'no-store');
  };
}
