/** The cluster of the embedded PostgreSQL: how it is created, and how its programs are run. */

import { spawnSync } from 'node:child_process';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { passwordsIn } from './data-directory.ts';
import { PostgresFailure, type PostgresHome } from './postgres-home.ts';

export const database = 'dealkeep';
export const ownerLogin = 'dealkeep_owner';
export const serverLogin = 'dealkeep_app';

/** Returns the command line of one of PostgreSQL's programs, run as the right user. */
export function command(home: PostgresHome, program: string, args: readonly string[]): [string, string[]] {
  const [first = '', ...rest] = [...home.prefix, path.join(home.engine, 'bin', program), ...args];
  return [first, rest];
}

/**
 * Returns the options to spawn a program of PostgreSQL with. Of our environment only PATH is passed on: PGDATA,
 * PGOPTIONS and the like would change its behaviour.
 */
export function spawnOptions(home: PostgresHome) {
  return { cwd: home.directory, env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' }, ...home.user };
}

function runTool(home: PostgresHome, program: string, args: readonly string[], input = ''): void {
  const [file, rest] = command(home, program, args);
  const result = spawnSync(file, rest, {
    input,
    encoding: 'utf8',
    timeout: 120_000,
    ...spawnOptions(home),
  });
  // A single-user backend reports a failed statement and still exits with 0.
  if (result.status !== 0 || /^\S.*\b(?:ERROR|FATAL|PANIC):/m.test(result.stderr)) {
    throw new PostgresFailure(
      `The embedded PostgreSQL could not be set up (${program}): ${(result.stderr || String(result.error)).trim()}`,
    );
  }
}

/**
 * Creates the cluster: three roles, one database, login only with a password. It is created completely or not at all.
 */
export function createCluster(home: PostgresHome, cluster: string, dataDir: string): void {
  const unfinished = `${cluster}.new`;
  rmSync(unfinished, { recursive: true, force: true });
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  runTool(home, 'initdb', ['-D', unfinished, '-U', 'postgres', '-A', 'reject', '--no-instructions', ...locale]);
  writeFileSync(path.join(unfinished, 'pg_hba.conf'), 'local all all scram-sha-256\n');
  const { owner, server } = passwordsIn(dataDir);
  const statements = [
    `create role ${ownerLogin} login createdb createrole password '${owner}'`,
    `create role ${serverLogin} login password '${server}'`,
    `create database ${database} owner ${ownerLogin}`,
  ];
  runTool(home, 'postgres', ['--single', '-D', unfinished, 'postgres'], `${statements.join(';\n')};\n`);
  renameSync(unfinished, cluster);
}
