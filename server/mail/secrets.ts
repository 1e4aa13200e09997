/** How the token of a link stands in the outbox. The one place in which it is put there and read from there. */

import { mintToken, tokenDigest, type NewLink } from '../domain/accounts/secret-tokens.ts';

/** The token as the outbox keeps it. */
const sealed = (token: string): string => token;

/** The token of a secret in the outbox. */
export const openedToken = (secret: string): string => secret;

/** A new one-time link: its token, and what the database is given of it, for the outbox too when it is to be `mailed`. */
export function mintLink(mailed: boolean): { token: string; link: NewLink } {
  const token = mintToken();
  return { token, link: { token: tokenDigest(token), secret: mailed ? sealed(token) : null } };
}
