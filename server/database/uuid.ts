/** Ids that a node assigns to new rows. */

import { randomUUID } from 'node:crypto';

/** Ids per millisecond: as many as 12 bits count. */
const mostIds = 4096;

/**
 * Returns the `nth` UUID of version 7 (RFC 9562, section 6.2) of a time in milliseconds: they sort in the order of
 * `nth`, and the remaining bits are random.
 */
export function uuidAt(milliseconds: number, nth: number): string {
  const time = (milliseconds + Math.floor(nth / mostIds)).toString(16).padStart(12, '0');
  const place = (nth % mostIds).toString(16).padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${place}${randomUUID().slice(18)}`;
}

/** A clock that was set back by more than this, in milliseconds, is followed. */
const mostBackMillis = 10_000;
let latest = 0;
let nth = 0;

/**
 * Returns a UUID of version 7, which sorts after those that this process made before, unless the clock was set back by
 * more than ten seconds meanwhile; PostgreSQL's counterpart is app.uuid_v7().
 */
export function uuidV7(): string {
  const now = Date.now();
  const isNew = now > latest + Math.floor(nth / mostIds) || now < latest - mostBackMillis;
  nth = isNew ? 0 : nth + 1;
  if (isNew) latest = now;
  return uuidAt(latest, nth);
}
