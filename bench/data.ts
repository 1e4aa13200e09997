/**
 * 200 tenants and their contacts, computed from a number, so that pgbench and the load generator can refer to them too.
 */

import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { Cluster } from './cluster.ts';

export const tenants = 200;
/** Half of all contacts belong to these first tenants, so that some have a page 500. */
export const largeTenants = 10;

export interface Data {
  /** Adds contacts until there are `total`, and analyzes the table. */
  growTo(total: number): Promise<void>;
  /** Returns the API key of a tenant, 1 to 200. */
  tokenOf(tenant: number): string;
  /** Returns some contacts, spread evenly, with their tenants. */
  sample(count: number): Promise<{ id: string; tenant: number }[]>;
  close(): Promise<void>;
}

const functions = (seed: string) => `
  create schema bench;
  grant usage on schema bench to dealkeep_server;
  create function bench.tenant_of(n bigint) returns int language sql immutable parallel safe as
    $$ select (case when n % 2 = 0 then n / 2 % ${largeTenants} + 1
      else n / 2 % ${tenants - largeTenants} + ${largeTenants + 1} end)::int $$;
  create function bench.time_of(n bigint) returns timestamptz language sql immutable parallel safe as
    $$ select '2025-01-01T00:00:00Z'::timestamptz + n * interval '17 milliseconds' $$;
  create function bench.id_of(n bigint) returns uuid language sql immutable parallel safe as
    $$ select (lpad(to_hex(1735689600000 + n * 17), 12, '0') || '7' || substr(md5(n::text), 1, 3)
      || '8' || substr(md5(n::text), 4, 15))::uuid $$;
  create function bench.token_of(tenant int) returns text language sql immutable parallel safe as
    $$ select 'dk_live_' || md5('${seed}' || tenant) $$;
  create function bench.brokerage_of(tenant int) returns uuid language sql immutable parallel safe as
    $$ select overlay(md5('brokerage' || tenant) placing '7' from 13)::uuid $$;
  grant execute on all functions in schema bench to dealkeep_server;

  insert into brokerages (id, slug, name)
    select bench.brokerage_of(t), 'bench-' || t, 'Brokerage ' || t from generate_series(1, ${tenants}) t;
  insert into users (id, email, name)
    select bench.brokerage_of(t), 'admin-' || t || '@example.com', 'Admin ' || t from generate_series(1, ${tenants}) t;
  insert into members (brokerage_id, user_id, role)
    select bench.brokerage_of(t), bench.brokerage_of(t), 'admin' from generate_series(1, ${tenants}) t;
  select app.issue_api_key(bench.brokerage_of(t), bench.brokerage_of(t), 'bench', 'live',
    '{contacts:read,contacts:write,deals:read,events:read,webhooks:read,webhooks:write}', 100000, null, sha256(bench.token_of(t)::bytea), '0000')
    from generate_series(1, ${tenants}) t;
  insert into deals (organization_id, title, state, industry, location, summary, asking_price, currency, created_by, keys_admitted)
    select bench.brokerage_of(t), 'Bakery number ' || n, 'listed', 'Food', 'Austin', 'A business with regular customers.', 1000000, 'USD', bench.brokerage_of(t), true
    from generate_series(1, ${largeTenants}) t, generate_series(1, 200) n;`;

const insert = `
  insert into contacts (id, brokerage_id, type, display_name, email, phone, created_by, created_by_key, created_at, updated_at)
  select bench.id_of(n), bench.brokerage_of(bench.tenant_of(n)), case when n % 3 = 0 then 'company' else 'person' end,
    'Contact number ' || n, 'contact-' || n || '@example.com', '+1 555 ' || lpad((n % 10000000)::text, 7, '0'),
    null, null, bench.time_of(n), bench.time_of(n)
  from generate_series($1::bigint, $2::bigint) n`;

/** Prepares an empty, migrated database. */
export async function openData({ owner }: Cluster): Promise<Data> {
  const client = new pg.Client(owner);
  await client.connect();
  await client.query(functions(randomBytes(16).toString('hex')));
  const { rows } = await client.query<{ token: string }>(
    `select bench.token_of(t) as token from generate_series(1, ${tenants}) t order by t`,
  );
  const tokens = rows.map(({ token }) => token);
  let loaded = 0;
  return {
    async growTo(total) {
      for (; loaded < total; loaded = Math.min(total, loaded + 100_000)) {
        await client.query(insert, [loaded + 1, Math.min(total, loaded + 100_000)]);
      }
      await client.query('vacuum (analyze) contacts');
      await client.query('checkpoint').catch(() => {}); // Without the right to it, one may fall into a measurement.
    },
    tokenOf: (tenant) => tokens[tenant - 1] ?? '',
    async sample(count) {
      const { rows: found } = await client.query<{ id: string; tenant: number }>(
        `select bench.id_of(n) as id, bench.tenant_of(n) as tenant
         from generate_series(0, $1::bigint - 1) i, lateral (select 1 + i * 7919 % $2::bigint as n) x`,
        [count, loaded],
      );
      return found;
    },
    close: () => client.end(),
  };
}
