/** Third-party clients from start to finish: their own discovery and OAuth, and a person who consents in a browser. */

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

/** A program's loopback redirect URI, where it waits for the browser to come back. */
export interface Loopback {
  readonly redirectUri: string;
  /** The query parameters of the latest redirect. */
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

/** What a client keeps between its requests: the OAuth provider of both SDKs. At first only the client_id is known. */
export class Keeper {
  readonly redirectUrl: string;
  readonly clientMetadata;
  #clientId: string;
  #verifier = '';
  #tokens: StoredOAuthTokens | undefined;
  #discovered: OAuthDiscoveryState | undefined;
  /** The authorization URL to which the client wants to send its person. */
  sentTo: URL | null = null;
  /** Every pair of tokens that the client was given. */
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

/** One request of a client, for later assertions. */
export interface Exchanged {
  readonly line: string;
  /** The parameters of a request to the token endpoint. */
  readonly form: URLSearchParams | null;
}

/** Holds all arrivals back until `count` have arrived. */
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

/** A client's fetch: records its requests, and can make requests concurrent. */
export class Wire {
  readonly exchanged: Exchanged[] = [];
  #refused = new Barrier(0);
  #asking = new Barrier(0);

  /**
   * Gives the next `count` responses with status 401 to the client only once all of them have arrived, and sends its
   * following requests to the token endpoint together, however long each takes to prepare.
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

/**
 * Sends a person to the authorization URL; resolves with the redirect's parameters when their browser has returned to
 * the client.
 */
export type Consent = (url: URL) => Promise<URLSearchParams>;

export interface Way {
  /** The protocol revision that is finally negotiated. */
  readonly version: string;
  go(url: string, keeper: Keeper, wire: Wire, consent: Consent): Promise<Peer>;
}

/** Has the person consent once the client has come as far as it can alone. */
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

/** How each client connects. */
export const ways: Record<string, Way> = {
  'client 2.4.0, legacy': current('2025-11-25', 'legacy'),
  'client 2.4.0, auto': current('2026-07-28', 'auto'),
  'client 2.4.0, pinned to 2026-07-28': current('2026-07-28', { pin: '2026-07-28' }),
  'sdk 1.32.2': earlier,
};
