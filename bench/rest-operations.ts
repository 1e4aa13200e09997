/** The requests to the REST API, and their equivalents for the bare server and pgbench. */

import type { Bench } from './bench.ts';
import { largeTenants, tenants, type Data } from './data.ts';
import { request } from './load.ts';
import type { Service } from './processes.ts';

export interface Operation {
  readonly name: string;
  readonly ours: readonly string[];
  readonly bare: readonly string[];
  /** Status of our responses; the bare server responds only with 200. */
  readonly expect: number;
  /** The script for pgbench; null when there is no equivalent. */
  readonly sql: string | null;
}

const fields = 'id, type, display_name, email, phone, created_at, updated_at';

/** One transaction with one sync, as the service sends it: authentication and the query. */
const script = (settings: string, tenant: string, query: string) => `${settings}
\\startpipeline
select key_id, brokerage_id, scopes, ceiling from app.enter_with_api_key(sha256(bench.token_of(${tenant})::bytea));
${query};
\\endpipeline
`;

/** One statement that authenticates and answers. */
const statement = (settings: string, call: string) => `${settings}
select app.${call};
`;

interface Page {
  data: { id: string; createdAt: string }[];
  pagination: { nextCursor: string | null };
}

/** Follows the pages of 50 as a client would, up to the position before page `number`. */
async function walk(origin: string, token: string, number: number): Promise<{ cursor: string; position: string }> {
  let cursor: string | null = null;
  let last: Page['data'][number] | undefined;
  for (let page = 1; page < number; page += 1) {
    const response: Response = await fetch(`${origin}/api/v1/contacts${cursor === null ? '' : `?cursor=${cursor}`}`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    const { data, pagination } = (await response.json()) as Page;
    cursor = pagination.nextCursor;
    last = data.at(-1);
  }
  if (cursor === null || last === undefined) throw new Error(`There is no page ${number}.`);
  return { cursor, position: `${last.createdAt},${last.id}` };
}

interface Requests {
  readonly ours: string;
  readonly bare: string;
}

const bearer = (data: Data, tenant: number) => ({ Authorization: `Bearer ${data.tokenOf(tenant)}` });

/** Requests for the first page of another list, for both servers. */
const pages = (data: Data, path: string): Requests[] =>
  large.map((tenant) => ({
    ours: request('GET', `/api/v1${path}`, bearer(data, tenant)),
    bare: request('GET', path, bearer(data, tenant)),
  }));

/** The same request about the contacts of a tenant for both servers; `suffix` follows the collection's path. */
export const contactRequests = (data: Data, tenant: number, suffix: string, bareSuffix = suffix): Requests => ({
  ours: request('GET', `/api/v1/contacts${suffix}`, bearer(data, tenant)),
  bare: request('GET', `/contacts${bareSuffix}`, bearer(data, tenant)),
});

const large = Array.from({ length: largeTenants }, (_, index) => index + 1);

/** Requests for the first page of each large tenant. */
export const firstPages = (data: Data): Requests[] => large.map((tenant) => contactRequests(data, tenant, ''));

/** A page far down the list of each large tenant. */
export interface DeepPages {
  readonly number: number;
  readonly requests: readonly Requests[];
}

/** Returns page 500, or the last one if there are fewer; finds it by following the pages of `ours`. */
export async function deepPages({ data, rows }: Bench, ours: Service): Promise<DeepPages> {
  const number = Math.min(500, Math.floor(rows / 2 / largeTenants / 50));
  const requests = large.map(async (tenant) => {
    const { cursor, position } = await walk(ours.origin, data.tokenOf(tenant), number);
    return contactRequests(data, tenant, `?cursor=${cursor}`, `?${position}`);
  });
  return { number, requests: await Promise.all(requests) };
}

/** Returns every operation, for contacts that are loaded. */
export async function restOperations({ data, rows }: Bench, deep: DeepPages): Promise<Operation[]> {
  const post = (tenant: number) => {
    const name = `New at ${tenant}`;
    const body = JSON.stringify({ type: 'person', displayName: name, email: 'new@example.com', phone: '+1 555 0100' });
    return {
      ours: request('POST', '/api/v1/contacts', bearer(data, tenant), body),
      bare: request('POST', '/contacts', bearer(data, tenant), body),
    };
  };
  const operation = (name: string, requests: readonly Requests[], sql: string | null, expect = 200): Operation => ({
    name,
    expect,
    sql,
    ours: requests.map((pair) => pair.ours),
    bare: requests.map((pair) => pair.bare),
  });

  const everyTenant = Array.from({ length: tenants }, (_, index) => index + 1);
  const anyContact = `\\set n random(1, ${rows})`;
  const anyTenant = `\\set t random(1, ${tenants})`;
  return [
    operation(
      'get one',
      (await data.sample(2_000)).map(({ id, tenant }) => contactRequests(data, tenant, `/${id}`)),
      script(
        anyContact,
        'bench.tenant_of(:n)',
        `select ${fields} from contacts where id = bench.id_of(:n) and archived_at is null`,
      ),
    ),
    operation(
      'page 1 of 50',
      everyTenant.map((tenant) => contactRequests(data, tenant, '')),
      statement(anyTenant, `contacts_of_key(sha256(bench.token_of(:t)::bytea), 'mark', 51, null, null)`),
    ),
    operation(`page ${deep.number}`, deep.requests, null),
    operation('deals, page 1 of 50', pages(data, '/deals'), null),
    operation('events, page of 50', pages(data, '/events'), null),
    operation(
      'create',
      everyTenant.map(post),
      statement(
        anyTenant,
        `create_contact_by_key(sha256(bench.token_of(:t)::bytea), app.uuid_v7(), app.uuid_v7(), 'person', 'New', 'new@example.com',
          '+1 555 0100', null, null, null, null)`.replaceAll(/\s+/g, ' '),
      ),
      201,
    ),
  ];
}
