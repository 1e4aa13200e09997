/** The client in clients/typescript against the service for which it is made. */

import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  Dealkeep,
  Conflict,
  CursorExpired,
  DealkeepError,
  InvalidRequest,
  KeyRefused,
  NotFound,
  NotReached,
  RateLimited,
  ScopeMissing,
  ServiceFailed,
  etagOf,
  verifyWebhook,
  WebhookRefused,
  type DealkeepOptions,
} from '../../clients/typescript/src/index.ts';
import { publishChanges } from '../../server/domain/events/changes.ts';
import { generate, type OpenApiDocument } from '../../clients/typescript/generate.ts';
import { openService, type TestService } from '../harness.ts';
import { brokerage, type Brokerage, type KeyOptions } from './scene.ts';

let service: TestService;
let tenant: Brokerage;
beforeAll(async () => {
  // The client also covers the features that only some installations switch on.
  service = await openService({ config: { features: { findings: true, financing: true } } });
  tenant = await brokerage(service);
});
afterAll(() => service.close());

async function client(
  options: Partial<DealkeepOptions> = {},
  of: Brokerage = tenant,
  key: KeyOptions = {},
): Promise<Dealkeep> {
  const { token } = await of.key(key);
  return new Dealkeep({ url: service.origin, key: token, ...options });
}

type Disturbance = (answer: () => Promise<Response>) => Promise<Response>;

/**
 * `fetch` that answers its first requests with these responses, or loses the service's responses to them, before it
 * passes requests on unchanged.
 */
function disturbed(...others: readonly Disturbance[]) {
  const left = [...others];
  const sent: Request[] = [];
  const through: typeof fetch = (input, init) => {
    sent.push(new Request(input, init));
    const answer = () => fetch(input, init);
    return left.shift()?.(answer) ?? answer();
  };
  return { sent, fetch: through };
}

const answering = (status: number, headers: Record<string, string>) => async () =>
  Response.json(
    { error: { code: status === 429 ? 'rate_limited' : 'internal_error', message: 'Later.' } },
    { status, headers },
  );
const lost = async (answer: () => Promise<Response>): Promise<Response> => {
  await answer();
  throw new TypeError('fetch failed');
};

/**
 * A server in the place of the service, such as a proxy in front of it, that sends these responses in turn and then
 * repeats the last.
 */
async function proxied(...answers: readonly ((response: ServerResponse) => void)[]) {
  const asked: string[] = [];
  const proxy = createServer((request, response) => {
    const answer = answers[asked.length] ?? answers.at(-1);
    asked.push(`${request.method} ${request.url}`);
    request.resume().on('end', () => answer?.(response));
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const to = (options: Partial<DealkeepOptions> = {}) => new Dealkeep({ url, key: 'dk_test_', ...options });
  return { asked, to };
}

const says =
  (status: number, type: string, body: string, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void =>
    void response.writeHead(status, { 'Content-Type': type, ...headers }).end(body);
const empty = JSON.stringify({ data: [], pagination: { hasMore: false, nextCursor: null } });
const signIn = says(200, 'text/html', '<h1>Sign in</h1>');

const failed = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => null,
    (error: unknown) => error,
  );

test('the generated client matches the current operations; if not, run `npm run client`', async () => {
  const document = (await (await fetch(`${service.restUrl}/openapi.json`)).json()) as OpenApiDocument;
  const file = path.join(import.meta.dirname, '../../clients/typescript/src/generated.ts');
  await expect(await generate(document)).toMatchFileSnapshot(file);
});

test('lists are read page by page, in the order of the service, and only as far as needed', async () => {
  const own = await brokerage(service);
  const { sent, fetch: counted } = disturbed();
  const dealkeep = await client({ fetch: counted }, own);
  for (let n = 0; n < 5; n += 1) await dealkeep.createContact({ body: { type: 'person', displayName: `No. ${n}` } });
  sent.length = 0;
  const names: string[] = [];
  for await (const { displayName } of dealkeep.each('listContacts', { limit: 2 })) names.push(displayName);
  expect(names).toEqual(['No. 4', 'No. 3', 'No. 2', 'No. 1', 'No. 0']);
  expect(sent.length).toBe(3);
  for await (const _ of dealkeep.each('listContacts', { limit: 2 })) break;
  expect(sent.length).toBe(4);
});

describe('a change by the client', () => {
  test('is retried with the same idempotency key after a lost response, and made once', async () => {
    const own = await brokerage(service);
    const { sent, fetch: unsteady } = disturbed(lost, answering(503, { 'Retry-After': '0' }), lost);
    const dealkeep = await client({ fetch: unsteady }, own);
    const made = await dealkeep.createContact({ body: { type: 'company', displayName: 'Kestrel Creek Mechanical' } });
    expect(sent.length).toBe(4);
    expect(new Set(sent.map(({ headers }) => headers.get('idempotency-key'))).size).toBe(1);
    expect((await dealkeep.listContacts()).data).toEqual([made]);
    expect(await dealkeep.getContact({ contactId: made.id })).toEqual(made);
  });

  test("with the program's own idempotency key is made once, also after a restart", async () => {
    const [one, other] = [await client(), await client()];
    const body = { type: 'person', displayName: 'Ron Halvorsen' } as const;
    const key = await tenant.key();
    const again = () => new Dealkeep({ url: `${service.origin}/`, key: () => key.token });
    const first = await again().createContact({ idempotencyKey: 'inquiry-4711', body });
    expect(await again().createContact({ idempotencyKey: 'inquiry-4711', body })).toEqual(first);
    expect((await one.createContact({ body })).id).not.toBe((await other.createContact({ body })).id);
  });
});

test('a change with an outdated ETag is rejected as a conflict', async () => {
  const dealkeep = await client();
  const { id: contactId } = await dealkeep.createContact({ body: { type: 'person', displayName: 'Ron Halvorsen' } });
  const ifMatch = etagOf(await dealkeep.getContact({ contactId })) ?? '';
  expect(ifMatch).toMatch(/^".+"$/);
  const changed = await dealkeep.updateContact({ contactId, ifMatch, body: { phone: '1' } });
  await expect(dealkeep.updateContact({ contactId, ifMatch, body: { phone: '2' } })).rejects.toBeInstanceOf(Conflict);
  const newer = etagOf(changed) ?? '';
  expect((await dealkeep.updateContact({ contactId, ifMatch: newer, body: { phone: '3' } })).phone).toBe('3');
});

describe('an incomplete response', () => {
  const cut = (response: ServerResponse) => {
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': empty.length });
    response.write(empty.slice(0, 9), () => response.socket?.destroy());
  };
  const parts: [what: string, part: (response: ServerResponse) => void][] = [
    ['breaks off', cut],
    ['is a page of somebody before the service', signIn],
    ['is JSON without anything in it', says(200, 'application/json', '')],
    ['ends early', says(200, 'application/json', empty.slice(0, 9))],
    ['is nothing', (response) => response.writeHead(204).end()],
  ];

  test.each(parts)('that %s is retried where that is safe', async (_, part) => {
    const { asked, to } = await proxied(part, says(200, 'application/json', empty));
    expect((await to().listContacts()).data).toEqual([]);
    expect(asked).toEqual(['GET /api/v1/contacts', 'GET /api/v1/contacts']);
  });

  test.each(parts)(
    'that %s fails with NotReached after the last attempt, and uploads of streams are not retried',
    async (_, part) => {
      const { asked, to } = await proxied(part);
      const hurried = to({ attempts: 1 });
      expect(await failed(hurried.listContacts())).toBeInstanceOf(NotReached);
      expect(await failed(hurried.each('listContacts').next())).toBeInstanceOf(NotReached);
      const body = { type: 'person', displayName: 'Ron Halvorsen' } as const;
      expect(await failed(hurried.createContact({ body }))).toBeInstanceOf(NotReached);
      // A stream can be read only once, so the upload is not retried.
      asked.length = 0;
      const upload = to().uploadDocument({
        dealId: '019ac2b1-7d3e-7c52-9f04-5b8e6a1d2c30',
        filename: 'ledger.txt',
        category: 'financials',
        confidentiality: 'nda_gated',
        body: new Blob(['1']).stream(),
      });
      expect(await failed(upload)).toBeInstanceOf(NotReached);
      expect(asked).toHaveLength(1);
    },
  );

  test('to a deletion is an HTML page, but not an empty 204', async () => {
    const webhookId = '019ac2b1-7d3e-7c52-9f04-5b8e6a1d2c30';
    const { asked, to } = await proxied(signIn, (response) => response.writeHead(204).end());
    expect(await to().deleteWebhook({ webhookId })).toBeUndefined();
    expect(asked).toHaveLength(2);
  });

  test('is never assumed of a downloaded file, whatever it contains', async () => {
    const { to } = await proxied(signIn);
    const file = await to().getDocumentContent({
      documentId: '019ac2b1-7d3e-7c52-9f04-5b8e6a1d2c30',
    });
    expect(await file.text()).toBe('<h1>Sign in</h1>');
  });
});

describe('deletion by the client', () => {
  /** An existing webhook, and a client of its key whose first requests are disturbed. */
  async function webhook(...others: readonly Disturbance[]) {
    const { token } = await tenant.key({ scopes: ['webhooks:read', 'webhooks:write'] });
    const { sent, fetch: unsteady } = disturbed(...others);
    const steady = new Dealkeep({ url: service.origin, key: token });
    const { id: webhookId } = await steady.createWebhook({ body: { url: 'https://hooks.example.com/' } });
    return { sent, steady, webhookId, dealkeep: new Dealkeep({ url: service.origin, key: token, fetch: unsteady }) };
  }
  const away = (answer: () => Promise<Response>) => answer().then(answering(503, { 'Retry-After': '0' }));

  test.each([
    ['was lost', lost],
    ['was 503', away],
  ])('succeeds if its response %s and the retry finds nothing', async (_, first) => {
    const { sent, steady, webhookId, dealkeep } = await webhook(first);
    expect(await dealkeep.deleteWebhook({ webhookId })).toBeUndefined();
    expect(sent).toHaveLength(2);
    expect(await failed(steady.getWebhook({ webhookId }))).toBeInstanceOf(NotFound);
  });

  test('fails with NotFound if somebody else has deleted the webhook', async () => {
    const { sent, steady, webhookId, dealkeep } = await webhook(answering(429, { 'Retry-After': '0' }));
    await steady.deleteWebhook({ webhookId });
    // The request that got 429 did nothing, so the client does not count as the one that deleted the webhook.
    expect(await failed(dealkeep.deleteWebhook({ webhookId }))).toBeInstanceOf(NotFound);
    expect(sent).toHaveLength(2);
  });

  test('fails if the 404 of the retry comes from a proxy', async () => {
    const { asked, to } = await proxied(
      says(503, 'text/html', 'Later.', { 'Retry-After': '0' }),
      says(404, 'text/html', 'Nothing here.'),
    );
    const webhookId = '019ac2b1-7d3e-7c52-9f04-5b8e6a1d2c30';
    expect(await failed(to().deleteWebhook({ webhookId }))).toMatchObject({ status: 404, code: 'http_404' });
    expect(asked).toHaveLength(2);
  });
});

describe('a response with Retry-After', () => {
  test('is retried up to the allowed number of attempts', async () => {
    const busy = answering(429, { 'Retry-After': '0' });
    const passing = disturbed(busy, busy, answering(503, { 'Retry-After': new Date(0).toUTCString() }));
    expect((await (await client({ fetch: passing.fetch })).listContacts()).pagination).toBeDefined();
    expect(passing.sent.length).toBe(4);
    const staying = disturbed(busy, busy, busy);
    const dealkeep = await client({ fetch: staying.fetch, attempts: 3 });
    await expect(dealkeep.listContacts()).rejects.toBeInstanceOf(RateLimited);
    expect(staying.sent.length).toBe(3);
  });

  test('is not retried if the wait is too long', async () => {
    const { sent, fetch: away } = disturbed(answering(503, { 'Retry-After': '3600' }));
    await expect((await client({ fetch: away })).listContacts()).rejects.toBeInstanceOf(ServiceFailed);
    expect(sent.length).toBe(1);
  });

  test('stops being waited for when the request is aborted', async () => {
    const { fetch: away } = disturbed(answering(503, { 'Retry-After': '50' }));
    const dealkeep = await client({ fetch: away });
    const aborted = new AbortController();
    const asked = dealkeep.listContacts({}, { signal: aborted.signal });
    setImmediate(() => aborted.abort(new Error('Enough.')));
    await expect(asked).rejects.toThrow('Enough.');
  });
});

test.each([408, 502, 503, 504])('a response %d of a proxy is retried where that is safe', async (status) => {
  const { asked, to } = await proxied(says(status, 'text/html', 'Later.'), says(200, 'application/json', empty));
  expect((await to().listContacts()).data).toEqual([]);
  expect(asked).toHaveLength(2);
});

test('a redirect is not followed, and says where it leads', async () => {
  const { asked, to } = await proxied(says(301, 'text/html', '', { Location: 'https://dealkeep.example.com/' }));
  expect(await failed(to().listContacts())).toMatchObject({
    name: 'Redirected',
    message: expect.stringContaining('https://dealkeep.example.com/'),
  });
  expect(asked).toHaveLength(1);
});

test('what cannot be right is a TypeError that does not contain the key, and is not sent', async () => {
  const { asked, to } = await proxied(says(200, 'application/json', empty));
  const key = 'dk_test_first\nsecond';
  const made = (options: object) => new Dealkeep({ url: 'https://dealkeep.example.com', key: 'dk_test_', ...options });
  const wrong: readonly (() => unknown)[] = [
    () => made({ url: undefined }),
    () => made({ url: 'dealkeep.example.com' }),
    () => made({ url: 'dealkeep.example.com:443' }),
    () => made({ key }),
    () => made({ key: undefined }),
    () => to({ key: async () => key }).listContacts(),
    ...['', '.', '..', undefined].map(
      (externalId) => () => to().getContactByExternalId({ externalId: externalId as string }),
    ),
    () => to().listContacts({ ifMatch: '"x"' } as object),
  ];
  for (const attempt of wrong) {
    const error = await failed((async () => attempt())());
    expect(error).toBeInstanceOf(TypeError);
    expect((error as TypeError).message).not.toMatch(/first|second/);
  }
  expect(asked).toEqual([]);
});

test('a url may end as those of the reference do', async () => {
  const { token } = await tenant.key();
  const dealkeep = new Dealkeep({ url: `${service.restUrl}/`, key: `${token}\n` });
  expect((await dealkeep.listContacts()).data).toBeDefined();
});

test('a file that stops arriving ends with the time limit of its call', async () => {
  const { to } = await proxied((response) => response.writeHead(200, { 'Content-Length': 10 }).write('abc'));
  const file = await to().getDocumentContent({ documentId: '019ac2b1-7d3e-7c52-9f04-5b8e6a1d2c30' }, { timeout: 50 });
  expect(await failed(file.text())).toMatchObject({ name: 'TimeoutError' });
});

test('each error of the service has a class of its own, with its details', async () => {
  const dealkeep = await client();
  const nobody = await failed(dealkeep.getContact({ contactId: '019ac2b1-7d3e-7c52-9f04-5b8e6a1d2c30' }));
  expect(nobody).toBeInstanceOf(NotFound);
  expect(nobody).toMatchObject({ status: 404, code: 'contact_not_found', requestId: expect.stringMatching(/./) });
  const blank = await failed(dealkeep.createContact({ body: { type: 'person', displayName: ' ' } }));
  expect(blank).toBeInstanceOf(InvalidRequest);
  expect((blank as InvalidRequest).faults).toMatchObject([{ in: 'body', path: 'displayName' }]);
  const reader = await client({}, tenant, { scopes: ['contacts:read'] });
  const missing = await failed(reader.createContact({ body: { type: 'person', displayName: 'Ron' } }));
  expect(missing).toBeInstanceOf(ScopeMissing);
  expect((missing as ScopeMissing).requiredScope).toBe('contacts:write');
  const stranger = new Dealkeep({ url: service.origin, key: `dk_test_${'0'.repeat(32)}` });
  expect(await failed(stranger.listContacts())).toBeInstanceOf(KeyRefused);
  const limited = await client({ attempts: 1 }, tenant, { ceiling: 1 });
  await limited.listContacts();
  const over = await failed(limited.listContacts());
  expect(over).toBeInstanceOf(RateLimited);
  expect((over as RateLimited).retryAfter).toBeGreaterThan(0);
  const proxy = async () => new Response('<h1>Bad Gateway</h1>', { status: 502 });
  const broken = await failed((await client({ fetch: disturbed(proxy).fetch, attempts: 1 })).listContacts());
  expect(broken).toMatchObject({ code: 'http_502', message: 'The service answered 502.' });
  const gone = new Dealkeep({ url: 'http://127.0.0.1:1', key: 'dk_test_', attempts: 1 });
  expect(await failed(gone.listContacts())).toBeInstanceOf(NotReached);
  expect(nobody).toBeInstanceOf(DealkeepError);
});

describe('an error response of a proxy', () => {
  test.each([
    [400, InvalidRequest],
    [401, KeyRefused],
    [403, ScopeMissing],
    [404, NotFound],
    [409, Conflict],
    [410, CursorExpired],
    [413, InvalidRequest],
    [415, InvalidRequest],
    [429, RateLimited],
    [503, ServiceFailed],
  ])('with status %i has the class of that status', async (status, type) => {
    const { to } = await proxied(
      says(status, 'text/html', '<h1>No</h1>'),
      says(status, 'application/json', '{"error":{"code":7,"message":["No"],"details":"No"}}'),
      says(status, 'application/json', '{"error":"No"}'),
    );
    const hurried = to({ attempts: 1 });
    for (let nth = 0; nth < 3; nth += 1) {
      const error = await failed(hurried.listContacts());
      expect(error).toBeInstanceOf(type);
      const message = `The service answered ${status}.`;
      expect(error).toMatchObject({ status, code: `http_${status}`, message, details: {} });
    }
  });

  test('with status 429 has the wait of its Retry-After header or details', async () => {
    const page = (headers: Record<string, string>) => says(429, 'text/html', '<h1>No</h1>', headers);
    const { to } = await proxied(
      page({ 'Retry-After': '0' }),
      page({ 'Retry-After': '23' }),
      page({ 'Retry-After': new Date(0).toUTCString() }),
      says(429, 'application/json', '{"error":{"code":"rate_limited","details":{"retry_after":7}}}', {
        'Retry-After': '23',
      }),
      page({}),
    );
    const waits: unknown[] = [];
    const hurried = to({ attempts: 1 });
    for (let nth = 0; nth < 5; nth += 1) waits.push(((await failed(hurried.listContacts())) as RateLimited).retryAfter);
    expect(waits).toEqual([0, 23, 0, 7, 60]);
  });
});

/**
 * Publishes every committed change; polled because transactions of other tests in the cluster may still be in progress.
 */
const published = () =>
  expect
    .poll(async () => {
      const { moved, waits } = await service.database.run(publishChanges());
      return Boolean(moved) || !waits;
    })
    .toBe(true);

test('following yields changes after the cursor as they come, until it is aborted', async () => {
  const own = await brokerage(service);
  const dealkeep = await client({}, own, { scopes: ['contacts:read', 'contacts:write', 'events:read'] });
  const { pagination } = await dealkeep.listEvents({ after: 'latest' });
  const made: string[] = [];
  for (const displayName of ['Ada', 'Grace'])
    made.push((await dealkeep.createContact({ body: { type: 'person', displayName } })).id);
  await published();
  const ended = new AbortController();
  const after = pagination.nextCursor ?? undefined;
  const told: string[] = [];
  const following = dealkeep.follow({ after, every: 0.05 }, { signal: ended.signal });
  for await (const { data } of following) {
    told.push(...data.map(({ objectId }) => objectId));
    if (told.length === 2 && made.length === 2)
      made.push((await dealkeep.createContact({ body: { type: 'person', displayName: 'Mary' } })).id);
    await published();
    if (told.length === 3) ended.abort(new Error('Enough.'));
  }
  expect(told).toEqual(made);
});

const page = (hasMore: boolean) =>
  says(200, 'application/json', JSON.stringify({ data: [], pagination: { hasMore, nextCursor: 'x' } }));

test('following goes on after the service was away', async () => {
  const { asked, to } = await proxied(page(true), (response) => response.socket?.destroy(), page(true));
  const ended = new AbortController();
  let seen = 0;
  for await (const _ of to({ attempts: 1 }).follow({ every: 0.01 }, { signal: ended.signal }))
    if ((seen += 1) === 2) ended.abort();
  expect([seen, asked.length]).toEqual([2, 3]);
});

describe('following ends', () => {
  test.each([
    ['before it began', page(true), 0],
    ['while it waits', page(false), 1],
    ['between two pages', page(true), 1],
  ])('when aborted %s', async (when, answer, pages) => {
    const { asked, to } = await proxied(answer);
    const ended = new AbortController();
    if (pages === 0) ended.abort();
    let seen = 0;
    for await (const _ of to().follow({}, { signal: ended.signal })) {
      seen += 1;
      if (when === 'while it waits') setImmediate(() => ended.abort());
      else ended.abort();
    }
    expect([seen, asked.length]).toEqual([pages, pages]);
  });

  test('when aborted during a request or the wait for a retry', async () => {
    const asking = new AbortController();
    const silent = await proxied(() => asking.abort());
    for await (const _ of silent.to().follow({}, { signal: asking.signal })) expect.unreachable();
    const waiting = new AbortController();
    const busy = await proxied((response) => {
      says(503, 'text/html', 'Later.', { 'Retry-After': '50' })(response);
      response.on('close', () => setImmediate(() => waiting.abort()));
    });
    for await (const _ of busy.to().follow({}, { signal: waiting.signal })) expect.unreachable();
    const signal = AbortSignal.timeout(1);
    for await (const _ of (await proxied(() => {})).to().follow({}, { signal })) expect.unreachable();
  });

  test('with the error if it was not aborted', async () => {
    const { to } = await proxied(says(410, 'text/html', 'Gone.'));
    const { signal } = new AbortController();
    expect(await failed(to().follow({}, { signal }).next())).toBeInstanceOf(CursorExpired);
    expect(await failed(to().follow().next())).toBeInstanceOf(CursorExpired);
    const late = await proxied(() => {});
    const hurried = late.to({ attempts: 1, timeout: 1 });
    expect(await failed(hurried.follow({}, { signal }).next())).toBeInstanceOf(NotReached);
  });
});

describe('verification of a webhook', () => {
  const secret = `whsec_${randomBytes(24).toString('base64')}`;
  const body = JSON.stringify({ type: 'contact.created', data: { displayName: 'Zoë' } });
  const now = new Date('2026-11-20T12:00:00Z');
  const sign = (by: string, id: string, timestamp: string, text: string) =>
    `v1,${createHmac('sha256', Buffer.from(by.slice('whsec_'.length), 'base64'))
      .update(`${id}.${timestamp}.${text}`)
      .digest('base64')}`;
  const signed = (changes: Record<string, string> = {}, by = secret) => {
    const timestamp = changes['webhook-timestamp'] ?? String(now.getTime() / 1_000);
    return {
      'webhook-id': 'msg_1',
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1a,x ${sign(by, 'msg_1', timestamp, body)}`,
      ...changes,
    };
  };

  test('accepts a signature by either of two secrets, for text and bytes', async () => {
    const expected = { id: 'msg_1', event: JSON.parse(body) as unknown };
    expect(await verifyWebhook({ body, headers: signed(), secret, now })).toEqual(expected);
    const old = `whsec_${randomBytes(24).toString('base64')}`;
    const bytes = new TextEncoder().encode(body);
    const headers = new Headers(signed({}, old));
    const likeHeaders = { get: (name: string) => headers.get(name) };
    expect(await verifyWebhook({ body, headers: likeHeaders, secret: old, now })).toEqual(expected);
    expect(await verifyWebhook({ body: bytes, headers, secret: [secret, old], now })).toEqual(expected);
    expect(
      await verifyWebhook({
        body,
        headers: signed({ 'webhook-timestamp': '1763639700' }),
        secret,
        now: new Date(1_763_640_000_000),
      }),
    ).toEqual(expected);
  });

  test.each([
    ['without a secret', { secret: undefined as unknown as string }],
    ['with a body that was parsed', { body: JSON.parse(body) as string }],
  ])('called %s throws a TypeError', async (_, changes) => {
    await expect(verifyWebhook({ body, headers: signed(), secret, now, ...changes })).rejects.toBeInstanceOf(TypeError);
  });

  test.each([
    ['changed', { body: `${body} ` }],
    ['of another secret', { secret: `whsec_${randomBytes(24).toString('base64')}` }],
    ['too old', { now: new Date(now.getTime() + 301_000) }],
    ['from the future', { now: new Date(now.getTime() - 301_000) }],
    ['under another id', { headers: signed({ 'webhook-id': 'msg_2' }) }],
    ['without a signature', { headers: signed({ 'webhook-signature': '' }) }],
    ['with one that is no base64', { headers: signed({ 'webhook-signature': 'v1,%%%' }) }],
    ['with a time that is none', { headers: { ...signed(), 'webhook-timestamp': '1e9' } }],
  ])('rejects a webhook that is %s', async (_, changes) => {
    await expect(verifyWebhook({ body, headers: signed(), secret, now, ...changes })).rejects.toBeInstanceOf(
      WebhookRefused,
    );
  });
});
