/** Encrypts cursor positions that would reveal data their reader may not see. */

import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes, type KeyObject } from 'node:crypto';

const cipher = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

export interface PlaceCipher {
  encrypt(place: Buffer): Buffer;
  /** The position; null if it was not encrypted with this key. */
  decrypt(encrypted: Buffer): Buffer | null;
}

/** The key for one purpose, derived from the secret of cursors (RFC 5869). */
export const placeKey = (secret: Buffer, purpose: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', purpose, 32)));

/** Encrypts positions for one purpose, with a key derived from the secret of cursors. */
export function placeCipher(secret: Buffer, purpose: string): PlaceCipher {
  const key = placeKey(secret, purpose);
  return {
    encrypt(place) {
      const iv = randomBytes(ivBytes);
      const writing = createCipheriv(cipher, key, iv, { authTagLength: tagBytes });
      return Buffer.concat([iv, writing.update(place), writing.final(), writing.getAuthTag()]);
    },
    decrypt(encrypted) {
      if (encrypted.length < ivBytes + tagBytes) return null;
      const reading = createDecipheriv(cipher, key, encrypted.subarray(0, ivBytes), { authTagLength: tagBytes });
      reading.setAuthTag(encrypted.subarray(-tagBytes));
      try {
        return Buffer.concat([reading.update(encrypted.subarray(ivBytes, -tagBytes)), reading.final()]);
      } catch {
        return null;
      }
    },
  };
}
