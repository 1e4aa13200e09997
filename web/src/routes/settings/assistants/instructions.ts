/**
 * Instructions for connecting each host (an assistant or editor) on its own side: the steps there, and the lines to
 * paste.
 */

import type { Clients } from '../../../api/shapes.ts';

/** A host that can be connected. */
export type Preset = Clients['presets'][number];

/** The values filled into the instructions. */
export interface Connection {
  /** URL of the tool server. */
  readonly address: string;
  /** Null for a host that identifies itself and needs no client id. */
  readonly clientId: string | null;
  /** Name of the connection on the host's side: letters, digits and hyphens. */
  readonly name: string;
}

export interface Step {
  readonly text: string;
  /** Lines to paste, each separately. */
  readonly lines?: readonly string[];
}

interface HostInstructions {
  readonly steps: readonly Step[];
  /** A problem that may come up, and what to do about it. */
  readonly note?: string;
}

const json = (value: object): string => JSON.stringify(value, null, 2);
const given = (clientId: string | null, with_: (id: string) => object): object =>
  clientId === null ? {} : with_(clientId);
const idLine = (clientId: string | null): readonly string[] => (clientId === null ? [] : [clientId]);

const ownAddress =
  'If it uses a redirect address of its own, the page that refuses it shows that address and offers to add it.';
const signIn: Step = {
  text: 'Your browser opens here. Sign in if you are asked to, look at what it asks for, and allow it.',
};

/** The instructions by the id of the preset. */
export const ways: Readonly<Record<Preset['id'], (connection: Connection) => HostInstructions>> = {
  claude: ({ address, clientId }) => ({
    steps: [
      {
        text: 'In Claude, on the web or in the desktop app, open Settings, Connectors, and choose “Add custom connector”.',
      },
      { text: 'Paste this as the remote MCP server URL.', lines: [address] },
      ...(clientId === null
        ? []
        : [
            {
              text: 'Under “Advanced settings”, paste this as the OAuth Client ID. Leave the secret empty.',
              lines: [clientId],
            },
          ]),
      { text: 'Choose “Add”, then “Connect”.' },
      signIn,
    ],
  }),
  'claude-code': ({ address, clientId, name }) => ({
    steps: [
      {
        text: 'Run this in a terminal.',
        lines: [
          `claude mcp add --transport http ${clientId === null ? '' : `--client-id ${clientId} `}${name} ${address}`,
        ],
      },
      { text: `Start claude, type /mcp, choose ${name} and “Authenticate”.` },
      signIn,
    ],
  }),
  chatgpt: ({ address, clientId }) => ({
    steps: [
      {
        text: 'In ChatGPT on the web, open Settings, Apps & Connectors, turn on developer mode under “Advanced”, and choose “Create”.',
      },
      { text: 'Paste this as the MCP server URL, and choose OAuth.', lines: [address] },
      ...(clientId === null
        ? []
        : [
            {
              text: 'Choose “User-defined OAuth client”, and paste this as the client ID. Leave the secret empty.',
              lines: [clientId],
            },
          ]),
      { text: 'Choose “Create”, then “Connect”.' },
      signIn,
    ],
    ...(clientId !== null && {
      note: 'ChatGPT makes a callback URL of its own for some connectors (https://chatgpt.com/connector/oauth/…). You can add it to the client under Connected clients first; otherwise the page that refuses it offers to add it.',
    }),
  }),
  codex: ({ address, clientId, name }) => ({
    steps: [
      clientId === null
        ? { text: 'Run this in a terminal.', lines: [`codex mcp add ${name} --url ${address}`] }
        : {
            text: 'Put this into ~/.codex/config.toml.',
            lines: [
              [
                `[mcp_servers.${name}]`,
                `url = "${address}"`,
                '',
                `[mcp_servers.${name}.oauth]`,
                `client_id = "${clientId}"`,
              ].join('\n'),
            ],
          },
      { text: 'Run this in a terminal.', lines: [`codex mcp login ${name}`] },
      signIn,
    ],
    note: `Some versions of Codex add to their redirect address. ${ownAddress}`,
  }),
  vscode: ({ address, clientId, name }) => ({
    steps: [
      {
        text: 'In VS Code, run the command “MCP: Open User Configuration”, and put this into the file.',
        lines: [
          json({
            servers: {
              [name]: { type: 'http', url: address, ...given(clientId, (id) => ({ oauth: { clientId: id } })) },
            },
          }),
        ],
      },
      { text: 'Choose “Start” above it, and allow VS Code to sign in.' },
      signIn,
    ],
  }),
  cursor: ({ address, clientId, name }) => ({
    steps: [
      {
        text: 'In Cursor, open Settings, Tools & MCP, “New MCP Server”, and put this into the file ~/.cursor/mcp.json.',
        lines: [
          json({
            mcpServers: {
              [name]: {
                url: address,
                ...given(clientId, (id) => ({ auth: { CLIENT_ID: id, scopes: ['mcp:read', 'mcp:write'] } })),
              },
            },
          }),
        ],
      },
      { text: 'Choose “Connect” beside it.' },
      signIn,
    ],
    note: 'Versions before 2026 answer to a cursor:// address, which is not accepted here: update Cursor first.',
  }),
  'copilot-studio': ({ address, clientId }) => ({
    steps: [
      { text: 'In Copilot Studio, open your agent, Tools, “Add a tool”, “New tool”, “Model Context Protocol”.' },
      { text: 'Paste this as the server URL.', lines: [address] },
      {
        text: 'Choose OAuth 2.0, “Manual”, and paste this as the client ID. It requires a secret: enter anything, it is not used.',
        lines: idLine(clientId),
      },
      {
        text: 'Paste the first as authorization URL, the second as token URL and as refresh URL, and the third as scopes.',
        lines: [`${address}/authorize`, `${address}/token`, 'mcp:read mcp:write'],
      },
      { text: 'Choose “Create”, then “Create a new connection”.' },
      signIn,
    ],
    note: `It shows a redirect address of its own once the tool is made. ${ownAddress}`,
  }),
  'gemini-cli': ({ address, clientId, name }) => ({
    steps: [
      {
        text: 'Put this into ~/.gemini/settings.json.',
        lines: [
          json({
            mcpServers: {
              [name]: {
                httpUrl: address,
                ...given(clientId, (id) => ({
                  oauth: { enabled: true, clientId: id, scopes: ['mcp:read', 'mcp:write'] },
                })),
              },
            },
          }),
        ],
      },
      { text: 'Start gemini, and type this.', lines: [`/mcp auth ${name}`] },
      signIn,
    ],
  }),
  opencode: ({ address, clientId, name }) => ({
    steps: [
      {
        text: 'Put this into opencode.json, of the project or in ~/.config/opencode.',
        lines: [
          json({
            $schema: 'https://opencode.ai/config.json',
            mcp: {
              [name]: {
                type: 'remote',
                url: address,
                ...given(clientId, (id) => ({ oauth: { clientId: id, scope: 'mcp:read mcp:write' } })),
              },
            },
          }),
        ],
      },
      { text: 'Run this in a terminal.', lines: [`opencode mcp auth ${name}`] },
      signIn,
    ],
  }),
  'mcp-remote': ({ address, clientId, name }) => ({
    steps: [
      {
        text: 'Put this into the configuration of the program that runs mcp-remote for you.',
        lines: [
          json({
            mcpServers: {
              [name]: {
                command: 'npx',
                args: [
                  '-y',
                  'mcp-remote',
                  address,
                  ...(clientId === null ? [] : ['--static-oauth-client-info', JSON.stringify({ client_id: clientId })]),
                ],
              },
            },
          }),
        ],
      },
      signIn,
    ],
  }),
  inspector: ({ address, clientId, name }) => ({
    steps: [
      { text: 'Run this in a terminal.', lines: ['npx @modelcontextprotocol/inspector'] },
      {
        text: `Choose “Add Servers”, “Add manually”, call it ${name}, choose “streamable-http”, and paste this as the URL.`,
        lines: [address],
      },
      {
        text: 'Choose “Settings” on its card, open “OAuth Settings”, and paste this as the Client ID.',
        lines: idLine(clientId),
      },
      { text: 'Turn on the switch on its card.' },
      signIn,
    ],
    note: 'This is how version 2 looks. Without its page: npx @modelcontextprotocol/inspector --cli with --client-id.',
  }),
  desktop: ({ address, clientId }) => ({
    steps: [
      { text: 'Give the program this address.', lines: [address] },
      { text: 'Give it this as the client ID. There is no secret.', lines: idLine(clientId) },
      signIn,
    ],
    note: ownAddress,
  }),
};
