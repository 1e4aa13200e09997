/** The REST API compared with a bare server and with pgbench, and how its cost grows with the number of contacts. */

import { concurrencies, type Bench } from './bench.ts';
import { cells, comparisonHeads, inTurns, type Measured } from './compare.ts';
import { largeTenants, tenants } from './data.ts';
import { findPgbench, runPgbench } from './pgbench.ts';
import { startBare, startDealkeep, type Service } from './processes.ts';
import { contactRequests, deepPages, firstPages, restOperations, type DeepPages } from './rest-operations.ts';
import { millis, percent, table, whole } from './table.ts';

/** Prints how the cost of one contact and of a page grows with the number of contacts; leaves all of them loaded. */
async function growth(bench: Bench, bare: Service, ours: Service): Promise<void> {
  const { data, rows, say } = bench;
  const lines: string[][] = [];
  for (const size of [10_000, 100_000, 1_000_000].filter((total) => total <= rows)) {
    say(`Loading up to ${whole(size)} contacts`);
    await data.growTo(size);
    const ones = (await data.sample(2_000)).map(({ id, tenant }) => contactRequests(data, tenant, `/${id}`));
    // The large tenants have full pages at every size.
    for (const [name, requests] of Object.entries({ 'get one': ones, 'page 1 of 50': firstPages(data) })) {
      const compared = await inTurns(bench, `${name} of ${size}`, 16, {
        bare: { service: bare, requests: requests.map((pair) => pair.bare), expect: 200 },
        ours: { service: ours, requests: requests.map((pair) => pair.ours), expect: 200 },
      });
      lines.push([name, whole(size), ...cells(compared)]);
    }
  }
  say('\nGrowth, at concurrency 16\n');
  say(
    table(
      ['', 'contacts', ...comparisonHeads],
      lines.toSorted(([a = ''], [b = '']) => a.localeCompare(b)),
    ),
  );
  say('');
}

/** Prints what a deep page costs compared with the first page, for the same tenants. */
async function depth(bench: Bench, ours: Service, { number, requests }: DeepPages): Promise<void> {
  const first = firstPages(bench.data);
  const lines: string[][] = [];
  for (const connections of concurrencies) {
    bench.say(`Measuring page ${number} beside page 1 at concurrency ${connections}`);
    const compared = await inTurns(bench, `page ${number} beside page 1`, connections, {
      first: { service: ours, requests: first.map((pair) => pair.ours), expect: 200 },
      deep: { service: ours, requests: requests.map((pair) => pair.ours), expect: 200 },
    });
    const side = ({ rate, p50, p99 }: Measured) => [whole(rate), millis(p50), millis(p99)];
    lines.push([
      String(connections),
      ...side(compared.first),
      ...side(compared.deep),
      percent(compared.deep.rate, compared.first.rate),
    ]);
  }
  bench.say(`\nPage ${number} beside page 1, ours, of tenants with ${whole(bench.rows / 2 / largeTenants)} contacts\n`);
  const heads = ['page 1 /s', 'p50 ms', 'p99 ms', `page ${number} /s`, 'p50 ms', 'p99 ms', 'deep of first'];
  bench.say(table(['conc.', ...heads], lines));
}

async function compare(bench: Bench, bare: Service, ours: Service, deep: DeepPages): Promise<void> {
  const { cluster, rows, seconds, say } = bench;
  const pgbench = findPgbench();
  const lines: string[][] = [];
  for (const { name, expect, sql, ...requests } of await restOperations(bench, deep)) {
    for (const connections of concurrencies) {
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

/** Loads the contacts and prints three tables. */
export async function benchRest(bench: Bench): Promise<void> {
  const services: Service[] = [];
  const opened = async (service: Promise<Service>) => {
    services.push(await service);
    return service;
  };
  try {
    const bare = await opened(startBare(bench.databaseUrl));
    await growth(bench, bare, await opened(startDealkeep(bench.databaseUrl)));
    // A new process, so that its peak memory is that of the compared operations.
    const ours = await opened(startDealkeep(bench.databaseUrl));
    const deep = await deepPages(bench, ours);
    await compare(bench, bare, ours, deep);
    await depth(bench, ours, deep);
  } finally {
    for (const service of services) await service.stop();
  }
}
