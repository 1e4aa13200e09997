/** The pages of the authorize endpoint: the consent page, and the pages that say why it is not shown. */

import type { Context } from 'hono';
import type { Config } from '../../config/config.ts';
import type { AuthorizingClient, KnownDocumentClient } from '../../domain/clients/authorization.ts';
import type { ConnectedClient, Scope } from '../../domain/clients/connected-clients.ts';
import type { LiveToolGrant } from '../../domain/clients/tool-grants.ts';
import { anyPort, isLoopback, redirectUriFault, redirectUriLimits } from '../../domain/clients/redirect-uris.ts';
import { csrfField } from '../../http/csrf.ts';
import { dayInWords } from '../../http/days.ts';
import { html, type Html } from '../../http/html.ts';
import { clientsPath, reauthenticatePath, securityPath, signInPath, signOutPath } from '../../http/links.ts';
import { mark, page, wantsPage } from '../../http/pages.ts';
import { retryAfter, setHeaders } from '../../http/problem.ts';
import type { NoRoom } from '../../lib/fair-queue.ts';
import type { ClientDocument } from '../client-documents.ts';
import { oauthError, writeOAuthError } from '../oauth-error.ts';
import { sealRequest, type ConsentRequest } from './consent-request.ts';
import { endpoints } from '../metadata.ts';

/** For links to the settings, which would cut the window off from a host that opened it as a popup. */
const inNewTab = html`target="_blank" rel="noopener"`;

interface Refused {
  /** The host that the client claims to be from. */
  readonly host?: string;
  /** The signed-in person, who may have the client with another account, and path and query of the request. */
  readonly asked?: { readonly person: { readonly name: string }; readonly here: string };
}

/** An error page: says what the person can do, and never links to the client. */
export function refusalPage(
  c: Context,
  status: 400 | 403 | 413 | 415,
  message: string,
  { host, asked }: Refused = {},
): Response {
  const person = asked && { name: asked.person.name, signOut: signOutPath(asked.here) };
  return page(c, {
    title: 'Not connected',
    status,
    ...(person && { person }),
    body: html`<h1>This client cannot be connected</h1>
      <section class="card">
        <p class="notice bad" role="alert">${message}</p>
        ${host !== undefined && html`<p>It says that it is from <strong>${host}</strong>.</p>`}
        ${
          person &&
          html`<p>
            You are signed in as <strong>${person.name}</strong>.
            <a href="${person.signOut}">Sign in as somebody else</a>
          </p>`
        }
        <p>Nothing was allowed. Go back to the client and start again, or look at the clients that you have.</p>
        <p><a class="button second full" href="${clientsPath}" ${inNewTab}>Your connected clients</a></p>
      </section>`,
  });
}

/** The response to a request that can be retried in some seconds: a page for browsers, an OAuth error for programs. */
export function tryAgainPage(
  c: Context,
  status: 429 | 503,
  { message, retryAfter: seconds }: Pick<NoRoom, 'message' | 'retryAfter'>,
): Response {
  const problem = oauthError('temporarily_unavailable', message, { status, ...retryAfter(seconds) });
  if (!wantsPage(c)) return writeOAuthError(c, problem);
  setHeaders(c, problem);
  const title = status === 429 ? 'Too many requests' : 'Try again shortly';
  const body = html`<h1>${title}</h1>
    <p class="notice bad">${message}</p>`;
  return page(c, { title, status, body });
}

/** The page for a person who has to show a second factor: links to the place for it, which leads back to `here`. */
export function secondFactorPage(c: Context, message: string, here: string): Response {
  return page(c, {
    title: 'Not connected yet',
    status: 403,
    body: html`<h1>Show your second factor first</h1>
      <section class="card">
        <p class="notice bad" role="alert">${message}</p>
        <p><a class="button full" href="${reauthenticatePath(here)}">Sign in again, and come back here</a></p>
        <p><a class="button second full" href="${securityPath}" ${inNewTab}>Your passkeys and authenticator</a></p>
      </section>`,
  });
}

/**
 * The page for a person who has as many clients as are allowed: leads to deleting one, and back to the request `here`.
 * `message`: how many those are.
 */
export function tooManyClientsPage(c: Context, message: string, here: string): Response {
  return page(c, {
    title: 'Not connected yet',
    status: 409,
    body: html`<h1>Delete a client first</h1>
      <section class="card">
        <p class="notice bad" role="alert">${message}</p>
        <p>Nothing was allowed. Delete one under “Connected clients”, then come back to this request.</p>
        <p><a class="button full" href="${clientsPath}" ${inNewTab}>Your connected clients</a></p>
        <p><a class="button second full" href="${here}">Look at the request again</a></p>
      </section>`,
  });
}

/**
 * The page for a form of another session, such as the session before signing in again: decides nothing, and links to
 * its request `here`.
 */
export function outOfDatePage(c: Context, here: string): Response {
  return page(c, {
    title: 'Out of date',
    status: 403,
    body: html`<h1>This page is out of date</h1>
      <section class="card">
        <p class="notice bad" role="alert">Your choice did not go through, and nothing was changed.</p>
        <p>You may have signed in again, or confirmed that it is you, since you opened it.</p>
        <p><a class="button full" href="${here}">Look at the request again</a></p>
        <p><a class="button second full" href="${clientsPath}" ${inNewTab}>Your connected clients</a></p>
      </section>`,
  });
}

/** The value of `decision` with which the form adds the shown redirect URI. */
export const addsRedirectUri = 'add_redirect_uri';

/** Text from elsewhere, with invisible and direction-changing characters replaced by U+FFFD. */
const inSight = (text: string): string => text.replaceAll(/[^\P{C}]/gu, '\u{FFFD}');

interface UnknownRedirectUri {
  readonly redirectUri: string;
  /** Path and query of this page. */
  readonly here: string;
  /** The client's metadata document, which lists its redirect URIs itself. */
  readonly document?: ClientDocument;
  /** The signed-in person, and the client if they see it in their settings. */
  readonly signedIn?: {
    readonly session: string;
    readonly person: { readonly name: string };
    readonly client: ConnectedClient | null;
  };
}

/** The form with which a person who manages the client adds the address and continues. */
function offerToAdd(session: string, client: ConnectedClient, redirectUri: string, here: string): Html {
  const added = anyPort(redirectUri);
  const full = client.redirect_uris.length >= redirectUriLimits.count;
  const fault = full ? `It has ${redirectUriLimits.count} addresses, the maximum.` : redirectUriFault(added);
  if (fault !== null) return html`<p>It cannot be added to those of <bdi>${client.name}</bdi>. ${fault}</p>`;
  const { host } = new URL(added);
  const where = isLoopback(added)
    ? html`It belongs to a program on this computer. Any port is accepted: <code class="whole">${added}</code>`
    : html`The responses to <bdi>${client.name}</bdi> would go to <strong>${host}</strong>.`;
  return html`<form method="post" action="${endpoints.authorize}">
    ${csrfField(session)}
    <input type="hidden" name="here" value="${here}" />
    <p>
      You manage this client. Add the address if you have just started the connection yourself, in a program that you
      trust. ${where}
    </p>
    <button name="decision" value="${addsRedirectUri}" class="full">Add this address and go on</button>
  </form>`;
}

/**
 * The page for a redirect URI that is not registered for the client: shows it, and offers a person who manages the
 * client to add it.
 */
export function redirectUriPage(c: Context, { redirectUri, here, document, signedIn }: UnknownRedirectUri): Response {
  const client = signedIn?.client ?? null;
  const session = signedIn?.session;
  const way = () => {
    if (document)
      return html`<p>
        It is from <strong>${new URL(document.url).hostname}</strong>, whose document does not list the address. Only
        whoever publishes the document can add it.
      </p>`;
    if (client !== null && client.manageable && session !== undefined)
      return offerToAdd(session, client, redirectUri, here);
    if (signedIn)
      return html`<p>The person who registered the client can add the address under "Connected clients".</p>`;
    return html`<p>If the client is yours, sign in: you can add the address then.</p>
      <p><a class="button full" href="${signInPath(here)}">Sign in</a></p>`;
  };
  return page(c, {
    title: 'Not connected',
    status: 400,
    ...(signedIn && { person: { name: signedIn.person.name, signOut: signOutPath(here) } }),
    body: html`<h1>This client cannot be connected</h1>
      <section class="card">
        <p class="notice bad" role="alert">
          ${client === null ? 'It' : html`<bdi>${client.name}</bdi>`} wants its response sent to an address that is not
          registered for it.
        </p>
        <p>The address in the request (<code>redirect_uri</code>):</p>
        <p><code class="whole">${inSight(redirectUri.slice(0, redirectUriLimits.length))}</code></p>
        ${way()}
        <p class="quiet">Nothing was allowed, and nothing was sent there.</p>
        <p><a class="button second full" href="${clientsPath}" ${inNewTab}>Your connected clients</a></p>
      </section>`,
  });
}

const listOf = (words: readonly (string | false)[]): string =>
  new Intl.ListFormat('en-US').format(words.filter((word) => word !== false));

/** Descriptions of what each scope allows, given the features that are turned on. */
const scopeWords: Record<Scope, { title: string; words: (features: Config['features']) => string }> = {
  'mcp:read': {
    title: 'Read what you can see',
    words: ({ findings, financing }) =>
      `${listOf([
        'Your deals and the people on them',
        'quality-of-earnings figures',
        'questions',
        findings && 'findings with their comments',
        'offers',
        financing && 'sources of financing',
        'closing conditions',
        'the names of documents',
      ])}, never what is in the documents.`,
  },
  'mcp:write': {
    title: 'Write in your name',
    words: ({ findings, financing }) =>
      `Ask questions and record ${listOf(['adjustments', findings && 'findings', financing && 'financing'])}. Each of these tools works only where you have turned it on, for this client and for the deal.`,
  },
};

function scopeChoice(scope: Scope, { features, toolsOn, person, unticked }: Consenting): Html {
  const { title, words: meaning } = scopeWords[scope];
  const writes = scope === 'mcp:write';
  const words = [
    meaning(features),
    writes && toolsOn > 0 && `Already on for this client: ${toolsOn} ${toolsOn === 1 ? 'tool' : 'tools'}.`,
    writes && !person.recently_authenticated && 'We ask for your password once more first.',
  ]
    .filter(Boolean)
    .join(' ');
  // Reading is the minimum: shown as ticked and disabled, and sent by the hidden field.
  const box =
    scope === 'mcp:read'
      ? html`<input type="checkbox" checked disabled /><input type="hidden" name="scope" value="${scope}" />`
      : unticked.includes(scope)
        ? html`<input type="checkbox" name="scope" value="${scope}" />`
        : html`<input type="checkbox" name="scope" value="${scope}" checked />`;
  return html`<label class="choice"
    >${box}<span><strong>${title}</strong> <code>${scope}</code> <span>${words}</span></span></label
  >`;
}

function registeredBy({ registered_by, registered_by_caller, shared_with, registered_at }: AuthorizingClient): Html {
  const who = registered_by_caller ? 'you' : registered_by;
  return html`${who}, on ${dayInWords(registered_at)}${shared_with === null ? null : html`; shared with ${shared_with}`}`;
}

/** The icons of the client and of Dealkeep side by side. */
function lockup(name: string): Html {
  const [initial = '?'] = name;
  return html`<div class="lockup" aria-hidden="true">
    <span class="tile">${initial.toUpperCase()}</span><span class="between"></span>${mark}
  </div>`;
}

/** A client that is identified by a metadata document. */
export interface DocumentAsking {
  readonly kind: 'document';
  readonly document: ClientDocument;
  /** The state of the document that the person agreed to before; null for a new client. */
  readonly known: KnownDocumentClient | null;
}

/** The requesting client: registered by a person, or identified by a metadata document. */
export type AskingClient = { readonly kind: 'registered'; readonly client: AuthorizingClient } | DocumentAsking;

/** The person who is asked, and the request. */
export interface Asked {
  readonly session: string;
  readonly person: { readonly name: string; readonly email: string; readonly recently_authenticated: boolean };
  readonly brokerages: readonly string[];
  /**
   * The writing tools that the person has turned on, for any of their clients: these grants remain when a connection
   * ends.
   */
  readonly grants: readonly LiveToolGrant[];
  readonly clientId: string;
  readonly redirectUri: string;
  /** Path and query of this page. */
  readonly here: string;
}

interface Consenting extends Asked {
  readonly client: AskingClient;
  readonly features: Config['features'];
  /** Number of writing tools that are turned on for this client. */
  readonly toolsOn: number;
  /** Scopes that the person had unticked when the page was shown before. */
  readonly unticked: readonly string[];
  readonly request: ConsentRequest;
}

/** Letters outside the Latin script, which can look like Latin ones; and, below, hosts with such letters (Punycode). */
const lookAlike = /[^\P{L}\p{Script=Latin}]/u;
const isInternational = (host: string): boolean => /(^|\.)xn--/.test(host);

/** The facts and warnings about a client with a metadata document, for the person to read before accepting. */
function ofDocument({ document, known }: DocumentAsking, redirectUri: string): Html {
  const { hostname } = new URL(document.url);
  const answered = new URL(redirectUri).hostname;
  const elsewhere = !isLoopback(redirectUri) && answered !== hostname && !answered.endsWith(`.${hostname}`);
  const changed =
    known !== null &&
    (known.name !== document.name || known.redirect_uris.join(' ') !== document.redirectUris.join(' '));
  return html`<dl>
      <dt>Published by</dt>
      <dd><strong>${hostname}</strong><br /><small class="whole">${document.url}</small></dd>
      <dt>Known to you</dt>
      <dd>
        ${
          known === null
            ? html`<strong>New</strong>: you have not connected it before.`
            : html`You first connected it on ${dayInWords(known.created_at)}.`
        }
      </dd>
    </dl>
    ${
      known === null &&
      html`<p class="notice warn">
        Nobody here has reviewed this client. Its name is what ${hostname} says. Allow it only if you started the
        connection yourself and know ${hostname}.
      </p>`
    }
    ${
      changed &&
      html`<p class="notice warn">
        It has changed since you agreed to
        it${known.name === document.name ? ': its responses may go to other addresses' : html`: it was called “<bdi>${known.name}</bdi>”`}.
      </p>`
    }
    ${
      elsewhere &&
      html`<p class="notice warn">Its responses go to ${answered}, which is not ${hostname}, where it is from.</p>`
    }
    ${
      (isInternational(hostname) || isInternational(answered) || lookAlike.test(document.name)) &&
      html`<p class="notice warn">
        Its name or address has letters that can look like others. Compare the address shown here with the one that you
        expect.
      </p>`
    }`;
}

/** The consent page: a form that works without scripts. */
export function consentPage(c: Context, consenting: Consenting): Response {
  const { session, person, brokerages, client, request, here } = consenting;
  const { host } = new URL(request.redirectUri);
  const name = client.kind === 'document' ? client.document.name : (client.client.name ?? 'This client');
  // Anybody can publish a document: who it is from comes first, and its name is set apart from our own words.
  const publisher = client.kind === 'document' ? new URL(client.document.url).hostname : null;
  const loopback = html`<p class="notice warn">
    The response goes to a program on this computer. Any program here could be waiting for it: allow this only if you
    have just started the connection yourself.
  </p>`;
  const body = html`${lockup(name)}
    <h1>
      Let ${publisher === null ? html`<bdi>${name}</bdi>` : html`<span class="host">${publisher}</span>`} use Dealkeep
      in your name?
    </h1>
    ${publisher !== null && name !== publisher && html`<p class="own-name">It calls itself “<bdi>${name}</bdi>”.</p>`}
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
          ${request.scopes.map((scope) => scopeChoice(scope, consenting))}
        </fieldset>
        <p class="never">
          It never sees more than you do. It cannot open documents, make or accept offers, or change your account.
        </p>
        <dl>
          <dt>Responses go to</dt>
          <dd><strong>${host}</strong></dd>
          ${
            client.kind === 'registered' &&
            html`<dt>Registered by</dt>
              <dd>${registeredBy(client.client)}</dd>`
          }
        </dl>
        ${client.kind === 'document' && ofDocument(client, request.redirectUri)}
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
      <a href="${clientsPath}" ${inNewTab}>Connected clients</a>.
    </p>`;
  return page(c, {
    title: `Connect ${publisher ?? name}`,
    person: { name: person.name, signOut: signOutPath(here) },
    formAction: 'anywhere',
    body,
  });
}
