/** One PostgreSQL for the whole run, with a migrated database to copy for each test file. */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { loadDemo, type Demo } from '../database/demo/load.ts';
import { startEmbedded } from '../server/database/embedded.ts';
import { migrate } from '../server/database/migrate.ts';
import { buildWeb, needsBuild } from '../server/web-build.ts';
import { clearAbandoned, prefix } from './abandoned.ts';

declare module 'vitest' {
  interface ProvidedContext {
    owner: ConnectionTo;
    server: ConnectionTo;
    /** For files; gone when the run ends. */
    directory: string;
    templates: { readonly plain: string; readonly demo: string };
    demo: Demo;
  }
}

interface ConnectionTo {
  host: string;
  port: number;
  user: string;
  password: string;
}

// Nothing here outlives the run, so nothing has to reach the disk.
const fast = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '400',
  shared_buffers: '256MB',
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

function access({ host, port, user, password }: pg.ClientConfig): ConnectionTo {
  if (!host || !port || !user || typeof password !== 'string') throw new Error('incomplete connection');
  return { host, port, user, password };
}

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  await clearAbandoned();
  if (needsBuild()) await buildWeb(new AbortController().signal);
  const directory = await mkdtemp(path.join(os.tmpdir(), prefix));
  const postgres = await startEmbedded({ dataDir: directory, settings: fast });
  const tearDown = async () => {
    await postgres.stop();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await asOwner(postgres.owner, 'create database plain');
    const plain = { ...postgres.owner, database: 'plain' };
    await migrate(plain, { serverLogin: postgres.server.user });
    await asOwner(plain, movableClock);
    const demo = await demoTemplate(postgres.owner);
    project.provide('owner', access(postgres.owner));
    project.provide('server', access(postgres.server));
    project.provide('directory', directory);
    project.provide('templates', { plain: 'plain', demo: 'demo' });
    project.provide('demo', demo);
  } catch (error) {
    await tearDown();
    throw error;
  }
  return tearDown;
}

/** A second template with the demo brokerages, and what demo.json says of them but for the addresses. */
async function demoTemplate(owner: pg.ClientConfig): Promise<Demo> {
  await asOwner(owner, 'create database demo template plain');
  return loadDemo({ ...owner, database: 'demo' });
}
