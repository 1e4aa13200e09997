/** /settings/clients/:id/tools: which writing tools a person has turned on for one of their clients. */

import { Hono, type Context } from 'hono';
import type { Services } from '../../services.ts';
import { connectedClient } from '../../domain/clients/connected-clients.ts';
import {
  grantTool,
  isWriteTool,
  toolGrants,
  withdrawTool,
  writeTools,
  writeToolTitles,
  type ToolGrant,
  type WriteTool,
} from '../../domain/clients/tool-grants.ts';
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

const noClient = 'There is no such client that works for you.';

function standing(grant: ToolGrant | undefined): string {
  if (grant === undefined) return 'off';
  if (grant.expires_at === null) return 'on';
  return grant.active ? `on until ${moment(grant.expires_at)}` : `ended on ${moment(grant.expires_at)}`;
}

function toolRow(c: Context, tool: WriteTool, grant: ToolGrant | undefined): Html {
  const on = grant?.active ?? false;
  return html`<li>
    <span class="grow"
      ><strong>${writeToolTitles[tool]}</strong><br /><small><code>${tool}</code> · ${standing(grant)}</small></span
    >
    <form method="post" class="actions">
      ${csrfOf(c)}<input type="hidden" name="tool" value="${tool}" />
      <label for="until-${tool}">Until (optional)</label>
      <input id="until-${tool}" type="date" name="until" />
      <button name="turn" value="on" class="small">${on ? 'Change the end' : 'Turn on'}</button>
      ${on ? html`<button name="turn" value="off" class="second small">Turn off</button>` : null}
    </form>
  </li>`;
}

/** The routes. */
export function clientToolPages(services: Services): Hono {
  const routes = new Hono();
  const path = '/settings/clients/:id/tools';

  const show = async (c: Context, id: string, refused?: string) => {
    const found = await asPerson(services, c, connectedClient(id), toolGrants(id));
    if (found instanceof Response) return found;
    const [person, client, grants] = found;
    if (client === null) return notThere(c, noClient);
    const body = html`<p class="lead">
        What <a href="/settings/clients/${id}">${client.name}</a> may write in your name. Each tool is off until you
        turn it on; on a deal it also needs that <a href="/settings/tools">you let tools write there</a>. An end counts
        to the end of that day, UTC.
      </p>
      <section class="card">
        <ul class="rows">
          ${writeTools.map((tool) =>
            toolRow(
              c,
              tool,
              grants.find((grant) => grant.tool === tool),
            ),
          )}
        </ul>
      </section>`;
    const done = c.req.query('done') === 'yes' ? 'Saved.' : undefined;
    return settingsPage(c, person, {
      title: `Tools of ${client.name}`,
      body,
      done,
      refused,
      status: refused ? 400 : 200,
    });
  };

  routes.get(path, (c) => {
    const id = idInPath(c);
    return id === null ? notThere(c, noClient) : show(c, id);
  });

  routes.post(path, async (c) => {
    const id = idInPath(c);
    const form = await formOf(c);
    const tool = form.get('tool') ?? '';
    if (id === null || !isWriteTool(tool)) return notThere(c, noClient);
    const until = endOfDay(form.get('until'));
    if (until === undefined) return show(c, id, 'Choose a date as year, month and day, or none.');
    const turned =
      form.get('turn') === 'off' ? withdrawTool(id, tool, originOf(c)) : grantTool(id, tool, until, originOf(c));
    const changed = await changeAsPerson(services, c, turned);
    if (changed instanceof Response) return changed;
    if ('refused' in changed) return show(c, id, changed.refused);
    return changed.done || form.get('turn') === 'off'
      ? c.redirect(`/settings/clients/${id}/tools?done=yes`, 303)
      : notThere(c, noClient);
  });

  return routes;
}
