/** The secret with which cursors of lists are sealed. */

import { loadedOnce } from '../lib/loaded-once.ts';
import { keyIdOf, secretRows, type Secrets } from '../lib/secrets.ts';
import type { Database } from './database.ts';
import { mapped, row, type Statement } from './statement.ts';

const secret = row<{ secret: Buffer }, []>('cursor_secret', 'select app.cursor_secret() as secret');

/** The key with which it is encrypted; null when it is not. Each rotation encrypts it anew, so that a node without its key has none for what else is encrypted. */
export const keyOfCursors = (): Statement<string | null> =>
  mapped(secret(), (found) => (found === null ? null : keyIdOf(found.secret.toString('utf8'))));

/** As it is, or encrypted: then base64 is what was encrypted, and its text what is stored. */
function openedSecret(secrets: Secrets, stored: Buffer): Buffer {
  const text = stored.toString('utf8');
  return keyIdOf(text) === null ? stored : Buffer.from(secrets.open(text, secretRows.cursors), 'base64');
}

/**
 * What `make` makes of the secret, fetched when it is first needed and kept: 32 bytes, made with the database and the
 * same for every node.
 */
export function fromCursorSecret<T>(
  { database, secrets }: { readonly database: Database; readonly secrets: Secrets },
  make: (secret: Buffer) => T,
): () => Promise<T> {
  return loadedOnce(async () => {
    const found = await database.run(secret());
    if (found === null) throw new Error('The database has no cursor secret.');
    return make(openedSecret(secrets, found.secret));
  });
}
