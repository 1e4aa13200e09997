/** Brokerages, people and API keys for the tests of the REST API. */

import { mintApiKey, type KeyEnvironment } from '../../server/domain/clients/api-keys.ts';
import type { KeyScope } from '../../server/domain/clients/key-scopes.ts';
import type { TestService } from '../harness.ts';

export interface Key {
  id: string;
  token: string;
}

export interface KeyOptions {
  scopes?: readonly KeyScope[];
  environment?: KeyEnvironment;
  ceiling?: number | null;
  expiresAt?: Date | null;
}

export interface Brokerage {
  id: string;
  admin: string;
  /** Issues an API key as the brokerage's admin would. */
  key(options?: KeyOptions): Promise<Key>;
}

/** Issues an API key as an admin of a brokerage would. */
export async function issueKey(
  service: TestService,
  { id, admin }: { readonly id: string; readonly admin: string },
  {
    scopes = ['contacts:read', 'contacts:write'],
    environment = 'live',
    ceiling = 100_000,
    expiresAt = null,
  }: KeyOptions = {},
): Promise<Key> {
  const minted = mintApiKey(environment);
  const [key] = await service.sql<{ id: string }>(
    'select app.issue_api_key($1, $2, $3, $4, $5, $6, $7, $8, $9) as id',
    [id, admin, 'a key', environment, scopes, ceiling, expiresAt, minted.digest, minted.lastFour],
  );
  return { id: key!.id, token: minted.token };
}

/** Returns the scopes that give access to deals. */
export async function dealScopesOf(service: TestService): Promise<readonly KeyScope[]> {
  const [found] = await service.sql<{ scopes: KeyScope[] }>('select app.deal_scopes() as scopes');
  return found!.scopes;
}

let made = 0;

/** Creates a brokerage with one admin. */
export async function brokerage(service: TestService): Promise<Brokerage> {
  const name = `rest-${(made += 1)}`;
  const [row] = await service.sql<{ id: string; admin: string }>(
    `with b as (insert into brokerages (slug, name) values ($1, $1) returning id),
       u as (insert into users (email, name) values ($1 || '@example.test', $1) returning id)
     insert into members (brokerage_id, user_id, role) select b.id, u.id, 'admin' from b, u
     returning brokerage_id as id, user_id as admin`,
    [name],
  );
  const { id, admin } = row!;
  return {
    id,
    admin,
    key: (options) => issueKey(service, { id, admin }, options),
  };
}

/** Returns a client that uses a key, or none if null, and parses the responses. */
export function as(key: Pick<Key, 'token'> | null, baseUrl: string) {
  return async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        ...(key === null ? {} : { Authorization: `Bearer ${key.token}` }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : {
            body:
              typeof body === 'string' || body instanceof Uint8Array
                ? (body as NonNullable<RequestInit['body']>)
                : JSON.stringify(body),
          }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: text === '' ? null : (JSON.parse(text) as Answer),
    };
  };
}

/** The fields of a response that the tests use. */
export interface Answer {
  id: string;
  type: string;
  displayName: string;
  email: string | null;
  phone: string | null;
  createdAt: string;
  updatedAt: string;
  data: Answer[];
  pagination: { hasMore: boolean; nextCursor: string | null };
  error: {
    code: string;
    message: string;
    details: { faults: { in: string; path: string; message: string }[]; [name: string]: unknown };
  };
}

/** A contact as returned by the operations for synchronisation with another system. */
export interface ContactRecord extends Answer {
  externalId: string | null;
  archivedAt: string | null;
  mergedInto: string | null;
  erasedAt: string | null;
  etag: string;
}

/** The status and code of an error response. */
export const codeOf = ({ status, body }: Awaited<ReturnType<ReturnType<typeof as>>>) => [status, body?.error.code];
