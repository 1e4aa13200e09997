/** Third-party MCP clients, each connected with an access token. */

import { createMCPClient } from '@ai-sdk/mcp';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { ToolAnswer } from './scene.ts';

/** The operations of a client that the tests use. */
export interface Peer {
  /** The protocol revision that was negotiated. */
  readonly version: string | undefined;
  list(): Promise<string[]>;
  call(name: string, input?: Record<string, unknown>): Promise<ToolAnswer>;
  close(): Promise<void>;
}

const about = { name: 'peer', version: '1' };
const authorized = (token: string) => ({ requestInit: { headers: { Authorization: `Bearer ${token}` } } });

async function current(url: string, token: string, mode: 'legacy' | 'auto' | { pin: string }): Promise<Peer> {
  const client = new Client(about, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), authorized(token)));
  return {
    version: client.getNegotiatedProtocolVersion(),
    list: async () => (await client.listTools()).tools.map((tool) => tool.name),
    call: async (name, input = {}) => (await client.callTool({ name, arguments: input })) as unknown as ToolAnswer,
    close: () => client.close(),
  };
}

async function earlier(url: string, token: string): Promise<Peer> {
  const client = new EarlierClient(about);
  const transport = new EarlierTransport(new URL(url), authorized(token));
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  return {
    version: transport.protocolVersion,
    list: async () => (await client.listTools()).tools.map((tool) => tool.name),
    call: async (name, input = {}) => (await client.callTool({ name, arguments: input })) as unknown as ToolAnswer,
    close: () => client.close(),
  };
}

async function aiSdk(url: string, token: string): Promise<Peer> {
  const client = await createMCPClient({
    transport: { type: 'http', url, headers: { Authorization: `Bearer ${token}` } },
  });
  const tools = await client.tools();
  return {
    version: undefined,
    list: async () => Object.keys(tools),
    async call(name, input = {}) {
      const execute = tools[name]?.execute as unknown as (input: unknown, options: unknown) => Promise<ToolAnswer>;
      return execute(input, { messages: [], toolCallId: '1' });
    },
    close: () => client.close(),
  };
}

/** How to connect each client. */
export const peers: Record<string, (url: string, token: string) => Promise<Peer>> = {
  'client 2.4.0, legacy': (url, token) => current(url, token, 'legacy'),
  'client 2.4.0, auto': (url, token) => current(url, token, 'auto'),
  'client 2.4.0, pinned to 2026-07-28': (url, token) => current(url, token, { pin: '2026-07-28' }),
  'sdk 1.32.2': earlier,
  '@ai-sdk/mcp': aiSdk,
};
