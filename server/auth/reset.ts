/** Resetting a forgotten password: requesting a link by mail, and choosing a new password with it. */

import { Hono } from 'hono';
import { z } from 'zod';
import type { Services } from '../services.ts';
import { hashPassword } from '../domain/accounts/password-hashes.ts';
import { passwordFault } from '../domain/accounts/password-rules.ts';
import { askPasswordReset, passwordResetOwner, resetPassword } from '../domain/accounts/passwords.ts';
import { tokenDigest } from '../domain/accounts/secret-tokens.ts';
import { lifetimes } from '../domain/lifetimes.ts';
import { afterAnswer } from '../http/after-answer.ts';
import { originGuard } from '../http/csrf.ts';
import { originOf } from '../http/origin.ts';
import { clearTokenCookie, deviceDigest } from '../http/session.ts';
import { Problem } from '../http/problem.ts';
import { action, fields, smallBody } from './action.ts';
import { countReset, hashedFor } from './attempts.ts';
import { mintLink } from '../mail/secrets.ts';

const sent = `If there is an account with this e-mail address, an e-mail with a link is on its way. The link expires in ${lifetimes.mailedLink}.`;
const linkExpired = () =>
  new Problem(410, 'link_expired', 'This link has been used or has expired: ask for a new one.');

/** Routes for requesting the link and setting the new password. */
export function resetRoutes(services: Services) {
  const { database, config } = services;

  const ask = action(z.object({ email: fields.email }), async (c, { email }) => {
    // Each request may send a mail, so each is counted, separately from failed sign-ins.
    await countReset(services, c, email);
    const origin = originOf(c);
    const device = deviceDigest(c);
    // Not awaited: a response that takes longer would reveal that the address has an account.
    afterAnswer(services, 'a link to a new password', () =>
      database.run(askPasswordReset(email, mintLink(services.secrets, true).link, device, origin)),
    );
    return { message: sent };
  });

  const choose = action(
    z.object({ token: fields.token, password: fields.password }),
    async (c, { token, password }) => {
      const person = await database.run(passwordResetOwner(tokenDigest(token)));
      if (person === null) throw linkExpired();
      const fault = await passwordFault(password, [person.email, person.name]);
      if (fault !== null) throw new Problem(400, 'password_refused', fault);
      const phc = await hashPassword(password, config.passwordParameters, hashedFor(c, person.email));
      if (!(await database.run(resetPassword(tokenDigest(token), phc, originOf(c))))) throw linkExpired();
      clearTokenCookie(c, 'dealkeep');
      return { message: 'The password is set. Sign in with it.' };
    },
  );

  return new Hono()
    .post('/reset', smallBody, originGuard, ask)

    .post('/reset/confirm', smallBody, originGuard, choose);
}
