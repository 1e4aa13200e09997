/** Passkeys (WebAuthn): storing them, and signing in with one. SimpleWebAuthn verifies the signatures. */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';
import type { NewSession, SignInAnswer, SignInOrigin } from './passwords.ts';

interface Done {
  done: boolean;
}
const isDone = (answer: Done | null): boolean => answer?.done ?? false;

const keep = row<Done>('keep_challenge', 'select app.keep_challenge($1, $2) as done');

/**
 * Stores the digest of a challenge for five minutes: for registering a passkey when a session is given (needs a recent
 * sign-in; false when the session is not alive), otherwise for signing in.
 */
export const keepChallenge = (challenge: Buffer, session: Buffer | null): Statement<boolean> =>
  mapped(keep(challenge, session), isDone);

interface NewPasskey {
  readonly credentialId: string;
  readonly publicKey: Uint8Array;
  readonly counter: number;
  readonly transports: readonly string[];
  readonly name: string;
}

const add = row<Done>('add_passkey', 'select app.add_passkey($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) as done');

/**
 * Stores a passkey of the session's owner; the session continues under `token`. Needs a recent sign-in; false when the
 * challenge is not the owner's or was used.
 */
export const addPasskey = (
  session: Buffer | null,
  challenge: Buffer,
  { credentialId, publicKey, counter, transports, name }: NewPasskey,
  token: Buffer,
  { address, requestId }: Origin,
): Statement<boolean> =>
  mapped(
    add(session, challenge, credentialId, publicKey, counter, transports, name, token, address, requestId),
    isDone,
  );

export interface OwnPasskey {
  id: string;
  credential_id: string;
  transports: string[];
  name: string;
  created_at: string;
  last_used_at: string | null;
}

/** Returns the passkeys of the session's owner, in the order of creation. */
export const listPasskeys: (session: Buffer | null) => Statement<OwnPasskey[]> = rows(
  'list_passkeys',
  'select id, credential_id, transports, name, created_at, last_used_at from app.own_passkeys($1)',
);

const remove = row<Done>('remove_passkey', 'select app.remove_passkey($1, $2, $3, $4) as done');

/** Removes a passkey of the session's owner. Needs a recent sign-in; false when there is no such passkey. */
export const removePasskey = (session: Buffer | null, id: string, { address, requestId }: Origin): Statement<boolean> =>
  mapped(remove(session, id, address, requestId), isDone);

const rename = row<Done>('rename_passkey', 'select app.rename_passkey($1, $2, $3, $4, $5) as done');

/** Renames a passkey of the session's owner; false when there is no such passkey. */
export const renamePasskey = (
  session: Buffer | null,
  id: string,
  name: string,
  { address, requestId }: Origin,
): Statement<boolean> => mapped(rename(session, id, name, address, requestId), isDone);

interface StoredPasskey {
  user_id: string;
  public_key: Buffer;
  counter: string;
  transports: string[];
}

/** Returns the data to verify a signature of this credential, or null. */
export const findPasskey: (credentialId: string) => Statement<StoredPasskey | null> = row(
  'find_passkey',
  'select user_id, public_key, counter, transports from app.passkey($1)',
);

const signIn = row<SignInAnswer<'signed_in' | 'refused'>>(
  'sign_in_with_passkey',
  'select outcome, user_id, email, name from app.sign_in_with_passkey($1, $2, $3, $4, $5, $6, $7, $8)',
);

/**
 * Signs in with a passkey whose signature was verified; consumes the challenge. Refused when the person is suspended or
 * the challenge was used before.
 */
export const signInWithPasskey = (
  credentialId: string,
  challenge: Buffer,
  newCounter: number,
  { token, earlier }: NewSession,
  { address, agent, requestId }: SignInOrigin,
): Statement<SignInAnswer<'signed_in' | 'refused'>> =>
  mapped(
    signIn(credentialId, challenge, newCounter, token, earlier, address, agent, requestId),
    (answer) => answer ?? { outcome: 'refused', user_id: null, email: null, name: null },
  );
