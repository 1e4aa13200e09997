import { spawnSync } from 'node:child_process';
import { chmod, cp, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { startEmbedded } from '../../server/database/embedded.ts';

const isRoot = process.getuid?.() === 0;
const fast = { fsync: 'off', full_page_writes: 'off' };

const made: string[] = [];
afterAll(() => Promise.all(made.map((place) => rm(place, { recursive: true, force: true }))));

async function directory(mode: number, ...inside: string[]): Promise<string> {
  const top = await mkdtemp(path.join(os.tmpdir(), 'dealkeep-test-'));
  made.push(top);
  await chmod(top, mode);
  const dataDir = path.join(top, ...inside);
  await mkdir(path.dirname(dataDir), { recursive: true });
  return dataDir;
}

let common: Promise<string> | undefined;
/** Shared by all tests that are not about making a cluster, which takes longer than what they do with it. */
const commonDirectory = () => (common ??= directory(0o755, 'data'));

/** Starts PostgreSQL in `dataDir`, does `work`, and stops it. */
async function during<T>(dataDir: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const postgres = await startEmbedded({ dataDir, settings: fast });
  const client = new pg.Client(postgres.owner);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end();
    await postgres.stop();
  }
}

/** Checks that what one start writes is found by the next. */
async function keepsData(dataDir: string): Promise<void> {
  await during(dataDir, (client) => client.query('create table if not exists kept as select 42 as number'));
  const { rows } = await during(dataDir, (client) => client.query('select number from kept'));
  expect(rows).toEqual([{ number: 42 }]);
}

test('PostgreSQL runs in a directory that only its user can access', async () => {
  await keepsData(await directory(0o700, 'data'));
});

test('the PostgreSQL log contains no refusals, which may name deals, and none of their statements', async () => {
  const dataDir = await commonDirectory();
  await during(dataDir, async (client) => {
    for (let times = 0; times < 100; times += 1)
      await expect(
        client.query(`do $$ begin raise exception 'the open deal "Corner bakery"' using errcode = 'DK001'; end $$`),
      ).rejects.toThrow('Corner bakery');
  });
  const log = await readFile(path.join(dataDir, 'postgres', 'postgres.log'), 'utf8');
  expect(log).toContain('database system is ready to accept connections');
  expect(log).not.toMatch(/Corner bakery|STATEMENT/);
});

test('PostgreSQL runs when the path is too long for a socket', async () => {
  await keepsData(await directory(0o755, 'a-rather-long-name-'.repeat(5), 'and-another-one-'.repeat(3), 'data'));
});

test('PostgreSQL runs in a path with spaces, quotes, commas and non-ASCII letters', async () => {
  await keepsData(await directory(0o755, `O'Brien & "Söhne", Ltd`, 'data'));
});

test('PostgreSQL keeps its data when a public directory is closed to others between starts and reopened', async () => {
  const dataDir = await commonDirectory();
  await keepsData(dataDir);
  await chmod(path.dirname(dataDir), 0o700);
  await keepsData(dataDir);
  await chmod(path.dirname(dataDir), 0o755);
  await keepsData(dataDir);
});

test.runIf(isRoot)(
  'without namespaces and with DATA_DIR closed to others, PostgreSQL uses another directory and records it',
  async () => {
    const dataDir = await directory(0o700, 'data');
    // Without `unshare` no user namespace can be made, as in most containers.
    vi.stubEnv('PATH', '/nowhere');
    await keepsData(dataDir);
    vi.unstubAllEnvs();
    const elsewhere = (await readFile(path.join(dataDir, 'postgres-is-in'), 'utf8')).trim();
    made.push(elsewhere);
    expect((await stat(path.join(elsewhere, 'cluster'))).uid).not.toBe(0);
    // The next start uses the same place.
    await keepsData(dataDir);
  },
);

test.runIf(isRoot)('root is rejected on PostgreSQL data of another user, and no file changes its owner', async () => {
  const dataDir = await directory(0o755, 'data');
  await keepsData(await commonDirectory());
  await cp(await commonDirectory(), dataDir, { recursive: true });
  const owners = async () => {
    const names = ['', ...(await readdir(dataDir, { recursive: true }))];
    return new Set(await Promise.all(names.map(async (name) => (await lstat(path.join(dataDir, name))).uid)));
  };
  expect(spawnSync('chown', ['-R', '12345:12345', dataDir]).status).toBe(0);
  await expect(startEmbedded({ dataDir, settings: fast })).rejects.toThrow(
    `The embedded PostgreSQL in ${dataDir} belongs to the user 12345: run this as that user`,
  );
  expect(await owners()).toEqual(new Set([12345]));
});

test('data of another PostgreSQL version is left unchanged, and the error names the version', async () => {
  const dataDir = await commonDirectory();
  await keepsData(dataDir);
  const version = path.join(dataDir, 'postgres/cluster/PG_VERSION');
  const right = await readFile(version, 'utf8');
  await writeFile(version, '14\n');
  try {
    // PostgreSQL ended by itself, before the timeout for its start.
    const refused = 'did not start (ended with code 1). The data was written by PostgreSQL 14: back it up with';
    await expect(startEmbedded({ dataDir, settings: fast })).rejects.toThrow(refused);
  } finally {
    await writeFile(version, right);
  }
  await keepsData(dataDir);
});

test("the server's login is no superuser, and connections without the right password are rejected", async () => {
  const dataDir = await commonDirectory();
  const postgres = await startEmbedded({ dataDir, settings: fast });
  const refused = (connection: pg.ClientConfig) => {
    const client = new pg.Client(connection);
    return client.connect().then(
      () => client.end().then(() => false),
      (error: Error) => /password/.test(error.message),
    );
  };
  const client = new pg.Client(postgres.server);
  await client.connect();
  const { rows } = await client.query(
    `select rolsuper, rolbypassrls, rolcreaterole, rolcreatedb from pg_roles where rolname = current_user`,
  );
  await client.end();
  expect(rows).toEqual([{ rolsuper: false, rolbypassrls: false, rolcreaterole: false, rolcreatedb: false }]);
  expect(await refused({ ...postgres.owner, password: 'guess' })).toBe(true);
  expect(await refused({ ...postgres.owner, user: 'postgres', password: '' })).toBe(true);
  await postgres.stop();
});
