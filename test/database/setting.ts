/** The database of this folder's tests, and statements to run on it. */

import pg from 'pg';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { openDatabase, type Database, type DatabaseOptions } from '../../server/database/database.ts';
import { mapped, row, rows } from '../../server/database/statement.ts';
import { openService, type TestService } from '../harness.ts';

const arrangement = `
  create table notes (
    id int primary key, author uuid default app.user_id(), text text not null constraint notes_text_check check (length(text) < 3000000)
  );
  create table pairs (id int primary key, other int references pairs deferrable initially deferred);
  create table shapes (id int, size int);
  insert into shapes values (1, 7);
  grant select, insert on notes, pairs to dealkeep_server;
  grant select on shapes to dealkeep_server;
  create table hidden (id int);
  create table owned (id int, owner uuid not null);
  select app.protect('owned');
  create policy own on owned to dealkeep_server using (owner = (select app.user_id()));
  grant select, insert on owned to dealkeep_server;
  create function app.enter_as(person uuid) returns uuid language plpgsql security definer set search_path = '' as
    $$ begin perform app.enter(person, null, null, null, null); return person; end $$;
  grant execute on function app.enter_as(uuid) to dealkeep_server;`;

export const one = row<{ answer: number }>('t_one', 'select 1 as answer');
export const divide = row<{ answer: number }>('t_divide', 'select 6 / $1::int as answer');
export const series = rows<{ n: number; text: string }>(
  't_series',
  `select n, 'row ' || n as text from generate_series(1, $1::int) n`,
);
export const echo = row<{ text: string }>('t_echo', 'select $1::text as text');
export const write = row('t_write', 'insert into notes (id, text) values ($1, $2)');
export const link = row('t_link', 'insert into pairs (id, other) values ($1, $2)');
export const enter = row('t_enter', 'select app.enter_as($1)');
export const sleep = row('t_sleep', 'select pg_sleep($1)');
export const backend = mapped(
  row<{ pid: number }>('t_backend', 'select pg_backend_pid() as pid')(),
  (found) => found?.pid,
);
export const caller = mapped(
  row<{ id: string | null }>('t_caller', 'select app.user_id() as id')(),
  (found) => found?.id,
);

let service: TestService;
const opened: Database[] = [];

/** The server's login. */
export const connection = (): pg.ClientConfig => service.connections.server;

/** The owner's login. */
export const ownerConnection = (): pg.ClientConfig => service.connections.owner;

/** The rows of a query as the owner. */
export const sql = (text: string, values?: unknown[]) => service.sql(text, values);

/** A database of one connection, closed after the test. */
export function open(options: DatabaseOptions = {}): Database {
  // Connecting can take longer than usual on a busy machine.
  const database = openDatabase({ connection: connection(), poolSize: 1, waitMillis: 30_000, ...options });
  opened.push(database);
  return database;
}

/** How many notes the database holds. */
export async function countNotes(): Promise<number> {
  const [found] = await sql('select count(*)::int from notes');
  return found?.['count'];
}

/** Gives the test file that calls it the database, and empties it after each test. */
export function useSetting(): void {
  beforeAll(async () => {
    service = await openService();
    await sql(arrangement);
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((database) => database.close()));
    await sql('truncate notes, pairs, owned');
  });
  afterAll(() => service.close());
}
