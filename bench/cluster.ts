/** The PostgreSQL that everything is measured on: a temporary one, or a temporary database at DATABASE_URL. */

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { startEmbedded } from '../server/database/embedded.ts';
import { migrate } from '../server/database/migrate.ts';

export interface Cluster {
  readonly owner: pg.ClientConfig;
  readonly server: Required<Pick<pg.ClientConfig, 'host' | 'port' | 'user' | 'database'>> & { password: string };
  /** For example "PostgreSQL 18.1". */
  readonly version: string;
  close(): Promise<void>;
}

// Settings as an operator would choose them for a small machine; durable, so that a create is committed to disk.
const settings = { shared_buffers: '512MB', max_connections: '200', max_wal_size: '4GB' };

async function embedded(): Promise<Omit<Cluster, 'version'>> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'dealkeep-bench-'));
  const postgres = await startEmbedded({ dataDir: directory, settings });
  await migrate(postgres.owner, { serverLogin: postgres.server.user });
  return {
    owner: postgres.owner,
    server: postgres.server as Cluster['server'],
    async close() {
      await postgres.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function external(url: string): Promise<Omit<Cluster, 'version'>> {
  const name = `dealkeep_bench_${randomBytes(4).toString('hex')}`;
  const password = randomBytes(16).toString('hex');
  const administer = async (...statements: string[]) => {
    const client = new pg.Client(url);
    await client.connect();
    for (const statement of statements) await client.query(statement);
    await client.end();
  };
  await administer(`create role ${name} login password '${password}'`, `create database ${name}`);
  const { host, port, user, password: ownPassword } = new pg.Client(url);
  const owner = { host, port, user, password: ownPassword ?? '', database: name };
  const close = () => administer(`drop database if exists ${name} with (force)`, `drop role if exists ${name}`);
  try {
    await migrate(owner, { serverLogin: name });
  } catch (error) {
    await close();
    throw error;
  }
  return { owner, server: { host, port, user: name, password, database: name }, close };
}

/**
 * Opens and migrates the database. `url`, which defaults to DATABASE_URL, is a login that may create databases and
 * roles; without either, a temporary PostgreSQL is started.
 */
export async function openCluster(url = process.env['DATABASE_URL']): Promise<Cluster> {
  const cluster = url ? await external(url) : await embedded();
  const client = new pg.Client(cluster.owner);
  await client.connect();
  const { rows } = await client.query<{ version: string }>(`select current_setting('server_version') as version`);
  await client.end();
  return { ...cluster, version: `PostgreSQL ${rows[0]?.version.split(' ')[0]}` };
}

/** Returns the connection in the form of DATABASE_URL. */
export function urlOf({ host = '', port, user, password, database }: pg.ClientConfig): string {
  const query = host.startsWith('/') ? `?host=${encodeURIComponent(host)}` : '';
  const reached = host.startsWith('/') ? 'localhost' : host;
  return `postgres://${user}:${encodeURIComponent(String(password))}@${reached}:${port}/${database}${query}`;
}
