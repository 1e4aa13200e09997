/**
 * Deals with offers and books, and the tokens of their brokers, computed from a number, so that pgbench can refer to
 * them too.
 */

import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { Cluster } from './cluster.ts';

/** Number of deals. Deal `n`, from 1 on, belongs to tenant `n`, whose admin is its broker. */
export const deals = 50;
/** Number of offers and of profit-and-loss periods per deal. */
export const perDeal = { offers: 10, periods: 500 } as const;

export interface ToolsData {
  /** Returns the access token of a deal's broker. */
  accessToken(deal: number): string;
  dealId(deal: number): string;
  /** Returns `count` unused refresh tokens, each of its own family, with the client each was issued to. */
  refreshTokens(count: number): Promise<{ token: string; clientId: string }[]>;
  close(): Promise<void>;
}

const functions = (seed: string) => `
  create function bench.uuid_of(kind text, n bigint) returns uuid language sql immutable parallel safe as
    $$ select overlay(overlay(md5(kind || n) placing '7' from 13) placing '8' from 17)::uuid $$;
  create function bench.secret_of(kind text, n bigint) returns text language sql immutable parallel safe as
    $$ select kind || md5('${seed}' || kind || n) || substr(md5(n || '${seed}'), 1, 11) $$;
  create sequence bench.unused;
  grant usage on sequence bench.unused to dealkeep_server;
  grant execute on all functions in schema bench to dealkeep_server;`;

// A few buyers with several revisions each, and monthly books, as a business for sale has them.
const rows = (baseUrl: string) => `
  insert into deals (id, organization_id, title, state)
    select bench.uuid_of('deal', n), bench.brokerage_of(n), 'Business number ' || n, 'diligence' from generate_series(1, ${deals}) n;
  insert into participants (id, deal_id, user_id, role, status)
    select bench.uuid_of('broker', n), bench.uuid_of('deal', n), bench.brokerage_of(n), 'broker', 'active'
    from generate_series(1, ${deals}) n;
  insert into participants (id, deal_id, user_id, role, status)
    select bench.uuid_of('buyer', n * 2 + b), bench.uuid_of('deal', n), bench.brokerage_of(n + 50 * (b + 1)), 'buyer', 'active'
    from generate_series(1, ${deals}) n, generate_series(0, 1) b;
  insert into offers (deal_id, participant_id, buyer_user_id, revision_number, is_current, payload)
    select bench.uuid_of('deal', n), bench.uuid_of('buyer', n * 2 + b), bench.brokerage_of(n + 50 * (b + 1)), r, r = ${perDeal.offers / 2},
      jsonb_build_object('currency', 'USD', 'purchase_price', (2000000 + r * 50000) || '.00', 'cash_at_close', '1500000.00',
        'seller_note', '250000.00', 'financing_contingency', true, 'terms', 'Assets only, working capital at the usual level.')
    from generate_series(1, ${deals}) n, generate_series(0, 1) b, generate_series(1, ${perDeal.offers / 2}) r;
  insert into accounting_snapshots (id, deal_id, snapshot_type, status, requested_at, completed_at)
    select bench.uuid_of('snapshot', n), bench.uuid_of('deal', n), 'profit_and_loss', 'completed', app.now(), app.now()
    from generate_series(1, ${deals}) n;
  insert into pl_periods (deal_id, snapshot_id, period_label, period_start_date, period_end_date, currency, revenue,
      cost_of_goods_sold, gross_profit, operating_expenses, owner_compensation, depreciation_amortization, interest_expense,
      tax_expense, net_income, ebitda)
    select bench.uuid_of('deal', n), bench.uuid_of('snapshot', n), 'Month ' || m, date '1984-01-01' + m * 31,
      date '1984-01-01' + m * 31 + 30, 'USD', 180000 + m, 70000.5 + m, 109999.5, 62000.25, 12500, 4100.1, 1800.75, 6100, 23498.4, 35499.25
    from generate_series(1, ${deals}) n, generate_series(1, ${perDeal.periods}) m;
  insert into connected_clients (id, created_by, name, redirect_uris)
    select bench.uuid_of('client', n), bench.brokerage_of(n), 'Assistant', '{https://client.example/callback}'
    from generate_series(1, ${deals}) n;
  insert into vault.token_families (id, user_id, client_id, scopes, resource, consented_at, ends_at)
    select bench.uuid_of('family', n), bench.brokerage_of(n), bench.uuid_of('client', n), '{mcp:read,mcp:write}',
      '${baseUrl}/api/mcp', app.now(), app.now() + interval '180 days' from generate_series(1, ${deals}) n;
  insert into vault.access_tokens (digest, family_id, scopes, expires_at)
    select sha256(bench.secret_of('dka_', n)::bytea), bench.uuid_of('family', n), '{mcp:read,mcp:write}', app.now() + interval '1 day'
    from generate_series(1, ${deals}) n;`;

/** Returns SQL for the client that refresh token `n` was issued to. */
export const clientOf = (n: string): string => `bench.uuid_of('client', ${n} % ${deals} + 1)`;

const unused = (baseUrl: string) => `
  with family as (
    insert into vault.token_families (id, user_id, client_id, scopes, resource, consented_at, ends_at)
    select bench.uuid_of('unused', n), bench.brokerage_of((n % ${deals} + 1)::int), ${clientOf('n')}, '{mcp:read,mcp:write}',
      '${baseUrl}/api/mcp', app.now(), app.now() + interval '180 days' from generate_series(1, $1::bigint) n
  )
  insert into vault.refresh_tokens (digest, family_id, expires_at)
    select sha256(bench.secret_of('dkr_', n)::bytea), bench.uuid_of('unused', n), app.now() + interval '30 days'
    from generate_series(1, $1::bigint) n`;

const analyzed = [
  'users',
  'members',
  'deals',
  'participants',
  'offers',
  'accounting_snapshots',
  'pl_periods',
  'connected_clients',
  'vault.token_families',
  'vault.access_tokens',
  'vault.refresh_tokens',
];

async function load(
  client: pg.Client,
  baseUrl: string,
  refreshTokens: number,
): Promise<{ token: string; deal: string }[]> {
  await client.query(functions(randomBytes(16).toString('hex')));
  await client.query(rows(baseUrl));
  await client.query(unused(baseUrl), [refreshTokens]);
  // Without statistics PostgreSQL would scan the whole tables.
  for (const table of analyzed) await client.query(`vacuum (analyze) ${table}`);
  const { rows: known } = await client.query<{ token: string; deal: string }>(
    `select bench.secret_of('dka_', n) as token, bench.uuid_of('deal', n) as deal from generate_series(1, ${deals}) n order by n`,
  );
  return known;
}

/**
 * Adds the deals and this many refresh tokens to a database that openData of data.ts has prepared. Tokens are issued
 * for the server at `baseUrl`.
 */
export async function openToolsData({ owner }: Cluster, baseUrl: string, refreshTokens: number): Promise<ToolsData> {
  const client = new pg.Client(owner);
  await client.connect();
  const known = await load(client, baseUrl, refreshTokens).catch(async (error: unknown) => {
    await client.end();
    throw error;
  });
  return {
    accessToken: (deal) => known[deal - 1]?.token ?? '',
    dealId: (deal) => known[deal - 1]?.deal ?? '',
    async refreshTokens(count) {
      const { rows: found } = await client.query<{ token: string; clientId: string }>(
        `select bench.secret_of('dkr_', n) as token, ${clientOf('n')} as "clientId"
         from (select nextval('bench.unused') as n from generate_series(1, $1::int)) x where n <= $2`,
        [count, refreshTokens],
      );
      if (found.length < count) throw new Error('There are not enough refresh tokens: give openToolsData more.');
      return found;
    },
    close: () => client.end(),
  };
}
