/** Setting up and removing the authenticator and its recovery codes. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import { secretRows } from '../lib/secrets.ts';
import type { Services } from '../services.ts';
import {
  authenticatorUri,
  beginSecondFactor,
  confirmSecondFactor,
  mintRecoveryCodes,
  mintSecret,
  pendingSecret,
  removeSecondFactor,
  renewRecoveryCodes,
  stepOfCode,
} from '../domain/accounts/second-factor.ts';
import { mintToken, tokenDigest } from '../domain/accounts/secret-tokens.ts';
import { csrfGuard, csrfToken } from '../http/csrf.ts';
import { originOf } from '../http/origin.ts';
import { sessionDigest, setTokenCookie } from '../http/session.ts';
import { Problem } from '../http/problem.ts';
import { action, smallBody } from './action.ts';
import { attemptsOn } from './attempts.ts';
import { asCaller } from './signed-in.ts';

async function confirm(services: Services, c: Context, typed: string) {
  const digest = sessionDigest(c);
  const [caller, stored] = await asCaller(services, c, pendingSecret(digest));
  if (stored === null) throw new Problem(409, 'nothing_pending', 'Start again: set up an authenticator first.');
  const secret = services.secrets.open(stored, secretRows.authenticator(caller.user_id));
  const attempts = await attemptsOn(services, c, caller.email);
  await attempts.check();
  const step = await stepOfCode(secret, typed, services.clock());
  if (step === null) {
    await attempts.failed();
    throw new Problem(
      400,
      'code_refused',
      'The code is not correct. Check that your phone’s clock is right, and enter the next code.',
    );
  }
  const codes = mintRecoveryCodes();
  const token = mintToken();
  const statement = confirmSecondFactor(digest, step, codes, tokenDigest(token), originOf(c));
  if (!(await services.database.run(statement)))
    throw new Problem(409, 'nothing_pending', 'Start again: set up an authenticator first.');
  setTokenCookie(c, 'dealkeep', token);
  return { recovery_codes: codes, csrf_token: csrfToken(token) };
}

/** The routes below second-factor and recovery-codes. */
export function secondFactorRoutes(services: Services) {
  const nothing = z.object({});

  const begin = action(nothing, async (c) => {
    const secret = mintSecret();
    const [{ email, user_id }] = await asCaller(services, c);
    const stored = services.secrets.seal(secret, secretRows.authenticator(user_id));
    await asCaller(services, c, beginSecondFactor(sessionDigest(c), stored));
    return { secret, uri: authenticatorUri(email, secret) };
  });

  const code = z.string({ error: 'Enter the code.' }).max(64, 'The code is too long.');
  const switchOn = action(z.object({ code }), (c, input) => confirm(services, c, input.code));

  const remove = action(nothing, async (c) => {
    const [, removed] = await asCaller(services, c, removeSecondFactor(sessionDigest(c), originOf(c)));
    return { removed };
  });

  const renew = action(nothing, async (c) => {
    const codes = mintRecoveryCodes();
    const [, renewed] = await asCaller(services, c, renewRecoveryCodes(sessionDigest(c), codes, originOf(c)));
    if (!renewed)
      throw new Problem(409, 'no_second_factor', 'Recovery codes belong to an authenticator: set one up first.');
    return { recovery_codes: codes };
  });

  return new Hono()
    .post('/second-factor/begin', smallBody, csrfGuard, begin)

    .post('/second-factor/confirm', smallBody, csrfGuard, switchOn)

    .post('/second-factor/remove', smallBody, csrfGuard, remove)

    .post('/recovery-codes', smallBody, csrfGuard, renew);
}
