/**
 * npm run bench -- books: the processor time of everything computed for the page of a deal's books, for a typical deal
 * and for a large one.
 */

import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { mintToken, tokenDigest } from '../server/domain/accounts/secret-tokens.ts';
import { monthAfter } from '../server/domain/diligence/calendar.ts';
import type { Books } from '../server/domain/diligence/books.ts';
import { noAnswers } from '../server/domain/diligence/contradiction-answers.ts';
import { qoeOverview } from '../server/domain/diligence/overview.ts';
import { written } from '../server/domain/diligence/decimals.ts';
import { plAmounts } from '../server/domain/diligence/snapshots.ts';
import { cents, monthRow } from '../test/books/clean-books.ts';
import { ClientBackends } from './backends.ts';
import { openCluster, urlOf } from './cluster.ts';
import { startDealkeep, type Service } from './processes.ts';
import { millis, table } from './table.ts';

/** Returns books with this many months, customer revenues (in two years) and adjustments. */
function booksOf(months: number, customers: number, adjustments: number): Books {
  const categories = ['owner_comp', 'one_time', 'other'] as const;
  return {
    currency: 'USD',
    uploads: [{ id: 'upload', completed_at: '2026-01-01T00:00:00.000000Z', source_name: null }],
    periods: Array.from({ length: months }, (_, place) =>
      monthRow('upload', monthAfter('2025-12', BigInt(place + 1 - months)), {
        revenue: 10_000_000 + place * 77,
        cogs: 4_000_000 + place,
        opex: 200_000,
        owner: 100_000,
        da: 1_000,
        interest: 500,
        tax: 700,
      }),
    ),
    customers: Array.from({ length: customers }, (_, place) => {
      const year = place % 2 === 0 ? '2024' : '2025';
      return {
        id: `customer ${place}`,
        snapshot_id: 'upload',
        name: `Customer number ${place >> 1}, Inc.`,
        first: `${year}-01-01`,
        last: `${year}-12-31`,
        currency: 'USD',
        revenue: cents(100_000 + place),
      };
    }),
    adjustments: Array.from({ length: adjustments }, (_, place) => ({
      id: `adjustment ${place}`,
      period_label: `FY${2025 - (place % Math.max(1, months / 12))}`,
      category: categories[place % 3] ?? 'other',
      amount: cents(1_000 + place),
      rationale: null,
    })),
  };
}

const rounds = 30;

/** Returns the processor time of one computation after warm-up, in milliseconds. */
function measured(books: Books): number {
  // The result is cached for a books object, so each round uses a new one.
  const compute = () => JSON.stringify(qoeOverview({ ...books }, noAnswers(true)));
  for (let time = 0; time < 5; time += 1) compute();
  const before = process.cpuUsage();
  for (let time = 0; time < rounds; time += 1) compute();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / rounds;
}

/** Stores books with a deal and its broker; returns the deal's id and the broker's session token. */
async function store(client: pg.Client, name: string, { periods, customers, adjustments }: Books) {
  const token = mintToken();
  const { rows: found } = await client.query<{ deal: string; person: string }>(
    `with person as (insert into users (email, name) values ($1 || '@example.com', $1) returning id),
       brokerage as (insert into brokerages (slug, name) values ($1, $1) returning id),
       member as (insert into members (brokerage_id, user_id, role) select b.id, p.id, 'admin' from brokerage b, person p),
       deal as (insert into deals (organization_id, title, state) select id, $1, 'diligence' from brokerage returning id),
       session as (insert into vault.sessions (user_id, digest, method) select id, $2, 'password' from person)
     select deal.id as deal, person.id as person from deal, person`,
    [name, tokenDigest(token)],
  );
  const { deal, person } = found[0] ?? { deal: '', person: '' };
  await client.query(`insert into participants (deal_id, user_id, role, status) values ($1, $2, 'broker', 'active')`, [
    deal,
    person,
  ]);
  const { rows: snapshots } = await client.query<{ id: string }>(
    `insert into accounting_snapshots (deal_id, snapshot_type, status, requested_at, completed_at)
     values ($1, 'full', 'completed', app.now(), app.now()) returning id`,
    [deal],
  );
  const snapshot = snapshots[0]?.id;
  const lines = plAmounts.map((line) => `${line} numeric`).join(', ');
  await client.query(
    `insert into pl_periods (deal_id, snapshot_id, period_label, period_start_date, period_end_date, currency, ${plAmounts.join(', ')})
     select $1, $2, label, first, last, currency, ${plAmounts.join(', ')}
     from jsonb_to_recordset($3) r (label text, first date, last date, currency text, ${lines})`,
    [
      deal,
      snapshot,
      JSON.stringify(
        periods.map(({ amounts, ...period }) => ({
          ...period,
          ...Object.fromEntries(plAmounts.map((line) => [line, amounts[line] && written(amounts[line])])),
        })),
      ),
    ],
  );
  await client.query(
    `insert into customer_revenues (deal_id, snapshot_id, customer_name, period_start_date, period_end_date, currency, revenue_total)
     select $1, $2, name, first, last, currency, revenue
     from jsonb_to_recordset($3) r (name text, first date, last date, currency text, revenue numeric)`,
    [
      deal,
      snapshot,
      JSON.stringify(customers.map((customer) => ({ ...customer, revenue: written(customer.revenue) }))),
    ],
  );
  await client.query(
    `insert into normalizations (deal_id, period_label, adjustment_category, adjustment_amount, created_by)
     select $1, period_label, category, amount, $2 from jsonb_to_recordset($3) r (period_label text, category text, amount numeric)`,
    [
      deal,
      person,
      JSON.stringify(adjustments.map((adjustment) => ({ ...adjustment, amount: written(adjustment.amount) }))),
    ],
  );
  return { deal, token };
}

/** Returns the processor time of all threads of a process in milliseconds; Linux counts it in nanoseconds. */
const spentBy = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`)
    .map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]))
    .reduce((sum, nanoseconds) => sum + nanoseconds / 1e6, 0);

/**
 * Returns what a request for the page of these books costs Node.js and PostgreSQL, in milliseconds: first after a
 * change, then from the cache.
 */
async function requested(client: pg.Client, service: Service, name: string, books: Books): Promise<number[]> {
  const { deal, token } = await store(client, name, books);
  for (const stored of ['accounting_snapshots', 'pl_periods', 'customer_revenues', 'normalizations'])
    await client.query(`vacuum (analyze) ${stored}`);
  const backends = new ClientBackends(client);
  const look = async () => {
    const answer = await fetch(`${service.origin}/api/web/deals/${deal}/qoe/computed`, {
      headers: { cookie: `dealkeep=${token}` },
    });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(text);
  };
  // Adds an empty upload, after which everything is read again.
  const change = () =>
    client.query(
      `insert into accounting_snapshots (deal_id, snapshot_type, status, requested_at, completed_at)
       values ($1, 'full', 'completed', app.now(), app.now())`,
      [deal],
    );
  const measure = async (before: () => Promise<unknown>): Promise<number[]> => {
    let [node, postgres] = [0, 0];
    for (let time = -10; time < rounds; time += 1) {
      await before();
      const [nodeBefore, postgresBefore] = [spentBy(service.pid), (await backends.spent()) ?? 0];
      await look();
      if (time < 0) continue;
      node += spentBy(service.pid) - nodeBefore;
      postgres += (((await backends.spent()) ?? 0) - postgresBefore) * 1000;
    }
    return [node / rounds, postgres / rounds];
  };
  return [...(await measure(change)), ...(await measure(async () => {}))];
}

const sizes = [
  [36, 40, 9],
  [240, 5_000, 300],
] as const;

/**
 * Prints the processor time for each size: of the computation alone, and of the request for the page. Requires Linux.
 */
export async function benchBooks(): Promise<void> {
  const cluster = await openCluster();
  const client = new pg.Client(cluster.owner);
  let service: Service | undefined;
  try {
    await client.connect();
    service = await startDealkeep(urlOf(cluster.server));
    const lines: string[][] = [];
    for (const [months, customers, adjustments] of sizes) {
      const books = booksOf(months, customers, adjustments);
      const times = [measured(books), ...(await requested(client, service, `books-of-${months}-months`, books))];
      lines.push([...[months, customers, adjustments].map(String), ...times.map(millis)]);
    }
    const heads = ['Node, after a change', 'PostgreSQL', 'Node, kept', 'PostgreSQL'];
    const all = ['months', 'customers', 'adjustments', 'computing', ...heads];
    process.stdout.write(`Milliseconds of processor time\n${table(all, lines)}\n`);
  } finally {
    await service?.stop();
    await client.end();
    await cluster.close();
  }
}
