/** Ids that a node gives to new rows. */

import { randomUUID } from 'node:crypto';

/** Of a millisecond: what 12 bits count. */
const mostIds = 4096;

/** The `nth` UUID of version 7 (RFC 9562, section 6.2) of a time in milliseconds: they sort as they were made, and are random behind that. */
export function uuidAt(milliseconds: number, nth: number): string {
  const time = (milliseconds + Math.floor(nth / mostIds)).toString(16).padStart(12, '0');
  const place = (nth % mostIds).toString(16).padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${place}${randomUUID().slice(18)}`;
}

/** A clock that was set back by more than this is believed. */
const mostBackMillis = 10_000;
let latest = 0;
let nth = 0;

/**
 * A UUID of version 7, which sorts after those that this process made before it, unless the clock was set back by more than ten seconds meanwhile;
 * app.uuid_v7() makes PostgreSQL's.
 */
export function uuidV7(): string {
  const now = Date.now();
  const isNew = now > latest + Math.floor(nth / mostIds) || now < latest - mostBackMillis;
  nth = isNew ? 0 : nth + 1;
  if (isNew) latest = now;
  return uuidAt(latest, nth);
}
