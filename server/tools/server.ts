/** The tool server as the protocol defines it: identity, tools, resources and prompts. */

import {
  CLIENT_CAPABILITIES_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type JSONRPCMessage,
  type ServerOptions,
  type Tool as ListedTool,
  type Transport,
} from '@modelcontextprotocol/server';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import { callTool } from './call.ts';
import type { Config } from '../config/config.ts';
import { catalog, listedWith, toolNamed } from './catalog/index.ts';
import { askingPerson } from './elicitation.ts';
import { isObject, type RequestContext } from './request-context.ts';
import type { Sealer } from '../http/sealed-cursor.ts';
import { iconsOf, identity } from './identity.ts';
import { shown } from './inputs.ts';
import { instructions } from './instructions.ts';
import { completeArgument, getPrompt, listPrompts } from './prompts.ts';
import { documentTemplate, listResources, readResource } from './resources.ts';
import { initializedVersions } from './versions.ts';
import { extension, uriOf, type StaticResource } from './views.ts';

// The lists are the same for everybody and change only with a release; they are still private, because only callers
// with a token get them.
const fiveMinutes = { ttlMs: 300_000, cacheScope: 'private' } as const;

const options: ServerOptions = {
  supportedProtocolVersions: [...initializedVersions],
  capabilities: {
    tools: { listChanged: false },
    resources: { listChanged: false, subscribe: false },
    prompts: { listChanged: false },
    completions: {},
  },
  cacheHints: {
    'tools/list': fiveMinutes,
    'prompts/list': fiveMinutes,
    // Documents are added and removed, and who may open them changes.
    'resources/list': { ttlMs: 0, cacheScope: 'private' },
    'resources/templates/list': fiveMinutes,
    'resources/read': fiveMinutes,
    'server/discover': fiveMinutes,
  },
  instructions,
  jsonSchemaValidator: new AjvJsonSchemaValidator(),
};

/** The errors that an SDK error lists as JSON, each with its path; null when it lists none. */
function faultsIn(text: string): { path: PropertyKey[]; message: string }[] | null {
  const start = text.indexOf('[\n');
  if (start < 0 || !text.endsWith(']')) return null;
  try {
    return JSON.parse(text.slice(start)) as { path: PropertyKey[]; message: string }[];
  } catch {
    return null;
  }
}

/** Replaces the SDK's list of schema errors for a malformed request by a sentence. */
function inWords(message: JSONRPCMessage): JSONRPCMessage {
  const faults = 'error' in message ? faultsIn(message.error.message) : null;
  if (!('error' in message) || faults === null) return message;
  const sentence = faults.map(({ path, message: fault }) => `${path.join('.')}: ${fault}`).join('; ');
  return {
    ...message,
    error: { code: ProtocolErrorCode.InvalidParams, message: `Invalid params: ${sentence.slice(0, 300)}` },
  };
}

class PlainServer extends Server {
  override async connect(transport: Transport): Promise<void> {
    const send = transport.send.bind(transport);
    transport.send = (message, more) => send(inWords(message), more);
    await super.connect(transport);
    // None of our handlers makes requests to the client or uses the abort signal, and a server serves one request: the
    // SDK's own handler would create an error with a stack on closing, for every request.
    Object.assign(transport, { onclose: () => this.onclose?.() });
  }
}

/** Throws when a cursor is sent, since the list has only one page. */
function refuseCursor(what: string, cursor: string | undefined): void {
  if (cursor === undefined) return;
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `The list of ${what} has one page: leave cursor out.`);
}

/**
 * Whether a client declares its capabilities in the request, without showing views among them. Clients of 2025 do not
 * declare them there.
 */
function showsNoViews(envelope: Readonly<Record<string, unknown>> = {}): boolean {
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY];
  return isObject(capabilities) && !(isObject(capabilities['extensions']) && extension in capabilities['extensions']);
}

/**
 * Creates the server of one request. `views` are the resources that display results; `sealerOf` seals the cursors of
 * lists.
 */
export function openServer(
  views: readonly StaticResource[],
  sealerOf: () => Promise<Sealer>,
): (context: RequestContext) => Server {
  const resources = new Map(views.map((view) => [view.listed.uri, view]));
  // One configuration per process, but several in the tests.
  const lists = new WeakMap<Config, Record<'tools' | 'drawn', ListedTool[]>>();
  function listsFor(config: Config): Record<'tools' | 'drawn', ListedTool[]> {
    const made = lists.get(config);
    if (made) return made;
    const tools = catalog.map((tool) => listedWith(tool, config.features));
    const drawn = tools.map((listed, at) => {
      const view = catalog[at]?.view;
      const resourceUri = view && uriOf(view);
      return resourceUri && resources.has(resourceUri) ? { ...listed, _meta: { ui: { resourceUri } } } : listed;
    });
    lists.set(config, { tools, drawn });
    return { tools, drawn };
  }
  return (context) => {
    const { config } = context.services;
    const server = new PlainServer({ ...identity, icons: iconsOf(config.baseUrl) }, options);
    server.setRequestHandler('tools/list', ({ params }, { mcpReq }) => {
      refuseCursor('tools', params?.cursor);
      const { tools, drawn } = listsFor(config);
      return { tools: showsNoViews(mcpReq.envelope) ? tools : drawn };
    });
    server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
      const tool = toolNamed(params.name);
      if (!tool)
        throw new ProtocolError(
          ProtocolErrorCode.InvalidParams,
          `Unknown tool: ${shown(params.name)}. tools/list names the tools.`,
        );
      const { misfits } = context;
      const given = misfits.has(mcpReq.id) ? misfits.get(mcpReq.id) : (params.arguments ?? {});
      const result = await callTool(context, { tool, given, meta: params['_meta'] ?? {} });
      return askingPerson(result, tool.listed.title ?? tool.name, mcpReq);
    });
    server.setRequestHandler('resources/list', ({ params }) => listResources(context, views, sealerOf, params?.cursor));
    server.setRequestHandler('resources/templates/list', ({ params }) => {
      refuseCursor('templates', params?.cursor);
      return { resourceTemplates: [documentTemplate(config.baseUrl)] };
    });
    server.setRequestHandler('resources/read', ({ params }) => readResource(context, resources, params.uri));
    server.setRequestHandler('prompts/list', ({ params }) => {
      refuseCursor('prompts', params?.cursor);
      return { prompts: listPrompts(config) };
    });
    server.setRequestHandler('prompts/get', ({ params }) =>
      getPrompt(context.services, params.name, params.arguments ?? {}),
    );
    server.setRequestHandler('completion/complete', ({ params }) =>
      completeArgument(context, params.ref, params.argument),
    );
    return server;
  };
}
