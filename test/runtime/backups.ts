/** Makes backups of a service with the demo, and places to restore them into, for the tests of backups. */

import { randomBytes } from 'node:crypto';
import { cp, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { expect, inject, vi } from 'vitest';
import { urlOf } from '../../bench/cluster.ts';
import { keepDemoBodies } from '../../server/cli/demo.ts';
import type { S3Config } from '../../server/config/config.ts';
import { openFileStorage } from '../../server/storage/files.ts';
import { openService, type TestService } from '../harness.ts';
import { cleanUp, newDataDir, run } from './program.ts';

/** What `dealkeep backup --json` prints. */
export interface BackupLine {
  readonly name: string;
  readonly rows: number;
  readonly documents: number;
  readonly new_documents: number;
  readonly deleted: string[];
  readonly not_deleted: string | null;
}

/** A DATA_DIR and a database to restore into, and the variables that name both. */
export interface EmptyPlace {
  readonly owner: pg.ClientConfig;
  readonly env: Record<string, string>;
  readonly dataDir: string;
}

function environmentOf({ owner, server }: TestService['connections'], dataDir: string): Record<string, string> {
  return { DATA_DIR: dataDir, DATABASE_URL: urlOf(server), MIGRATE_DATABASE_URL: urlOf(owner) };
}

/** Returns the time in a backup's name, which has a resolution of one second, in RFC 3339. */
export const timeOf = (name: string): string =>
  name.replace(/^backup-(.{4})(..)(..T..)(..)(..Z)-.*$/, '$1-$2-$3:$4:$5');

/** Waits until the next backup gets another name than this one. */
export const secondAfter = (name: string): Promise<void> =>
  vi.waitFor(() => expect(Date.now()).toBeGreaterThan(Date.parse(timeOf(name)) + 1_000), 5_000);

/** Returns the rows of every table, as text written by PostgreSQL, except for tables that differ after a restore. */
export async function everyRow(owner: pg.ClientConfig): Promise<Record<string, string>> {
  const client = new pg.Client(owner);
  await client.connect();
  try {
    await client.query(`set timezone = 'UTC'`);
    const { rows: tables } = await client.query<{ name: string }>(
      `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p') and c.relpersistence = 'p' and n.nspname in ('public', 'app', 'vault') order by 1`,
    );
    const found: Record<string, string> = {};
    for (const { name } of tables) {
      // The name of the documents' store, the times of backups (recorded after the backup), and the change history
      // differ in a restored database.
      if (['vault.document_store', 'app.job_runs', 'vault.change_stream'].includes(name)) continue;
      const { rows } = await client.query<{ text: string | null }>(
        `select string_agg(t::text, E'\\n' order by t::text collate "C") as text from ${name} t`,
      );
      found[name] = rows[0]?.text ?? '';
    }
    return found;
  } finally {
    await client.end();
  }
}

/** Returns the bodies (in base64) below a directory, by file name. */
export async function bodiesIn(directory: string): Promise<Record<string, string>> {
  const names = (await readdir(directory, { recursive: true })).toSorted();
  const found: Record<string, string> = {};
  for (const name of names) {
    const file = path.join(directory, name);
    if ((await stat(file)).isFile() && !name.includes('dealkeep-store-'))
      found[name] = (await readFile(file)).toString('base64');
  }
  return found;
}

/** Returns the variables that configure access to a bucket. */
export const bucketVariables = ({ endpoint = '', region, accessKeyId = '', secretAccessKey = '' }: S3Config) => ({
  S3_ENDPOINT: endpoint,
  S3_REGION: region,
  S3_ACCESS_KEY_ID: accessKeyId,
  S3_SECRET_ACCESS_KEY: secretAccessKey,
  S3_FORCE_PATH_STYLE: 'on',
});

/** What the tests of one file share: a service in use, and the backups of it. */
export interface Backups {
  readonly service: TestService;
  /** The variables with which a command runs on the service's database and documents. */
  readonly env: Record<string, string>;
  /** A place for backups, empty at first. */
  readonly folder: string;
  /**
   * Makes a DATA_DIR and a database to restore into: one that holds nothing at all, or one with the schema and nobody in
   * it, which counts as empty too and spares the restore the migrations.
   */
  emptyPlace(holds?: 'nothing' | 'schema'): Promise<EmptyPlace>;
  /** Makes a backup in a place. */
  backUp(place: string, more?: Record<string, string>, args?: string[]): Promise<BackupLine>;
  /** Makes a backup, which must succeed although older backups, or files of theirs, cannot be deleted. */
  backUpWithout(place: string, more: Record<string, string>, args: string[]): Promise<BackupLine>;
  /** Returns a new place with a backup that is not encrypted, made once: a copy for a test that does not compare rows. */
  backedUpPlace(): Promise<{ place: string; made: BackupLine }>;
  /** Returns when a backup last succeeded and last failed. */
  noted(): Promise<{ succeeded: Date | null; failed: Date | null }>;
  close(): Promise<void>;
}

/** Opens a service with the demo, whose backups a test file makes; call it in beforeAll, and `close` it in afterAll. */
export async function openBackups(): Promise<Backups> {
  const service = await openService({ demo: true });
  await keepDemoBodies(openFileStorage(path.join(service.config.dataDir, 'documents')));
  const env = environmentOf(service.connections, service.config.dataDir);
  // The first start of the service does the same. The demo removed a document whose file does not exist.
  expect(await run(['documents', 'adopt', '--incomplete'], env)).toMatchObject({ code: 0, stderr: '' });
  const databases: string[] = [];
  let firstPlain: Promise<{ place: string; made: BackupLine }> | undefined;

  const made = async (code: number, place: string, more: Record<string, string>, args: string[]) => {
    const ended = await run(['backup', '--json', '--place', place, ...args], { ...env, ...more });
    expect(ended).toMatchObject({ code, stderr: '' });
    return JSON.parse(ended.stdout) as BackupLine;
  };
  const backUp: Backups['backUp'] = (place, more = {}, args = []) => made(0, place, more, args);

  return {
    service,
    env,
    folder: await newDataDir(),
    async emptyPlace(holds = 'schema') {
      const name = `restored_${randomBytes(6).toString('hex')}`;
      const client = new pg.Client({ ...inject('owner'), database: 'dealkeep' });
      await client.connect();
      const template = holds === 'schema' ? ` template ${inject('templates').migrated} strategy file_copy` : '';
      await client.query(`create database ${name}${template}`).finally(() => client.end());
      databases.push(name);
      const owner = { ...inject('owner'), database: name };
      const dataDir = await newDataDir();
      const server = { ...inject('server'), database: name };
      return { owner, dataDir, env: environmentOf({ owner, server }, dataDir) };
    },
    backUp,
    backUpWithout: (place, more, args) => made(1, place, more, args),
    async backedUpPlace() {
      firstPlain ??= (async () => {
        const first = await newDataDir();
        return { place: first, made: await backUp(first) };
      })();
      const first = await firstPlain;
      const place = await newDataDir();
      await cp(first.place, place, { recursive: true });
      return { place, made: first.made };
    },
    async noted() {
      const [found] = await service.sql<{ succeeded: Date | null; failed: Date | null }>(
        `select last_success_at as succeeded, last_failure_at as failed from app.job_runs where job = 'backup'`,
      );
      return found ?? { succeeded: null, failed: null };
    },
    async close() {
      const client = new pg.Client({ ...inject('owner'), database: 'dealkeep' });
      await client.connect();
      for (const name of databases) await client.query(`drop database ${name}`);
      await client.end();
      await service.close();
      await cleanUp();
    },
  };
}
