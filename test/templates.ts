/** A PostgreSQL with databases to copy: a migrated one, one with the demo brokerages, and one with the scene of docs/visibility.md. */

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

/** Everything that a test file needs to make a database of its own. */
export interface Templates {
  readonly owner: ConnectionTo;
  readonly server: ConnectionTo;
  /** For files; gone when the PostgreSQL stops. */
  readonly directory: string;
  readonly templates: {
    /** As the migrations make it; the others have a clock that tests can set. */
    readonly migrated: string;
    readonly plain: string;
    readonly demo: string;
    readonly scene: string;
  };
  readonly demo: Demo;
  /** The ids of what is in the scene. */
  readonly scene: Scene;
}

// Nothing here outlives the run, so nothing has to reach the disk.
const fast = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '400',
  // What PostgreSQL knows of a table, by which it plans, changes when a test has it so.
  autovacuum: 'off',
  shared_buffers: '256MB',
  // Each connection lives for one file: planning a statement anew for its first five parameters takes longer than the rows of a test.
  plan_cache_mode: 'force_generic_plan',
  // Nothing is recovered or replicated from the log, which may lie in memory.
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

/** Starts the PostgreSQL with the templates in it; `settings` go on top of ours. */
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
