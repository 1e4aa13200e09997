/** Setting up and removing the authenticator, and its recovery codes. */

import { Hono, type Context } from 'hono';
import { toString as qrCode } from 'qrcode';
import { z } from 'zod';
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
import type { SessionCaller } from '../domain/accounts/sessions.ts';
import { csrfField, csrfGuard, csrfToken } from '../http/csrf.ts';
import { html } from '../http/html.ts';
import { originOf } from '../http/origin.ts';
import { sessionDigest, sessionToken, setTokenCookie } from '../http/session.ts';
import { action, Fault, smallBody, view, type Again } from './action.ts';
import { attemptsOn } from './attempts.ts';
import { cardPage, field } from './forms.ts';
import { mailSecurityChange } from './mails.ts';
import { asCaller } from './signed-in.ts';

const setUpPath = '/settings/security/second-factor';

async function showSecret(c: Context, email: string, secret: string, fault?: Fault) {
  const svg = await qrCode(authenticatorUri(email, secret), { type: 'svg', margin: 4 });
  const image = `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`;
  return cardPage(c, {
    title: 'Set up your authenticator',
    lead: 'Scan this with an authenticator app, then enter the six digits that it shows.',
    fault,
    body: html`<img class="qr" src="${image}" alt="QR code of the key below" />
      <p>Or type this key into the app:<br /><code>${secret.replace(/(.{4})(?=.)/g, '$1 ')}</code></p>
      <form method="post" action="${setUpPath}/confirm">
        ${csrfField(sessionToken(c) ?? '')}
        ${field({ label: 'Code', name: 'code', autocomplete: 'one-time-code', autofocus: true, numeric: true })}
        <p class="actions">
          <button>Switch it on</button> <a class="button second" href="/settings/security">Not now</a>
        </p>
      </form>`,
  });
}

function showRecoveryCodes(c: Context, codes: readonly string[]) {
  return cardPage(c, {
    title: 'Your recovery codes',
    lead: 'Keep these where you find them without your phone. Each signs you in once when you cannot use the authenticator. They are not shown again.',
    body: html`<pre class="code codes">${codes.map((code) => html`<span>${code}</span> `)}</pre>
      <p><a class="button" href="/settings/security">I have kept them</a></p>`,
  });
}

async function confirm(services: Services, c: Context, typed: string) {
  const digest = sessionDigest(c);
  const [caller, secret] = await asCaller(services, c, pendingSecret(digest));
  if (secret === null) throw new Fault(409, 'nothing_pending', 'Start again: set up an authenticator first.');
  const attempts = await attemptsOn(services, c, caller.email);
  await attempts.check();
  const step = await stepOfCode(secret, typed.replace(/\s/g, ''), services.clock());
  if (step === null) {
    await attempts.failed();
    throw new Fault(
      400,
      'code_refused',
      'The code is not right. Check that the clock of your phone is, and enter the next one.',
    );
  }
  const codes = mintRecoveryCodes();
  const token = mintToken();
  const statement = confirmSecondFactor(digest, step, codes, tokenDigest(token), originOf(c));
  if (!(await services.database.run(statement)))
    throw new Fault(409, 'nothing_pending', 'Start again: set up an authenticator first.');
  setTokenCookie(c, 'dealkeep', token);
  void mailSecurityChange(services, caller, 'an authenticator was set up for your account at Dealkeep.');
  return { json: { recovery_codes: codes, csrf_token: csrfToken(token) }, go: () => showRecoveryCodes(c, codes) };
}

/** /settings/security/second-factor… and recovery-codes, and the same for programs under /api/auth. */
export function secondFactorRoutes(services: Services, security: Again): Hono {
  const app = new Hono();
  const nothing = z.object({});

  const begin = action(
    nothing,
    async (c) => {
      const secret = mintSecret();
      const [{ email }] = await asCaller(services, c, beginSecondFactor(sessionDigest(c), secret));
      return { json: { secret, uri: authenticatorUri(email, secret) }, go: setUpPath };
    },
    security,
  );
  app.post(setUpPath, smallBody, csrfGuard, begin);
  app.post('/api/auth/second-factor/begin', smallBody, csrfGuard, begin);

  const pendingPage = async (c: Context, fault?: Fault) => {
    const [{ email }, secret] = await asCaller(services, c, pendingSecret(sessionDigest(c)));
    return secret === null ? c.redirect('/settings/security', 303) : showSecret(c, email, secret, fault);
  };
  app.get(
    setUpPath,
    view((c) => pendingPage(c)),
  );
  const switchOn = action(
    z.object({ code: z.string({ error: 'Enter the code.' }).max(64, 'The code is too long.') }),
    (c, { code }) => confirm(services, c, code),
    pendingPage,
  );
  app.post(`${setUpPath}/confirm`, smallBody, csrfGuard, switchOn);
  app.post('/api/auth/second-factor/confirm', smallBody, csrfGuard, switchOn);

  const changed = (caller: SessionCaller, what: string) =>
    void mailSecurityChange(services, caller, `${what} of your account at Dealkeep.`);
  const remove = action(
    nothing,
    async (c) => {
      const [caller, removed] = await asCaller(services, c, removeSecondFactor(sessionDigest(c), originOf(c)));
      if (removed) changed(caller, 'the authenticator was removed from the sign-in');
      return { json: { removed }, go: '/settings/security?done=second_factor_off' };
    },
    security,
  );
  app.post(`${setUpPath}/remove`, smallBody, csrfGuard, remove);
  app.post('/api/auth/second-factor/remove', smallBody, csrfGuard, remove);

  const renew = action(
    nothing,
    async (c) => {
      const codes = mintRecoveryCodes();
      const [caller, renewed] = await asCaller(services, c, renewRecoveryCodes(sessionDigest(c), codes, originOf(c)));
      if (!renewed)
        throw new Fault(409, 'no_second_factor', 'Recovery codes belong to an authenticator: set one up first.');
      changed(caller, 'new recovery codes were made for the sign-in');
      return { json: { recovery_codes: codes }, go: () => showRecoveryCodes(c, codes) };
    },
    security,
  );
  app.post('/settings/security/recovery-codes', smallBody, csrfGuard, renew);
  app.post('/api/auth/recovery-codes', smallBody, csrfGuard, renew);
  return app;
}
