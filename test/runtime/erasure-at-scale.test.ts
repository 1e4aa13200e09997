/** Erasing a person when there are very many rows, theirs or other people's. */

import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mintApiKey } from '../../server/domain/clients/api-keys.ts';
import { clearAddresses } from '../../server/domain/accounts/cleared-addresses.ts';
import { openAccount, signedInVisitor } from '../auth/scene.ts';
import { openService, type TestService } from '../harness.ts';
import { addBrokerage, addPerson } from '../oauth/scene.ts';
import { atMostAtOnce } from '../portions.ts';

let service: TestService;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

test('the addresses in very many records of a person are cleared in portions, the latest at once', async () => {
  const account = await openAccount(service, { email: 'many.records@people.example' });
  const browser = await signedInVisitor(service, account);
  await service.sql(
    `insert into audit_records (user_id, at, action, outcome, address, noted)
     select $1, app.now() - n * interval '1 second', 'person.export', 'refused', '198.51.100.9', false from generate_series(1, 25000) n`,
    [account.id],
  );
  await atMostAtOnce(service, 'audit_records', 10_000);
  expect((await browser.change('/api/auth/erase', { confirmation: account.email })).status).toBe(200);
  const left = async () =>
    (
      await service.sql<{ count: number; latest: boolean }>(
        `select count(*)::int as count, coalesce(bool_or(at > $2::timestamptz - interval '2 hours'), false) as latest
         from audit_records where user_id = $1 and address is not null`,
        [account.id, service.clock.now().toISOString()],
      )
    )[0];
  expect(await left()).toEqual({ count: expect.any(Number), latest: false });
  expect((await left())?.count).toBeGreaterThan(10_000);
  let runs = 0;
  while ((await service.database.run(clearAddresses())) > 0) runs += 1;
  expect([runs, await left()]).toEqual([2, { count: 0, latest: false }]);
});

test('the addresses in very many records of a key that nobody else was shown are cleared in portions', async () => {
  const brokerage = await addBrokerage(service, 'Has a busy key');
  await addPerson(service, 'Bea Admin', { brokerage, role: 'admin' });
  const account = await openAccount(service, { email: 'busy.key@people.example' });
  await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [
    brokerage,
    account.id,
  ]);
  const { digest, lastFour } = mintApiKey('live');
  await service.sql(`select app.issue_api_key($1, $2, 'a key', 'live', '{contacts:read}', null, null, $3, $4)`, [
    brokerage,
    account.id,
    digest,
    lastFour,
  ]);
  await service.sql(
    `insert into audit_records (brokerage_id, key_id, at, action, outcome, address, noted)
     select $1, (select id from api_keys where created_by = $2), app.now() - n * interval '1 second', 'contact.update', 'done', '198.51.100.9', false
     from generate_series(1, 25000) n`,
    [brokerage, account.id],
  );
  await atMostAtOnce(service, 'audit_records', 10_001);
  const browser = await signedInVisitor(service, account);
  expect((await browser.change('/api/auth/erase', { confirmation: account.email })).status).toBe(200);
  const left = () =>
    service.sql(
      `select count(*)::int as count from audit_records r join api_keys k on k.id = r.key_id
       where k.created_by = $1 and r.address is not null`,
      [account.id],
    );
  expect(await left()).toEqual([{ count: 15_000 }]);
  let runs = 0;
  while ((await service.database.run(clearAddresses())) > 0) runs += 1;
  expect([runs, await left()]).toEqual([2, [{ count: 0 }]]);
});

test('stored responses that name an erased person are found by an index, and others are kept', async () => {
  const brokerage = await addBrokerage(service, 'Works by key');
  const admin = await addPerson(service, 'Ida Admin', { brokerage, role: 'admin' });
  const { digest, lastFour } = mintApiKey('live');
  await service.sql(`select app.issue_api_key($1, $2, 'a key', 'live', '{contacts:read}', null, null, $3, $4)`, [
    brokerage,
    admin.id,
    digest,
    lastFour,
  ]);
  const account = await openAccount(service, { email: '"n. n."@people.example', name: 'Nora "N." Named' });
  const answers = [
    { data: [{ email: account.email.toUpperCase() }] },
    { userId: account.id, name: account.name },
    { email: `x${account.email}` },
    { userId: account.id, name: 'Another name' },
    { name: account.name },
    { text: `An @ within "quotes", and much of it. ${'@'.repeat(5_000)}` },
  ];
  const keep = `insert into vault.idempotency_keys (key_id, idempotency_key, body_digest, made_at, answer)
    select k.id, gen_random_uuid(), sha256(''), app.now(), a.answer from api_keys k cross join (%) a (answer) where k.created_by = $1`;
  await service.sql(keep.replace('%', 'select unnest($2::text[])'), [
    admin.id,
    answers.map((body) => JSON.stringify({ status: 201, body })),
  ]);
  await service.sql(
    keep.replace('%', `select '{"email": "' || n || '@people.example"}' from generate_series(1, 5000) n`),
    [admin.id],
  );
  await service.sql('analyze vault.idempotency_keys');
  const owner = new pg.Client(service.connections.owner);
  await owner.connect();
  await owner.query('begin');
  await owner.query(`select app.erase_person($1, 'operator', null)`, [account.id]);
  const { rows: read } = await owner.query(
    `select seq_tup_read::int as scanned from pg_stat_xact_user_tables where relname = 'idempotency_keys'`,
  );
  const { rows: kept } = await owner.query<{ answer: string }>(
    `select answer from vault.idempotency_keys where answer like '{"status"%'`,
  );
  await owner.query('rollback');
  await owner.end();
  expect(read).toEqual([{ scanned: 0 }]);
  expect(kept.map(({ answer }) => (JSON.parse(answer) as { body: object }).body)).toEqual(answers.slice(2));
});
