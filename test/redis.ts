/** A Redis server of its own for a test file, if one is installed. */

import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../bench/free-port.ts';

const program = ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0);

/** Why tests with Redis are skipped; null if Redis is installed. */
export const withoutRedis: string | null =
  program === undefined ? 'neither redis-server nor valkey-server is installed' : null;

export interface TestRedis {
  readonly port: number;
  readonly url: string;
  /** Kills the process; its data is lost. */
  stop(): Promise<void>;
  /** Starts Redis again on the same port. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a Redis with the password `secret-of-redis`; `close` it in afterAll. */
export async function openTestRedis(): Promise<TestRedis> {
  if (program === undefined) throw new Error(`No Redis: ${withoutRedis}.`);
  const name = program;
  const directory = await mkdtemp(path.join(tmpdir(), 'dealkeep-redis-'));
  const port = await freePort();
  let stop = async () => {};
  async function start(): Promise<void> {
    const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--requirepass', 'secret-of-redis'];
    const child = spawn(name, [...settings, '--dir', directory], { stdio: ['ignore', 'pipe', 'ignore'] });
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    stop = async () => {
      child.kill('SIGKILL');
      await ended;
    };
    await new Promise<void>((resolve, reject) => {
      child.stdout.on('data', (text: Buffer) => /Ready to accept connections/.test(text.toString()) && resolve());
      child.once('exit', () => reject(new Error(`${name} did not start on port ${port}.`)));
    });
  }
  await start();
  return {
    port,
    url: `redis://:secret-of-redis@127.0.0.1:${port}`,
    start,
    stop: () => stop(),
    async close() {
      await stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
