/** Signing in with address and password, and with the second factor if one is set up. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import { secretRows } from '../lib/secrets.ts';
import type { Services } from '../services.ts';
import { hashPassword, isOutdated, usingHash } from '../domain/accounts/password-hashes.ts';
import { passwordRecipe, personOf, signInWithPassword, upgradePassword } from '../domain/accounts/passwords.ts';
import {
  finishSignIn,
  recoveryDigest,
  stepOfCode,
  stepSecret,
  type SecondFactor,
} from '../domain/accounts/second-factor.ts';
import { tokenDigest } from '../domain/accounts/secret-tokens.ts';
import { csrfGuard, originGuard } from '../http/csrf.ts';
import { deviceDigest, readTokenCookie, setTokenCookie } from '../http/session.ts';
import { Problem } from '../http/problem.ts';
import { action, fields, smallBody } from './action.ts';
import { attemptsOn } from './attempts.ts';
import { asCaller, freshSession, signedIn, signInOriginOf } from './signed-in.ts';

const refused = () => new Problem(401, 'sign_in_refused', 'The e-mail address or the password is not correct.');
const codeRefused = () =>
  new Problem(401, 'code_refused', 'The code is not correct, or was used before. Enter the next one.');
const stepExpired = () =>
  new Problem(
    401,
    'sign_in_expired',
    'That took too long, or too many codes were wrong. Enter your password once more.',
  );

/**
 * Checks the password. `done` is undefined if a second factor is required, and `step` is then the token for it. Throws
 * 401 or 429.
 */
async function checkPassword(services: Services, c: Context, email: string, password: string) {
  const { database, config } = services;
  const { passwordParameters } = config;
  const attempts = await attemptsOn(services, c, email);
  await attempts.check();
  const recipe = await database.run(passwordRecipe(email, passwordParameters));
  const { token, session } = freshSession(c);
  const { phc, answer, person } = await usingHash(password, recipe, attempts.share, async (hash) => {
    // Concurrent attempts wait in one queue for the hash, so check the failures counted meanwhile.
    await attempts.check();
    const found = await database.run(signInWithPassword(email, hash, session, signInOriginOf(c)));
    const known = personOf(found);
    if (found.outcome === 'refused' || known === null) {
      await attempts.failed();
      throw refused();
    }
    return { phc: hash, answer: found, person: known };
  });
  await attempts.succeeded();
  if (isOutdated(phc, passwordParameters))
    await database.run(upgradePassword(phc, await hashPassword(password, passwordParameters, attempts.share)));
  if (answer.outcome === 'signed_in') return { done: await signedIn(services, c, token, person) };
  return { step: token };
}

/** Finishes a sign-in with the typed code. Throws 401 or 429. */
async function finish(services: Services, c: Context, step: string, typed: string) {
  const { database, clock, secrets } = services;
  const owed = await database.run(stepSecret(tokenDigest(step)));
  if (owed === null) throw stepExpired();
  const attempts = await attemptsOn(services, c, owed.email);
  await attempts.check();
  const recovery = recoveryDigest(typed);
  const secret = () => secrets.open(owed.secret, secretRows.authenticator(owed.user_id));
  const factor: SecondFactor =
    recovery === null ? { codeStep: await stepOfCode(secret(), typed, clock()) } : { recovery };
  const { token, session } = freshSession(c);
  const answer = await database.run(
    finishSignIn(tokenDigest(step), factor, deviceDigest(c), session, signInOriginOf(c)),
  );
  const person = personOf(answer);
  if (answer.outcome === 'signed_in' && person !== null) return signedIn(services, c, token, person);
  await attempts.failed();
  throw answer.outcome === 'refused' ? codeRefused() : stepExpired();
}

/** Signs in, in one request if the program sent the code too; otherwise the response says that it is required. */
async function signIn(services: Services, c: Context, { email, password, code }: z.infer<typeof credentials>) {
  const { done, step } = await checkPassword(services, c, email, password);
  if (done !== undefined) return done;
  if (code !== undefined && code !== '') return finish(services, c, step, code);
  setTokenCookie(c, 'dealkeep-step', step);
  const methods = ['code', 'recovery_code', 'passkey'];
  return { outcome: 'second_factor' as const, second_factor_required: true, methods };
}

const credentials = z.object({
  email: fields.email,
  password: fields.password,
  code: z.string().max(64, 'The code is too long.').optional(),
});
const code = z.object({
  code: z.string({ error: 'Enter the code.' }).trim().min(1, 'Enter the code.').max(64, 'The code is too long.'),
});
const proof = z.object({ password: fields.password });

/** Routes for signing in, for the second factor, and for confirming who is signed in. */
export function signInRoutes(services: Services) {
  const enter = action(credentials, (c, input) => signIn(services, c, input));

  const enterCode = action(code, (c, input) => {
    const step = readTokenCookie(c, 'dealkeep-step');
    if (step === null) throw stepExpired();
    return finish(services, c, step, input.code);
  });

  const prove = action(proof, async (c, { password }) => {
    const [{ email }] = await asCaller(services, c);
    return signIn(services, c, { email, password });
  });

  return new Hono()
    .post('/sign-in', smallBody, originGuard, enter)

    .post('/second-factor', smallBody, originGuard, enterCode)

    .post('/re-authenticate', smallBody, csrfGuard, prove);
}
