/** The layout of every page that the server renders, and the pages that only report an error. */

import type { Context } from 'hono';
import { getCookie } from 'hono/cookie';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { isLoopback } from '../domain/clients/redirect-uris.ts';
import { html, type Html } from './html.ts';
import { pageStyle } from './page-style.ts';
import { Problem, setHeaders, writeProblemJson, type WriteProblem } from './problem.ts';
import { ourOrigin } from './session.ts';

/** Whether the request is a browser navigating to a page, rather than a script or program calling an interface. */
export function wantsPage(c: Context): boolean {
  const destination = c.req.header('sec-fetch-dest');
  if (destination !== undefined) return destination === 'document' || destination === 'iframe';
  return (c.req.header('accept') ?? '').includes('text/html');
}

/** A page rendered by the server, which needs no scripts. */
export interface Page {
  title: string;
  body: Html;
  status?: ContentfulStatusCode;
  /** The signed-in person, and the path of the sign-out link for anybody else at this browser. */
  person?: { name: string; signOut: string };
  /**
   * 'anywhere' leaves form-action out of the policy, because Chromium also applies it to redirects after a form
   * (consent).
   */
  formAction?: 'self' | 'anywhere';
}

function contentPolicy({ formAction = 'self' }: Page): string {
  return [
    "default-src 'none'",
    "style-src 'self'",
    "font-src 'self'",
    "img-src 'self' data:",
    ...(formAction === 'self' ? ["form-action 'self'"] : []),
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

/**
 * With no-referrer a browser sends `Origin: null` with a form, and `Sec-Fetch-Site` with it only to an origin it trusts
 * (https, or this machine). Elsewhere the origin check needs the Origin, so the referrer is sent to our own pages
 * there.
 */
function referrerPolicy(origin: string): string {
  const trusted = new URL(origin).protocol === 'https:' || isLoopback(origin);
  return trusted ? 'no-referrer' : 'same-origin';
}

/** The application's logo. */
export const mark: Html = html`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
  <rect width="32" height="32" rx="8" />
  <path d="M10 8h5.5a8 8 0 0 1 0 16H10V8Z" />
  <circle cx="15" cy="16" r="2.1" />
</svg>`;

function bar({ person }: Page): Html {
  // No link: in a window that a host opened for consent, following it would cut the window off from the host.
  const brand = html`<span class="brand">${mark}Dealkeep</span>`;
  if (person === undefined) return html`<header class="bar">${brand}</header>`;
  return html`<header class="bar">
    ${brand}
    <div class="who">
      <span>${person.name}</span>
      <a href="${person.signOut}">Sign out</a>
    </div>
  </header>`;
}

/**
 * The theme that the person chose in the application, which stores it in a cookie for these pages; otherwise the
 * system's.
 */
function theme(c: Context): Html | null {
  const chosen = getCookie(c, 'dealkeep-theme');
  return chosen === 'dark' || chosen === 'light' ? html` data-theme="${chosen}"` : null;
}

/** Responds with a whole page: it loads nothing from other origins, and all values are escaped. */
export function page(c: Context, options: Page): Response {
  const { title, body, status = 200, person } = options;
  const { href, fontHrefs } = pageStyle();
  c.header('Content-Security-Policy', contentPolicy(options));
  c.header('Referrer-Policy', referrerPolicy(ourOrigin(c)));
  const markup = html`<!doctype html>
    <html lang="en" ${theme(c)}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · Dealkeep</title>
        <link rel="icon" href="/icon.svg" type="image/svg+xml" />
        ${fontHrefs.map((font) => html`<link rel="preload" as="font" type="font/woff2" crossorigin href="${font}" />`)}
        <link rel="stylesheet" href="${href}" />
      </head>
      <body>
        ${bar(options)}
        <main>${body}</main>
        ${person === undefined && html`<footer class="foot">Every sale from listing to closing, in one place.</footer>`}
      </body>
    </html>`;
  return c.html(markup.text, status);
}

const headings: Readonly<Partial<Record<ContentfulStatusCode, string>>> = {
  403: 'You do not have permission to do this',
  404: 'Not found',
  410: 'This link no longer works',
  413: 'That was too large',
  429: 'Too many requests',
  500: 'Something went wrong on our side',
  503: 'Dealkeep is temporarily unavailable',
};

/** What a page shows instead of the heading for the status, and instead of the message. */
interface Words {
  readonly heading?: string;
  readonly words?: string;
}

function writeProblemAs(c: Context, problem: Problem, { heading, words }: Words = {}): Response {
  if (!wantsPage(c)) return writeProblemJson(c, problem);
  const { status, message } = problem;
  setHeaders(c, problem);
  const title = heading ?? headings[status] ?? 'That did not work';
  return page(c, {
    title,
    status,
    body: html`<div class="card alone">
      <h1>${title}</h1>
      <p role="alert">${words ?? message}</p>
      <a class="button" href="/">Go home</a>
    </div>`,
  });
}

/** A page that only says what went wrong and what to do; a program gets the same as JSON `{error: {code, message}}`. */
export const writeProblemPage: WriteProblem = (c, problem) => writeProblemAs(c, problem);

/** The same for a problem given by status, code and message. */
export const problem = (c: Context, status: Problem['status'], code: string, message: string): Response =>
  writeProblemAs(c, new Problem(status, code, message));

/** The response at an address where nothing is. */
export function nothingHere(c: Context): Response {
  return writeProblemAs(c, new Problem(404, 'not_found', 'There is nothing at this address.'), {
    heading: 'There is no page at this address',
    words: 'The link may be out of date, or mistyped.',
  });
}
