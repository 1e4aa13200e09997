/** How the token of a link is stored in the outbox: only this file writes and reads it. */

import { secretRows, type Secrets } from '../lib/secrets.ts';
import { mintToken, tokenDigest, type NewLink } from '../domain/accounts/secret-tokens.ts';

/** The token of a secret in the outbox. */
export const openedToken = (secrets: Secrets, secret: string): string => secrets.open(secret, secretRows.mailedLinks);

/** A new one-time link: its token, and what the database is given of it, for the outbox too when it is to be `mailed`. */
export function mintLink(secrets: Secrets, mailed: boolean): { token: string; link: NewLink } {
  const token = mintToken();
  const digest = tokenDigest(token);
  return { token, link: { token: digest, secret: mailed ? secrets.seal(token, secretRows.mailedLinks) : null } };
}
