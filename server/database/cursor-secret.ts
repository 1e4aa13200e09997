/** The secret with which cursors of lists are sealed. */

import type { Database } from './database.ts';
import { row } from './statement.ts';

const secret = row<{ secret: Buffer }, []>('cursor_secret', 'select app.cursor_secret() as secret');

/**
 * What `make` makes of the secret, fetched when it is first needed and kept: 32 bytes, made with the database and the
 * same for every node.
 */
export function fromCursorSecret<T>(database: Database, make: (secret: Buffer) => T): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => {
    made ??= database.run(secret()).then((found) => {
      if (found === null) throw new Error('The database has no cursor secret.');
      return make(found.secret);
    });
    // Not kept when it failed: the next request asks again.
    made.catch(() => (made = null));
    return made;
  };
}
