/** Which web pages may call the tool server, and which headers let a browser allow it. */

const assistants = [
  'https://claude.ai',
  'https://claude.com',
  'https://chatgpt.com',
  'https://vscode.dev',
  'https://insiders.vscode.dev',
  'https://github.dev',
  'https://www.cursor.com',
];
const thisMachine = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Whether pages of an origin may call: ours, well-known assistants, programs on the person's machine, and `configured` ones. */
export function originCheck(ours: string, configured: readonly string[]): (origin: string) => boolean {
  const known = new Set([ours, ...assistants, ...configured]);
  return (origin) => {
    if (known.has(origin)) return true;
    const url = URL.parse(origin);
    return url !== null && url.origin === origin && thisMachine.has(url.hostname);
  };
}

const exposed =
  'WWW-Authenticate, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id';

/** The headers with which a page of an allowed origin may read an answer. */
export function corsHeaders(origin: string): Record<string, string> {
  return { 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': exposed };
}

/** The answer to a browser that asks before it calls (preflight); `wanted` are the headers that the page would send. */
export function preflightHeaders(wanted: string | undefined): Record<string, string> {
  return {
    'Access-Control-Allow-Methods': 'POST',
    'Access-Control-Allow-Headers': wanted ?? 'Authorization, Content-Type',
    'Access-Control-Max-Age': '86400',
    Allow: 'POST, OPTIONS',
  };
}
