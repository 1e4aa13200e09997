/**
 * How migrations are applied: locks that are held, indexes that are built concurrently, and changes that are marked as
 * breaking.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { migrate, migrationFiles, pending } from '../../server/database/migrate.ts';

const database = 'migrated_by_hand';
let administration: pg.Client;
let owner: pg.Client;
let other: pg.Client;
let directory: string;
const connection = () => ({ ...inject('owner'), database });

async function connected(config: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(config);
  client.on('error', () => {});
  await client.connect();
  return client;
}

beforeAll(async () => {
  administration = await connected({ ...inject('owner'), database: 'dealkeep' });
});
beforeEach(async () => {
  await owner?.end();
  await other?.end();
  await administration.query(`drop database if exists ${database}`);
  await administration.query(`create database ${database} template ${inject('templates').plain}`);
  owner = await connected(connection());
  other = await connected(connection());
  directory = await mkdtemp(path.join(os.tmpdir(), 'migrations-'));
  // The migrations that are applied already; tests add new ones.
  for (const { name, text } of await migrationFiles()) await writeFile(path.join(directory, name), text);
  return () => rm(directory, { recursive: true, force: true });
});
afterAll(async () => {
  await owner?.end();
  await other?.end();
  await administration.query(`drop database if exists ${database}`);
  await administration.end();
});

const add = (name: string, text: string) => writeFile(path.join(directory, name), text);
const applied = async (name: string) =>
  (await owner.query('select breaking from app.migrations where name = $1', [name])).rows;
const waiting = async () =>
  (await owner.query(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`))
    .rowCount;

test('a migration that cannot get its lock lets other sessions continue, and is retried', async () => {
  await add('900_column.sql', 'alter table contacts add column more int;\n');
  await other.query('begin');
  await other.query('select from contacts limit 1');
  const migrating = migrate(connection(), { directory });
  await expect.poll(waiting).toBe(1);
  // A reader behind the migration in the queue gets its lock when the migration gives up for now.
  expect((await owner.query('select count(*)::int as count from contacts')).rows).toEqual([{ count: 0 }]);
  await other.query('commit');
  expect(await migrating).toEqual(['900_column.sql']);
  expect(await applied('900_column.sql')).toEqual([{ breaking: false }]);
});

test('a migration that PostgreSQL aborts because of a deadlock is retried', async () => {
  // PostgreSQL ends the session that finds the deadlock: not this one, if its login may change the setting.
  await other.query(`set deadlock_timeout = '5min'`).catch(() => {});
  await add(
    '900_two_tables.sql',
    // A waiting transaction looks for a deadlock once, after a second: the other one does so before there is a
    // deadlock.
    'lock table contacts; select pg_sleep(2); lock table deals; alter table contacts add column two int;\n',
  );
  await other.query('begin');
  await other.query('select from deals limit 1');
  const migrating = migrate(connection(), { directory });
  const sleeping = () =>
    owner.query(
      `select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep' and application_name = 'dealkeep migrate'`,
    );
  await expect.poll(async () => (await sleeping()).rowCount, { interval: 20 }).toBe(1);
  // This query gets its lock when PostgreSQL has ended the migration.
  await other.query('select from contacts limit 1');
  await other.query('commit');
  expect(await migrating).toEqual(['900_two_tables.sql']);
});

test('an index is built concurrently with writes, and rebuilt after an interrupted build', async () => {
  const index =
    '-- no transaction\n-- Why it is needed.\ncreate index concurrently if not exists more on public.contacts (phone);\n';
  await add('900_index.sql', index);
  const valid = async () =>
    (
      await owner.query(
        `select i.indisvalid from pg_index i join pg_class c on c.oid = i.indexrelid where c.relname = 'more'`,
      )
    ).rows;
  // The state after a process was killed while it built the index.
  await other.query('begin');
  await other.query('lock table public.contacts in row exclusive mode');
  const building = owner.query('create index concurrently more on public.contacts (phone)').catch(() => {});
  await expect
    .poll(
      async () =>
        (
          await administration.query(
            `select from pg_stat_activity where datname = '${database}' and wait_event_type = 'Lock'`,
          )
        ).rowCount,
    )
    .toBe(1);
  await administration.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}' and wait_event_type = 'Lock'`,
  );
  await building;
  owner = await connected(connection());
  await other.query('commit');
  expect(await valid()).toEqual([{ indisvalid: false }]);

  // Two at once: the build must not have to wait for the migration that waits.
  const both = await Promise.all([migrate(connection(), { directory }), migrate(connection(), { directory })]);
  expect(both.flat()).toEqual(['900_index.sql']);
  expect(await valid()).toEqual([{ indisvalid: true }]);
  expect(await applied('900_index.sql')).toEqual([{ breaking: false }]);
});

test('an index of a partitioned table is built partition by partition, and continued after an interruption', async () => {
  await add(
    '900_index.sql',
    '-- no transaction\ncreate index concurrently if not exists asked on public.audit_records (request_id) where request_id is not null;\n',
  );
  const indexes = async () =>
    (
      await owner.query<{ part: string; whole: string | null; indisvalid: boolean }>(
        `select i.indrelid::regclass::text as part, h.inhparent::regclass::text as whole, i.indisvalid
         from pg_index i left join pg_inherits h on h.inhrelid = i.indexrelid
         where pg_get_indexdef(i.indexrelid) like '%(request_id)%' order by 1`,
      )
    ).rows;
  // Building the index of another part may wait for this very query, and continues after it.
  const building = () =>
    owner.query<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
         and query ~ '^(create|drop) index concurrently .*audit_records_first'`,
    );
  // A session is about to write into the first part, and the migration is ended while it waits for that session.
  await other.query('begin');
  await other.query('lock table vault.audit_records_first in row exclusive mode');
  const ended = migrate(connection(), { directory }).catch((error: unknown) => error);
  await expect.poll(async () => (await building()).rowCount).toBe(1);
  await owner.query(`insert into audit_records (action, outcome, request_id) values ('while', 'done', 'one')`);
  const [waits] = (await building()).rows;
  await administration.query('select pg_terminate_backend($1)', [waits?.pid]);
  expect(await ended).toBeInstanceOf(Error);
  expect(await indexes()).toEqual(
    expect.arrayContaining([
      { part: 'audit_records', whole: null, indisvalid: false },
      { part: 'vault.audit_records_first', whole: null, indisvalid: false },
    ]),
  );

  // The migration begins again and waits. Meanwhile parts are created and dropped.
  const both = [migrate(connection(), { directory }), migrate(connection(), { directory })];
  await expect.poll(async () => (await building()).rowCount).toBe(1);
  await owner.query(
    `create or replace function app.now() returns timestamptz language sql stable parallel safe as $$ select now() + interval '2 months' $$`,
  );
  await owner.query('select app.keep_audit_months()');
  await other.query('commit');
  expect((await Promise.all(both)).flat()).toEqual(['900_index.sql']);
  const parts = (
    await owner.query<{ part: string }>(
      `select inhrelid::regclass::text as part from pg_inherits where inhparent = 'audit_records'::regclass`,
    )
  ).rows;
  expect(parts.length).toBeGreaterThan(4);
  expect(await indexes()).toEqual(
    [{ part: 'audit_records', whole: null }, ...parts.map(({ part }) => ({ part, whole: 'asked' }))]
      .map((index) => ({ ...index, indisvalid: true }))
      .toSorted((one, two) => (one.part < two.part ? -1 : 1)),
  );
});

test('audit records from before the column “noted” are migrated as new ones are written', async () => {
  await administration.query(`drop database ${database} with (force)`);
  await administration.query(`create database ${database}`);
  const before = (await migrationFiles()).filter(({ name }) => name < '247').map(({ name }) => name);
  await migrate(connection(), { only: new Set(before) });
  owner = await connected(connection());
  // More deals than are processed at a time, in several months.
  await owner.query(`alter table audit_records disable trigger note_done;
    insert into audit_records (at, deal_id, action, outcome)
      select now() - n % 3 * interval '1 month', gen_random_uuid(), action, outcome from generate_series(1, 2500) n,
        (values ('deal.edit', 'done'), ('deal.edit', 'refused'), ('tool:svc_deals_list', 'ok'), ('tool:svc_deals_list', 'done')) w (action, outcome);
    alter table audit_records enable trigger note_done`);
  await migrate(connection());
  expect(
    (
      await owner.query(
        'select action, outcome, noted, count(*)::int from audit_records group by 1, 2, 3 order by 1, 2',
      )
    ).rows,
  ).toEqual([
    { action: 'deal.edit', outcome: 'done', noted: true, count: 2500 },
    { action: 'deal.edit', outcome: 'refused', noted: false, count: 2500 },
    { action: 'tool:svc_deals_list', outcome: 'done', noted: false, count: 2500 },
    { action: 'tool:svc_deals_list', outcome: 'ok', noted: false, count: 2500 },
  ]);
});

test('a migration turns off the webhooks of former admins, and records each once', async () => {
  await administration.query(`drop database ${database} with (force)`);
  await administration.query(`create database ${database}`);
  const before = (await migrationFiles()).filter(({ name }) => name < '393').map(({ name }) => name);
  await migrate(connection(), { only: new Set(before) });
  owner = await connected(connection());
  await owner.query(`insert into brokerages (slug, name) values ('here', 'Here'), ('there', 'There');
    insert into users (email, name) select name || '@example.test', name from unnest('{stays,left,staff,suspended,elsewhere}'::text[]) name;
    insert into members (brokerage_id, user_id, role)
      select b.id, u.id, 'admin' from users u join brokerages b on b.slug = case u.name when 'elsewhere' then 'there' else 'here' end;
    with k as (select u.name, app.issue_api_key(b.id, u.id, 'A key', 'live', '{contacts:read}', 1000, null, sha256(u.name::bytea), '1111') as id
      from brokerages b, users u where b.slug = 'here' and u.name in ('stays', 'left', 'suspended'))
    insert into webhook_endpoints (key_id, url, created_by, place, history)
      select k.id, 'https://example.test/' || o.name, o.id, s.published, s.history
      from k, vault.change_stream s, (select name, id, 'stays' as key from users
        union all select 'key of ' || name, null, name from k) o where k.name = o.key;
    alter table members disable trigger user;
    alter table users disable trigger user;
    update members m set status = 'removed' from users u where u.id = m.user_id and u.name = 'left';
    update members m set role = 'staff' from users u where u.id = m.user_id and u.name = 'staff';
    update users set suspended_at = now() where name = 'suspended';
    alter table members enable trigger user;
    alter table users enable trigger user`);
  await migrate(connection());
  const { rows } = await owner.query(
    `select split_part(e.url, '/', 4) as by, e.off_reason, e.off_because, b.slug, a.user_id, a.details
     from webhook_endpoints e left join audit_records a on a.action = 'webhook.update' and a.subject_id = e.id::text
     left join brokerages b on b.id = a.brokerage_id order by 1`,
  );
  const on = { off_reason: null, off_because: null, slug: null, user_id: null, details: null };
  const off = {
    off_reason: 'asked',
    off_because: 'admin_gone',
    slug: 'here',
    user_id: null,
    details: { state: 'off' },
  };
  expect(rows).toEqual([
    { by: 'elsewhere', ...off },
    { by: 'key of left', ...off },
    { by: 'key of stays', ...on },
    { by: 'key of suspended', ...off },
    { by: 'left', ...off },
    { by: 'staff', ...off },
    { by: 'stays', ...on },
    { by: 'suspended', ...off },
  ]);
});

test('a breaking migration is recorded as such, and rejected by a release that does not know it', async () => {
  await add('900_breaking.sql', '-- breaking: the name goes\nalter table contacts drop column phone cascade;\n');
  await add('901_more.sql', 'create table more (id int);\n');
  await migrate(connection(), { directory });
  expect(await applied('900_breaking.sql')).toEqual([{ breaking: true }]);
  const rows = (await owner.query('select name, digest, breaking from app.migrations')).rows as never[];
  const older = await migrationFiles();
  expect(() => pending(older, rows)).toThrow('900_breaking.sql, which this version of Dealkeep does not know');
  const compatible = (rows as { name: string }[]).filter(({ name }) => name !== '900_breaking.sql') as never[];
  expect(pending(older, compatible)).toEqual([]);
});

test('a new migration that removes something is marked as breaking or as compatible', async () => {
  const takesAway = /\b(drop (table|column|function|view|type|schema)|rename|set not null|type \w+ using)\b/i;
  const unmarked = (await migrationFiles()).filter(
    // Earlier migrations are exempt: releases before 029 know no marks.
    ({ name, text }) => name > '032' && takesAway.test(text) && !/^-- (breaking|compatible): ./m.test(text),
  );
  expect(
    unmarked.map(({ name }) => name),
    'say in the first line `-- breaking: why`, or `-- compatible: why` when the release before does not use it',
  ).toEqual([]);
});

test('audit partitions are created monthly in advance, not directly readable, and dropped after retention', async () => {
  await migrate(connection());
  const parts = async () =>
    (
      await owner.query<{ name: string; rows: string[] | null; open: boolean }>(
        `select c.relname as name, not (c.relrowsecurity and c.relforcerowsecurity)
           or has_table_privilege('dealkeep_server', c.oid, 'select, insert, update, delete') as open,
           (select array_agg(r.action order by r.at) from audit_records r where r.tableoid = c.oid) as rows
         from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'audit_records'::regclass
         order by (select m.until from vault.audit_months m where m.name = c.relname)`,
      )
    ).rows;
  const keep = () => owner.query('select app.keep_audit_months()');
  const inMonths = (count: number) =>
    owner.query(
      `create or replace function app.now() returns timestamptz language sql stable parallel safe
       return now() + interval '${count} months'`,
    );
  const first = await parts();
  expect(first).toHaveLength(4);
  expect(first.map(({ name }) => name)).toEqual(expect.arrayContaining(['audit_records_first', 'audit_records_later']));
  expect(first.filter(({ open }) => open)).toEqual([]);
  await owner.query(
    `insert into audit_records (at, action, outcome) values (now() - interval '3 years', 'long_ago', 'done'), (now(), 'today', 'done'),
       (now() + interval '14 months', 'ahead', 'done')`,
  );
  // Rows that were added before the part of their month existed stay where they are.
  await inMonths(13);
  await keep();
  const later = await parts();
  expect(later.flatMap(({ rows }) => rows ?? [])).toEqual(['long_ago', 'today', 'ahead']);
  expect(later.filter(({ open }) => open)).toEqual([]);
  expect(later.at(-1)).toMatchObject({ name: 'audit_records_later', rows: null });
  await owner.query('update vault.audit_retention set months = 6');
  await keep();
  expect((await parts()).flatMap(({ rows }) => rows ?? [])).toEqual(['ahead']);
  expect((await parts()).map(({ name }) => name)).not.toContain('audit_records_first');
  await keep();
});
