/** People, clients and browsers for the tests of the authorization server. */

import { createHash, randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { expect } from 'vitest';
import type { TestService } from '../harness.ts';

export const callback = 'https://client.example/callback';

/** A person with a live session, as a browser holds it. */
export interface Person {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly session: string;
  readonly cookie: string;
}

let count = 0;

/** Adds a brokerage; returns its id. */
export async function addBrokerage(service: TestService, name = 'Harbor Brokers'): Promise<string> {
  count += 1;
  const [made] = await service.sql<{ id: string }>('insert into brokerages (slug, name) values ($1, $2) returning id', [
    `brokerage-${count}`,
    name,
  ]);
  return made?.id ?? '';
}

/** Opens another session of a person; returns its token. */
export async function openSession(service: TestService, userId: string): Promise<string> {
  const session = randomBytes(32).toString('base64url');
  const digest = createHash('sha256').update(session).digest();
  await service.sql(`select app.open_session($1, $2, null, 'password', '192.0.2.1', 'test', null)`, [userId, digest]);
  return session;
}

/** Adds a person with a session, who is a member of the brokerage if one is given. */
export async function addPerson(
  service: TestService,
  name: string,
  { brokerage, role = 'broker' }: { brokerage?: string; role?: 'admin' | 'broker' | 'staff' } = {},
): Promise<Person> {
  count += 1;
  const email = `${name.toLowerCase().replaceAll(/[^a-z]/g, '')}.${count}@people.example`;
  const [made] = await service.sql<{ id: string }>('insert into users (email, name) values ($1, $2) returning id', [
    email,
    name,
  ]);
  const id = made?.id ?? '';
  if (brokerage)
    await service.sql('insert into members (brokerage_id, user_id, role) values ($1, $2, $3)', [brokerage, id, role]);
  const session = await openSession(service, id);
  return { id, name, email, session, cookie: `dealkeep=${session}` };
}

/** Adds a client of a person; returns its client_id. */
export async function addClient(
  service: TestService,
  owner: Person,
  { name = 'Assistant', redirectUris = [callback], brokerage = null as string | null } = {},
): Promise<string> {
  const [made] = await service.sql<{ id: string }>(
    'insert into connected_clients (created_by, name, redirect_uris, brokerage_id) values ($1, $2, $3, $4) returning id',
    [owner.id, name, redirectUris, brokerage],
  );
  return made?.id ?? '';
}

/** The S256 challenge of a verifier (RFC 7636). */
export const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url');
/** A random code verifier (RFC 7636). */
export const newVerifier = (): string => randomBytes(32).toString('base64url');

/** The parameters of an authorization request; `undefined` leaves one out. */
export type Parameters = Record<string, string | undefined>;

/** The URL of an authorization request with these parameters; `extra` is appended to its query unchanged. */
export function authorizeUrl(service: TestService, parameters: Parameters, extra = ''): string {
  const defaults: Parameters = {
    redirect_uri: callback,
    response_type: 'code',
    code_challenge: challengeOf('v'.repeat(43)),
    code_challenge_method: 'S256',
    scope: 'mcp:read mcp:write',
    state: 'st',
  };
  const given = Object.entries({ ...defaults, ...parameters }).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  );
  return `${service.origin}/api/mcp/authorize?${new URLSearchParams(given)}${extra}`;
}

/** A GET as a browser would send it, without following redirects. */
export function visit(url: string, person: Person | null, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    redirect: 'manual',
    headers: { accept: 'text/html', ...(person ? { cookie: person.cookie } : {}), ...headers },
  });
}

/** The markup of a page, with each run of white space collapsed to one space. */
export async function markupOf(response: Response | Promise<Response>): Promise<string> {
  return (await (await response).text()).replaceAll(/\s+/g, ' ');
}

/** Decodes the entities of text in markup. */
export const decodeEntities = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

/** The hidden fields of the form that posts to the authorize endpoint. */
export function hiddenFields(markup: string): Record<string, string> {
  const form = /<form method="post" action="\/api\/mcp\/authorize">[\s\S]*?<\/form>/.exec(markup)?.[0] ?? '';
  const fields: Record<string, string> = {};
  for (const [, name = '', value = ''] of form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)) {
    fields[name] = decodeEntities(value);
  }
  return fields;
}

export type Fields = Iterable<readonly [string, string]>;

/** Sends the consent form as a browser would. */
export function decide(
  service: TestService,
  person: Person | null,
  fields: Fields,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${service.origin}/api/mcp/authorize`, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams([...fields].map(([name, value]): [string, string] => [name, value])),
    headers: { origin: service.origin, accept: 'text/html', ...(person ? { cookie: person.cookie } : {}), ...headers },
  });
}

/**
 * Opens the consent page with a session that has just been authenticated; returns the fields of its form, without
 * scopes and decision.
 */
export async function openConsent(
  service: TestService,
  person: Person,
  parameters: Parameters,
): Promise<Record<string, string>> {
  await service.sql('update vault.sessions set authenticated_at = app.now() where user_id = $1', [person.id]);
  const response = await visit(authorizeUrl(service, parameters), person);
  const markup = await response.text();
  if (response.status !== 200)
    throw new Error(`no consent page: ${response.status} ${response.headers.get('location') ?? markup}`);
  const { scope: _, ...fields } = hiddenFields(markup);
  return fields;
}

/** The response parameters in the redirect to the client. */
export function answerOf(response: Response): URLSearchParams {
  return new URL(response.headers.get('location') ?? 'missing:').searchParams;
}

/** Opens the consent page and approves with these scopes ticked; returns the code. */
export async function approve(
  service: TestService,
  person: Person,
  parameters: Parameters,
  scopes: readonly string[] = ['mcp:read', 'mcp:write'],
): Promise<string> {
  const fields = await openConsent(service, person, parameters);
  const response = await decide(service, person, [
    ...Object.entries(fields),
    ...scopes.map((scope) => ['scope', scope] as const),
    ['decision', 'approve'],
  ]);
  const code = answerOf(response).get('code');
  if (response.status !== 302 || code === null) throw new Error(`not approved: ${response.status}`);
  return code;
}

/** A response of the token endpoint. */
export interface TokenAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    access_token?: string;
    refresh_token?: string;
    token_type?: string;
    expires_in?: number;
    scope?: string;
    error?: string;
    error_description?: string;
  };
}

/** Posts a form to an endpoint of the authorization server. */
export async function post(
  service: { readonly origin: string },
  path: string,
  parameters: Parameters,
): Promise<TokenAnswer> {
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined);
  const response = await fetch(service.origin + path, { method: 'POST', body: new URLSearchParams(given) });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? {} : JSON.parse(text) };
}

/** Sends a request to the token endpoint. */
export const askToken = (service: { readonly origin: string }, parameters: Parameters): Promise<TokenAnswer> =>
  post(service, '/api/mcp/token', parameters);

/** A grant as a client holds it. */
export interface Grant {
  readonly clientId: string;
  readonly code: string;
  readonly verifier: string;
  readonly access: string;
  readonly refresh: string;
}

/** Runs the flow from the authorization request to the tokens. */
export async function connect(
  service: TestService,
  person: Person,
  clientId: string,
  scopes: readonly string[] = ['mcp:read', 'mcp:write'],
): Promise<Grant> {
  const verifier = newVerifier();
  const code = await approve(service, person, { client_id: clientId, code_challenge: challengeOf(verifier) }, scopes);
  const { status, body } = await redeem(service, { clientId, code, verifier });
  if (status !== 200) throw new Error(`no tokens: ${status} ${body.error}`);
  return { clientId, code, verifier, access: body.access_token ?? '', refresh: body.refresh_token ?? '' };
}

/** Redeems a code; `changes` replaces parameters or leaves them out. */
export function redeem(
  service: { readonly origin: string },
  { clientId, code, verifier }: Pick<Grant, 'clientId' | 'code' | 'verifier'>,
  changes: Parameters = {},
): Promise<TokenAnswer> {
  return askToken(service, {
    grant_type: 'authorization_code',
    client_id: clientId,
    code,
    code_verifier: verifier,
    redirect_uri: callback,
    ...changes,
  });
}

/** Refreshes with a token. */
export function refresh(
  service: { readonly origin: string },
  clientId: string,
  token: string,
  changes: Parameters = {},
): Promise<TokenAnswer> {
  return askToken(service, { grant_type: 'refresh_token', client_id: clientId, refresh_token: token, ...changes });
}

/** A refresh of which all but the last byte has been sent. */
export interface BegunRefresh {
  /** Sends the last byte; resolves with the response. */
  finish(): Promise<Omit<TokenAnswer, 'headers'>>;
  /** Sends the last byte and closes the connection, as a client does that has stopped waiting. */
  leave(): void;
}

/** Begins a refresh with the token at each origin, and waits until the server has begun to read every one of them. */
export async function beginRefreshes(
  service: TestService,
  origins: readonly string[],
  clientId: string,
  token: string,
): Promise<BegunRefresh[]> {
  // Each request is counted for its address before its body is read, and nothing else is counted in a minute that
  // begins now. The nodes count on their own in these tests, so that no other process delays the step from counting to
  // reading.
  service.clock.startMinute();
  const body = new URLSearchParams({
    grant_type: 'refresh_token',
    client_id: clientId,
    refresh_token: token,
  }).toString();
  const begun = origins.map((origin): BegunRefresh => {
    const asked = request(`${origin}/api/mcp/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-length': body.length },
    });
    const answered = new Promise<Omit<TokenAnswer, 'headers'>>((resolve, reject) => {
      asked.once('error', reject);
      asked.once('response', (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.once('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            body: JSON.parse(Buffer.concat(parts).toString()) as TokenAnswer['body'],
          }),
        );
      });
    });
    asked.write(body.slice(0, -1));
    return {
      finish() {
        asked.end(body.slice(-1));
        return answered;
      },
      leave() {
        answered.catch(() => undefined);
        asked.end(body.slice(-1), () => asked.destroy());
      },
    };
  });
  await expect
    .poll(async () => {
      const counts = await Promise.all(service.nodes.map((each) => each.services.limits.peek('token_ip', '127.0.0.1')));
      return counts.reduce((sum, { limit, remaining }) => sum + limit - remaining, 0);
    })
    .toBe(origins.length);
  return begun;
}
