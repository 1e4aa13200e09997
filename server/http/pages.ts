import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Context, Hono } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { html, type Html } from './html.ts';
import { isSecure, ourOrigin } from './session.ts';
import { wantsPage } from './sign-in-first.ts';

const style = readFileSync(new URL('./plain.css', import.meta.url), 'utf8');
const styleHref = `/plain.css?v=${createHash('sha256').update(style).digest('hex').slice(0, 12)}`;

/** The settings pages, in the order of the menu. */
export const settingsMenu: readonly { href: string; label: string }[] = [
  { href: '/settings/security', label: 'Security' },
  { href: '/settings/people', label: 'People' },
  { href: '/settings/clients', label: 'Connected clients' },
  { href: '/settings/tools', label: 'Tools' },
  { href: '/settings/keys', label: 'API keys' },
];

/** A plain page that works without scripts. */
export interface Page {
  title: string;
  body: Html;
  status?: ContentfulStatusCode;
  /** The signed-in person: shows their name, the settings menu and sign-out. `csrf` is the session's CSRF token. */
  person?: { name: string; csrf: string };
  /** Room for lists and tables; without it the page is one narrow column. */
  wide?: boolean;
  /** 'anywhere' leaves form-action out of the policy, which Chromium also applies to redirects after a form (consent). */
  formAction?: 'self' | 'anywhere';
  /** Paths of our own scripts (modules); a page needs them only for passkeys. */
  scripts?: readonly string[];
}

function contentPolicy({ formAction = 'self', scripts = [] }: Page): string {
  return [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self' data:",
    ...(scripts.length > 0 ? ["script-src 'self'", "connect-src 'self'"] : []),
    ...(formAction === 'self' ? ["form-action 'self'"] : []),
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

/**
 * With no-referrer a browser sends `Origin: null` with a form, and `Sec-Fetch-Site` beside it only to an origin it
 * trusts (https, or this machine). Elsewhere the origin check needs the Origin, so there the referrer stays at home
 * instead of being left out.
 */
function referrerPolicy(origin: string): string {
  const { protocol, hostname } = new URL(origin);
  const trusted = protocol === 'https:' || ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  return trusted ? 'no-referrer' : 'same-origin';
}

function bar(c: Context, person: Page['person']): Html {
  if (person === undefined) return html`<header class="bar"><a class="brand" href="/">Dealkeep</a></header>`;
  return html`<header class="bar">
    <a class="brand" href="/">Dealkeep</a>
    <nav aria-label="Settings">
      <ul class="menu">
        ${settingsMenu.map(({ href, label }) =>
          c.req.path === href
            ? html`<li><a href="${href}" aria-current="page">${label}</a></li>`
            : html`<li><a href="${href}">${label}</a></li>`,
        )}
      </ul>
    </nav>
    <span class="who">${person.name}</span>
    <form method="post" action="/sign-out">
      <input type="hidden" name="csrf" value="${person.csrf}" />
      <button class="second small">Sign out</button>
    </form>
  </header>`;
}

/** Answers with a whole page: never cached, never framed, nothing from elsewhere, everything escaped. */
export function page(c: Context, options: Page): Response {
  const { title, body, status = 200, person, wide = false, scripts = [] } = options;
  c.header('Content-Security-Policy', contentPolicy(options));
  c.header('X-Frame-Options', 'DENY');
  c.header('X-Content-Type-Options', 'nosniff');
  c.header('Referrer-Policy', referrerPolicy(ourOrigin(c)));
  c.header('Cache-Control', 'no-store');
  if (isSecure(c)) c.header('Strict-Transport-Security', 'max-age=31536000');
  const markup = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · Dealkeep</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="${styleHref}" />
        ${scripts.map((src) => html`<script type="module" src="${src}"></script>`)}
      </head>
      <body>
        ${bar(c, person)}
        <main${wide ? html` class="wide"` : null}>${body}</main>
      </body>
    </html>`;
  return c.html(markup.text, status);
}

/** A page that only says what went wrong and what to do; a program gets the same as JSON `{error: {code, message}}`. */
export function problem(c: Context, status: ContentfulStatusCode, code: string, message: string): Response {
  if (wantsPage(c)) {
    return page(c, {
      title: 'Not done',
      status,
      body: html`<h1>That did not work</h1>
        <p class="notice bad">${message}</p>`,
    });
  }
  c.header('Cache-Control', 'no-store');
  return c.json({ error: { code, message } }, status);
}

/** Serves the style sheet of the plain pages, under a name that changes with it. */
export function servePlainStyle(app: Hono): void {
  app.get('/plain.css', (c) => {
    c.header('Content-Type', 'text/css; charset=utf-8');
    c.header('X-Content-Type-Options', 'nosniff');
    c.header('Cache-Control', c.req.query('v') === undefined ? 'no-cache' : 'public, max-age=31536000, immutable');
    return c.body(style);
  });
}
