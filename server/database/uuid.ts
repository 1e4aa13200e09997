/** Ids that a node gives to new rows. */

import { randomUUID } from 'node:crypto';

/** A UUID of version 7 (RFC 9562), as app.uuid_v7() makes them: the milliseconds of now, and 74 random bits. */
export function uuidV7(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
