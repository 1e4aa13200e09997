/** /settings/deals/:id/tools: whether tools may write on a deal, for oneself and (brokers) for anybody; /settings/tools leads there. */

import { Hono, type Context } from 'hono';
import type { Services } from '../../services.ts';
import { connectedClients } from '../../domain/clients/connected-clients.ts';
import {
  dealsToolWriting,
  dealToolWriting,
  optInDeal,
  optOutDeal,
  stopDealTools,
  type DealToolWriting,
} from '../../domain/clients/deal-opt-ins.ts';
import { html, type Html } from '../../http/html.ts';
import { originOf } from '../../http/origin.ts';
import {
  asPerson,
  changeAsPerson,
  csrfOf,
  endOfDay,
  formOf,
  idInPath,
  moment,
  notThere,
  settingsPage,
} from './as-person.ts';

const noDeal = 'There is no such deal, or you do not see it.';

function standing({ active, expires_at, opted_in_at, stopped_at }: DealToolWriting): string {
  if (stopped_at !== null) return 'shut off for everybody';
  if (active) return expires_at === null ? 'on' : `on until ${moment(expires_at)}`;
  return opted_in_at === null ? 'off' : `ended on ${moment(expires_at)}`;
}

function ownSwitch(c: Context, { active, opted_in_at }: DealToolWriting): Html {
  return html`<form method="post">
    ${csrfOf(c)}
    <label for="until">Until (optional; to the end of that day, UTC)</label>
    <input id="until" type="date" name="until" />
    <div class="actions">
      <button name="turn" value="on">${active ? 'Change the end' : 'Let tools write here'}</button>
      ${opted_in_at === null ? null : html`<button name="turn" value="off" class="second">Turn off</button>`}
    </div>
  </form>`;
}

function brokersStop(c: Context, { stopped_at }: DealToolWriting): Html {
  return html`<section class="card">
    <h2>For everybody on the deal</h2>
    <p>
      As a broker of the deal you can shut writing through tools off for all of its people, whatever they have turned
      on.
    </p>
    <form method="post">
      ${csrfOf(c)}
      ${
        stopped_at === null
          ? html`<button name="turn" value="stop" class="danger">Shut off for everybody</button>`
          : html`<button name="turn" value="allow" class="second">Allow again</button>`
      }
    </form>
  </section>`;
}

function dealBody(c: Context, writing: DealToolWriting): Html {
  const { title, stopped_at, stopped_by_name, may_stop } = writing;
  return html`<p class="lead">
      Whether tools may write on <strong>${title}</strong> in your name: ask questions, record adjustments and the like.
      Each tool must also be turned on for the client that uses it.
    </p>
    ${
      stopped_at === null
        ? null
        : html`<p class="notice warn">
            ${stopped_by_name ?? 'A broker'} shut writing through tools off for everybody on this deal, on
            ${moment(stopped_at)}.
          </p>`
    }
    <section class="card">
      <h2>For you: ${standing(writing)}</h2>
      ${ownSwitch(c, writing)}
    </section>
    ${may_stop ? brokersStop(c, writing) : null}`;
}

/** The routes. */
export function dealToolPages(services: Services): Hono {
  const routes = new Hono();
  const path = '/settings/deals/:id/tools';

  routes.get('/settings/tools', async (c) => {
    const found = await asPerson(services, c, connectedClients(), dealsToolWriting());
    if (found instanceof Response) return found;
    const [person, clients, deals] = found;
    const body = html`<p class="lead">
        Writing through a tool needs both: the tool turned on for the client that uses it, and the deal opened to tools
        by you.
      </p>
      <section class="card">
        <h2>By client</h2>
        ${clients.length === 0 ? html`<p class="quiet">You have no <a href="/settings/clients">clients</a> yet.</p>` : null}
        <ul class="rows">
          ${clients.map(({ id, name }) => html`<li><a class="grow" href="/settings/clients/${id}/tools">${name}</a></li>`)}
        </ul>
      </section>
      <section class="card">
        <h2>By deal</h2>
        ${deals.length === 0 ? html`<p class="quiet">You see no deals.</p>` : null}
        <ul class="rows">
          ${deals.map(
            (deal) =>
              html`<li>
                <a class="grow" href="/settings/deals/${deal.deal_id}/tools">${deal.title}</a
                ><span class="quiet">${standing(deal)}</span>
              </li>`,
          )}
        </ul>
      </section>`;
    return settingsPage(c, person, { title: 'Writing through tools', body });
  });

  const show = async (c: Context, id: string, refused?: string) => {
    const found = await asPerson(services, c, dealToolWriting(id));
    if (found instanceof Response) return found;
    const [person, writing] = found;
    if (writing === null) return notThere(c, noDeal);
    const done = c.req.query('done') === 'yes' ? 'Saved.' : undefined;
    return settingsPage(c, person, {
      title: 'Tools on a deal',
      body: dealBody(c, writing),
      done,
      refused,
      status: refused ? 400 : 200,
    });
  };

  routes.get(path, (c) => {
    const id = idInPath(c);
    return id === null ? notThere(c, noDeal) : show(c, id);
  });

  routes.post(path, async (c) => {
    const id = idInPath(c);
    if (id === null) return notThere(c, noDeal);
    const form = await formOf(c);
    const until = endOfDay(form.get('until'));
    if (until === undefined) return show(c, id, 'Choose a date as year, month and day, or none.');
    const from = originOf(c);
    const turns = {
      on: () => optInDeal(id, until, from),
      off: () => optOutDeal(id, from),
      stop: () => stopDealTools(id, true, from),
      allow: () => stopDealTools(id, false, from),
    };
    const turn = form.get('turn') ?? '';
    if (!Object.hasOwn(turns, turn)) return show(c, id, 'Choose what to turn on or off.');
    const changed = await changeAsPerson(services, c, turns[turn as keyof typeof turns]());
    if (changed instanceof Response) return changed;
    if ('refused' in changed) return show(c, id, changed.refused);
    return changed.done || turn === 'off'
      ? c.redirect(`/settings/deals/${id}/tools?done=yes`, 303)
      : notThere(c, noDeal);
  });

  return routes;
}
