/** Which web pages may call the tool server, and the CORS headers that allow it. */

import { isLoopback } from '../domain/clients/redirect-uris.ts';

const assistants = [
  'https://claude.ai',
  'https://claude.com',
  'https://chatgpt.com',
  'https://vscode.dev',
  'https://insiders.vscode.dev',
  'https://github.dev',
  'https://www.cursor.com',
];

/**
 * Returns a function that says whether pages of an origin may call: our own, well-known assistants, programs on the
 * person's machine, and `configured` ones.
 */
export function originCheck(ours: string, configured: readonly string[]): (origin: string) => boolean {
  const known = new Set([ours, ...assistants, ...configured]);
  return (origin) => {
    if (known.has(origin)) return true;
    return URL.parse(origin)?.origin === origin && isLoopback(origin);
  };
}

const exposed =
  'WWW-Authenticate, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id';

/** The headers that let a page of an allowed origin read a response. */
export function corsHeaders(origin: string): Record<string, string> {
  return { 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': exposed };
}

/** The headers of the response to a preflight request; `wanted` are the headers that the page would send. */
export function preflightHeaders(wanted: string | undefined): Record<string, string> {
  return {
    'Access-Control-Allow-Methods': 'POST',
    'Access-Control-Allow-Headers': wanted ?? 'Authorization, Content-Type',
    'Access-Control-Max-Age': '86400',
    Allow: 'POST, OPTIONS',
  };
}
