/** Webhooks from a change to a real receiver: signed, in order by record, again when refused, switched off in the end, with the rights of a key. */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { publishChanges } from '../../server/domain/events/changes.ts';
import {
  claimDeliveries,
  enterForDeliveries,
  noteDeliveries,
  type ClaimedLot,
} from '../../server/domain/webhooks/deliveries.ts';
import { openWebhooks, type WebhookDelivery } from '../../server/webhooks/delivery.ts';
import { openService, type TestService } from '../harness.ts';
import { signInAs, type SignedIn } from '../web/person.ts';
import { prepareRefusals } from './refusals.ts';
import { as, brokerage, type Brokerage, type Key } from './scene.ts';

interface Verifier {
  verify(body: string, headers: http.IncomingHttpHeaders): unknown;
  sign(id: string, at: Date, body: string): string;
}
/** The library of the standard, as receivers use it. */
const { Webhook } = createRequire(import.meta.url)('standardwebhooks') as { Webhook: new (secret: string) => Verifier };

interface Received {
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
  readonly event: { id: string; type: string; objectId: string; data: { displayName: string } | null };
}

let service: TestService;
let tenant: Brokerage;
let key: Key;
let rest: ReturnType<typeof as>;
/** Two nodes that deliver. */
let nodes: readonly WebhookDelivery[];
const received: Received[] = [];
let answering: (request: Received, response: http.ServerResponse) => void;
let origin = '';
const receiver = http.createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (part: string) => (text += part));
  request.on('end', () => {
    const one = {
      path: request.url ?? '',
      headers: request.headers,
      text,
      event: JSON.parse(text) as Received['event'],
    };
    received.push(one);
    answering(one, response);
  });
});

const hour = 3_600_000;

beforeAll(async () => {
  service = await openService({ config: { webhooksAllowLoopback: true } });
  tenant = await brokerage(service);
  key = await tenant.key({ scopes: ['contacts:read', 'contacts:write', 'webhooks:read', 'webhooks:write'] });
  rest = as(key, service.restUrl);
  nodes = [openWebhooks(service.services), openWebhooks(service.services)];
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
});
afterAll(async () => {
  receiver.closeAllConnections();
  receiver.close();
  await service?.close();
});
beforeEach(() => {
  received.length = 0;
  answering = (_request, response) => response.writeHead(204).end();
});
afterEach(async () => {
  await service.sql('delete from webhook_endpoints');
});

interface Made {
  id: string;
  secret: string;
  url: string;
  state: string;
  offReason: string | null;
}

async function webhook(more: Record<string, unknown> = {}, by = rest): Promise<Made> {
  const { status, body } = await by('POST', '/webhooks', { url: `${origin}/in`, ...more });
  expect(status).toBe(201);
  return body as unknown as Made;
}
const contact = async (displayName: string) =>
  (await rest('POST', '/contacts', { type: 'person', displayName })).body!.id;
const change = (id: string, phone: string) => service.sql('update contacts set phone = $2 where id = $1', [id, phone]);

/** Publishes what is committed. */
const settle = () =>
  expect
    .poll(async () => {
      await service.database.run(publishChanges());
      return (await service.database.run(publishChanges())).waits;
    })
    .toBe(false);

/** Publishes what is committed, and delivers it by both nodes at once. */
async function deliver(): Promise<void> {
  await settle();
  await Promise.all(nodes.map((node) => node.deliverDue()));
}

interface Logged {
  id: string;
  eventId: string;
  type: string;
  state: string;
  attempts: number;
  isAgain: boolean;
  error: string | null;
  answer: { status: number; body: string | null } | null;
  request: { url: string; bytes: number } | null;
}
const log = async (id: string, query = '', by = rest) =>
  (await by('GET', `/webhooks/${id}/deliveries${query}`)).body as unknown as {
    data: Logged[];
    pagination: { nextCursor: string | null };
  };

describe('a delivery', () => {
  test('is signed so that the library of the standard verifies it, and holds the record as its path answers it', async () => {
    const { id, secret } = await webhook();
    const made = await contact('Ada');
    await deliver();
    expect(received).toHaveLength(1);
    const { headers, text, event } = received[0]!;
    expect(new Webhook(secret).verify(text, headers)).toEqual(event);
    expect(() => new Webhook(secret).verify(`${text} `, headers)).toThrow();
    expect(headers['webhook-id']).toBe(event.id);
    expect(event).toMatchObject({ type: 'contact.created', objectType: 'contact', objectId: made, dealId: null });
    expect(event.data).toEqual((await rest('GET', `/contacts/${made}`)).body);
    const { data } = await log(id);
    expect(data).toHaveLength(1);
    expect(data[0]).toMatchObject({
      eventId: event.id,
      state: 'delivered',
      attempts: 1,
      answer: { status: 204 },
      request: { url: `${origin}/in`, bytes: Buffer.byteLength(text) },
    });
    // What was sent of the contact is kept nowhere.
    const kept = await service.sql<{ text: string }>(`select d::text as text from webhook_deliveries d`);
    expect(JSON.stringify(kept)).not.toContain('Ada');
  });

  test('is signed with both secrets while one is renewed', async () => {
    const { id, secret } = await webhook();
    const { body } = await rest('POST', `/webhooks/${id}/rotate-secret`, { overlapSeconds: 3_600 });
    const { secret: renewed } = body as unknown as Made;
    await contact('Two');
    await deliver();
    const { headers, text } = received[0]!;
    for (const one of [secret, renewed]) expect(() => new Webhook(one).verify(text, headers)).not.toThrow();
    service.clock.advance(2 * hour);
    await contact('One');
    await deliver();
    const last = received.at(-1)!;
    expect(last.headers['webhook-signature']).not.toContain(' ');
    expect(service.clock.now().getTime() / 1000 - Number(last.headers['webhook-timestamp'])).toBeLessThan(60);
  });

  test('of types that were not chosen is not made', async () => {
    await webhook({ types: ['contact.archived'] });
    const id = await contact('Typed');
    await service.sql('update contacts set archived_at = app.now() where id = $1', [id]);
    await deliver();
    expect(received.map(({ event }) => [event.type, event.data])).toEqual([['contact.archived', null]]);
  });

  test('is made once by one of several nodes, whatever comes at once', async () => {
    await webhook();
    await service.sql(
      `insert into contacts (brokerage_id, type, display_name) select $1, 'person', 'P' || n from generate_series(1, 60) n`,
      [tenant.id],
    );
    await deliver();
    expect(new Set(received.map(({ event }) => event.id)).size).toBe(60);
    expect(received).toHaveLength(60);
  });
});

describe('a receiver that fails', () => {
  test('gets it again later, later changes of the same record behind it, and those of others meanwhile', async () => {
    const { id } = await webhook();
    const first = await contact('First');
    answering = ({ event }, response) => response.writeHead(event.objectId === first ? 500 : 200).end('told');
    await change(first, '1');
    await change(first, '2');
    await contact('Second');
    await deliver();
    expect(received.filter(({ event }) => event.objectId === first)).toHaveLength(1);
    expect(received).toHaveLength(2);
    const { data } = await log(id, '?state=waiting');
    expect(data).toHaveLength(3);
    const [tried] = data.filter(({ attempts }) => attempts > 0);
    expect(tried).toMatchObject({ attempts: 1, error: 'The answer was 500 and not 2xx.', answer: { body: 'told' } });
    answering = (_request, response) => response.writeHead(200).end();
    service.clock.advance(60_000);
    received.length = 0;
    await deliver();
    expect(received.map(({ event }) => event.type)).toEqual(['contact.created', 'contact.updated', 'contact.updated']);
    expect((await log(id, '?state=waiting')).data).toEqual([]);
  });

  test('half of the time gets everything in the end, each record in order', async () => {
    await webhook();
    let asked = 0;
    const taken: string[] = [];
    answering = ({ event }, response) => {
      asked += 1;
      if (asked % 2 === 0) return void response.writeHead(503).end();
      taken.push(event.id);
      response.writeHead(200).end();
    };
    const ids = await Promise.all(['A', 'B', 'C', 'D', 'E', 'F'].map(contact));
    for (const phone of ['1', '2']) for (const id of ids) await change(id, phone);
    for (let round = 0; round < 40 && taken.length < 18; round += 1) {
      await deliver();
      service.clock.advance(15 * 60_000);
    }
    const seqs = await service.sql<{ id: string; object_id: string }>(
      'select id, object_id from change_events order by seq',
    );
    for (const id of ids) {
      const right = seqs.filter(({ object_id }) => object_id === id).map((event) => event.id);
      expect(taken.filter((event) => right.includes(event))).toEqual(right);
    }
  });

  test('for three days is switched off with a mail to the admins, and goes on where it stopped when it is on again', async () => {
    const { id } = await webhook();
    answering = (_request, response) => response.writeHead(410).end();
    await contact('Lost');
    const mails = service.mails.length;
    for (let half = 0; half < 8; half += 1) {
      await deliver();
      service.clock.advance(12 * hour);
    }
    const off = (await rest('GET', `/webhooks/${id}`)).body as unknown as Made;
    expect([off.state, off.offReason]).toEqual(['off', 'failing']);
    expect((await log(id)).data[0]).toMatchObject({ state: 'failed' });
    await service.deliver();
    const mail = service.mails.slice(mails).find(({ subject }) => subject.includes('was switched off'));
    expect(mail?.text).toContain('127.0.0.1');

    received.length = 0;
    answering = (_request, response) => response.writeHead(200).end();
    const later = await contact('Later');
    await deliver();
    expect(received).toEqual([]);
    await rest('PATCH', `/webhooks/${id}`, { state: 'on' });
    await deliver();
    expect(received.map(({ event }) => event.objectId)).toEqual([later]);
    const [failed] = (await log(id, '?state=failed')).data;
    expect((await rest('POST', `/webhooks/${id}/deliveries/${failed!.id}/redeliver`)).status).toBe(202);
    await deliver();
    expect(received.at(-1)?.headers['webhook-id']).toBe(failed!.eventId);
  });

  test('is not followed elsewhere, and does not slow others', async () => {
    const dead = await webhook({ url: `${origin}/dead` });
    const moved = await webhook({ url: `${origin}/moved` });
    const well = await webhook({ url: `${origin}/well` });
    const hanging: http.ServerResponse[] = [];
    answering = ({ path }, response) => {
      if (path === '/dead') hanging.push(response);
      else if (path === '/moved') response.writeHead(302, { Location: `${origin}/elsewhere` }).end();
      else response.writeHead(200).end();
    };
    await service.sql(
      `insert into contacts (brokerage_id, type, display_name) select $1, 'person', 'P' || n from generate_series(1, 40) n`,
      [tenant.id],
    );
    await service.database.run(publishChanges());
    const delivering = deliver();
    await expect.poll(() => received.filter(({ path }) => path === '/well').length).toBe(40);
    expect(hanging.length).toBeGreaterThan(0);
    expect(hanging.length).toBeLessThanOrEqual(8);
    expect(received.some(({ path }) => path === '/elsewhere')).toBe(false);
    for (const response of hanging) response.destroy();
    answering = (_request, response) => response.destroy();
    await delivering;
    expect((await log(well.id, '?state=waiting')).data).toEqual([]);
    expect((await log(moved.id)).data.some(({ error }) => error?.includes('302'))).toBe(true);
    expect((await log(dead.id)).data.some(({ error }) => error?.includes('broke'))).toBe(true);
  });
});

const contacts = (count: number, of = tenant.id) =>
  service.sql(
    `insert into contacts (brokerage_id, type, display_name) select $1, 'person', 'P' || n from generate_series(1, $2::int) n`,
    [of, count],
  );

/** How many locks are waited for. */
const locksWaited = async () =>
  (
    await service.sql(
      `select from pg_locks l join pg_stat_activity a on a.pid = l.pid where a.datname = current_database() and not l.granted`,
    )
  ).length;

/** How an attempt ends that is taken. */
const taking = {
  outcome: 'delivered',
  url: 'x',
  bytes: 1,
  digest: '',
  status: 200,
  error: null,
  answer: '',
  answer_type: null,
  millis: 1,
} as const;

describe('a lot', () => {
  test('goes over a few connections, which are kept for the next', async () => {
    await webhook();
    let connections = 0;
    const count = () => void (connections += 1);
    receiver.on('connection', count);
    await contacts(120);
    await deliver();
    await contacts(60);
    await deliver();
    receiver.off('connection', count);
    expect(received).toHaveLength(180);
    // Four of each node, and as many again whenever the machine stood still for so long that they were closed.
    expect(connections).toBeLessThan(90);
  });

  test('is ended after five failures in a row, then one is tried at a time, ever later, until one is taken', async () => {
    await webhook();
    answering = (_request, response) => response.writeHead(500).end();
    await contacts(20);
    await deliver();
    // Up to three more were under way.
    expect(received.length).toBeGreaterThanOrEqual(5);
    expect(received.length).toBeLessThanOrEqual(8);
    received.length = 0;
    await deliver();
    expect(received).toEqual([]);
    for (const seconds of [60, 120]) {
      service.clock.advance(seconds * 1_000);
      await deliver();
      expect(received).toHaveLength(1);
      await deliver();
      expect(received).toHaveLength(1);
      received.length = 0;
    }
    answering = (_request, response) => response.writeHead(200).end();
    service.clock.advance(hour);
    await deliver();
    expect(received).toHaveLength(20);
  });

  test('of a change waits behind what an earlier lot could not send of the same record', async () => {
    await webhook();
    answering = (_request, response) => response.writeHead(500).end();
    const id = await contact('Late');
    await deliver();
    expect(received).toHaveLength(1);
    answering = (_request, response) => response.writeHead(200).end();
    await change(id, '1');
    await deliver();
    expect(received).toHaveLength(1);
    service.clock.advance(60_000);
    await deliver();
    expect(received.map(({ event }) => event.type)).toEqual(['contact.created', 'contact.created', 'contact.updated']);
  });

  test('that was taken by a node that died is sent by another when its minute is over', async () => {
    await webhook();
    await contacts(3);
    for (let nth = 0; nth < 2; nth += 1) await service.database.run(publishChanges());
    await service.sql(
      `update webhook_endpoints set claim = gen_random_uuid(), claimed_until = app.now() + interval '1 minute'`,
    );
    await deliver();
    expect(received).toEqual([]);
    service.clock.advance(61_000);
    await deliver();
    expect(received).toHaveLength(3);
  });

  test('of one brokerage leaves room to others, however many of its receivers hang', async () => {
    // Those that are not given up yet, which is after ten seconds.
    const hanging = new Set<http.ServerResponse>();
    let most = 0;
    for (let nth = 0; nth < 12; nth += 1) await webhook({ url: `${origin}/hangs` });
    const other = await brokerage(service);
    const by = as(await other.key({ scopes: ['contacts:read', 'webhooks:read', 'webhooks:write'] }), service.restUrl);
    await webhook({ url: `${origin}/other` }, by);
    answering = ({ path }, response) => {
      if (path !== '/hangs') return void response.writeHead(204).end();
      hanging.add(response.on('close', () => hanging.delete(response)));
      most = Math.max(most, hanging.size);
    };
    // By one node: two that take at the same moment may take a few more.
    const [node] = nodes;
    await contacts(5);
    await settle();
    const delivering = node!.deliverDue();
    await expect.poll(() => hanging.size, { timeout: 20_000 }).toBe(32);
    await contacts(60, other.id);
    await settle();
    const meanwhile = node!.deliverDue();
    await expect.poll(() => received.filter(({ path }) => path === '/other').length, { timeout: 20_000 }).toBe(60);
    // Eight webhooks of the brokerage, four at once to each.
    expect(most).toBe(32);
    answering = (_request, response) => response.writeHead(204).end();
    for (const response of hanging) response.writeHead(204).end();
    await Promise.all([delivering, meanwhile]);
  });

  test('goes on to the new address, signed with the new secret, once they are changed', async () => {
    const { id } = await webhook();
    await contacts(12);
    await settle();
    const held: http.ServerResponse[] = [];
    answering = (_request, response) => void held.push(response);
    const delivering = nodes[0]!.deliverDue();
    await expect.poll(() => held.length, { timeout: 20_000 }).toBe(4);
    expect((await rest('PATCH', `/webhooks/${id}`, { url: `${origin}/new` })).status).toBe(200);
    const { body } = await rest('POST', `/webhooks/${id}/rotate-secret`, { overlapSeconds: 0 });
    // Records, and with them the address, are looked at anew when they are a second old.
    await wait(1_100);
    answering = (_request, response) => response.writeHead(204).end();
    for (const response of held) response.writeHead(204).end();
    await delivering;
    expect(received.slice(0, 4).map(({ path }) => path)).toEqual(Array(4).fill('/in'));
    const later = received.slice(4);
    expect(later.map(({ path }) => path)).toEqual(Array(8).fill('/new'));
    const renewed = new Webhook((body as unknown as Made).secret);
    for (const { headers, text, event } of later) {
      const at = new Date(Number(headers['webhook-timestamp']) * 1_000);
      expect(headers['webhook-signature']).toBe(renewed.sign(event.id, at, text));
    }
    // What had been sent was noted.
    expect(new Set(received.map(({ event }) => event.id)).size).toBe(12);
    expect((await log(id)).data.map(({ state, attempts }) => `${state} ${attempts}`)).toEqual(
      Array(12).fill('delivered 1'),
    );
  });

  test('is noted in the order in which it went, also when that fails at first, so that nothing of it is sent twice', async () => {
    const { id } = await webhook();
    await contacts(3);
    await settle();
    const held: http.ServerResponse[] = [];
    answering = (_request, response) => void held.push(response);
    const blocking = new pg.Client(service.connections.owner);
    await blocking.connect();
    try {
      const delivering = nodes[0]!.deliverDue();
      await expect.poll(() => held.length, { timeout: 20_000 }).toBe(3);
      // What comes second cannot be noted the first two times: together with others, and alone.
      await service.sql('create sequence tried');
      await service.sql(`create function fails_twice() returns trigger language plpgsql as $$ begin
        if new.event_id = '${received[1]!.event.id}' and nextval('public.tried') <= 2 then raise exception 'disk full'; end if;
        return new;
      end $$`);
      await service.sql('grant usage on sequence tried to public');
      await service.sql(
        'create trigger fails_twice before update of attempts on webhook_deliveries for each row execute function fails_twice()',
      );
      // While the first is being noted, two more end one after the other.
      await blocking.query('begin');
      await blocking.query('select from webhook_endpoints where id = $1 for update', [id]);
      held[0]!.writeHead(204).end();
      await expect.poll(locksWaited, { timeout: 20_000 }).toBeGreaterThan(0);
      held[1]!.writeHead(204).end();
      await wait(300);
      held[2]!.writeHead(204).end();
      await wait(300);
      await blocking.query('commit');
      await delivering;
    } finally {
      await blocking.end();
      await service.sql('drop trigger if exists fails_twice on webhook_deliveries');
      await service.sql('drop function if exists fails_twice()');
      await service.sql('drop sequence if exists tried');
    }
    expect(received).toHaveLength(3);
    expect((await log(id)).data.map(({ state, attempts }) => `${state} ${attempts}`)).toEqual(
      Array(3).fill('delivered 1'),
    );
  });

  test('is noted part by part in the order given, among lots of other webhooks', async () => {
    for (let nth = 0; nth < 12; nth += 1) await webhook({ url: `${origin}/${nth}` });
    await contacts(1);
    await settle();
    for (let nth = 0; nth < 12; nth += 1) await service.sql('select app.queue_webhooks()');
    await service.sql(
      `update webhook_endpoints set claim = gen_random_uuid(), claimed_until = app.now() + interval '1 minute'`,
    );
    const taken = await service.sql<{ endpoint: string; claim: string; id: string }>(
      `select e.id as endpoint, e.claim, d.id from webhook_endpoints e join webhook_deliveries d on d.endpoint_id = e.id order by e.id`,
    );
    expect(taken).toHaveLength(12);
    const first = taken.map(({ id, ...one }) => ({ ...one, is_over: false, attempts: [{ ...taking, id, nth: 1 }] }));
    const last = taken.map(({ endpoint, claim }) => ({ endpoint, claim, is_over: true, attempts: [] }));
    await service.database.run(noteDeliveries([...first, ...last]));
    const [noted] = await service.sql(
      `select count(*) filter (where d.state = 'delivered')::int as delivered, count(e.claim)::int as claimed
       from webhook_endpoints e join webhook_deliveries d on d.endpoint_id = e.id`,
    );
    expect(noted).toEqual({ delivered: 12, claimed: 0 });
  });

  test('is not taken of a webhook that another node lets rest meanwhile', async () => {
    await webhook();
    await contacts(1);
    await settle();
    await service.sql('select app.queue_webhooks()');
    const other = new pg.Client(service.connections.owner);
    await other.connect();
    try {
      await other.query('begin');
      // It has been chosen, and then its key is looked at.
      await other.query('lock table api_keys in access exclusive mode');
      const claimed = service.sql('select id from app.claim_deliveries(1)');
      await expect.poll(locksWaited, { timeout: 20_000 }).toBeGreaterThan(0);
      await other.query(`update webhook_endpoints set rests_until = now() + interval '1 year', failures = 5`);
      await other.query('commit');
      expect(await claimed).toEqual([]);
    } finally {
      await other.end();
    }
  });

  describe('once it was taken', () => {
    let lot: ClaimedLot;
    let id: string;
    beforeEach(async () => {
      ({ id } = await webhook());
      await contacts(2);
      for (let nth = 0; nth < 2; nth += 1) await service.database.run(publishChanges());
      await service.sql('select app.queue_webhooks()');
      [lot] = (await service.database.run(claimDeliveries(1))) as [ClaimedLot];
    });
    const entered = (claimed = lot) => service.database.run(enterForDeliveries(claimed));

    test('enters with the key, while it has the lot, the webhook is on and the key is in force', async () => {
      expect(lot.deliveries).toHaveLength(2);
      expect(await entered()).toBe(true);
      expect(await entered({ ...lot, claim: randomUUID() })).toBe(false);
      expect(await entered({ ...lot, endpoint_id: randomUUID() })).toBe(false);
      for (const [undo, redo] of [
        [
          `update webhook_endpoints set state = 'off', off_reason = 'asked', off_since = now()`,
          `update webhook_endpoints set state = 'on', off_reason = null, off_since = null`,
        ],
        [
          'update api_keys set revoked_at = app.now() where id = $1',
          'update api_keys set revoked_at = null where id = $1',
        ],
        [
          'update webhook_endpoints set claimed_until = app.now()',
          `update webhook_endpoints set claimed_until = app.now() + interval '1 minute'`,
        ],
      ] as const) {
        const values = (statement: string) => (statement.includes('$1') ? [key.id] : []);
        await service.sql(undo, values(undo));
        expect([undo, await entered()]).toEqual([undo, false]);
        await service.sql(redo, values(redo));
        expect(await entered()).toBe(true);
      }
    });

    test('is over when the address or the secrets are no longer those that it was taken with, and not for other changes', async () => {
      const patched = async (body: Record<string, unknown>) =>
        expect((await rest('PATCH', `/webhooks/${id}`, body)).status).toBe(200);
      await patched({ description: 'CRM', types: ['contact.created'] });
      expect(await entered()).toBe(true);
      await patched({ url: `${origin}/new` });
      expect(await entered()).toBe(false);
      await patched({ url: lot.url });
      expect(await entered()).toBe(true);
      await rest('POST', `/webhooks/${id}/rotate-secret`, { overlapSeconds: 20 });
      expect(await entered()).toBe(false);
      // Taken again it has both, until the time of the first is over.
      await service.sql('update webhook_endpoints set claim = null, claimed_until = null');
      [lot] = (await service.database.run(claimDeliveries(1))) as [ClaimedLot];
      expect([lot.secret_ids.length, await entered()]).toEqual([2, true]);
      service.clock.advance(21_000);
      expect(await entered()).toBe(false);
    });

    test('is noted once, and not by whom another has followed', async () => {
      const failed = { ...taking, outcome: 'failed', status: 500, error: 'E' } as const;
      const attempts = [{ id: lot.deliveries[0]!.id, nth: 1, ...failed }];
      const note = (claim: string, is_over = false) =>
        service.database.run(noteDeliveries([{ endpoint: lot.endpoint_id, claim, is_over, attempts }]));
      const noted = async () =>
        (
          await service.sql(
            'select max(attempts)::int as tried, max(failures)::int as failures from webhook_deliveries, webhook_endpoints',
          )
        )[0];
      await note(randomUUID());
      expect(await noted()).toEqual({ tried: 0, failures: 0 });
      await note(lot.claim);
      await note(lot.claim, true);
      expect(await noted()).toEqual({ tried: 1, failures: 1 });
      await note(lot.claim);
      expect(await noted()).toEqual({ tried: 1, failures: 1 });
      // It is over: the other one is sent at once, the one that failed later.
      await deliver();
      expect(received).toHaveLength(1);
      service.clock.advance(60_000);
      await deliver();
      expect(received).toHaveLength(2);
      expect((await log(id)).data.map(({ attempts: tried }) => tried).toSorted()).toEqual([1, 2]);
    });
  });
});

describe('its rights', () => {
  test('are those of its key at the time of sending, and end with it', async () => {
    const narrow = await tenant.key({ scopes: ['webhooks:read', 'webhooks:write', 'contacts:read'] });
    const by = as(narrow, service.restUrl);
    const { id } = await webhook({}, by);
    const blind = as(await tenant.key({ scopes: ['webhooks:read', 'webhooks:write'] }), service.restUrl);
    const nothing = await webhook({ url: `${origin}/blind` }, blind);
    answering = (_request, response) => response.writeHead(500).end();
    await contact('Seen');
    await deliver();
    expect(received.map(({ path }) => path)).toEqual(['/in']);
    expect((await log(nothing.id, '', blind)).data).toEqual([]);

    received.length = 0;
    await service.sql(`update api_keys set scopes = '{webhooks:read,webhooks:write}' where id = $1`, [narrow.id]);
    service.clock.advance(60_000);
    await deliver();
    expect(received).toEqual([]);
    expect((await log(id, '', by)).data[0]).toMatchObject({ state: 'dropped' });

    await service.sql(`update api_keys set scopes = '{webhooks:read,webhooks:write,contacts:read}' where id = $1`, [
      narrow.id,
    ]);
    await contact('Told');
    await deliver();
    expect(received).toHaveLength(1);
    received.length = 0;
    await service.sql('update api_keys set revoked_at = app.now() where id = $1', [narrow.id]);
    await contact('Untold');
    service.clock.advance(60_000);
    await deliver();
    expect(received).toEqual([]);
  });

  test('are of no other key: it is seen, changed and read by its own alone', async () => {
    const { id } = await webhook();
    const other = as(await tenant.key({ scopes: ['webhooks:read', 'webhooks:write'] }), service.restUrl);
    for (const [method, path, body] of [
      ['GET', `/webhooks/${id}`, undefined],
      ['PATCH', `/webhooks/${id}`, { state: 'off' }],
      ['DELETE', `/webhooks/${id}`, undefined],
      ['POST', `/webhooks/${id}/rotate-secret`, {}],
      ['POST', `/webhooks/${id}/test`, undefined],
      ['POST', `/webhooks/${id}/redeliver`, { since: '2020-01-01T00:00:00Z', until: '2030-01-01T00:00:00Z' }],
      ['GET', '/webhooks/none', undefined],
      ['GET', `/webhooks/${id}/deliveries`, undefined],
      ['GET', `/webhooks/${randomUUID()}/deliveries`, undefined],
    ] as const) {
      const { status, body: answer } = await other(method, path, body);
      expect([method, path, status, answer?.error.code]).toEqual([method, path, 404, 'webhook_not_found']);
    }
    expect((await other('GET', '/webhooks')).body?.data).toEqual([]);
    const reader = as(await tenant.key({ scopes: ['webhooks:read'] }), service.restUrl);
    expect((await reader('POST', '/webhooks', { url: `${origin}/in` })).status).toBe(403);
    expect((await rest('GET', '/webhooks')).body?.data.map((one) => one.id)).toEqual([id]);
  });
});

describe('by the API', () => {
  test.each([
    [{ url: 'http://hooks.example.com/' }, 'url'],
    [{ url: 'https://10.0.0.1/' }, 'url'],
    [{ url: 'https://user:pass@hooks.example.com/' }, 'url'],
    [{ url: 'https://hooks.example.com/', types: ['contact.sold'] }, 'types.0'],
    [{ url: 'https://hooks.example.com/', types: [] }, 'types'],
    [{ url: 'https://hooks.example.com/', description: '' }, 'description'],
    [{}, 'url'],
  ])('%j is refused', async (body, path) => {
    const answer = await rest('POST', '/webhooks', body);
    expect([answer.status, answer.body?.error.details.faults[0]?.path]).toEqual([400, path]);
  });

  test('a secret is shown once, also to a repeated request, and is nowhere in clear with a key to seal it', async () => {
    const headers = { 'Idempotency-Key': 'hook' };
    const first = await rest('POST', '/webhooks', { url: `${origin}/in` }, headers);
    const again = await rest('POST', '/webhooks', { url: `${origin}/in` }, headers);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    const { id, secret } = first.body as unknown as Made;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect((await rest('GET', `/webhooks/${id}`)).text).not.toContain('whsec_');
    expect(await service.sql('select from webhook_endpoints')).toHaveLength(1);
  });

  test('is changed, tested, sent again for a time, and taken out with its log', async () => {
    const { id } = await webhook({ description: 'CRM', types: ['contact.created'] });
    const changed = await rest('PATCH', `/webhooks/${id}`, { description: null, types: null, url: `${origin}/new` });
    expect(changed.body).toMatchObject({ description: null, types: null, url: `${origin}/new`, state: 'on' });
    const since = service.clock.now().toISOString();
    expect((await rest('POST', `/webhooks/${id}/test`)).status).toBe(202);
    await contact('Again');
    await deliver();
    expect(received.map(({ path, event }) => [path, event.type])).toEqual(
      expect.arrayContaining([
        ['/new', 'webhook.test'],
        ['/new', 'contact.created'],
      ]),
    );
    service.clock.advance(1_000);
    const until = service.clock.now().toISOString();
    const sent = await rest('POST', `/webhooks/${id}/redeliver`, { since, until });
    expect([sent.status, sent.body]).toEqual([202, { deliveries: 2 }]);
    const none = await rest('POST', `/webhooks/${id}/redeliver`, { since, until, failedOnly: true });
    expect(none.body).toEqual({ deliveries: 0 });
    received.length = 0;
    await deliver();
    expect(received).toHaveLength(2);
    expect((await log(id)).data.map(({ isAgain }) => isAgain)).toEqual([true, true, false, false]);
    const { data, pagination } = await log(id, '?limit=3');
    expect(data).toHaveLength(3);
    expect((await log(id, `?limit=3&cursor=${pagination.nextCursor}`)).data).toHaveLength(1);
    const one = await rest('GET', `/webhooks/${id}/deliveries/${data[0]!.id}`);
    expect(one.body).toEqual(data[0]);
    expect((await rest('DELETE', `/webhooks/${id}`)).status).toBe(204);
    expect((await rest('GET', `/webhooks/${id}`)).status).toBe(404);
    expect(await service.sql('select from webhook_deliveries')).toEqual([]);
    expect(await service.sql('select from vault.webhook_secrets')).toEqual([]);
  });

  test('a key has 20 at most', async () => {
    for (let n = 0; n < 20; n += 1) await webhook({ url: `${origin}/${n}` });
    const { status, body } = await rest('POST', '/webhooks', { url: `${origin}/more` });
    expect([status, body?.error.code]).toEqual([409, 'conflict']);
    const [last] = await service.sql(
      `select outcome, details from audit_records where action = 'webhook.create' order by at desc, id desc limit 1`,
    );
    expect(last).toEqual({ outcome: 'refused', details: { status: 409, code: 'conflict' } });
  });
});

describe('what is bounded', () => {
  test('ten test events wait at most', async () => {
    const { id } = await webhook();
    for (let n = 0; n < 10; n += 1) expect((await rest('POST', `/webhooks/${id}/test`)).status).toBe(202);
    const { status, body } = await rest('POST', `/webhooks/${id}/test`);
    expect([status, body?.error.code]).toEqual([409, 'conflict']);
    // What waits is not sent again.
    const [waiting] = (await log(id, '?state=waiting')).data;
    expect((await rest('POST', `/webhooks/${id}/deliveries/${waiting!.id}/redeliver`)).status).toBe(404);
    await deliver();
    expect((await rest('POST', `/webhooks/${id}/test`)).status).toBe(202);
  });

  test('of 10,000 that wait no more are written until some are taken, neither of changes nor again', async () => {
    const { id } = await webhook();
    await contact('Taken');
    await deliver();
    const [taken] = (await log(id)).data;
    await service.sql(
      `insert into webhook_deliveries (endpoint_id, event_id, type, object_type, object_id, occurred_at, next_attempt_at)
       select $1, gen_random_uuid(), 'contact.updated', 'contact', gen_random_uuid(), app.now(), app.now() + interval '1 day'
       from generate_series(1, 10000)`,
      [id],
    );
    received.length = 0;
    const later = await contact('Later');
    await deliver();
    expect(received).toEqual([]);
    expect((await rest('POST', `/webhooks/${id}/deliveries/${taken!.id}/redeliver`)).status).toBe(409);
    await service.sql(
      `delete from webhook_deliveries where id in (select id from webhook_deliveries where state = 'waiting' limit 10)`,
    );
    await deliver();
    expect(received.map(({ event }) => event.objectId)).toEqual([later]);
    expect((await rest('POST', `/webhooks/${id}/deliveries/${taken!.id}/redeliver`)).status).toBe(202);
  });
});

test('goes on after a restore, in which numbers begin anew where the backup was made', async () => {
  await webhook();
  await service.sql('update webhook_endpoints set place = place + 1000000');
  await service.sql('update vault.change_stream set history = gen_random_uuid()');
  await deliver();
  const id = await contact('After a restore');
  await deliver();
  expect(received.map(({ event }) => event.objectId)).toEqual([id]);
});

describe('in the log', () => {
  test('deliveries of the same millisecond stand in the order in which they were written, on every page', async () => {
    const { id } = await webhook();
    await service.sql(
      `insert into contacts (brokerage_id, type, display_name) select $1, 'person', 'P' || n from generate_series(1, 30) n`,
      [tenant.id],
    );
    await deliver();
    const [{ times } = { times: 0 }] = await service.sql<{ times: number }>(
      'select count(distinct created_at)::int as times from webhook_deliveries',
    );
    expect(times).toBeLessThan(30);
    const told = await service.sql<{ id: string }>('select id from webhook_deliveries order by nr desc');
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

describe('in the settings', () => {
  /** Whether the library of the standard signs it alike: it verifies nothing of another day, to which these tests advance the clock. */
  const isSignedWith = (secret: string, { text, headers }: Received): boolean => {
    const at = new Date(Number(headers['webhook-timestamp']) * 1_000);
    const signature = new Webhook(secret).sign(String(headers['webhook-id']), at, text);
    return String(headers['webhook-signature']).split(' ').includes(signature);
  };
  let admin: SignedIn;
  let outsiders: SignedIn[];
  beforeAll(async () => {
    const [broker] = await service.sql<{ id: string }>(
      `with u as (insert into users (email, name) values ('broker@example.test', 'A broker') returning id)
       insert into members (brokerage_id, user_id, role) select $1, u.id, 'broker' from u returning user_id as id`,
      [tenant.id],
    );
    const other = await brokerage(service);
    outsiders = [await signInAs(service, broker!.id), await signInAs(service, other.admin)];
  });
  beforeEach(async () => {
    admin = await signInAs(service, tenant.admin);
  });
  const ours = () => admin.ask(`/brokerages/${tenant.id}/webhooks`);
  const add = (more: object = {}, by = admin) =>
    by.ask(`/keys/${key.id}/webhooks`, { url: `${origin}/settings`, types: null, ...more });

  test('an admin adds one for a key, sees those of all keys, and its deliveries verify with the secret shown once', async () => {
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
    const acts = await service.sql(
      `select user_id, details from audit_records where action = 'webhook.create' and subject_id = $1`,
      [body.webhook.id],
    );
    expect(acts).toEqual([{ user_id: tenant.admin, details: { key_id: key.id } }]);
  });

  test('an admin changes, tests, renews, switches off and on, sends again, and deletes', async () => {
    const { id } = (await add()).body.webhook;
    expect((await admin.ask(`/webhooks/${id}/test`, {})).status).toBe(202);
    await deliver();
    expect(received.map(({ event }) => event.type)).toEqual(['webhook.test']);
    const [first] = (await admin.ask(`/webhooks/${id}/deliveries?state=delivered`)).body.items;
    expect((await admin.ask(`/webhooks/${id}/deliveries/${first.id}/redeliver`, {})).status).toBe(202);
    service.clock.advance(1_000);
    const range = { since: '2020-01-01T00:00:00Z', until: service.clock.now().toISOString() };
    await deliver();
    expect((await admin.ask(`/webhooks/${id}/redeliver`, range)).body).toEqual({ deliveries: 1 });
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
    expect((await patch({ description: null, types: null, url: `${origin}/moved` })).body).toMatchObject({
      description: null,
      types: null,
      url: `${origin}/moved`,
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

  test('who is no admin of the brokerage sees nothing and can do nothing', async () => {
    const { id } = (await add()).body.webhook;
    const range = { since: '2020-01-01T00:00:00Z', until: '2030-01-01T00:00:00Z' };
    for (const outsider of outsiders) {
      for (const [path, body, method] of [
        [`/webhooks/${id}/deliveries`],
        [`/webhooks/${id}`, { state: 'off' }, 'PATCH'],
        [`/webhooks/${id}`, { url: `${origin}/mine` }, 'PATCH'],
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
      const { status, body } = await outsider.ask(`/brokerages/${tenant.id}/webhooks`);
      expect(status === 404 || body.items.length === 0).toBe(true);
    }
    expect((await ours()).body.items).toMatchObject([{ id, state: 'on', url: `${origin}/settings` }]);
  });

  test('what does not fit is refused at its field, and what leads elsewhere wants a sign-in of lately', async () => {
    for (const [given, path] of [
      [{ url: 'http://hooks.example.com/' }, 'url'],
      [{ types: [] }, 'types'],
      [{ types: ['deal.sold'] }, 'types.0'],
    ] as const)
      expect((await add(given)).body.error.details[0].path).toBe(path);
    const { id } = (await add()).body.webhook;
    await service.sql(`update vault.sessions set authenticated_at = app.now() - interval '1 hour'`);
    expect((await add()).status).toBe(403);
    const asked: [string, object, string][] = [
      [`/webhooks/${id}`, { url: `${origin}/elsewhere` }, 'PATCH'],
      [`/webhooks/${id}/rotate`, { overlap_seconds: 0 }, 'POST'],
    ];
    for (const [path, body, method] of asked) expect((await admin.ask(path, body, method)).status).toBe(403);
    expect((await admin.ask(`/webhooks/${id}`, { state: 'off' }, 'PATCH')).status).toBe(200);
  });

  test('the mail about one that was switched off leads to their page, also of a test key', async () => {
    const trial = await tenant.key({
      environment: 'test',
      scopes: ['contacts:read', 'contacts:write', 'webhooks:read', 'webhooks:write'],
    });
    await webhook({ url: `${origin}/trial` }, as(trial, service.restUrl));
    await as(trial, service.restUrl)('POST', '/contacts', { type: 'person', displayName: 'Tried out' });
    await add();
    answering = (_request, response) => response.writeHead(500).end();
    await contact('Never taken');
    const mails = service.mails.length;
    for (let half = 0; half < 8; half += 1) {
      await deliver();
      service.clock.advance(12 * hour);
    }
    await service.deliver();
    const told = service.mails.slice(mails).filter(({ subject }) => subject.includes('was switched off'));
    expect(told).toHaveLength(2);
    for (const { text } of told) expect(text).toContain(`${service.config.baseUrl}/settings/webhooks`);
    expect(told.filter(({ text }) => text?.includes('(sandbox)'))).toHaveLength(1);
    admin = await signInAs(service, tenant.admin);
    const off = { state: 'off', off_reason: 'failing' };
    expect((await ours()).body.items).toMatchObject([off, off]);
    const recorded = await service.sql(
      `select brokerage_id from audit_records where action = 'webhook.off' order by at desc limit 2`,
    );
    expect(recorded).toEqual([{ brokerage_id: tenant.id }, { brokerage_id: tenant.id }]);
  });
});

test('every answer to what manages webhooks is as the document says, and all that it announces is answered', async () => {
  const { sql, restUrl } = service;
  const { document, limited, away } = await prepareRefusals(service, tenant);
  const [nobody, none] = [as(null, restUrl), as(await tenant.key({ scopes: ['contacts:read'] }), restUrl)];
  const { id } = await webhook();
  await rest('POST', `/webhooks/${id}/test`);
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
    ['POST', '/webhooks', { url: `${origin}/in` }],
    ['GET', one],
    ['PATCH', one, { description: 'The CRM' }],
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
    const check = (answer: Awaited<ReturnType<typeof rest>>) => document.check(operation, answer);
    const announces = (status: number) => document.announced(template).includes(`${operation} ${status}`);
    for (const by of [nobody, none, limited, as(key, away)]) check(await by(method, path, body));
    if (announces(404)) check(await rest(method, filled('018cc251-0000-7000-8000-000000000000'), body));
    await each((table) => `alter table ${table} rename to ${table.split('.').at(-1)}_away`);
    const broken = await rest(method, path, body);
    await each((table) => `alter table ${table}_away rename to ${table.split('.').at(-1)}`);
    check(broken);
    if (method === 'GET') check(await rest(method, path, undefined, { 'If-None-Match': '*' }));
    else {
      await each(
        (table) =>
          `create trigger full_disk before insert or update or delete on ${table} execute function full_disk()`,
      );
      const unkept = await rest(method, path, body);
      await each((table) => `drop trigger full_disk on ${table}`);
      check(unkept);
    }
    if (body) {
      check(await rest(method, path, { more: 1 }));
      check(await rest(method, path, 'x'.repeat(1_100_000), { 'Content-Type': 'application/json' }));
      check(await rest(method, path, 'x', { 'Content-Type': 'text/plain' }));
    } else if (announces(400))
      check(await rest(method, method === 'GET' ? `${path}?limit=0` : path, undefined, { 'Idempotency-Key': 'a b' }));
    if (announces(409)) {
      // Twenty webhooks of a key, ten test events and ten thousand deliveries are the most that there may be.
      await sql(
        `insert into webhook_endpoints (brokerage_id, key_id, url, place, history)
         select brokerage_id, key_id, url, place, history from webhook_endpoints, generate_series(1, 20) where $1`,
        [template === '/webhooks'],
      );
      await sql(
        `insert into webhook_deliveries (endpoint_id, event_id, type, object_type, object_id, occurred_at)
         select $1, gen_random_uuid(), 'webhook.test', 'webhook', $1, now() from generate_series(1, 10000) where $2`,
        [id, template !== '/webhooks'],
      );
      check(await rest(method, path, body));
      await sql(`delete from webhook_deliveries where state = 'waiting'`);
      await sql('delete from webhook_endpoints where id <> $1', [id]);
    }
    check(await rest(method, path, body));
  }
  expect(document.checked('/webhooks')).toEqual(document.announced('/webhooks'));
});
