/** How the token of a link is stored in the outbox: only this file encrypts and decrypts it. */

import { secretRows, type Secrets } from '../lib/secrets.ts';
import { mintToken, tokenDigest, type NewLink } from '../domain/accounts/secret-tokens.ts';

/** Decrypts the token from a secret in the outbox. */
export const openedToken = (secrets: Secrets, secret: string): string => secrets.open(secret, secretRows.mailedLinks);

/**
 * Returns a new one-time link: its token, and the values for the database, with the encrypted token for the outbox when
 * it is to be `mailed`.
 */
export function mintLink(secrets: Secrets, mailed: boolean): { token: string; link: NewLink } {
  const token = mintToken();
  const digest = tokenDigest(token);
  return { token, link: { token: digest, secret: mailed ? secrets.seal(token, secretRows.mailedLinks) : null } };
}
