/**
 * A shortened day of an integrator in the sandbox: `npm run drill -- day` runs a longer one there, and then one with a
 * live key.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { urlOf } from '../../bench/cluster.ts';
import { freePort } from '../../bench/free-port.ts';
import { startDealkeep, type Service } from '../../bench/processes.ts';
import { spendDay, type DayService } from '../../clients/day/day.ts';
import { keepDemoBodies } from '../../server/cli/demo.ts';
import { openService, type TestService } from '../harness.ts';

let service: TestService;
let directory: string;
let running: Service | undefined;
beforeAll(async () => {
  service = await openService({ demo: true });
  directory = await mkdtemp(path.join(os.tmpdir(), 'dealkeep-day-'));
  await keepDemoBodies(service.services.storage);
});
afterAll(async () => {
  await running?.stop();
  await service?.close();
  await rm(directory, { recursive: true, force: true });
});

/** Runs the service as a separate process on the demo's database, so that it can be killed. */
async function openDay(): Promise<DayService> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const start = async () => {
    running = await startDealkeep(urlOf(service.connections.server), {
      PORT: String(port),
      BASE_URL: url,
      DATA_DIR: service.config.dataDir,
      RATE_LIMIT_REST_KEY: '1000000',
      WEBHOOKS_ALLOW_LOOPBACK: 'on',
      LOG_LEVEL: 'error',
    });
  };
  await start();
  return {
    url,
    start,
    kill: async () => running?.kill(),
    sql: (text) => service.sql(text),
  };
}

test('a second system and the sandbox stay in sync in both directions while both are edited and killed', async () => {
  const day = await spendDay({
    service: await openDay(),
    key: service.demo.keys.sandbox,
    directory,
    seed: 20_261_122,
    rounds: 2,
    edits: 8,
    crashes: 1,
    patience: 300_000,
  });
  expect(day.faults).toEqual([]);
  expect(day).toMatchObject({ serviceKilled: 2 });
  expect(day.systemKilled).toBeGreaterThan(1);
  // The number of people's actions depends on how soon each of the two is killed: at least sixteen, of which some are
  // rejected.
  expect(day.events).toBeGreaterThan(10);
}, 900_000);
