/** Random tokens that a person holds: of a session, a mailed link, a challenge. Only their digests are stored. */

import { createHash, randomBytes } from 'node:crypto';

/** Returns 256 random bits in base64url: 43 characters. */
export function mintToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns the SHA-256 digest under which a token is stored. */
export function tokenDigest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** A one-time link as the database stores it. */
export interface NewLink {
  /** The digest of its token. */
  readonly token: Buffer;
  /** The token, sealed, when the link is mailed and nobody else sees it; null when the caller passes it on. */
  readonly secret: string | null;
}

const wellFormed = /^[A-Za-z0-9_-]{43}$/;

/** Returns a token of the form of {@link mintToken}, otherwise null; spares the database malformed tokens. */
export function asToken(value: unknown): string | null {
  return typeof value === 'string' && wellFormed.test(value) ? value : null;
}
