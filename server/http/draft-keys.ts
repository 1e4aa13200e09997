/** The keys with which browsers encrypt unsent drafts, so that only the person who typed them can read them again. */

import { hkdfSync } from 'node:crypto';
import { fromCursorSecret } from '../database/cursor-secret.ts';
import type { CoreServices } from '../services.ts';

/** The draft key of a person: 32 bytes in base64, the same in every session and on every node of this deployment. */
export function deploymentDraftKeys(
  services: Pick<CoreServices, 'database' | 'secrets'>,
): (userId: string) => Promise<string> {
  const secretOf = fromCursorSecret(services, (secret) => secret);
  return async (userId) =>
    Buffer.from(hkdfSync('sha256', await secretOf(), '', `drafts of ${userId}`, 32)).toString('base64');
}
