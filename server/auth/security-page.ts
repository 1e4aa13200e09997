/** Settings, Security: what protects the account, and every session, on one page. */

import type { Context } from 'hono';
import type { Services } from '../services.ts';
import { secondFactorOwed, type SecondFactorOwed } from '../domain/people/brokerages.ts';
import { listPasskeys, type OwnPasskey } from '../domain/accounts/passkeys.ts';
import { recoveryCodesLeft } from '../domain/accounts/second-factor.ts';
import { listSessions, type OwnSession, type SessionCaller } from '../domain/accounts/sessions.ts';
import { csrfField, csrfToken } from '../http/csrf.ts';
import { html, type Html } from '../http/html.ts';
import { ownValue } from '../http/own-value.ts';
import { page } from '../http/pages.ts';
import { sessionDigest, sessionToken } from '../http/session.ts';
import type { Fault } from './action.ts';
import { faultNotice, field, hidden, newPasswordHint } from './forms.ts';
import { passkeyScript, registerButton } from './passkey-script.ts';
import { asCaller, barPerson } from './signed-in.ts';

const notices: Readonly<Record<string, string>> = {
  name: 'Your name is changed.',
  password: 'Your password is changed. Every other session and every connected client is signed out.',
  address: 'Look into the mail of the new address: the link there makes the change.',
  address_changed: 'Your address is changed.',
  second_factor_off: 'The authenticator is removed.',
  passkey: 'The passkey is added.',
  passkey_removed: 'The passkey is removed.',
  session: 'The session is ended.',
  sessions: 'All other sessions are ended.',
};

function day(time: string): Html {
  return html`<time datetime="${time}">${time.slice(0, 16).replace('T', ' ')} UTC</time>`;
}

// In this order: a browser also names those that it wants to be taken for.
const browsers: [mark: string, name: string][] = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
];
const systems: [mark: string, name: string][] = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
];

/** A User-Agent in words, for instance "Firefox on Windows". */
function device(userAgent: string | null): string {
  if (!userAgent) return 'Unknown browser';
  const named = (among: typeof browsers) => among.find(([mark]) => userAgent.includes(mark))?.[1];
  const system = named(systems);
  return `${named(browsers) ?? userAgent.split(/[\s/]/)[0]}${system === undefined ? '' : ` on ${system}`}`;
}

/** A form with nothing but a button. */
function button(
  csrf: Html,
  action: string,
  label: string,
  values: Readonly<Record<string, string>> = {},
  style = 'second small',
) {
  return html`<form method="post" action="${action}">
    ${csrf} ${Object.entries(values).map(([name, value]) => hidden(name, value))}
    <button class="${style}">${label}</button>
  </form>`;
}

function profile({ name, email }: SessionCaller, csrf: Html): Html {
  return html`<section class="card" aria-labelledby="profile">
    <h2 id="profile">You</h2>
    <form method="post" action="/settings/security/name">
      ${csrf} ${field({ label: 'Name', name: 'name', autocomplete: 'name', value: name })}
      <p><button class="second">Change the name</button></p>
    </form>
    <form method="post" action="/settings/security/address">
      ${csrf} ${field({ label: 'E-mail address', name: 'email', type: 'email', autocomplete: 'email', value: email })}
      <p><button class="second">Change the address</button></p>
    </form>
  </section>`;
}

function password(csrf: Html): Html {
  return html`<section class="card" aria-labelledby="password-heading">
    <h2 id="password-heading">Password</h2>
    <p class="quiet">A new password ends every other session, and connected clients have to be authorized again.</p>
    <form method="post" action="/settings/security/password">
      ${csrf}
      ${field({ label: 'Current password', name: 'current_password', type: 'password', autocomplete: 'current-password' })}
      ${field({ label: 'New password', name: 'password', type: 'password', autocomplete: 'new-password', hint: newPasswordHint })}
      <p><button class="second">Change the password</button></p>
    </form>
  </section>`;
}

function secondFactor(isOn: boolean, codesLeft: number, csrf: Html): Html {
  return html`<section class="card" aria-labelledby="second-factor">
    <h2 id="second-factor">Authenticator</h2>
    ${
      isOn
        ? html`<p>Signing in with the password also asks for a code. You have ${codesLeft} recovery codes left.</p>
            <div class="actions">
              ${button(csrf, '/settings/security/recovery-codes', 'New recovery codes')}
              ${button(csrf, '/settings/security/second-factor/remove', 'Remove the authenticator', {}, 'danger small')}
            </div>`
        : html`<p>An app on your phone shows a code that is asked for after the password.</p>
            ${button(csrf, '/settings/security/second-factor', 'Set up an authenticator', {}, 'second')}`
    }
  </section>`;
}

function passkeyList(passkeys: readonly OwnPasskey[], csrf: Html, token: string): Html {
  return html`<section class="card" aria-labelledby="passkeys">
    <h2 id="passkeys">Passkeys</h2>
    <p>Sign in with the fingerprint, face or PIN of a device, without a password.</p>
    ${
      passkeys.length > 0 &&
      html`<ul class="rows">
        ${passkeys.map(
          ({ id, name, created_at, last_used_at }) =>
            html`<li>
              <span class="grow"
                >${name}<br /><small
                  >Added ${day(created_at)}${last_used_at !== null && html`, last used ${day(last_used_at)}`}</small
                ></span
              >
              ${button(csrf, '/settings/security/passkeys/remove', 'Remove', { id }, 'danger small')}
            </li>`,
        )}
      </ul>`
    }
    ${registerButton(token)}
  </section>`;
}

function sessionList(sessions: readonly OwnSession[], csrf: Html): Html {
  return html`<section class="card" aria-labelledby="sessions">
    <h2 id="sessions">Sessions</h2>
    <ul class="rows">
      ${sessions.map(
        ({ id, is_this, last_seen_at, address, user_agent }) =>
          html`<li>
            <span class="grow"
              >${device(user_agent)}<br /><small
                >${address ?? 'unknown address'},
                ${is_this ? 'this session' : html`last seen ${day(last_seen_at)}`}</small
              ></span
            >
            ${!is_this && button(csrf, '/settings/security/sessions/end', 'End', { id })}
          </li>`,
      )}
    </ul>
    <div class="actions">
      ${sessions.length > 1 && button(csrf, '/settings/security/sessions/end', 'End all others', { id: 'others' })}
      ${button(csrf, '/settings/security/sign-out-everywhere', 'Sign out everywhere', {}, 'danger small')}
    </div>
    <p class="quiet">Signing out everywhere also disconnects every connected client.</p>
  </section>`;
}

function owedNotice({ brokerage_name, has_one }: SecondFactorOwed): Html {
  const what = has_one
    ? 'Sign out, and sign in with your authenticator or passkey.'
    : 'Set up an authenticator or a passkey below.';
  return html`<p class="notice warn" role="status">
    ${brokerage_name} asks its members for a second factor, and is closed to you until you have shown one. ${what}
  </p>`;
}

/** Shows the page, with why the last change was not made. */
export async function securityPage(services: Services, c: Context, fault?: Fault): Promise<Response> {
  const digest = sessionDigest(c);
  const [caller, codesLeft, passkeys, sessions, owed] = await asCaller(
    services,
    c,
    recoveryCodesLeft(digest),
    listPasskeys(digest),
    listSessions(digest),
    secondFactorOwed(),
  );
  const token = sessionToken(c) ?? '';
  const csrf = csrfField(token);
  const notice = ownValue(notices, c.req.query('done'));
  return page(c, {
    title: 'Security',
    person: barPerson(c, caller),
    wide: true,
    scripts: [passkeyScript],
    ...(fault ? { status: fault.status } : {}),
    body: html`<h1>Security</h1>
      ${faultNotice(fault)} ${!fault && notice !== undefined && html`<p class="notice" role="status">${notice}</p>`}
      ${owed.map(owedNotice)} ${profile(caller, csrf)} ${password(csrf)}
      ${secondFactor(caller.second_factor, codesLeft, csrf)} ${passkeyList(passkeys, csrf, csrfToken(token))}
      ${sessionList(sessions, csrf)}`,
  });
}
