/**
 * Webhooks from a change to a real receiver: signed, in order per record, retried after a failure, finally switched
 * off, and with the rights of a key.
 */

import { randomUUID } from 'node:crypto';
import type http from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { erasePerson } from '../../server/domain/accounts/erasure.ts';
import { publishChanges } from '../../server/domain/events/changes.ts';
import {
  claimDeliveries,
  enterForDeliveries,
  noteDeliveries,
  queueWebhooks,
  type ClaimedBatch,
  type NotedBatch,
} from '../../server/domain/webhooks/deliveries.ts';
import { openAccount, signedInVisitor } from '../auth/scene.ts';
import { atOnce, locksWaited } from '../locks.ts';
import { connect } from '../policies/scene.ts';
import { tablesWith } from '../runtime/tables-with.ts';
import { as, brokerage } from './scene.ts';
import { hour, Webhook, webhookScene, type Made } from './webhook-scene.ts';

const scene = webhookScene();
const { received, webhook, contact, contacts, change, settle, deliver, log } = scene;

describe('a delivery', () => {
  test('has a signature that the Standard Webhooks library verifies, and the record as REST returns it', async () => {
    const { id, secret } = await webhook();
    const made = await contact('Ada');
    await deliver();
    expect(received).toHaveLength(1);
    const { headers, text, event } = received[0]!;
    expect(new Webhook(secret).verify(text, headers)).toEqual(event);
    expect(() => new Webhook(secret).verify(`${text} `, headers)).toThrow();
    expect(headers['webhook-id']).toBe(event.id);
    expect(event).toMatchObject({ type: 'contact.created', objectType: 'contact', objectId: made, dealId: null });
    expect(event.data).toEqual((await scene.rest('GET', `/contacts/${made}?expand=record`)).body);
    const { data } = await log(id);
    expect(data).toHaveLength(1);
    expect(data[0]).toMatchObject({
      eventId: event.id,
      state: 'delivered',
      attempts: 1,
      answer: { status: 204 },
      request: { url: `${scene.origin}/in`, bytes: Buffer.byteLength(text) },
    });
    // The data of the contact that was sent are stored nowhere.
    const kept = await scene.service.sql<{ text: string }>(`select d::text as text from webhook_deliveries d`);
    expect(JSON.stringify(kept)).not.toContain('Ada');
  });

  test('is signed with both secrets during the overlap of a rotation', async () => {
    const { id, secret } = await webhook();
    const { body } = await scene.rest('POST', `/webhooks/${id}/rotate-secret`, { overlapSeconds: 3_600 });
    const { secret: renewed } = body as unknown as Made;
    await contact('Two');
    await deliver();
    const { headers, text } = received[0]!;
    for (const one of [secret, renewed]) expect(() => new Webhook(one).verify(text, headers)).not.toThrow();
    scene.service.clock.advance(2 * hour);
    await contact('One');
    await deliver();
    const last = received.at(-1)!;
    expect(last.headers['webhook-signature']).not.toContain(' ');
    expect(scene.service.clock.now().getTime() / 1000 - Number(last.headers['webhook-timestamp'])).toBeLessThan(60);
  });

  test('is signed with each secret for the overlap of its own rotation, with five at most', async () => {
    const { id, secret } = await webhook();
    const secrets = [secret];
    const rotate = async (overlapSeconds: number) => {
      const { body } = await scene.rest('POST', `/webhooks/${id}/rotate-secret`, { overlapSeconds });
      secrets.push((body as unknown as Made).secret);
    };
    /** Which of the secrets, in the order in which they were made, verify the next delivery. */
    const signing = async () => {
      await contact('Signed');
      await deliver();
      const { headers, text, event } = received.at(-1)!;
      const at = new Date(Number(headers['webhook-timestamp']) * 1_000);
      const signatures = String(headers['webhook-signature']).split(' ');
      const found = secrets.flatMap((one, nth) =>
        signatures.includes(new Webhook(one).sign(event.id, at, text)) ? nth : [],
      );
      expect(signatures).toHaveLength(found.length);
      return found;
    };
    await rotate(7 * 86_400);
    scene.service.clock.advance(hour);
    await rotate(3_600);
    expect(await signing()).toEqual([0, 1, 2]);
    scene.service.clock.advance(2 * hour);
    expect(await signing()).toEqual([0, 2]);
    for (let nth = 0; nth < 4; nth += 1) {
      scene.service.clock.advance(1_000);
      await rotate(86_400);
    }
    expect(await signing()).toEqual([2, 3, 4, 5, 6]);
    await rotate(0);
    expect(await signing()).toEqual([7]);
  });

  test('is made only for the chosen event types', async () => {
    const made = await webhook({ types: ['contact.archived', 'contact.archived'] });
    expect((await scene.rest('GET', `/webhooks/${made.id}`)).body).toMatchObject({ types: ['contact.archived'] });
    const id = await contact('Typed');
    await scene.service.sql('update contacts set archived_at = app.now() where id = $1', [id]);
    await deliver();
    const { body: record } = await scene.rest('GET', `/contacts/${id}?archived=true&expand=record`);
    expect(received.map(({ event }) => [event.type, event.data])).toEqual([['contact.archived', record]]);
  });

  test('of each of 60 changes is made once across several nodes', async () => {
    await webhook();
    await contacts(60);
    await deliver();
    expect(new Set(received.map(({ event }) => event.id)).size).toBe(60);
    expect(received).toHaveLength(60);
  });

  test('is made once even if the response contains characters that PostgreSQL cannot store', async () => {
    const { id } = await webhook();
    // The limit on the stored part of a response cuts the last character in half.
    scene.answering = (_request, response) => response.writeHead(400).end(`a\0b${'x'.repeat(4092)}🙂`);
    await contact('Odd');
    await deliver();
    expect(received).toHaveLength(1);
    expect((await log(id)).data).toMatchObject([
      { state: 'waiting', attempts: 1, answer: { status: 400, body: `a\uFFFDb${'x'.repeat(4092)}\uFFFD` } },
    ]);
  });
});

describe('what a receiver answers', () => {
  test('is kept only of failures, and nothing of it is left of somebody who is erased', async () => {
    const { id } = await webhook();
    const account = await openAccount(scene.service, { email: 'zyxhook@people.example', name: 'Zyxhook Account' });
    const about = { type: 'person', displayName: 'Zyxhook Marker', email: account.email };
    const repeat = (status: number) => {
      scene.answering = ({ text }, response) => response.writeHead(status, { 'content-type': 'text/plain' }).end(text);
    };
    const bodies = async () => (await log(id)).data.map(({ answer }) => answer?.body);

    repeat(500);
    expect((await scene.rest('POST', '/contacts', about)).status).toBe(201);
    const other = await contact('Somebody Else');
    await deliver();
    expect(await bodies()).toEqual([
      expect.stringContaining('Somebody Else'),
      expect.stringContaining('Zyxhook Marker'),
    ]);
    const browser = await signedInVisitor(scene.service, account);
    expect((await browser.change('/api/auth/erase', { confirmation: account.email })).status).toBe(200);
    expect(await tablesWith(scene.service, ['zyxhook'])).toEqual([]);
    expect(await bodies()).toContainEqual(expect.stringContaining(`${other}`));

    repeat(200);
    scene.service.clock.advance(60_000);
    await deliver();
    const { data } = await log(id);
    expect(data.length).toBeGreaterThan(2);
    for (const { state, answer } of data)
      expect([state, answer]).toMatchObject(['delivered', { status: 200, contentType: 'text/plain', body: null }]);
  });
});

describe('a receiver that fails', () => {
  test('gets the event again before later changes of that record; other records are not delayed', async () => {
    const { id } = await webhook();
    const first = await contact('First');
    scene.answering = ({ event }, response) => response.writeHead(event.objectId === first ? 500 : 200).end('told');
    await change(first, '1');
    await change(first, '2');
    await contact('Second');
    await deliver();
    expect(received.filter(({ event }) => event.objectId === first)).toHaveLength(1);
    expect(received).toHaveLength(2);
    const { data } = await log(id, '?state=waiting');
    expect(data).toHaveLength(3);
    const [tried] = data.filter(({ attempts }) => attempts > 0);
    expect(tried).toMatchObject({ attempts: 1, error: 'The response was 500, not 2xx.', answer: { body: 'told' } });
    scene.answering = (_request, response) => response.writeHead(200).end();
    scene.service.clock.advance(60_000);
    received.length = 0;
    await deliver();
    expect(received.map(({ event }) => event.type)).toEqual(['contact.created', 'contact.updated', 'contact.updated']);
    expect((await log(id, '?state=waiting')).data).toEqual([]);
  });

  test('half of the time gets every event in the end, in order per record', async () => {
    await webhook();
    let asked = 0;
    const taken: string[] = [];
    scene.answering = ({ event }, response) => {
      asked += 1;
      if (asked % 2 === 0) return void response.writeHead(503).end();
      taken.push(event.id);
      response.writeHead(200).end();
    };
    const ids = await Promise.all(['A', 'B', 'C', 'D', 'E', 'F'].map(contact));
    for (const phone of ['1', '2']) for (const id of ids) await change(id, phone);
    for (let round = 0; round < 40 && taken.length < 18; round += 1) {
      await deliver();
      scene.service.clock.advance(15 * 60_000);
    }
    const seqs = await scene.service.sql<{ id: string; object_id: string }>(
      'select id, object_id from change_events order by seq',
    );
    for (const id of ids) {
      const right = seqs.filter(({ object_id }) => object_id === id).map((event) => event.id);
      expect(taken.filter((event) => right.includes(event))).toEqual(right);
    }
  });

  test('for three days has its webhook turned off with a mail to the admins, until it is turned on again', async () => {
    const { id } = await webhook();
    const other = await webhook({ url: `${scene.origin}/other` });
    scene.answering = (_request, response) => response.writeHead(410).end();
    await contact('Lost');
    const mails = scene.service.mails.length;
    for (let half = 0; half < 8; half += 1) {
      await deliver();
      scene.service.clock.advance(12 * hour);
    }
    const off = (await scene.rest('GET', `/webhooks/${id}`)).body as unknown as Made;
    expect([off.state, off.offReason]).toEqual(['off', 'failing']);
    expect((await log(id)).data[0]).toMatchObject({ state: 'failed' });
    // Of the other one, which is on again before the mail is sent, nobody is told.
    await scene.rest('PATCH', `/webhooks/${other.id}`, { state: 'on' });
    await scene.rest('DELETE', `/webhooks/${other.id}`);
    await scene.service.deliver();
    const told = scene.service.mails.slice(mails).filter(({ subject }) => subject.includes('was turned off'));
    expect(told).toHaveLength(1);
    expect(told[0]!.text).toContain('For three days, 127.0.0.1');

    received.length = 0;
    scene.answering = (_request, response) => response.writeHead(200).end();
    const later = await contact('Later');
    await deliver();
    expect(received).toEqual([]);
    await scene.rest('PATCH', `/webhooks/${id}`, { state: 'on' });
    await deliver();
    expect(received.map(({ event }) => event.objectId)).toEqual([later]);
    const [failed] = (await log(id, '?state=failed')).data;
    expect((await scene.rest('POST', `/webhooks/${id}/deliveries/${failed!.id}/redeliver`)).status).toBe(202);
    await deliver();
    expect(received.at(-1)?.headers['webhook-id']).toBe(failed!.eventId);
  });

  test('by refusing some records delays no others by more than ten minutes, and after the first by seconds', async () => {
    await webhook();
    scene.answering = ({ event }, response) =>
      response.writeHead(event.data?.displayName.startsWith('Refused') ? 422 : 204).end();
    for (let nth = 0; nth < 12; nth += 1) await contact(`Refused ${nth}`);
    for (let round = 0; round < 20; round += 1) {
      await deliver();
      scene.service.clock.advance(10 * 60_000);
    }
    /** How many minutes pass until a new contact is accepted. */
    const minutesOfNext = async () => {
      const id = await contact('Taken');
      for (let minutes = 0; minutes < 60; minutes += 1) {
        await deliver();
        if (received.some(({ event }) => event.objectId === id)) return minutes;
        scene.service.clock.advance(60_000);
      }
      return 60;
    };
    expect(await minutesOfNext()).toBeLessThanOrEqual(10);
    for (let nth = 0; nth < 3; nth += 1) {
      expect(await minutesOfNext()).toBeLessThanOrEqual(1);
      scene.service.clock.advance(10 * 60_000);
    }
  });

  test('for three days has its webhook turned off also while there is always something not yet tried', async () => {
    const { id } = await webhook();
    scene.answering = (_request, response) => response.writeHead(410).end();
    await contacts(60);
    const state = async () => ((await scene.rest('GET', `/webhooks/${id}`)).body as unknown as Made).state;
    for (let half = 0; half < 6; half += 1) {
      await deliver();
      scene.service.clock.advance(12 * hour);
    }
    expect(await state()).toBe('on');
    for (let quarter = 0; quarter < 10; quarter += 1) {
      await deliver();
      scene.service.clock.advance(6 * hour);
    }
    expect(await state()).toBe('off');
    expect((await log(id, '?state=failed')).data).toHaveLength(1);
    expect((await log(id, '?state=waiting')).data.some(({ attempts }) => attempts === 0)).toBe(true);
  });

  test.each([
    ['turned off and on', [{ state: 'off' }, { state: 'on' }]],
    ['given another address', [{ url: '/corrected' }]],
  ])('and is %s gets everything at once, and is retried with the first delay again', async (_, changes) => {
    const { id } = await webhook();
    scene.answering = (_request, response) => response.writeHead(500).end();
    const made = await contact('Waiting');
    for (let round = 0; round < 6; round += 1) {
      await deliver();
      scene.service.clock.advance(20 * 60_000);
    }
    received.length = 0;
    for (const { url, ...rest } of changes as { url?: string }[])
      await scene.rest('PATCH', `/webhooks/${id}`, { ...rest, ...(url && { url: scene.origin + url }) });
    await deliver();
    expect(received.map(({ event }) => event.objectId)).toEqual([made]);
    scene.answering = (_request, response) => response.writeHead(200).end();
    scene.service.clock.advance(7_000);
    await deliver();
    expect(received.map(({ event }) => event.objectId)).toEqual([made, made]);
  });

  test('gets failed deliveries as soon as another delivery succeeds', async () => {
    await webhook();
    scene.answering = (_request, response) => response.writeHead(500).end();
    const waiting = await contact('Waiting');
    for (const minutes of [120, 120, 120, 120, 120, 11]) {
      await deliver();
      scene.service.clock.advance(minutes * 60_000);
    }
    received.length = 0;
    await deliver();
    expect(received).toEqual([]);
    scene.answering = (_request, response) => response.writeHead(200).end();
    const next = await contact('Next');
    await deliver();
    expect(received.map(({ event }) => event.objectId)).toEqual([next, waiting]);
  });

  test('does not delay other webhooks, and its redirect is not followed', async () => {
    const dead = await webhook({ url: `${scene.origin}/dead` });
    const moved = await webhook({ url: `${scene.origin}/moved` });
    const well = await webhook({ url: `${scene.origin}/well` });
    const hanging: http.ServerResponse[] = [];
    scene.answering = ({ path }, response) => {
      if (path === '/dead') hanging.push(response);
      else if (path === '/moved') response.writeHead(302, { Location: `${scene.origin}/elsewhere` }).end();
      else response.writeHead(200).end();
    };
    await contacts(40);
    await scene.service.database.run(publishChanges());
    const delivering = deliver();
    await expect.poll(() => received.filter(({ path }) => path === '/well').length).toBe(40);
    // Otherwise a slow machine may send these only after every response has been broken off.
    await expect.poll(() => received.some(({ path }) => path === '/moved')).toBe(true);
    await expect.poll(() => hanging.length).toBeGreaterThan(0);
    expect(hanging.length).toBeLessThanOrEqual(8);
    expect(received.some(({ path }) => path === '/elsewhere')).toBe(false);
    for (const response of hanging) response.destroy();
    scene.answering = (_request, response) => response.destroy();
    await delivering;
    expect((await log(well.id, '?state=waiting')).data).toEqual([]);
    expect((await log(moved.id)).data.some(({ error }) => error?.includes('302'))).toBe(true);
    expect((await log(dead.id)).data.some(({ error }) => error?.includes('closed the connection'))).toBe(true);
  });
});

/** The result of a successful attempt. */
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

/** Fields with which no further deliveries are claimed. */
const none = { more: 0, held: [] } as const;

describe('a batch', () => {
  test('uses few connections, which are kept for the next batch', async () => {
    await webhook();
    let connections = 0;
    const count = () => void (connections += 1);
    scene.receiver.on('connection', count);
    await contacts(120);
    await deliver();
    await contacts(60);
    await deliver();
    scene.receiver.off('connection', count);
    expect(received).toHaveLength(180);
    // Four per node, and as many again each time that the machine paused for so long that they were closed.
    expect(connections).toBeLessThan(90);
  });

  test('ends after five failures in a row; then four are tried at a time, ever later, until one succeeds', async () => {
    await webhook();
    scene.answering = (_request, response) => response.writeHead(500).end();
    await contacts(20);
    await deliver();
    // Up to three more attempts were in progress.
    expect(received.length).toBeGreaterThanOrEqual(5);
    expect(received.length).toBeLessThanOrEqual(8);
    received.length = 0;
    await deliver();
    expect(received).toEqual([]);
    for (const seconds of [60, 120]) {
      scene.service.clock.advance(seconds * 1_000);
      await deliver();
      expect(received).toHaveLength(4);
      await deliver();
      expect(received).toHaveLength(4);
      received.length = 0;
    }
    scene.answering = (_request, response) => response.writeHead(200).end();
    scene.service.clock.advance(hour);
    await deliver();
    expect(received).toHaveLength(20);
  });

  test('holds back a change of a record until the failed delivery before it has succeeded', async () => {
    await webhook();
    scene.answering = (_request, response) => response.writeHead(500).end();
    const id = await contact('Late');
    await deliver();
    expect(received).toHaveLength(1);
    scene.answering = (_request, response) => response.writeHead(200).end();
    await change(id, '1');
    await deliver();
    expect(received).toHaveLength(1);
    scene.service.clock.advance(60_000);
    await deliver();
    expect(received.map(({ event }) => event.type)).toEqual(['contact.created', 'contact.created', 'contact.updated']);
  });

  test('claimed by a node that died is sent by another node after a minute', async () => {
    await webhook();
    await contacts(3);
    for (let nth = 0; nth < 2; nth += 1) await scene.service.database.run(publishChanges());
    await scene.service.sql(
      `update webhook_endpoints set claim = gen_random_uuid(), claimed_until = app.now() + interval '1 minute'`,
    );
    await deliver();
    expect(received).toEqual([]);
    scene.service.clock.advance(61_000);
    await deliver();
    expect(received).toHaveLength(3);
  });

  test('of one brokerage leaves capacity to others, however many of its receivers hang', async () => {
    // A receiver that does not respond is given up after ten seconds: here after ten minutes, because a busy machine
    // takes longer for the others.
    const later = globalThis.setTimeout;
    const patiently = (work: (...given: unknown[]) => void, millis = 0, ...given: unknown[]) =>
      later(work, millis === 10_000 ? 600_000 : millis, ...given);
    globalThis.setTimeout = Object.assign(patiently, later);
    onTestFinished(() => void (globalThis.setTimeout = later));
    const hanging = new Set<http.ServerResponse>();
    let most = 0;
    for (let nth = 0; nth < 12; nth += 1) await webhook({ url: `${scene.origin}/hangs` });
    const other = await brokerage(scene.service);
    const by = as(
      await other.key({ scopes: ['contacts:read', 'webhooks:read', 'webhooks:write'] }),
      scene.service.restUrl,
    );
    await webhook({ url: `${scene.origin}/other` }, by);
    scene.answering = ({ path }, response) => {
      if (path !== '/hangs') return void response.writeHead(204).end();
      hanging.add(response.on('close', () => hanging.delete(response)));
      most = Math.max(most, hanging.size);
    };
    // Only one node delivers: two that claim at the same time may claim a few more.
    const [node] = scene.nodes;
    await contacts(5);
    await settle();
    const delivering = node!.deliverDue();
    await expect.poll(() => hanging.size).toBe(32);
    await contacts(60, other.id);
    await settle();
    const meanwhile = node!.deliverDue();
    await expect.poll(() => received.filter(({ path }) => path === '/other').length).toBe(60);
    // Eight webhooks of the brokerage, with four concurrent requests to each.
    expect(most).toBe(32);
    scene.answering = (_request, response) => response.writeHead(204).end();
    for (const response of hanging) response.writeHead(204).end();
    await Promise.all([delivering, meanwhile]);
  });

  test('continues with the new address and the new secret once they are changed', async () => {
    const { id } = await webhook();
    await contacts(12);
    await settle();
    const held: http.ServerResponse[] = [];
    scene.answering = (_request, response) => void held.push(response);
    const delivering = scene.nodes[0]!.deliverDue();
    await expect.poll(() => held.length).toBe(4);
    expect((await scene.rest('PATCH', `/webhooks/${id}`, { url: `${scene.origin}/new` })).status).toBe(200);
    const { body } = await scene.rest('POST', `/webhooks/${id}/rotate-secret`, { overlapSeconds: 0 });
    // Records, and the URL with them, are read again once they are a second old.
    await wait(1_100);
    scene.answering = (_request, response) => response.writeHead(204).end();
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
    // The deliveries sent before the change were recorded.
    expect(new Set(received.map(({ event }) => event.id)).size).toBe(12);
    expect((await log(id)).data.map(({ state, attempts }) => `${state} ${attempts}`)).toEqual(
      Array(12).fill('delivered 1'),
    );
  });

  test('is recorded in order, even if that fails at first, so that nothing is sent twice', async () => {
    const { id } = await webhook();
    await contacts(3);
    await settle();
    const held: http.ServerResponse[] = [];
    scene.answering = (_request, response) => void held.push(response);
    const blocking = new pg.Client(scene.service.connections.owner);
    await blocking.connect();
    try {
      const delivering = scene.nodes[0]!.deliverDue();
      await expect.poll(() => held.length).toBe(3);
      // Recording the second delivery fails twice: together with others, and alone.
      await scene.service.sql('create sequence tried');
      await scene.service.sql(`create function fails_twice() returns trigger language plpgsql as $$ begin
        if new.event_id = '${received[1]!.event.id}' and nextval('public.tried') <= 2 then raise exception 'disk full'; end if;
        return new;
      end $$`);
      await scene.service.sql('grant usage on sequence tried to public');
      await scene.service.sql(
        'create trigger fails_twice before update of attempts on webhook_deliveries for each row execute function fails_twice()',
      );
      // While the first is being recorded, two more end one after the other.
      await blocking.query('begin');
      await blocking.query('select from webhook_endpoints where id = $1 for update', [id]);
      held[0]!.writeHead(204).end();
      await expect.poll(() => locksWaited(scene.service)).toBeGreaterThan(0);
      held[1]!.writeHead(204).end();
      await wait(300);
      held[2]!.writeHead(204).end();
      await wait(300);
      await blocking.query('commit');
      await delivering;
    } finally {
      await blocking.end();
      await scene.service.sql('drop trigger if exists fails_twice on webhook_deliveries');
      await scene.service.sql('drop function if exists fails_twice()');
      await scene.service.sql('drop sequence if exists tried');
    }
    expect(received).toHaveLength(3);
    expect((await log(id)).data.map(({ state, attempts }) => `${state} ${attempts}`)).toEqual(
      Array(3).fill('delivered 1'),
    );
  });

  test('continues past failures, as long as other deliveries succeed in between', async () => {
    const { id } = await webhook();
    await contacts(30);
    await settle();
    const held: http.ServerResponse[] = [];
    scene.answering = (_request, response) => void held.push(response);
    const blocking = await connect(scene.service.connections.owner);
    try {
      const delivering = scene.nodes[0]!.deliverDue();
      await expect.poll(() => held.length).toBe(4);
      // Nothing can be recorded until the end, so everything that is sent meanwhile belongs to one batch.
      await blocking.query('begin');
      await blocking.query('select from webhook_endpoints where id = $1 for update', [id]);
      let answered = 0;
      const answer = (response: http.ServerResponse) => {
        answered += 1;
        response.writeHead(answered % 3 === 0 ? 500 : 204).end();
      };
      scene.answering = (_request, response) => answer(response);
      for (const response of held) answer(response);
      await expect.poll(() => received.length).toBe(30);
      await blocking.query('commit');
      await delivering;
    } finally {
      await blocking.end();
    }
    expect(received).toHaveLength(30);
    const states = (await log(id)).data.map(({ state }) => state);
    expect(states.filter((state) => state === 'delivered')).toHaveLength(20);
  });

  test('that repeatedly fails to be recorded ends, and is sent again', async () => {
    const { id } = await webhook();
    await contacts(60);
    await settle();
    const held: http.ServerResponse[] = [];
    scene.answering = (_request, response) => void held.push(response);
    const failed = () => scene.service.log.filter((line) => line.includes('recording deliveries of webhooks failed'));
    const before = failed().length;
    const blocking = await connect(scene.service.connections.owner);
    try {
      const delivering = scene.nodes[0]!.deliverDue();
      await expect.poll(() => held.length).toBe(4);
      // Only the first delivery can be recorded. While that waits, all others end, and recording them would also claim
      // more.
      await scene.service.sql(`create function fails() returns trigger language plpgsql as $$ begin
        if new.event_id <> '${received[0]!.event.id}' then raise exception 'disk full'; end if;
        return new;
      end $$`);
      await scene.service.sql(
        'create trigger fails before update of attempts on webhook_deliveries for each row execute function fails()',
      );
      await blocking.query('begin');
      await blocking.query('select from webhook_endpoints where id = $1 for update', [id]);
      held[0]!.writeHead(204).end();
      await expect.poll(() => locksWaited(scene.service)).toBeGreaterThan(0);
      scene.answering = (_request, response) => response.writeHead(204).end();
      for (const response of held.slice(1)) response.writeHead(204).end();
      await expect.poll(() => received.length).toBe(50);
      await blocking.query('commit');
      await expect.poll(() => failed().length).toBeGreaterThan(before);
      await scene.service.sql('drop trigger fails on webhook_deliveries');
      await delivering;
    } finally {
      await blocking.end();
      await scene.service.sql('drop trigger if exists fails on webhook_deliveries');
      await scene.service.sql('drop function if exists fails()');
    }
    expect(new Set(received.map(({ event }) => event.id)).size).toBe(60);
    expect((await log(id, '?state=waiting')).data).toEqual([]);
  });

  test('is recorded part by part in the order given, among batches of other webhooks', async () => {
    for (let nth = 0; nth < 12; nth += 1) await webhook({ url: `${scene.origin}/${nth}` });
    await contacts(1);
    await settle();
    await scene.queue();
    await scene.service.sql(
      `update webhook_endpoints set claim = gen_random_uuid(), claimed_until = app.now() + interval '1 minute'`,
    );
    const taken = await scene.service.sql<{ endpoint: string; claim: string; id: string }>(
      `select e.id as endpoint, e.claim, d.id from webhook_endpoints e join webhook_deliveries d on d.endpoint_id = e.id order by e.id`,
    );
    expect(taken).toHaveLength(12);
    const first = taken.map(({ id, ...one }) => ({
      ...one,
      ...none,
      is_over: false,
      attempts: [{ ...taking, id, nth: 1 }],
    }));
    const last = taken.map(({ endpoint, claim }) => ({ endpoint, claim, ...none, is_over: true, attempts: [] }));
    await scene.service.database.run(noteDeliveries([...first, ...last]));
    const [noted] = await scene.service.sql(
      `select count(*) filter (where d.state = 'delivered')::int as delivered, count(e.claim)::int as claimed
       from webhook_endpoints e join webhook_deliveries d on d.endpoint_id = e.id`,
    );
    expect(noted).toEqual({ delivered: 12, claimed: 0 });
  });

  test('claimed for several webhooks is recorded for each separately, so that nothing is sent twice', async () => {
    const made = [];
    for (let nth = 0; nth < 3; nth += 1) made.push(await webhook({ url: `${scene.origin}/${nth}` }));
    await contacts(1);
    await settle();
    await scene.queue();
    const held: http.ServerResponse[] = [];
    scene.answering = (_request, response) => void held.push(response);
    const blocking = new pg.Client(scene.service.connections.owner);
    await blocking.connect();
    try {
      const delivering = scene.nodes[0]!.deliverDue();
      await expect.poll(() => held.length).toBe(3);
      const claims = await scene.service.sql('select distinct claim from webhook_endpoints');
      expect(claims).toHaveLength(1);
      // While the first is being recorded, the two others end.
      await blocking.query('begin');
      await blocking.query('select from webhook_endpoints for update');
      held[0]!.writeHead(204).end();
      await expect.poll(() => locksWaited(scene.service)).toBeGreaterThan(0);
      for (const response of held.slice(1)) response.writeHead(204).end();
      await wait(300);
      await blocking.query('commit');
      await delivering;
    } finally {
      await blocking.end();
    }
    for (const { id } of made) expect((await log(id)).data).toMatchObject([{ state: 'delivered', attempts: 1 }]);
    scene.answering = (_request, response) => response.writeHead(204).end();
    scene.service.clock.advance(61_000);
    await deliver();
    expect(received).toHaveLength(3);
  });

  test('claims more while a delivery is in progress, but no later change of the same record', async () => {
    const { id } = await webhook();
    const slow = await contact('Slow');
    await change(slow, '1');
    await contacts(60);
    const held: http.ServerResponse[] = [];
    scene.answering = ({ event }, response) => {
      if (event.objectId === slow && held.length === 0) held.push(response);
      else response.writeHead(204).end();
    };
    await settle();
    const delivering = scene.nodes[0]!.deliverDue();
    await expect.poll(() => received.length).toBe(61);
    expect(received.filter(({ event }) => event.objectId === slow)).toHaveLength(1);
    held[0]!.writeHead(204).end();
    await delivering;
    const types = received.filter(({ event }) => event.objectId === slow).map(({ event }) => event.type);
    expect(types).toEqual(['contact.created', 'contact.updated']);
    expect(received).toHaveLength(62);
    const { data } = await log(id, '?limit=100');
    expect(data.map(({ state, attempts }) => `${state} ${attempts}`)).toEqual(Array(62).fill('delivered 1'));
  });

  test('of new changes is queued once the lock on the webhook is released', async () => {
    const { id } = await webhook();
    await contacts(1);
    await settle();
    const other = new pg.Client(scene.service.connections.owner);
    await other.connect();
    try {
      await other.query('begin');
      await other.query('select from webhook_endpoints where id = $1 for update', [id]);
      // That the webhook has changes is recorded without waiting for the lock.
      expect(await scene.service.database.run(queueWebhooks())).toBe(true);
      const queued = scene.service.database.run(queueWebhooks());
      await expect.poll(() => locksWaited(scene.service)).toBeGreaterThan(0);
      await other.query('commit');
      await queued;
    } finally {
      await other.end();
    }
    await scene.queue();
    expect((await log(id)).data).toMatchObject([{ state: 'waiting' }]);
  });

  test('is sent to other webhooks while the only webhook with new changes is locked', async () => {
    const other = await brokerage(scene.service);
    const by = as(
      await other.key({ scopes: ['contacts:read', 'webhooks:read', 'webhooks:write'] }),
      scene.service.restUrl,
    );
    await webhook({ url: `${scene.origin}/other` }, by);
    scene.answering = (_request, response) => response.writeHead(500).end();
    await contacts(1, other.id);
    await deliver();
    const { id } = await webhook();
    await contacts(1);
    await settle();
    scene.service.clock.advance(60_000);
    scene.answering = (_request, response) => response.writeHead(204).end();
    const holder = new pg.Client(scene.service.connections.owner);
    await holder.connect();
    try {
      await holder.query('begin');
      await holder.query('select from webhook_endpoints where id = $1 for update', [id]);
      await scene.nodes[0]!.deliverDue();
      expect(received.map(({ path }) => path)).toEqual(['/other', '/other']);
    } finally {
      await holder.end();
    }
    await scene.nodes[0]!.deliverDue();
    expect(received.map(({ path }) => path)).toEqual(['/other', '/other', '/in']);
  });

  test('is not claimed for a webhook that another node pauses concurrently', async () => {
    await webhook();
    await contacts(1);
    await settle();
    await scene.queue();
    const other = new pg.Client(scene.service.connections.owner);
    await other.connect();
    try {
      await other.query('begin');
      // The webhook has been chosen; its key is read next.
      await other.query('lock table api_keys in access exclusive mode');
      const claimed = scene.service.sql('select id from app.claim_deliveries(1)');
      await expect.poll(() => locksWaited(scene.service)).toBeGreaterThan(0);
      await other.query(`update webhook_endpoints set rests_until = now() + interval '1 year', failures = 5`);
      await other.query('commit');
      expect(await claimed).toEqual([]);
    } finally {
      await other.end();
    }
  });

  describe('once claimed', () => {
    let batch: ClaimedBatch;
    let id: string;
    beforeEach(async () => {
      ({ id } = await webhook());
      await contacts(2);
      await settle();
      await scene.queue();
      [batch] = (await scene.service.database.run(claimDeliveries(1))) as [ClaimedBatch];
    });
    const entered = (claimed = batch) => scene.service.database.run(enterForDeliveries(claimed));

    test('is sent with the key only while it is claimed, the webhook is on and the key is in force', async () => {
      expect(batch.deliveries).toHaveLength(2);
      expect(await entered()).toBe(true);
      expect(await entered({ ...batch, claim: randomUUID() })).toBe(false);
      expect(await entered({ ...batch, endpoint_id: randomUUID() })).toBe(false);
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
        const values = (statement: string) => (statement.includes('$1') ? [scene.key.id] : []);
        await scene.service.sql(undo, values(undo));
        expect([undo, await entered()]).toEqual([undo, false]);
        await scene.service.sql(redo, values(redo));
        expect(await entered()).toBe(true);
      }
    });

    test('ends when the address or the secrets have changed, and not for other changes', async () => {
      const patched = async (body: Record<string, unknown>) =>
        expect((await scene.rest('PATCH', `/webhooks/${id}`, body)).status).toBe(200);
      await patched({ description: 'CRM', types: ['contact.created'] });
      expect(await entered()).toBe(true);
      await patched({ url: `${scene.origin}/new` });
      expect(await entered()).toBe(false);
      await patched({ url: batch.url });
      expect(await entered()).toBe(true);
      await scene.rest('POST', `/webhooks/${id}/rotate-secret`, { overlapSeconds: 20 });
      expect(await entered()).toBe(false);
      // Claimed again, the batch has both secrets, until the first expires.
      await scene.service.sql('update webhook_endpoints set claim = null, claimed_until = null, send_at = app.now()');
      [batch] = (await scene.service.database.run(claimDeliveries(1))) as [ClaimedBatch];
      expect([batch.secret_ids.length, await entered()]).toEqual([2, true]);
      scene.service.clock.advance(21_000);
      expect(await entered()).toBe(false);
    });

    test('claims more while recording, unless the webhook fails or is off, or its claim or key has ended', async () => {
      await contacts(3);
      await settle();
      await scene.queue();
      const [first, second] = batch.deliveries.map((one) => one.id) as [string, string];
      const more = async (part: Partial<NotedBatch>) => {
        const noted = {
          endpoint: id,
          claim: batch.claim,
          is_over: false,
          more: 50,
          held: [second],
          attempts: [],
          ...part,
        };
        const taken = await scene.service.database.run(noteDeliveries([noted]));
        return (taken.get(id) ?? []).map((one) => one.id);
      };
      const delivered = await more({ attempts: [{ ...taking, id: first, nth: 1 }] });
      expect(delivered).toHaveLength(3);
      expect(delivered).not.toContain(first);
      expect(delivered).not.toContain(second);
      expect(await more({ more: 2 })).toEqual(delivered.slice(0, 2));
      expect(await more({ more: 0, held: [] })).toEqual([]);
      expect(await more({ claim: randomUUID() })).toEqual([]);
      for (const statement of [
        `update webhook_endpoints set state = 'off', off_reason = 'asked', off_since = app.now()`,
        `update webhook_endpoints set state = 'on', off_reason = null, off_since = null, failures = 5`,
      ]) {
        await scene.service.sql(statement);
        expect([statement, await more({})]).toEqual([statement, []]);
      }
      await scene.service.sql('update webhook_endpoints set failures = 0');
      expect(await more({})).toEqual(delivered);
      await scene.service.sql('update api_keys set revoked_at = app.now() where id = $1', [scene.key.id]);
      expect(await more({})).toEqual([]);
      await scene.service.sql('update api_keys set revoked_at = null where id = $1', [scene.key.id]);
      expect(await more({ is_over: true })).toEqual([]);
    });

    test('turns its webhook off during the erasure of the admin who added it, who gets no mail', async () => {
      const { service, tenant } = scene;
      const [other] = await service.sql<{ id: string }>(
        `with u as (insert into users (email, name) values ('gone@example.test', 'Gone') returning id)
         insert into members (brokerage_id, user_id, role) select $1, u.id, 'admin' from u returning user_id as id`,
        [tenant.id],
      );
      const delivery = batch.deliveries[0]!.id;
      await service.sql('update webhook_endpoints set created_by = $1', [other!.id]);
      await service.sql(
        `update webhook_deliveries set first_attempt_at = app.now() - interval '4 days', attempts = 7 where id = $1`,
        [delivery],
      );
      await service.sql('delete from vault.outbox');
      const attempts = [{ ...taking, id: delivery, nth: 8, outcome: 'failed', status: 500, error: 'E' } as const];
      const eraser = await connect(service.connections.owner);
      try {
        await atOnce(
          service,
          ['webhook_deliveries', 'id', delivery],
          () =>
            service.database.run(
              noteDeliveries([{ endpoint: id, claim: batch.claim, ...none, is_over: true, attempts }]),
            ),
          () => erasePerson(eraser, other!.id, async () => {}),
        );
      } finally {
        await eraser.end();
      }
      expect(await service.sql('select off_reason from webhook_endpoints')).toEqual([{ off_reason: 'failing' }]);
      expect(await service.sql('select kind, recipient_id from vault.outbox')).toEqual([
        { kind: 'webhook_off', recipient_id: tenant.admin },
      ]);
    });

    test('is recorded once, and only by the holder of its claim', async () => {
      const failed = { ...taking, outcome: 'failed', status: 500, error: 'E' } as const;
      const attempts = [{ id: batch.deliveries[0]!.id, nth: 1, ...failed }];
      const note = (claim: string, is_over = false) =>
        scene.service.database.run(
          noteDeliveries([{ endpoint: batch.endpoint_id, claim, ...none, is_over, attempts }]),
        );
      const noted = async () =>
        (
          await scene.service.sql(
            'select max(attempts)::int as tried, max(failures)::int as failures from webhook_deliveries, webhook_endpoints',
          )
        )[0];
      await note(randomUUID());
      expect(await noted()).toEqual({ tried: 0, failures: 0 });
      await note(batch.claim);
      await note(batch.claim, true);
      expect(await noted()).toEqual({ tried: 1, failures: 1 });
      await note(batch.claim);
      expect(await noted()).toEqual({ tried: 1, failures: 1 });
      // The claim has ended: the other delivery is sent at once, the failed one later.
      await deliver();
      expect(received).toHaveLength(1);
      scene.service.clock.advance(60_000);
      await deliver();
      expect(received).toHaveLength(2);
      expect((await log(id)).data.map(({ attempts: tried }) => tried).toSorted()).toEqual([1, 2]);
    });
  });
});

describe('the rights of a webhook', () => {
  test('are those of its key at the time of sending, and end with the key', async () => {
    const narrow = await scene.tenant.key({ scopes: ['webhooks:read', 'webhooks:write', 'contacts:read'] });
    const by = as(narrow, scene.service.restUrl);
    const { id } = await webhook({}, by);
    const blind = as(await scene.tenant.key({ scopes: ['webhooks:read', 'webhooks:write'] }), scene.service.restUrl);
    const nothing = await webhook({ url: `${scene.origin}/blind` }, blind);
    scene.answering = (_request, response) => response.writeHead(500).end();
    await contact('Seen');
    await deliver();
    expect(received.map(({ path }) => path)).toEqual(['/in']);
    expect((await log(nothing.id, '', blind)).data).toEqual([]);

    received.length = 0;
    await scene.service.sql(`update api_keys set scopes = '{webhooks:read,webhooks:write}' where id = $1`, [narrow.id]);
    scene.service.clock.advance(60_000);
    await deliver();
    expect(received).toEqual([]);
    expect((await log(id, '', by)).data[0]).toMatchObject({ state: 'dropped' });

    await scene.service.sql(
      `update api_keys set scopes = '{webhooks:read,webhooks:write,contacts:read}' where id = $1`,
      [narrow.id],
    );
    await contact('Told');
    await deliver();
    expect(received).toHaveLength(1);
    received.length = 0;
    await scene.service.sql('update api_keys set revoked_at = app.now() where id = $1', [narrow.id]);
    await contact('Untold');
    scene.service.clock.advance(60_000);
    await deliver();
    expect(received).toEqual([]);
  });

  test('require both webhook scopes for a change, and rejected requests change nothing', async () => {
    const narrow = await scene.tenant.key({ scopes: ['webhooks:read', 'webhooks:write'] });
    const { body: made } = await as(narrow, scene.service.restUrl)('POST', '/webhooks', { url: `${scene.origin}/own` });
    const state = () =>
      scene.service.sql(
        `select (select jsonb_agg(e order by e.id) from webhook_endpoints e) as webhooks, (select jsonb_agg(s.id order by s.id) from vault.webhook_secrets s) as secrets,
           (select count(*) from webhook_deliveries) as deliveries`,
      );
    const before = await state();
    for (const [has, lacks] of [
      ['webhooks:write', 'webhooks:read'],
      ['webhooks:read', 'webhooks:write'],
    ] as const) {
      await scene.service.sql('update api_keys set scopes = $2 where id = $1', [narrow.id, [has]]);
      for (const [method, path, body] of [
        ['POST', '/webhooks', { url: `${scene.origin}/another` }],
        ['PATCH', `/webhooks/${made!.id}`, { url: `${scene.origin}/elsewhere` }],
        ['POST', `/webhooks/${made!.id}/rotate-secret`, {}],
        ['POST', `/webhooks/${made!.id}/test`, undefined],
        ['DELETE', `/webhooks/${made!.id}`, undefined],
      ] as const) {
        const refused = await as(narrow, scene.service.restUrl)(method, path, body);
        expect([method, path, refused.status, refused.body?.error.details['required_scope']]).toEqual([
          method,
          path,
          403,
          lacks,
        ]);
        expect(await state()).toEqual(before);
      }
    }
  });

  test('belong to its own key: other keys cannot see, change or read it', async () => {
    const { id } = await webhook();
    const other = as(await scene.tenant.key({ scopes: ['webhooks:read', 'webhooks:write'] }), scene.service.restUrl);
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
    const reader = as(await scene.tenant.key({ scopes: ['webhooks:read'] }), scene.service.restUrl);
    expect((await reader('POST', '/webhooks', { url: `${scene.origin}/in` })).status).toBe(403);
    expect((await scene.rest('GET', '/webhooks')).body?.data.map((one) => one.id)).toEqual([id]);
  });
});

test('deliveries continue after a restore, whose sequence numbers start again at the backup', async () => {
  await webhook();
  await scene.service.sql('update webhook_endpoints set place = place + 1000000');
  await scene.service.sql('update vault.change_stream set history = gen_random_uuid()');
  await deliver();
  const id = await contact('After a restore');
  await deliver();
  expect(received.map(({ event }) => event.objectId)).toEqual([id]);
});
