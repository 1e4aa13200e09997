/** Signing in with address and password, and with the second factor where one is set up. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { Services } from '../services.ts';
import { hashByRecipe, hashPassword, isOutdated } from '../domain/accounts/password-hashes.ts';
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
import { safeReturnPath } from '../http/return-path.ts';
import { deviceDigest, readTokenCookie, setTokenCookie } from '../http/session.ts';
import { action, Fault, fields, smallBody, view, type Done } from './action.ts';
import { attemptsOn } from './attempts.ts';
import { asCaller, freshSession, isSignedIn, signedIn, signInOriginOf } from './signed-in.ts';
import { codePage, reauthenticatePage, signInPage } from './sign-in-pages.ts';

const refused = () => new Fault(401, 'sign_in_refused', 'The e-mail address or the password is not right.');
const codeRefused = () =>
  new Fault(401, 'code_refused', 'The code is not right, or it was used before. Enter the next one.');
const stepExpired = () =>
  new Fault(401, 'sign_in_expired', 'This sign-in took too long or failed too often: start again.');

const codePath = (returnTo: string) => `/sign-in/code?${new URLSearchParams({ return_to: returnTo })}`;

/** Checks the password; `undefined`: a second factor is owed, and the browser holds the step. Throws a fault (401, 429). */
async function checkPassword(services: Services, c: Context, email: string, password: string, then: string) {
  const { database } = services;
  const attempts = await attemptsOn(services, c, email);
  await attempts.check();
  const phc = await hashByRecipe(password, await database.run(passwordRecipe(email)), attempts.share);
  // Whoever tries many at once has waited in the same line: look again before this one counts.
  await attempts.check();
  const { token, session } = freshSession(c);
  const answer = await database.run(signInWithPassword(email, phc, session, signInOriginOf(c)));
  const person = personOf(answer);
  if (answer.outcome === 'refused' || person === null) {
    await attempts.failed();
    throw refused();
  }
  await attempts.succeeded();
  if (isOutdated(phc)) await database.run(upgradePassword(phc, await hashPassword(password, attempts.share)));
  if (answer.outcome === 'signed_in') return { done: await signedIn(services, c, token, person, then) };
  return { step: token };
}

/** Finishes a step with what was typed. Throws a fault (401, 429). */
async function finish(services: Services, c: Context, step: string, typed: string, then: string): Promise<Done> {
  const { database, clock } = services;
  const owed = await database.run(stepSecret(tokenDigest(step)));
  if (owed === null) throw stepExpired();
  const attempts = await attemptsOn(services, c, owed.email);
  await attempts.check();
  const recovery = recoveryDigest(typed);
  const factor: SecondFactor =
    recovery === null ? { codeStep: await stepOfCode(owed.secret, typed.replace(/\s/g, ''), clock()) } : { recovery };
  const { token, session } = freshSession(c);
  const answer = await database.run(
    finishSignIn(tokenDigest(step), factor, deviceDigest(c), session, signInOriginOf(c)),
  );
  const person = personOf(answer);
  if (answer.outcome === 'signed_in' && person !== null) return signedIn(services, c, token, person, then);
  await attempts.failed();
  throw answer.outcome === 'refused' ? codeRefused() : stepExpired();
}

/** Signs in, with the code at once when the program sent it; else the answer says that it is owed. */
async function signIn(
  services: Services,
  c: Context,
  {
    email,
    password,
    code,
    return_to,
  }: { email: string; password: string; code?: string | undefined; return_to?: string | undefined },
): Promise<Done> {
  const then = safeReturnPath(return_to);
  const { done, step } = await checkPassword(services, c, email, password, then);
  if (done !== undefined) return done;
  if (code !== undefined && code !== '') return finish(services, c, step, code, then);
  setTokenCookie(c, 'dealkeep-step', step);
  return {
    json: { outcome: 'second_factor', second_factor_required: true, methods: ['code', 'recovery_code', 'passkey'] },
    go: codePath(then),
  };
}

const credentials = z.object({
  email: fields.email,
  password: fields.password,
  code: z.string().max(64, 'The code is too long.').optional(),
  return_to: fields.returnTo,
});
const code = z.object({
  code: z.string({ error: 'Enter the code.' }).trim().min(1, 'Enter the code.').max(64, 'The code is too long.'),
  return_to: fields.returnTo,
});
const proof = z.object({ password: fields.password, return_to: fields.returnTo });

/** GET and POST of /sign-in, /sign-in/code and /re-authenticate, and the same for programs under /api/auth. */
export function signInRoutes(services: Services): Hono {
  const app = new Hono();

  app.get(
    '/sign-in',
    view(async (c) => {
      const returnTo = safeReturnPath(c.req.query('return_to'));
      return (await isSignedIn(services, c)) ? c.redirect(returnTo, 303) : signInPage(c, returnTo);
    }),
  );
  const enter = action(
    credentials,
    (c, input) => signIn(services, c, input),
    (c, fault, entered) => signInPage(c, safeReturnPath(entered['return_to']), entered['email'], fault),
  );
  app.post('/sign-in', smallBody, originGuard, enter);
  app.post('/api/auth/sign-in', smallBody, originGuard, enter);

  app.get(
    '/sign-in/code',
    view(async (c) => {
      const returnTo = safeReturnPath(c.req.query('return_to'));
      if (readTokenCookie(c, 'dealkeep-step') === null) return signInPage(c, returnTo);
      return codePage(c, returnTo);
    }),
  );
  const enterCode = action(
    code,
    (c, input) => {
      const step = readTokenCookie(c, 'dealkeep-step');
      if (step === null) throw stepExpired();
      return finish(services, c, step, input.code, safeReturnPath(input.return_to));
    },
    (c, fault, entered) => {
      const returnTo = safeReturnPath(entered['return_to']);
      return fault.code === 'sign_in_expired'
        ? signInPage(c, returnTo, undefined, fault)
        : codePage(c, returnTo, fault);
    },
  );
  app.post('/sign-in/code', smallBody, originGuard, enterCode);
  app.post('/api/auth/second-factor', smallBody, originGuard, enterCode);

  const proofPage = async (c: Context, returnTo: string, fault?: Fault) => {
    const [{ email }] = await asCaller(services, c);
    return reauthenticatePage(c, email, returnTo, fault);
  };
  app.get(
    '/re-authenticate',
    view((c) => proofPage(c, safeReturnPath(c.req.query('return_to')))),
  );
  const prove = action(
    proof,
    async (c, input) => {
      const [{ email }] = await asCaller(services, c);
      return signIn(services, c, { ...input, email });
    },
    (c, fault, entered) => proofPage(c, safeReturnPath(entered['return_to']), fault),
  );
  app.post('/re-authenticate', smallBody, csrfGuard, prove);
  app.post('/api/auth/re-authenticate', smallBody, csrfGuard, prove);
  return app;
}
