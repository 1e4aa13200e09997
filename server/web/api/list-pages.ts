/** Pages of the lists that the web application pages through. */

import { fromCursorSecret } from '../../database/cursor-secret.ts';
import type { Place } from '../../database/paging.ts';
import { placeCipher, type PlaceCipher } from '../../http/encrypted-place.ts';
import type { Services } from '../../services.ts';
import { deploymentSealer } from '../../http/sealed-cursor.ts';
import { invalid, type Problem } from '../../http/problem.ts';

/** What is wrong with a cursor that we did not give out for this list. */
const badCursor = (): Problem =>
  invalid([{ path: 'cursor', message: 'The list cannot go on from here: try again, and it begins anew.' }]);

/** A page that is asked for. */
interface ListPage {
  /** The place that it begins after; null for the first page. Nobody has checked yet to whom it was given. */
  readonly after: Place | null;
  /**
   * The page as it is answered to this person, with the cursor of the next one. Throws 400 when the cursor was given out for another list or
   * to somebody else.
   */
  answer<Row>(
    person: { readonly user_id: string },
    found: { readonly items: Row[]; readonly next: Place | null },
  ): { items: Row[]; next_cursor: string | null };
}

/** Opens a page of the list, which is named with its filters and order. Throws 400 when the cursor is not even written like one. */
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

/** The pages of this deployment, whose cursors all its nodes share; encrypted for lists whose next page may begin behind something hidden. */
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
      // A node of the release before signs it alone.
      after: unsealed && placeIn(decrypt(unsealed.place) ?? unsealed.place),
      answer({ user_id }, { items, next }) {
        if (unsealed && !unsealed.isFor(list, user_id)) throw badCursor();
        const place = next && encrypt(Buffer.from(JSON.stringify([next.key, next.id])));
        return { items, next_cursor: place && seal(list, user_id, place) };
      },
    };
  };
}
