/** The key of encrypted backups, and what is derived from the key. */

import { hkdfSync } from 'node:crypto';

export interface BackupKey {
  readonly secret: Buffer;
  /** Identifies the key without revealing anything about it: 8 hexadecimal digits. */
  readonly id: string;
}

/** Length of a key's id in bytes. */
export const keyIdBytes = 4;

/** Bytes derived from the secret of a key for one purpose (HKDF, RFC 5869). */
export const derived = (secret: Buffer, salt: Buffer, purpose: string, length: number): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, salt, `dealkeep backup ${purpose}`, length));

/** The key of 32 bytes in `text`, in hexadecimal or base64; null when it contains none. */
export function backupKey(text: string): BackupKey | null {
  const trimmed = text.trim();
  const secret = /^[0-9a-f]{64}$/i.test(trimmed)
    ? Buffer.from(trimmed, 'hex')
    : /^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed)
      ? Buffer.from(trimmed, 'base64')
      : null;
  return secret?.length === 32
    ? { secret, id: derived(secret, Buffer.alloc(0), 'key id', keyIdBytes).toString('hex') }
    : null;
}
