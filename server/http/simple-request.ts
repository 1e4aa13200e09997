/**
 * Recognises requests of the plainest kind in the bytes of a connection, for answers that must cost next to nothing. What
 * is not recognised may be a good request all the same: Node.js's parser says what it is.
 */

import { isWellFormedHost, isWellFormedTarget } from './malformed.ts';

export interface SimpleRequest {
  /** The path and query. */
  readonly target: string;
  /** The first value of a header that was sent, by its name in small letters. */
  header(name: string): string | undefined;
}

/** The most bytes of a simple request. */
const longest = 8_192;

// Strict where parsers differ (RFC 9112, sections 2.2, 3 and 5): one space, CR LF, no folded lines, nothing but ASCII.
const simple = /^GET (\/[!-~]*) HTTP\/1\.1\r\n((?:[\w!#$%&'*+.^`|~-]+:[\t -~]*\r\n){1,100})\r\n$/;

/** What says that more belongs to the request, or that the connection is to be something else. */
const extraordinary =
  /^(?:(?:content-length|transfer-encoding|trailer|te|upgrade|expect|http2-settings|proxy-connection):|connection:(?![\t ]*keep-alive[\t ]*$))/im;

// The spaces around a value are left in: looking for the last of them takes the square of a value that is full of spaces.
const hosts = /^host:(.*)$/gim;

/**
 * The request that these bytes are, to the last of them: a GET of HTTP/1.1 without a body, well formed, on a connection
 * that is kept. Null when they are anything else, less or more.
 */
export function simpleRequest(bytes: Buffer): SimpleRequest | null {
  if (bytes.length > longest || bytes[0] !== 0x47) return null;
  const [, target = '', lines = ''] = simple.exec(bytes.toString('latin1')) ?? [];
  if (lines === '' || extraordinary.test(lines) || !isWellFormedTarget(target)) return null;
  const [host, another] = lines.matchAll(hosts);
  if (host === undefined || another !== undefined || !isWellFormedHost(host[1]?.trim() ?? '')) return null;
  // A line begins with its name: the one before it ends with a line feed, and the first has none before it.
  const text = `\n${lines}`;
  let small: string | undefined;
  return {
    target,
    header(name) {
      small ??= text.toLowerCase();
      const at = small.indexOf(`\n${name}:`);
      return at < 0 ? undefined : text.slice(at + name.length + 2, text.indexOf('\r', at)).trim();
    },
  };
}
