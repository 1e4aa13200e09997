/** Requests that are refused because of their request line or headers, before routing, or by Node.js itself. */

import { STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Context } from 'hono';
import { Problem } from './problem.ts';

const refused = (
  status: 400 | 408 | 413 | 417 | 431,
  message: string,
  where: 'path' | 'header' | 'body',
  name = '',
): Problem => new Problem(status, 'validation_error', message, { details: [{ in: where, path: name, message }] });

const byStatus = {
  400: refused(400, 'This is not a well-formed HTTP request.', 'header'),
  408: refused(408, 'The request did not arrive in time: send it again.', 'body'),
  413: refused(413, 'The chunk extensions of the body are too long.', 'body'),
  417: refused(417, 'The only supported expectation is 100-continue.', 'header', 'Expect'),
  431: refused(431, 'The headers are too large: at most 16 KB together with the address.', 'header'),
} as const;

/** Statuses of refusals that do not depend on the requested resource. */
export type RefusalStatus = keyof typeof byStatus;

/** The refusal for a status. */
export const refusedWith = (status: RefusalStatus): Problem => byStatus[status];

const badHost = refused(
  400,
  'Send one Host header with the name of this host, and its port if it has one.',
  'header',
  'Host',
);
const badTarget = refused(
  400,
  'Request a path in ASCII that begins with one slash, without backslashes, fragments or dot segments.',
  'path',
);

/** A host and a port (RFC 9110, section 7.2; RFC 3986, section 3.2.2), neither of them empty. */
const host =
  /^(?:\[(?:[0-9a-f:.]{2,45}|v[0-9a-f]{1,8}\.[\w.~!$&'()*+,;=:-]{1,64})\]|(?:[\w.~!$&'()*+,;=-]|%[0-9a-f]{2}){1,255})(?::\d{1,5})?$/i;

/** A path and query (RFC 9112, section 3.2.1) that browsers and proxies read in the same way as this server. */
const target = /^\/(?!\/)[!"$->@-[\]-~]*(?:\?[!"$-~]*)?$/;
const dotSegment = /\/(?:\.|%2e){1,2}(?:\/|$)/i;

/** Whether a value is allowed for a Host header. */
export const isWellFormedHost = (value: string): boolean => host.test(value);

/** Whether a path and query is read alike by browsers, proxies and this server. */
export function isWellFormedTarget(url: string): boolean {
  if (!target.test(url)) return false;
  const query = url.indexOf('?');
  return !dotSegment.test(query < 0 ? url : url.slice(0, query));
}

function hasOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let found: string | undefined;
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.length !== 4 || name.toLowerCase() !== 'host') continue;
    found = rawHeaders[at + 1];
    count += 1;
  }
  // HTTP/1.0, which some health checks use, has no Host.
  if (count === 0) return httpVersion === '1.0';
  return count === 1 && found !== undefined && isWellFormedHost(found);
}

/** What is wrong with the first line or the Host of a request, or null. */
export function malformation(request: IncomingMessage): Problem | null {
  if (!hasOneHost(request)) return badHost;
  return isWellFormedTarget(request.url ?? '') ? null : badTarget;
}

/**
 * A well-formed path as close as possible to the requested one; it only decides in which format the refusal is written.
 */
export function pathNear(url: string): string {
  const path = url.slice(0, 2_000).replace(/^[a-z]{1,10}:[/\\]{2}[^/\\?#]*/i, '');
  const [plain = ''] = path.split(/[?#]/, 1);
  return `/${plain.replace(/^[/\\]+/, '').replaceAll(/[^\w/.~-]/g, '_')}`.replaceAll(/\/\.{1,2}(?=\/|$)/g, '/_');
}

const refusals = new WeakMap<object, Problem>();

/**
 * Marks a request, so that the app answers it with the refusal; `incoming` is the object that the app finds in
 * `c.env.incoming`.
 */
export function markRefused(incoming: object, problem: Problem): void {
  refusals.set(incoming, problem);
}

/** Whether a request was marked by {@link markRefused}. */
export const isMarkedRefused = (incoming: object): boolean => refusals.has(incoming);

/** The refusal with which a request must be answered, if any. */
export function refusalOf(c: Context): Problem | undefined {
  const { incoming } = c.env as { incoming: object };
  return refusals.get(incoming);
}

/**
 * A response as bytes for a connection that is closed afterwards, for a request for which Node.js has no response
 * object.
 */
export async function onWire(answer: Response): Promise<Buffer> {
  const body = Buffer.from(await answer.arrayBuffer());
  const headers = [...answer.headers].filter(([name]) => name !== 'connection' && name !== 'content-length');
  const lines = [
    `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ''}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    `Date: ${new Date().toUTCString()}`,
    'Connection: close',
    `Content-Length: ${body.length}`,
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}
