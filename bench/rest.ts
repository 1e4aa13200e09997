/** The REST API beside a bare server and beside pgbench, and what it costs the more contacts there are. */

import type { Bench } from './bench.ts';
import { cells, comparisonHeads, inTurns, portOf } from './compare.ts';
import { tenants } from './data.ts';
import { request } from './load.ts';
import { findPgbench, runPgbench } from './pgbench.ts';
import { startBare, startDealkeep, type Service } from './processes.ts';
import { restOperations } from './rest-operations.ts';
import { millis, table, whole } from './table.ts';

/** Prints how a page and one contact cost the more contacts there are; leaves all of them loaded. */
async function growth({ data, generator, rows, seconds, say }: Bench, ours: Service): Promise<void> {
  const lines: string[][] = [];
  const measure = async (label: string, requests: string[]) => {
    const order = { label, requests, port: portOf(ours), connections: 16, seconds, warmUp: 1, expect: 200 };
    const { rate, p50, p99 } = await generator.send(order);
    return [whole(rate), millis(p50), millis(p99)];
  };
  for (const size of [10_000, 100_000, 1_000_000].filter((total) => total <= rows)) {
    say(`Loading up to ${whole(size)} contacts`);
    await data.growTo(size);
    const sample = await data.sample(2_000);
    const get = (tenant: number, suffix: string) =>
      request('GET', `/api/v1/contacts${suffix}`, { Authorization: `Bearer ${data.tokenOf(tenant)}` });
    lines.push([
      whole(size),
      ...(await measure(
        `one of ${size}`,
        sample.map(({ id, tenant }) => get(tenant, `/${id}`)),
      )),
      ...(await measure(
        `page of ${size}`,
        sample.map(({ tenant }) => get(tenant, '')),
      )),
    ]);
  }
  say('\nGrowth, at concurrency 16\n');
  say(table(['contacts', 'get one /s', 'p50 ms', 'p99 ms', 'page of 50 /s', 'p50 ms', 'p99 ms'], lines));
  say('');
}

async function compare(bench: Bench, bare: Service, ours: Service): Promise<void> {
  const { cluster, rows, seconds, say } = bench;
  const pgbench = findPgbench();
  const lines: string[][] = [];
  for (const { name, expect, sql, ...requests } of await restOperations(bench, ours)) {
    for (const connections of [1, 16, 64]) {
      say(`Measuring ${name} at concurrency ${connections}`);
      const limit =
        pgbench && sql
          ? whole(await runPgbench(pgbench, cluster.server, sql, { connections, seconds: Math.ceil(seconds) }))
          : '–';
      const comparison = await inTurns(bench, name, connections, {
        bare: { service: bare, requests: requests.bare, expect: 200 },
        ours: { service: ours, requests: requests.ours, expect },
      });
      lines.push([name, String(connections), limit, ...cells(comparison)]);
    }
  }
  say(`\nREST, ${whole(rows)} contacts in ${tenants} tenants\n`);
  say(table(['', 'conc.', 'pgbench /s', ...comparisonHeads], lines));
  if (!pgbench) say('\npgbench is not installed here: its column is left out.');
  say('\nBoth enter and query in one transaction. Ours counts its limits in memory and logs warnings only.');
  say(`Peak memory: ours ${ours.peakMemory()} MB, bare ${bare.peakMemory()} MB`);
}

/** Loads the contacts and prints both tables. */
export async function benchRest(bench: Bench): Promise<void> {
  const services: Service[] = [];
  const opened = async (service: Promise<Service>) => {
    services.push(await service);
    return service;
  };
  try {
    await growth(bench, await opened(startDealkeep(bench.databaseUrl)));
    // A fresh process, so that its memory is that of what is compared.
    await compare(bench, await opened(startBare(bench.databaseUrl)), await opened(startDealkeep(bench.databaseUrl)));
  } finally {
    for (const service of services) await service.stop();
  }
}
