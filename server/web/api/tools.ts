/** Which tools may write on the person's behalf: through which clients, and on which deals. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import type { Results } from '../../database/database.ts';
import type { Statement } from '../../database/statement.ts';
import { connectedClients, type ConnectedClient } from '../../domain/clients/connected-clients.ts';
import { liveOptIns } from '../../domain/clients/deal-opt-ins.ts';
import { grantTool, liveToolGrants, withdrawTool, type ToolFacts } from '../../domain/clients/tool-grants.ts';
import { originOf } from '../../http/origin.ts';
import { asPerson } from '../../http/person.ts';
import { nothingThere } from '../../http/problem.ts';
import { body, id, instant, optional, pathId } from './input.ts';

const shownClient = ({ id: client, name, metadata_url, scopes, disabled }: ConnectedClient) => ({
  id: client,
  name,
  /** Where its document is, which alone says what it is called; null when it was registered here. */
  host: metadata_url === null ? null : new URL(metadata_url).hostname,
  connected: scopes !== null,
  // A writing tool also needs the scope, which is granted when the client is authorized.
  may_write: scopes?.includes('mcp:write') ?? false,
  disabled,
});

/** The tool routes, below /api/web. */
export function toolRoutes(services: Services, tools: readonly ToolFacts[]) {
  const writing = tools.filter(({ writes }) => writes);
  const Grant = z.strictObject({
    client_id: id,
    tool: z.enum(
      writing.map(({ name }) => name),
      { error: 'Choose a tool.' },
    ),
    expires_at: optional(instant),
  });

  const settings = () => [connectedClients(), liveToolGrants(), liveOptIns()] as const;
  const answer = (c: Context, ...[clients, grants, optIns]: Results<ReturnType<typeof settings>>) =>
    c.json({
      clients: clients.map(shownClient),
      write_tools: writing.map(({ name, title, available }) => ({ name, title, available })),
      grants,
      opt_ins: optIns,
    });
  const change = async (c: Context, statement: Statement<boolean>) => {
    const [done, ...found] = await asPerson(services, c, statement, ...settings());
    return { done, found };
  };

  return new Hono()
    .get('/tools', async (c) => answer(c, ...(await asPerson(services, c, ...settings()))))

    .put('/tools/grants', body(Grant), async (c) => {
      const { client_id, tool, expires_at } = c.req.valid('json');
      const { done, found } = await change(c, grantTool(client_id, tool, expires_at, originOf(c)));
      if (!done) throw nothingThere();
      return answer(c, ...found);
    })

    .delete('/tools/grants/:client_id/:tool', async (c) => {
      const tool = c.req.param('tool');
      if (!writing.some(({ name }) => name === tool)) throw nothingThere();
      // Turning it off again is not an error.
      const { found } = await change(c, withdrawTool(pathId(c, 'client_id'), tool, originOf(c)));
      return answer(c, ...found);
    });
}
