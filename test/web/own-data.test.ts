/**
 * A person's export of their own data contains only what they see now: nothing of a deal that they have not joined, and
 * no changes that others made to it after they left.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { openScene, type WebScene } from './scene.ts';

let web: WebScene;
beforeAll(async () => {
  web = await openScene();
});
afterAll(() => web?.close());

/** The response to a caller's request for an export of their data. */
async function exported(caller: string): Promise<Response> {
  const { headers } = await web.as(caller);
  const response = await fetch(`${web.service.origin}/api/auth/export`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: '{}',
  });
  expect(response.status).toBe(200);
  return response;
}

/** The data in a caller's export. */
const ownData = async (caller: string) =>
  (await (await exported(caller)).json()) as Record<string, Record<string, unknown>[]>;

/** Makes a caller the author of every row of the scene's deal in these tables. */
async function author(caller: string, columns: Readonly<Record<string, string>>): Promise<void> {
  const { people, deal } = web.scene;
  for (const [table, column] of Object.entries(columns))
    await web.service.sql(`update ${table} set ${column} = $1 where deal_id = $2`, [people[caller], deal]);
}

/** Has a person who was removed from the scene's deal come back to it as an advisor of somebody else. */
async function returnToAdvise(caller: string, advised: string): Promise<void> {
  const { participants } = web.scene;
  const again = `update participants set status = 'invited', role = 'advisor', advises = $2 where id = $1`;
  await web.service.sql(again, [participants[caller], participants[advised]]);
  await web.service.sql(`update participants set status = 'active' where id = $1`, [participants[caller]]);
}

test('an export contains the terms of an NDA only after the invited person has joined', async () => {
  const { deal, participants } = web.scene;
  await web.service.sql(
    `insert into ndas (deal_id, participant_id, terms, status) values ($1, $2, 'About the bakery.', 'sent')`,
    [deal, participants['invited']],
  );
  expect((await ownData('invited'))['ndas']).toEqual([]);
  await web.service.sql(`update participants set status = 'active' where id = $1`, [participants['invited']]);
  expect((await ownData('invited'))['ndas']).toMatchObject([{ terms: 'About the bakery.' }]);
});

test('an export hides the role of a renewed invitation until the e-mail address is proven', async () => {
  const { service, scene } = web;
  const part = scene.participants['viewer'];
  const phc = `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;
  await service.sql('insert into vault.passwords (user_id, phc) values ($1, $2)', [scene.people['viewer'], phc]);
  const own = async () => (await ownData('viewer'))['participations']?.find(({ id }) => id === part);
  expect(await own()).toMatchObject({ role: 'viewer', status: 'active' });
  await service.sql(`update participants set status = 'removed' where id = $1`, [part]);
  await service.sql(`update participants set status = 'invited', role = 'seller', invited_name = 'Sal' where id = $1`, [
    part,
  ]);
  expect(await own()).toEqual({
    id: part,
    deal_id: scene.deal,
    brokerage_id: scene.brokerage,
    joined_at: expect.any(String),
    created_at: expect.any(String),
    left_name: 'viewer',
    left_email: 'viewer@example.test',
  });
  await service.sql('update vault.passwords set address_proven_at = app.now() where user_id = $1', [
    scene.people['viewer'],
  ]);
  expect(await own()).toMatchObject({ role: 'seller', status: 'invited' });
});

test('an export dates participations and memberships from the latest joining', async () => {
  const { service, scene } = web;
  for (const [table, caller, of] of [
    ['participants', "broker's advisor", 'participations'],
    ['members', 'colleague', 'memberships'],
  ] as const) {
    const joined = async () => {
      const [only] = (await ownData(caller))[of] as [{ joined_at: string }];
      return Date.parse(only.joined_at);
    };
    const becomes = (status: string) =>
      service.sql(`update ${table} set status = $2 where user_id = $1`, [scene.people[caller], status]);
    const first = await joined();
    service.clock.advance(60_000);
    for (const status of ['removed', 'invited']) {
      await becomes(status);
      expect([status, await joined()]).toEqual([status, first]);
    }
    await becomes('active');
    const again = await joined();
    expect(again).toBeGreaterThanOrEqual(first + 60_000);
    service.clock.advance(60_000);
    await becomes('active');
    expect(await joined()).toBe(again);
  }
});

test('an export omits others’ changes to records on a deal that the person has left', async () => {
  const { service, scene } = web;
  const { deal, participants } = scene;
  await author('seller', {
    question_answers: 'answered_by',
    documents: 'uploaded_by',
    production_documents: 'uploaded_by',
    contradiction_answers: 'answered_by',
  });
  await author("exclusive buyer's advisor", { findings: 'created_by', financing_sources: 'created_by' });
  for (const [table, column] of [
    ['question_answers', 'answer_text'],
    ['documents', 'filename'],
    ['production_documents', 'filename'],
    ['findings', 'description'],
    ['financing_sources', 'source_name'],
  ] as const)
    await service.sql(`update ${table} set ${column} = 'Changed since.pdf' where deal_id = $1`, [deal]);
  const kindsOf = {
    seller: ['answers', 'documents', 'contradiction_answers'],
    "exclusive buyer's advisor": ['findings', 'financing_sources'],
  };
  for (const [caller, kinds] of Object.entries(kindsOf)) {
    const before = await ownData(caller);
    await service.sql(`update participants set status = 'removed' where id = $1`, [participants[caller]]);
    const after = await ownData(caller);
    for (const kind of kinds) {
      const change = kind === 'contradiction_answers' ? '"why":' : 'Changed since.pdf';
      expect(JSON.stringify(before[kind]), kind).toContain(change);
      expect(JSON.stringify(after[kind]), kind).not.toContain(change);
      expect(after[kind]?.map((one) => one['deal_id'])).toEqual(before[kind]?.map(() => deal));
    }
  }
});

test('an export omits the later status of questions on a deal that the person has left', async () => {
  const { service, scene } = web;
  const asker = "other buyer's advisor";
  const statusOf = async () => (await ownData(asker))['questions']?.map(({ status }) => status);
  const principal = scene.participants['other buyer'];
  await service.sql(
    `insert into questions (deal_id, participant_id, asked_by, category, question_text) values ($1, $2, $3, 'legal', 'Why?')`,
    [scene.deal, principal, scene.people[asker]],
  );
  expect(await statusOf()).toEqual(['pending_broker_review']);
  await service.sql(`update participants set status = 'removed' where id = $1`, [scene.participants[asker]]);
  await service.sql(`update questions set status = 'rejected' where asked_by = $1`, [scene.people[asker]]);
  expect((await ownData(asker))['questions']).toEqual([
    {
      id: expect.any(String),
      deal_id: scene.deal,
      category: 'legal',
      question_text: 'Why?',
      asked_at: expect.any(String),
    },
  ]);
});

test('an export keeps a signed NDA after the person has left the deal, without its later revocation', async () => {
  const { service, scene } = web;
  const { deal, participants } = scene;
  const part = participants['other buyer'];
  const broker = await web.as('broker');
  const before = await ownData('other buyer');
  expect(before['ndas']).toMatchObject([{ status: 'active', revoked_at: null, terms: 'Keep it to yourself.' }]);
  const id = before['ndas']?.[0]?.['id'];
  await service.sql(`update participants set status = 'removed' where id = $1`, [part]);
  expect((await broker.ask(`/ndas/${String(id)}/revoke`, {})).status).toBe(200);
  const signed = {
    id,
    deal_id: deal,
    terms: 'Keep it to yourself.',
    sent_at: expect.any(String),
    signed_at: expect.any(String),
    signed_name: 'other buyer',
    signed_address: null,
    expires_at: null,
  };
  expect((await ownData('other buyer'))['ndas']).toEqual([signed]);
  // The same after they come back on another side, which does not see the NDA either.
  await returnToAdvise('other buyer', 'exclusive buyer');
  expect((await (await web.as('other buyer')).ask(`/deals/${deal}/ndas`)).body.items).toMatchObject([
    { participant_name: 'exclusive buyer' },
  ]);
  expect((await ownData('other buyer'))['ndas']).toEqual([signed]);
});

test('an export omits an unsigned NDA once the person is on another side', async () => {
  const { service, scene } = web;
  const { deal, participants } = scene;
  const part = participants['new buyer'];
  await service.sql(
    `insert into ndas (deal_id, participant_id, terms, status) values ($1, $2, 'About both.', 'sent')`,
    [deal, part],
  );
  expect((await ownData('new buyer'))['ndas']).toMatchObject([{ status: 'sent', terms: 'About both.' }]);
  await service.sql(`update participants set status = 'removed' where id = $1`, [part]);
  await returnToAdvise('new buyer', 'exclusive buyer');
  expect((await ownData('new buyer'))['ndas']).toEqual([]);
});

test('an export keeps uploaded financials after the person has left the deal, without their later status', async () => {
  const { service, scene } = web;
  const uploads = async () => (await ownData('exclusive buyer'))['accounting_snapshots'];
  const [upload] = await service.sql<{ id: string }>(
    `insert into accounting_snapshots (deal_id, snapshot_type, source_name, account_lines, requested_by, status)
     values ($1, 'full', 'books.xlsx', '{"Rent": null}', $2, 'processing') returning id`,
    [scene.deal, scene.people['exclusive buyer']],
  );
  expect(await uploads()).toMatchObject([{ id: upload?.id, status: 'processing', failure: null }]);
  await service.sql(`update participants set status = 'removed' where id = $1`, [
    scene.participants['exclusive buyer'],
  ]);
  await service.sql(`update accounting_snapshots set status = 'failed', failure = 'No month.' where id = $1`, [
    upload?.id,
  ]);
  expect(await uploads()).toEqual([
    {
      id: upload?.id,
      deal_id: scene.deal,
      snapshot_type: 'full',
      source_name: 'books.xlsx',
      account_lines: { Rent: null },
      requested_at: expect.any(String),
    },
  ]);
});

test('an export shows only the creation of a shared client after its creator has left the brokerage', async () => {
  const { service, scene } = web;
  const clients = async () => (await ownData('colleague'))['clients'];
  await service.sql(
    `insert into connected_clients (created_by, brokerage_id, name, redirect_uris) values ($1, $2, 'Notes', '{https://notes.example/callback}')`,
    [scene.people['colleague'], scene.brokerage],
  );
  expect(await clients()).toMatchObject([{ name: 'Notes', disabled: false }]);
  await service.sql(`update members set status = 'removed' where user_id = $1`, [scene.people['colleague']]);
  await service.sql(`update connected_clients set name = 'Renamed' where created_by = $1`, [scene.people['colleague']]);
  expect(await clients()).toEqual([{ id: expect.any(String), created_at: expect.any(String) }]);
});

test('an export omits details of API keys while the brokerage requires a second factor', async () => {
  const { service, scene } = web;
  expect((await ownData('admin'))['api_keys']).toMatchObject([{ id: scene.key, last_four: expect.any(String) }]);
  await service.sql('update brokerages set requires_second_factor = true where id = $1', [scene.brokerage]);
  expect((await ownData('admin'))['api_keys']).toEqual([
    { id: scene.key, brokerage_id: scene.brokerage, created_at: expect.any(String) },
  ]);
});

test('an export contains amounts with every digit', async () => {
  const { service, scene } = web;
  const amount = '12345678901234567890.1234567890';
  await service.sql(
    `insert into normalizations (deal_id, period_label, adjustment_category, adjustment_amount, created_by)
     values ($1, 'FY 2025', 'other', $2, $3)`,
    [scene.deal, amount, scene.people['broker']],
  );
  const answer = await exported('broker');
  expect(answer.headers.get('content-type')).toBe('application/json');
  const text = await answer.text();
  expect(text).toMatch(new RegExp(`"adjustment_amount": *${amount}[,}]`));
  expect(JSON.parse(text)).toMatchObject({ account: { id: scene.people['broker'] } });
});

test('an export over the size limit contains the latest entries and the number of omitted ones', async () => {
  const { service, scene } = web;
  const [person, finding] = [scene.people['exclusive buyer'], scene.records["findings/the broker's"]];
  await service.sql(
    `insert into finding_changes (finding_id, to_status, notes, changed_by, changed_at)
     select $1, 'open', case n when 1 then 'The latest.' else repeat('x', 8000) end, $2, app.now() - n * interval '1 second'
     from generate_series(1500, 1, -1) n`,
    [finding, person],
  );
  await service.sql(
    `insert into vault.notifications (event_id, user_id, kind, at)
     select app.uuid_v7(), $1, 'new_device', app.now() - n * interval '1 second' from generate_series(1, 100010) n`,
    [person],
  );
  const [there] = await service.sql(
    `select (select count(*)::int from finding_changes where changed_by = $1) as changes,
       (select count(*)::int from vault.notifications where user_id = $1) as notifications`,
    [person],
  );
  const { left_out: leftOut, finding_changes: changes = [], notifications = [] } = await ownData('exclusive buyer');
  expect(changes.some(({ notes }) => notes === 'The latest.')).toBe(true);
  expect(changes.length).toBeGreaterThan(900);
  expect(JSON.stringify(changes).length).toBeLessThan(8_000_000);
  expect(notifications.length).toBe(100_000);
  expect(leftOut).toEqual({
    finding_changes: there!['changes'] - changes.length,
    notifications: there!['notifications'] - 100_000,
  });
  expect((await ownData('seller'))['left_out']).toEqual({});
});
