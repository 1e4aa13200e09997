/** /settings/clients: the programs that a person lets use the tool server in their name. */

import { Hono, type Context } from 'hono';
import type { Services } from '../../services.ts';
import {
  administeredBrokerages,
  changeClient,
  connectedClient,
  connectedClients,
  createClient,
  deleteClient,
  disableClient,
  disconnectClient,
  shareClient,
  type Brokerage,
  type ConnectedClient,
} from '../../domain/clients/connected-clients.ts';
import type { Origin } from '../../domain/audit/origin.ts';
import { html, type Html } from '../../http/html.ts';
import { originOf } from '../../http/origin.ts';
import { ownValue } from '../../http/own-value.ts';
import { problem } from '../../http/pages.ts';
import { canonicalResource } from '../../http/resource-metadata.ts';
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
import { clientFields, presetForm, presetLinks, readClientForm, type ClientForm } from './client-form.ts';

const path = '/settings/clients';
const noClient = 'There is no such client, or it is not yours to change.';

const told: Record<string, string> = {
  created: 'The client is registered. Give its client_id to the program that you want to connect.',
  changed: 'The client is changed.',
  deleted: 'The client is deleted, and nothing that it was given works any more.',
  disconnected: 'The client is disconnected: what it was given stopped working at once.',
  disabled:
    'The client is switched off, and what it was given has ended. When it is switched on again, it is connected anew.',
  enabled: 'The client is switched on again.',
  shared: 'The client now works for every member of the brokerage.',
  unshared: 'The client works for you alone again: what others gave it has ended.',
};

const doneOf = (c: Context): string | undefined => ownValue(told, c.req.query('done'));

function state(client: ConnectedClient): string {
  if (client.disabled) return 'switched off';
  return client.scopes === null ? 'not connected' : `connected with ${client.scopes.join(' and ')}`;
}

function clientRow(c: Context, client: ConnectedClient): Html {
  return html`<li>
    <span class="grow">
      <a href="${path}/${client.id}">${client.name}</a>${
        client.brokerage_name === null ? null : html` <small>shared with ${client.brokerage_name}</small>`
      }<br />
      <small>
        ${state(client)} · registered ${day(client.created_at)} ·
        ${client.last_used_at === null ? 'never used' : `last used ${moment(client.last_used_at)}`}
      </small>
    </span>
    ${client.scopes === null ? null : action(c, client, 'disconnect', 'Disconnect', 'second small')}
  </li>`;
}

function listBody(c: Context, toolServer: string, clients: readonly ConnectedClient[], form: ClientForm): Html {
  return html`<p class="lead">
      Programs that you let look at your deals through the tool server, <code>${toolServer}</code>. Each sees what you
      see, and writes only where you have turned that on.
    </p>
    <section class="card">
      ${
        clients.length === 0
          ? html`<p class="quiet">You have no clients yet. Register the one that you want to connect.</p>`
          : html`<ul class="rows">
              ${clients.map((client) => clientRow(c, client))}
            </ul>`
      }
    </section>
    <section class="card" id="new">
      <h2>Register a client</h2>
      ${presetLinks()}
      <form method="post" action="${path}">${csrfOf(c)} ${clientFields(form)}<button>Register</button></form>
    </section>`;
}

function action(c: Context, client: ConnectedClient, name: string, label: string, kind = 'second'): Html {
  return html`<form method="post" action="${path}/${client.id}/${name}">
    ${csrfOf(c)}<button class="${kind}">${label}</button>
  </form>`;
}

function sharing(c: Context, client: ConnectedClient, brokerages: readonly Brokerage[]): Html | null {
  if (client.brokerage_id !== null)
    return action(c, client, 'unshare', `Stop sharing with ${client.brokerage_name ?? 'the brokerage'}`);
  if (brokerages.length === 0) return null;
  return html`<form method="post" action="${path}/${client.id}/share">
    ${csrfOf(c)}
    <label for="brokerage">Let every member of a brokerage use it</label>
    <select id="brokerage" name="brokerage">
      ${brokerages.map(({ id, name }) => html`<option value="${id}">${name}</option>`)}
    </select>
    <button class="second">Share</button>
  </form>`;
}

function clientBody(c: Context, client: ConnectedClient, brokerages: readonly Brokerage[], form: ClientForm): Html {
  const manage = html`<section class="card">
      <h2>Change</h2>
      <form method="post" action="${path}/${client.id}">${csrfOf(c)} ${clientFields(form)}<button>Save</button></form>
    </section>
    <section class="card">
      <h2>Sharing</h2>
      ${sharing(c, client, brokerages) ?? html`<p class="quiet">An admin of a brokerage can share a client with its members.</p>`}
    </section>
    <section class="card">
      <h2>Ending</h2>
      <div class="actions">
        ${client.disabled ? action(c, client, 'enable', 'Switch on') : action(c, client, 'disable', 'Switch off')}
        ${action(c, client, 'delete', 'Delete', 'danger')}
      </div>
    </section>`;
  return html`<section class="card">
      <dl>
        <dt>client_id</dt>
        <dd><code>${client.id}</code></dd>
        <dt>Registered by</dt>
        <dd>${client.created_by_name ?? 'somebody who is no longer here'}, on ${day(client.created_at)}</dd>
        <dt>State</dt>
        <dd>${state(client)}</dd>
        <dt>Connected since</dt>
        <dd>${moment(client.connected_at)}</dd>
        <dt>Last used</dt>
        <dd>${moment(client.last_used_at)}</dd>
        ${
          client.manageable
            ? null
            : html`<dt>Redirect URIs</dt>
                <dd>${client.redirect_uris.map((uri) => html`<code>${uri}</code><br />`)}</dd>`
        }
      </dl>
      <p><a href="${path}/${client.id}/tools">Tools that may write through this client</a></p>
      ${client.scopes === null ? null : action(c, client, 'disconnect', 'Disconnect')}
    </section>
    ${client.manageable ? manage : null}`;
}

/** The routes. */
export function clientPages(services: Services): Hono {
  const routes = new Hono();

  const list = async (c: Context, form: ClientForm, refused?: string) => {
    const found = await asPerson(services, c, connectedClients());
    if (found instanceof Response) return found;
    const [person, clients] = found;
    const status = form.faults.length > 0 || refused ? 400 : 200;
    return settingsPage(c, person, {
      title: 'Connected clients',
      body: listBody(c, canonicalResource(services.config.baseUrl), clients, form),
      done: doneOf(c),
      refused,
      status,
    });
  };

  const show = async (c: Context, id: string, typed?: ClientForm) => {
    const found = await asPerson(services, c, connectedClient(id), administeredBrokerages());
    if (found instanceof Response) return found;
    const [person, client, brokerages] = found;
    if (client === null) return notThere(c, noClient);
    const form = typed ?? { details: { name: client.name, redirectUris: client.redirect_uris }, faults: [] };
    const body = clientBody(c, client, brokerages, form);
    return settingsPage(c, person, {
      title: client.name,
      body,
      done: doneOf(c),
      status: form.faults.length > 0 ? 400 : 200,
    });
  };

  routes.get(path, (c) => list(c, presetForm(c.req.query('preset'))));
  routes.get(`${path}/:id`, (c) => {
    const id = idInPath(c);
    return id === null ? notThere(c, noClient) : show(c, id);
  });

  routes.post(path, async (c) => {
    const form = readClientForm(await formOf(c));
    if (form.faults.length > 0) return list(c, form);
    const made = await changeAsPerson(services, c, createClient(form.details, originOf(c)));
    if (made instanceof Response) return made;
    return 'refused' in made ? list(c, form, made.refused) : c.redirect(`${path}/${made.done}?done=created`, 303);
  });

  routes.post(`${path}/:id`, async (c) => {
    const id = idInPath(c);
    if (id === null) return notThere(c, noClient);
    const form = readClientForm(await formOf(c));
    if (form.faults.length > 0) return show(c, id, form);
    const changed = await changeAsPerson(services, c, changeClient(id, form.details, originOf(c)));
    if (changed instanceof Response) return changed;
    return 'done' in changed && changed.done ? c.redirect(`${path}/${id}?done=changed`, 303) : notThere(c, noClient);
  });

  const actions = {
    disconnect: { change: disconnectClient, done: 'disconnected' },
    delete: { change: deleteClient, done: 'deleted' },
    disable: {
      change: (id: string, from: Origin) => disableClient(id, true, from),
      done: 'disabled',
    },
    enable: {
      change: (id: string, from: Origin) => disableClient(id, false, from),
      done: 'enabled',
    },
    unshare: {
      change: (id: string, from: Origin) => shareClient(id, null, from),
      done: 'unshared',
    },
  };
  for (const [name, { change, done }] of Object.entries(actions)) {
    routes.post(`${path}/:id/${name}`, async (c) => {
      const id = idInPath(c);
      if (id === null) return notThere(c, noClient);
      const changed = await asPerson(services, c, change(id, originOf(c)));
      if (changed instanceof Response) return changed;
      return changed[1] ? c.redirect(`${path}?done=${done}`, 303) : notThere(c, noClient);
    });
  }

  routes.post(`${path}/:id/share`, async (c) => {
    const id = idInPath(c);
    const brokerage = (await formOf(c)).get('brokerage') ?? '';
    if (id === null || !/^[0-9a-f-]{36}$/.test(brokerage)) return notThere(c, noClient);
    const changed = await changeAsPerson(services, c, shareClient(id, brokerage, originOf(c)), `${path}/${id}`);
    if (changed instanceof Response) return changed;
    if ('refused' in changed)
      return problem(c, 403, 'not_an_admin', 'Only an admin of a brokerage shares a client with it.');
    return changed.done ? c.redirect(`${path}?done=shared`, 303) : notThere(c, noClient);
  });

  return routes;
}
