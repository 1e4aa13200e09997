/** How requests are handled when more are sent than can be answered, or when a table is locked. */

import { once } from 'node:events';
import { Agent, request as send, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { connect, createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { Hono } from 'hono';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createApp } from '../../server/app.ts';
import { listen } from '../../server/cli/listen.ts';
import { openPort } from '../../server/cli/port.ts';
import { openLoadShedding, type LoadLimits, type LoadShedding } from '../../server/http/load-shedding.ts';
import { delayRefusals } from '../../server/http/delayed-refusals.ts';
import { createLog } from '../../server/lib/log.ts';
import { openService, type TestService } from '../harness.ts';
import { answersSoon } from '../processor-time.ts';
import { brokerage, type Brokerage } from '../rest/scene.ts';
import { signInAs } from '../web/person.ts';

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Sends a request on a connection of its own: fetch would hold some requests back until others are answered. */
function ask(origin: string, path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = send(`${origin}${path}`, { agent: false, headers, method }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    request.on('error', reject);
    request.end();
  });
}

const bearer = ({ token }: { token: string }) => ({ Authorization: `Bearer ${token}` });

/** Locks contacts, as a migration would, until the returned function is called. */
async function lockContacts(service: TestService): Promise<() => Promise<void>> {
  const owner = new pg.Client(service.connections.owner);
  await owner.connect();
  await owner.query('begin; lock table contacts in access exclusive mode');
  let ended: Promise<void> | undefined;
  const end = () => (ended ??= owner.end());
  onTestFinished(end);
  return end;
}

const waitingForLocks = async (service: TestService): Promise<number> => {
  const [found] = await service.sql<{ n: number }>(
    `select count(*)::int as n from pg_locks
     where not granted and database = (select oid from pg_database where datname = current_database())`,
  );
  return found!.n;
};

interface Node {
  readonly origin: string;
  readonly load: LoadShedding;
  /** The names requested at /hold/, in the order in which their handlers began. */
  readonly begun: readonly string[];
  /** Sends the response at /hold/ that has been held longest. */
  letGo(): void;
}

/** Opens the service's app behind limits of its own, with a path /hold/:name whose response waits for the test. */
async function openNode(service: TestService, limits: LoadLimits): Promise<Node> {
  const load = openLoadShedding({ burstMillis: 0, ...limits }, service.services.log);
  const begun: string[] = [];
  const held: (() => void)[] = [];
  const app = new Hono();
  app.route('/', createApp({ ...service.services, load }));
  app.get('/hold/:name', async (c) => {
    begun.push(c.req.param('name'));
    await new Promise<void>((resolve) => held.push(resolve));
    return c.text('held');
  });
  app.post('/read', async (c) => c.text(await c.req.text().catch(() => 'gone')));
  const listener = await listen('127.0.0.1', 0);
  listener.answerWith(app, { load, lookAfterAnswers: () => {} });
  onTestFinished(async () => {
    for (const go of held) go();
    await listener.close(1);
  });
  return { origin: `http://127.0.0.1:${listener.port}`, load, begun, letGo: () => held.shift()?.() };
}

const session = (name: string) => ({ Cookie: `dealkeep=${name}` });

test('connections that queued while the process was busy are accepted within few turns of the event loop', async () => {
  const count = 200;
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(1));
  // The operating system establishes the connections while this process, which accepts them, is busy.
  const answers = Array.from({ length: count }, () => ask(`http://127.0.0.1:${listener.port}`, '/healthz'));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  turn();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(count).fill(200));
  isOver = true;
  expect(turns).toBeLessThan(count / 2);
});

test('a closing port still accepts connections made before and during the close', async () => {
  let left = 30;
  const outcomes: Promise<string>[] = [];
  // The operating system establishes the connection as soon as this code ends, before the server accepts it.
  const enter = () =>
    outcomes.push(
      new Promise((resolve) => {
        const socket = connect(port.port, '127.0.0.1');
        socket.on('data', (part: Buffer) => resolve(part.toString()));
        socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? ''));
      }),
    );
  const server = createServer((socket) => {
    socket.end('taken');
    if (left-- > 0) enter();
  });
  const port = await openPort(server, '127.0.0.1', 0);
  for (let nth = 0; nth < 20; nth += 1) enter();
  await new Promise<void>((resolve) => process.nextTick(resolve));
  await port.close();
  expect(await Promise.all(outcomes)).toEqual(Array(50).fill('taken'));
});

test('a node that stops without draining first sends Connection: close on responses in flight', async () => {
  const listener = await listen('127.0.0.1', 0);
  const begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  listener.answerWith(
    new Hono().get('/', async (c) => {
      begun.resolve();
      await held.promise;
      return c.text('held');
    }),
  );
  const agent = new Agent({ keepAlive: true });
  const request = send({ port: listener.port, host: '127.0.0.1', agent }).end();
  await begun.promise;
  const closed = listener.close(60);
  held.resolve();
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  expect(answer.headers.connection).toBe('close');
  answer.resume();
  await closed;
});

describe('a node at its limit of concurrent requests', () => {
  let service: TestService;
  let tenant: Brokerage;
  beforeAll(async () => {
    service = await openService({ config: { poolSize: 10 } });
    tenant = await brokerage(service);
  });
  afterAll(() => service.close());

  test("answers 503 with Retry-After in each interface's format after too long a wait; probes still respond", async () => {
    const { origin, load, letGo } = await openNode(service, { atOnce: 2, waitMillis: 200 });
    const held = ['a', 'b'].map((name) => ask(origin, `/hold/${name}`, session(name)));
    await expect.poll(() => load.state().answering).toBe(2);

    const key = bearer(await tenant.key());
    const [rest, web, auth, tools, token, html, other] = await Promise.all([
      ask(origin, '/api/v1/contacts', { ...key, 'X-Request-Id': 'mine-1' }),
      ask(origin, '/api/web/home', session('c')),
      ask(origin, '/api/auth/session'),
      ask(origin, '/api/mcp', bearer({ token: 'dka_none' }), 'POST'),
      ask(origin, '/api/mcp/token', {}, 'POST'),
      ask(origin, '/deals', { Accept: 'text/html' }),
      ask(origin, '/nothing/at/all'),
    ]);
    for (const { status, headers } of [rest, web, auth, tools, token, html, other]) {
      expect(status).toBe(503);
      expect(headers['retry-after']).toMatch(/^[1-9]\d*$/);
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['x-request-id']).toMatch(/^[\w-]{1,64}$/);
    }
    expect(rest.headers['x-request-id']).toBe('mine-1');
    const message = expect.stringContaining('nothing was done: try again shortly.') as string;
    const ours = { code: 'internal_error', message, details: { request_id: 'mine-1' } };
    expect(JSON.parse(rest.text)).toMatchObject({ error: ours });
    expect(JSON.parse(web.text)).toMatchObject({ error: { code: 'busy' } });
    expect(JSON.parse(auth.text)).toMatchObject({ error: { code: 'busy' } });
    expect(JSON.parse(tools.text)).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: 503 } });
    expect(JSON.parse(token.text)).toMatchObject({ error: 'temporarily_unavailable' });
    expect(html.headers['content-type']).toContain('text/html');
    expect(html.text).toContain('try again shortly');
    expect(JSON.parse(other.text)).toMatchObject({ error: { code: 'busy' } });

    expect(service.log.filter((line) => line.includes('requests are refused with 503'))).toHaveLength(1);

    // From now on the response is prebuilt: the same one, with a request id of its own.
    const again = await ask(origin, '/api/v1/contacts', key);
    expect(again.text).toBe(rest.text.replaceAll('mine-1', String(again.headers['x-request-id'])));
    expect(Object.keys(again.headers).toSorted()).toEqual(Object.keys(rest.headers).toSorted());

    for (const path of ['/healthz', '/readyz']) expect((await ask(origin, path)).status).toBe(200);
    const metrics = (await ask(origin, '/metrics')).text;
    expect(metrics).toMatch(/dealkeep_requests_refused_total\{interface="rest"\} 2/);
    expect(metrics).toMatch(/dealkeep_requests\{state="answering"\} 2/);

    letGo();
    letGo();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200]);
    expect((await ask(origin, '/api/v1/contacts', key)).status).toBe(200);
  });

  test('gives one credential at most half of the positions', async () => {
    const { origin, load, begun, letGo } = await openNode(service, { atOnce: 4, waitMillis: 60_000 });
    const held = ['1', '2', '3', '4'].map((name) => ask(origin, `/hold/${name}`, session('greedy')));
    await expect.poll(() => load.state()).toMatchObject({ answering: 2, waiting: 2 });
    // Another cookie before the session cookie does not hide whose request it is.
    held.push(ask(origin, '/hold/5', { Cookie: 'theme=dark; dealkeep=greedy' }));
    await expect.poll(() => load.state()).toMatchObject({ answering: 2, waiting: 3 });
    expect((await ask(origin, '/api/v1/contacts', bearer(await tenant.key()))).status).toBe(200);
    expect(begun).toHaveLength(2);
    for (let nth = 0; nth < 5; nth += 1) {
      await expect.poll(() => begun.length).toBeGreaterThan(nth);
      letGo();
    }
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  });

  test('identifies callers by token on programmatic interfaces, and by session cookie elsewhere', async () => {
    const { origin, load, letGo } = await openNode(service, { atOnce: 4, waitMillis: 60_000 });
    // One credential already has half of the positions.
    const held = ['1', '2'].map((name) => ask(origin, `/hold/${name}`, session('greedy')));
    await expect.poll(() => load.state()).toMatchObject({ answering: 2, waiting: 0 });
    const token = bearer({ token: 'greedy' });
    const programs = ['/api/v1/contacts', '/api/mcp', '/mcp'].map((path) =>
      ask(origin, path, { ...token, ...session('other') }),
    );
    await expect.poll(() => load.state()).toMatchObject({ answering: 2, waiting: 3 });
    for (const path of ['/api/web/home', '/api/v10', '/mcps'])
      expect((await ask(origin, path, { ...token, ...session('other') })).status).not.toBe(503);
    expect(load.state()).toMatchObject({ answering: 2, waiting: 3 });
    letGo();
    letGo();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200]);
    for (const { status } of await Promise.all(programs)) expect(status).not.toBe(503);
  });

  test('serves a short queue in order, and a long queue newest first', async () => {
    const { origin, load, begun, letGo } = await openNode(service, { atOnce: 1, waitMillis: 60_000 });
    // On one connection the requests arrive in this order, and at once.
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    const lines = (name: string) => `GET /hold/${name} HTTP/1.1\r\nHost: localhost\r\nCookie: dealkeep=${name}\r\n\r\n`;
    socket.write(['1', '2', '3', '4', '5', '6'].map(lines).join(''));
    await expect.poll(() => load.state()).toMatchObject({ answering: 1, waiting: 5 });
    for (let nth = 1; nth <= 6; nth += 1) {
      await expect.poll(() => begun.length).toBe(nth);
      letGo();
    }
    expect(begun).toEqual(['1', '6', '5', '4', '2', '3']);
  });

  test('refuses a request that has waited long when many wait and another arrives', async () => {
    const { origin, load, begun, letGo } = await openNode(service, { atOnce: 1, waitMillis: 60_000 });
    const held: Promise<Answer>[] = [];
    const come = async (name: string, waiting: number) => {
      held.push(ask(origin, `/hold/${name}`, session(name)));
      await expect.poll(() => load.state()).toMatchObject({ answering: 1, waiting });
    };
    await come('1', 0);
    await come('2', 1);
    await come('3', 2);
    await setTimeout(100);
    await come('4', 2);
    expect((await held[1]!).status).toBe(503);
    for (let nth = 1; nth <= 3; nth += 1) {
      await expect.poll(() => begun.length).toBe(nth);
      letGo();
    }
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 503, 200, 200]);
  });

  test('refuses no request of a burst, however long the first ones have waited', async () => {
    const { origin, load, begun, letGo } = await openNode(service, {
      atOnce: 1,
      waitMillis: 60_000,
      burstMillis: 60_000,
    });
    const held: Promise<Answer>[] = [];
    for (let nth = 1; nth <= 5; nth += 1) {
      held.push(ask(origin, `/hold/${nth}`, session(`${nth}`)));
      await expect.poll(() => load.state()).toMatchObject({ answering: 1, waiting: nth - 1 });
      await setTimeout(100);
    }
    for (let nth = 1; nth <= 5; nth += 1) {
      await expect.poll(() => begun.length).toBe(nth);
      letGo();
    }
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  });

  test('refuses requests that have waited long when more arrive after the burst period', async () => {
    const { origin, load, begun, letGo } = await openNode(service, { atOnce: 1, waitMillis: 60_000, burstMillis: 50 });
    const held: Promise<Answer>[] = [];
    for (let nth = 1; nth <= 4; nth += 1) {
      held.push(ask(origin, `/hold/${nth}`, session(`${nth}`)));
      await expect.poll(() => load.state()).toMatchObject({ answering: 1, waiting: nth - 1 });
    }
    await setTimeout(100);
    held.push(ask(origin, '/hold/5', session('5')));
    await expect.poll(() => load.state()).toMatchObject({ answering: 1, waiting: 2 });
    for (let nth = 1; nth <= 3; nth += 1) {
      await expect.poll(() => begun.length).toBe(nth);
      letGo();
    }
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 503, 503, 200, 200]);
  });

  /** Occupies the only position, and keeps so many requests waiting for so long that the queue is kept short. */
  async function overload({ origin, load }: Node): Promise<void> {
    for (let nth = 0; !load.isOverloaded(); nth += 1) {
      const before = load.state().refused.get('pages') ?? 0;
      ask(origin, `/hold/${nth}`, session(`holder ${nth}`)).catch(() => {});
      await expect
        .poll(() => load.state().answering + load.state().waiting + (load.state().refused.get('pages') ?? 0) - before)
        .toBeGreaterThan(Math.min(nth, 2));
      await setTimeout(50);
    }
  }

  test.each([
    { what: 'few', soonMillis: 25, places: 2 },
    { what: 'many', soonMillis: 60_000, places: 8 },
  ])(
    'under overload halves concurrency and limits the queue to what is answered soon at that rate: $what',
    async ({ soonMillis, places }) => {
      const { origin, load, letGo } = await openNode(service, { atOnce: 16, waitMillis: 60_000, soonMillis });
      const refusals = () => load.state().refused.get('pages') ?? 0;
      let sent = 0;
      let ended = 0;
      /** Sends twenty requests of twenty people, and waits until all requests sent so far have arrived. */
      const come = async (): Promise<void> => {
        for (let nth = 0; nth < 20; nth += 1, sent += 1)
          ask(origin, `/hold/${sent}`, session(`person ${sent}`)).catch(() => {});
        const arrived = ({ answering, waiting } = load.state()) => answering + waiting + refusals() + ended;
        await expect.poll(() => arrived()).toBe(sent);
      };
      let found = 0;
      // On a busy machine the overload may have ended meanwhile.
      for (let isSure = false; !isSure; isSure = load.isOverloaded()) {
        while (!load.isOverloaded()) {
          await come();
          await setTimeout(100);
        }
        // No waiting request begins until half of those in progress have been answered.
        const there = () => load.state().answering + load.state().waiting;
        while (load.state().waiting > 0) {
          const before = there();
          letGo();
          ended += 1;
          await expect.poll(there, { interval: 2 }).toBeLessThan(before);
        }
        // The rate is measured over this time.
        await setTimeout(100);
        await come();
        found = load.state().waiting;
      }
      expect(found).toBe(places);
      expect(load.state().answering).toBe(8);
    },
  );

  test('after an overload queues more at the same concurrency, and refuses all but a few when still more arrive', async () => {
    const { origin, load, letGo } = await openNode(service, { atOnce: 4, waitMillis: 60_000, probeMillis: 60_000 });
    const refusals = () => load.state().refused.get('pages') ?? 0;
    let sent = 0;
    let ended = 0;
    const come = async (people: number): Promise<void> => {
      for (let nth = 0; nth < people; nth += 1, sent += 1)
        ask(origin, `/hold/${sent}`, session(`person ${sent}`)).catch(() => {});
      const arrived = ({ answering, waiting } = load.state()) => answering + waiting + refusals() + ended;
      await expect.poll(() => arrived(), { interval: 2 }).toBe(sent);
    };
    while (!load.isOverloaded()) {
      await come(10);
      await setTimeout(100);
    }
    while (load.state().answering + load.state().waiting > 0) {
      letGo();
      await setTimeout(2);
    }
    ended = sent - refusals();
    // Longer than any overload lasts.
    await setTimeout(4_000);
    await come(10);
    expect(load.state()).toMatchObject({ answering: 2, waiting: 8 });
    const before = refusals();
    await come(6);
    expect(load.state()).toMatchObject({ answering: 2, waiting: 2 });
    expect(refusals() - before).toBe(12);
  });

  /**
   * Sends these parts one after another on one connection, then a last request for /healthz; returns all that was
   * received.
   */
  async function sayTo(origin: string, parts: readonly string[]): Promise<string> {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1').setNoDelay();
    onTestFinished(() => void socket.destroy());
    let text = '';
    socket.on('data', (part: Buffer) => (text += part.toString('latin1')));
    // The server may have closed the connection before a part is sent.
    socket.on('error', () => {});
    const ended = new Promise((resolve) => socket.on('close', resolve));
    for (const part of parts) {
      socket.write(part);
      await setTimeout(30);
    }
    socket.end('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    await ended;
    return text;
  }

  test('under overload refuses requests without a free place before parsing them, and no other requests', async () => {
    const node = await openNode(service, { atOnce: 1, waitMillis: 60_000 });
    const { origin, load } = node;
    const statusesOf = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
    const get = (path = '/api/v1/contacts', more = '') => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`;
    const post = (more: string) => `POST /api/v1/contacts HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`;
    const hidden = get('/healthz');
    const length = `Content-Length: ${hidden.length}\r\n`;
    const chunked = 'Transfer-Encoding: chunked\r\n';
    const asChunk = `${hidden.length.toString(16)}\r\n${hidden}\r\n`;
    const cases: Record<string, [parts: string[], statuses: number[]]> = {
      'one request after the other': [
        [get(), get('/api/web/home'), get()],
        [503, 503, 503, 200],
      ],
      'that the process is alive': [
        [get('/healthz'), get(), get('/healthz')],
        [200, 503, 200, 200],
      ],
      'two at once': [[get() + get()], [503, 503, 200]],
      'one in parts': [
        [get().slice(0, 20), get().slice(20)],
        [503, 200],
      ],
      'one and the beginning of another': [
        [get() + get().slice(0, 20), get().slice(20)],
        [503, 503, 200],
      ],
      'a body that looks like a request': [
        [post(length), hidden],
        [503, 200],
      ],
      'a body in the same packet': [[post(length) + hidden], [503, 200]],
      'a body of a GET': [
        [get(undefined, length), hidden, get()],
        [503, 503, 200],
      ],
      'chunks that look like a request': [[post(chunked), asChunk, '0\r\n\r\n', get()], [503]],
      'half a body, and the rest with the next request': [
        [post(length), hidden.slice(0, 9), hidden.slice(9) + get()],
        [503, 503, 200],
      ],
      'the end of the connection': [[get(undefined, 'Connection: close\r\n')], [503]],
      'lines that end otherwise': [[get(undefined, 'X-Y: a\n').replaceAll('\r\n', '\n')], [400]],
      'a name with a space behind it': [[get(undefined, `Content-Length : ${hidden.length}\r\n`), hidden], [400]],
      'two lengths': [[get(undefined, `${length}Content-Length: 0\r\n`), hidden], [400]],
      'two hosts': [[get(undefined, 'Host: elsewhere\r\n')], [503]],
      'a path that is read in two ways': [[get('/api/v1/../web')], [503]],
    };
    for (const [name, [parts, statuses]] of Object.entries(cases)) {
      let answer = '';
      // On a busy machine the overload may have ended meanwhile.
      for (let isSure = false; !isSure;) {
        await overload(node);
        answer = await sayTo(origin, parts);
        isSure = load.isOverloaded();
      }
      expect.soft(statusesOf(answer), name).toEqual(statuses);
    }
    expect(load.state()).toMatchObject({ answering: 1 });
  });

  test('under overload refuses a request with a Host full of spaces as fast as any other', async () => {
    const node = await openNode(service, { atOnce: 1, waitMillis: 60_000 });
    const request = `GET / HTTP/1.1\r\nHost: a${' '.repeat(8_000)}b\r\n\r\n`;
    const refusals = async () => {
      await overload(node);
      const answers = await Promise.all(Array.from({ length: 20 }, () => sayTo(node.origin, [request])));
      return { status: Number(answers[0]?.slice(9, 12)) };
    };
    expect(await answersSoon(refusals)).toBe(503);
  });

  test('gives no position to requests whose body has not arrived', async () => {
    const { origin, load } = await openNode(service, { atOnce: 4, waitMillis: 60_000 });
    const slow = Array.from({ length: 8 }, (_, nth) => {
      const headers = { ...session(`slow ${nth}`), 'Content-Length': '100' };
      const request = send(`${origin}/read`, { agent: false, headers, method: 'POST' });
      request.on('error', () => {});
      request.write('{');
      return request;
    });
    await expect.poll(() => load.state().answering).toBe(8);
    expect((await ask(origin, '/api/v1/contacts', bearer(await tenant.key()))).status).toBe(200);
    for (const request of slow) request.destroy();
    await expect.poll(() => load.state().answering).toBe(0);
  });
});

test('some of many 429 responses are delayed, and take no position meanwhile', async () => {
  const load = openLoadShedding({ atOnce: 1, waitMillis: 60_000 }, createLog('silent', { write: () => {} }));
  const app = new Hono();
  app.use(delayRefusals(load, { atOnce: 1, waitMillis: 600_000, most: 1 }));
  let refused = 0;
  app.get('/over', (c) => {
    refused += 1;
    return c.text('too many', 429);
  });
  app.get('/', (c) => c.text('hello'));
  const listener = await listen('127.0.0.1', 0);
  listener.answerWith(app, { load, lookAfterAnswers: () => {} });
  const origin = `http://127.0.0.1:${listener.port}`;
  onTestFinished(() => listener.close(1));
  expect((await ask(origin, '/over')).status).toBe(429);
  const socket = connect(listener.port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let said = '';
  socket.on('data', (part: Buffer) => (said += part.toString('latin1')));
  socket.write('GET /over HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await expect.poll(() => refused).toBe(2);
  // At most one refusal is delayed at a time.
  expect((await ask(origin, '/over')).status).toBe(429);
  expect((await ask(origin, '/')).status).toBe(200);
  expect(said).toBe('');
  expect(load.state()).toMatchObject({ answering: 0, waiting: 0 });
});

test('a lock on one table does not delay pages that do not use it', async () => {
  const service = await openService({ config: { poolSize: 10 } });
  onTestFinished(() => service.close());
  const tenant = await brokerage(service);
  const keys = await Promise.all(Array.from({ length: 30 }, () => tenant.key()));
  const person = await signInAs(service, tenant.admin);
  const unlock = await lockContacts(service);
  const held = keys.map((key) => ask(service.origin, '/api/v1/contacts', bearer(key)));
  await expect.poll(() => waitingForLocks(service)).toBeGreaterThanOrEqual(4);
  // None of the 30 requests is answered before these: they use at most eight of the ten connections.
  for (let round = 0; round < 5; round += 1) expect((await person.ask('/me')).status).toBe(200);
  expect(await waitingForLocks(service)).toBeLessThanOrEqual(8);
  await unlock();
  for (const { status } of await Promise.all(held)) expect([200, 503]).toContain(status);
});
