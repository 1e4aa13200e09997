/** The tool server as the protocol sees it: what it is, which tools it has, and how one is called. */

import { ProtocolError, ProtocolErrorCode, Server, type ServerOptions } from '@modelcontextprotocol/server';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import about from '../../package.json' with { type: 'json' };
import { callTool } from './call.ts';
import { catalog } from './catalog/index.ts';
import type { Exchange } from './exchange.ts';

// Everything that does not depend on who calls is made here, once.
const identity = { name: 'dealkeep', title: 'Dealkeep', version: about.version };
const listed = { tools: catalog.map((tool) => tool.listed) };
const byName = new Map(catalog.map((tool) => [tool.name, tool]));

// The list is the same for everybody and changes with a release; who asks is still nobody else's business.
const fiveMinutes = { ttlMs: 300_000, cacheScope: 'private' } as const;
const options: ServerOptions = {
  capabilities: { tools: { listChanged: false } },
  cacheHints: { 'tools/list': fiveMinutes, 'server/discover': fiveMinutes },
  jsonSchemaValidator: new AjvJsonSchemaValidator(),
};

const shown = (name: string): string => (name.length > 64 ? `${name.slice(0, 64)}…` : name);

/** A server for this one request. */
export function serverFor(exchange: Exchange): Server {
  const server = new Server(identity, options);
  server.setRequestHandler('tools/list', ({ params }) => {
    if (params?.cursor !== undefined) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The list of tools is one page: leave cursor out.');
    }
    return listed;
  });
  server.setRequestHandler('tools/call', ({ params }) => {
    const tool = byName.get(params.name);
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${shown(params.name)}`);
    return callTool(exchange, tool, params.arguments ?? {});
  });
  return server;
}
