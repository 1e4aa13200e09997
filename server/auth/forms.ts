/** Pieces of the pages of this routes. */

import type { Context } from 'hono';
import { html, type Html, type HtmlValue } from '../http/html.ts';
import { page, type Page } from '../http/pages.ts';
import type { Fault } from './action.ts';

/** A labelled input. */
export interface Field {
  readonly label: string;
  readonly name: string;
  readonly type?: 'text' | 'email' | 'password';
  readonly autocomplete: string;
  readonly value?: string | undefined;
  readonly hint?: string;
  readonly autofocus?: boolean;
  readonly numeric?: boolean;
}

export function field({ label, name, type = 'text', autocomplete, value, hint, autofocus, numeric }: Field): Html {
  return html`<label for="${name}">${label}</label>
    <input
      id="${name}"
      name="${name}"
      type="${type}"
      autocomplete="${autocomplete}"
      value="${type === 'password' ? '' : (value ?? '')}"
      required
      ${autofocus && html`autofocus`}
      ${numeric && html`inputmode="numeric" autocapitalize="none" spellcheck="false"`}
      ${type === 'email' && html`autocapitalize="none" spellcheck="false"`}
      ${hint !== undefined && html`aria-describedby="${name}-hint"`}
    />
    ${hint !== undefined && html`<p class="quiet" id="${name}-hint">${hint}</p>`}`;
}

export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}" />`;
}

/** Why the form is shown again; announced to screen readers. */
export function faultNotice(fault: Fault | undefined): Html | null {
  return fault ? html`<p class="notice bad" role="alert">${fault.message}</p>` : null;
}

export const newPasswordHint =
  'At least 8 characters. A few unrelated words are easy to keep in mind and hard to guess.';

/** A page with one task: a heading, what it is about, and a card with why it is shown again and the form. */
export function cardPage(
  c: Context,
  {
    title,
    lead,
    fault,
    body,
    ...options
  }: Omit<Page, 'body' | 'status'> & { lead?: HtmlValue; fault?: Fault | undefined; body: Html },
): Response {
  return page(c, {
    ...options,
    title,
    ...(fault ? { status: fault.status } : {}),
    body: html`<h1>${title}</h1>
      ${lead ? html`<p class="lead">${lead}</p>` : null}
      <div class="card">${faultNotice(fault)} ${body}</div>`,
  });
}
