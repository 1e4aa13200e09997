/** What a second worker process adds to one. */

import type { Bench } from './bench.ts';
import { inTurns, type Measured } from './compare.ts';
import { startDealkeep, type Service } from './processes.ts';
import { contactRequests, firstPages } from './rest-operations.ts';
import { millis, percent, table, whole } from './table.ts';

/** Prints the rates of one and of two workers, measured alternately, on 100,000 contacts. */
export async function benchWorkers(bench: Bench): Promise<void> {
  const { data, databaseUrl, say } = bench;
  await data.growTo(100_000);
  const services: Service[] = [];
  const start = async (workers: number) => {
    const service = await startDealkeep(databaseUrl, { WORKERS: String(workers), RATE_LIMIT_STORE: 'postgres' });
    services.push(service);
    return service;
  };
  try {
    const [one, two] = [await start(1), await start(2)];
    const ones = (await data.sample(2_000)).map(({ id, tenant }) => contactRequests(data, tenant, `/${id}`).ours);
    const lines: string[][] = [];
    for (const [name, requests] of Object.entries({
      'get one': ones,
      'page 1 of 50': firstPages(data).map(({ ours }) => ours),
    }))
      for (const connections of [16, 64]) {
        say(`Measuring ${name} at concurrency ${connections}`);
        const compared = await inTurns(bench, name, connections, {
          one: { service: one, requests, expect: 200 },
          two: { service: two, requests, expect: 200 },
        });
        const side = ({ rate, p50, p99, processor }: Measured) => [
          whole(rate),
          millis(p50),
          millis(p99),
          processor === null ? '–' : whole(processor),
        ];
        const share = percent(compared.two.rate, compared.one.rate);
        lines.push([name, String(connections), ...side(compared.one), ...side(compared.two), share]);
      }
    say('\nREST with one and two workers; the generator and PostgreSQL have the same processors\n');
    const heads = ['1', '2'].flatMap((count) => [`${count}: /s`, 'p50 ms', 'p99 ms', 'CPU µs']);
    say(table(['', 'conc.', ...heads, '2 of 1'], lines));
    say(`\nPeak memory of all processes: ${one.peakMemory()} MB with one worker, ${two.peakMemory()} MB with two`);
  } finally {
    for (const service of services) await service.stop();
  }
}
