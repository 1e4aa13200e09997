/** What makes two requests the same request. */

import { hash } from 'node:crypto';

/** The SHA-256 digest (32 bytes) of what `body` says, whatever the order of its properties. */
export function canonicalDigest(body: Readonly<Record<string, string | null>>): Buffer {
  const said = Object.entries(body).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return hash('sha256', JSON.stringify(said), 'buffer');
}
