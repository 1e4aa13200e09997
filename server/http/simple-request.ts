/**
 * Recognises requests of the plainest kind in the bytes of a connection, for responses that must cost next to nothing.
 * A request that is not recognised may still be valid: Node.js's parser decides.
 */

import { isWellFormedHost, isWellFormedTarget } from './malformed.ts';

export interface SimpleRequest {
  /** The path and query. */
  readonly target: string;
  /** The first value of a header, by its name in lower case; undefined if it was not sent. */
  header(name: string): string | undefined;
}

/** Maximum length of a simple request, in bytes. */
const longest = 8_192;

// Strict where parsers differ (RFC 9112, sections 2.2, 3 and 5): one space, CR LF, no folded lines, nothing but ASCII.
const simple = /^GET (\/[!-~]*) HTTP\/1\.1\r\n((?:[\w!#$%&'*+.^`|~-]+:[\t -~]*\r\n){1,100})\r\n$/;

/** Headers that mean that more bytes belong to the request, or that the connection is to be closed or changed. */
const extraordinary =
  /^(?:(?:content-length|transfer-encoding|trailer|te|upgrade|expect|http2-settings|proxy-connection):|connection:(?![\t ]*keep-alive[\t ]*$))/im;

// The spaces around a value are included: excluding trailing ones would take time quadratic in the length of a value
// full of spaces.
const hosts = /^host:(.*)$/gim;

/**
 * Parses bytes that are exactly one complete request: a well-formed GET of HTTP/1.1 without a body, on a connection
 * that is kept alive. Null for anything else.
 */
export function simpleRequest(bytes: Buffer): SimpleRequest | null {
  if (bytes.length > longest || bytes[0] !== 0x47) return null;
  const [, target = '', lines = ''] = simple.exec(bytes.toString('latin1')) ?? [];
  if (lines === '' || extraordinary.test(lines) || !isWellFormedTarget(target)) return null;
  const [host, another] = lines.matchAll(hosts);
  if (host === undefined || another !== undefined || !isWellFormedHost(host[1]?.trim() ?? '')) return null;
  // A header name starts a line: a line feed precedes it, which is added before the first.
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
