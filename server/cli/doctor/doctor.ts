/**
 * The command doctor: checks everything that the service needs, changes nothing, and says what to do about its
 * findings.
 */

import pg from 'pg';
import { checkNamedFiles } from '../../app.ts';
import { ConfigError, readConfig, type Config } from '../../config/config.ts';
import { DirectoryInUse, passwordsIn } from '../../database/data-directory.ts';
import { isDatabaseIn, runningConnections, startEmbedded } from '../../database/embedded.ts';
import { openStorage } from '../../storage/open.ts';
import { isWithoutRoom } from '../../lib/full-disk.ts';
import { reasonOf } from '../../lib/reason.ts';
import { checkBackups } from './backups.ts';
import { checkCertificate } from './certificates.ts';
import { checkConnections, checkDatabase } from './database.ts';
import { bounded, findingsOf, type Finding, type Findings } from './finding.ts';
import { checkQueues } from './queues.ts';
import { checkSecrets } from './secrets.ts';
import { checkBodies, checkMark } from './store.ts';
import { checkDisk, checkLimits, checkMail } from './external-services.ts';

export interface DoctorOptions {
  readonly json?: boolean;
  /** Whether to read the body of every document and compare size and digest. */
  readonly documents?: boolean;
}

interface Opened {
  readonly server: pg.ClientConfig;
  readonly owner: pg.ClientConfig | undefined;
  stop(): Promise<void>;
}

/** Opens the configured database as it is: nothing is created or migrated. Null when there is no database yet. */
async function openAsItIs({ databaseUrl, migrateDatabaseUrl, dataDir }: Config): Promise<Opened | null> {
  const stop = async () => {};
  if (databaseUrl !== undefined) {
    const owner = migrateDatabaseUrl === undefined ? undefined : { connectionString: migrateDatabaseUrl };
    return { server: { connectionString: databaseUrl }, owner, stop };
  }
  if (!isDatabaseIn(dataDir) || passwordsIn(dataDir).server === '') return null;
  const running = await runningConnections(dataDir);
  if (running) return { ...running, stop };
  return startEmbedded({ dataDir });
}

async function connected(connection: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client({
    connectionTimeoutMillis: 10_000,
    query_timeout: 20_000,
    application_name: 'dealkeep doctor',
    ...connection,
  });
  client.on('error', () => {});
  await client.connect();
  return client;
}

async function checkStore(
  opened: Opened,
  server: pg.Client,
  config: Config,
  { documents = false }: DoctorOptions,
  findings: Findings,
): Promise<void> {
  const storage = await openStorage(config);
  try {
    if (!(await checkMark(server, config, storage, findings))) return;
    if (opened.owner === undefined) {
      findings.warning(
        'It is not known whether the files of documents are there: only the owner of the database can list them all.',
        'Run dealkeep doctor with MIGRATE_DATABASE_URL set as well.',
      );
      return;
    }
    const owner = await connected(opened.owner);
    await checkBodies(owner, storage, documents, findings).finally(() => owner.end());
  } finally {
    await storage.close();
  }
}

async function checkQueuesWith({ owner }: Opened, server: pg.Client, findings: Findings): Promise<void> {
  const reader = owner === undefined ? null : await connected(owner);
  await checkQueues(server, reader, findings).finally(() => reader?.end());
}

/** Runs the checks of the database and those that need it. */
async function databaseFindings(config: Config, options: DoctorOptions): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  let opened: Opened | null = null;
  let server: pg.Client | null = null;
  try {
    opened = await openAsItIs(config);
    if (opened === null) {
      const findings = findingsOf('database');
      findings.ok('There is no database yet: the first start creates the embedded PostgreSQL.');
      return findings.list;
    }
    const client = (server = await connected(opened.server));
    let isCurrent = false;
    found.push(
      ...(await bounded('database', async (findings) => {
        isCurrent = await checkDatabase(client, config, findings);
      })),
    );
    const there = opened;
    found.push(...(await bounded('database', (findings) => checkConnections(config, findings))));
    if (isCurrent) {
      found.push(...(await bounded('secrets', (findings) => checkSecrets(client, config, findings))));
      found.push(...(await bounded('backups', (findings) => checkBackups(client, config, findings))));
      found.push(...(await bounded('queues', (findings) => checkQueuesWith(there, client, findings))));
    }
    if (isCurrent)
      found.push(
        ...(await bounded(
          'store',
          (findings) => checkStore(there, client, config, options, findings),
          // The longest delay of a timer.
          options.documents ? 2 ** 31 - 1 : undefined,
        )),
      );
    return found;
  } catch (error) {
    const findings = findingsOf('database');
    const remedy =
      error instanceof DirectoryInUse
        ? 'Another Dealkeep is starting or stopping there: run dealkeep doctor again shortly.'
        : isWithoutRoom(error)
          ? 'Free up space on that disk, or move DATA_DIR to a larger one.'
          : 'Check that it is running and reachable from here, and check host, port, user and password.';
    findings.fault(`No connection could be made: ${reasonOf(error)}.`, remedy);
    return [...found, ...findings.list];
  } finally {
    await server?.end().catch(() => {});
    await opened?.stop();
  }
}

/** Runs all checks. */
async function examine(options: DoctorOptions): Promise<readonly Finding[]> {
  let config: Config;
  const configuration = findingsOf('configuration');
  try {
    config = readConfig();
    checkNamedFiles(config);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const fault of error.faults) configuration.fault(fault, 'Fix it, and run dealkeep doctor again.');
    return configuration.list;
  }
  configuration.ok('Every variable has an allowed value.');
  const found = await Promise.all([
    databaseFindings(config, options),
    bounded('mail', (findings) => checkMail(config, findings)),
    bounded('disk', (findings) => checkDisk(config, findings)),
    bounded('certificates', (findings) => checkCertificate(config, findings)),
    bounded('limits', (findings) => checkLimits(config, findings)),
  ]);
  return [...configuration.list, ...found.flat()];
}

const statuses = { ok: 0, warning: 1, fault: 2 };

/** The command: prints the findings. The exit status is 0 when all is well, 1 with warnings, 2 with faults. */
export async function doctor(options: DoctorOptions): Promise<void> {
  const findings = await examine(options);
  const worst = findings.reduce((highest, { level }) => Math.max(highest, statuses[level]), 0);
  const status = (['ok', 'warning', 'fault'] as const)[worst] ?? 'fault';
  if (options.json) process.stdout.write(`${JSON.stringify({ status, findings })}\n`);
  else {
    for (const { check, level, message, remedy } of findings) {
      process.stdout.write(`${level.padEnd(8)} ${check.padEnd(14)} ${message}\n`);
      if (remedy !== undefined) process.stdout.write(`${' '.repeat(24)}${remedy}\n`);
    }
  }
  process.exitCode = worst;
}
