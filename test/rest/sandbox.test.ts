/** The sandbox: test keys work on it and on nothing else, live keys never; it sends no mail, and it can be reset. */

import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../server/config/config.ts';
import { keyScopes } from '../../server/domain/clients/key-scopes.ts';
import { eventTypes, publishChanges } from '../../server/domain/events/changes.ts';
import { samples } from '../../server/storage/samples.ts';
import { openService, type TestService } from '../harness.ts';
import { whileChanging } from '../locks.ts';
import { signInAs } from '../web/person.ts';
import { as, brokerage, type Brokerage, type Key } from './scene.ts';

let service: TestService;
let tenant: Brokerage;
let live: Key;
let key: Key;
let onLive: ReturnType<typeof as>;
let ask: ReturnType<typeof as>;

/** The fields of lists and records that these tests use. */
interface Row {
  [name: string]: unknown;
  id: string;
}
const list = async (path: string, by = ask): Promise<Row[]> => {
  const { status, body } = await by('GET', `${path}${path.includes('?') ? '&' : '?'}limit=200`);
  expect([path, status]).toEqual([path, 200]);
  return body!.data as unknown as Row[];
};
const sandboxId = async () =>
  (await service.sql<{ id: string }>('select id from brokerages where sandbox_of = $1', [tenant.id]))[0]!.id;
const deal = async (title: string, by = ask) =>
  (await list('/deals', by)).find((one) => String(one['title']).startsWith(title))!;
const diligence = async () => (await deal('Heating')).id;
/** Resets the sandbox, once the last reset is long enough ago. */
const reset = () => {
  service.clock.advance(10_000);
  return ask('POST', '/sandbox/reset');
};

/** Publishes every change; polled because transactions of other tests in the cluster may still be in progress. */
const settle = () =>
  expect
    .poll(async () => {
      await service.database.run(publishChanges());
      return (await service.database.run(publishChanges())).waits;
    })
    .toBe(false);

/** Every list of one deal, and the lists of contacts and deals, with their contents except for times. */
async function everything(): Promise<Record<string, unknown[]>> {
  const parts = ['participants', 'offers', 'questions', 'ndas', 'documents', 'conditions', 'findings'];
  const books = ['checklist', 'snapshots', 'periods', 'customers', 'normalizations'].map((part) => `qoe/${part}`);
  const all: Record<string, unknown[]> = {
    contacts: await list('/contacts?archived=true'),
    deals: await list('/deals'),
  };
  const id = (all['deals'] as Row[]).find(({ state }) => state === 'diligence')!.id;
  for (const part of [...parts, ...books, 'financing-sources']) all[part] = await list(`/deals/${id}/${part}`);
  const timeless = (_name: string, value: unknown) =>
    typeof value === 'string' && /^\d{4}-\d{2}-\d{2}T/.test(value) ? 'a time' : value;
  return JSON.parse(JSON.stringify(all, timeless)) as Record<string, unknown[]>;
}

beforeAll(async () => {
  service = await openService({
    config: {
      rateLimits: { ...readConfig({}).rateLimits, rest_ip: 1_000_000 },
      features: { findings: true, financing: true },
      smtpUrl: 'smtp://127.0.0.1:1',
    },
  });
  tenant = await brokerage(service);
  live = await tenant.key({ scopes: keyScopes });
  key = await tenant.key({ scopes: keyScopes, environment: 'test' });
  onLive = as(live, service.restUrl);
  ask = as(key, service.restUrl);
});
afterAll(() => service?.close());

describe('a test key', () => {
  test('works on the sandbox of its brokerage, and GET /me shows that', async () => {
    const me = (await ask('GET', '/me')).body as unknown as Record<string, Row>;
    const [{ name }] = (await service.sql<{ name: string }>('select name from brokerages where id = $1', [
      tenant.id,
    ])) as [{ name: string }];
    expect(me).toMatchObject({
      key: { environment: 'test' },
      brokerage: { id: await sandboxId(), name: `${name} (sandbox)` },
    });
    expect((await onLive('GET', '/me')).body).toMatchObject({
      key: { environment: 'live' },
      brokerage: { id: tenant.id, name },
    });
  });

  test('finds demo data of every kind', async () => {
    const deals = await list('/deals');
    expect(deals.map(({ state }) => state).toSorted()).toEqual(['closed', 'diligence', 'draft', 'listed']);
    expect((await list('/contacts')).length).toBe(11);
    expect((await list('/contacts?archived=only')).length).toBe(1);
    const found = await everything();
    const empty = Object.entries(found).filter(([, rows]) => rows.length === 0);
    expect(empty).toEqual([]);
    const [offer] = await list(`/deals/${await diligence()}/offers`);
    expect(await list(`/deals/${await diligence()}/offers/${offer!.id}/revisions`)).not.toEqual([]);
  });

  test('downloads every document of the sandbox', async () => {
    const documents = (
      await Promise.all((await list('/deals')).map(({ id }) => list(`/deals/${id}/documents`)))
    ).flat();
    expect(documents.length).toBe(Object.keys(samples).length);
    for (const { id, sizeBytes, sha256 } of documents) {
      const response = await fetch(`${service.restUrl}/documents/${id}/content`, {
        headers: { Authorization: `Bearer ${key.token}` },
      });
      const body = Buffer.from(await response.arrayBuffer());
      expect([response.status, body.length, hash('sha256', body, 'hex')]).toEqual([200, sizeBytes, sha256]);
      const part = await fetch(`${service.restUrl}/documents/${id}/content`, {
        headers: { Authorization: `Bearer ${key.token}`, Range: 'bytes=3-9' },
      });
      expect([part.status, await part.text()]).toEqual([206, body.subarray(3, 10).toString()]);
    }
  });

  test('neither sees nor changes live data, and a live key nothing of the sandbox', async () => {
    const ours = (await onLive('POST', '/contacts', { type: 'person', displayName: 'Live', email: 'live@example.com' }))
      .body!;
    await onLive('PATCH', `/contacts/${ours.id}`, { externalId: 'shared-1' }, { 'If-Match': '*' });
    const opened = (await onLive('POST', '/deals', { title: 'A live deal' })).body!;
    const [theirs] = await list('/contacts');
    const closed = await deal('Neighborhood');
    for (const [who, contact, dealId] of [
      [ask, ours.id, opened.id],
      [onLive, theirs!.id, closed.id],
    ] as const) {
      for (const [method, path, body] of [
        ['GET', `/contacts/${contact}`],
        ['PATCH', `/contacts/${contact}`, { phone: '1' }],
        ['POST', `/contacts/archive/${contact}`],
        ['GET', `/deals/${dealId}`],
        ['PATCH', `/deals/${dealId}`, { summary: 'Other' }],
        ['POST', `/deals/${dealId}/invitations`, { email: 'a@example.com', name: 'A', role: 'viewer' }],
        ['POST', `/deals/${dealId}/conditions`, { name: 'Other' }],
        ['GET', `/deals/${dealId}/participants`],
      ] as const)
        expect([method, path, (await who(method, path, body, { 'If-Match': '*' })).status]).toEqual([
          method,
          path,
          404,
        ]);
      expect((await list('/contacts?archived=true', who)).some(({ id }) => id === contact)).toBe(false);
      expect((await list('/deals', who)).some(({ id }) => id === dealId)).toBe(false);
    }
    // Values that must be unique are unique in the sandbox and in the live data separately.
    expect((await ask('GET', '/contacts/by-external-id/shared-1')).status).toBe(404);
    const put = { type: 'person', displayName: 'Test' };
    expect((await ask('PUT', '/contacts/by-external-id/shared-1', put)).status).toBe(201);
    expect((await onLive('GET', '/contacts/by-external-id/shared-1')).body!.id).toBe(ours.id);
    expect(
      (await ask('POST', '/contacts/merge/' + theirs!.id, { from: ours.id }, { 'If-Match': '*' })).status,
    ).not.toBe(200);
  });

  describe('with hidden records in live data or another sandbox', () => {
    /**
     * Fixed ids of the records that a brokerage or sandbox has in only one of two worlds: a contact, and a deal with
     * records.
     */
    const added = (nth: number) => (word: string) =>
      `01900000-0000-7000-8000-${hash('md5', `${nth} ${word}`).slice(0, 12)}`;
    async function add(brokerageId: string, keyId: string, id: (word: string) => string): Promise<void> {
      const [contactId, dealId] = [id('contact'), id('deal')];
      const owner = await service.sql<{ id: string }>(
        `select user_id as id from members where brokerage_id = $1 union all select id from users where sandbox_id = $1 limit 1`,
        [brokerageId],
      );
      for (const [statement, ...values] of [
        [
          `insert into contacts (id, brokerage_id, type, display_name, email, external_id) values ($1, $2, 'person', 'A secret', 'secret@hidden.example', $3)`,
          contactId,
          brokerageId,
          id('external'),
        ],
        [
          `insert into deals (id, organization_id, title, state, keys_admitted, created_by) values ($1, $2, 'A secret', 'diligence', true, $3)`,
          dealId,
          brokerageId,
          owner[0]!.id,
        ],
        [
          `insert into participants (deal_id, user_id, role, status) values ($1, $2, 'broker', 'active')`,
          dealId,
          owner[0]!.id,
        ],
        [`insert into closing_conditions (id, deal_id, name) values ($1, $2, 'A secret')`, id('condition'), dealId],
        [
          `insert into webhook_endpoints (id, key_id, url, state, off_reason, off_since, place, history)
           select $1, $2, 'https://secret.example/', 'off', 'asked', now(), published, history from vault.change_stream`,
          id('webhook'),
          keyId,
        ],
      ])
        await service.sql(statement!, values);
    }

    /**
     * Every response to a key, both reading and refused, about its own records and hidden ones, without the parts that
     * differ from request to request.
     */
    async function answers(by: typeof ask, hidden: readonly ((word: string) => string)[], since: string) {
      const { paths } = (await (await fetch(`${service.restUrl}/openapi.json`)).json()) as {
        paths: Record<string, Record<string, unknown>>;
      };
      const own = { contactId: (await list('/contacts', by))[0]!.id, dealId: (await list('/deals', by))[0]!.id };
      const words: Readonly<Record<string, string>> = {
        contactId: 'contact',
        dealId: 'deal',
        conditionId: 'condition',
        webhookId: 'webhook',
      };
      const filled = (path: string, id: (word: string) => string) =>
        path
          .replace('{externalId}', id('external'))
          .replaceAll(/\{(\w+)\}/g, (_all, name: string) => id(words[name] ?? name));
      const reads = Object.entries(paths)
        .filter(([path, operations]) => 'get' in operations && !path.includes('content'))
        .flatMap(([path]) => [
          filled(path, (word) => Object.entries(own).find(([name]) => words[name] === word)?.[1] ?? hidden[0]!(word)),
          ...(path.includes('{') ? hidden.map((id) => filled(path, id)) : []),
        ]);
      const searches = [
        '/contacts?search=secret',
        '/contacts?email=secret%40hidden.example',
        '/deals?search=secret',
        `/events?after=${since}&expand=data`,
      ];
      const id = hidden.flatMap((one) => [one('contact'), one('deal'), one('webhook')]);
      const asked: [string, string, unknown?][] = [
        ...[...new Set([...reads, ...searches])].map((path) => ['GET', path] as [string, string]),
        ...id.flatMap((one): [string, string, unknown?][] => [
          ['PATCH', `/contacts/${one}`, { phone: '1' }],
          ['POST', `/contacts/archive/${one}`],
          ['POST', `/contacts/merge/${own.contactId}`, { from: one }],
          ['PATCH', `/deals/${one}`, { summary: 'Other' }],
          ['POST', `/deals/${one}/conditions`, { name: 'Other' }],
          ['PATCH', `/webhooks/${one}`, { state: 'on' }],
          ['DELETE', `/webhooks/${one}`],
          ['POST', '/contacts/batch', { items: [{ action: 'update', id: one, contact: { phone: '1' } }] }],
        ]),
      ];
      const found: Record<string, string> = {};
      const askFor = async ([method, path, body]: (typeof asked)[number]) => {
        const more = { 'Accept-Encoding': 'identity', ...(method === 'GET' ? {} : { 'If-Match': '*' }) };
        const { status, headers, text } = await by(method, path, body, more);
        const told = [...headers].filter(([name]) => !/^(?:date|x-request-id|etag|(?:x-)?ratelimit.*)$/.test(name));
        const plain = text.replaceAll(/"(nextCursor|requestId|request_id)":"[^"]+"/g, '"$1":"…"');
        found[`${method} ${path}`] = `${status} ${JSON.stringify(told)} ${plain}`;
      };
      for (let at = 0; at < asked.length; at += 8) await Promise.all(asked.slice(at, at + 8).map(askFor));
      return found;
    }

    test('gets the same responses as without them, and so does a live key', async () => {
      const other = await brokerage(service);
      const theirs = await other.key({ scopes: keyScopes, environment: 'test' });
      const [elsewhere] = await service.sql<{ id: string }>('select id from brokerages where sandbox_of = $1', [
        other.id,
      ]);
      const worlds: readonly (readonly [typeof ask, ...(readonly [brokerageId: string, keyId: string])[]])[] = [
        [ask, [tenant.id, live.id], [elsewhere!.id, theirs.id]],
        [onLive, [await sandboxId(), key.id], [elsewhere!.id, theirs.id]],
      ];
      await onLive('POST', '/contacts', { type: 'person', displayName: 'Ours' });
      await onLive('POST', '/deals', { title: 'Ours' });
      await settle();
      for (const [turn, [by, ...others]] of worlds.entries()) {
        const hidden = others.map((_one, nth) => added(turn * 10 + nth));
        const since = (await by('GET', '/events?after=latest')).body!.pagination.nextCursor!;
        const before = await answers(by, hidden, since);
        expect(Object.keys(before).length).toBeGreaterThan(80);
        for (const [nth, [brokerageId, keyId]] of others.entries()) await add(brokerageId, keyId, hidden[nth]!);
        await settle();
        expect(await answers(by, hidden, since)).toEqual(before);
        // The comparison finds a leak: a policy that lets every key read contacts.
        const [policy] = await service.sql<{ name: string; using: string }>(
          `select policyname as name, qual as using from pg_policies where tablename = 'contacts' and cmd = 'SELECT' and policyname <> 'as_owner'`,
        );
        await service.sql(`alter policy ${policy!.name} on contacts using (true)`);
        expect(await answers(by, hidden, since)).not.toEqual(before);
        await service.sql(`alter policy ${policy!.name} on contacts using (${policy!.using})`);
      }
    });
  });

  test("gets events of the sandbox only, and cannot continue from a live key's cursor", async () => {
    await settle();
    const page = async (who: typeof ask, after: string) =>
      (await who('GET', `/events?after=${after}`)) as unknown as {
        status: number;
        body: { data: { objectId: string; type: string }[]; pagination: { nextCursor: string } };
      };
    const [own, other] = [await page(ask, 'latest'), await page(onLive, 'latest')];
    const made = (await ask('POST', '/contacts', { type: 'person', displayName: 'Followed' })).body!;
    const ours = (await onLive('POST', '/contacts', { type: 'person', displayName: 'Also followed' })).body!;
    await settle();
    expect((await page(ask, own.body.pagination.nextCursor)).body.data).toMatchObject([{ objectId: made.id }]);
    expect((await page(onLive, other.body.pagination.nextCursor)).body.data).toMatchObject([{ objectId: ours.id }]);
    expect((await page(ask, other.body.pagination.nextCursor)).status).toBe(400);
    expect((await page(onLive, own.body.pagination.nextCursor)).status).toBe(400);
    const { nextCursor } = (await ask('GET', '/contacts?limit=1')).body!.pagination;
    expect((await onLive('GET', `/contacts?limit=1&cursor=${nextCursor}`)).status).toBe(400);
  });

  test('opens deals and invites as a fictional broker, without mails and without live accounts', async () => {
    const email = 'somebody@live.example';
    const [{ id: somebody }] = (await service.sql<{ id: string }>(
      `insert into users (email, name) values ($1, 'Somebody live') returning id`,
      [email],
    )) as [{ id: string }];
    const before = await service.sql(`select (select count(*) from users where sandbox_id is null) as users`);
    const opened = (await ask('POST', '/deals', { title: 'Of a test' })).body!;
    const answers = [];
    for (const address of [email, 'nobody@live.example'])
      answers.push(
        await ask('POST', `/deals/${opened.id}/invitations`, { email: address, name: 'Typed', role: 'buyer' }),
      );
    expect(
      answers.map(({ status, body }) => [
        status,
        { ...body, id: '', userId: '', email: '', createdAt: '', updatedAt: '' },
      ]),
    ).toEqual([1, 2].map(() => [201, expect.objectContaining({ name: 'Typed', status: 'invited', role: 'buyer' })]));
    expect(answers[0]!.body!.email).toBe(email);
    const again = async (role: string) =>
      (await ask('POST', `/deals/${opened.id}/invitations`, { email, name: 'Typed again', role })).status;
    expect([await again('buyer'), await again('viewer')]).toEqual([201, 409]);
    expect((await list(`/deals/${opened.id}/participants`)).length).toBe(3);
    expect(await service.sql('select count(*)::int from participants where user_id = $1', [somebody])).toEqual([
      { count: 0 },
    ]);
    expect(await service.sql(`select (select count(*) from users where sandbox_id is null) as users`)).toEqual(before);
    expect(
      await service.sql(
        `select (select count(*)::int from vault.outbox where recipient <> 'x') as mails, (select count(*)::int from vault.events where deal_id = $1) as events`,
        [opened.id],
      ),
    ).toEqual([{ mails: 0, events: 0 }]);
    const broker = (await list(`/deals/${opened.id}/participants`)).find(({ role }) => role === 'broker')!;
    expect(broker['email']).toMatch(/\.sandbox\.invalid$/);
    // The erasure of a person includes what was typed about them in the sandbox.
    await service.sql(`select app.erase_person($1, 'operator', null)`, [somebody]);
    expect(JSON.stringify(await list(`/deals/${opened.id}/participants`))).not.toContain(email);
  });

  test('stops when its issuer leaves, and loses its deals when the issuer is no longer an admin', async () => {
    const other = await brokerage(service);
    const one = await other.key({ scopes: keyScopes, environment: 'test' });
    const by = as(one, service.restUrl);
    await service.sql(
      `with u as (insert into users (email, name) values ('second@' || $1::text || '.example', 'Second') returning id)
       insert into members (brokerage_id, user_id, role) select $1::uuid, id, 'admin' from u`,
      [other.id],
    );
    expect((await by('POST', '/deals', { title: 'Allowed' })).status).toBe(201);
    await service.sql(`update members set role = 'staff' where user_id = $1`, [other.admin]);
    expect((await by('POST', '/deals', { title: 'Not allowed' })).status).toBe(403);
    expect((await by('GET', '/deals')).status).toBe(403);
    expect((await by('GET', '/contacts')).status).toBe(200);
    await service.sql(`update members set status = 'removed' where user_id = $1`, [other.admin]);
    expect((await by('GET', '/contacts')).status).toBe(401);
  });
});

describe('a reset', () => {
  test('restores the demo data under the same ids, and keeps live data', async () => {
    await reset();
    const before = await everything();
    const ours = (await onLive('POST', '/contacts', { type: 'person', displayName: 'Stays' })).body!;
    const again = { 'Idempotency-Key': 'after-a-reset' };
    const mine = (await ask('POST', '/contacts', { type: 'person', displayName: 'Goes' }, again)).body!;
    const id = await diligence();
    expect((await ask('PATCH', `/deals/${id}`, { title: 'Otherwise' }, { 'If-Match': '*' })).status).toBe(200);
    expect((await ask('POST', `/deals/${id}/conditions`, { name: 'One more' })).status).toBe(201);
    expect(
      (await ask('POST', `/deals/${id}/invitations`, { email: 'x@y.example', name: 'X', role: 'viewer' })).status,
    ).toBe(201);
    const uploaded = await fetch(
      `${service.restUrl}/deals/${id}/documents?filename=a.txt&category=legal&confidentiality=public`,
      {
        method: 'POST',
        headers: { Authorization: `Bearer ${key.token}`, 'Content-Type': 'application/octet-stream' },
        body: 'A text.',
      },
    );
    expect([uploaded.status, await uploaded.text()]).toEqual([201, expect.any(String)]);
    expect(await everything()).not.toEqual(before);
    const { status, body } = await reset();
    expect([status, body]).toEqual([200, { resetAt: expect.stringMatching(/^\d{4}-.*Z$/) }]);
    expect(await everything()).toEqual(before);
    expect((await ask('GET', `/contacts/${mine.id}`)).status).toBe(404);
    expect((await onLive('GET', `/contacts/${ours.id}`)).status).toBe(200);
    // The record belongs to the brokerage, whose admins can read it.
    expect(
      await service.sql(
        `select distinct a.brokerage_id = b.sandbox_of as ours from audit_records a, brokerages b where a.action = 'sandbox.reset' and b.id = $1`,
        [await sandboxId()],
      ),
    ).toEqual([{ ours: true }]);
    // An Idempotency-Key from before the reset is forgotten.
    expect((await ask('POST', '/contacts', { type: 'person', displayName: 'Another' }, again)).status).toBe(201);
    expect(await service.sql(`select count(*)::int from users where sandbox_id = $1`, [await sandboxId()])).toEqual([
      { count: 7 },
    ]);
  });

  test('is told in the events by types that are on the list, also of deals that are gone', async () => {
    const gone = (await ask('POST', '/deals', { title: 'Goes with the reset' })).body!;
    const id = await diligence();
    const [offer] = await list(`/deals/${id}/offers`);
    await settle();
    const since = (await ask('GET', '/events?after=latest')).body!.pagination.nextCursor!;
    expect((await reset()).status).toBe(200);
    await settle();
    type Told = { type: string; objectId: string; dealId: string };
    const follow = async (query: string): Promise<Told[]> => {
      const { status, body } = await ask('GET', `/events?limit=200&after=${since}${query}`);
      expect(status).toBe(200);
      return body!.data as unknown as Told[];
    };
    const told = await follow('');
    expect(told.filter(({ type }) => !eventTypes.includes(type))).toEqual([]);
    const removed = await follow('&types=deal.removed,offer.removed,participant.removed,question.removed');
    expect(removed).toContainEqual(
      expect.objectContaining({ type: 'deal.removed', objectId: gone.id, dealId: gone.id }),
    );
    expect(removed).toContainEqual(expect.objectContaining({ type: 'offer.removed', objectId: offer!.id, dealId: id }));
    expect(new Set(removed.map(({ type }) => type)).size).toBe(4);
    const created = await follow('&types=deal.created');
    expect(created.map(({ objectId }) => objectId)).toContain(id);
  });

  test('in the settings is for admins only, who also see the time of the last reset', async () => {
    const who = (userId: string) => signInAs(service, userId);
    const path = `/brokerages/${tenant.id}/sandbox`;
    const [staff] = await service.sql<{ id: string }>(
      `with u as (insert into users (email, name) values ('staff@of-the-sandbox.example', 'Staff') returning id),
         m as (insert into members (brokerage_id, user_id, role) select $1, id, 'broker' from u)
       select id from u`,
      [tenant.id],
    );
    const other = await brokerage(service);
    const admin = await who(tenant.admin);
    await ask('POST', '/contacts', { type: 'person', displayName: 'Left behind' });
    const { body } = await admin.ask(path);
    expect(body).toEqual({
      sandbox: { reset_at: expect.any(String), deals: expect.any(Number), contacts: expect.any(Number) },
    });
    expect((await (await who(staff!.id)).ask(path)).body).toEqual({ sandbox: null });
    expect((await (await who(staff!.id)).ask(`${path}/reset`, {})).status).toBe(403);
    expect((await (await who(other.admin)).ask(path)).status).toBe(404);
    expect((await (await who(other.admin)).ask(`${path}/reset`, {})).status).toBe(404);
    expect((await (await who(other.admin)).ask(`/brokerages/${other.id}/sandbox`)).body).toEqual({ sandbox: null });
    expect((await (await who(other.admin)).ask(`/brokerages/${other.id}/sandbox/reset`, {})).status).toBe(404);
    service.clock.advance(60_000);
    const done = await admin.ask(`${path}/reset`, {});
    expect([done.status, done.body]).toMatchObject([200, { sandbox: { deals: 4, contacts: 12 } }]);
    expect(Date.parse((done.body as unknown as { sandbox: { reset_at: string } }).sandbox.reset_at)).toBeGreaterThan(
      Date.parse((body as unknown as { sandbox: { reset_at: string } }).sandbox.reset_at),
    );
    expect((await list('/contacts')).some(({ displayName }) => displayName === 'Left behind')).toBe(false);
  });

  test.each([
    [
      'on a deal',
      `insert into closing_conditions (deal_id, name) select id, 'Written meanwhile' from deals where organization_id = $1 and title like 'Heating%'`,
      'select from closing_conditions where brokerage_id = $1 and name like $2',
    ],
    [
      'on a deal that is opened meanwhile',
      `with d as (insert into deals (organization_id, title, keys_admitted) values ($1, 'Written meanwhile', true) returning id)
       insert into participants (deal_id, user_id, role, status) select d.id, app.sandbox_id($1, 'broker'), 'broker', 'active' from d`,
      'select from deals where organization_id = $1 and title like $2',
    ],
  ])('removes a record written concurrently %s', async (_where, writing, written) => {
    const sandbox = await sandboxId();
    expect((await whileChanging(service, [[writing, [sandbox]]], reset)).status).toBe(200);
    expect(await service.sql(written, [sandbox, 'Written%'])).toEqual([]);
  });

  test('makes room again in a full sandbox', async () => {
    const sandbox = await sandboxId();
    await service.sql(
      `insert into deals (organization_id, title, keys_admitted) select $1, 'One of many', true from generate_series(1, 96)`,
      [sandbox],
    );
    await service.sql(
      `insert into contacts (brokerage_id, type, display_name) select $1, 'person', 'One of many' from generate_series(1, 4988)`,
      [sandbox],
    );
    for (const [path, body] of [
      ['/deals', { title: 'One too many' }],
      ['/contacts', { type: 'person', displayName: 'One too many' }],
      ['/contacts/batch', { items: [{ action: 'create', contact: { type: 'person', displayName: 'One too many' } }] }],
    ] as const) {
      const full = await ask('POST', path, body);
      expect([path, full.status, full.body!.error.code]).toEqual([path, 429, 'rate_limited']);
      expect(full.body!.error.message).toContain('Reset it');
    }
    expect((await onLive('POST', '/deals', { title: 'Room enough' })).status).toBe(201);
    expect((await reset()).status).toBe(200);
    expect((await ask('POST', '/deals', { title: 'Room again' })).status).toBe(201);
  });

  test('runs once in ten seconds at most, across test keys and admins', async () => {
    service.clock.stand(service.clock.now());
    expect((await reset()).status).toBe(200);
    service.clock.advance(2_500);
    const other = as(await tenant.key({ environment: 'test' }), service.restUrl);
    for (const by of [ask, other]) {
      const refused = await by('POST', '/sandbox/reset');
      expect([refused.status, refused.body!.error.code]).toEqual([429, 'rate_limited']);
      const seconds = Number(refused.headers.get('retry-after'));
      expect(seconds).toBeGreaterThan(0);
      expect(seconds).toBeLessThanOrEqual(8);
      expect(refused.body!.error.details).toEqual({ retry_after: seconds });
    }
    const admin = await signInAs(service, tenant.admin);
    expect(await admin.ask(`/brokerages/${tenant.id}/sandbox/reset`, {})).toMatchObject({
      status: 429,
      body: { error: { code: 'sandbox_just_reset', message: expect.stringMatching(/try again in [1-8] s\.$/) } },
    });
    // Of two concurrent resets, one is done.
    service.clock.advance(10_000);
    const both = await Promise.all([ask('POST', '/sandbox/reset'), other('POST', '/sandbox/reset')]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 429]);
    // The creation of the sandbox does not count as a reset.
    const fresh = await brokerage(service);
    const first = as(await fresh.key({ environment: 'test' }), service.restUrl);
    service.clock.advance(1_000);
    expect((await first('POST', '/sandbox/reset')).status).toBe(200);
    expect((await first('POST', '/sandbox/reset')).status).toBe(429);
  });

  test('runs once per Idempotency-Key, and is rejected for a live key', async () => {
    service.clock.advance(10_000);
    const first = await ask('POST', '/sandbox/reset', undefined, { 'Idempotency-Key': 'reset-1' });
    await ask('POST', '/contacts', { type: 'person', displayName: 'Kept' });
    const second = await ask('POST', '/sandbox/reset', undefined, { 'Idempotency-Key': 'reset-1' });
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect((await list('/contacts')).some(({ displayName }) => displayName === 'Kept')).toBe(true);
    const refused = await onLive('POST', '/sandbox/reset');
    expect([refused.status, refused.body!.error.code]).toEqual([409, 'conflict']);
  });
});
