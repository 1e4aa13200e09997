/** Bad input of every kind gets a 4xx with a sentence that says what to change, and never a 500. */

import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../server/config/config.ts';
import { openService, type TestService } from '../harness.ts';
import { as, brokerage, type Brokerage, type Key } from './scene.ts';

let service: TestService;
let tenant: Brokerage;
let key: Key;
let call: ReturnType<typeof as>;

beforeAll(async () => {
  service = await openService({ config: { rateLimits: { ...readConfig({}).rateLimits, rest_ip: 1_000_000 } } });
  tenant = await brokerage(service);
  key = await tenant.key();
  call = as(key, service.restUrl);
});
afterAll(async () => {
  const [count] = await service.sql('select count(*)::int as n from contacts where brokerage_id = $1', [tenant.id]);
  expect(count?.['n']).toBe(0);
  await service.close();
});

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
const person = (more: string) => `{"type":"person",${more}}`;

describe('bodies', () => {
  test.each<[name: string, body: string | Uint8Array, path: string, says: RegExp]>([
    ['nothing', '', '', /empty/],
    ['blanks', ' \n ', '', /empty/],
    ['broken JSON', '{"type":', '', /not valid JSON/],
    ['single quotes', "{'type':'person'}", '', /not valid JSON/],
    ['a comment', '{"type":"person"} // x', '', /not valid JSON/],
    ['NaN', person('"displayName":NaN'), '', /not valid JSON/],
    ['a raw newline in a text', person('"displayName":"a\nb"'), '', /not valid JSON/],
    ['a raw null character', person('"displayName":"a\0b"'), '', /not valid JSON/],
    ['an array', '[]', '', /JSON object/],
    ['null', 'null', '', /JSON object/],
    ['a number', '1', '', /JSON object/],
    ['a text', '"person"', '', /JSON object/],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), '', /UTF-8/],
    ['UTF-16', Buffer.from('{"type":"person"}', 'utf16le'), '', /JSON|UTF-8/],
    ['deep nesting', person(`"displayName":"a","x":${nested(1000)}`), '', /nested too deeply: at most 32/],
    ['very deep nesting', nested(30_000), '', /nested too deeply/],
    ['very deep objects', '{"a":'.repeat(10_000), '', /nested too deeply/],
    ['a property twice', person('"displayName":"a","displayName":"b"'), 'displayName', /twice/],
    ['a property twice, once escaped', person('"displayName":"a","display\\u004eame":"b"'), 'displayName', /twice/],
    ['a property twice inside', person('"displayName":"a","x":[{"y":1},{"z":{"k":1,"k":2}}]'), 'x.z.k', /twice/],
    ['no type', '{"displayName":"a"}', 'type', /Required.*"person" or "company"/],
    ['an unknown type', '{"type":"dog","displayName":"a"}', 'type', /^Send "person" or "company"/],
    ['a type in capitals', '{"type":"Person","displayName":"a"}', 'type', /"person"/],
    ['no name', '{"type":"person"}', 'displayName', /Required/],
    ['a name that is null', person('"displayName":null'), 'displayName', /Send a text/],
    ['a name that is a number', person('"displayName":5'), 'displayName', /Send a text/],
    ['a name that is an object', person('"displayName":{"$ne":1}'), 'displayName', /Send a text/],
    ['an empty name', person('"displayName":""'), 'displayName', /blank/],
    ['a blank name', person('"displayName":" \\t\\u00a0\\u3000"'), 'displayName', /blank/],
    ['a name that is not to be seen', person('"displayName":"\\u200b\\u2060"'), 'displayName', /blank/],
    ['a null character', person('"displayName":"a\\u0000b"'), 'displayName', /null character/],
    ['a lone high surrogate', person('"displayName":"a\\ud83d"'), 'displayName', /surrogate/],
    ['a lone low surrogate', person('"displayName":"\\ude00b"'), 'displayName', /surrogate/],
    ['an email that is null', person('"displayName":"a","email":null'), 'email', /leave the property out/],
    ['an email that is none', person('"displayName":"a","email":"a@b"'), 'email', /not an e-mail/],
    ['an empty email', person('"displayName":"a","email":""'), 'email', /not an e-mail/],
    [
      'an email of 255 characters',
      person(`"displayName":"a","email":"${'a'.repeat(243)}@example.com"`),
      'email',
      /at most 254/,
    ],
    [
      'an email with a null character',
      person('"displayName":"a","email":"a@example.com\\u0000"'),
      'email',
      /null char/,
    ],
    ['a phone that is a number', person('"displayName":"a","phone":15551234'), 'phone', /Send a text/],
    ['an unknown property', person('"displayName":"a","createdAt":"2020-01-01"'), 'createdAt', /no such property/],
    ['an id', person('"displayName":"a","id":"1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed"'), 'id', /no such property/],
    ['__proto__', person('"displayName":"a","__proto__":{"admin":true}'), '__proto__', /no such property/],
    ['a property with a null character', person('"displayName":"a","a\\u0000":1'), 'a\0', /no such property/],
    ['a property with half a surrogate', person('"displayName":"a","\\ud800":1'), '\ud800', /no such property/],
    ['an empty property', person('"displayName":"a","":1'), '', /no such property/],
  ])('%s', async (_, body, path, says) => {
    const answer = await call('POST', '/contacts', body, { 'Content-Type': 'application/json' });
    expect(answer.status).toBe(400);
    expect(answer.body?.error.code).toBe('validation_error');
    const { faults } = answer.body!.error.details;
    expect(faults).toContainEqual({ in: 'body', path, message: expect.stringMatching(says) });
    expect(answer.body?.error.message).toContain(faults[0]?.message);
  });

  test('every error is listed with its path', async () => {
    const { body } = await call('POST', '/contacts', { type: 1, displayName: '', email: 'x', phone: [], a: 1, b: 2 });
    expect(body?.error.details.faults.map(({ path }) => path)).toEqual([
      'type',
      'displayName',
      'email',
      'phone',
      'a',
      'b',
    ]);
  });

  test('a flood of unknown properties gets a short response', async () => {
    const flood = Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`k${n}`, n]));
    const { status, text } = await call('POST', '/contacts', { ...flood, ['x'.repeat(20_000)]: 1 });
    expect(status).toBe(400);
    expect(text.length).toBeLessThan(10_000);
  });

  test.each<[type: string | null]>([
    [null],
    ['text/plain'],
    ['application/x-www-form-urlencoded'],
    ['multipart/form-data; boundary=x'],
    ['application/json; charset=iso-8859-1'],
    ['application/jsonp'],
    ['application/xml'],
  ])('content type %s is 415', async (type) => {
    const body = Buffer.from('{"type":"person","displayName":"a"}');
    const answer = await call('POST', '/contacts', body, { 'Content-Type': type ?? '' });
    expect(answer.status).toBe(415);
    expect(answer.body?.error).toMatchObject({
      code: 'validation_error',
      details: { faults: [{ in: 'header', path: 'Content-Type', message: expect.stringMatching(/JSON/) }] },
    });
  });

  test('a compressed body is 415', async () => {
    const answer = await call('POST', '/contacts', Buffer.from('x'), {
      'Content-Type': 'application/json',
      'Content-Encoding': 'gzip',
    });
    expect([answer.status, answer.body?.error.details.faults[0]?.path]).toEqual([415, 'Content-Encoding']);
  });

  test('a body over 64 kB is 413, with or without Content-Length', async () => {
    const body = person(`"displayName":"${'x'.repeat(70_000)}"`);
    const announced = await call('POST', '/contacts', body, { 'Content-Type': 'application/json' });
    expect([announced.status, announced.body?.error.code]).toEqual([413, 'validation_error']);
    const chunked = await fetch(`${service.restUrl}/contacts`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key.token}`, 'Content-Type': 'application/json' },
      body: new ReadableStream({
        start(controller) {
          for (let sent = 0; sent < 20; sent += 1) controller.enqueue(Buffer.from(' '.repeat(10_000)));
          controller.close();
        },
      }),
      duplex: 'half',
    } as RequestInit);
    expect(chunked.status).toBe(413);
    expect(await chunked.json()).toMatchObject({ error: { code: 'validation_error' } });
  });

  test('a body of exactly 64 kB is validated, and one byte more is 413', async () => {
    const body = ' '.repeat(65_536 - 2) + '{}';
    expect((await call('POST', '/contacts', body, { 'Content-Type': 'application/json' })).status).toBe(400);
    expect((await call('POST', '/contacts', ` ${body}`, { 'Content-Type': 'application/json' })).status).toBe(413);
  });
});

describe('idempotency keys', () => {
  test.each([' ', 'a b', 'x'.repeat(256), 'clé', 'a, b'])('"%s" is rejected', async (value) => {
    const answer = await call('POST', '/contacts', { type: 'person', displayName: 'a' }, { 'Idempotency-Key': value });
    expect(answer.status).toBe(400);
    expect(answer.body?.error.details.faults).toMatchObject([{ in: 'header', path: 'Idempotency-Key' }]);
  });
});

describe('raw requests that no client library would send', () => {
  async function raw(text: string): Promise<string> {
    const { hostname, port } = new URL(service.origin);
    const socket = connect(Number(port), hostname);
    socket.write(text);
    let answer = '';
    for await (const chunk of socket) answer += chunk;
    return answer;
  }
  const head = (first: string, ...more: string[]) =>
    [first, 'Host: x', 'Connection: close', `Authorization: Bearer ${key.token}`, ...more, '', ''].join('\r\n');

  test.each([
    ['TRACE', (): string => head('TRACE /api/v1/contacts HTTP/1.1'), /^HTTP\/1\.1 405 /],
    ['a bad escape in the path', (): string => head('GET /api/v1/contacts/%zz HTTP/1.1'), /^HTTP\/1\.1 404 /],
    ['a path with dots', (): string => head('GET /api/v1/../v1/contacts/x HTTP/1.1'), /^HTTP\/1\.1 400 /],
    ['bytes in the query', (): string => head('GET /api/v1/contacts?limit=\u00e9 HTTP/1.1'), /^HTTP\/1\.1 400 /],
    [
      'a bad escape in the query',
      (): string => head('GET /api/v1/contacts?cursor=%ff%zz HTTP/1.1'),
      /^HTTP\/1\.1 400 /,
    ],
    [
      'an announced length that is none',
      (): string => head('POST /api/v1/contacts HTTP/1.1', 'Content-Length: x'),
      /^HTTP\/1\.1 400 /,
    ],
    ['an empty key', (): string => head('GET /api/v1/contacts HTTP/1.1').replace(key.token, ''), /^HTTP\/1\.1 401 /],
  ])('%s', async (_, text, answer) => {
    expect(await raw(text())).toMatch(answer);
  });

  test('a client that disconnects in the middle of its body does not affect the service', async () => {
    const { hostname, port } = new URL(service.origin);
    const socket = connect(Number(port), hostname);
    socket.write(
      head('POST /api/v1/contacts HTTP/1.1', 'Content-Type: application/json', 'Content-Length: 500') + '{"type"',
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await call('GET', '/contacts')).status).toBe(200);
  });
});
