/**
 * A PostgreSQL from Debian's packages with a synchronous standby, on loopback, and functions to freeze and kill its
 * processes.
 */

import { randomBytes } from 'node:crypto';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { command, spawnOptions } from '../server/database/cluster.ts';
import { preparedHome, type PostgresHome } from '../server/database/postgres-home.ts';
import { endPostgres, isAlive } from '../server/database/processes.ts';
import { freePort } from '../bench/free-port.ts';

const packages = '/usr/lib/postgresql';

/** The newest PostgreSQL from Debian's packages that Dealkeep supports; null when there is none. */
export function debianEngine(): string | null {
  const versions = existsSync(packages) ? readdirSync(packages).map(Number) : [];
  const newest = versions.filter((version) => version >= 15).toSorted((a, b) => b - a);
  const engines = newest.map((version) => path.join(packages, String(version)));
  return engines.find((engine) => existsSync(path.join(engine, 'bin/initdb'))) ?? null;
}

/** Process `pid` and its child processes. */
export function family(pid: number): number[] {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  const pairs = stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
  return [pid, ...pairs.filter(([, parent]) => parent === pid).map(([child = 0]) => child)];
}

/**
 * Freezes all processes of the PostgreSQL whose first process is `pid`, as a machine that hangs does; returns their
 * ids.
 */
export function freeze(pid: number): number[] {
  // The process that starts others first, so that none is missed.
  process.kill(pid, 'SIGSTOP');
  const all = family(pid);
  for (const each of all) process.kill(each, 'SIGSTOP');
  return all;
}

export interface Server {
  readonly connection: pg.ClientConfig & { readonly port: number };
  /** Ends all processes at once with SIGKILL. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface Pair {
  readonly primary: Server;
  readonly standby: Server;
  /** Acknowledges commits from now on only when the standby has them on disk too. */
  beSynchronous(): Promise<void>;
}

const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  // Kept in the data directory, so that nothing is left in /dev/shm after a kill.
  dynamic_shared_memory_type: 'mmap',
  shared_buffers: '64MB',
  max_connections: '60',
  wal_level: 'replica',
  hot_standby: 'on',
};

function runTool(home: PostgresHome, program: string, args: readonly string[]): void {
  const [file, rest] = command(home, program, args);
  const { status, stderr } = spawnSync(file, rest, { encoding: 'utf8', timeout: 60_000, ...spawnOptions(home) });
  if (status !== 0) throw new Error(`${program}: ${stderr}`);
}

/** The first value that a query returns, on a connection of its own. */
export async function ask(connection: pg.ClientConfig, query: string): Promise<unknown> {
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: 2_000, query_timeout: 2_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query({ text: query, rowMode: 'array' });
    return (rows as unknown[][])[0]?.[0];
  } finally {
    await client.end().catch(() => {});
  }
}

async function start(home: PostgresHome, name: string, connection: Server['connection']): Promise<Server> {
  const data = path.join(home.directory, name);
  const flags = Object.entries({ ...settings, port: connection.port }).flatMap(([key, value]) => [
    '-c',
    `${key}=${value}`,
  ]);
  const [file, args] = command(home, 'postgres', ['-D', data, ...flags]);
  const log = openSync(`${data}.log`, 'a', 0o600);
  const child: ChildProcess = spawn(file, args, { stdio: ['ignore', log, log], ...spawnOptions(home) });
  closeSync(log);
  const pid = child.pid ?? 0;
  const ended = () => child.exitCode !== null || child.signalCode !== null;
  const server: Server = {
    connection,
    async kill() {
      // "key id" of the one shared memory segment that outlives the processes.
      const segment = readFileSync(path.join(data, 'postmaster.pid'), 'utf8').split('\n')[6]?.trim().split(/\s+/)[1];
      const all = freeze(pid);
      // The first process last: while it is frozen, it cannot end the others before their turn.
      for (const each of all.toReversed()) process.kill(each, 'SIGKILL');
      while (!ended() || all.some(isAlive)) await pause(5);
      if (segment) spawnSync('ipcrm', ['-m', segment]);
    },
    async stop() {
      if (!ended()) await endPostgres(pid);
    },
  };
  for (const giveUp = Date.now() + 30_000; ; await pause(50)) {
    if (await ask(connection, 'select true').catch(() => false)) return server;
    if (!ended() && Date.now() < giveUp) continue;
    await server.stop();
    throw new Error(`PostgreSQL did not start: ${readFileSync(`${data}.log`, 'utf8').slice(-2_000)}`);
  }
}

/** Makes both servers in `directory`; `prepare` fills the primary before the standby copies it. */
export async function startPair(
  directory: string,
  engine: string,
  prepare: (primary: Server['connection']) => Promise<void>,
): Promise<Pair> {
  // The user that PostgreSQL runs as needs access to its files.
  chmodSync(directory, 0o711);
  const home = preparedHome(directory, engine);
  const [user, password] = ['postgres', randomBytes(16).toString('hex')];
  const connectionAt = (port: number) => ({ host: '127.0.0.1', port, user, password, database: 'postgres' });
  const passwordFile = path.join(home.directory, 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (home.user) chownSync(passwordFile, home.user.uid, home.user.gid);
  const auth = ['--auth-host=scram-sha-256', '--auth-local=reject', `--pwfile=${passwordFile}`];
  const primaryData = path.join(home.directory, 'primary');
  runTool(home, 'initdb', ['-D', primaryData, '-U', user, ...auth, '--encoding=UTF8', '--locale=C.UTF-8']);

  const primary = await start(home, 'primary', connectionAt(await freePort()));
  try {
    await prepare(primary.connection);
    const source = `host=127.0.0.1 port=${primary.connection.port} user=${user} password=${password}`;
    const copy = [
      '-D',
      path.join(home.directory, 'standby'),
      '-d',
      source,
      '--write-recovery-conf',
      '--checkpoint=fast',
    ];
    runTool(home, 'pg_basebackup', copy);
    const standby = await start(home, 'standby', connectionAt(await freePort()));
    return {
      primary,
      standby,
      async beSynchronous() {
        await ask(primary.connection, `alter system set synchronous_standby_names = '*'`);
        await ask(primary.connection, 'select pg_reload_conf()');
        const state = `select max(sync_state) from pg_stat_replication`;
        for (const giveUp = Date.now() + 20_000; (await ask(primary.connection, state)) !== 'sync'; await pause(50))
          if (Date.now() > giveUp) throw new Error('The standby did not become synchronous.');
      },
    };
  } catch (error) {
    await primary.stop();
    throw error;
  }
}
