/** Every route of the service, read from the live app, and people as whom to request them. */

import { randomUUID } from 'node:crypto';
import { Agent, request, type IncomingMessage } from 'node:http';
import { createApp } from '../../server/app.ts';
import { openScene, type WebScene } from '../web/scene.ts';
import { signInAs } from '../web/person.ts';
import { aPdf, upload } from '../web/uploads.ts';

export const changing = ['POST', 'PUT', 'PATCH', 'DELETE'];

/** The routes that need no session, and why. A session in the request has no effect there. */
export const withoutSession: Readonly<Record<string, string>> = {
  '/api/v1/contacts': 'an API key in a header',
  '/api/mcp': 'an access token in a header',
  '/api/mcp/': 'an access token in a header',
  '/mcp': 'an access token in a header',
  '/mcp/': 'an access token in a header',
  '/': 'an access token in a header',
  '/api/mcp/token': 'a code or refresh token in the body',
  '/api/mcp/revoke': 'a token in the body',
  '/unsubscribe': 'the sealed token of a mail (RFC 8058)',
};

/** Whether a route needs no session: the routes above, and every operation of the REST API. */
export const asksForNoSession = (pattern: string): boolean =>
  pattern.startsWith('/api/v1/') || pattern in withoutSession;

/**
 * The routes before any session, where there is nothing to bind a token to: protected by where the request comes from.
 */
export const beforeSession: Readonly<Record<string, string>> = {
  '/api/auth/sign-in': 'a password',
  '/api/auth/second-factor': 'the step cookie and a code',
  '/api/auth/reset': 'an address, to which a mail goes',
  '/api/auth/reset/confirm': 'the link of that mail',
  '/api/auth/set-up': 'the link of the first run',
  '/api/auth/invitation': 'the link of an invitation',
  '/api/auth/invitation/accept': 'the link of an invitation',
  '/api/auth/passkey/options': 'nothing: it gives a challenge',
  '/api/auth/passkey/sign-in': 'the answer of a passkey',
};

export interface Route {
  readonly method: string;
  /** The path as the app declares it, with its parameters. */
  readonly pattern: string;
  /**
   * The path with its parameters filled in: with ids of records that the broker of the scene sees, if there are any.
   */
  readonly path: string;
}

export interface Walk extends WebScene {
  readonly routes: readonly Route[];
  /**
   * Returns the headers of a new session of the broker, as their browser sends them, with the CSRF token for a change
   * from the application's own page.
   */
  signedIn(): Promise<Record<string, string>>;
}

/** The headers that `fetch` adds by itself. */
const asFetch = { accept: '*/*', 'accept-encoding': 'gzip, deflate, br', 'sec-fetch-mode': 'cors' };

const agent = new Agent({ keepAlive: true });

/** Closes the connections of {@link askPlainly}. */
export const stopAsking = (): void => agent.destroy();

/**
 * Sends a request as `fetch` does, without following redirects, and reads only the raw headers of its response: for
 * thousands of responses this is less work than `fetch`.
 */
export async function askPlainly(
  url: string,
  method: string,
  { headers = {}, body }: { readonly headers?: Readonly<Record<string, string>>; readonly body?: string } = {},
): Promise<{ readonly status: number; readonly headers: Headers }> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = request(url, {
    method,
    agent,
    timeout: 30_000,
    headers: { ...asFetch, ...headers, ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }) },
  });
  sent.on('response', resolve).on('error', reject);
  sent.on('timeout', () => sent.destroy(new Error(`${method} ${url} was not answered`)));
  sent.end(body);
  const response = await promise;
  const found = new Headers();
  for (let place = 0; place < response.rawHeaders.length; place += 2)
    found.append(response.rawHeaders[place]!, response.rawHeaders[place + 1]!);
  // The event stream never ends by itself.
  if (found.get('content-type')?.startsWith('text/event-stream')) response.destroy();
  else for await (const _ of response);
  return { status: response.statusCode!, headers: found };
}

/** Opens the scene and lists the routes of its app, without the middleware that applies to every path. */
export async function openWalk(baseUrl?: string): Promise<Walk> {
  const features = { findings: true, financing: true };
  const web = await openScene({ config: { features, ...(baseUrl && { baseUrl }) } });
  const { service, scene } = web;
  const secure = baseUrl?.startsWith('https:') ?? false;
  const signedIn = async () => {
    const { headers } = await signInAs(service, scene.people['broker']!);
    return { ...headers, cookie: `${secure ? '__Host-' : ''}${headers['cookie']}` };
  };
  const person = { ...(await web.as('broker')), headers: await signedIn() };
  const { body: document } = await upload(service, person, scene.deal, aPdf(), { filename: 'Lease.pdf' });
  const ids: [start: string, id: string][] = [
    ['/api/web/deals/', scene.deal],
    ['/deals/', scene.deal],
    ['/settings/deals/', scene.deal],
    ['/api/web/documents/', document.id],
    ['/api/web/brokerages/', scene.brokerage],
    ['/settings/clients/', scene.records["connected_clients/the broker's own"]!],
    ['/api/web/clients/', scene.records["connected_clients/the broker's own"]!],
  ];
  const fill = (pattern: string) => {
    const id = ids.find(([start]) => pattern.startsWith(start))?.[1] ?? randomUUID();
    return pattern
      .replace(/:source\b[^/]*/, 'simple')
      .replace(':page', 'security')
      .replace(':tab', 'documents')
      .replace(/:[a-z_]+(\{[^}]*\})?/i, id)
      .replaceAll(/:[a-z_]+(\{[^}]*\})?/gi, () => randomUUID())
      .replace('*', 'nothing');
  };
  const known = createApp(service.services).routes.filter(({ path }) => path !== '/*');
  const unique = new Map(known.map(({ method, path }) => [`${method} ${path}`, { method, pattern: path }]));
  const routes = [...unique.values()].map((route) => ({ ...route, path: fill(route.pattern) }));
  return { ...web, routes, signedIn };
}
