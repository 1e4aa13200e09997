/**
 * Places in the stream of changes as its readers keep them. They are encrypted: the numbers are those of all brokerages, and would reveal how much
 * others change.
 */

import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';
import { fromCursorSecret } from '../database/cursor-secret.ts';
import type { PlaceInStream } from '../domain/events/changes.ts';
import { uuidAt, uuidBytes } from '../http/uuid.ts';
import type { CoreServices } from '../services.ts';

export interface EventPlace extends PlaceInStream {
  readonly brokerageId: string;
  /** When it was given out: RFC 3339. */
  readonly at: string;
}

export interface EventCursors {
  write(place: EventPlace): string;
  /** The place, or null when it was not given out by this deployment. */
  read(cursor: string): EventPlace | null;
}

const cipher = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;
/** Two UUIDs, the number and the time. */
const placeBytes = 16 + 16 + 8 + 6;

function openCursors(secret: Buffer): EventCursors {
  const key = createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', 'dealkeep event cursors', 32)));
  return {
    write({ brokerageId, history, seq, at }) {
      const place = Buffer.alloc(placeBytes);
      uuidBytes(brokerageId).copy(place, 0);
      uuidBytes(history).copy(place, 16);
      place.writeBigInt64BE(BigInt(seq), 32);
      place.writeUIntBE(Date.parse(at), 40, 6);
      const iv = randomBytes(ivBytes);
      const writing = createCipheriv(cipher, key, iv, { authTagLength: tagBytes });
      return Buffer.concat([iv, writing.update(place), writing.final(), writing.getAuthTag()]).toString('base64url');
    },
    read(cursor) {
      const bytes = Buffer.from(cursor, 'base64url');
      if (bytes.length !== ivBytes + placeBytes + tagBytes || bytes.toString('base64url') !== cursor) return null;
      const reading = createDecipheriv(cipher, key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
      reading.setAuthTag(bytes.subarray(-tagBytes));
      try {
        const place = Buffer.concat([reading.update(bytes.subarray(ivBytes, -tagBytes)), reading.final()]);
        return {
          brokerageId: uuidAt(place, 0),
          history: uuidAt(place, 16),
          seq: place.readBigInt64BE(32).toString(),
          at: new Date(place.readUIntBE(40, 6)).toISOString(),
        };
      } catch {
        return null;
      }
    },
  };
}

/** The cursors of this deployment, which all its nodes share. */
export const eventCursors = (services: Pick<CoreServices, 'database' | 'secrets'>): (() => Promise<EventCursors>) =>
  fromCursorSecret(services, openCursors);
