/**
 * The embedded PostgreSQL: a full server, installed from npm, in DATA_DIR, on a Unix socket, for this process alone.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import {
  chownSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { undoneBySignal, unlessInterrupted } from '../lib/interruption.ts';
import { UnusableDatabase } from './client.ts';
import { command, createCluster, database, ownerLogin, serverLogin, spawnOptions } from './cluster.ts';
import { DirectoryInUse, passwordsIn, takeDirectory } from './data-directory.ts';
import { commandLine, endPostgres, isAlive } from './processes.ts';
import {
  homeDirectory,
  installedEngine,
  preparedHome,
  refuseOthers,
  PostgresFailure,
  socketDirectory,
  type PostgresHome,
} from './postgres-home.ts';

export interface EmbeddedPostgres {
  /** The login that owns the database: migrations and administration. */
  readonly owner: pg.ClientConfig;
  /** The login of the server: a member of dealkeep_server. */
  readonly server: pg.ClientConfig;
  /** The data directory: under DATA_DIR, or elsewhere when PostgreSQL cannot reach that. */
  readonly directory: string;
  /** Resolves with a sentence when PostgreSQL ends without a call of {@link stop}. */
  readonly died: Promise<string>;
  /** Shuts PostgreSQL down cleanly and releases the directory. */
  stop(): Promise<void>;
}

interface EmbeddedOptions {
  readonly dataDir: string;
  /** Additional settings of PostgreSQL. Only the tests switch durability off here. */
  readonly settings?: Readonly<Record<string, string>>;
}

const ourSettings = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  max_connections: '60',
  password_encryption: 'scram-sha-256',
  timezone: 'UTC',
  log_timezone: 'UTC',
  jit: 'off',
  // The log contains no values: no parameters and no error details. It does not contain errors of statements either,
  // which the service receives itself: every rejected request causes one, and it can name a deal.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_parameter_max_length_on_error: '0',
  log_checkpoints: 'off',
};

// Higher than any process id on Linux and macOS.
const nobodysPid = 2_147_483_646;

/**
 * Ends the PostgreSQL that a killed Dealkeep left behind. This process holds the lock of the directory, so nobody else
 * uses it.
 */
async function endOrphan(cluster: string): Promise<void> {
  const file = path.join(cluster, 'postmaster.pid');
  if (!existsSync(file)) return;
  const [pidLine = '', ...rest] = readFileSync(file, 'utf8').split('\n');
  const pid = Number(pidLine);
  if (pid > 1 && isAlive(pid) && commandLine(pid).includes(cluster)) await endPostgres(pid);
  // PostgreSQL takes any process that now has this id, even a zombie, for the previous server. With an id that no
  // process has, it checks the rest of the file, which shows whether a process of the previous server still uses the
  // data.
  if (existsSync(file)) writeFileSync(file, [nobodysPid, ...rest].join('\n'));
  const socket = rest[3] ?? '';
  if (path.basename(socket).startsWith('dealkeep-') && socket.startsWith(os.tmpdir())) {
    rmSync(socket, { recursive: true, force: true });
  }
}

function openLog(home: PostgresHome): { file: string; descriptor: number } {
  const file = path.join(home.directory, 'postgres.log');
  if (existsSync(file) && statSync(file).size > 10_000_000) renameSync(file, `${file}.1`);
  const descriptor = openSync(file, 'a', 0o600);
  if (home.user) chownSync(file, home.user.uid, home.user.gid);
  return { file, descriptor };
}

async function answers(connection: pg.ClientConfig): Promise<boolean> {
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    return true;
  } catch (error) {
    // Starting up (57P03), or no socket yet; waiting does not help against any other error.
    if (error instanceof pg.DatabaseError && error.code !== '57P03') throw error;
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

/**
 * Returns null as soon as PostgreSQL accepts this connection, or a failure message after two minutes or when it has
 * `ended`.
 */
async function accepts(connection: pg.ClientConfig, ended: () => boolean): Promise<string | null> {
  for (const giveUp = Date.now() + 120_000; Date.now() < giveUp && !ended(); await pause(25)) {
    if (await answers(connection)) return null;
  }
  return 'no answer in two minutes';
}

function launch(
  home: PostgresHome,
  cluster: string,
  settings: Readonly<Record<string, string>>,
  log: number,
): ChildProcess {
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const [file, args] = command(home, 'postgres', ['-D', cluster, ...flags]);
  // Detached: Ctrl-C in the terminal reaches only this process, so that requests in progress still have a database.
  return spawn(file, args, {
    detached: true,
    stdio: ['ignore', log, log],
    ...spawnOptions(home),
  });
}

/**
 * Starts the embedded PostgreSQL of `dataDir`, creating it the first time and recovering it after a crash. Throws
 * DirectoryInUse when another Dealkeep uses the directory, and otherwise an error that says what to do.
 */
export async function startEmbedded({ dataDir, settings = {} }: EmbeddedOptions): Promise<EmbeddedPostgres> {
  refuseOthers(dataDir);
  const letGo = await patiently(() => takeDirectory(dataDir));
  try {
    return await startIn(dataDir, settings, letGo);
  } catch (error) {
    letGo();
    throw error;
  }
}

/** Retries for three seconds: at a restart the previous process may still be stopping. */
async function patiently<T>(take: () => T): Promise<T> {
  for (const giveUp = Date.now() + 3_000; ; await pause(100)) {
    try {
      return take();
    } catch (error) {
      if (!(error instanceof DirectoryInUse) || Date.now() > giveUp) throw error;
    }
  }
}

async function startIn(
  dataDir: string,
  settings: Readonly<Record<string, string>>,
  letGo: () => void,
): Promise<EmbeddedPostgres> {
  const engine = await installedEngine();
  const home = preparedHome(dataDir, engine);
  const cluster = path.join(home.directory, 'cluster');
  if (!existsSync(cluster)) createCluster(home, cluster, dataDir);
  await endOrphan(cluster);
  await unlessInterrupted();
  const socket = socketDirectory(home);
  const log = openLog(home);
  const quoted = `"${socket.replaceAll('"', '""')}"`;
  const child = launch(home, cluster, { ...ourSettings, ...settings, unix_socket_directories: quoted }, log.descriptor);
  closeSync(log.descriptor);

  let stopping = false;
  const exit = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ? `ended by ${signal}` : `ended with code ${code}`));
  });
  const connection = (user: string, password: string): pg.ClientConfig => ({
    host: socket,
    port: 5432,
    database,
    user,
    password,
  });
  const { owner, server } = passwordsIn(dataDir);

  const ended = () => child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
  const stop = async () => {
    stopping = true;
    if (child.pid && !ended()) await endPostgres(child.pid);
    await exit;
    if (!socket.startsWith(home.directory)) rmSync(socket, { recursive: true, force: true });
    letGo();
    takeBack();
  };
  // PostgreSQL is detached, so a signal that ends a command does not end it.
  const takeBack = undoneBySignal(stop);

  const asOwner = connection(ownerLogin, owner);
  const failure = await Promise.race([exit, accepts(asOwner, ended)]).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  if (failure !== null) {
    await stop();
    throw new PostgresFailure(startFailure(cluster, log.file, failure));
  }
  return {
    owner: asOwner,
    server: connection(serverLogin, server),
    directory: cluster,
    died: exit.then((how) => (stopping ? new Promise<string>(() => {}) : `PostgreSQL ${how}; see ${log.file}`)),
    stop,
  };
}

/**
 * Ends the PostgreSQL that a killed process left behind in `dataDir`, then calls `remove`, all while no other process can
 * use the directory. Does nothing while another process uses it.
 */
export async function removeAbandoned(dataDir: string, remove: () => Promise<void>): Promise<void> {
  let letGo: () => void;
  try {
    letGo = takeDirectory(dataDir);
  } catch (error) {
    if (error instanceof DirectoryInUse) return;
    throw error;
  }
  try {
    await endOrphan(path.join(homeDirectory(dataDir), 'cluster'));
    await remove();
  } finally {
    letGo();
  }
}

/** Returns whether there is a database in `dataDir`. */
export const isDatabaseIn = (dataDir: string): boolean => existsSync(path.join(homeDirectory(dataDir), 'cluster'));

/** Throws when there is no database in `dataDir`, for commands that need an existing one. */
export function refuseMissing(dataDir: string): void {
  if (!isDatabaseIn(dataDir))
    throw new UnusableDatabase(`There is no database in ${dataDir}: set DATA_DIR to where it is.`);
}

/** Returns how to connect to the PostgreSQL that another Dealkeep runs in `dataDir`; null when it does not respond. */
export async function runningConnections(
  dataDir: string,
): Promise<{ owner: pg.ClientConfig; server: pg.ClientConfig } | null> {
  const file = path.join(homeDirectory(dataDir), 'cluster', 'postmaster.pid');
  if (!existsSync(file)) return null;
  const [, , , , socket = ''] = readFileSync(file, 'utf8').split('\n');
  const passwords = passwordsIn(dataDir);
  const at = { host: socket, port: 5432, database };
  const owner = { ...at, user: ownerLogin, password: passwords.owner };
  const server = { ...at, user: serverLogin, password: passwords.server };
  return (await answers(owner)) ? { owner, server } : null;
}

/** Like {@link runningConnections}, for the owner alone. */
export const runningOwner = async (dataDir: string): Promise<pg.ClientConfig | null> =>
  (await runningConnections(dataDir))?.owner ?? null;

function majorOf(cluster: string): string {
  return readFileSync(path.join(cluster, 'PG_VERSION'), 'utf8').trim();
}

function startFailure(cluster: string, log: string, how: string): string {
  const lines = readFileSync(log, 'utf8').trim().split('\n').slice(-5).join('\n');
  const incompatible = /database files are incompatible/.test(lines)
    ? `The data was written by PostgreSQL ${majorOf(cluster)}: back it up with the release of Dealkeep that ran on that version, and restore with this one into a new DATA_DIR. `
    : '';
  return `The embedded PostgreSQL did not start (${how}). ${incompatible}Its log, ${log}, ends:\n${lines}`;
}
