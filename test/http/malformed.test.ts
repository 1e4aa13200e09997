/** Malformed requests: rejected before a path is looked up, in the error format of the interface that was meant. */

import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openService, type TestService } from '../harness.ts';

let service: TestService;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

interface Said {
  status: number;
  headers: Map<string, string>;
  body: string;
}

/** The response to these bytes, read until the connection ends. */
function raw(request: string | Buffer): Promise<Said> {
  const { promise, resolve, reject } = Promise.withResolvers<Said>();
  const socket = connect(Number(new URL(service.origin).port), '127.0.0.1');
  let text = '';
  socket.on('data', (part) => (text += part.toString('latin1')));
  socket.on('error', reject);
  socket.on('close', () => {
    const [head = '', ...body] = text.split('\r\n\r\n');
    const [first = '', ...lines] = head.split('\r\n');
    const headers = new Map(lines.map((line) => [line.split(':', 1)[0]!.toLowerCase(), line.replace(/^[^:]*: ?/, '')]));
    resolve({ status: Number(first.split(' ')[1]), headers, body: body.join('\r\n\r\n') });
  });
  socket.write(request);
  return promise;
}

const ask = (target: string, ...lines: string[]) =>
  raw(Buffer.from([`GET ${target} HTTP/1.1`, ...lines, 'Connection: close', '', ''].join('\r\n'), 'latin1'));

/** Checks that a rejection has an id, safe headers and a line in the log like every response; returns its body. */
async function refused(answer: Promise<Said>, status = 400): Promise<unknown> {
  const { status: given, headers, body } = await answer;
  expect([given, body]).toEqual([status, expect.stringMatching(/^\{/)]);
  const id = headers.get('x-request-id') ?? '';
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(headers.get('connection')).toBe('close');
  expect(service.log.filter((line) => line.includes(id) && line.includes(`"status":${status}`))).toHaveLength(1);
  return JSON.parse(body);
}

/** Each interface with its error format; `header` is the header at fault. */
const interfaces: [path: string, form: (header?: string) => object][] = [
  [
    '/api/v1/contacts',
    (header) => ({
      error: {
        code: 'validation_error',
        message: expect.any(String),
        details: {
          faults: [
            {
              in: header ? 'header' : expect.stringMatching(/^(?:path|header|body)$/),
              path: header ?? '',
              message: expect.any(String),
            },
          ],
        },
      },
    }),
  ],
  ['/api/web/me', () => ({ error: { code: 'validation_error', message: expect.any(String) } })],
  ['/api/auth/session', () => ({ error: { code: 'validation_error', message: expect.any(String) } })],
  ['/api/mcp', () => ({ jsonrpc: '2.0', error: { code: expect.any(Number), message: expect.any(String) }, id: null })],
  ['/api/mcp/token', () => ({ error: 'invalid_request', error_description: expect.any(String) })],
  [
    '/.well-known/oauth-authorization-server',
    () => ({ error: 'invalid_request', error_description: expect.any(String) }),
  ],
];

describe.each(interfaces)('a malformed request to %s', (path, form) => {
  test('is rejected for an invalid Host', async () => {
    for (const host of [
      'aßèï/metrics#',
      'a/metrics#',
      'localhost/metrics?',
      'user@localhost',
      'localhost\\metrics',
      'local host',
      'localhost:',
      'localhost:x',
      'localhost:123456',
      '[::1',
      'é.example',
      '%zz',
      '',
    ])
      expect([host, await refused(ask(path, `Host: ${host}`))]).toEqual([host, form('Host')]);
  });

  test('is rejected for a missing or repeated Host', async () => {
    expect(await refused(ask(path))).toEqual(form('Host'));
    expect(await refused(ask(path, 'Host: localhost', 'Host: localhost'))).toEqual(form('Host'));
    expect(await refused(ask(path, 'Host: localhost', 'hOST: elsewhere.example'))).toEqual(form('Host'));
  });

  test('is rejected for a target that other servers could read differently', async () => {
    for (const target of [
      `/${path}`,
      `//elsewhere.example${path}`.replace('elsewhere.example/', '/'),
      `http://localhost${path}`,
      `${path}\\..\\metrics`.replace(/\\.*/, '\\'),
      `${path}#/metrics`,
    ]) {
      const body = await refused(ask(target, 'Host: localhost'));
      // With a trailing backslash it is another path.
      if (!target.endsWith('\\')) expect([target, body]).toEqual([target, form()]);
    }
  });

  test('is rejected in the error format of the interface also by Node.js itself', async () => {
    expect(await refused(ask(path, 'Host: localhost', 'Expect: 200-ok'), 417)).toEqual(form('Expect'));
    expect(await refused(ask(path, 'Host: localhost', `X-Large: ${'x'.repeat(20_000)}`), 431)).toEqual(form());
    expect(await refused(ask(path, 'Host: localhost', 'No colon'))).toEqual(form());
  });
});

test('routing depends on the target alone, never on Host, and ambiguous targets are rejected', async () => {
  const metrics = await ask('/metrics', 'Host: localhost');
  expect([metrics.status, metrics.body]).toEqual([200, expect.stringContaining('dealkeep_requests_total')]);
  for (const host of [
    'localhost',
    'elsewhere.example:8080',
    '[::1]:3000',
    '10.0.0.1',
    'a_b.example',
    "sub!$&'()*+,;=.d",
    '%41',
  ])
    expect([host, (await ask('/api/v1/contacts', `Host: ${host}`)).status]).toEqual([host, 401]);
  for (const target of [
    '/api/v1/../../metrics',
    '/api/v1/%2e%2E/.%2e/metrics',
    '/./metrics',
    '/x/..',
    '/met\trics',
    '/métrics',
  ])
    expect([target, (await ask(target, 'Host: localhost')).status]).toEqual([target, 400]);
});

test('a query may contain characters that a path may not', async () => {
  expect((await ask('/api/v1/contacts?cursor=a\\b//../c', 'Host: localhost')).status).toBe(401);
});

test('an HTTP/1.0 request needs no Host', async () => {
  expect((await raw('GET /healthz HTTP/1.0\r\n\r\n')).status).toBe(200);
});

test('input that is not HTTP gets a 400 response, and the connection is closed', async () => {
  for (const text of ['hello\r\n\r\n', '\u0016\u0003\u0001\u0002\u0000\u0001\r\n\r\n', 'GET / HTTP/9.9\r\n\r\n'])
    expect(await refused(raw(text))).toEqual({ error: { code: 'validation_error', message: expect.any(String) } });
});

test('a malformed second request on a connection does not affect the response to the first', async () => {
  const { status, body } = await raw('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nnonsense\r\n\r\n');
  expect([status, body.startsWith('ok')]).toEqual([200, true]);
});
