/** Holds the policies to docs/visibility.md: for each caller and record what is seen, changed, removed and added. */

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openHouse, type TestHouse } from '../harness.ts';
import { additions } from './additions.ts';
import { readExpectations, type Expectation } from './expectations.ts';
import { callers, connect, setScene, type Scene } from './scene.ts';

const page = new URL('../../docs/visibility.md', import.meta.url);
const expected = readExpectations(page);

/** A change that any record of the table can take, and the column that names a record where it is not `id`. */
const changes: Record<string, string> = {
  brokerages: 'name = name',
  members: 'role = role',
  users: 'name = name',
  contacts: 'display_name = display_name',
  deals: 'title = title',
  participants: 'status = status',
  ndas: 'status = status',
  exclusivities: 'expires_at = expires_at',
  qoe_workspace_members: 'role = role',
  qoe_checklist: 'title = title',
  accounting_snapshots: 'failure = failure',
  questions: 'status = status',
  question_answers: 'answer_text = answer_text',
  documents: 'category = category',
  production_documents: 'category = category',
  closing_conditions: 'name = name',
  findings: 'title = title',
  financing_sources: 'source_name = source_name',
  answer_readings: 'read_until = read_until',
  connected_clients: 'name = name',
};
const named: Record<string, string> = {
  members: 'user_id',
  qoe_workspace_members: 'participant_id',
  question_answers: 'question_id',
  tool_grants: 'client_id',
  deal_opt_ins: 'deal_id',
  answer_readings: 'deal_id',
  deal_tool_stops: 'deal_id',
};

let house: TestHouse;
let scene: Scene;
let server: pg.Client;

beforeAll(async () => {
  house = await openHouse();
  const owner = await connect(house.connections.owner);
  scene = await setScene(owner);
  await owner.query(`
    create function app.enter_as(user_id uuid, key_id uuid, brokerage_id uuid) returns void
    language sql volatile security definer set search_path = '' as $$
      select app.enter(user_id, null, key_id, brokerage_id,
        case when key_id is not null then '{contacts:read,contacts:write}'::text[] end)
    $$;
    grant execute on function app.enter_as(uuid, uuid, uuid) to dealkeep_server`);
  await owner.end();
  server = await connect(house.connections.server);
});
afterAll(async () => {
  await server?.end();
  await house?.close();
});

/** Runs one statement as the caller and takes it back; how many rows it touched, or null when it was refused. */
async function attempt(caller: string, text: string, values: unknown[] = []): Promise<number | null> {
  await server.query('begin');
  try {
    if (caller === 'API key') await server.query('select app.enter_as(null, $1, $2)', [scene.key, scene.brokerage]);
    else if (caller !== 'nobody') await server.query('select app.enter_as($1, null, null)', [scene.people[caller]]);
    return (await server.query(text, values)).rowCount;
  } catch (error) {
    if (error instanceof pg.DatabaseError && (error.code === '42501' || error.code === 'DK001')) return null;
    throw error;
  } finally {
    await server.query('rollback');
  }
}

function byCaller(expectations: Expectation[]): [string, Expectation[]][] {
  return callers.map((caller) => [caller, expectations.filter((expectation) => expectation.caller === caller)]);
}

test('the page speaks of every caller and of every table that people may see', async () => {
  const { rows } = await server.query(`
    select c.relname from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') order by 1`);
  const spokenOf = new Set(expected.records.map((expectation) => expectation.table));
  const internal = new Set(['idempotency_keys']);
  expect(
    rows.map((row) => row.relname as string).filter((table) => !spokenOf.has(table) && !internal.has(table)),
  ).toEqual([]);
  for (const part of [expected.records, expected.additions])
    expect([...new Set(part.map((expectation) => expectation.caller))]).toEqual([...callers]);
});

describe.each(byCaller(expected.records))('records: %s', (caller, expectations) => {
  test.each(expectations.map((expectation) => [`${expectation.table}: ${expectation.record}`, expectation] as const))(
    '%s',
    async (_title, { table, record, may }) => {
      const id = scene.records[`${table}/${record}`];
      expect(id, 'the scene has this record').toBeTruthy();
      const which = `${named[table] ?? 'id'} = $1`;
      const can: string[] = [];
      if (await attempt(caller, `select 1 from ${table} where ${which}`, [id])) can.push('sees');
      if (changes[table] && (await attempt(caller, `update ${table} set ${changes[table]} where ${which}`, [id])))
        can.push('changes');
      if (await attempt(caller, `delete from ${table} where ${which}`, [id])) can.push('removes');
      expect(can).toEqual(may);
    },
  );
});

describe.each(byCaller(expected.additions))('additions: %s', (caller, expectations) => {
  test.each(expectations.map((expectation) => [expectation.record, expectation] as const))(
    '%s',
    async (record, { may }) => {
      const addition = additions[record];
      expect(addition, 'the test knows how to add this').toBeTruthy();
      const { text, values } = addition!(scene);
      expect((await attempt(caller, text, values)) ? ['may'] : []).toEqual(may);
    },
  );
});
