/** The pages of signing in. */

import type { Context } from 'hono';
import { csrfField } from '../http/csrf.ts';
import { html } from '../http/html.ts';
import { sessionToken } from '../http/session.ts';
import type { Fault } from './action.ts';
import { cardPage, field, hidden } from './forms.ts';
import { passkeyButton, passkeyScript } from './passkey-script.ts';

// Chromium holds the redirects behind a form to the policy as well, and an authorization request may go on to a client.
const formActionTo = (returnTo: string) => (returnTo.startsWith('/api/mcp/authorize?') ? 'anywhere' : 'self');

export function signInPage(c: Context, returnTo: string, email?: string, fault?: Fault) {
  return cardPage(c, {
    title: 'Sign in',
    fault,
    formAction: formActionTo(returnTo),
    scripts: [passkeyScript],
    body: html`<form method="post" action="/sign-in">
        ${hidden('return_to', returnTo)}
        ${field({ label: 'E-mail address', name: 'email', type: 'email', autocomplete: 'username', value: email, autofocus: email === undefined })}
        ${field({ label: 'Password', name: 'password', type: 'password', autocomplete: 'current-password', autofocus: email !== undefined })}
        <p><button class="full">Sign in</button></p>
      </form>
      ${passkeyButton('Sign in with a passkey', returnTo)}
      <p class="after"><a href="/reset">Forgot your password?</a></p>`,
  });
}

export function codePage(c: Context, returnTo: string, fault?: Fault) {
  return cardPage(c, {
    title: 'One more step',
    lead: 'Your password is right. One more thing, to be sure that it is you.',
    fault,
    formAction: formActionTo(returnTo),
    scripts: [passkeyScript],
    body: html`<form method="post" action="/sign-in/code">
        ${hidden('return_to', returnTo)}
        ${field({
          label: 'Code',
          name: 'code',
          autocomplete: 'one-time-code',
          autofocus: true,
          hint: 'The six digits that your authenticator shows now, or one of your recovery codes.',
        })}
        <p><button class="full">Continue</button></p>
      </form>
      ${passkeyButton('Use a passkey instead', returnTo)}
      <p class="after">
        <a href="/sign-in?${new URLSearchParams({ return_to: returnTo }).toString()}">Start again</a>
      </p>`,
  });
}

export function reauthenticatePage(c: Context, email: string, returnTo: string, fault?: Fault) {
  return cardPage(c, {
    title: 'Is it you?',
    lead: `This protects your account or your brokerage. Enter the password of ${email} once more.`,
    fault,
    formAction: formActionTo(returnTo),
    scripts: [passkeyScript],
    body: html`<form method="post" action="/re-authenticate">
        ${csrfField(sessionToken(c) ?? '')} ${hidden('return_to', returnTo)}
        <input type="hidden" name="email" autocomplete="username" value="${email}" />
        ${field({ label: 'Password', name: 'password', type: 'password', autocomplete: 'current-password', autofocus: true })}
        <p><button class="full">Continue</button></p>
      </form>
      ${passkeyButton('Use a passkey', returnTo)}`,
  });
}
