/**
 * pgbench with the same statements, prepared and sent with one sync as the service does: what the database achieves
 * alone.
 */

import { spawn } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Cluster } from './cluster.ts';

/** Returns the path of pgbench, or null. */
export function findPgbench(): string | null {
  const inPath = (process.env['PATH'] ?? '').split(path.delimiter).map((directory) => path.join(directory, 'pgbench'));
  const debian = globSync('/usr/lib/postgresql/*/bin/pgbench').toSorted().toReversed();
  return [...inPath, ...debian].find((file) => existsSync(file)) ?? null;
}

function run(file: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    let faults = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk));
    child.stderr.on('data', (chunk: Buffer) => (faults += chunk));
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve(out) : reject(new Error(`pgbench failed: ${faults.trim()}`))));
  });
}

/** Returns how many transactions per second of `script` are executed at a concurrency. */
export async function runPgbench(
  pgbench: string,
  { host, port, user, password, database }: Cluster['server'],
  script: string,
  { connections, seconds }: { connections: number; seconds: number },
): Promise<number> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'dealkeep-pgbench-'));
  const file = path.join(directory, 'script.sql');
  await writeFile(file, script);
  const args = ['-n', '-M', 'prepared', '-c', connections, '-j', Math.min(2, connections), '-T', seconds, '-f', file];
  const env = { PGHOST: host, PGPORT: String(port), PGUSER: user, PGPASSWORD: password, PGDATABASE: database };
  const out = await run(pgbench, args.map(String), env).finally(() => rm(directory, { recursive: true }));
  return Number(/^tps = ([\d.]+)/m.exec(out)?.[1]);
}
