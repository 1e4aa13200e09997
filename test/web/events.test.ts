/** Which events the change stream sends to whom. */

import { createServer, type ServerResponse } from 'node:http';
import { createConnection, type AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Database } from '../../server/database/database.ts';
import { row } from '../../server/database/statement.ts';
import { mintToken, tokenDigest } from '../../server/domain/accounts/secret-tokens.ts';
import type { SessionCaller } from '../../server/domain/accounts/sessions.ts';
import { OpenStreams } from '../../server/web/api/open-streams.ts';
import { keyOf, SessionDigests } from '../../server/web/api/session-digests.ts';
import { openService, type TestService } from '../harness.ts';
import { startNetwork } from '../database/network.ts';
import { connect, type Scene } from '../policies/scene.ts';
import { startNode } from '../tools/node.ts';
import { signInAs } from './person.ts';

let service: TestService;
let scene: Scene;
let begunAt = 0;

beforeAll(async () => {
  service = await openService({ scene: true, nodes: 2, config: { streamHeartbeatSeconds: 60 } });
  scene = service.scene;
  begunAt = Date.now();
});
afterAll(() => service?.close());

/** Opens the stream as a person; returns the events received so far, and a function that closes it. */
const follow = (caller: string) => followSince(caller, null);

/** The same for a page that was loaded at `since`. */
async function followSince(
  caller: string,
  since: number | null,
  more: Record<string, string> = {},
): Promise<{ received: { topic: string; deal_id: string | null }[]; stop: () => void }> {
  const person = await signInAs(service, scene.people[caller]!);
  const stopped = new AbortController();
  const response = await fetch(`${service.origin}/api/web/events${since === null ? '' : `?since=${since}`}`, {
    headers: { ...person.headers, ...more },
    signal: stopped.signal,
  });
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  const received: { topic: string; deal_id: string | null }[] = [];
  void (async () => {
    for await (const part of response.body!.pipeThrough(new TextDecoderStream()))
      for (const line of part.split('\n')) if (line.startsWith('data: ')) received.push(JSON.parse(line.slice(6)));
  })().catch(() => {});
  return { received, stop: () => stopped.abort() };
}

/** Changes the deal, with a new value on each call. */
const changeDeal = () => service.sql('update deals set industry = $2 where id = $1', [scene.deal, crypto.randomUUID()]);

/** Makes a change that the broker gets an event of, and waits until this node has received the event. */
async function untilReceived(done: () => Promise<unknown>): Promise<void> {
  const broker = await follow('broker');
  await done();
  await expect.poll(() => broker.received.length).toBeGreaterThan(0);
  broker.stop();
}

/**
 * Causes an event that every person gets: an opt-in of their own. A stream that has received it has received all
 * earlier events.
 */
const optIn = (caller: string) =>
  service.sql(
    `insert into deal_opt_ins (user_id, deal_id) values ($1, $2)
     on conflict (user_id, deal_id) do update set opted_in_at = app.now()`,
    [scene.people[caller], scene.deal],
  );

/** Counts the queries, from now on, for the people who may know of changes. */
function countAsked(database: Database): () => number {
  const { run } = database;
  let asked = 0;
  database.run = (statement) => {
    if (statement.name === 'listeners_told') asked += 1;
    return run(statement);
  };
  return () => asked;
}

// This test comes first, so that no other stream is still open.
test('a HEAD request opens no stream', async () => {
  const person = await signInAs(service, scene.people['broker']!);
  const head = await fetch(`${service.origin}/api/web/events`, { method: 'HEAD', headers: person.headers });
  expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  const { database } = service.nodes[0]!.services;
  const asked = countAsked(database);
  const stream = await follow('broker');
  await changeDeal();
  await expect.poll(() => stream.received.length).toBeGreaterThan(0);
  expect(asked()).toBe(1);
  stream.stop();
});

test('a change costs one query per node, however many streams are open', async () => {
  const people = [...Object.values(scene.people), scene.people['outsider']!, scene.people['broker']!];
  const streams = await Promise.all(
    people.flatMap((user) =>
      service.nodes.map(async ({ origin }) => openStream(origin, (await signInAs(service, user)).headers)),
    ),
  );
  const broker = await follow('broker');
  const asked = service.nodes.map(({ services }) => countAsked(services.database));
  const sum = () => asked.map((count) => count());
  await changeDeal();
  await expect.poll(() => broker.received.length).toBe(1);
  await expect.poll(sum).toEqual([1, 1]);
  // The second event arrives after everything that the first could have caused.
  await changeDeal();
  await expect.poll(() => broker.received.length).toBe(2);
  await expect.poll(sum).toEqual([2, 2]);
  for (const { stop } of [broker, ...streams]) stop();
});

test('a change of an offer is sent only to the people who see the offer', async () => {
  const callers = ['broker', 'seller', 'exclusive buyer', 'other buyer', 'viewer', 'outsider'];
  const streams = await Promise.all(callers.map(follow));
  await service.sql(
    `insert into offers (deal_id, participant_id, buyer_user_id, revision_number, is_current, payload)
     select $1, $2, $3, max(revision_number) + 1, false, '{}' from offers where deal_id = $1 and buyer_user_id = $3`,
    [scene.deal, scene.participants['other buyer'], scene.people['other buyer']],
  );
  await expect.poll(() => streams[0]!.received.length).toBeGreaterThan(0);
  for (const caller of callers) await optIn(caller);
  const offer = { topic: 'offers', deal_id: scene.deal };
  const own = { topic: 'tools', deal_id: scene.deal };
  for (const { received } of streams) await expect.poll(() => received).toContainEqual(own);
  expect(Object.fromEntries(callers.map((caller, index) => [caller, streams[index]!.received]))).toEqual({
    broker: [offer, own],
    seller: [offer, own],
    'exclusive buyer': [own],
    'other buyer': [offer, own],
    viewer: [own],
    outsider: [own],
  });
  for (const stream of streams) stream.stop();
});

test('a move of the deal that rival buyers may not know of is sent only to the people who see it', async () => {
  const callers = [
    'broker',
    'seller',
    'exclusive buyer',
    'viewer',
    'other buyer',
    "other buyer's advisor",
    'new buyer',
  ];
  const goBack = () => service.sql(`update deal_stages set state = 'diligence' where deal_id = $1`, [scene.deal]);
  onTestFinished(() => untilReceived(goBack));
  const streams = await Promise.all(callers.map(follow));
  await service.sql(`update deals set state = 'closing' where id = $1`, [scene.deal]);
  // Everybody gets the next event: a stream that has received it has received all earlier events.
  await expect.poll(() => streams.slice(0, 4).map(({ received }) => received.length)).toEqual([1, 1, 1, 1]);
  await changeDeal();
  await expect.poll(() => streams.every(({ received }) => received.length > 0)).toBe(true);
  const deal = { topic: 'deal', deal_id: scene.deal };
  await expect
    .poll(() => streams.map(({ received }) => received))
    .toEqual([[deal, deal], [deal, deal], [deal, deal], [deal, deal], [deal], [deal], [deal]]);
  for (const stream of streams) stream.stop();
});

test('the place of an advisor in the QoE workspace is told to them and to whom they advise, when it is given and taken', async () => {
  const callers = ['broker', 'other buyer', "other buyer's advisor", 'exclusive buyer'];
  const streams = await Promise.all(callers.map(follow));
  const broker = await signInAs(service, scene.people['broker']!);
  const place = `/deals/${scene.deal}/qoe/members/${scene.participants["other buyer's advisor"]}`;
  expect((await broker.ask(place, { role: 'editor' }, 'PUT')).status).toBe(200);
  await expect.poll(() => streams[0]!.received.length).toBe(1);
  expect((await broker.ask(place, undefined, 'DELETE')).status).toBe(204);
  await expect.poll(() => streams[0]!.received.length).toBe(2);
  for (const caller of callers) await optIn(caller);
  const qoe = { topic: 'qoe', deal_id: scene.deal };
  const own = { topic: 'tools', deal_id: scene.deal };
  for (const { received } of streams) await expect.poll(() => received).toContainEqual(own);
  expect(Object.fromEntries(callers.map((caller, index) => [caller, streams[index]!.received]))).toEqual({
    broker: [qoe, qoe, own],
    'other buyer': [qoe, qoe, own],
    "other buyer's advisor": [qoe, qoe, own],
    'exclusive buyer': [own],
  });
  for (const stream of streams) stream.stop();
});

describe('a stream opened with the time its page was loaded', () => {
  const callers = ['broker', 'other buyer', 'viewer'];

  /**
   * Changes a condition, which is announced to all but the other buyer, and waits until this node has received the
   * event.
   */
  async function change(): Promise<number> {
    // Clocks of nodes may differ by a second, and a node that has just started does not know what changed in the second
    // before.
    await setTimeout(Math.max(0, begunAt + 1_500 - Date.now()));
    const before = Date.now();
    await untilReceived(() =>
      service.sql('update closing_conditions set updated_at = app.now() where deal_id = $1', [scene.deal]),
    );
    return before;
  }

  test('first sends earlier changes that its person may see, with shared queries for simultaneous streams', async () => {
    const since = await change();
    const asked = countAsked(service.nodes[0]!.services.database);
    const all = Array.from({ length: 24 }, (_, at) => callers[at % callers.length]!);
    const streams = await Promise.all(all.map((caller) => followSince(caller, since)));
    await expect.poll(() => streams[0]!.received.length).toBeGreaterThan(0);
    expect(asked()).toBeLessThan(all.length);
    // A change that is made while a stream is opened may be sent before earlier changes. A stream that has received two
    // such changes has received all.
    const opted = ({ received }: (typeof streams)[number]) => received.filter(({ topic }) => topic === 'tools').length;
    for (let times = 1; times <= 2; times += 1) {
      for (const caller of callers) await optIn(caller);
      await expect.poll(() => Math.min(...streams.map(opted))).toBeGreaterThanOrEqual(times);
    }
    const of = (topic: string) => streams.map(({ received }) => received.some((one) => one.topic === topic));
    expect(of('conditions')).toEqual(all.map((caller) => caller !== 'other buyer'));
    for (const { stop } of streams) stop();
  });

  test('omits changes before that time, and repeats nothing when the browser reconnects', async () => {
    const since = await change();
    const streams = [
      await followSince('broker', Date.now() + 60_000),
      await followSince('broker', since, { 'last-event-id': '1' }),
    ];
    await optIn('broker');
    for (const { received, stop } of streams) {
      await expect.poll(() => received).toEqual([{ topic: 'tools', deal_id: scene.deal }]);
      stop();
    }
  });

  test('sends a reload-everything event if that time is longer ago than the node remembers', async () => {
    const stream = await followSince('outsider', Date.now() - 60_000);
    await expect.poll(() => stream.received).toEqual([{ topic: 'deal', deal_id: null }]);
    stream.stop();
  });

  test('is refused with 400 if the time is invalid', async () => {
    const { headers } = await signInAs(service, scene.people['broker']!);
    for (const since of ['-1', 'now', '1e3', '9'.repeat(16)])
      expect((await fetch(`${service.origin}/api/web/events?since=${since}`, { headers })).status).toBe(400);
  });
});

test('thousands of changes at once are sent only to the people who see them', async () => {
  const callers = ['broker', 'outsider', 'new buyer'];
  const [broker, ...blind] = await Promise.all(callers.map(follow));
  await service.sql(
    `insert into qoe_checklist (deal_id, category, title, position)
     select $1, 'tax', 'Row ' || n, 100 + n from generate_series(1, 11000) n`,
    [scene.deal],
  );
  await expect.poll(() => broker!.received.length).toBeGreaterThan(0);
  for (const caller of callers.slice(1)) await optIn(caller);
  const tools = { topic: 'tools', deal_id: scene.deal };
  for (const { received } of blind) {
    await expect.poll(() => received.length).toBeGreaterThan(0);
    expect(received).toEqual([tools]);
  }
  expect(new Set(broker!.received.map(({ topic, deal_id }) => `${topic} ${deal_id}`))).toEqual(
    new Set([`qoe ${scene.deal}`]),
  );
  for (const { stop } of [broker!, ...blind]) stop();
});

test('changes of hundreds of deals at once are sent as a single reload-everything event', async () => {
  const [admin, outsider] = await Promise.all(['admin', 'outsider'].map(follow));
  await service.sql(
    `insert into deals (organization_id, title) select organization_id, 'Deal ' || n from deals, generate_series(1, 300) n
     where id = $1`,
    [scene.deal],
  );
  await expect.poll(() => admin!.received).toContainEqual({ topic: 'deal', deal_id: null });
  await optIn('outsider');
  await expect.poll(() => outsider!.received.length).toBeGreaterThan(0);
  expect(outsider!.received.map(({ topic }) => topic)).toEqual(['tools']);
  // A stream that has received this event has received all earlier ones.
  await optIn('admin');
  await expect.poll(() => admin!.received).toContainEqual({ topic: 'tools', deal_id: scene.deal });
  expect(admin!.received.filter(({ topic, deal_id }) => topic === 'deal' && deal_id === null)).toHaveLength(1);
  for (const { stop } of [admin!, outsider!]) stop();
});

test('after a lost database connection every stream gets a reload-everything event', async () => {
  const [broker, outsider] = await Promise.all(['broker', 'outsider'].map(follow));
  const cut = `select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'dealkeep changes' and datname = current_database()`;
  await service.asServer(row('t_cut', cut)());
  for (const { received, stop } of [broker!, outsider!]) {
    await expect.poll(() => received).toEqual([{ topic: 'deal', deal_id: null }]);
    stop();
  }
});

test('a comment on a finding is sent only to the people who see the finding', async () => {
  const [broker, other] = await Promise.all(['broker', 'other buyer'].map(follow));
  const [finding] = await service.sql<{ id: string }>(
    `insert into findings (deal_id, participant_id, category, title, severity)
     values ($1, $2, 'tax', 'A finding', 'minor') returning id`,
    [scene.deal, scene.participants['exclusive buyer']],
  );
  await expect.poll(() => broker!.received.length).toBeGreaterThan(0);
  const before = broker!.received.length;
  await service.sql(`insert into finding_comments (finding_id, created_by, body) values ($1, $2, 'A word')`, [
    finding!.id,
    scene.people['exclusive buyer'],
  ]);
  await expect.poll(() => broker!.received.length).toBeGreaterThan(before);
  expect(broker!.received.at(-1)).toEqual({ topic: 'findings', deal_id: scene.deal });
  expect(other!.received).toEqual([]);
  for (const { stop } of [broker!, other!]) stop();
});

/** The column by which the notification names a record; defaults to its id. */
const namedBy: Readonly<Record<string, string>> = {
  deal_stages: 'deal_id',
  question_answers: 'question_id',
  qoe_workspace_members: 'participant_id',
  offer_decisions: 'offer_id',
  finding_comments: 'finding_id',
  deal_tool_stops: 'deal_id',
};

test('a change of each kind of record is sent to exactly the people who can read the record', async () => {
  const announced = await service.sql<{ kind: string }>(
    `select distinct c.relname as kind from pg_trigger t join pg_class c on c.oid = t.tgrelid
     where t.tgname = 'announce' and c.relname not in ('deal_opt_ins', 'notifications') order by 1`,
  );
  const digests = new Map<string, Buffer>();
  const callerOf = new Map<string, string>();
  const presented = new SessionDigests();
  for (const [caller, user] of Object.entries(scene.people)) {
    const digest = tokenDigest(mintToken());
    const [session] = await service.sql<{ id: string }>(
      `insert into vault.sessions (user_id, digest, method) values ($1, $2, 'password') returning id`,
      [user, digest],
    );
    digests.set(caller, digest);
    callerOf.set(session!.id, caller);
    presented.add(keyOf(digest));
  }
  const server = await connect(service.connections.server);
  const kinds = new Set<string>();
  for (const { kind } of announced) {
    const name = namedBy[kind] ?? 'id';
    const deal = kind === 'deals' ? 'id' : 'deal_id';
    const here = kind === 'finding_comments' ? '$2::uuid is not null' : `${deal} = $2`;
    const records = await service.sql<{ record: string; deal_id: string }>(
      `select distinct ${name} as record, ${kind === 'finding_comments' ? '$1' : deal} as deal_id from ${kind}
       where $1 <> '' and ${kind === 'deals' ? `title not like 'Deal %'` : 'true'} limit 50`,
      [scene.deal],
    );
    for (const { record, deal_id } of records) {
      const seeing: string[] = [];
      for (const [caller, digest] of digests) {
        await server.query('begin');
        await server.query('select app.enter_with_session($1, false)', [digest]);
        const { rowCount } = await server.query(`select from ${kind} where ${name} = $1 and ${here}`, [
          record,
          deal_id,
        ]);
        await server.query('commit');
        if (rowCount! > 0) seeing.push(caller);
      }
      const change = { topic: 'deal', table: kind, records: [record], deal_id, gone: false };
      const { rows: listening } = await server.query<{ session_id: string }>(
        'select session_id from app.listeners_told($1, $2)',
        [JSON.stringify([change]), presented.bytes()],
      );
      const hearing = listening.map(({ session_id }) => callerOf.get(session_id));
      expect([kind, record, hearing.toSorted()]).toEqual([kind, record, seeing.toSorted()]);
      if (seeing.length > 0) kinds.add(kind);
    }
  }
  await server.end();
  expect([...kinds].toSorted()).toEqual(announced.map(({ kind }) => kind));
});

test('a removal is sent only to the people who saw the record', async () => {
  const callers = ['admin', 'broker', 'exclusive buyer', 'other buyer', 'outsider'];
  const condition = crypto.randomUUID();
  await untilReceived(() =>
    service.sql(`insert into closing_conditions (id, deal_id, name) values ($1, $2, 'Consent of the landlord')`, [
      condition,
      scene.deal,
    ]),
  );
  const streams = await Promise.all(callers.map(follow));
  // The service never deletes questions, so their deletion sends no event.
  const [question] = await service.sql<{ id: string }>(
    `insert into questions (deal_id, category, question_text, asked_by, participant_id) values ($1, 'tax', 'When?', $2, $3)
     returning id`,
    [scene.deal, scene.people['other buyer'], scene.participants['other buyer']],
  );
  const asked = { topic: 'questions', deal_id: scene.deal };
  await expect.poll(() => streams.map(({ received }) => received)).toEqual([[], [asked], [], [asked], []]);
  await service.sql('delete from questions where id = $1', [question!.id]);
  await service.sql('delete from closing_conditions where id = $1', [condition]);
  await expect.poll(() => streams[2]!.received.length).toBeGreaterThan(0);
  for (const caller of callers) await optIn(caller);
  const own = { topic: 'tools', deal_id: scene.deal };
  for (const { received } of streams) await expect.poll(() => received).toContainEqual(own);
  const conditions = { topic: 'conditions', deal_id: scene.deal };
  expect(streams.map(({ received }) => received)).toEqual([
    [conditions, own],
    [asked, conditions, own],
    [conditions, own],
    [asked, own],
    [own],
  ]);
  for (const { stop } of streams) stop();
});

test('a document closed to some is sent also to those who could open it before, and to nobody else', async () => {
  const callers = ['admin', 'broker', 'exclusive buyer', 'other buyer', 'new buyer', 'outsider'];
  const streams = await Promise.all(callers.map(follow));
  const heard = () => streams.map(({ received }) => received.filter(({ topic }) => topic === 'documents').length);
  const broker = await signInAs(service, scene.people['broker']!);
  let before = heard();
  for (const [confidentiality, told] of [
    ['selected_buyer_only', [0, 1, 1, 1, 0, 0]],
    ['nda_gated', [0, 1, 1, 1, 0, 0]],
    ['public', [1, 1, 1, 1, 1, 0]],
    ['selected_buyer_only', [1, 1, 1, 1, 1, 0]],
    ['nda_gated', [0, 1, 1, 1, 0, 0]],
  ] as const) {
    const { status } = await broker.ask(
      `/documents/simple/${scene.records['documents/nda_gated']}`,
      { confidentiality },
      'PATCH',
    );
    expect(status).toBe(200);
    const each = before.map((times, at) => times + told[at]!);
    await expect.poll(heard).toEqual(each);
    await setTimeout(400);
    expect([confidentiality, heard()]).toEqual([confidentiality, each]);
    before = each;
  }
  for (const { stop } of streams) stop();
});

test('a request without a session is refused with 401', async () => {
  const response = await fetch(`${service.origin}/api/web/events`);
  expect(response.status).toBe(401);
  expect(await response.json()).toMatchObject({ error: { code: 'signed_out' } });
});

/** Opens a stream and reads it until it ends. */
async function openStream(origin: string, headers: Record<string, string>) {
  const stopped = new AbortController();
  // The number of open streams per person is limited.
  onTestFinished(() => stopped.abort());
  const response = await fetch(`${origin}/api/web/events`, { headers, signal: stopped.signal });
  let ended = false;
  void (async () => {
    for await (const _ of response.body!);
  })()
    .catch(() => {})
    .finally(() => (ended = true));
  return { status: response.status, headers: response.headers, hasEnded: () => ended, stop: () => stopped.abort() };
}

const endsSoon = (stream: { hasEnded: () => boolean }) => expect.poll(stream.hasEnded).toBe(true);

test('a stream that its client does not read is not written to, and is closed', async () => {
  const userId = scene.people['broker']!;
  const digest = tokenDigest(mintToken());
  const [session] = await service.sql<{ id: string }>(
    `insert into vault.sessions (user_id, digest, method) values ($1, $2, 'password') returning id`,
    [userId, digest],
  );
  const { services } = service.nodes[0]!;
  const streams = new OpenStreams({ ...services, config: { ...services.config, streamHeartbeatSeconds: 1 } });
  const opened = Promise.withResolvers<ServerResponse>();
  const server = createServer((_request, response) => {
    response.writeHead(200);
    // More than the connection itself buffers.
    response.write(Buffer.alloc(32_000_000, 'x'));
    streams.add(response, { session_id: session!.id, user_id: userId } as SessionCaller, digest);
    opened.resolve(response);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const client = createConnection((server.address() as AddressInfo).port, '127.0.0.1').pause();
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const response = await opened.promise;
  let most = 0;
  const before = response.writableLength;
  await expect
    .poll(
      async () => {
        if (!response.destroyed) most = Math.max(most, response.writableLength);
        await changeDeal();
        return response.destroyed;
      },
      { timeout: 60_000 },
    )
    .toBe(true);
  expect(most).toBeLessThanOrEqual(before);
  const [still] = await service.sql<{ ended_at: Date | null }>('select ended_at from vault.sessions where id = $1', [
    session!.id,
  ]);
  expect(still!.ended_at).toBe(null);
});

describe('streams of a session', () => {
  test('end on every node at sign-out, when the session is ended elsewhere, and on suspension', async () => {
    const user = scene.people['viewer']!;
    const ways: ((headers: Record<string, string>) => Promise<unknown>)[] = [
      (headers) => fetch(`${service.origin}/api/auth/sign-out`, { method: 'POST', body: '{}', headers }),
      () =>
        service.sql(`update vault.sessions set ended_at = app.now() where user_id = $1 and ended_at is null`, [user]),
      () => service.sql(`update users set suspended_at = app.now() where id = $1`, [user]),
    ];
    onTestFinished(async () => void (await service.sql('update users set suspended_at = null where id = $1', [user])));
    const { headers: others } = await signInAs(service, scene.people['broker']!);
    const unconcerned = await openStream(service.origin, others);
    for (const way of ways) {
      const { headers } = await signInAs(service, user);
      const streams = await Promise.all(service.nodes.map(({ origin }) => openStream(origin, headers)));
      expect(streams.map(({ hasEnded }) => hasEnded())).toEqual([false, false]);
      await way({ ...headers, 'content-type': 'application/json' });
      for (const stream of streams) await endsSoon(stream);
    }
    expect(unconcerned.hasEnded()).toBe(false);
    unconcerned.stop();
  });

  test('end even if the session ended while the node was disconnected from the database', async () => {
    const network = await startNetwork(service.connections.server);
    onTestFinished(network.stop);
    const { user, password, host, port, database } = network.connection;
    const url = new URL(`postgres://${host}:${port}/${database}`);
    Object.assign(url, { username: user, password });
    // A heartbeat so rare that none finds the ended session first.
    const config = { listenDatabaseUrl: url.href, streamHeartbeatSeconds: 3_600 };
    const node = await startNode(service, service.connections.server, { silenceMillis: 1_000, config });
    onTestFinished(node.stop);
    const viewer = scene.people['viewer']!;
    const { headers } = await signInAs(service, viewer);
    const { headers: others } = await signInAs(service, scene.people['broker']!);
    const [stream, unconcerned] = [await openStream(node.origin, headers), await openStream(node.origin, others)];
    network.state.silent = true;
    await service.sql(`update vault.sessions set ended_at = app.now() where user_id = $1 and ended_at is null`, [
      viewer,
    ]);
    network.cut();
    network.state.silent = false;
    await endsSoon(stream);
    expect(unconcerned.hasEnded()).toBe(false);
    unconcerned.stop();
  });

  test('are limited to ten per session and thirty per person', async () => {
    const user = scene.people['viewer']!;
    const sessions = await Promise.all(Array.from({ length: 4 }, () => signInAs(service, user)));
    const streams: Awaited<ReturnType<typeof openStream>>[] = [];
    const opens = async ({ headers }: { headers: Record<string, string> }) => {
      const stream = await openStream(service.origin, headers);
      streams.push(stream);
      return stream.status;
    };
    const statuses = await Promise.all(Array.from({ length: 12 }, () => opens(sessions[0]!)));
    expect(statuses.toSorted()).toEqual([...Array.from({ length: 10 }, () => 200), 429, 429]);
    expect(streams.find(({ status }) => status === 429)?.headers.get('retry-after')).toBe('60');
    for (const session of sessions.slice(1, 3)) for (let n = 0; n < 10; n += 1) expect(await opens(session)).toBe(200);
    expect(await opens(sessions[3]!)).toBe(429);
    const { headers: others } = await signInAs(service, scene.people['seller']!);
    expect(await opens({ headers: others })).toBe(200);
    // A place that becomes free can be taken.
    streams.find(({ status }) => status === 200)?.stop();
    await expect.poll(() => opens(sessions[3]!)).toBe(200);
    for (const stream of streams) stream.stop();
  });
});

describe('an open stream', () => {
  let quiet: TestService;
  beforeAll(async () => {
    quiet = await openService({ config: { streamHeartbeatSeconds: 1 } });
  });
  afterAll(() => quiet?.close());

  const lastUse = async (user: string) => {
    const found = await quiet.sql('select last_seen_at::text as at from vault.sessions where user_id = $1', [user]);
    return found[0]?.['at'];
  };
  const hour = 3_600_000;

  test('does not keep its session alive, and ends when the session expires', async () => {
    const [user] = await quiet.sql(`insert into users (email, name) values ($1, 'Lee') returning id`, [
      `${crypto.randomUUID()}@open.example`,
    ]);
    const userId = String(user?.['id']);
    const person = await signInAs(quiet, userId);
    const began = await lastUse(userId);
    quiet.clock.advance(hour);
    const stream = await openStream(quiet.origin, person.headers);
    expect(stream.status).toBe(200);
    expect(await lastUse(userId)).toBe(began);
    // A page refetches changed data by itself, which does not count as a use.
    const asked = await fetch(`${quiet.origin}/api/web/me`, { headers: { ...person.headers, 'x-unattended': '1' } });
    await quiet.noteUses();
    expect([asked.status, await lastUse(userId)]).toEqual([200, began]);
    expect((await person.ask('/me')).status).toBe(200);
    await quiet.noteUses();
    expect(await lastUse(userId)).not.toBe(began);
    quiet.clock.advance(12 * hour - 60_000);
    expect(stream.hasEnded()).toBe(false);
    quiet.clock.advance(60_000);
    await endsSoon(stream);
  });
});
