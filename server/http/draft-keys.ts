/** The keys with which browsers seal what somebody has typed and not sent, so that only that person reads it again. */

import { hkdfSync } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { cursorSecret } from '../database/cursor-secret.ts';

/** The draft key of a person: 32 bytes in base64, the same in every session and on every node of this deployment. */
export function deploymentDraftKeys(database: Database): (userId: string) => Promise<string> {
  let secret: Promise<Buffer> | null = null;
  return async (userId) => {
    secret ??= database.run(cursorSecret);
    // Not kept when it failed: the next request asks again.
    secret.catch(() => (secret = null));
    return Buffer.from(hkdfSync('sha256', await secret, '', `drafts of ${userId}`, 32)).toString('base64');
  };
}
