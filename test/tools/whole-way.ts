/** Clients of others on their whole way: their own discovery, their own OAuth, and a person who consents in a browser. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  Client,
  StreamableHTTPClientTransport,
  type OAuthDiscoveryState,
  type StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Peer } from './peers.ts';
import type { ToolAnswer } from './scene.ts';

const about = { name: 'whole-way', version: '1' };

/** A program's redirect URI on this machine: it waits there for the browser to come back. */
export interface Loopback {
  readonly redirectUri: string;
  /** What the browser brought back last. */
  readonly last: () => URLSearchParams;
  close(): void;
}

/** Listens on 127.0.0.1 for the redirect that ends an authorization. */
export async function openLoopback(): Promise<Loopback> {
  let brought = new URLSearchParams();
  const server: Server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://here');
    if (url.pathname === '/callback') brought = url.searchParams;
    response.end('You can close this window.');
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
  return {
    redirectUri,
    last: () => brought,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** What a client keeps between its requests: the provider that both SDKs ask. Nothing is known at first but the client_id. */
export class Keeper {
  readonly redirectUrl: string;
  readonly clientMetadata;
  #clientId: string;
  #verifier = '';
  #tokens: StoredOAuthTokens | undefined;
  #discovered: OAuthDiscoveryState | undefined;
  /** Where the client wants its person to go. */
  sentTo: URL | null = null;
  /** Every pair of tokens that it was given. */
  readonly given: StoredOAuthTokens[] = [];

  constructor(clientId: string, redirectUri: string) {
    this.#clientId = clientId;
    this.redirectUrl = redirectUri;
    this.clientMetadata = { redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' };
  }
  state(): string {
    return 'kept by the client';
  }
  clientInformation() {
    return { client_id: this.#clientId };
  }
  tokens(): StoredOAuthTokens | undefined {
    return this.#tokens;
  }
  saveTokens(tokens: StoredOAuthTokens): void {
    this.#tokens = tokens;
    this.given.push(tokens);
  }
  redirectToAuthorization(url: URL): void {
    this.sentTo = url;
  }
  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }
  codeVerifier(): string {
    return this.#verifier;
  }
  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovered = state;
  }
  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovered;
  }
}

/** One request of a client, for looking at afterwards. */
export interface Exchanged {
  readonly line: string;
  /** The parameters of a request to the token endpoint. */
  readonly form: URLSearchParams | null;
}

/** Lets nobody through before so many have come; then everybody. */
class Barrier {
  #awaited: number;
  readonly #open = Promise.withResolvers<void>();

  constructor(count: number) {
    this.#awaited = count;
    if (count === 0) this.#open.resolve();
  }

  arrived(): Promise<void> {
    this.#awaited -= 1;
    if (this.#awaited === 0) this.#open.resolve();
    return this.#open.promise;
  }
}

/** The fetch of a client: writes down what it does, and can see to it that requests are made at once. */
export class Wire {
  readonly exchanged: Exchanged[] = [];
  #refused = new Barrier(0);
  #asking = new Barrier(0);

  /**
   * The next `count` answers of 401 are given to the client only when all of them are there, and what it then sends to
   * the token endpoint leaves together, however long it takes over each.
   */
  gather(count: number): void {
    this.#refused = new Barrier(count);
    this.#asking = new Barrier(count);
  }

  readonly fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const { pathname } = new URL(url);
    const form = pathname === '/api/mcp/token' ? new URLSearchParams(String(init?.body)) : null;
    if (form) await this.#asking.arrived();
    const response = await fetch(url, init);
    this.exchanged.push({ line: `${init?.method ?? 'GET'} ${pathname} ${response.status}`, form });
    if (response.status === 401) await this.#refused.arrived();
    return response;
  };
}

/** Sends a person to the authorization URL; resolves when their browser has come back to the client. */
export type Consent = (url: URL) => Promise<URLSearchParams>;

export interface Way {
  /** The revision of the protocol that is agreed upon in the end. */
  readonly version: string;
  go(url: string, keeper: Keeper, wire: Wire, consent: Consent): Promise<Peer>;
}

/** Lets the person consent, once the client has come as far as it could alone. */
async function consented(keeper: Keeper, refused: Promise<unknown>, consent: Consent): Promise<URLSearchParams> {
  const error: unknown = await refused.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (keeper.sentTo === null) throw new Error('The client asked for no consent.', { cause: error });
  const brought = await consent(keeper.sentTo);
  if (brought.get('state') !== keeper.state()) throw new Error(`The state came back as ${brought.get('state')}.`);
  return brought;
}

function current(version: string, mode: 'legacy' | 'auto' | { pin: string }): Way {
  return {
    version,
    async go(url, keeper, { fetch }, consent) {
      const client = () => new Client(about, { versionNegotiation: { mode } });
      const transport = () => new StreamableHTTPClientTransport(new URL(url), { authProvider: keeper, fetch });
      const first = transport();
      await first.finishAuth(await consented(keeper, client().connect(first), consent));
      const connected = client();
      await connected.connect(transport());
      return {
        version: connected.getNegotiatedProtocolVersion(),
        list: async () => (await connected.listTools()).tools.map((tool) => tool.name),
        call: async (name, input = {}) =>
          (await connected.callTool({ name, arguments: input })) as unknown as ToolAnswer,
        close: () => connected.close(),
      };
    },
  };
}

const earlier: Way = {
  version: '2025-11-25',
  async go(url, keeper, { fetch }, consent) {
    const transport = () => new EarlierTransport(new URL(url), { authProvider: keeper, fetch });
    type Given = Parameters<EarlierClient['connect']>[0];
    const first = transport();
    const brought = await consented(keeper, new EarlierClient(about).connect(first as Given), consent);
    await first.finishAuth(brought.get('code') ?? '');
    const connected = new EarlierClient(about);
    const second = transport();
    await connected.connect(second as Given);
    return {
      version: second.protocolVersion,
      list: async () => (await connected.listTools()).tools.map((tool) => tool.name),
      call: async (name, input = {}) => (await connected.callTool({ name, arguments: input })) as unknown as ToolAnswer,
      close: () => connected.close(),
    };
  },
};

/** How each of them goes. */
export const ways: Record<string, Way> = {
  'client 2.4.0, legacy': current('2025-11-25', 'legacy'),
  'client 2.4.0, auto': current('2026-07-28', 'auto'),
  'client 2.4.0, pinned to 2026-07-28': current('2026-07-28', { pin: '2026-07-28' }),
  'sdk 1.32.2': earlier,
};
