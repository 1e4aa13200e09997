/** The service on an external PostgreSQL: DATABASE_URL and MIGRATE_DATABASE_URL. */

import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { urlOf } from '../../bench/cluster.ts';
import { startEmbedded, type EmbeddedPostgres } from '../../server/database/embedded.ts';
import { installedEngine, preparedHome } from '../../server/database/postgres-home.ts';
import { newKey } from '../../drill/writers.ts';
import { startPooler } from '../database/network.ts';
import { cleanUp, newDataDir, run, serve, type Program } from './program.ts';

let postgres: EmbeddedPostgres;
let admin: pg.Client;
const password = randomBytes(12).toString('hex');

beforeAll(async () => {
  const dataDir = await newDataDir();
  const settings = { fsync: 'off', full_page_writes: 'off' };
  await (await startEmbedded({ dataDir, settings })).stop();
  // Makes a superuser that may sign in, as on any PostgreSQL whose administrator forgot the password.
  const { engine, directory, prefix, user } = preparedHome(dataDir, await installedEngine());
  const [program = '', ...args] = [
    ...prefix,
    path.join(engine, 'bin/postgres'),
    '--single',
    '-D',
    path.join(directory, 'cluster'),
    'postgres',
  ];
  const made = spawnSync(program, args, {
    input: `alter role postgres password '${password}';\n`,
    cwd: directory,
    ...user,
  });
  if (made.status !== 0) throw new Error(String(made.stderr));
  postgres = await startEmbedded({ dataDir, settings });
  admin = new pg.Client({ ...postgres.owner, user: 'postgres', password, database: 'postgres' });
  await admin.connect();
});
afterAll(async () => {
  await admin.end();
  await cleanUp();
  await postgres.stop();
});

const url = (user: string, database: string): string => urlOf({ ...postgres.owner, user, password, database });

interface OwnDatabase {
  readonly name: string;
  readonly owner: string;
  readonly login: string;
  readonly env: Record<string, string>;
}

let count = 0;
/** Makes a database with an owner and a login for the server, as documented. */
async function newDatabase(): Promise<OwnDatabase> {
  count += 1;
  const [name, owner, login] = [`deals_${count}`, `owner_${count}`, `app_${count}`];
  await admin.query(`create role ${owner} login createrole password '${password}'`);
  await admin.query(`create role ${login} login password '${password}'`);
  await admin.query(`create database ${name} owner ${owner}`);
  // A cluster has one role dealkeep_server; the owner who migrates another database of the cluster must be able to
  // grant it.
  await admin.query(
    `do $$ begin if not exists (select from pg_roles where rolname = 'dealkeep_server') then create role dealkeep_server nologin; end if; end $$`,
  );
  await admin.query(`grant dealkeep_server to ${owner} with admin option`);
  const env = { DATA_DIR: await newDataDir(), DATABASE_URL: url(login, name), MIGRATE_DATABASE_URL: url(owner, name) };
  return { name, owner, login, env };
}

/** A database that its owner has migrated, and what the migration printed. */
let migrated: Promise<OwnDatabase & { readonly printed: string }> | undefined;

/** Migrates the first database, once: it takes some seconds. */
function migrateFirst(): NonNullable<typeof migrated> {
  migrated ??= (async () => {
    const made = await newDatabase();
    const { code, stdout, stderr } = await run(['migrate', '--json'], made.env);
    if (code !== 0 || stderr !== '') throw new Error(`ended with ${code}: ${stderr}`);
    return { ...made, printed: stdout };
  })();
  return migrated;
}

/** Returns a database that its owner has migrated, for tests of what follows the migration: a copy of the first one. */
async function migratedDatabase(): Promise<OwnDatabase> {
  const { name: original, owner, login } = await migrateFirst();
  count += 1;
  const name = `deals_${count}`;
  await admin.query(`create database ${name} template ${original} owner ${owner} strategy file_copy`);
  const env = { DATA_DIR: await newDataDir(), DATABASE_URL: url(login, name), MIGRATE_DATABASE_URL: url(owner, name) };
  return { name, owner, login, env };
}

const without = (env: Record<string, string>, name: string) =>
  Object.fromEntries(Object.entries(env).filter(([key]) => key !== name));

test("migrate runs as the owner and grants the server's login access; serve then works without the owner", async () => {
  const early = await run(['serve'], without((await newDatabase()).env, 'MIGRATE_DATABASE_URL'));
  expect(early).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the database is empty. Set MIGRATE_DATABASE_URL'),
  });

  const { printed } = await migrateFirst();
  expect((JSON.parse(printed) as { applied: string[] }).applied[0]).toBe('001_foundation.sql');

  const { env } = await migratedDatabase();
  const server = without(env, 'MIGRATE_DATABASE_URL');
  const program = serve(server);
  const { url: origin, set_up_url } = await program.ready;
  expect(set_up_url).toContain('/set-up#token=');
  expect((await fetch(`${origin}readyz`)).status).toBe(200);
  const needsOwner = await run(['brokerages', 'create', '--name', 'X', '--slug', 'x'], server);
  expect(needsOwner).toMatchObject({ code: 1, stderr: expect.stringContaining('set MIGRATE_DATABASE_URL') });
  const made = await run(['brokerages', 'create', '--name', 'X', '--slug', 'x', '--json'], env);
  expect(made).toMatchObject({ code: 0 });

  const client = new pg.Client({ connectionString: env['MIGRATE_DATABASE_URL'] });
  await client.connect();
  onTestFinished(() => client.end());
  const key = await newKey(client);
  const lastUse = async () => (await client.query('select last_used_at as at from api_keys')).rows;
  const asked = await fetch(`${origin}api/v1/contacts`, { headers: { authorization: `Bearer ${key}` } });
  expect([asked.status, await lastUse()]).toEqual([200, [{ at: null }]]);
  program.child.kill('SIGTERM');
  expect((await program.ended).code).toBe(0);
  expect(await lastUse()).toEqual([{ at: expect.any(Date) }]);
});

test.skipIf(spawnSync('pgbouncer', ['--version']).status !== 0)(
  'behind a pooler in transaction mode, serve requires DATABASE_PREPARE=off, and works with it',
  async () => {
    const { name, login, env } = await migratedDatabase();
    // One pooler rejects our settings; the other ignores them, and is recognized by how it handles connections.
    for (const settings of ['', 'ignore_startup_parameters = statement_timeout,lock_timeout,options\n']) {
      const bouncer = await startPooler({ ...postgres.owner, user: login, database: name, password }, settings);
      onTestFinished(bouncer.stop);
      const pooled = `postgres://${login}:${password}@localhost:6432/${name}?host=${encodeURIComponent(bouncer.connection.host)}`;
      const refused = await run(['serve'], { DATA_DIR: env['DATA_DIR'] ?? '', DATABASE_URL: pooled });
      expect(refused).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          /leads to a pooler in transaction mode.* Set DATABASE_PREPARE=off, and DATABASE_LISTEN_URL/,
        ),
      });
      if (settings !== '') continue;
      const program = serve({
        DATA_DIR: env['DATA_DIR'] ?? '',
        DATABASE_URL: pooled,
        DATABASE_LISTEN_URL: env['DATABASE_URL'] ?? '',
        DATABASE_PREPARE: 'off',
      });
      const { url: origin } = await program.ready;
      expect((await fetch(`${origin}readyz`)).status).toBe(200);
      program.child.kill('SIGTERM');
      await program.ended;
    }
  },
);

test('every command is rejected when the login in MIGRATE_DATABASE_URL does not own the tables', async () => {
  const { env, login, owner } = await migratedDatabase();
  const wrong = { ...env, MIGRATE_DATABASE_URL: env['DATABASE_URL'] ?? '' };
  const place = await newDataDir();
  for (const args of [
    ['migrate'],
    ['serve'],
    ['users', 'suspend', 'ann@harbor-pine.example'],
    ['keys', 'list', '--brokerage', 'harbor-pine'],
    ['hold', 'list'],
    ['backup', '--place', place],
    ['brokerages', 'export', 'harbor-pine'],
  ]) {
    const { code, stdout, stderr } = await run(args, wrong);
    expect([args, code, stdout]).toEqual([args, 1, '']);
    expect(stderr).toBe(
      `MIGRATE_DATABASE_URL: ${login} does not own the tables of Dealkeep; ${owner} does. Set it to the connection of that login.\n`,
    );
  }
  const examined = await run(['doctor', '--json'], wrong);
  expect(examined.stdout).toContain(`${login} does not own the tables of Dealkeep`);
});

test('commands on an unmigrated or outdated database ask for dealkeep migrate', async () => {
  const { env } = await newDatabase();
  for (const args of [
    ['hold', 'list'],
    ['users', 'suspend', 'ann@harbor-pine.example'],
    ['backup', '--place', await newDataDir()],
  ]) {
    const { code, stderr } = await run(args, env);
    expect([args, code, stderr]).toEqual([
      args,
      1,
      'MIGRATE_DATABASE_URL: the database has no Dealkeep tables. Run: dealkeep migrate\n',
    ]);
  }
  const server = await run(['migrate'], { ...env, MIGRATE_DATABASE_URL: env['DATABASE_URL'] ?? '' });
  expect(server).toMatchObject({ code: 1, stderr: expect.stringContaining('may not create schemas in this database') });

  const behind = await migratedDatabase();
  const client = new pg.Client({ ...postgres.owner, user: 'postgres', password, database: behind.name });
  await client.connect();
  await client.query('delete from app.migrations where name = (select max(name) from app.migrations)');
  await client.end();
  expect(await run(['hold', 'list'], behind.env)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^MIGRATE_DATABASE_URL: the database lacks \d{3}_\w+\.sql\. Run: dealkeep migrate\n$/,
    ),
  });
});

test('variables that point to two different databases are rejected, with both their names', async () => {
  const [here, there] = [await migratedDatabase(), await migratedDatabase()];
  const owner = { ...here.env, MIGRATE_DATABASE_URL: there.env['MIGRATE_DATABASE_URL'] ?? '' };
  const listening = {
    ...without(here.env, 'MIGRATE_DATABASE_URL'),
    DATABASE_LISTEN_URL: there.env['DATABASE_URL'] ?? '',
  };
  const place = await newDataDir();
  const made = path.join(import.meta.dirname, '../../database/releases/030');
  for (const [variable, env, args] of [
    ['MIGRATE_DATABASE_URL', owner, ['serve']],
    ['MIGRATE_DATABASE_URL', owner, ['migrate']],
    ['MIGRATE_DATABASE_URL', owner, ['hold', 'list']],
    ['MIGRATE_DATABASE_URL', owner, ['backup', '--place', place]],
    ['MIGRATE_DATABASE_URL', owner, ['restore', '--place', made]],
    ['DATABASE_LISTEN_URL', listening, ['serve']],
  ] as const) {
    const { code, stdout, stderr } = await run(args, { ...env, LOG_LEVEL: 'silent' });
    expect([args, code, stdout]).toEqual([args, 1, '']);
    expect(stderr).toContain(`${variable} and DATABASE_URL lead to two different databases.`);
    expect(stderr).not.toContain(password);
  }
  for (const [variable, env] of [
    ['MIGRATE_DATABASE_URL', owner],
    ['DATABASE_LISTEN_URL', listening],
  ] as const)
    expect((await run(['doctor', '--json'], env)).stdout).toContain(`${variable} and DATABASE_URL lead to two`);
});

test('several nodes that start at once on an empty database migrate it once', async () => {
  const { env } = await newDatabase();
  const nodes = [serve(env), serve(env)];
  const addresses = await Promise.all(nodes.map(({ ready }) => ready));
  for (const { url: origin } of addresses) expect((await fetch(`${origin}readyz`)).status).toBe(200);
  for (const { child } of nodes) child.kill('SIGTERM');
  expect((await Promise.all(nodes.map(({ ended }) => ended))).map(({ code }) => code)).toEqual([0, 0]);
});

test('a login that bypasses row-level security is rejected, whatever the cause', async () => {
  const { name, owner, login, env } = await migratedDatabase();
  const start = async (user: string) => {
    const { code, stderr } = await run(['serve'], { DATA_DIR: env['DATA_DIR'] ?? '', DATABASE_URL: url(user, name) });
    expect(code).toBe(1);
    expect(stderr).not.toContain(password);
    return stderr;
  };
  expect(await start('postgres')).toContain('postgres is a superuser');
  expect(await start(owner)).toMatch(
    new RegExp(`${owner} owns [a-z_.]+, and an owner can switch row-level security off`),
  );

  await admin.query(`alter role ${login} bypassrls`);
  expect(await start(login)).toContain(`${login} has BYPASSRLS`);
  await admin.query(`alter role ${login} nobypassrls`);

  await admin.query(`grant ${owner} to ${login}`);
  expect(await start(login)).toContain(`${login} owns`);
  await admin.query(`revoke ${owner} from ${login}`);

  await admin.query(`revoke dealkeep_server from ${login} granted by ${owner}`);
  onTestFinished(async () => {
    await admin.query(`grant dealkeep_server to ${login} granted by ${owner}`);
  });
  expect(await start(login)).toContain(`grant dealkeep_server to "${login}"`);
});

test('a database with a missing, a changed or an unknown breaking migration is rejected with an explanation', async () => {
  const { name, env } = await migratedDatabase();
  const owner = new pg.Client({ ...postgres.owner, user: 'postgres', password, database: name });
  await owner.connect();
  const server = without(env, 'MIGRATE_DATABASE_URL');
  const { rows } = await owner.query<{ name: string }>('select max(name) as name from app.migrations');
  const last = rows[0]?.name ?? '';

  await owner.query(`update app.migrations set digest = 'other' where name = $1`, [last]);
  expect((await run(['serve'], env)).stderr).toContain(`${last} was changed after it was applied`);
  await owner.query(`delete from app.migrations where name = $1`, [last]);
  expect((await run(['serve'], server)).stderr).toContain(`the database lacks ${last}. Set MIGRATE_DATABASE_URL`);
  await owner.query(`insert into app.migrations (name, digest, breaking) values ('999_future.sql', 'x', true)`);
  expect((await run(['serve'], server)).stderr).toContain(
    '999_future.sql, which this version of Dealkeep does not know',
  );
  await owner.end();
});

test('a node stays ready and starts on a newer compatible schema; a breaking migration makes it unready', async () => {
  const { name, env } = await migratedDatabase();
  const server = without(env, 'MIGRATE_DATABASE_URL');
  const owner = new pg.Client({ ...postgres.owner, user: 'postgres', password, database: name });
  await owner.connect();
  const node = serve(server);
  const ready = async ({ url: origin }: { url: string }) => (await fetch(`${origin}readyz`)).status;
  expect(await ready(await node.ready)).toBe(200);

  await owner.query(`insert into app.migrations (name, digest) values ('998_compatible.sql', 'x')`);
  expect(await ready(await node.ready)).toBe(200);
  const rolledBack = serve(server);
  expect(await ready(await rolledBack.ready)).toBe(200);

  await owner.query(`insert into app.migrations (name, digest, breaking) values ('999_breaking.sql', 'x', true)`);
  expect(await ready(await node.ready)).toBe(503);
  await owner.end();
});

test('a second node with another document directory is rejected until dealkeep documents adopt', async () => {
  const { env } = await migratedDatabase();
  const elsewhere = { ...env, DATA_DIR: await newDataDir() };
  const stop = async (node: Program) => {
    node.child.kill('SIGTERM');
    expect((await node.ended).code).toBe(0);
  };
  // Started at the same time, so that each could take itself for the first.
  const both = [serve(env), serve(elsewhere)];
  const outcomes = await Promise.allSettled(both.map(({ ready }) => ready));
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  const first = outcomes.findIndex(({ status }) => status === 'fulfilled');
  const [here, there] = first === 0 ? [env, elsewhere] : [elsewhere, env];
  const refused = await both[1 - first]!.ended;
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(`The documents of this database are not kept in ${there['DATA_DIR']}/documents`);
  expect(refused.stderr).toContain('dealkeep documents adopt');
  // What the running node stores until it stops would be lost.
  const early = await run(['documents', 'adopt'], there);
  expect(early).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^1 node is running, .* Stop every node first\./),
  });
  await stop(both[first]!);

  expect(await run(['documents', 'adopt'], there)).toMatchObject({ code: 0 });
  const moved = serve(there);
  await moved.ready;
  expect(await run(['serve'], here)).toMatchObject({ code: 1 });
  await stop(moved);
});

test('an unreachable database is reported by its variable, without its password', async () => {
  const secret = randomBytes(8).toString('hex');
  const DATABASE_URL = `postgres://app:${secret}@127.0.0.1:1/deals`;
  const { code, stdout, stderr } = await run(['serve'], { DATA_DIR: await newDataDir(), DATABASE_URL });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^Cannot connect to DATABASE_URL: .*ECONNREFUSED/);
  expect(stdout + stderr).not.toContain(secret);
});
