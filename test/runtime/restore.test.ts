/** The command `restore`: what it brings back, into which database, and with which store of documents. */

import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { freePort } from '../../bench/free-port.ts';
import type { Demo } from '../../database/demo/load.ts';
import { debianEngine } from '../../drill/postgres.ts';
import { command, spawnOptions } from '../../server/database/cluster.ts';
import { preparedHome } from '../../server/database/postgres-home.ts';
import { openS3Server } from '../documents/s3-server.ts';
import {
  bodiesIn,
  bucketVariables,
  everyRow,
  openBackups,
  secondAfter,
  type BackupLine,
  type Backups,
} from './backups.ts';
import { newDataDir, run, serve } from './program.ts';

vi.setConfig({ testTimeout: 240_000 });

let backups: Backups;

beforeAll(async () => {
  backups = await openBackups();
});
afterAll(() => backups?.close());

/** Returns the history to which the change numbers of a database belong. */
async function historyOf(owner: pg.ClientConfig): Promise<unknown> {
  const client = new pg.Client(owner);
  await client.connect();
  const { rows } = await client.query('select history from vault.change_stream').finally(() => client.end());
  return rows[0];
}

/**
 * Returns what protects the rows of each table: whether row-level security is enabled and applies to the owner, the
 * policies, the triggers with their state, and the foreign keys.
 */
async function guardsOf(owner: pg.ClientConfig): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(owner);
  await client.connect();
  const { rows } = await client
    .query<Record<string, unknown>>(
      `select n.nspname || '.' || c.relname as name, c.relrowsecurity, c.relforcerowsecurity,
         (select array_agg(t.tgname || ' ' || t.tgenabled::text order by t.tgname collate "C")
          from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal) as triggers,
         (select array_agg(concat_ws(' ', p.polname, p.polcmd, pg_get_expr(p.polqual, c.oid), pg_get_expr(p.polwithcheck, c.oid)) order by p.polname)
          from pg_policy p where p.polrelid = c.oid) as policies,
         (select array_agg(pg_get_constraintdef(k.oid) order by k.conname collate "C")
          from pg_constraint k where k.conrelid = c.oid and k.contype = 'f') as foreign_keys
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p') and n.nspname in ('public', 'app', 'vault', 'limits') order by 1`,
    )
    .finally(() => client.end());
  return rows;
}

/** Returns the last number that each sequence has given out. */
async function numbersOf(owner: pg.ClientConfig): Promise<Map<string, number>> {
  const client = new pg.Client(owner);
  await client.connect();
  const { rows } = await client
    .query<{ name: string; last: string | null }>(
      `select schemaname || '.' || sequencename as name, last_value as last from pg_sequences`,
    )
    .finally(() => client.end());
  return new Map(rows.map(({ name, last }) => [name, Number(last)]));
}

test('a backup during writes restores one consistent state, and the next copies only new documents', async () => {
  const { keys } = backups.service.demo;
  const stop = new AbortController();
  let written = 0;
  const writing = (async () => {
    while (!stop.signal.aborted) {
      const response = await fetch(`${backups.service.restUrl}/contacts`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${keys.full}`,
          'content-type': 'application/json',
          'idempotency-key': randomBytes(8).toString('hex'),
        },
        body: JSON.stringify({ type: 'person', displayName: `Written ${written}` }),
      });
      if (response.status === 201) written += 1;
      await response.arrayBuffer();
    }
  })();
  await expect.poll(() => written).toBeGreaterThan(3);
  const during = await backups.backUp(backups.folder).finally(() => stop.abort());
  await writing;
  expect(during.documents).toBeGreaterThan(10);

  // Each contact was written together with the idempotency key of its request, or not at all.
  const early = await backups.emptyPlace();
  const one = await run(['restore', during.name, '--place', backups.folder, '--json'], early.env);
  expect(one.stderr).toBe('');
  const told = JSON.parse(one.stdout) as { tables: { table: string; isSame: boolean; restored: { rows: number } }[] };
  expect(told.tables.filter(({ isSame }) => !isSame)).toEqual([]);
  const contacts = (await everyRow(early.owner))['contacts']?.match(/Written \d+/g) ?? [];
  expect(contacts.length).toBeGreaterThan(3);
  expect(contacts.length).toBeLessThanOrEqual(written);
  expect(told.tables.find(({ table }) => table === 'vault.idempotency_keys')?.restored.rows).toBe(contacts.length);

  await secondAfter(during.name);
  const numbers = await numbersOf(backups.service.connections.owner);
  expect([...numbers.values()].some((last) => last > 1)).toBe(true);
  // BACKUP_KEEP applies only to BACKUP_TO, and this place is given on the command line.
  const after = await backups.backUp(backups.folder, { BACKUP_KEEP: '1' });
  expect(after).toMatchObject({ new_documents: 0, deleted: [] });
  const late = await backups.emptyPlace();
  // An error that would otherwise occur after the rows are loaded is found before.
  const nobody = { DATABASE_URL: late.env['DATABASE_URL']?.replace('//', '//nobody_') ?? '' };
  const unreachable = await run(['restore', '--place', backups.folder], { ...late.env, ...nobody });
  expect(unreachable).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Cannot connect to DATABASE_URL'),
  });
  const restored = await run(['restore', '--place', backups.folder, '--keep-sessions'], late.env);
  expect(restored).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('--continue') });
  expect(await everyRow(late.owner)).toEqual(await everyRow(backups.service.connections.owner));
  // Everything that was disabled while the rows were loaded is enabled again.
  const guards = await guardsOf(backups.service.connections.owner);
  expect(guards.filter(({ relforcerowsecurity }) => relforcerowsecurity).length).toBeGreaterThan(10);
  expect(await guardsOf(late.owner)).toEqual(guards);
  // No sequence gives out a number twice.
  const goesOn = await numbersOf(late.owner);
  expect([...numbers].filter(([name, last]) => !(goesOn.get(name)! >= last))).toEqual([]);
  // Before a node runs on the restored database, its history is new: cursors from after the backup are expired.
  expect(await historyOf(late.owner)).not.toEqual(await historyOf(backups.service.connections.owner));
  expect(await bodiesIn(path.join(late.dataDir, 'documents'))).toEqual(
    await bodiesIn(path.join(backups.service.config.dataDir, 'documents')),
  );
  expect((await stat(path.join(backups.folder, after.name, 'rows'))).mode & 0o777).toBe(0o600);

  // A database that is not empty is refused.
  const again = await run(['restore', '--place', backups.folder], late.env);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('The database is not empty') });
  expect(again.stderr).toContain('run dealkeep migrate, then dealkeep documents adopt');

  // A restored database counts as another one: its backups would otherwise delete those of the original, which is still
  // in use.
  const fromCopy = await run(['backup', '--place', backups.folder, '--keep', '1'], late.env);
  expect(fromCopy).toMatchObject({ code: 1, stderr: expect.stringContaining('--continue') });

  const byVariables = await run(['backup', '--json'], { ...backups.env, BACKUP_TO: backups.folder, BACKUP_KEEP: '1' });
  const kept = JSON.parse(byVariables.stdout) as BackupLine;
  expect(kept.deleted).toEqual([during.name, after.name]);
  expect((await readdir(backups.folder)).toSorted()).toEqual([kept.name, 'documents', 'incoming']);

  await secondAfter(kept.name);
  const taken = await backups.backUp(backups.folder, late.env, ['--keep', '1', '--continue']);
  expect(taken.deleted).toEqual([kept.name]);
});

test('a restore ends sessions, clients and links to calendars, unless --keep-sessions is given', async () => {
  const { email, password } = backups.service.demo.people.broker;
  const signedIn = await fetch(`${backups.service.origin}/api/auth/sign-in`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });
  expect(await signedIn.json()).toMatchObject({ outcome: 'signed_in' });
  const cookie = signedIn.headers.getSetCookie().map((line) => line.slice(0, line.indexOf(';')));
  await backups.service.sql(
    `with c as (
       insert into public.connected_clients (name, redirect_uris, created_by)
       select 'Assistant', '{https://assistant.example/back}', id from users where email = $1 returning id, created_by)
     insert into vault.token_families (user_id, client_id, scopes, resource, consented_at, ends_at)
       select created_by, id, '{mcp:read}', 'https://dealkeep.example/mcp', now(), now() + interval '30 days' from c`,
    [email],
  );
  await backups.service.sql(
    'insert into vault.calendar_links (user_id, digest) select id, sha256(id::text::bytea) from users where email = $1',
    [email],
  );
  const place = await newDataDir();
  const made = await backups.backUp(place);
  const session = async (args: string[]) => {
    const target = await backups.emptyPlace();
    const restored = await run(['restore', made.name, '--place', place, ...args], target.env);
    expect(restored).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('"After a restore"') });
    const node = serve(target.env);
    const { url } = await node.ready;
    const { status } = await fetch(`${url}api/web/deals/${backups.service.demo.deals.with_everything}`, {
      headers: { cookie: cookie.join('; ') },
    });
    node.child.kill('SIGTERM');
    await node.ended;
    const sql = new pg.Client(target.owner);
    await sql.connect();
    const { rows } = await sql
      .query(
        `select (select count(*)::int from vault.token_families where revoked_at is null) as clients,
           (select count(*)::int from vault.calendar_links) as calendars`,
      )
      .finally(() => sql.end());
    return { status, ...rows[0] };
  };
  const before = await backups.service.sql<{ clients: number; calendars: number }>(
    `select (select count(*)::int from vault.token_families where revoked_at is null) as clients,
       (select count(*)::int from vault.calendar_links) as calendars`,
  );
  expect(before).toEqual([{ clients: 1, calendars: 1 }]);
  expect(await session(['--keep-sessions'])).toEqual({ status: 200, ...before[0] });
  expect(await session([])).toEqual({ status: 401, clients: 0, calendars: 0 });
});

test('a restored copy needs a document store of its own, unless --continue replaces the original', async () => {
  const s3 = await openS3Server();
  const original = await backups.emptyPlace();
  const store = { ...bucketVariables(s3.config), S3_BUCKET: 'sales' };
  const at = (place: { env: Record<string, string> }) => ({ ...place.env, ...store });
  const place = await newDataDir();
  const marks = () => [...s3.objects.keys()].filter((key) => key.includes('dealkeep-store-'));
  try {
    // As the first start of the service does.
    expect(await run(['documents', 'adopt'], at(original))).toMatchObject({ code: 0, stderr: '' });
    const before = marks();
    expect(before).toHaveLength(1);
    expect(await run(['backup', '--place', place], at(original))).toMatchObject({ code: 0, stderr: '' });

    const copy = await backups.emptyPlace();
    const refused = await run(['restore', '--place', place], at(copy));
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('Give the copy a bucket') });
    expect(refused.stderr).toContain('the bucket sales');
    expect(refused.stderr).toContain('--continue');
    expect(marks()).toEqual(before);
    expect(await run(['restore', '--place', place], copy.env)).toMatchObject({ code: 0, stderr: '' });

    // The database is lost, but its store of documents is not.
    const successor = await backups.emptyPlace();
    const taken = await run(['restore', '--place', place, '--continue'], at(successor));
    expect(taken).toMatchObject({ code: 0, stderr: '' });
    expect(marks()).not.toContain(before[0]);
    expect(await run(['serve'], at(original))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('The documents of this database are not kept in the bucket sales'),
    });
    const second = serve(at(successor));
    await second.ready;
    second.child.kill('SIGTERM');
    expect((await second.ended).code).toBe(0);
    // A backup of the original still names bodies that the successor needs, so a copy may not use the same bucket.
    const late = await run(['restore', '--place', place], at(await backups.emptyPlace()));
    expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining('Give the copy a bucket') });
  } finally {
    await s3.close();
  }
});

const engine = debianEngine();

test.skipIf(engine === null)(
  'a backup restores into another PostgreSQL version (skipped without a PostgreSQL from Debian)',
  async () => {
    const place = await newDataDir();
    await backups.backUp(place);
    const home = preparedHome(await newDataDir(), engine ?? '');
    const cluster = path.join(home.directory, 'older');
    const port = await freePort();
    const tool = (program: string, args: string[]) => {
      const [file, rest] = command(home, program, args);
      const { status, stderr } = spawnSync(file, rest, { encoding: 'utf8', timeout: 60_000, ...spawnOptions(home) });
      if (status !== 0) throw new Error(stderr);
    };
    tool('initdb', ['-D', cluster, '-U', 'postgres', '-A', 'trust', '--encoding=UTF8', '--locale=C', '-N']);
    const options = `-c listen_addresses=127.0.0.1 -c port=${port} -c unix_socket_directories= -c fsync=off`;
    tool('pg_ctl', ['-D', cluster, '-o', options, '-l', path.join(home.directory, 'older.log'), '-w', 'start']);
    try {
      const older = (user: string, database: string): pg.ClientConfig => ({ host: '127.0.0.1', port, user, database });
      const admin = new pg.Client(older('postgres', 'postgres'));
      await admin.connect();
      await admin.query('create role keeper login createrole');
      await admin.query('create role app login');
      await admin.query('create database deals owner keeper');
      await admin.end();
      const target = {
        DATA_DIR: await newDataDir(),
        DATABASE_URL: `postgres://app@127.0.0.1:${port}/deals`,
        MIGRATE_DATABASE_URL: `postgres://keeper@127.0.0.1:${port}/deals`,
      };
      expect(await run(['restore', '--place', place, '--keep-sessions'], target)).toMatchObject({
        code: 0,
        stderr: '',
      });
      expect(await everyRow(older('keeper', 'deals'))).toEqual(await everyRow(backups.service.connections.owner));
    } finally {
      tool('pg_ctl', ['-D', cluster, '-m', 'immediate', 'stop']);
    }
  },
);

describe('the data of an earlier release', () => {
  const releases = path.join(import.meta.dirname, '../../database/releases');
  const states = readdirSync(releases).filter((name) => /^\d{3}$/.test(name));

  test.each(states)('%s is restored and migrated, and a broker signs in and reads a deal', async (state) => {
    const place = path.join(releases, state);
    const demo = JSON.parse(await readFile(path.join(place, 'demo.json'), 'utf8')) as Demo;
    const target = await backups.emptyPlace('nothing');
    expect(await run(['restore', '--place', place], target.env)).toMatchObject({ code: 0, stderr: '' });
    const program = serve(target.env);
    const { url: origin } = await program.ready;
    const { email, password } = demo.people.broker;
    const signedIn = await fetch(`${origin}api/auth/sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
    });
    expect(await signedIn.json()).toMatchObject({ outcome: 'signed_in', user: { email } });
    const cookie = signedIn.headers.getSetCookie().map((line) => line.slice(0, line.indexOf(';')));
    const read = async (page: string) => {
      const response = await fetch(`${origin}api/web/deals/${demo.deals.with_everything}${page}`, {
        headers: { cookie: cookie.join('; ') },
      });
      expect(response.status).toBe(200);
      return response.json();
    };
    expect(JSON.stringify(await read(''))).toContain(demo.deals.with_everything);
    expect(JSON.stringify(await read('/documents'))).toContain('.pdf');
    program.child.kill('SIGTERM');
    expect((await program.ended).code).toBe(0);
  });
});
