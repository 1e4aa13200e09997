/** The cluster of the embedded PostgreSQL: how it is made, and how its programs are run. */

import { spawnSync } from 'node:child_process';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { passwordsIn } from './data-directory.ts';
import { PostgresFailure, type PostgresHome } from './postgres-home.ts';

export const database = 'dealkeep';
export const ownerLogin = 'dealkeep_owner';
export const serverLogin = 'dealkeep_app';

/** The command line of one of PostgreSQL's programs, run as the right user. */
export function command(home: PostgresHome, program: string, args: readonly string[]): [string, string[]] {
  const [first = '', ...rest] = [...home.prefix, path.join(home.engine, 'bin', program), ...args];
  return [first, rest];
}

/** With what a program of PostgreSQL is run. Nothing of our own environment but PATH: PGDATA, PGOPTIONS and their like would change what it does. */
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
  // A stand-alone backend reports a failed statement and still ends with 0.
  if (result.status !== 0 || /^\S.*\b(?:ERROR|FATAL|PANIC):/m.test(result.stderr)) {
    throw new PostgresFailure(
      `The embedded PostgreSQL could not be set up (${program}): ${(result.stderr || String(result.error)).trim()}`,
    );
  }
}

/** Makes the cluster: three roles, one database, entry by password alone. Complete or not there. */
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
