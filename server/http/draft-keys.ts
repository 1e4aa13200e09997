/** The keys with which browsers seal what somebody has typed and not sent, so that only that person reads it again. */

import { hkdfSync } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { fromCursorSecret } from '../database/cursor-secret.ts';

/** The draft key of a person: 32 bytes in base64, the same in every session and on every node of this deployment. */
export function deploymentDraftKeys(database: Database): (userId: string) => Promise<string> {
  const secretOf = fromCursorSecret(database, (secret) => secret);
  return async (userId) =>
    Buffer.from(hkdfSync('sha256', await secretOf(), '', `drafts of ${userId}`, 32)).toString('base64');
}
