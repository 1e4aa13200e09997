/** database/schema.sql matches what the migrations make, and the migrations are never changed. */

import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { dumpSchema, schemaFile } from '../../database/dump-schema.ts';
import { frozenMigrations, schemaText } from '../../database/frozen.ts';
import { migrationFiles, pending } from '../../server/database/migrate.ts';
import { lengths } from '../../server/domain/lengths.ts';

let owner: pg.Client;
let schema: string;

beforeAll(async () => {
  owner = new pg.Client({ ...inject('owner'), database: inject('templates').migrated });
  await owner.connect();
  schema = await dumpSchema(owner);
});

afterAll(() => owner?.end());

const lines = (text: string): string[] => text.split(/\r?\n/);

test('schema.sql matches the result of the migrations', async () => {
  expect(
    lines(schemaText(schema, await migrationFiles())),
    'database/schema.sql is not what the migrations make: look at the difference, and write it anew with `npm run schema`',
  ).toEqual(lines(await readFile(schemaFile, 'utf8')));
});

test('frozen migrations are unchanged, and new ones are frozen with their schema', async () => {
  // Throws when a frozen migration was changed or removed.
  const added = pending(await migrationFiles(), await frozenMigrations());
  expect(
    added.map(({ name }) => name),
    'not listed in database/schema.sql: freeze it with `npm run schema`',
  ).toEqual([]);
});

test('text columns have the maximum lengths of the interfaces', async () => {
  const { rows } = await owner.query<{ table: string; columns: Record<string, number> }>(`
    select t.relname as table, json_object_agg(bound[1], bound[2]::int) as columns
    from pg_constraint c
    join pg_class t on t.oid = c.conrelid
    cross join regexp_matches(pg_get_constraintdef(c.oid), 'length\\((\\w+)\\) <= (\\d+)') bound
    where c.contype = 'c'
    group by t.oid`);
  expect(Object.fromEntries(rows.map(({ table, columns }) => [table, columns]))).toMatchObject(lengths);
});

test.each([
  ['a schema', 'create schema more'],
  ['a type', `create type mood as enum ('glad')`],
  ['a domain', 'create domain share as numeric check (value <= 1)'],
  ['a table', 'create table more (id int)'],
  ['a column', 'alter table deals add more int'],
  ['a default', 'alter table deals alter title set default app.user_id()'],
  ['what may be null', 'alter table deals alter title drop not null'],
  ['a constraint', 'alter table deals add check (length(title) > 1)'],
  ['an index', 'create index more on deals (title)'],
  ['a switch of security', 'alter table deals no force row level security'],
  ['a policy', 'create policy more on deals for delete to dealkeep_server using (true)'],
  ['a condition', 'alter policy brokers_change_it on deals using (true)'],
  ['a trigger', 'create trigger more before insert on deals for each row execute function app.touch()'],
  ['a disabled trigger', 'alter table deals disable trigger touch'],
  ['a right on a table', 'grant delete on deals to dealkeep_server'],
  ['a right on a column', 'grant update (closed_at) on deals to dealkeep_server'],
  ['a right on a function', 'grant execute on function app.actual_state(uuid) to public'],
  ['a right on a schema', 'grant usage on schema vault to dealkeep_server'],
  ['a right given from now on', 'alter default privileges grant execute on functions to public'],
  ['a view', 'create or replace view vault.active_ndas as select deal_id, participant_id from ndas'],
  ['a function', `create or replace function app.touch() returns trigger language plpgsql as 'begin return new; end'`],
  ['how a function runs', 'alter function app.actual_state(uuid) security invoker'],
  ['a move', `insert into app.moves values ('deal', 'closed', 'draft')`],
])('the schema dump differs after a change of %s', async (_, change) => {
  await owner.query('begin');
  try {
    await owner.query(change);
    expect(await dumpSchema(owner)).not.toBe(schema);
  } finally {
    await owner.query('rollback');
  }
});

test('the schema dump is unchanged after those changes are rolled back', async () => {
  expect(await dumpSchema(owner)).toBe(schema);
});
