/** The script of the pages with passkeys, and the buttons that it brings to life. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Hono } from 'hono';
import { html, type Html } from '../http/html.ts';

const script = readFileSync(new URL('./passkeys.browser.js', import.meta.url), 'utf8');

/** Where a page finds the script; the address changes with it. */
export const passkeyScript = `/passkeys.js?v=${createHash('sha256').update(script).digest('hex').slice(0, 12)}`;

/** Serves the script. */
export function servePasskeyScript(app: Hono): void {
  app.get('/passkeys.js', (c) => {
    c.header('Content-Type', 'text/javascript; charset=utf-8');
    c.header('Cache-Control', c.req.query('v') === undefined ? 'no-cache' : 'public, max-age=31536000, immutable');
    return c.body(script);
  });
}

/** Signs in with a passkey; not shown where the browser has none. */
export function passkeyButton(label: string, returnTo: string): Html {
  return html`<div data-passkey="sign-in" data-return-to="${returnTo}" hidden>
    <p class="or">or</p>
    <p><button type="button" class="second full">${label}</button></p>
    <p class="notice bad" role="alert" hidden></p>
  </div>`;
}

/** Registers a passkey of this device under a name; not shown where the browser has none. */
export function registerButton(csrf: string): Html {
  return html`<div data-passkey="register" data-csrf="${csrf}" data-name-field="passkey-name" hidden>
    <label for="passkey-name">Name of the new passkey</label>
    <input id="passkey-name" value="My device" maxlength="100" autocomplete="off" />
    <p><button type="button" class="second">Add a passkey</button></p>
    <p class="notice bad" role="alert" hidden></p>
  </div>`;
}
