/** Cursors of the lists that the web application pages through: a place, sealed for one list of one person. */

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { House } from '../../context.ts';
import { cursorSecret } from '../../domain/cursor-secret.ts';
import { invalid, type Problem } from './problems.ts';

/** Where a page begins: the sort key of the row before it, as text, and that row's id. */
export interface Place {
  readonly key: string;
  readonly id: string;
}

const sealBytes = 16;

/** What is wrong with a cursor that we did not give out for this list. */
export const badCursor = (): Problem =>
  invalid([{ path: 'cursor', message: 'This place in the list is not known: begin again without a cursor.' }]);

export interface Cursors {
  /** The cursor for the place after `place`, of use to this person in this list only. */
  seal(list: string, userId: string, place: Place): string;
  /** Reads a cursor before it is known who asks. Throws 400 when it is not even written like one. */
  unseal(cursor: string): { readonly place: Place; readonly check: (list: string, userId: string) => void };
}

function openCursors(secret: Buffer): Cursors {
  const sealOf = (list: string, userId: string, text: Buffer) =>
    createHmac('sha256', secret).update(`web\n${list}\n${userId}\n`).update(text).digest().subarray(0, sealBytes);
  return {
    seal(list, userId, { key, id }) {
      const text = Buffer.from(JSON.stringify([key, id]));
      return Buffer.concat([sealOf(list, userId, text), text]).toString('base64url');
    },
    unseal(cursor) {
      const bytes = Buffer.from(cursor, 'base64url');
      // Decoding overlooks what follows the last whole byte.
      if (bytes.toString('base64url') !== cursor) throw badCursor();
      const text = bytes.subarray(sealBytes);
      let place: unknown;
      try {
        place = JSON.parse(text.toString());
      } catch {
        throw badCursor();
      }
      if (!Array.isArray(place) || typeof place[0] !== 'string' || typeof place[1] !== 'string') throw badCursor();
      return {
        place: { key: place[0], id: place[1] },
        check(list, userId) {
          if (!timingSafeEqual(sealOf(list, userId, text), bytes.subarray(0, sealBytes))) throw badCursor();
        },
      };
    },
  };
}

/** The cursors of this deployment, which all its nodes share; the secret is fetched when it is first needed. */
export function deploymentCursors({ database }: House): () => Promise<Cursors> {
  let opened: Promise<Cursors> | null = null;
  return () => {
    opened ??= database.run(cursorSecret).then(openCursors);
    // Not kept when it failed: the next request asks again.
    opened.catch(() => (opened = null));
    return opened;
  };
}
