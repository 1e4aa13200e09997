/**
 * `npm run clients -- assistants`: whether hosts and libraries of others find their way from the bare address to the tools: their own discovery, sign-in and
 * consent in Chromium, once with a client that was made for them and once by the address of a document, at an https host on this machine or, for
 * hosts that know only their own, pinned as deploy/client-documents.json has it.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import type { BrowserContext, Page } from 'playwright-core';
import { freePort } from '../../bench/free-port.ts';
import { openBrowser } from '../../test/browser.ts';
import { certificateFor } from '../../test/certificate.ts';
import { environmentAt } from './environment.ts';

/** What is connected, each in the version that was last looked at. */
export const packages: Readonly<Record<string, string>> = {
  '@ai-sdk/mcp': '2.0.99',
  '@anthropic-ai/claude-code': '2.1.330',
  '@langchain/mcp-adapters': '1.1.4',
  '@mastra/mcp': '2.0.0',
  '@modelcontextprotocol/inspector': '2.12.0',
  '@modelcontextprotocol/sdk': '1.32.2',
  '@openai/agents': '0.20.0',
  '@openai/codex': '0.169.0',
  'mcp-remote': '0.15.1',
  'opencode-ai': '1.18.33',
};

interface Person {
  readonly email: string;
  readonly password: string;
}

interface Setup {
  /** Where the packages are installed. */
  readonly directory: string;
  /** The origin of the service. */
  readonly url: string;
  readonly browser: BrowserContext;
  /** A client of the person's with these redirect URIs; its id. */
  make(name: string, redirectUris: readonly string[]): Promise<string>;
  /** A document with these redirect URIs; its address. */
  publish(name: string, redirectUris: readonly string[]): string;
}

type Way = 'made' | 'document';
/** Connects in one way, and says what came of it. */
type Host = (setup: Setup, way: Way) => Promise<string>;

const both = (at: string) => [`http://localhost${at}`, `http://127.0.0.1${at}`];
const nameOf = (host: string) => host.replaceAll(/[^a-z]+/gi, ' ').trim();

/** The client_id for a host that can be given any. */
const idFor = async (setup: Setup, way: Way, host: string, uris: readonly string[]): Promise<string> =>
  way === 'made' ? setup.make(nameOf(host), uris) : setup.publish(nameOf(host), uris);

/** Agrees on the page that a host sends the person to, and waits until the browser is back at the host. */
async function agree({ url }: Setup, page: Page, goThere: () => Promise<unknown>): Promise<URL> {
  const back = page.waitForRequest(
    (request) => /[?&](code|error)=/.test(request.url()) && !request.url().startsWith(url),
    { timeout: 60_000 },
  );
  back.catch(() => {});
  await goThere();
  const allow = page.getByRole('button', { name: 'Allow', exact: true });
  const add = page.getByRole('button', { name: 'Add this address and go on' });
  await allow.or(add).first().waitFor({ timeout: 30_000 });
  if (await add.isVisible()) await add.click();
  // Reading is enough, and needs no password once more.
  const writing = page.getByRole('checkbox', { name: /^Write in your name/ });
  if (await writing.isVisible()) await writing.uncheck();
  await allow.click({ timeout: 30_000 });
  return new URL((await back).url());
}

/** The same in a page of its own, for a host that gives the address alone. */
async function consent(setup: Setup, to: string): Promise<URL> {
  const page = await setup.browser.newPage();
  try {
    const answered = await agree(setup, page, () => page.goto(to));
    // Whoever waits there answers before the page is gone.
    await page.waitForLoadState('load', { timeout: 10_000 }).catch(() => {});
    return answered;
  } finally {
    await page.close();
  }
}

async function until<T>(what: string, look: () => Promise<T | null> | T | null, millis = 60_000): Promise<T> {
  const end = performance.now() + millis;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (performance.now() > end) throw new Error(`${what} did not come in ${millis / 1000} s.`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

interface Program {
  readonly child: ChildProcess;
  said(): string;
}

interface Started {
  /** Whether it has a terminal, without which some sign nobody in. */
  readonly atTerminal?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts a program with a home of its own, whose browser is a file into which the address is written. */
async function start(
  setup: Setup,
  home: string,
  command: string,
  args: readonly string[],
  { atTerminal = false, env = {} }: Started = {},
): Promise<Program & { opened(): Promise<string | null> }> {
  const bin = path.join(home, 'bin');
  await mkdir(bin, { recursive: true });
  const note = path.join(home, 'opened');
  for (const name of ['xdg-open', 'sensible-browser', 'www-browser']) {
    await writeFile(path.join(bin, name), `#!/bin/sh\nprintf '%s\\n' "$1" >> '${note}'\n`);
    await chmod(path.join(bin, name), 0o755);
  }
  const file = path.join(setup.directory, 'node_modules/.bin', command);
  // script(1) makes a terminal.
  const [program, given] = atTerminal
    ? ['script', ['-qefc', [file, ...args].join(' '), '/dev/null']]
    : [file, [...args]];
  const child = spawn(program, given, {
    cwd: home,
    env: environmentAt(home, {
      XDG_CONFIG_HOME: path.join(home, '.config'),
      XDG_DATA_HOME: path.join(home, '.local/share'),
      CODEX_HOME: path.join(home, '.codex'),
      MCP_REMOTE_CONFIG_DIR: path.join(home, '.mcp-auth'),
      BROWSER: path.join(bin, 'xdg-open'),
      DISPLAY: ':0',
      PATH: `${bin}:${process.env['PATH']}`,
      DISABLE_AUTOUPDATER: '1',
      ...env,
    }),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const authorization = /https?:\/\/\S+\/api\/mcp\/authorize\?[^\s"'\\]+/;
  return {
    child,
    said: () => output,
    opened: async () => {
      const noted = await readFile(note, 'utf8').catch(() => '');
      return authorization.exec(noted)?.[0] ?? authorization.exec(stripVTControlCharacters(output))?.[0] ?? null;
    },
  };
}

/** Runs a program to where it wants a person, has the person agree, and waits for the word that says it is done. */
async function authorized(
  setup: Setup,
  home: string,
  command: string,
  args: readonly string[],
  done: RegExp,
  how: Started = {},
): Promise<string> {
  const program = await start(setup, home, command, args, how);
  try {
    const to = await until('the address to authorize at', program.opened).catch((error: unknown) => {
      throw new Error(`${String(error)} ${program.said().slice(-600)}`);
    });
    await consent(setup, to);
    return await until('the end', () => done.exec(program.said())?.[0] ?? null).catch((error: unknown) => {
      throw new Error(`${String(error)} ${program.said().slice(-600)}`);
    });
  } finally {
    program.child.kill('SIGKILL');
  }
}

const run = async (setup: Setup, home: string, command: string, args: readonly string[]): Promise<string> => {
  const program = await start(setup, home, command, args);
  program.child.stdin?.end();
  await once(program.child, 'exit');
  return program.said();
};

async function homeOf(setup: Setup, host: string, way: Way): Promise<string> {
  const home = path.join(setup.directory, 'homes', `${host}-${way}`);
  await rm(home, { recursive: true, force: true });
  await mkdir(home, { recursive: true });
  return home;
}

const claudeCode: Host = async (setup, way) => {
  const home = await homeOf(setup, 'claude', way);
  const id = way === 'made' ? ['--client-id', await setup.make('Claude Code', both('/callback'))] : [];
  await run(setup, home, 'claude', ['mcp', 'add', '--transport', 'http', ...id, 'dealkeep', `${setup.url}/api/mcp`]);
  return authorized(
    setup,
    home,
    'claude',
    ['mcp', 'login', 'dealkeep'],
    /authenticat(ed|ion successful)[^\n]*|success[^\n]*|logged in[^\n]*/i,
    { atTerminal: true },
  );
};

const codex: Host = async (setup, way) => {
  const home = await homeOf(setup, 'codex', way);
  await mkdir(path.join(home, '.codex'), { recursive: true });
  const id = way === 'made' ? await setup.make('Codex', both('/callback')) : null;
  const lines = ['[mcp_servers.dealkeep]', `url = "${setup.url}/api/mcp"`];
  if (id !== null) lines.push('', '[mcp_servers.dealkeep.oauth]', `client_id = "${id}"`);
  await writeFile(path.join(home, '.codex/config.toml'), `${lines.join('\n')}\n`);
  return authorized(setup, home, 'codex', ['mcp', 'login', 'dealkeep'], /successfully logged in[^\n]*/i);
};

const opencode: Host = async (setup, way) => {
  const home = await homeOf(setup, 'opencode', way);
  const clientId = await idFor(setup, way, 'opencode', both('/mcp/oauth/callback'));
  const mcp = {
    dealkeep: { type: 'remote', url: `${setup.url}/api/mcp`, oauth: { clientId, scope: 'mcp:read mcp:write' } },
  };
  await writeFile(path.join(home, 'opencode.json'), JSON.stringify({ mcp }));
  return authorized(setup, home, 'opencode', ['mcp', 'auth', 'dealkeep'], /authentication successful[^\n]*/i);
};

const mcpRemote: Host = async (setup, way) => {
  const home = await homeOf(setup, 'mcp-remote', way);
  const client_id = await idFor(setup, way, 'mcp-remote', both('/oauth/callback'));
  return authorized(
    setup,
    home,
    'mcp-remote-client',
    [
      `${setup.url}/api/mcp`,
      '--allow-http',
      ...(way === 'made'
        ? ['--static-oauth-client-info', JSON.stringify({ client_id })]
        : ['--client-metadata-url', client_id]),
    ],
    /svc_deals_list|connected successfully[^\n]*/i,
  );
};

/** Without a keychain, and without a page that it opens by itself. */
const inspectorEnv = { MCP_INSPECTOR_SECRET_STORE: 'memory', MCP_AUTO_OPEN_ENABLED: 'false' };

/** The Inspector at a terminal, which is told the client_id or the address of a document. */
const inspectorCli: Host = async (setup, way) => {
  const home = await homeOf(setup, 'inspector-cli', way);
  const id = await idFor(setup, way, 'inspector cli', both('/oauth/callback'));
  return authorized(
    setup,
    home,
    'mcp-inspector',
    [
      '--cli',
      '--transport',
      'http',
      '--server-url',
      `${setup.url}/api/mcp`,
      way === 'made' ? '--client-id' : '--client-metadata-url',
      id,
      '--method',
      'tools/list',
    ],
    /svc_deals_list/,
    { atTerminal: true, env: inspectorEnv },
  );
};

/** The Inspector's own page: it connects, comes back from the consent, and lists the tools. */
const inspectorWeb: Host = async (setup, way) => {
  const home = await homeOf(setup, 'inspector-web', way);
  const port = await freePort();
  const id = await idFor(setup, way, 'inspector web', both('/oauth/callback'));
  const storage = path.join(home, 'storage');
  await mkdir(storage);
  if (way === 'document')
    await writeFile(
      path.join(storage, 'client.json'),
      JSON.stringify({ cimd: { enabled: true, clientMetadataUrl: id } }),
    );
  const oauth = way === 'made' ? { oauth: { clientId: id } } : {};
  const config = path.join(home, 'mcp.json');
  const server = { type: 'streamable-http', url: `${setup.url}/api/mcp`, ...oauth };
  await writeFile(config, JSON.stringify({ mcpServers: { dealkeep: server } }));
  const program = await start(setup, home, 'mcp-inspector', ['--web', '--config', config], {
    env: { ...inspectorEnv, CLIENT_PORT: String(port), MCP_SANDBOX_PORT: '0', MCP_STORAGE_DIR: storage },
  });
  const page = await setup.browser.newPage();
  try {
    const to = await until(
      'the address of its page',
      () => /http:\/\/\S+MCP_INSPECTOR_API_TOKEN=\w+/.exec(stripVTControlCharacters(program.said()))?.[0] ?? null,
    );
    await page.goto(to);
    await agree(setup, page, () => page.getByRole('switch', { name: /^Connect/ }).press('Space'));
    await page.getByText('Tools', { exact: true }).click({ timeout: 60_000 });
    await page.getByText('svc_deals_list').first().waitFor({ timeout: 60_000 });
    return 'its page lists svc_deals_list';
  } finally {
    await page.close();
    program.child.kill('SIGKILL');
  }
};

/**
 * What libraries ask of whoever keeps tokens. The official SDK takes the address of a document as such, when the server says that it reads them; for the
 * others it is a client_id.
 */
class Keeper {
  readonly redirectUrl: string;
  readonly clientMetadata: object;
  readonly clientMetadataUrl: string | undefined;
  readonly #clientId: string | undefined;
  readonly #state = crypto.randomUUID();
  #tokens: unknown;
  #verifier = '';
  #server: unknown;
  #saved: unknown;
  sentTo: URL | null = null;

  constructor(client: { readonly id: string } | { readonly document: string }, redirectUrl: string) {
    this.#clientId = 'id' in client ? client.id : undefined;
    this.clientMetadataUrl = 'document' in client ? client.document : undefined;
    this.redirectUrl = redirectUrl;
    this.clientMetadata = {
      redirect_uris: [redirectUrl],
      token_endpoint_auth_method: 'none',
      scope: 'mcp:read mcp:write',
    };
  }
  state = () => this.#state;
  storedState = () => this.#state;
  clientInformation = () => (this.#clientId === undefined ? this.#saved : { client_id: this.#clientId });
  saveClientInformation = (client: unknown) => void (this.#saved = client);
  authorizationServerInformation = () => this.#server;
  saveAuthorizationServerInformation = (server: unknown) => void (this.#server = server);
  tokens = () => this.#tokens;
  saveTokens = (tokens: unknown) => void (this.#tokens = tokens);
  redirectToAuthorization = (to: URL) => void (this.sentTo = to);
  saveCodeVerifier = (verifier: string) => void (this.#verifier = verifier);
  codeVerifier = () => this.#verifier;
}

// Libraries without types here: each is used in the line that names it.
// oxlint-disable-next-line typescript/no-explicit-any
type Loaded = Record<string, any>;
type Load = (name: string) => Promise<Loaded>;

/** Loads what is installed, resolved as its users' imports would be. */
async function loading({ directory }: Setup): Promise<Load> {
  const loader = path.join(directory, 'load.js');
  await writeFile(loader, 'export const load = (name) => import(name);');
  return ((await import(pathToFileURL(loader).href)) as { load: Load }).load;
}

function checkedTools(tools: readonly string[]): string {
  if (!tools.some((tool) => tool.includes('svc_deals_list'))) throw new Error(`It lists ${tools.join(', ')}.`);
  return `${tools.length} tools`;
}

interface Library {
  readonly name: string;
  /** The module whose `auth` exchanges the code. */
  readonly exchange: string;
  /** Whether it knows documents by a setting of their own. */
  readonly knowsDocuments: boolean;
  /** Lists the names of the tools with tokens that `keeper` has, or has it send the person on. */
  readonly list: (load: Load, url: string, keeper: Keeper) => Promise<readonly string[]>;
}

const library =
  ({ name, exchange, knowsDocuments, list }: Library): Host =>
  async (setup, way) => {
    const load = await loading(setup);
    const waiting = createServer((_, response) => response.end('You can close this window.')).listen(0, '127.0.0.1');
    await once(waiting, 'listening');
    try {
      const redirectUrl = `http://127.0.0.1:${(waiting.address() as AddressInfo).port}/callback`;
      const id = await idFor(setup, way, name, both('/callback'));
      const keeper = new Keeper(way === 'document' && knowsDocuments ? { document: id } : { id }, redirectUrl);
      const serverUrl = `${setup.url}/api/mcp`;
      const first = await list(load, serverUrl, keeper).catch(String);
      if (keeper.sentTo === null) throw new Error(`It asked nobody to agree: ${String(first)}`);
      const answered = (await consent(setup, keeper.sentTo.href)).searchParams;
      const { auth } = await load(exchange);
      await auth?.(keeper, {
        serverUrl,
        authorizationCode: answered.get('code'),
        callbackState: answered.get('state'),
        callbackIssuer: answered.get('iss'),
      });
      return checkedTools(await list(load, serverUrl, keeper));
    } finally {
      waiting.close();
      waiting.closeAllConnections();
    }
  };

const sdk = { exchange: '@modelcontextprotocol/sdk/client/auth.js', knowsDocuments: true };

/** Mastra goes the whole way by itself, but for the browser. */
const mastra: Host = async (setup, way) => {
  const { MCPClient, MCPOAuthClientProvider } = await (await loading(setup))('@mastra/mcp');
  const id = await idFor(setup, way, 'mastra', both('/callback'));
  const redirectUrl = `http://127.0.0.1:${await freePort()}/callback`;
  const sent = Promise.withResolvers<URL>();
  const authProvider = new MCPOAuthClientProvider({
    redirectUrl,
    clientMetadata: {
      client_name: 'mastra',
      redirect_uris: [redirectUrl],
      token_endpoint_auth_method: 'none',
      scope: 'mcp:read mcp:write',
    },
    ...(way === 'made' ? { clientInformation: { client_id: id } } : { clientMetadataUrl: id }),
    onRedirectToAuthorization: sent.resolve,
  });
  const client = new MCPClient({
    id: crypto.randomUUID(),
    servers: { dealkeep: { url: new URL(`${setup.url}/api/mcp`), authProvider } },
  });
  try {
    const connected = client.authenticate('dealkeep', { timeoutMs: 60_000 }) as Promise<void>;
    await Promise.race([connected, sent.promise]);
    await Promise.all([connected, consent(setup, (await sent.promise).href)]);
    return checkedTools(Object.keys(await client.listTools()));
  } finally {
    await client.disconnect();
  }
};

const hosts: Readonly<Record<string, Host>> = {
  'Claude Code': claudeCode,
  Codex: codex,
  opencode,
  'mcp-remote': mcpRemote,
  'Inspector, at a terminal': inspectorCli,
  'Inspector, its page': inspectorWeb,
  '@ai-sdk/mcp': library({
    name: 'ai sdk',
    exchange: '@ai-sdk/mcp',
    knowsDocuments: false,
    async list(load, url, authProvider) {
      const { createMCPClient } = await load('@ai-sdk/mcp');
      const client = await createMCPClient({ transport: { type: 'http', url, authProvider } });
      return Object.keys(await client.tools());
    },
  }),
  '@mastra/mcp': mastra,
  '@openai/agents': library({
    name: 'openai agents',
    ...sdk,
    async list(load, url, authProvider) {
      const { MCPServerStreamableHttp } = await load('@openai/agents');
      const server = new MCPServerStreamableHttp({ url, name: 'dealkeep', authProvider });
      await server.connect();
      return (await server.listTools()).map((tool: { name: string }) => tool.name);
    },
  }),
  '@langchain/mcp-adapters': library({
    name: 'langchain',
    ...sdk,
    async list(load, url, authProvider) {
      const { MultiServerMCPClient } = await load('@langchain/mcp-adapters');
      const client = new MultiServerMCPClient({ mcpServers: { dealkeep: { transport: 'http', url, authProvider } } });
      return (await client.getTools()).map((tool: { name: string }) => tool.name);
    },
  }),
};

/** A host for documents on this machine, with its certificate. */
export async function openDocumentHost() {
  const { key, cert } = certificateFor('localhost');
  const documents = new Map<string, string>();
  const server = https.createServer({ key, cert }, (request, response) => {
    const body = documents.get(request.url ?? '');
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' }).end(body);
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  const origin = `https://localhost:${(server.address() as AddressInfo).port}`;
  return {
    cert,
    publish(name: string, redirectUris: readonly string[]): string {
      const url = `${origin}/${name.replaceAll(' ', '-')}.json`;
      documents.set(
        new URL(url).pathname,
        JSON.stringify({
          client_id: url,
          client_name: name,
          redirect_uris: redirectUris,
          token_endpoint_auth_method: 'none',
        }),
      );
      return url;
    },
    close(): void {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Connects each host in both ways; a row for each, and whether it came through. */
export async function connectAll(
  { directory, url, person, publish }: { directory: string; url: string; person: Person } & Pick<Setup, 'publish'>,
  only: string,
): Promise<{ line: string[]; isGood: boolean }[]> {
  const browser = await openBrowser();
  try {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${url}/sign-in`);
    await page.getByLabel('E-mail').fill(person.email);
    await page.getByLabel('Password', { exact: true }).fill(person.password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.waitForURL(`${url}/`);
    const make = async (name: string, redirectUris: readonly string[]) => {
      const { csrf_token } = (await (await context.request.get(`${url}/api/auth/session`)).json()) as {
        csrf_token: string;
      };
      const answer = await context.request.post(`${url}/api/web/clients`, {
        headers: { 'x-csrf-token': csrf_token, origin: url },
        data: { name, redirect_uris: redirectUris },
      });
      if (!answer.ok()) throw new Error(`No client was made: ${answer.status()} ${await answer.text()}`);
      return ((await answer.json()) as { id: string }).id;
    };
    const setup: Setup = { directory, url, browser: context, make, publish };
    const rows = [];
    for (const [name, host] of Object.entries(hosts).filter(([one]) => one.includes(only)))
      for (const way of ['made', 'document'] as const) {
        const result = await host(setup, way).then(
          (text) => ({ isGood: true, text: text.trim().slice(0, 60) }),
          (error: unknown) => ({ isGood: false, text: String(error).slice(0, 900) }),
        );
        process.stdout.write(`${name} (${way}): ${result.isGood ? 'good' : 'BAD'} ${result.text}\n`);
        rows.push({
          line: [name, way, result.isGood ? 'good' : 'BAD', result.isGood ? result.text : 'see above'],
          isGood: result.isGood,
        });
      }
    return rows;
  } finally {
    await browser.close();
  }
}
