/** Signing in with a password, changing it, and resetting it by a mailed link. */

import { mapped, presenting, row, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';
import { queueMail } from '../outbox/mails.ts';
import type { NewLink } from './secret-tokens.ts';

/** The origin of a sign-in; `agent` is the User-Agent, shown in the list of sessions. */
export interface SignInOrigin extends Origin {
  readonly agent: string | null;
}

/** The digests of the browser's new token and of its earlier session, which ends. */
export interface NewSession {
  readonly token: Buffer;
  readonly earlier: Buffer | null;
}

export interface Person {
  id: string;
  email: string;
  name: string;
}

/** The result of a sign-in; without a person when it was refused. */
export interface SignInAnswer<Outcome extends string> {
  outcome: Outcome;
  user_id: string | null;
  email: string | null;
  name: string | null;
}

/** Returns the person in the result, or null. */
export function personOf({ user_id: id, email, name }: SignInAnswer<string>): Person | null {
  return id !== null && email !== null && name !== null ? { id, email, name } : null;
}

const recipe = row<{ recipe: string }>('password_recipe', 'select app.password_recipe($1, $2) as recipe');

/**
 * Returns the parameters and salt to hash a password with for an address, whether it is known or not; `parameters` are
 * those of new hashes.
 */
export const passwordRecipe = (email: string, parameters: string): Statement<string> =>
  mapped(recipe(email, parameters), (answer) => {
    if (!answer) throw new Error('no recipe');
    return answer.recipe;
  });

const ownRecipe = row<{ recipe: string | null }>(
  'own_password_recipe',
  'select app.own_password_recipe($1, $2) as recipe',
);

/** Returns the same for the session's owner; null when the session is not alive. */
export const ownPasswordRecipe = (session: Buffer | null, parameters: string): Statement<string | null> =>
  mapped(ownRecipe(session, parameters), (answer) => answer?.recipe ?? null);

const signIn = row<SignInAnswer<'signed_in' | 'second_factor' | 'refused'>>(
  'sign_in',
  'select outcome, user_id, email, name from app.sign_in($1, $2, $3, $4, $5, $6, $7)',
);

/**
 * Signs in. `signed_in`: the token is a session; `second_factor`: the token is a step that awaits a second factor;
 * `refused`: the address is unknown, the password wrong or the person suspended, with the same answer for all three.
 */
export const signInWithPassword = (
  email: string,
  phc: string,
  { token, earlier }: NewSession,
  { address, agent, requestId }: SignInOrigin,
): Statement<SignInAnswer<'signed_in' | 'second_factor' | 'refused'>> =>
  mapped(
    signIn(email, phc, token, earlier, address, agent, requestId),
    (answer) => answer ?? { outcome: 'refused', user_id: null, email: null, name: null },
  );

/** Stores the hash of the same password with newer parameters. */
export const upgradePassword: (oldPhc: string, newPhc: string) => Statement<unknown> = row(
  'upgrade_password',
  'select app.upgrade_password($1, $2)',
);

const change = row<{ outcome: 'done' | 'refused' | null }>(
  'change_password',
  'select app.change_password($1, $2, $3, $4, $5, $6) as outcome',
);

/**
 * Changes the password of the session's owner, ends all their sessions and their grants to connected clients; this
 * session continues under the new token. `refused`: the current password is wrong; null: the session is not alive.
 */
export const changePassword = (
  session: Buffer | null,
  oldPhc: string,
  newPhc: string,
  token: Buffer,
  { address, requestId }: Origin,
): Statement<'done' | 'refused' | null> =>
  presenting(
    session,
    mapped(change(session, oldPhc, newPhc, token, address, requestId), (answer) => answer?.outcome ?? null),
  );

const ask = row(
  'ask_password_reset',
  `select ${queueMail('password_reset', { to: 'asked.email', facts: `jsonb_build_object('name', asked.name)`, secret: '$5', link: '$2' })}
   from app.ask_reset($1, $2, $3, $4, $6) asked`,
);

/**
 * Creates a reset link that is valid for 30 minutes and mails it, unless nobody has the address or too many were asked
 * for; `device` is the digest of the browser's device token.
 */
export const askPasswordReset = (
  email: string,
  { token, secret }: NewLink,
  device: Buffer | null,
  { address, requestId }: Origin,
): Statement<unknown> => ask(email, token, address, requestId, secret, device);

/** Returns the owner of a reset link, or null when the link is used, expired or unknown. */
export const passwordResetOwner: (token: Buffer) => Statement<{ email: string; name: string } | null> = row(
  'password_reset_owner',
  'select email, name from app.reset_owner($1)',
);

const reset = row<{ done: boolean }>('reset_password', 'select app.reset_password($1, $2, $3, $4) as done');

/** Sets the password with a reset link, once, and ends every session; false when the link is used or expired. */
export const resetPassword = (token: Buffer, newPhc: string, { address, requestId }: Origin): Statement<boolean> =>
  mapped(reset(token, newPhc, address, requestId), (answer) => answer?.done ?? false);
