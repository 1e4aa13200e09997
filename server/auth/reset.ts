/** A forgotten password: asking for a link by mail, and choosing a new one with it. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { Services } from '../services.ts';
import { hashPassword } from '../domain/accounts/password-hashes.ts';
import { passwordFault } from '../domain/accounts/password-rules.ts';
import { askPasswordReset, passwordResetOwner, resetPassword } from '../domain/accounts/passwords.ts';
import { mintToken, tokenDigest } from '../domain/accounts/secret-tokens.ts';
import { afterAnswer } from '../http/after-answer.ts';
import { originGuard } from '../http/csrf.ts';
import { html } from '../http/html.ts';
import { originOf } from '../http/origin.ts';
import { clearTokenCookie } from '../http/session.ts';
import { action, Fault, fields, smallBody, view } from './action.ts';
import { countReset, hashedFor } from './attempts.ts';
import { cardPage, field, hidden, newPasswordHint } from './forms.ts';
import { mailReset, mailSecurityChange } from './mails.ts';

const sent =
  'If there is an account with this address, a mail with a link is on its way. The link works for 30 minutes.';
const linkExpired = () => new Fault(410, 'link_expired', 'This link is used up or too old: ask for a new one.');

function askPage(c: Context, email?: string, fault?: Fault) {
  return cardPage(c, {
    title: 'Forgot your password?',
    lead: 'We mail you a link by which you choose a new one.',
    fault,
    body: html`<form method="post" action="/reset">
        ${field({ label: 'E-mail address', name: 'email', type: 'email', autocomplete: 'username', value: email, autofocus: true })}
        <p><button class="full">Send the link</button></p>
      </form>
      <p class="after"><a href="/sign-in">Back to sign-in</a></p>`,
  });
}

function sentPage(c: Context) {
  return cardPage(c, {
    title: 'Look into your mail',
    body: html`<p role="status">${sent}</p>
      <p class="after"><a href="/sign-in">Back to sign-in</a></p>`,
  });
}

function choosePage(c: Context, token: string, email: string, fault?: Fault) {
  return cardPage(c, {
    title: 'Choose a new password',
    fault,
    body: html`<form method="post" action="/reset/new">
      ${hidden('token', token)}
      <input type="hidden" name="email" autocomplete="username" value="${email}" />
      ${field({ label: `New password of ${email}`, name: 'password', type: 'password', autocomplete: 'new-password', hint: newPasswordHint, autofocus: true })}
      <p><button class="full">Set the password</button></p>
    </form>`,
  });
}

/** GET and POST of /reset and /reset/new, and the same for programs under /api/auth. */
export function resetRoutes(services: Services): Hono {
  const { database } = services;
  const app = new Hono();

  app.get('/reset', (c) => askPage(c));
  const ask = action(
    z.object({ email: fields.email }),
    async (c, { email }) => {
      // Each one may send a mail, so each one counts; apart from the failures to sign in.
      await countReset(services, c, email);
      const origin = originOf(c);
      // Not waited for: what is done for an address that somebody has would take longer.
      afterAnswer(services, 'a link to a new password', async () => {
        const token = mintToken();
        const to = await database.run(askPasswordReset(email, tokenDigest(token), origin));
        if (to !== null) void mailReset(services, to, token);
      });
      return { json: { message: sent }, go: '/reset/sent' };
    },
    (c, fault, entered) => askPage(c, entered['email'], fault),
  );
  app.get('/reset/sent', (c) => sentPage(c));
  app.post('/reset', smallBody, originGuard, ask);
  app.post('/api/auth/reset', smallBody, originGuard, ask);

  const owner = async (token: string | undefined) => {
    const parsed = fields.token.safeParse(token);
    const found = parsed.success ? await database.run(passwordResetOwner(tokenDigest(parsed.data))) : null;
    if (found === null) throw linkExpired();
    return found;
  };
  app.get(
    '/reset/new',
    view(async (c) => {
      const token = c.req.query('token');
      const { email } = await owner(token);
      return choosePage(c, token ?? '', email);
    }),
  );
  const choose = action(
    z.object({ token: fields.token, password: fields.password }),
    async (c, { token, password }) => {
      const person = await owner(token);
      const fault = await passwordFault(password, [person.email, person.name]);
      if (fault !== null) throw new Fault(400, 'password_refused', fault);
      const phc = await hashPassword(password, hashedFor(c, person.email));
      if (!(await database.run(resetPassword(tokenDigest(token), phc, originOf(c))))) throw linkExpired();
      clearTokenCookie(c, 'dealkeep');
      void mailSecurityChange(
        services,
        person,
        'your password at Dealkeep was set anew. Every session and every connected client was ended, and writing through tools is turned off.',
      );
      return { json: { message: 'The password is set. Sign in with it.' }, go: '/sign-in' };
    },
    (c, fault, entered) =>
      fault.code === 'link_expired'
        ? askPage(c, undefined, fault)
        : choosePage(c, entered['token'] ?? '', entered['email'] ?? '', fault),
  );
  app.post('/reset/new', smallBody, originGuard, choose);
  app.post('/api/auth/reset/confirm', smallBody, originGuard, choose);
  return app;
}
