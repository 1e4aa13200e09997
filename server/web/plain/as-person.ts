/** What the plain settings pages share: statements run as the signed-in person, their forms, and how a page is made. */

import type { Context } from 'hono';
import type { Services } from '../../services.ts';
import type { Results } from '../../database/database.ts';
import { Denied, Refusal } from '../../database/errors.ts';
import type { Statement } from '../../database/statement.ts';
import { enterWithSession, type SessionCaller } from '../../domain/accounts/sessions.ts';
import { csrfField, csrfToken } from '../../http/csrf.ts';
import { html, type Html } from '../../http/html.ts';
import { page, problem } from '../../http/pages.ts';
import { sessionDigest, sessionToken } from '../../http/session.ts';
import { signInFirst } from '../../http/sign-in-first.ts';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The id in the path, or null when it is none: then there is nothing under it. */
export function idInPath(c: Context): string | null {
  const id = c.req.param('id') ?? '';
  return uuid.test(id) ? id : null;
}

/** The person and the answers of the statements, run in their name; a response when nobody is signed in. */
export async function asPerson<const S extends readonly Statement<unknown>[]>(
  { database }: Services,
  c: Context,
  ...statements: S
): Promise<[SessionCaller, ...Results<S>] | Response> {
  if (sessionToken(c) === null) return signInFirst(c);
  const [person, ...answers] = await database.together(enterWithSession(sessionDigest(c)), ...statements);
  return person === null ? signInFirst(c) : [person, ...(answers as Results<S>)];
}

/**
 * The same for a change: the reason in words when the database refused it. Whoever has to sign in again for it is led to that,
 * and then to `back`, by default the page of the form.
 */
export async function changeAsPerson<T>(
  services: Services,
  c: Context,
  change: Statement<T>,
  back = c.req.path,
): Promise<{ done: T } | { refused: string } | Response> {
  try {
    const found = await asPerson(services, c, change);
    return found instanceof Response ? found : { done: found[1] as T };
  } catch (error) {
    if (error instanceof Refusal && error.reason === 'recent_sign_in_required')
      return c.redirect(`/re-authenticate?${new URLSearchParams({ return_to: back })}`, 303);
    if (error instanceof Refusal || error instanceof Denied) return { refused: error.message };
    throw error;
  }
}

/** The fields of a form; requires csrfGuard before it, which has read the body. */
export async function formOf(c: Context): Promise<URLSearchParams> {
  return new URLSearchParams(await c.req.text());
}

/** The hidden field that every form here carries. */
export const csrfOf = (c: Context): Html => csrfField(sessionToken(c) ?? '');

export interface SettingsPage {
  readonly title: string;
  readonly body: Html;
  readonly done?: string | undefined;
  readonly refused?: string | undefined;
  readonly status?: 200 | 400 | 409;
}

/** A settings page of the person, with what was just done or refused on top. */
export function settingsPage(
  c: Context,
  person: SessionCaller,
  { title, body, done, refused, status = 200 }: SettingsPage,
): Response {
  return page(c, {
    title,
    status,
    wide: true,
    person: { name: person.name, csrf: csrfToken(sessionToken(c) ?? '') },
    body: html`<h1>${title}</h1>
      ${done ? html`<p class="notice" role="status">${done}</p>` : null}
      ${refused ? html`<p class="notice bad" role="alert">${refused}</p>` : null} ${body}`,
  });
}

/** A day, or until when, for the eye; times are in UTC, and say so. */
export const day = (time: string | null): string => (time === null ? '–' : time.slice(0, 10));
export const moment = (time: string | null): string =>
  time === null ? 'never' : `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`;

/** The end of the day that a date field holds, as RFC 3339; null for an empty field, undefined for what is no date. */
export function endOfDay(field: string | null): string | null | undefined {
  if (field === null || field === '') return null;
  const end = new Date(`${field}T23:59:59.999Z`);
  // A day that its month does not have would be counted on into the next.
  return !Number.isNaN(end.getTime()) && end.toISOString().startsWith(`${field}T`) ? end.toISOString() : undefined;
}

export const notThere = (c: Context, what: string): Response => problem(c, 404, 'not_found', what);
