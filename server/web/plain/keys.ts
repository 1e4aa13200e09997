/** /settings/keys: the API keys of the brokerages that a person administers (specification, section 5.1). */

import { Hono, type Context } from 'hono';
import type { Services } from '../../services.ts';
import { Invalid, Refusal } from '../../database/errors.ts';
import type { Statement } from '../../database/statement.ts';
import {
  apiKeys,
  createApiKey,
  mintApiKey,
  revokeApiKey,
  rotateApiKey,
  type ApiKey,
  type KeyEnvironment,
} from '../../domain/clients/api-keys.ts';
import { administeredBrokerages } from '../../domain/clients/connected-clients.ts';
import { requireRecentSignIn, type SessionCaller } from '../../domain/accounts/sessions.ts';
import { html, type Html } from '../../http/html.ts';
import { originOf } from '../../http/origin.ts';
import { ownValue } from '../../http/own-value.ts';
import { sessionDigest } from '../../http/session.ts';
import {
  asPerson,
  changeAsPerson,
  csrfOf,
  day,
  formOf,
  idInPath,
  moment,
  notThere,
  settingsPage,
} from './as-person.ts';
import { keyFields, readKeyForm, scopeWords } from './key-form.ts';

const path = '/settings/keys';
const reauthenticate = `/re-authenticate?${new URLSearchParams({ return_to: path })}`;
const noKey = 'There is no such API key, or it is not yours to change.';

const told: Record<string, string> = { revoked: 'The key is revoked: it stopped working at once.' };

/** How long the old token may work on after a rotation. */
const overlaps: Record<string, string> = {
  '0': 'stops at once',
  '3600': 'works for another hour',
  '86400': 'works for another day',
  '604800': 'works for another week',
};

const shown = (environment: KeyEnvironment, lastFour: string) => `dk_${environment}_…${lastFour}`;

function rotation(c: Context, { id }: ApiKey): Html {
  return html`<form method="post" action="${path}/${id}/rotate">
    ${csrfOf(c)}
    <label for="overlap-${id}">The old token</label>
    <select id="overlap-${id}" name="overlap">
      ${Object.entries(overlaps).map(
        ([seconds, words]) =>
          html`<option value="${seconds}" ${seconds === '86400' && html` selected`}>${words}</option>`,
      )}
    </select>
    <button class="second small">Rotate</button>
  </form>`;
}

function keyCard(c: Context, key: ApiKey, recently: boolean): Html {
  const active = key.state === 'active';
  const overlapping = active && key.previous_valid_until !== null && key.previous_last_four !== null;
  return html`<section class="card">
    <h3>${key.name}</h3>
    <dl>
      <dt>Token</dt>
      <dd><code>${shown(key.environment, key.last_four)}</code></dd>
      <dt>May</dt>
      <dd>${key.scopes.map((scope) => scopeWords[scope]).join(', ')}</dd>
      <dt>Limit</dt>
      <dd>${key.ceiling === null ? 'the usual one' : `${key.ceiling} requests a minute`}</dd>
      <dt>Created</dt>
      <dd>${day(key.created_at)} by ${key.created_by_name ?? 'somebody who is no longer here'}</dd>
      <dt>Last used</dt>
      <dd>${moment(key.last_used_at)}</dd>
      <dt>State</dt>
      <dd>
        ${active ? (key.expires_at === null ? 'works' : `works until ${moment(key.expires_at)}`) : null}
        ${key.state === 'expired' && `expired on ${moment(key.expires_at)}`}
        ${key.state === 'revoked' && `revoked on ${moment(key.revoked_at)}`}
      </dd>
      ${
        overlapping &&
        html`<dt>Token before</dt>
          <dd>
            <code>${shown(key.environment, key.previous_last_four ?? '')}</code>, until
            ${moment(key.previous_valid_until)}
          </dd>`
      }
    </dl>
    ${
      active &&
      html`<div class="actions">
        ${recently && rotation(c, key)}
        <form method="post" action="${path}/${key.id}/revoke">
          ${csrfOf(c)}<button class="danger small">Revoke</button>
        </form>
      </div>`
    }
  </section>`;
}

type Brokerages = readonly { id: string; name: string }[];

function listBody(
  c: Context,
  person: SessionCaller,
  keys: readonly ApiKey[],
  brokerages: Brokerages,
  typed: URLSearchParams,
): Html {
  if (brokerages.length === 0)
    return html`<p class="lead">API keys are managed by the admins of a brokerage. You are not one.</p>`;
  const recently = person.recently_authenticated;
  const create = recently
    ? html`<section class="card" id="new">
        <h2>Create a key</h2>
        <form method="post" action="${path}">${csrfOf(c)} ${keyFields(brokerages, typed)}<button>Create</button></form>
      </section>`
    : html`<p class="notice warn">
        To create or rotate a key, <a href="${reauthenticate}">confirm that it is you</a> first.
      </p>`;
  return html`<p class="lead">
      With a key a program reads and adds the contacts of your brokerage through the
      <a href="/api/v1/docs">REST API</a>. It stops working when whoever created it leaves the brokerage.
    </p>
    ${create}
    ${brokerages.map(({ id, name }) => {
      const own = keys.filter((key) => key.brokerage_id === id);
      return html`<h2>${name}</h2>
        ${own.length === 0 ? html`<p class="quiet">No keys yet.</p>` : own.map((key) => keyCard(c, key, recently))}`;
    })}`;
}

function tokenPage(c: Context, person: SessionCaller, token: string): Response {
  return settingsPage(c, person, {
    title: 'The new token',
    body: html`<section class="card">
      <p>Copy it now: it is shown this once, and only its digest is kept.</p>
      <pre class="code" id="token">${token}</pre>
      <p><a class="button" href="${path}">I have copied it</a></p>
    </section>`,
  });
}

/** The routes. */
export function keyPages(services: Services): Hono {
  const routes = new Hono();

  const list = async (c: Context, refused?: string, typed = new URLSearchParams()) => {
    const found = await asPerson(services, c, apiKeys(), administeredBrokerages());
    if (found instanceof Response) return found;
    const [person, keys, brokerages] = found;
    const body = listBody(c, person, keys, brokerages, typed);
    const status = refused === undefined ? 200 : 400;
    return settingsPage(c, person, {
      title: 'API keys',
      body,
      done: ownValue(told, c.req.query('done')),
      refused,
      status,
    });
  };

  /** Makes a change that a token comes from, and shows the token; only to somebody who proved lately who they are. */
  const issue = async (c: Context, change: Statement<unknown>, token: string, typed?: URLSearchParams) => {
    try {
      const found = await asPerson(services, c, requireRecentSignIn(sessionDigest(c)), change);
      return found instanceof Response ? found : tokenPage(c, found[0], token);
    } catch (error) {
      if (!(error instanceof Refusal || error instanceof Invalid)) throw error;
      const stale = error instanceof Refusal && error.reason === 'recent_sign_in_required';
      return stale ? c.redirect(reauthenticate, 303) : list(c, error.message, typed);
    }
  };

  routes.get(path, (c) => list(c));

  routes.post(path, async (c) => {
    const form = await formOf(c);
    const read = readKeyForm(form);
    if ('fault' in read) return list(c, read.fault, form);
    const minted = mintApiKey(read.key.environment);
    return issue(c, createApiKey(read.key, minted, originOf(c)), minted.token, form);
  });

  routes.post(`${path}/:id/rotate`, async (c) => {
    const overlap = (await formOf(c)).get('overlap') ?? '';
    if (!Object.hasOwn(overlaps, overlap)) return list(c, 'Choose how long the old token works on.');
    const found = await asPerson(services, c, apiKeys());
    if (found instanceof Response) return found;
    const key = found[1].find(({ id }) => id === c.req.param('id'));
    if (key === undefined) return notThere(c, noKey);
    const minted = mintApiKey(key.environment);
    return issue(c, rotateApiKey(key.id, Number(overlap), minted, originOf(c)), minted.token);
  });

  routes.post(`${path}/:id/revoke`, async (c) => {
    const id = idInPath(c);
    if (id === null) return notThere(c, noKey);
    const revoked = await changeAsPerson(services, c, revokeApiKey(id, originOf(c)));
    if (revoked instanceof Response) return revoked;
    return 'refused' in revoked ? list(c, revoked.refused) : c.redirect(`${path}?done=revoked`, 303);
  });

  return routes;
}
