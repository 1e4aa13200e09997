/**
 * Cursors of lists: a position sealed for one list and one reader, so that cursors can be neither forged nor used by
 * others.
 */

import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';
import { fromCursorSecret } from '../database/cursor-secret.ts';
import type { CoreServices } from '../services.ts';

const sealBytes = 16;

/** The content of a cursor that has not been verified yet. */
export interface Unsealed {
  readonly place: Buffer;
  /** Whether the cursor was issued for this list to this reader; check it before using the position. */
  readonly isFor: (list: string, reader: string) => boolean;
}

export interface Sealer {
  /** The cursor for a position, valid only for this reader (a tenant or a person) and this list. */
  seal(list: string, reader: string, place: Buffer): string;
  /** Parses a cursor; null if it is malformed. */
  unseal(cursor: string): Unsealed | null;
}

const sealOf = (key: KeyObject, list: string, reader: string, place: Buffer): Buffer =>
  createHmac('sha256', key).update(`${list}\n${reader}\n`).update(place).digest().subarray(0, sealBytes);

function openSealer(secret: Buffer): Sealer {
  // Given bytes, Node.js would create a key for every seal, which costs more than the seal.
  const key = createSecretKey(secret);
  return {
    seal: (list, reader, place) => Buffer.concat([sealOf(key, list, reader, place), place]).toString('base64url'),
    unseal(cursor) {
      const bytes = Buffer.from(cursor, 'base64url');
      // Encoding the bytes again must give the same text: base64 has several ways to write the last character.
      if (bytes.length <= sealBytes || bytes.toString('base64url') !== cursor) return null;
      const place = bytes.subarray(sealBytes);
      return {
        place,
        isFor: (list, reader) => timingSafeEqual(sealOf(key, list, reader, place), bytes.subarray(0, sealBytes)),
      };
    },
  };
}

/** The sealer of this deployment, shared by all its nodes. */
export const deploymentSealer = (services: Pick<CoreServices, 'database' | 'secrets'>): (() => Promise<Sealer>) =>
  fromCursorSecret(services, openSealer);
