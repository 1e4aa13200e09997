/** What a person sees at the authorize endpoint: the consent page, and why there is none. */

import type { Context } from 'hono';
import type { AuthorizingClient } from '../../domain/clients/authorization.ts';
import type { Scope } from '../../domain/clients/connected-clients.ts';
import { isLoopback } from '../../domain/clients/redirect-uris.ts';
import { csrfField } from '../../http/csrf.ts';
import { html, type Html } from '../../http/html.ts';
import { clientsPath, signOutPath } from '../../http/links.ts';
import { mark, page } from '../../http/pages.ts';
import { sealRequest, type ConsentRequest } from './consent-request.ts';
import { endpoints } from '../metadata.ts';

/** An error page: what the person can do about it, never a way on to the client. */
export function refusalPage(c: Context, status: 400 | 403 | 413 | 415, message: string): Response {
  return page(c, {
    title: 'Not connected',
    status,
    body: html`<h1>This client cannot be connected</h1>
      <section class="card">
        <p class="notice bad" role="alert">${message}</p>
        <p>Nothing was allowed. Go back to the client and start again, or look at the clients that you have.</p>
        <p><a class="button second full" href="${clientsPath}">Your connected clients</a></p>
      </section>`,
  });
}

const scopeWords: Record<Scope, { title: string; words: string }> = {
  'mcp:read': {
    title: 'Read what you can see',
    words:
      'Your deals and the people on them, quality-of-earnings figures, questions, offers, closing conditions, and the names of documents, never what is in them.',
  },
  'mcp:write': {
    title: 'Write in your name',
    words:
      'Ask questions and record adjustments, findings and financing. Each of these tools stays off until you turn it on for this client and for the deal.',
  },
};

function scopeChoice(scope: Scope, recently: boolean): Html {
  const { title, words: meaning } = scopeWords[scope];
  const words = scope === 'mcp:write' && !recently ? `${meaning} We ask for your password once more first.` : meaning;
  // Reading is the least that can be allowed: shown as ticked, and sent by the hidden field.
  const box =
    scope === 'mcp:read'
      ? html`<input type="checkbox" checked disabled /><input type="hidden" name="scope" value="${scope}" />`
      : html`<input type="checkbox" name="scope" value="${scope}" checked />`;
  return html`<label class="choice"
    >${box}<span><strong>${title}</strong> <code>${scope}</code> <span>${words}</span></span></label
  >`;
}

function registeredBy({ registered_by, registered_by_caller, shared_with, registered_at }: AuthorizingClient): Html {
  const who = registered_by_caller ? 'you' : registered_by;
  return html`${who}, on
  ${registered_at.slice(0, 10)}${shared_with === null ? null : html`; shared with ${shared_with}`}`;
}

/** Who asks and who is asked, side by side. */
function lockup(name: string): Html {
  const [initial = '?'] = name;
  return html`<div class="lockup" aria-hidden="true">
    <span class="tile">${initial.toUpperCase()}</span><span class="between"></span>${mark}
  </div>`;
}

export interface Consenting {
  readonly session: string;
  readonly person: { readonly name: string; readonly email: string; readonly recently_authenticated: boolean };
  readonly brokerages: readonly string[];
  readonly client: AuthorizingClient;
  readonly request: ConsentRequest;
  /** Path and query of this page. */
  readonly here: string;
}

/** The consent page. A form of its own, without scripts. */
export function consentPage(c: Context, { session, person, brokerages, client, request, here }: Consenting): Response {
  const { host } = new URL(request.redirectUri);
  const name = client.name ?? 'This client';
  const loopback = html`<p class="notice warn">
    The answer goes to a program on this computer. Any program here could be waiting for it: allow this only if you have
    just started the connection yourself.
  </p>`;
  const body = html`${lockup(name)}
    <h1>Let <bdi>${name}</bdi> use Dealkeep in your name?</h1>
    <form method="post" action="${endpoints.authorize}">
      ${csrfField(session)}
      <input type="hidden" name="request" value="${sealRequest(session, request)}" />
      <div class="card consent">
        <dl>
          <dt>Your account</dt>
          <dd><strong>${person.name}</strong><br /><small>${person.email}</small></dd>
          ${
            brokerages.length > 0
              ? html`<dt>Brokerage</dt>
                  <dd>${brokerages.join(', ')}</dd>`
              : null
          }
        </dl>
        <fieldset>
          <legend>It will be able to</legend>
          ${request.scopes.map((scope) => scopeChoice(scope, person.recently_authenticated))}
        </fieldset>
        <p class="never">
          It never sees more than you do. It cannot open documents, make or accept offers, or change your account.
        </p>
        <dl>
          <dt>Answers go to</dt>
          <dd><strong>${host}</strong></dd>
          <dt>Registered by</dt>
          <dd>${registeredBy(client)}</dd>
        </dl>
        ${isLoopback(request.redirectUri) && loopback}
        <div class="decide">
          <button name="decision" value="deny" class="second">Deny</button>
          <button name="decision" value="approve">Allow</button>
          <p class="quiet">
            Deny takes you back to ${host} and tells it that you said no. It sees nothing, and nothing is connected.
          </p>
        </div>
      </div>
    </form>
    <p class="quiet">
      Each access lasts one hour and is renewed while the client is used: the connection ends after 30 days without use,
      and after 180 days in any case. You can end it at any time under
      <a href="${clientsPath}">Connected clients</a>.
    </p>`;
  return page(c, {
    title: `Connect ${name}`,
    person: { name: person.name, signOut: signOutPath(here) },
    formAction: 'anywhere',
    body,
  });
}
