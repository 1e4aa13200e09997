/** The secret that seals the cursors of lists. */

import { loadedOnce } from '../lib/loaded-once.ts';
import { keyIdOf, secretRows, type Secrets } from '../lib/secrets.ts';
import type { Database } from './database.ts';
import { mapped, row, type Statement } from './statement.ts';

const secret = row<{ secret: Buffer }, []>('cursor_secret', 'select app.cursor_secret() as secret');

/**
 * Returns the id of the key that encrypts the secret; null when it is not encrypted. Each rotation re-encrypts it, so a
 * node that lacks this key cannot decrypt other values either.
 */
export const keyOfCursors = (): Statement<string | null> =>
  mapped(secret(), (found) => (found === null ? null : keyIdOf(found.secret.toString('utf8'))));

/**
 * Returns the stored secret, decrypted when it is encrypted: the plaintext is then base64, and the ciphertext is stored
 * as text.
 */
function openedSecret(secrets: Secrets, stored: Buffer): Buffer {
  const text = stored.toString('utf8');
  return keyIdOf(text) === null ? stored : Buffer.from(secrets.open(text, secretRows.cursors), 'base64');
}

/**
 * Returns a function that resolves with the result of `make` for the secret, fetched at the first call and kept. The
 * secret has 32 bytes, is created with the database, and is the same for every node.
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
