/** Places in the list of contacts as bytes: six of the time in milliseconds, sixteen of the id (specification, section 4.1). */

import type { Position } from '../domain/contacts/contacts.ts';
import { uuidAt, uuidBytes } from '../http/uuid.ts';

const timeBytes = 6;
const idBytes = 16;
const latest = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** The place after `position`. */
export function placeOf({ createdAt, id }: Position): Buffer {
  const place = Buffer.alloc(timeBytes + idBytes);
  place.writeUIntBE(Date.parse(createdAt), 0, timeBytes);
  uuidBytes(id).copy(place, timeBytes);
  return place;
}

/** The position that {@link placeOf} was given, or null: this is no place. */
export function positionOf(place: Buffer): Position | null {
  if (place.length !== timeBytes + idBytes) return null;
  const milliseconds = place.readUIntBE(0, timeBytes);
  if (milliseconds > latest) return null;
  return { createdAt: new Date(milliseconds).toISOString(), id: uuidAt(place, timeBytes) };
}
