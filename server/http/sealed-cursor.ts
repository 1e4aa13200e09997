/** Cursors of lists: a place that is sealed for one list and one reader, so that nobody makes one up or passes one on. */

import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';
import { fromCursorSecret } from '../database/cursor-secret.ts';
import type { CoreServices } from '../services.ts';

const sealBytes = 16;

/** What a cursor says, before it is known whether we said it. */
export interface Unsealed {
  readonly place: Buffer;
  /** Whether it was given out for this list to this reader. Ask before believing the place. */
  readonly isFor: (list: string, reader: string) => boolean;
}

export interface Sealer {
  /** The cursor for the place, of use to this reader (a tenant or a person) in this list only. */
  seal(list: string, reader: string, place: Buffer): string;
  /** Reads a cursor, or null when it is not even written like one. */
  unseal(cursor: string): Unsealed | null;
}

const sealOf = (key: KeyObject, list: string, reader: string, place: Buffer): Buffer =>
  createHmac('sha256', key).update(`${list}\n${reader}\n`).update(place).digest().subarray(0, sealBytes);

function openSealer(secret: Buffer): Sealer {
  // Bytes would be made into a key anew for every seal, which costs more than the seal.
  const key = createSecretKey(secret);
  return {
    seal: (list, reader, place) => Buffer.concat([sealOf(key, list, reader, place), place]).toString('base64url'),
    unseal(cursor) {
      const bytes = Buffer.from(cursor, 'base64url');
      // Written back, it must be the same text: base64 has several ways to write the last character.
      if (bytes.length <= sealBytes || bytes.toString('base64url') !== cursor) return null;
      const place = bytes.subarray(sealBytes);
      return {
        place,
        isFor: (list, reader) => timingSafeEqual(sealOf(key, list, reader, place), bytes.subarray(0, sealBytes)),
      };
    },
  };
}

/** The sealer of this deployment, which all its nodes share. */
export const deploymentSealer = (services: Pick<CoreServices, 'database' | 'secrets'>): (() => Promise<Sealer>) =>
  fromCursorSecret(services, openSealer);
