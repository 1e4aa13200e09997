/** Pagination of the web application's lists. */

import { fromCursorSecret } from '../../database/cursor-secret.ts';
import type { Place } from '../../database/paging.ts';
import { placeCipher, type PlaceCipher } from '../../http/encrypted-place.ts';
import type { Services } from '../../services.ts';
import { deploymentSealer } from '../../http/sealed-cursor.ts';
import { invalid, type Problem } from '../../http/problem.ts';

/** The problem for a cursor that was not issued for this list. */
const badCursor = (): Problem =>
  invalid([{ path: 'cursor', message: 'The list cannot continue from here: try again to start over.' }]);

interface ListPage {
  /**
   * The position after which the page begins; null for the first page. It has not been checked yet whether the cursor
   * was issued to this person.
   */
  readonly after: Place | null;
  /**
   * The page for this person, with the cursor of the next page. Throws 400 when the cursor was issued for another list
   * or to another person.
   */
  answer<Row>(
    person: { readonly user_id: string },
    found: { readonly items: Row[]; readonly next: Place | null },
  ): { items: Row[]; next_cursor: string | null };
}

/** Opens a page of the list, whose name includes its filters and order. Throws 400 when the cursor is malformed. */
type ListPages = (list: string, cursor: string | undefined) => Promise<ListPage>;

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

const asItIs: PlaceCipher = { encrypt: (place) => place, decrypt: (place) => place };

/**
 * The pages of this deployment, whose nodes accept each other's cursors; encrypted for lists whose next page may begin
 * after a hidden row.
 */
export function listPages(services: Services, { encrypted = false } = {}): ListPages {
  const sealer = deploymentSealer(services);
  const ciphers = fromCursorSecret(services, (secret) => placeCipher(secret, 'dealkeep cursors of lists'));
  return async (name, cursor) => {
    const { seal, unseal } = await sealer();
    const { encrypt, decrypt } = encrypted ? await ciphers() : asItIs;
    const list = `web ${name}`;
    const unsealed = cursor === undefined ? null : unseal(cursor);
    if (cursor !== undefined && unsealed === null) throw badCursor();
    return {
      // A node of the previous release only signs the position.
      after: unsealed && placeIn(decrypt(unsealed.place) ?? unsealed.place),
      answer({ user_id }, { items, next }) {
        if (unsealed && !unsealed.isFor(list, user_id)) throw badCursor();
        const place = next && encrypt(Buffer.from(JSON.stringify([next.key, next.id])));
        return { items, next_cursor: place && seal(list, user_id, place) };
      },
    };
  };
}
