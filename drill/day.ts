/**
 * An integrator's day with `dealkeep demo`, with a test key in the sandbox, then with a live key: a second system
 * synchronizes in both directions, and both are killed with SIGKILL, sometimes together with PostgreSQL.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { freePort } from '../bench/free-port.ts';
import { printedUrl } from '../bench/printed-url.ts';
import { spendDay, type DayService } from '../clients/day/day.ts';
import { runningOwner } from '../server/database/embedded.ts';
import type { Drill } from './drill.ts';

const rounds = 15;
const edits = 60;
const seed = Number(process.env['DRILL_SEED'] ?? 20_261_122);

interface DemoService extends DayService {
  stop(): Promise<void>;
}

const number = (file: string): number => Number(readFileSync(file, 'utf8').split('\n')[0]);

async function startDemo(dataDir: string): Promise<DemoService> {
  const port = await freePort();
  let child: ChildProcess;
  let kills = 0;
  const start = async () => {
    child = spawn(process.execPath, [path.join(import.meta.dirname, '../bin/dealkeep.js'), 'demo', '--json'], {
      env: {
        ...process.env,
        HOST: '127.0.0.1',
        PORT: String(port),
        DATA_DIR: dataDir,
        LOG_LEVEL: 'error',
        RATE_LIMIT_REST_KEY: '1000000',
        RATE_LIMIT_REST_IP: '1000000',
        WEBHOOKS_ALLOW_LOOPBACK: 'on',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await printedUrl(child, 'The demo');
  };
  await start();
  return {
    url: `http://127.0.0.1:${port}`,
    start,
    async kill() {
      kills += 1;
      const ended = once(child, 'exit');
      process.kill(number(path.join(dataDir, 'dealkeep.pid')), 'SIGKILL');
      if (kills % 3 === 0) process.kill(number(path.join(dataDir, 'postgres/cluster/postmaster.pid')), 'SIGKILL');
      await ended;
    },
    async sql(text) {
      const client = new pg.Client((await runningOwner(dataDir)) ?? {});
      await client.connect();
      await client.query(text).finally(() => client.end());
    },
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** The drill: in the end both systems hold the same, nothing is lost or duplicated, and every event came by webhook. */
export const day: Drill = {
  title: `an integrator's day by the typed client: ${rounds} times both systems are killed while people work at both`,
  needs: [],
  async run(directory, say) {
    let held = true;
    for (const environment of ['sandbox', 'full'] as const) {
      const own = path.join(directory, environment);
      mkdirSync(own);
      const dataDir = path.join(own, 'data');
      const service = await startDemo(dataDir);
      try {
        const { keys } = JSON.parse(readFileSync(path.join(dataDir, 'demo.json'), 'utf8')) as {
          keys: Record<string, string>;
        };
        const key = keys[environment] ?? '';
        const { faults, ...figures } = await spendDay({
          service,
          key,
          directory: own,
          seed,
          rounds,
          edits,
          crashes: 5,
          patience: 300_000,
          say: (line) => say(`${environment}: ${line}`),
        });
        say(`${environment}: ${JSON.stringify(figures)}, ${faults.length} faults`);
        for (const fault of faults.slice(0, 20)) say(fault);
        held &&= faults.length === 0;
      } finally {
        await service.stop();
      }
    }
    return held;
  },
};
