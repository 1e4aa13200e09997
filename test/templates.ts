/**
 * A PostgreSQL with template databases: migrated, with the demo brokerages, and with the scene of docs/visibility.md.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { loadDemo, type Demo } from '../database/demo/load.ts';
import { startEmbedded } from '../server/database/embedded.ts';
import { migrate } from '../server/database/migrate.ts';
import { clearAbandoned, prefix } from './abandoned.ts';
import { setScene, type Scene } from './policies/scene.ts';

export interface ConnectionTo {
  host: string;
  port: number;
  user: string;
  password: string;
}

/** Everything that a test file needs to create its own database. */
export interface Templates {
  readonly owner: ConnectionTo;
  readonly server: ConnectionTo;
  /** Directory for files; removed when PostgreSQL stops. */
  readonly directory: string;
  readonly templates: {
    /** As the migrations leave it; in the other templates `app.now()` can be set by tests. */
    readonly migrated: string;
    readonly plain: string;
    readonly demo: string;
    readonly scene: string;
  };
  readonly demo: Demo;
  /** The ids of the records in the scene. */
  readonly scene: Scene;
}

// Nothing here outlives the run, so nothing has to be flushed to disk.
const fast = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '400',
  // The planner's statistics of a table change only when a test runs `analyze`.
  autovacuum: 'off',
  shared_buffers: '256MB',
  // Each connection lives for one test file: planning a statement again for its first five executions takes longer than
  // reading a test's few rows.
  plan_cache_mode: 'force_generic_plan',
  // Nothing is recovered or replicated from the write-ahead log, which may be kept in memory.
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '256MB',
};

const movableClock = `
  create or replace function app.now() returns timestamptz
  language sql stable parallel safe set search_path = '' as $$
    select coalesce(nullif(current_setting('dealkeep.now', true), '')::timestamptz, now())
  $$`;

async function asOwner(owner: pg.ClientConfig, text: string): Promise<void> {
  const client = new pg.Client(owner);
  await client.connect();
  await client.query(text).finally(() => client.end());
}

async function setSceneIn(owner: pg.ClientConfig): Promise<Scene> {
  const client = new pg.Client(owner);
  await client.connect();
  return setScene(client).finally(() => client.end());
}

function access({ host, port, user, password }: pg.ClientConfig): ConnectionTo {
  if (!host || !port || !user || typeof password !== 'string') throw new Error('incomplete connection');
  return { host, port, user, password };
}

/** Starts PostgreSQL with the templates; `settings` override the defaults above. */
export async function openTemplates(
  settings: Readonly<Record<string, string>> = {},
): Promise<Templates & { close(): Promise<void> }> {
  await clearAbandoned();
  const directory = await mkdtemp(path.join(os.tmpdir(), prefix));
  const postgres = await startEmbedded({ dataDir: directory, settings: { ...fast, ...settings } });
  const close = async () => {
    await postgres.stop();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await asOwner(postgres.owner, 'create database migrated');
    await migrate({ ...postgres.owner, database: 'migrated' }, { serverLogin: postgres.server.user });
    await asOwner(postgres.owner, 'create database plain template migrated');
    await asOwner({ ...postgres.owner, database: 'plain' }, movableClock);
    await asOwner(postgres.owner, 'create database demo template plain');
    const demo = await loadDemo({ ...postgres.owner, database: 'demo' });
    await asOwner(postgres.owner, 'create database scene template plain');
    const scene = await setSceneIn({ ...postgres.owner, database: 'scene' });
    return {
      owner: access(postgres.owner),
      server: access(postgres.server),
      directory,
      templates: { migrated: 'migrated', plain: 'plain', demo: 'demo', scene: 'scene' },
      demo,
      scene,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
