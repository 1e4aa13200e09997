/** Entity tags of responses, and the comparison with those that a client presents (RFC 9110, sections 8.8.3 and 13.1.2). */

import { hash } from 'node:crypto';
import type { Context } from 'hono';
import type { Encoding } from './compression.ts';

/** The strong entity tag of a body: in quotes, 27 characters. */
export const entityTag = (body: string | Uint8Array): string => `"${hash('sha256', body, 'base64url').slice(0, 27)}"`;

/**
 * A strong tag identifies one sequence of bytes, so the compressed response has a different one (RFC 9110, section
 * 8.8.3.3).
 */
export const encodedTag = (tag: string, encoding: Encoding): string => `${tag.slice(0, -1)}-${encoding}"`;

/**
 * The entity tags in a list, with those of compressed responses reduced to the tag of the uncompressed response; '*'
 * for any.
 */
export function tagsIn(header: string): readonly string[] | '*' {
  if (header.trim() === '*') return '*';
  return [...header.slice(0, 8_000).matchAll(/(W\/)?"([\x21\x23-\x7e]*?)(?:-(?:br|gzip))?"/g)].map(
    ([, weak = '', text]) => `${weak}"${text}"`,
  );
}

/** Whether the client already has this response: If-None-Match, which compares weakly, as proxies make tags weak. */
export function isKnown(c: Context, tag: string): boolean {
  const header = c.req.header('if-none-match');
  if (header === undefined) return false;
  const tags = tagsIn(header);
  return tags === '*' || tags.some((one) => one.replace(/^W\//, '') === tag);
}
