/** Random tokens that a person holds: a session, a mailed link, a challenge. Only their digests are stored. */

import { createHash, randomBytes } from 'node:crypto';

/** 256 random bits in base64url: 43 characters. */
export function mintToken(): string {
  return randomBytes(32).toString('base64url');
}

/** The SHA-256 digest under which a token is stored. */
export function tokenDigest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** A one-time link as the database keeps it. */
export interface NewLink {
  /** The digest of its token. */
  readonly token: Buffer;
  /** The token, sealed, when the link is mailed and nobody else sees it; null when it is handed on. */
  readonly secret: string | null;
}

const wellFormed = /^[A-Za-z0-9_-]{43}$/;

/** A token as {@link mintToken} makes them, or null; spares the database everything else. */
export function asToken(value: unknown): string | null {
  return typeof value === 'string' && wellFormed.test(value) ? value : null;
}
