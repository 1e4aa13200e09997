/** What people change about their account: name, password, address; and the page where they do. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { Services } from '../services.ts';
import { askAddressChange, changeAddress } from '../domain/accounts/address-change.ts';
import { hashByRecipe, hashPassword } from '../domain/accounts/password-hashes.ts';
import { passwordFault } from '../domain/accounts/password-rules.ts';
import { changePassword, ownPasswordRecipe } from '../domain/accounts/passwords.ts';
import { renameOneself } from '../domain/people/people.ts';
import { mintToken, tokenDigest } from '../domain/accounts/secret-tokens.ts';
import { csrfField, csrfGuard, csrfToken } from '../http/csrf.ts';
import { html } from '../http/html.ts';
import { originOf } from '../http/origin.ts';
import { sessionDigest, sessionToken, setTokenCookie } from '../http/session.ts';
import { action, Fault, fields, smallBody, SignedOut, view, type Again } from './action.ts';
import { attemptsOn } from './attempts.ts';
import { cardPage, hidden } from './forms.ts';
import { mailAddressChange, mailAddressChanged, mailSecurityChange } from './mails.ts';
import { securityPage } from './security-page.ts';
import { asCaller, knowDevice } from './signed-in.ts';

const linkExpired = () =>
  new Fault(410, 'link_expired', 'This link is used up, too old, or for another account: ask for a new one.');

function confirmPage(c: Context, token: string) {
  return cardPage(c, {
    title: 'Confirm your new address',
    lead: 'From now on you sign in with the address that this link was mailed to.',
    body: html`<form method="post" action="/confirm-address">
      ${csrfField(sessionToken(c) ?? '')} ${hidden('token', token)}
      <p><button class="full">Confirm</button></p>
    </form>`,
  });
}

async function setNewPassword(services: Services, c: Context, current: string, chosen: string) {
  const { database } = services;
  const digest = sessionDigest(c);
  const [caller, recipe] = await asCaller(services, c, ownPasswordRecipe(digest));
  if (recipe === null) throw new SignedOut();
  const attempts = await attemptsOn(services, c, caller.email);
  await attempts.check();
  const fault = await passwordFault(chosen, [caller.email, caller.name]);
  if (fault !== null) throw new Fault(400, 'password_refused', fault);
  const [oldPhc, newPhc] = await Promise.all([
    hashByRecipe(current, recipe, attempts.share),
    hashPassword(chosen, attempts.share),
  ]);
  // Whoever tries many at once has waited in the same line: look again before this one counts.
  await attempts.check();
  const token = mintToken();
  const outcome = await database.run(changePassword(digest, oldPhc, newPhc, tokenDigest(token), originOf(c)));
  if (outcome === null) throw new SignedOut();
  if (outcome === 'refused') {
    await attempts.failed();
    throw new Fault(403, 'password_wrong', 'The current password is not right.');
  }
  await attempts.succeeded();
  await knowDevice(services, c, token);
  setTokenCookie(c, 'dealkeep', token);
  void mailSecurityChange(
    services,
    caller,
    'your password at Dealkeep was changed, and every other session was ended.',
  );
  return { json: { changed: true, csrf_token: csrfToken(token) }, go: '/settings/security?done=password' };
}

/** /settings/security and its changes to name, password and address, /confirm-address, and the same under /api/auth. */
export function accountRoutes(services: Services, security: Again): Hono {
  const app = new Hono();
  app.get(
    '/settings/security',
    view((c) => securityPage(services, c)),
  );

  app.get(
    '/api/auth/session',
    view(async (c) => {
      const [caller] = await asCaller(services, c);
      const { user_id: id, email, name, recently_authenticated, second_factor } = caller;
      const csrf_token = csrfToken(sessionToken(c) ?? '');
      return c.json({ user: { id, email, name }, csrf_token, recently_authenticated, second_factor });
    }),
  );

  const rename = action(
    z.object({ name: fields.name }),
    async (c, { name }) => {
      await asCaller(services, c, renameOneself(name));
      return { json: { name }, go: '/settings/security?done=name' };
    },
    security,
  );
  app.post('/settings/security/name', smallBody, csrfGuard, rename);
  app.post('/api/auth/profile', smallBody, csrfGuard, rename);

  const password = action(
    z.object({ current_password: fields.password, password: fields.password }),
    (c, input) => setNewPassword(services, c, input.current_password, input.password),
    security,
  );
  app.post('/settings/security/password', smallBody, csrfGuard, password);
  app.post('/api/auth/password', smallBody, csrfGuard, password);

  const address = action(
    z.object({ email: fields.email }),
    async (c, { email }) => {
      const token = mintToken();
      const statement = askAddressChange(sessionDigest(c), email, tokenDigest(token), originOf(c));
      const [{ name }] = await asCaller(services, c, statement);
      void mailAddressChange(services, { email, name }, token);
      return { json: { message: 'A mail to the new address is on its way.' }, go: '/settings/security?done=address' };
    },
    security,
  );
  app.post('/settings/security/address', smallBody, csrfGuard, address);
  app.post('/api/auth/address', smallBody, csrfGuard, address);

  app.get(
    '/confirm-address',
    view(async (c) => {
      const token = fields.token.safeParse(c.req.query('token'));
      if (!token.success) throw linkExpired();
      await asCaller(services, c);
      return confirmPage(c, token.data);
    }),
  );
  const confirm = action(
    z.object({ token: fields.token }),
    async (c, { token }) => {
      const statement = changeAddress(sessionDigest(c), tokenDigest(token), originOf(c));
      const [{ name }, changed] = await asCaller(services, c, statement);
      if (changed === null) throw linkExpired();
      void mailAddressChanged(services, { email: changed.old_email, name }, changed.new_email);
      return { json: { email: changed.new_email }, go: '/settings/security?done=address_changed' };
    },
    security,
  );
  app.post('/confirm-address', smallBody, csrfGuard, confirm);
  app.post('/api/auth/address/confirm', smallBody, csrfGuard, confirm);
  return app;
}
