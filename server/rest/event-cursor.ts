/**
 * Cursors of the event stream. They are encrypted: their sequence numbers count the changes of all brokerages, and
 * would reveal how much others change.
 */

import { createHmac } from 'node:crypto';
import { fromCursorSecret } from '../database/cursor-secret.ts';
import type { PlaceInStream } from '../domain/events/changes.ts';
import { placeCipher, placeKey } from '../http/encrypted-place.ts';
import { uuidAt, uuidBytes } from '../lib/uuid.ts';
import type { CoreServices } from '../services.ts';

export interface EventPlace extends PlaceInStream {
  readonly brokerageId: string;
  /** When the cursor was issued: RFC 3339. */
  readonly at: string;
}

interface EventCursors {
  write(place: EventPlace): string;
  /**
   * The entity tag of a page. It is keyed, because the content has a sequence number, which is small enough to be found
   * by trying.
   */
  tagOf(content: string): string;
  /**
   * The position in a cursor; `unreadable` when the cursor was not issued with the current secret, null when it does
   * not have the format of a cursor.
   */
  read(cursor: string): EventPlace | 'unreadable' | null;
}

/** Two UUIDs, the sequence number and the time. */
const placeBytes = 16 + 16 + 8 + 6;

function openCursors(secret: Buffer): EventCursors {
  const { encrypt, decrypt } = placeCipher(secret, 'dealkeep event cursors');
  const tagKey = placeKey(secret, 'dealkeep tags of event pages');
  const cursorBytes = encrypt(Buffer.alloc(placeBytes)).length;
  return {
    write({ brokerageId, history, seq, at }) {
      const place = Buffer.alloc(placeBytes);
      uuidBytes(brokerageId).copy(place, 0);
      uuidBytes(history).copy(place, 16);
      place.writeBigInt64BE(BigInt(seq), 32);
      place.writeUIntBE(Date.parse(at), 40, 6);
      return encrypt(place).toString('base64url');
    },
    tagOf: (content) => `"${createHmac('sha256', tagKey).update(content).digest('base64url').slice(0, 27)}"`,
    read(cursor) {
      const bytes = Buffer.from(cursor, 'base64url');
      if (bytes.length !== cursorBytes || bytes.toString('base64url') !== cursor) return null;
      const place = decrypt(bytes);
      if (place === null) return 'unreadable';
      return {
        brokerageId: uuidAt(place, 0),
        history: uuidAt(place, 16),
        seq: place.readBigInt64BE(32).toString(),
        at: new Date(place.readUIntBE(40, 6)).toISOString(),
      };
    },
  };
}

/** The cursors of this deployment, which all its nodes share. */
export const eventCursors = (services: Pick<CoreServices, 'database' | 'secrets'>): (() => Promise<EventCursors>) =>
  fromCursorSecret(services, openCursors);
