/** Runs the real program in a process of its own, as a person or a supervisor would. */

import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

/** The bin directory of the program that the test run has compiled; otherwise that of the sources. */
const bin = path.join(process.env['DEALKEEP_TEST_PROGRAM'] ?? path.join(import.meta.dirname, '../..'), 'bin');
const launcher = path.join(bin, 'dealkeep.js');
const { program } = (await import(path.join(bin, 'program.js'))) as typeof import('../../bin/program.js');

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Addresses {
  readonly url: string;
  readonly rest_url: string;
  readonly mcp_url: string;
  readonly set_up_url: string | null;
}

export interface Program {
  readonly child: ChildProcess;
  /** What `serve --json` prints once it is ready; rejects when the process ends before. */
  readonly ready: Promise<Addresses>;
  readonly ended: Promise<Ended>;
  /** Returns what the process has written so far. */
  written(): Pick<Ended, 'stdout' | 'stderr'>;
  /** Returns the process id of the server itself, which bin/dealkeep.js starts. */
  serverPid(): Promise<number>;
}

const running = new Set<ChildProcess>();
const directories: string[] = [];

/** Returns a new DATA_DIR, which {@link cleanUp} removes. */
export async function newDataDir(): Promise<string> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'dealkeep-test-'));
  directories.push(directory);
  return path.join(directory, 'data');
}

/** Returns a DATA_DIR with a migrated database, made once for all files of a test run that has a directory for it. */
async function makeMigrated(): Promise<string> {
  const ofRun = process.env['DEALKEEP_TEST_DIRECTORY'];
  const kept = ofRun === undefined ? undefined : path.join(ofRun, 'migrated');
  if (kept !== undefined && existsSync(kept)) return kept;
  const directory = await newDataDir();
  const { code, stderr } = await run(['migrate'], { DATA_DIR: directory });
  if (code !== 0) throw new Error(stderr);
  if (kept === undefined) return directory;
  // Another file may have been quicker; its directory is as good as this one.
  await rename(directory, kept).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
  return kept;
}

let migrated: Promise<string> | undefined;

/**
 * Returns a new DATA_DIR with a migrated database, for tests of what follows the migration. {@link cleanUp} removes it.
 */
export async function migratedDataDir(): Promise<string> {
  migrated ??= makeMigrated();
  const directory = await newDataDir();
  // Keeps the owners of the files: PostgreSQL is run by another user when the tests are run by root.
  await promisify(execFile)('cp', ['-a', await migrated, directory]);
  return directory;
}

/** Stops the processes that the tests left running, and removes their directories. */
export async function cleanUp(): Promise<void> {
  await Promise.all(
    [...running].map(async (child) => {
      // Not SIGTERM, after which a service drains for as long as the test configured.
      child.kill('SIGINT');
      await once(child, 'exit');
    }),
  );
  migrated = undefined;
  await Promise.all(directories.splice(0).map((directory) => rm(directory, { recursive: true, force: true })));
}

// A compile cache for all processes: without it each spends half a second of its start on compiling.
const NODE_COMPILE_CACHE = path.join(import.meta.dirname, '../../node_modules/.cache/node');

/** Starts `dealkeep` with these arguments and variables, as a supervisor does. */
export const dealkeep = (args: readonly string[], env: Readonly<Record<string, string>>): Program =>
  started([launcher, ...args], env);

/** Starts the service without bin/dealkeep.js, which would only add a process. */
export const serve = (env: Readonly<Record<string, string>>): Program => started([...program, 'serve', '--json'], env);

/** Starts `dealkeep` on the test's own Node.js, without bin/dealkeep.js. */
export const dealkeepOn = (node: string, args: readonly string[], env: Readonly<Record<string, string>>): Program =>
  started([...program, ...args], env, node);

/** Starts a process that inherits only PATH and HOME from this environment, and the directory for temporary files. */
function started(args: readonly string[], env: Readonly<Record<string, string>>, node = process.execPath): Program {
  const { PATH = '', HOME = '' } = process.env;
  const TMPDIR = os.tmpdir();
  const child = spawn(node, args, {
    env: { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE, PORT: '0', WEB_BUILD: 'off', DRAIN_SECONDS: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let stdout = '';
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code) => {
      running.delete(child);
      resolve({ code, stdout, stderr });
    });
  });
  const ready = new Promise<Addresses>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString();
      const line = stdout.split('\n').find((candidate) => candidate.startsWith('{"url"'));
      if (line?.endsWith('}')) resolve(JSON.parse(line) as Addresses);
    });
    void ended.then((end) => reject(new Error(`ended with ${end.code}: ${end.stderr}${end.stdout}`)));
  });
  // A test that does not wait for the program to be ready does not handle the rejection.
  ready.catch(() => {});
  const serverPid = async () => Number(await readFile(path.join(env['DATA_DIR'] ?? '', 'dealkeep.pid'), 'utf8'));
  return { child, ready, ended, written: () => ({ stdout, stderr }), serverPid };
}

/**
 * Sends a signal to one process. Throws for an invalid process id: 0 would mean this process group, including the test
 * runner.
 */
export function signal(pid: number | undefined, name: NodeJS.Signals): void {
  if (!pid || pid < 2) throw new Error(`${pid} is not the id of a process.`);
  process.kill(pid, name);
}

/** Runs a command to its end, without bin/dealkeep.js, which would only add a process to each. */
export function run(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> {
  return started([...program, ...args], env).ended;
}
