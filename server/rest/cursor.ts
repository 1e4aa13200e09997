/**
 * Positions in a list ordered by creation time, as bytes: six for the time in milliseconds, sixteen for the id
 * (specification, section 4.1).
 */

import type { Position } from '../domain/contacts/contacts.ts';
import { uuidAt, uuidBytes } from '../lib/uuid.ts';

const timeBytes = 6;
const idBytes = 16;
const latest = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Encodes a position. */
export function placeOf({ createdAt, id }: Position): Buffer {
  const place = Buffer.alloc(timeBytes + idBytes);
  place.writeUIntBE(Date.parse(createdAt), 0, timeBytes);
  uuidBytes(id).copy(place, timeBytes);
  return place;
}

/** The position that {@link placeOf} encoded, or null when the bytes encode none. */
export function positionOf(place: Buffer): Position | null {
  if (place.length !== timeBytes + idBytes) return null;
  const milliseconds = place.readUIntBE(0, timeBytes);
  if (milliseconds > latest) return null;
  return { createdAt: new Date(milliseconds).toISOString(), id: uuidAt(place, timeBytes) };
}
