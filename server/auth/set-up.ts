/** The first run: a one-time link creates the first brokerage and its admin. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { Services } from '../services.ts';
import { hashPassword } from '../domain/accounts/password-hashes.ts';
import { passwordFault } from '../domain/accounts/password-rules.ts';
import { tokenDigest } from '../domain/accounts/secret-tokens.ts';
import { enterWithSession } from '../domain/accounts/sessions.ts';
import { isSetUpLink, isSetUpOpen, setUp, slugOf } from '../domain/accounts/set-up.ts';
import { originGuard } from '../http/csrf.ts';
import { html } from '../http/html.ts';
import { action, Fault, fields, smallBody, view } from './action.ts';
import { hashedFor } from './attempts.ts';
import { cardPage, field, hidden, newPasswordHint } from './forms.ts';
import { freshSession, signedIn, signInOriginOf } from './signed-in.ts';

const used = () =>
  new Fault(
    410,
    'link_expired',
    'This link is used up or too old. While nobody is here yet, starting the server again prints a new one.',
  );

function setUpPage(c: Context, token: string, entered: Readonly<Record<string, string>> = {}, fault?: Fault) {
  return cardPage(c, {
    title: 'Set up Dealkeep',
    lead: 'You create the first brokerage and become its admin. You can invite everybody else after that.',
    fault,
    body: html`<form method="post" action="/set-up">
      ${hidden('token', token)}
      ${field({ label: 'Name of the brokerage', name: 'brokerage_name', autocomplete: 'organization', value: entered['brokerage_name'], autofocus: true })}
      ${field({ label: 'Your name', name: 'name', autocomplete: 'name', value: entered['name'] })}
      ${field({ label: 'Your e-mail address', name: 'email', type: 'email', autocomplete: 'username', value: entered['email'] })}
      ${field({ label: 'Password', name: 'password', type: 'password', autocomplete: 'new-password', hint: newPasswordHint })}
      <p><button class="full">Create the brokerage</button></p>
    </form>`,
  });
}

/** GET and POST of /set-up, POST /api/auth/set-up, and GET /api/auth/ways: how one can get in here. */
export function setUpRoutes(services: Services): Hono {
  const { database } = services;
  const app = new Hono();
  app.get('/api/auth/ways', async (c) => {
    return c.json({ set_up_open: await database.run(isSetUpOpen()), provider: null });
  });
  app.get(
    '/set-up',
    view(async (c) => {
      const token = fields.token.safeParse(c.req.query('token'));
      if (!token.success || !(await database.run(isSetUpLink(tokenDigest(token.data))))) throw used();
      return setUpPage(c, token.data);
    }),
  );
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
      if (fault !== null) throw new Fault(400, 'password_refused', fault);
      const first = {
        name: input.brokerage_name,
        slug: slugOf(input.brokerage_name),
        adminEmail: input.email,
        adminName: input.name,
        phc: await hashPassword(input.password, hashedFor(c)),
      };
      const { token, session } = freshSession(c);
      const [done, admin] = await database.together(
        setUp(link, first, session, signInOriginOf(c)),
        enterWithSession(session.token),
      );
      if (!done || admin === null) throw used();
      return signedIn(services, c, token, { id: admin.user_id, email: admin.email, name: admin.name }, '/');
    },
    (c, fault, entered) => setUpPage(c, entered['token'] ?? '', entered, fault),
  );
  app.post('/set-up', smallBody, originGuard, create);
  app.post('/api/auth/set-up', smallBody, originGuard, create);
  return app;
}
