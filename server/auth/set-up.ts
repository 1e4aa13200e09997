/** Initial set-up: a one-time link creates the first brokerage and its admin. */

import { Hono } from 'hono';
import { z } from 'zod';
import type { Services } from '../services.ts';
import { hashPassword } from '../domain/accounts/password-hashes.ts';
import { passwordFault } from '../domain/accounts/password-rules.ts';
import { tokenDigest } from '../domain/accounts/secret-tokens.ts';
import { enterWithSession } from '../domain/accounts/sessions.ts';
import { isSetUpLink, isSetUpOpen, setUp, slugOf } from '../domain/accounts/set-up.ts';
import { originGuard } from '../http/csrf.ts';
import { Problem } from '../http/problem.ts';
import { action, fields, smallBody } from './action.ts';
import { hashedFor } from './attempts.ts';
import { freshSession, signedIn, signInOriginOf } from './signed-in.ts';

const used = () =>
  new Problem(
    410,
    'link_expired',
    'This link has been used or has expired. If there is no account yet, restart Dealkeep: the new link is in the terminal, or in the file set-up-link in the data folder.',
  );

/** Routes for setting up, and for asking whether that is still to be done. */
export function setUpRoutes(services: Services) {
  const { database, config } = services;
  const create = action(
    z.object({
      token: fields.token,
      brokerage_name: fields.name,
      name: fields.name,
      email: fields.email,
      password: fields.password,
    }),
    async (c, input) => {
      const link = tokenDigest(input.token);
      if (!(await database.run(isSetUpLink(link)))) throw used();
      const fault = await passwordFault(input.password, [input.email, input.name, input.brokerage_name]);
      if (fault !== null) throw new Problem(400, 'password_refused', fault);
      const first = {
        name: input.brokerage_name,
        slug: slugOf(input.brokerage_name),
        adminEmail: input.email,
        adminName: input.name,
        phc: await hashPassword(input.password, config.passwordParameters, hashedFor(c)),
      };
      const { token, session } = freshSession(c);
      const [done, admin] = await database.together(
        setUp(link, first, session, signInOriginOf(c)),
        enterWithSession(session.token),
      );
      if (!done || admin === null) throw used();
      return signedIn(services, c, token, { id: admin.user_id, email: admin.email, name: admin.name });
    },
  );

  return new Hono()
    .get('/ways', async (c) => c.json({ set_up_open: await database.run(isSetUpOpen()) }))

    .post('/set-up', smallBody, originGuard, create);
}
