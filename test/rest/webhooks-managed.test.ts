/**
 * Managing webhooks by the API and in the settings: what is rejected, limits, secrets that are shown once, the log, and
 * redelivery.
 */

import { randomUUID } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { purgeWebhooks } from '../../server/domain/webhooks/deliveries.ts';
import { atOnce, whileChanging } from '../locks.ts';
import { signInAs, type SignedIn } from '../web/person.ts';
import { verifyWebhook, type WebhookEvent } from '../../clients/typescript/src/index.ts';
import { pointerTo, readDocument } from './document.ts';
import { prepareRefusals } from './refusals.ts';
import { as, brokerage } from './scene.ts';
import { hour, Webhook, webhookScene, type Made, type Received } from './webhook-scene.ts';

const scene = webhookScene();
const { received, webhook, contact, contacts, deliver, log } = scene;

describe('webhooks in the API', () => {
  test.each([
    [{ url: 'http://hooks.example.com/' }, 'url'],
    [{ url: 'https://10.0.0.1/' }, 'url'],
    [{ url: 'https://user:pass@hooks.example.com/' }, 'url'],
    [{ url: 'https://hooks.example.com/', types: ['contact.sold'] }, 'types.0'],
    [{ url: 'https://hooks.example.com/', types: [] }, 'types'],
    [{ url: 'https://hooks.example.com/', description: '' }, 'description'],
    [{ url: 'https://hooks.example.com/', description: ' ' }, 'description'],
    [{ url: 'https://hooks.example.com/', description: '🥐'.repeat(201) }, 'description'],
    [{}, 'url'],
  ])('%j is rejected', async (body, path) => {
    const answer = await scene.rest('POST', '/webhooks', body);
    expect([answer.status, answer.body?.error.details.faults[0]?.path]).toEqual([400, path]);
  });

  test('a description may have 200 characters, an emoji counting as one', async () => {
    const description = '🥐'.repeat(200);
    const { status, body } = await scene.rest('POST', '/webhooks', { url: `${scene.origin}/in`, description });
    expect([status, body]).toMatchObject([201, { description }]);
  });

  test('a secret is returned on creation and in its replay, and never by GET', async () => {
    const headers = { 'Idempotency-Key': 'hook' };
    const first = await scene.rest('POST', '/webhooks', { url: `${scene.origin}/in` }, headers);
    const again = await scene.rest('POST', '/webhooks', { url: `${scene.origin}/in` }, headers);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    const { id, secret } = first.body as unknown as Made;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect((await scene.rest('GET', `/webhooks/${id}`)).text).not.toContain('whsec_');
    expect(await scene.service.sql('select from webhook_endpoints')).toHaveLength(1);
  });

  test('a webhook is changed, tested, redelivered for a period, and deleted with its log', async () => {
    const { id } = await webhook({ description: 'CRM', types: ['contact.created'] });
    const changed = await scene.rest('PATCH', `/webhooks/${id}`, {
      description: null,
      types: null,
      url: `${scene.origin}/new`,
    });
    expect(changed.body).toMatchObject({ description: null, types: null, url: `${scene.origin}/new`, state: 'on' });
    const since = scene.service.clock.now().toISOString();
    expect((await scene.rest('POST', `/webhooks/${id}/test`)).status).toBe(202);
    await contact('Again');
    await deliver();
    expect(received.map(({ path, event }) => [path, event.type])).toEqual(
      expect.arrayContaining([
        ['/new', 'webhook.test'],
        ['/new', 'contact.created'],
      ]),
    );
    scene.service.clock.advance(1_000);
    const until = scene.service.clock.now().toISOString();
    const sent = await scene.rest('POST', `/webhooks/${id}/redeliver`, { since, until });
    expect([sent.status, sent.body]).toEqual([202, { deliveries: 2, nextSince: null }]);
    const none = await scene.rest('POST', `/webhooks/${id}/redeliver`, { since, until, failedOnly: true });
    expect(none.body).toEqual({ deliveries: 0, nextSince: null });
    expect(
      await scene.service.sql(
        `select outcome, details from audit_records where action = 'webhook.redeliver' and subject_id = $1 order by at, id`,
        [id],
      ),
    ).toEqual([
      { outcome: 'done', details: { deliveries: 2 } },
      { outcome: 'done', details: { deliveries: 0 } },
    ]);
    const turned = await scene.rest('POST', `/webhooks/${id}/redeliver`, { since: until, until: since });
    expect(turned).toMatchObject({
      status: 400,
      body: { error: { details: { faults: [{ in: 'body', path: 'until', message: 'Send a time after since.' }] } } },
    });
    received.length = 0;
    await deliver();
    expect(received).toHaveLength(2);
    expect((await log(id)).data.map(({ isAgain }) => isAgain)).toEqual([true, true, false, false]);
    const { data, pagination } = await log(id, '?limit=3');
    expect(data).toHaveLength(3);
    expect((await log(id, `?limit=3&cursor=${pagination.nextCursor}`)).data).toHaveLength(1);
    const one = await scene.rest('GET', `/webhooks/${id}/deliveries/${data[0]!.id}`);
    expect(one.body).toEqual(data[0]);
    expect((await scene.rest('DELETE', `/webhooks/${id}`)).status).toBe(204);
    expect((await scene.rest('GET', `/webhooks/${id}`)).status).toBe(404);
    expect(await scene.service.sql('select from webhook_deliveries')).toEqual([]);
    expect(await scene.service.sql('select from vault.webhook_secrets')).toEqual([]);
  });

  test('events, including the test event, match the OpenAPI document and are verified by the client', async () => {
    const { api, schema } = await readDocument(scene.service.restUrl);
    const { id, secret } = await webhook();
    expect((await scene.rest('POST', `/webhooks/${id}/test`)).status).toBe(202);
    const made = await contact('Ada');
    await deliver();
    const sent = new Map<string, WebhookEvent>();
    const steps = ['webhooks', 'event', 'post', 'requestBody', 'content', 'application/json', 'schema'];
    const validate = schema(pointerTo(...steps));
    for (const { headers, text, event } of received) {
      expect(validate(event), JSON.stringify(validate.errors)).toBe(true);
      const now = scene.service.clock.now();
      const verified = await verifyWebhook({ body: text, headers, secret, now });
      sent.set(verified.event.type, verified.event);
      const told = api.webhooks['event']!.post.parameters.map(({ name }) => headers[name]);
      expect(told).toEqual([verified.id, expect.stringMatching(/^\d+$/), expect.stringMatching(/^v1,/)]);
      // The schema requires `data`.
      expect(validate({ ...event, data: undefined })).toBe(false);
    }
    expect(sent.get('contact.created')).toMatchObject({ objectType: 'contact', objectId: made, data: { id: made } });
    expect(sent.get('webhook.test')).toEqual({
      id: expect.any(String),
      type: 'webhook.test',
      objectType: 'webhook',
      objectId: id,
      dealId: null,
      occurredAt: expect.any(String),
      data: null,
    });
  });

  test('a key has at most 20 webhooks', async () => {
    for (let n = 0; n < 20; n += 1) await webhook({ url: `${scene.origin}/${n}` });
    const { status, body } = await scene.rest('POST', '/webhooks', { url: `${scene.origin}/more` });
    expect([status, body?.error.code]).toEqual([409, 'conflict']);
    const [last] = await scene.service.sql(
      `select outcome, details from audit_records where action = 'webhook.create' order by at desc, id desc limit 1`,
    );
    expect(last).toEqual({ outcome: 'refused', details: { status: 409, code: 'conflict' } });
  });

  test('a brokerage has at most 200 active webhooks, not counting those of revoked and test keys', async () => {
    const keys = [];
    for (let nth = 0; nth < 10; nth += 1) keys.push(await scene.tenant.key({ scopes: ['webhooks:read'] }));
    const { id } = await webhook();
    expect((await scene.rest('PATCH', `/webhooks/${id}`, { state: 'off' })).status).toBe(200);
    await scene.service.sql(
      `insert into webhook_endpoints (key_id, url, place, history)
       select k.id, 'https://hooks.example.com/', s.published, s.history from unnest($1::uuid[]) k (id), generate_series(1, 20) n, vault.change_stream s
       where k.id <> $2 or n < 20`,
      [keys.map((one) => one.id), keys[0]!.id],
    );
    // 199 are on: of two concurrent additions, one succeeds.
    const added = () => scene.rest('POST', '/webhooks', { url: `${scene.origin}/in` });
    const both = await Promise.all([added(), added()]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([201, 409]);
    const refused = [await scene.rest('PATCH', `/webhooks/${id}`, { state: 'on' }), await added()];
    for (const { status, body } of refused) {
      expect([status, body?.error.code]).toEqual([409, 'conflict']);
      expect(body?.error.message).toContain('200 webhooks that are on');
    }
    expect((await scene.rest('PATCH', `/webhooks/${id}`, { description: 'Off' })).status).toBe(200);
    const trial = await scene.tenant.key({ environment: 'test', scopes: ['webhooks:read', 'webhooks:write'] });
    await webhook({}, as(trial, scene.service.restUrl));
    await scene.service.sql('update api_keys set revoked_at = app.now() where id = $1', [keys[1]!.id]);
    expect((await scene.rest('PATCH', `/webhooks/${id}`, { state: 'on' })).status).toBe(200);
    expect((await added()).status).toBe(201);
  });

  test('a webhook with over 10,000 deliveries is deleted at once, and a job deletes the deliveries left', async () => {
    const { id } = await webhook();
    const stays = await webhook({ url: `${scene.origin}/stays` });
    await scene.service.sql(
      `insert into webhook_deliveries (endpoint_id, event_id, type, object_type, object_id, occurred_at, next_attempt_at)
       select $1, gen_random_uuid(), 'contact.updated', 'contact', gen_random_uuid(), app.now(), app.now() from generate_series(1, 20050)`,
      [id],
    );
    expect((await scene.rest('DELETE', `/webhooks/${id}`)).status).toBe(204);
    const left = async () =>
      (await scene.service.sql('select from webhook_deliveries where endpoint_id = $1', [id])).length;
    expect(await left()).toBe(10_050);
    expect(await scene.service.sql('select from vault.webhook_secrets where endpoint_id = $1', [id])).toEqual([]);
    for (const [method, path, body] of [
      ['GET', `/webhooks/${id}`],
      ['GET', `/webhooks/${id}/deliveries`],
      ['PATCH', `/webhooks/${id}`, { state: 'on' }],
      ['DELETE', `/webhooks/${id}`],
    ] as const)
      expect((await scene.rest(method, path, body)).status).toBe(404);
    expect((await scene.rest('GET', '/webhooks')).body?.data.map((one) => one.id)).toEqual([stays.id]);
    const admin = await signInAs(scene.service, scene.tenant.admin);
    const listed = await admin.ask(`/brokerages/${scene.tenant.id}/webhooks`);
    expect(listed.body.items.map((one: { id: string }) => one.id)).toEqual([stays.id]);
    await contact('Not for what is removed');
    await deliver();
    expect(received.map(({ path }) => path)).toEqual(['/stays']);
    // A removed webhook does not count among the 20 of its key.
    for (let n = 1; n < 20; n += 1) await webhook({ url: `${scene.origin}/${n}` });
    const purged = [];
    for (let goesOn = true; goesOn;) {
      const deleted = Number(await scene.service.database.run(purgeWebhooks()));
      purged.push(deleted);
      goesOn = deleted >= 10_000;
    }
    expect(purged).toEqual([10_000, 50]);
    expect(await left()).toBe(0);
    expect(await scene.service.sql('select from webhook_endpoints where id = $1', [id])).toEqual([]);
  });

  test('rejected and repeated requests are audited with the webhook, even if the response is sealed', async () => {
    const { id } = await webhook();
    const asked = [
      'POST',
      `/webhooks/${id}/rotate-secret`,
      {},
      { 'Idempotency-Key': 'of a webhook'.replaceAll(' ', '-') },
    ] as const;
    for (let n = 0; n < 2; n += 1) expect((await scene.rest(...asked)).status).toBe(200);
    const delivery = `/webhooks/${id}/deliveries/018cc251-0000-7000-8000-000000000000/redeliver`;
    expect((await scene.rest('POST', delivery)).status).toBe(404);
    const records = await scene.service.sql(
      `select action, outcome from audit_records where subject_id = $1 and outcome <> 'done' order by at, id`,
      [id],
    );
    expect(records).toEqual([
      { action: 'webhook.rotate_secret', outcome: 'repeated' },
      { action: 'webhook.redeliver', outcome: 'refused' },
    ]);
  });
});

test('a response with a secret is not compressed, however long it is', async () => {
  const url = `https://crm.example.com/${'a'.repeat(1_200)}`;
  const made = await scene.rest('POST', '/webhooks', { url }, { 'Accept-Encoding': 'gzip' });
  expect([made.status, made.headers.get('content-encoding')]).toEqual([201, null]);
  const read = await scene.rest('GET', `/webhooks/${made.body?.id}`, undefined, { 'Accept-Encoding': 'gzip' });
  expect([read.status, read.headers.get('content-encoding')]).toEqual([200, 'gzip']);
});

describe('limits of webhooks', () => {
  test('at most ten test events wait', async () => {
    const { id } = await webhook();
    for (let n = 0; n < 10; n += 1) expect((await scene.rest('POST', `/webhooks/${id}/test`)).status).toBe(202);
    const { status, body } = await scene.rest('POST', `/webhooks/${id}/test`);
    expect([status, body?.error.code]).toEqual([409, 'conflict']);
    // A waiting delivery cannot be sent again.
    const [waiting] = (await log(id, '?state=waiting')).data;
    const again = await scene.rest('POST', `/webhooks/${id}/deliveries/${waiting!.id}/redeliver`);
    expect([again.status, again.body?.error]).toEqual([
      409,
      { code: 'conflict', message: 'This delivery is already waiting to be sent.' },
    ]);
    await deliver();
    expect((await scene.rest('POST', `/webhooks/${id}/test`)).status).toBe(202);
  });

  test('with 10,000 deliveries waiting, no more are queued or redelivered until some have ended', async () => {
    const { id } = await webhook();
    await contact('Taken');
    await deliver();
    const [taken] = (await log(id)).data;
    await scene.service.sql(
      `insert into webhook_deliveries (endpoint_id, event_id, type, object_type, object_id, occurred_at, next_attempt_at)
       select $1, gen_random_uuid(), 'contact.updated', 'contact', gen_random_uuid(), app.now(), app.now() + case when n <= 1000 then interval '1 day' else interval '9 days' end
       from generate_series(1, 10000) n`,
      [id],
    );
    await scene.service.sql(`update webhook_endpoints set send_at = app.now() + interval '1 day'`);
    received.length = 0;
    const later = await contact('Later');
    await deliver();
    expect(received).toEqual([]);
    expect((await scene.rest('POST', `/webhooks/${id}/deliveries/${taken!.id}/redeliver`)).status).toBe(409);
    // Within the hour after which the webhook would be checked anyway.
    scene.service.clock.advance(24 * hour);
    await scene.service.sql(`update webhook_endpoints set queue_at = app.now() + interval '1 hour'`);
    await deliver();
    await deliver();
    expect(received.map(({ event }) => event.objectId)).toContain(later);
    expect((await scene.rest('POST', `/webhooks/${id}/deliveries/${taken!.id}/redeliver`)).status).toBe(202);
  });
});

test('over 10,000 deliveries are redelivered in parts, earliest first, without splitting a millisecond', async () => {
  const { id } = await webhook();
  const from = scene.service.clock.now().getTime() - hour;
  // Three deliveries in each millisecond.
  await scene.service.sql(
    `insert into webhook_deliveries (endpoint_id, event_id, type, object_type, object_id, occurred_at, state, created_at, ended_at)
     select $1, gen_random_uuid(), 'contact.updated', 'contact', gen_random_uuid(), app.now(), 'failed', $2::timestamptz + n / 3 * interval '1 ms', app.now()
     from generate_series(0, 10002) n`,
    [id, new Date(from).toISOString()],
  );
  const until = new Date(from + 60_000).toISOString();
  let since: string | null = new Date(from).toISOString();
  const parts: number[] = [];
  while (since !== null) {
    const asked = { since, until, failedOnly: parts.length > 0 };
    const sent = await scene.rest('POST', `/webhooks/${id}/redeliver`, asked);
    const { deliveries, nextSince } = sent.body as unknown as { deliveries: number; nextSince: string | null };
    parts.push(deliveries);
    const [leftOut] = await scene.service.sql<{ count: number }>(
      `select count(*)::int as count from webhook_deliveries d
       where not d.is_again and d.created_at >= $1 and d.created_at < $2
         and not exists (select from webhook_deliveries a where a.is_again and a.event_id = d.event_id)`,
      [since, nextSince ?? until],
    );
    expect(leftOut!.count).toBe(0);
    await scene.service.sql('delete from webhook_deliveries where is_again');
    since = nextSince;
  }
  expect(parts).toEqual([9_999, 4]);
});

describe('the delivery log', () => {
  test('lists deliveries of one millisecond in the reverse order of writing, on every page', async () => {
    const { id } = await webhook();
    await contacts(30);
    await deliver();
    const [{ times } = { times: 0 }] = await scene.service.sql<{ times: number }>(
      'select count(distinct created_at)::int as times from webhook_deliveries',
    );
    expect(times).toBeLessThan(30);
    const told = await scene.service.sql<{ id: string }>('select id from webhook_deliveries order by nr desc');
    const read: string[] = [];
    for (let cursor = ''; ;) {
      const { data, pagination } = await log(id, `?limit=7${cursor}`);
      read.push(...data.map((one) => one.id));
      if (pagination.nextCursor === null) break;
      cursor = `&cursor=${pagination.nextCursor}`;
    }
    expect(read).toEqual(told.map((one) => one.id));
  });
});

describe('the response of a failed delivery about a deal', () => {
  /** A webhook whose receiver repeated a new deal in its refusal, and the responses of its log. */
  async function refused() {
    const key = await scene.tenant.key({ scopes: ['deals:read', 'webhooks:read', 'webhooks:write'] });
    const rest = as(key, scene.service.restUrl);
    const { id } = await webhook({}, rest);
    scene.answering = ({ text }, response) => response.writeHead(422).end(text);
    const [deal] = await scene.service.sql<{ id: string }>(
      `insert into deals (organization_id, title, state, keys_admitted) values ($1, 'Secret bakery', 'listed', true) returning id`,
      [scene.tenant.id],
    );
    await deliver();
    const admin = await signInAs(scene.service, scene.tenant.admin);
    return {
      deal: deal!.id,
      /** The bodies that the key sees in the list and in the single delivery. */
      async toKey() {
        const { data } = await log(id, '', rest);
        const one = await rest('GET', `/webhooks/${id}/deliveries/${data[0]!.id}`);
        expect(one.body).toEqual(data[0]);
        expect(data).toMatchObject([{ state: 'waiting', answer: { status: 422 } }]);
        return data[0]!.answer!.body;
      },
      async toAdmin() {
        const { items } = (await admin.ask(`/webhooks/${id}/deliveries`)).body;
        expect(items).toMatchObject([{ state: 'waiting', status: 422 }]);
        return items[0].answer as string | null;
      },
    };
  }

  test('is hidden from the key while the deal does not admit keys', async () => {
    const { deal, toKey } = await refused();
    expect(await toKey()).toContain('Secret bakery');
    await scene.service.sql('update deals set keys_admitted = false where id = $1', [deal]);
    expect(await toKey()).toBeNull();
  });

  test('is shown to an admin only as a broker of the deal, until they leave it', async () => {
    const { deal, toAdmin } = await refused();
    expect(await toAdmin()).toBeNull();
    const [place] = await scene.service.sql<{ id: string }>(
      `insert into participants (deal_id, user_id, role, status) values ($1, $2, 'broker', 'active') returning id`,
      [deal, scene.tenant.admin],
    );
    expect(await toAdmin()).toContain('Secret bakery');
    await scene.service.sql(`update participants set status = 'removed' where id = $1`, [place!.id]);
    expect(await toAdmin()).toBeNull();
  });
});

describe('webhooks in the settings', () => {
  /**
   * Whether the library of Standard Webhooks creates the same signature. Its `verify` rejects timestamps of other days,
   * to which these tests advance the clock.
   */
  const isSignedWith = (secret: string, { text, headers }: Received): boolean => {
    const at = new Date(Number(headers['webhook-timestamp']) * 1_000);
    const signature = new Webhook(secret).sign(String(headers['webhook-id']), at, text);
    return String(headers['webhook-signature']).split(' ').includes(signature);
  };
  let admin: SignedIn;
  let outsiders: SignedIn[];
  beforeAll(async () => {
    const [broker] = await scene.service.sql<{ id: string }>(
      `with u as (insert into users (email, name) values ('broker@example.test', 'A broker') returning id)
       insert into members (brokerage_id, user_id, role) select $1, u.id, 'broker' from u returning user_id as id`,
      [scene.tenant.id],
    );
    const other = await brokerage(scene.service);
    outsiders = [await signInAs(scene.service, broker!.id), await signInAs(scene.service, other.admin)];
  });
  beforeEach(async () => {
    admin = await signInAs(scene.service, scene.tenant.admin);
  });
  const ours = () => admin.ask(`/brokerages/${scene.tenant.id}/webhooks`);
  const add = (more: object = {}, by = admin) =>
    by.ask(`/keys/${scene.key.id}/webhooks`, { url: `${scene.origin}/settings`, types: null, ...more });

  test('an admin adds one for a key, lists those of all keys, and verifies deliveries with the secret', async () => {
    const byKey = await webhook();
    const { status, body } = await add({ description: 'CRM', types: ['contact.created'] });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      secret: expect.stringMatching(/^whsec_/),
      webhook: { description: 'CRM', types: ['contact.created'], state: 'on', key_name: 'a key', environment: 'live' },
    });
    const { body: list } = await ours();
    expect(list.items.map(({ id }: { id: string }) => id)).toEqual([body.webhook.id, byKey.id]);
    expect(JSON.stringify(list)).not.toContain('whsec_');
    await contact('By the settings');
    await deliver();
    expect(
      isSignedWith(
        body.secret,
        received.find(({ path }) => path === '/settings')!,
      ),
    ).toBe(true);
    const { items } = (await admin.ask(`/webhooks/${body.webhook.id}/deliveries`)).body;
    expect(items).toMatchObject([{ type: 'contact.created', state: 'delivered', status: 204, attempts: 1 }]);
    expect((await ours()).body.items[0]).toMatchObject({ waiting: 0, succeeded_at: expect.any(String) });
    const acts = await scene.service.sql(
      `select user_id, details from audit_records where action = 'webhook.create' and subject_id = $1`,
      [body.webhook.id],
    );
    expect(acts).toEqual([
      { user_id: scene.tenant.admin, details: { key_id: scene.key.id, host: expect.any(String) } },
    ]);
  });

  test('an admin sees a count of at most 1,000 waiting deliveries, per webhook and in total', async () => {
    const { id } = (await add()).body.webhook;
    const other = (await add()).body.webhook;
    await scene.service.sql(
      `insert into webhook_deliveries (endpoint_id, event_id, type, object_type, object_id, occurred_at, attempts)
       select e.id, gen_random_uuid(), 'contact.updated', 'contact', gen_random_uuid(), app.now(), case when e.id = $1 then n % 2 else 0 end
       from webhook_endpoints e, generate_series(1, case when e.id = $1 then 1500 else 10 end) n where e.id in ($1, $2)`,
      [id, other.id],
    );
    const { items } = (await ours()).body;
    const of = (webhookId: string) => items.find((item: { id: string }) => item.id === webhookId);
    expect(of(id)).toMatchObject({ waiting: 1000, oldest_at: expect.any(String) });
    expect(of(other.id)).toMatchObject({ waiting: 10, failing: 0 });
    const { webhooks } = (await admin.ask(`/brokerages/${scene.tenant.id}/status`)).body;
    expect(webhooks).toMatchObject({ waiting: 1000, oldest_at: expect.any(String) });
    await scene.service.sql('delete from webhook_deliveries where endpoint_id in ($1, $2)', [id, other.id]);
  });

  test('an admin changes, tests, rotates, turns off and on, redelivers and deletes one', async () => {
    const { id } = (await add()).body.webhook;
    expect((await admin.ask(`/webhooks/${id}/test`, {})).status).toBe(202);
    await deliver();
    expect(received.map(({ event }) => event.type)).toEqual(['webhook.test']);
    const [first] = (await admin.ask(`/webhooks/${id}/deliveries?state=delivered`)).body.items;
    expect((await admin.ask(`/webhooks/${id}/deliveries/${first.id}/redeliver`, {})).status).toBe(202);
    scene.service.clock.advance(1_000);
    const range = { since: '2020-01-01T00:00:00Z', until: scene.service.clock.now().toISOString() };
    await deliver();
    expect((await admin.ask(`/webhooks/${id}/redeliver`, range)).body).toEqual({ deliveries: 1, next_since: null });
    await deliver();
    expect(received).toHaveLength(3);
    const { items, next_cursor } = (await admin.ask(`/webhooks/${id}/deliveries?limit=2`)).body;
    const { items: others } = (await admin.ask(`/webhooks/${id}/deliveries?limit=2&cursor=${next_cursor}`)).body;
    expect([...items, ...others].map(({ is_again }) => is_again)).toEqual([true, true, false]);

    const patch = (body: object) => admin.ask(`/webhooks/${id}`, body, 'PATCH');
    expect((await patch({ state: 'off' })).body).toMatchObject({ state: 'off', off_reason: 'asked' });
    expect((await patch({ state: 'on', description: 'Books', types: ['deal.updated'] })).body).toMatchObject({
      state: 'on',
      description: 'Books',
      types: ['deal.updated'],
    });
    expect((await patch({ description: null, types: null, url: `${scene.origin}/moved` })).body).toMatchObject({
      description: null,
      types: null,
      url: `${scene.origin}/moved`,
    });
    const renewed = await admin.ask(`/webhooks/${id}/rotate`, { overlap_seconds: 0 });
    expect(renewed.body.secret).toMatch(/^whsec_/);
    await admin.ask(`/webhooks/${id}/test`, {});
    await deliver();
    expect(received.at(-1)!.path).toBe('/moved');
    expect(isSignedWith(renewed.body.secret, received.at(-1)!)).toBe(true);
    expect((await admin.ask(`/webhooks/${id}`, undefined, 'DELETE')).status).toBe(204);
    expect((await ours()).body.items).toEqual([]);
  });

  test('non-admins and admins of other brokerages see no webhooks and change none', async () => {
    const { id } = (await add()).body.webhook;
    const range = { since: '2020-01-01T00:00:00Z', until: '2030-01-01T00:00:00Z' };
    for (const outsider of outsiders) {
      for (const [path, body, method] of [
        [`/webhooks/${id}/deliveries`],
        [`/webhooks/${id}`, { state: 'off' }, 'PATCH'],
        [`/webhooks/${id}`, { url: `${scene.origin}/mine` }, 'PATCH'],
        [`/webhooks/${id}`, undefined, 'DELETE'],
        [`/webhooks/${id}/rotate`, { overlap_seconds: 0 }],
        [`/webhooks/${id}/test`, {}],
        [`/webhooks/${id}/redeliver`, range],
        [`/webhooks/${id}/deliveries/${randomUUID()}/redeliver`, {}],
      ] as const) {
        const { status } = await outsider.ask(path, body, method);
        expect([method, path, status]).toEqual([method, path, 404]);
      }
      expect((await add({}, outsider)).status).toBe(404);
      const { status, body } = await outsider.ask(`/brokerages/${scene.tenant.id}/webhooks`);
      expect(status === 404 || body.items.length === 0).toBe(true);
    }
    expect((await ours()).body.items).toMatchObject([{ id, state: 'on', url: `${scene.origin}/settings` }]);
  });

  test('invalid values are rejected by field, and a new URL or secret requires a recent sign-in', async () => {
    for (const [given, path] of [
      [{ url: 'http://hooks.example.com/' }, 'url'],
      [{ types: [] }, 'types'],
      [{ types: ['deal.sold'] }, 'types.0'],
    ] as const)
      expect((await add(given)).body.error.details[0].path).toBe(path);
    const { id } = (await add()).body.webhook;
    await scene.service.sql(`update vault.sessions set authenticated_at = app.now() - interval '1 hour'`);
    expect((await add()).status).toBe(403);
    const asked: [string, object, string][] = [
      [`/webhooks/${id}`, { url: `${scene.origin}/elsewhere` }, 'PATCH'],
      [`/webhooks/${id}/rotate`, { overlap_seconds: 0 }, 'POST'],
    ];
    for (const [path, body, method] of asked) expect((await admin.ask(path, body, method)).status).toBe(403);
    expect((await admin.ask(`/webhooks/${id}`, { url: `${scene.origin}/settings` }, 'PATCH')).status).toBe(200);
    expect((await admin.ask(`/webhooks/${id}`, { state: 'off' }, 'PATCH')).status).toBe(200);
  });

  test('the mail about one that was turned off links to the settings page, also for a test key', async () => {
    const trial = await scene.tenant.key({
      environment: 'test',
      scopes: ['contacts:read', 'contacts:write', 'webhooks:read', 'webhooks:write'],
    });
    await webhook({ url: `${scene.origin}/trial` }, as(trial, scene.service.restUrl));
    await as(trial, scene.service.restUrl)('POST', '/contacts', { type: 'person', displayName: 'Tried out' });
    await add();
    scene.answering = (_request, response) => response.writeHead(500).end();
    await contact('Never taken');
    const mails = scene.service.mails.length;
    for (let half = 0; half < 8; half += 1) {
      await deliver();
      scene.service.clock.advance(12 * hour);
    }
    await scene.service.deliver();
    const told = scene.service.mails.slice(mails).filter(({ subject }) => subject.includes('was turned off'));
    expect(told).toHaveLength(2);
    for (const { text } of told) expect(text).toContain(`${scene.service.config.baseUrl}/settings/webhooks`);
    expect(told.filter(({ text }) => text?.includes('(sandbox)'))).toHaveLength(1);
    admin = await signInAs(scene.service, scene.tenant.admin);
    const off = { state: 'off', off_reason: 'failing' };
    expect((await ours()).body.items).toMatchObject([off, off]);
    const recorded = await scene.service.sql(
      `select brokerage_id from audit_records where action = 'webhook.off' order by at desc limit 2`,
    );
    expect(recorded).toEqual([{ brokerage_id: scene.tenant.id }, { brokerage_id: scene.tenant.id }]);
  });

  /** The states of all webhooks of the brokerage by the path of their URL. */
  const states = async (by = admin) =>
    Object.fromEntries(
      (await by.ask(`/brokerages/${scene.tenant.id}/webhooks`)).body.items.map(
        ({ url, state }: { url: string; state: string }) => [new URL(url).pathname, state],
      ),
    );
  const rotate = async (key: string, overlap_seconds: number) => {
    const { status, body } = await admin.ask(`/keys/${key}/rotate`, { overlap_seconds });
    expect(status).toBe(200);
    return as({ token: body.token }, scene.service.restUrl);
  };

  test('rotating a key without overlap turns off webhooks that the key added, redirected or renewed', async () => {
    const key = await scene.tenant.key({ scopes: ['contacts:read', 'webhooks:read', 'webhooks:write'] });
    const thief = as(key, scene.service.restUrl);
    const made = async (path: string) =>
      (await admin.ask(`/keys/${key.id}/webhooks`, { url: `${scene.origin}/${path}`, types: null })).body.webhook.id;
    await made('admins');
    const [moved, renewed] = [await made('before'), await made('renewed')];
    const stolen = await webhook({ url: `${scene.origin}/stolen` }, thief);
    expect((await thief('PATCH', `/webhooks/${moved}`, { url: `${scene.origin}/moved` })).status).toBe(200);
    expect((await thief('POST', `/webhooks/${renewed}/rotate-secret`, { overlapSeconds: 0 })).status).toBe(200);
    await rotate(key.id, 3600);
    expect(await states()).toEqual({ '/admins': 'on', '/moved': 'on', '/renewed': 'on', '/stolen': 'on' });

    const fresh = await rotate(key.id, 0);
    expect(await states()).toEqual({ '/admins': 'on', '/moved': 'off', '/renewed': 'off', '/stolen': 'off' });
    expect((await fresh('GET', `/webhooks/${stolen.id}`)).body).toMatchObject({
      state: 'off',
      offReason: 'key_rotated',
    });
    await contact('Not for thieves');
    await deliver();
    expect(received.map(({ path }) => path)).toEqual(['/admins']);
    const trail = await scene.service.sql(
      `select user_id, brokerage_id, details from audit_records where action = 'webhook.update' and subject_id = $1`,
      [stolen.id],
    );
    expect(trail).toEqual([{ user_id: scene.tenant.admin, brokerage_id: scene.tenant.id, details: { state: 'off' } }]);
    const [rotated] = await scene.service.sql<{ details: object }>(
      `select details from audit_records where action = 'api_key.rotate' and subject_id = $1 order by at desc, id desc limit 1`,
      [key.id],
    );
    expect(rotated?.details).toMatchObject({ webhooks: 3 });

    // An admin who turns a webhook on has reviewed it, so it continues where it stopped.
    expect((await admin.ask(`/webhooks/${moved}`, { state: 'on' }, 'PATCH')).status).toBe(200);
    await deliver();
    expect(received.map(({ path }) => path)).toEqual(['/admins', '/moved']);
    await rotate(key.id, 0);
    expect(await states()).toMatchObject({ '/moved': 'on', '/stolen': 'off' });
  });

  test('only what every member may read is sent once no admin was issued a token of the key', async () => {
    const [other] = await scene.service.sql<{ id: string }>(
      `with u as (insert into users (email, name) values (gen_random_uuid() || '@example.test', 'An admin') returning id)
       insert into members (brokerage_id, user_id, role) select $1, u.id, 'admin' from u returning user_id as id`,
      [scene.tenant.id],
    );
    const opener = as(await scene.tenant.key({ scopes: ['deals:read', 'deals:write'] }), scene.service.restUrl);
    const key = await scene.tenant.key({ scopes: ['contacts:read', 'deals:read'] });
    await scene.service.sql('update vault.api_key_digests set issued_by = $2 where key_id = $1', [key.id, other!.id]);
    await admin.ask(`/keys/${key.id}/webhooks`, { url: `${scene.origin}/in`, types: null });
    const happens = async () => {
      expect((await opener('POST', '/deals', { title: 'Orchard' })).status).toBe(201);
      await contact('A contact');
    };
    const delivered = async () => {
      await deliver();
      return received.splice(0).map(({ event }) => event.type);
    };
    await happens();
    expect((await delivered()).toSorted()).toEqual(expect.arrayContaining(['contact.created', 'deal.created']));
    await admin.ask(`/brokerages/${scene.tenant.id}/members/${other!.id}`, { role: 'broker' }, 'PATCH');
    await happens();
    expect(await delivered()).toEqual(['contact.created']);
  });

  test.each([
    ['is removed', (id: string) => admin.ask(`/brokerages/${scene.tenant.id}/members/${id}`, undefined, 'DELETE')],
    [
      'is suspended',
      (id: string) => scene.service.sql('update users set suspended_at = app.now() where id = $1', [id]),
    ],
    [
      'is made staff',
      (id: string) => admin.ask(`/brokerages/${scene.tenant.id}/members/${id}`, { role: 'staff' }, 'PATCH'),
    ],
  ])('webhooks added by an admin who %s are turned off, and those of other admins stay on', async (_how, gone) => {
    const [other] = await scene.service.sql<{ id: string }>(
      `with u as (insert into users (email, name) values (gen_random_uuid() || '@example.test', 'An admin') returning id)
       insert into members (brokerage_id, user_id, role) select $1, u.id, 'admin' from u returning user_id as id`,
      [scene.tenant.id],
    );
    const leaver = await signInAs(scene.service, other!.id);
    await add({ url: `${scene.origin}/stays` });
    await add({ url: `${scene.origin}/goes` }, leaver);
    await webhook();
    // Another is added with a token that only the leaver was shown, of a key that others rotate.
    const key = await scene.tenant.key({ scopes: ['contacts:read', 'webhooks:read', 'webhooks:write'] });
    await scene.service.sql('update vault.api_key_digests set issued_by = $2 where key_id = $1', [key.id, other!.id]);
    const byKey = await as(key, scene.service.restUrl)('POST', '/webhooks', { url: `${scene.origin}/key` });
    expect(byKey.status).toBe(201);
    expect(await states()).toEqual({ '/stays': 'on', '/goes': 'on', '/in': 'on', '/key': 'on' });
    await gone(other!.id);
    expect(await states()).toEqual({ '/stays': 'on', '/goes': 'off', '/in': 'on', '/key': 'off' });
    await rotate(key.id, 86_400);
    const shown = async () =>
      (await ours()).body.items.find(({ url }: { url: string }) => url === `${scene.origin}/goes`);
    const { id } = await shown();
    expect(await shown()).toMatchObject({ off_reason: 'admin_gone', off_since: expect.any(String) });
    expect((await admin.ask(`/webhooks/${id}`, { description: 'Looked at' }, 'PATCH')).status).toBe(200);
    expect(await shown()).toMatchObject({ description: 'Looked at', off_reason: 'admin_gone' });
    await contact('Not for who is gone');
    await deliver();
    expect(received.map(({ path }) => path).toSorted()).toEqual(['/in', '/stays']);
    expect((await admin.ask(`/webhooks/${id}`, { state: 'on' }, 'PATCH')).status).toBe(200);
    expect(await shown()).toMatchObject({ state: 'on', off_reason: null });
    expect((await admin.ask(`/webhooks/${id}`, { state: 'off' }, 'PATCH')).status).toBe(200);
    expect(await shown()).toMatchObject({ state: 'off', off_reason: 'asked' });
  });

  describe('while an admin leaves', () => {
    type By = 'themself' | 'a token of theirs';
    const changes = {
      removed: `update members set status = 'removed' where user_id = $1`,
      suspended: 'update users set suspended_at = app.now() where id = $1',
    };
    let leaver: string;
    /**
     * Adds an admin who leaves, and a webhook of another admin; returns what the leaver does with webhooks, personally
     * or by a token of a key of which another admin has a token, too.
     */
    async function addLeaver(by: By) {
      const { service, tenant, origin } = scene;
      leaver = (
        await service.sql<{ id: string }>(
          `with u as (insert into users (email, name) values (gen_random_uuid() || '@example.test', 'An admin') returning id)
           insert into members (brokerage_id, user_id, role) select $1, u.id, 'admin' from u returning user_id as id`,
          [tenant.id],
        )
      )[0]!.id;
      const session = await signInAs(service, leaver);
      const key = await tenant.key({ scopes: ['contacts:read', 'webhooks:read', 'webhooks:write'] });
      const { body } = await session.ask(`/keys/${key.id}/rotate`, { overlap_seconds: 86_400 });
      const rest = as({ token: body.token }, service.restUrl);
      const { id } = (await admin.ask(`/keys/${key.id}/webhooks`, { url: `${origin}/before`, types: null })).body
        .webhook;
      const url = `${origin}/theirs`;
      const personally = {
        adds: () => session.ask(`/keys/${key.id}/webhooks`, { url, types: null }),
        redirects: () => session.ask(`/webhooks/${id}`, { url }, 'PATCH'),
        renews: () => session.ask(`/webhooks/${id}/rotate`, { overlap_seconds: 0 }),
      };
      const byToken = {
        adds: () => rest('POST', '/webhooks', { url }),
        redirects: () => rest('PATCH', `/webhooks/${id}`, { url }),
        renews: () => rest('POST', `/webhooks/${id}/rotate-secret`, { overlapSeconds: 0 }),
      };
      return { key, id, ...(by === 'themself' ? personally : byToken) };
    }

    describe.each<By>(['themself', 'a token of theirs'])('by %s', (by) => {
      test.each(
        (['adds', 'redirects', 'renews'] as const).flatMap((does) =>
          (['removed', 'suspended'] as const).map((how) => [does, how] as const),
        ),
      )('a request that %s a webhook is rejected when the admin is %s', async (does, how) => {
        const webhooks = await addLeaver(by);
        const secrets = () => scene.service.sql('select id, ends_at from vault.webhook_secrets');
        const before = await secrets();
        const { status } = await whileChanging<{ status: number }>(
          scene.service,
          [[changes[how], [leaver]]],
          webhooks[does],
        );
        expect([401, 403, 404]).toContain(status);
        expect(await states()).toEqual({ '/before': 'on' });
        expect(await secrets()).toEqual(before);
      });

      test.each(['adds', 'redirects', 'renews'] as const)(
        "a request that %s a webhook succeeds, and the admin's removal turns the webhook off",
        async (does) => {
          const webhooks = await addLeaver(by);
          const held =
            does === 'adds' ? (['api_keys', webhooks.key.id] as const) : (['webhook_endpoints', webhooks.id] as const);
          const [{ status }, removed] = await atOnce<{ status: number }, { status: number }>(
            scene.service,
            [held[0], 'id', held[1]],
            webhooks[does],
            () => admin.ask(`/brokerages/${scene.tenant.id}/members/${leaver}`, undefined, 'DELETE'),
          );
          expect([200, 201]).toContain(status);
          expect(removed.status).toBe(200);
          expect(await states()).toEqual(
            {
              adds: { '/before': 'on', '/theirs': 'off' },
              redirects: { '/theirs': 'off' },
              renews: { '/before': 'off' },
            }[does],
          );
        },
      );
    });
  });
});

test('every response about webhooks matches the OpenAPI document, and every announced response occurs', async () => {
  const { sql, restUrl } = scene.service;
  const { document, limited, away } = await prepareRefusals(scene.service, scene.tenant);
  const [nobody, none] = [as(null, restUrl), as(await scene.tenant.key({ scopes: ['contacts:read'] }), restUrl)];
  const { id } = await webhook();
  await scene.rest('POST', `/webhooks/${id}/test`);
  await deliver();
  const delivery = (await log(id)).data[0]!.id;
  await sql(`create function full_disk() returns trigger language plpgsql as
    $$ begin raise 'No space left on device' using errcode = '53100'; end $$`);
  const tables = ['webhook_endpoints', 'webhook_deliveries', 'vault.webhook_secrets'];
  const each = (statement: (table: string) => string) => sql(tables.map(statement).join(';'));
  const [one, sent] = ['/webhooks/{webhookId}', '/webhooks/{webhookId}/deliveries/{deliveryId}'];
  const time = { since: '2026-01-01T00:00:00Z', until: '2126-01-01T00:00:00Z' };
  const operations: readonly (readonly [method: string, template: string, body?: object])[] = [
    ['GET', '/webhooks'],
    ['POST', '/webhooks', { url: `${scene.origin}/in` }],
    ['GET', one],
    ['PATCH', one, { description: 'The CRM', state: 'on' }],
    ['POST', `${one}/rotate-secret`, { overlapSeconds: 0 }],
    ['POST', `${one}/test`],
    ['GET', `${one}/deliveries`],
    ['GET', sent],
    ['POST', `${sent}/redeliver`],
    ['POST', `${one}/redeliver`, time],
    ['DELETE', one],
  ];
  for (const [method, template, body] of operations) {
    const operation = `${method} ${template}`;
    const filled = (webhookId: string) => template.replace('{webhookId}', webhookId).replace('{deliveryId}', delivery);
    const path = filled(id);
    const check = (answer: Awaited<ReturnType<typeof scene.rest>>) => document.check(operation, answer);
    const announces = (status: number) => document.announced(template).includes(`${operation} ${status}`);
    for (const by of [nobody, none, limited, as(scene.key, away)]) check(await by(method, path, body));
    if (announces(404)) check(await scene.rest(method, filled('018cc251-0000-7000-8000-000000000000'), body));
    await each((table) => `alter table ${table} rename to ${table.split('.').at(-1)}_away`);
    const broken = await scene.rest(method, path, body);
    await each((table) => `alter table ${table}_away rename to ${table.split('.').at(-1)}`);
    check(broken);
    if (method === 'GET') check(await scene.rest(method, path, undefined, { 'If-None-Match': '*' }));
    else {
      await each(
        (table) =>
          `create trigger full_disk before insert or update or delete on ${table} execute function full_disk()`,
      );
      const unkept = await scene.rest(method, path, body);
      await each((table) => `drop trigger full_disk on ${table}`);
      check(unkept);
    }
    if (body) {
      check(await scene.rest(method, path, { more: 1 }));
      check(await scene.rest(method, path, 'x'.repeat(1_100_000), { 'Content-Type': 'application/json' }));
      check(await scene.rest(method, path, 'x', { 'Content-Type': 'text/plain' }));
    } else if (announces(400))
      check(
        await scene.rest(method, method === 'GET' ? `${path}?limit=0` : path, undefined, { 'Idempotency-Key': 'a b' }),
      );
    if (announces(409)) {
      // The limits are 20 webhooks per key, 200 webhooks that are on, ten waiting test events and 10,000 waiting
      // deliveries.
      await sql(
        `insert into webhook_endpoints (brokerage_id, key_id, url, place, history)
         select brokerage_id, key_id, url, place, history from webhook_endpoints, generate_series(1, case when $1 then 200 else 20 end) where $2`,
        [method === 'PATCH', template === '/webhooks' || method === 'PATCH'],
      );
      if (method === 'PATCH')
        await sql(`update webhook_endpoints set state = 'off', off_reason = 'asked', off_since = now() where id = $1`, [
          id,
        ]);
      await sql(
        `insert into webhook_deliveries (endpoint_id, event_id, type, object_type, object_id, occurred_at)
         select $1, gen_random_uuid(), 'webhook.test', 'webhook', $1, now() from generate_series(1, 10000) where $2`,
        [id, template !== '/webhooks'],
      );
      check(await scene.rest(method, path, body));
      await sql(`delete from webhook_deliveries where state = 'waiting'`);
      await sql('delete from webhook_endpoints where id <> $1', [id]);
    }
    check(await scene.rest(method, path, body));
  }
  expect(document.checked('/webhooks')).toEqual(document.announced('/webhooks'));
});
