/** Ids that a node gives to new rows. */

import { randomUUID } from 'node:crypto';

/**
 * The `nth` UUID of version 7 (RFC 9562, section 6.2) of a time in milliseconds: they sort as they were made. `nth` has 12 bits;
 * the 62 that follow the variant are random.
 */
export function uuidAt(milliseconds: number, nth: number): string {
  const time = milliseconds.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${Math.min(nth, 0xfff).toString(16).padStart(3, '0')}${randomUUID().slice(18)}`;
}

let latest = 0;
let nth = 0;

/** A UUID of version 7, which sorts after those that this process made before it; app.uuid_v7() is PostgreSQL's. */
export function uuidV7(): string {
  const now = Date.now();
  nth = now > latest ? 0 : nth + 1;
  latest = Math.max(now, latest);
  return uuidAt(latest, nth);
}
