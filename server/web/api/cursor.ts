/** Cursors of the lists that the web application pages through. */

import { fromCursorSecret } from '../../database/cursor-secret.ts';
import type { Place } from '../../database/paging.ts';
import { placeCipher, type PlaceCipher } from '../../http/encrypted-place.ts';
import type { Services } from '../../services.ts';
import { deploymentSealer } from '../../http/sealed-cursor.ts';
import type { Problem } from '../../http/problem.ts';
import { invalid } from './problems.ts';

/** What is wrong with a cursor that we did not give out for this list. */
export const badCursor = (): Problem =>
  invalid([{ path: 'cursor', message: 'This cursor is not valid: start again without one.' }]);

export interface Cursors {
  /** The cursor for the place after `place`, of use to this person in this list only. */
  seal(list: string, userId: string, place: Place): string;
  /** Reads a cursor before it is known who asks. Throws 400 when it is not even written like one. */
  unseal(cursor: string): { readonly place: Place; readonly check: (list: string, userId: string) => void };
}

function placeIn(bytes: Buffer): Place {
  let place: unknown;
  try {
    place = JSON.parse(bytes.toString());
  } catch {
    throw badCursor();
  }
  if (!Array.isArray(place) || typeof place[0] !== 'string' || typeof place[1] !== 'string') throw badCursor();
  return { key: place[0], id: place[1] };
}

const inWeb = (list: string): string => `web ${list}`;

const asItIs: PlaceCipher = { encrypt: (place) => place, decrypt: (place) => place };

/** The cursors of this deployment, which all its nodes share; encrypted for lists whose next page may begin behind something hidden. */
export function deploymentCursors(services: Services, { encrypted = false } = {}): () => Promise<Cursors> {
  const sealer = deploymentSealer(services);
  const ciphers = fromCursorSecret(services, (secret) => placeCipher(secret, 'dealkeep cursors of lists'));
  return async () => {
    const { seal, unseal } = await sealer();
    const { encrypt, decrypt } = encrypted ? await ciphers() : asItIs;
    return {
      seal: (list, userId, { key, id }) => seal(inWeb(list), userId, encrypt(Buffer.from(JSON.stringify([key, id])))),
      unseal(cursor) {
        const unsealed = unseal(cursor);
        if (unsealed === null) throw badCursor();
        return {
          // A node of the release before signs it alone.
          place: placeIn(decrypt(unsealed.place) ?? unsealed.place),
          check(list, userId) {
            if (!unsealed.isFor(inWeb(list), userId)) throw badCursor();
          },
        };
      },
    };
  };
}
