/** Checks the database: version, login and its settings, schema, row-level security, clock, and the connection. */

import type { TLSSocket } from 'node:tls';
import type pg from 'pg';
import type { Config } from '../../config/config.ts';
import { UnusableDatabase } from '../../database/client.ts';
import {
  BehindPooler,
  checkListenUrl,
  checkNotPooled,
  checkOwnersUrl,
  loginObjection,
} from '../../database/connections.ts';
import { longest } from '../../database/database.ts';
import { appliedMigrations, migrationFiles, pending } from '../../database/migrate.ts';
import { isHere } from '../../lib/is-here.ts';
import { reasonOf } from '../../lib/reason.ts';
import { certificateFinding } from './certificates.ts';
import type { Findings } from './finding.ts';

/** The first minor release of each major version that fixes CVE-2026-14680. */
const mended: Readonly<Record<number, number>> = { 18: 6, 17: 11, 16: 15, 15: 19 };
const vulnerability = 'CVE-2026-14680';

/** Reports on a version, 180004 for 18.4. */
export function versionFinding(number: number, isEmbedded: boolean, findings: Findings): void {
  const [major, minor] = [Math.floor(number / 10_000), number % 10_000];
  const version = `PostgreSQL ${major}.${minor}`;
  const least = mended[major];
  if (major < 15) {
    findings.fault(`${version} is too old: Dealkeep needs PostgreSQL 15 or later.`, 'Move to PostgreSQL 18.');
  } else if (least !== undefined && minor < least) {
    findings.warning(
      `${version} has the vulnerability ${vulnerability}, which ${major}.${least} fixes.`,
      isEmbedded
        ? `Install a newer release of Dealkeep, which includes a newer PostgreSQL, or set DATABASE_URL to a PostgreSQL ${major}.${least} or later.`
        : `Update the server to ${major}.${least} or later.`,
    );
  } else findings.ok(`The database is ${version}.`);
}

async function checkSchema(client: pg.Client, findings: Findings): Promise<boolean> {
  const files = await migrationFiles();
  try {
    const missing = pending(files, await appliedMigrations(client));
    if (missing.length === 0) {
      findings.ok('The schema matches this release.');
      return true;
    }
    findings.fault(
      `The schema lacks ${missing.map(({ name }) => name).join(', ')}.`,
      'Run dealkeep migrate (with DATABASE_URL it needs MIGRATE_DATABASE_URL).',
    );
  } catch (error) {
    findings.fault(reasonOf(error), 'Run the release of Dealkeep that the database was made for, or a newer one.');
  }
  return false;
}

const unforced = `
  select format('%I.%I', n.nspname, c.relname) as name
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p') and n.nspname in ('public', 'vault', 'app')
    and not (c.relrowsecurity and c.relforcerowsecurity)
    and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
    -- Nobody reaches a partition, or a table of the owner's own, past the table that it is part of.
    and (not c.relispartition or has_any_column_privilege('dealkeep_server', c.oid, 'select'))
  order by 1`;

async function checkRowSecurity(client: pg.Client, findings: Findings): Promise<void> {
  const { rows } = await client.query<{ name: string }>(unforced);
  if (rows.length === 0) return findings.ok('Row-level security is forced on every table.');
  const names = rows.map(({ name }) => name);
  findings.fault(
    `Row-level security is not forced on ${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''}: their owner, or everybody, bypasses it.`,
    `As the owner: ${names
      .slice(0, 5)
      .map((name) => `alter table ${name} enable row level security; alter table ${name} force row level security;`)
      .join(' ')}`,
  );
}

/**
 * Codes of authenticators are accepted within 30 s, and everything expires by the database's clock. In milliseconds.
 */
const clockLimits = { warning: 2_000, fault: 20_000 };

async function checkClock(client: pg.Client, findings: Findings): Promise<void> {
  const before = Date.now();
  const { rows } = await client.query<{ now: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now',
  );
  const after = Date.now();
  const there = rows[0]?.now ?? 0;
  // A time between the two agrees with this machine's clock.
  const apart = Math.round(Math.max(0, before - there, there - after));
  if (apart <= clockLimits.warning) return findings.ok('The clocks of this machine and of the database agree.');
  const message = `The clocks of this machine and of the database are ${(apart / 1000).toFixed(1)} s apart.`;
  const remedy = 'Synchronize both with NTP (timedatectl set-ntp true).';
  if (apart > clockLimits.fault) findings.fault(message, remedy);
  else findings.warning(message, remedy);
}

function checkWayThere(client: pg.Client, findings: Findings): void {
  if (isHere(client.host)) return;
  if (!client.ssl) {
    findings.warning(
      'The connection to the database is not encrypted.',
      'Add ?sslmode=verify-full (and sslrootcert=…) to DATABASE_URL.',
    );
    return;
  }
  const stream = client.connection.stream as TLSSocket;
  certificateFinding('The certificate of the database', stream.getPeerCertificate?.(), findings);
}

/** The settings that connections make for themselves, except behind a pooler, where the login must have them. */
const loginSettings = {
  statement_timeout: `${longest.statementMillis}ms`,
  lock_timeout: `${longest.lockMillis}ms`,
  idle_in_transaction_session_timeout: `${longest.statementMillis}ms`,
  jit: 'off',
};

/** Behind a pooler: checks that the login limits waiting and long-running statements, and has JIT compilation off. */
async function checkLoginSettings(client: pg.Client, findings: Findings): Promise<void> {
  const { rows } = await client.query<{ name: keyof typeof loginSettings; login: string }>(
    `select s.name, quote_ident(session_user) as login from unnest($1::text[]) s (name)
     where current_setting(s.name) in ('0', 'on')`,
    [Object.keys(loginSettings)],
  );
  if (rows.length === 0) return findings.ok('The login has the settings that connections through a pooler need.');
  const names = rows.map(({ name }) => name);
  const remedies = rows.map(({ name, login }) => `alter role ${login} set ${name} = '${loginSettings[name]}';`);
  findings.warning(
    `The login does not set ${names.join(', ')}, which the server cannot set through a pooler.`,
    `As that login, or a superuser: ${remedies.join(' ')}`,
  );
}

async function checkPooler(databaseUrl: string, findings: Findings): Promise<void> {
  try {
    await checkNotPooled(databaseUrl);
  } catch (error) {
    if (error instanceof BehindPooler)
      return findings.fault(
        'DATABASE_URL leads to a pooler in transaction mode.',
        'Set DATABASE_PREPARE=off, and DATABASE_LISTEN_URL to the database itself.',
      );
    findings.warning(
      `Could not check whether the database is reached directly: ${reasonOf(error)}`,
      'Check that it has connections left (max_connections, and the limits of the login), and run dealkeep doctor again.',
    );
  }
}

/** Runs the checks that are possible with the server's login. Returns whether the schema can be relied on. */
export async function checkDatabase(
  client: pg.Client,
  { databaseUrl, prepare }: Config,
  findings: Findings,
): Promise<boolean> {
  const { rows } = await client.query<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
  );
  versionFinding(rows[0]?.version ?? 0, databaseUrl === undefined, findings);
  const objection = await loginObjection(client);
  if (objection === null) findings.ok('The login is subject to row-level security.');
  else findings.fault(objection.what, objection.remedy);
  if (objection?.isEmpty) return false;
  const isCurrent = await checkSchema(client, findings);
  await checkRowSecurity(client, findings);
  await checkClock(client, findings);
  checkWayThere(client, findings);
  if (!prepare) await checkLoginSettings(client, findings);
  if (databaseUrl !== undefined && prepare) await checkPooler(databaseUrl, findings);
  return isCurrent;
}

/** Checks that the other variables lead to the same database as DATABASE_URL, and the owner's variable to its owner. */
export async function checkConnections(config: Config, findings: Findings): Promise<void> {
  const { migrateDatabaseUrl, listenDatabaseUrl } = config;
  if (migrateDatabaseUrl === undefined && listenDatabaseUrl === undefined) return;
  try {
    await checkOwnersUrl(config);
    await checkListenUrl(config);
    findings.ok('All connection variables lead to the same database.');
  } catch (error) {
    if (!(error instanceof UnusableDatabase)) throw error;
    findings.fault(error.message, 'Until this is fixed, commands, backups and migrations are refused.');
  }
}
