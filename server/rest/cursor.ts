/** Cursors of lists: a place, sealed for one list of one tenant (specification, section 4.1). */

import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { cursorSecret } from '../domain/cursor-secret.ts';
import type { Position } from '../domain/contacts.ts';

const timeBytes = 6;
const idBytes = 16;
const sealBytes = 16;
const place = timeBytes + idBytes;
const latest = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** What a cursor says, before it is known whether we said it. */
export interface UnsealedCursor {
  readonly position: Position;
  /** Whether it was given out for this list of this tenant. */
  readonly isFor: (list: string, tenant: string) => boolean;
}

export interface Cursors {
  /** The cursor for the place after `position`, of use to this tenant in this list only. */
  seal(list: string, tenant: string, position: Position): string;
  /** Reads a cursor, or null when it is not even written like one. Ask `isFor` before believing it. */
  unseal(cursor: string): UnsealedCursor | null;
}

function sealOf(key: KeyObject, list: string, tenant: string, at: Buffer): Buffer {
  return createHmac('sha256', key).update(`${list}\n${tenant}\n`).update(at).digest().subarray(0, sealBytes);
}

/** Cursors sealed with `secret`, which every node shares. */
export function openCursors(secret: Buffer): Cursors {
  // Bytes would be made into a key anew for every seal, which costs more than the seal.
  const key = createSecretKey(secret);
  return {
    seal(list, tenant, { createdAt, id }) {
      const at = Buffer.alloc(place);
      at.writeUIntBE(Date.parse(createdAt), 0, timeBytes);
      at.write(id.replaceAll('-', ''), timeBytes, 'hex');
      return Buffer.concat([at, sealOf(key, list, tenant, at)]).toString('base64url');
    },
    unseal(cursor) {
      const bytes = Buffer.from(cursor, 'base64url');
      // Written back, it must be the same text: base64 has several ways to write the last character.
      if (bytes.length !== place + sealBytes || bytes.toString('base64url') !== cursor) return null;
      const at = bytes.subarray(0, place);
      const milliseconds = at.readUIntBE(0, timeBytes);
      if (milliseconds > latest) return null;
      const id = at.toString('hex', timeBytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
      return {
        position: { createdAt: new Date(milliseconds).toISOString(), id },
        isFor: (list, tenant) => timingSafeEqual(sealOf(key, list, tenant, at), bytes.subarray(place)),
      };
    },
  };
}

/** The cursors of this deployment; the secret is fetched when it is first needed. */
export function deploymentCursors(database: Database): () => Promise<Cursors> {
  let opened: Promise<Cursors> | null = null;
  return () => {
    opened ??= database.run(cursorSecret).then(openCursors);
    // Not kept when it failed: the next request asks again.
    opened.catch(() => (opened = null));
    return opened;
  };
}
