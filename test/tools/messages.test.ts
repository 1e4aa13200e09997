/** What clients send and receive: headers, bodies, methods and versions of both eras. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { instructions } from '../../server/tools/instructions.ts';
import { openService, type TestService } from '../harness.ts';
import { catalog } from '../../server/tools/catalog/index.ts';
import { addFullDeal, addPerson, addToken, send, type Access } from './scene.ts';

let service: TestService;
let access: Access;

beforeAll(async () => {
  service = await openService();
  access = await addToken(service, await addPerson(service, 'Ann Bell'));
});
afterAll(() => service.close());

const message = (method: string, params: object = {}, id: string | number = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});
const capabilities = {
  tools: { listChanged: false },
  resources: { listChanged: false, subscribe: false },
  prompts: { listChanged: false },
  completions: {},
};
const list = message('tools/list');
const deals = message('tools/call', { name: 'svc_deals_list', arguments: {} });

const modern = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
};
const modernHeaders = (method: string, name?: string) => ({
  'MCP-Protocol-Version': '2026-07-28',
  'Mcp-Method': method,
  ...(name ? { 'Mcp-Name': name } : {}),
});

/** The responses to the same message from a client of 2025 and from one of 2026. */
async function inBothEras(method: string, params: object | undefined, name?: string) {
  return [
    await send(service, access.token, { ...message(method), params }),
    await send(service, access.token, message(method, { ...params, _meta: modern }), {
      headers: modernHeaders(method, name),
    }),
  ];
}

describe('requests and responses', () => {
  test.each([
    undefined,
    '*/*',
    'application/json',
    'application/*',
    'text/event-stream, application/json',
    'application/json;q=0.9, text/html',
  ])('Accept: %s is answered with JSON', async (accept) => {
    const response = await fetch(`${service.mcpUrl}/api/mcp`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Authorization: `Bearer ${access.token}`,
        ...(accept ? { Accept: accept } : {}),
      },
      body: JSON.stringify(deals),
    });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
  });

  test.each(['text/html', 'text/event-stream', 'application/jsonp'])('Accept: %s is 406', async (Accept) => {
    const { status, body } = await send(service, access.token, deals, { headers: { Accept } });
    expect([status, body?.error.code]).toEqual([406, 406]);
  });

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx', ''])(
    'Content-Type: %s is 415',
    async (type) => {
      const { status } = await send(service, access.token, deals, { headers: { 'Content-Type': type } });
      expect(status).toBe(415);
    },
  );

  test('Content-Type with a charset is accepted', async () => {
    const headers = { 'Content-Type': 'application/json; charset=utf-8' };
    expect((await send(service, access.token, deals, { headers })).status).toBe(200);
  });

  test('a call on the fast path has the headers and body of a call through the regular routes', async () => {
    const answerTo = async (type: string, body: object) => {
      const response = await fetch(`${service.mcpUrl}/api/mcp`, {
        method: 'POST',
        headers: { 'Content-Type': type, Authorization: `Bearer ${access.token}`, 'X-Request-Id': 'the-same' },
        body: JSON.stringify(body),
      });
      const headers = [...response.headers].filter(([name]) => !/^(date|x-ratelimit-(remaining|reset))$/.test(name));
      return { status: response.status, headers, names: [...response.headers.keys()], text: await response.text() };
    };
    await answerTo('application/json', deals);
    for (const body of [deals, message('tools/call', { name: 'svc_deals_get', arguments: { deal_id: 'none' } })])
      expect(await answerTo('application/json', body)).toEqual(await answerTo('application/json;charset=utf-8', body));
  });

  test('a body over 1 MiB is 413, with or without Content-Length, and the next request succeeds', async () => {
    const large = JSON.stringify(
      message('tools/call', { name: 'svc_deals_list', arguments: { state: 'x'.repeat(5_000_000) } }),
    );
    const { status, body } = await send(service, access.token, large);
    expect([status, body?.error]).toEqual([
      413,
      { code: 413, message: 'The body is too large: send at most 1048576 bytes (1 MiB).' },
    ]);
    const unannounced = await fetch(`${service.mcpUrl}/api/mcp`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${access.token}` },
      body: new Blob([large]).stream(),
      duplex: 'half',
    } as RequestInit);
    expect(unannounced.status).toBe(413);
    expect((await send(service, access.token, deals)).status).toBe(200);
  });

  test('a large body is rejected with 401, 403 or 413 by the first check that fails', async () => {
    const large = JSON.stringify(message('tools/list', { padding: 'x'.repeat(1_060_000) }));
    for (let times = 0; times < 5; times += 1) {
      expect((await send(service, null, large)).status).toBe(401);
      expect((await send(service, access.token, large, { headers: { Origin: 'https://evil.example' } })).status).toBe(
        403,
      );
      expect((await send(service, access.token, large)).status).toBe(413);
    }
  });

  test('a body just under 1 MiB is read', async () => {
    const large = message('tools/call', { name: 'svc_deals_list', arguments: { state: 'x'.repeat(1_040_000) } });
    expect((await send(service, access.token, large)).body?.result.structuredContent).toMatchObject({
      error: 'validation_error',
    });
  });

  test('invalid JSON and invalid UTF-8 are parse errors', async () => {
    for (const body of ['{', '', 'null true', '{"jsonrpc":"2.0",}']) {
      const { status, body: answer } = await send(service, access.token, body);
      expect([status, answer?.error.code, answer?.id]).toEqual([400, -32_700, null]);
    }
    const response = await fetch(`${service.mcpUrl}/api/mcp`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${access.token}` },
      body: Buffer.from([0x22, 0xff, 0x22]),
    });
    expect(response.status).toBe(400);
  });

  test('JSON that is not JSON-RPC is an invalid request', async () => {
    for (const body of [
      null,
      5,
      'text',
      {},
      { id: 1, method: 'tools/list' },
      { jsonrpc: '1.0', id: 1, method: 'x' },
      { jsonrpc: '2.0', id: 1 },
      [],
    ]) {
      const { status, body: answer } = await send(service, access.token, JSON.stringify(body));
      expect([status, answer?.error.code]).toEqual([400, -32_600]);
    }
  });

  test('an unknown method is -32601, an unknown tool -32602, a cursor -32602, in both eras', async () => {
    const older = async (asked: object) => (await send(service, access.token, asked)).body?.error;
    const newer = async (method: string, params: object, name?: string) =>
      (
        await send(service, access.token, message(method, { ...params, _meta: modern }), {
          headers: modernHeaders(method, name),
        })
      ).body?.error;
    expect(await older(message('nonsense/do'))).toMatchObject({ code: -32_601 });
    expect(await newer('nonsense/do', {})).toMatchObject({ code: -32_601 });
    for (const error of [
      await older(message('tools/call', { name: 'svc_nonsense' })),
      await newer('tools/call', { name: 'svc_nonsense' }, 'svc_nonsense'),
    ]) {
      expect(error).toEqual({
        code: -32_602,
        message: 'Unknown tool: svc_nonsense. tools/list names the tools.',
      });
    }
    expect(await older(message('tools/list', { cursor: 'x' }))).toMatchObject({ code: -32_602 });
    expect(await newer('tools/list', { cursor: 'x' })).toMatchObject({ code: -32_602 });
    expect((await older(message('tools/call', { name: 'n'.repeat(100_000) })))?.message.length).toBeLessThan(150);
  });

  test('malformed calls are -32602', async () => {
    for (const params of [{}, { name: 5 }, undefined]) {
      for (const { body } of await inBothEras('tools/call', params, 'svc_deals_list'))
        expect(body?.error).toEqual({ code: -32_602, message: expect.stringMatching(/^Invalid params: params/) });
    }
    for (const { body } of await inBothEras('tools/list', { cursor: 5 }))
      expect(body?.error).toEqual({
        code: -32_602,
        message: 'Invalid params: params.cursor: Invalid input: expected string, received number',
      });
    const { body } = await send(service, access.token, message('initialize', { protocolVersion: null }));
    expect(body?.error).toEqual({
      code: -32_602,
      message: expect.stringMatching(/^Invalid params: params\.protocolVersion: [^[{]*$/),
    });
  });

  test.each(['all', 5, [1], false])('arguments that are %j are a validation error', async (given) => {
    for (const [name, inputs] of [
      ['svc_deals_list', 'state, brokerage_id'],
      ['svc_deals_get', 'deal_id'],
    ] as const) {
      for (const { status, body } of await inBothEras('tools/call', { name, arguments: given }, name)) {
        expect([status, body?.result.isError]).toEqual([200, true]);
        expect(body?.result.structuredContent).toEqual({
          error: 'validation_error',
          message: `Nothing was done, because the input is not valid. The input must be an object with the inputs ${inputs}. It has the wrong type. Correct it and call again.`,
          details: [{ path: '', message: 'It has the wrong type.', allowed: `an object with the inputs ${inputs}` }],
        });
      }
    }
  });

  test('arguments that are null are none', async () => {
    for (const { body } of await inBothEras(
      'tools/call',
      { name: 'svc_deals_list', arguments: null },
      'svc_deals_list',
    ))
      expect(body?.result.structuredContent).toHaveProperty('deals');
    for (const { body } of await inBothEras('tools/call', { name: 'svc_deals_get', arguments: null }, 'svc_deals_get'))
      expect(body?.result.structuredContent.details).toMatchObject([{ path: 'deal_id' }]);
    const prompt = { name: 'what_changed', arguments: null };
    for (const { body } of await inBothEras('prompts/get', prompt, prompt.name))
      expect(body).toMatchObject({ result: { messages: [{ role: 'user' }] } });
  });

  test.each(['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'])(
    'optional parameters of %s that are null count as left out',
    async (method) => {
      for (const { body } of await inBothEras(method, { cursor: null })) expect(body).toHaveProperty('result');
      for (const params of [null, { _meta: null }, { cursor: null, _meta: null }]) {
        const { body } = await send(service, access.token, { jsonrpc: '2.0', id: 1, method, params });
        expect(body).toHaveProperty('result');
      }
    },
  );

  test.each([
    ['svc_deals_get', { deal_id: 'Corner bakery' }, 'It is not a UUID.'],
    ['svc_deals_get', { deal_id: 5 }, 'It has the wrong type.'],
    ['svc_qoe_pl_periods', { start_date: '2024-01' }, 'It is not in this format.'],
    ['svc_qoe_pl_periods', { start_date: '2026-02-30' }, 'There is no such day.'],
    ['svc_qoe_pl_periods', { start_date: '0000-01-01' }, 'There is no year 0.'],
    ['svc_qoe_pl_periods', { start_date: 2024 }, 'It has the wrong type.'],
    ['svc_documents_list', { confidentiality_level: 'secret' }, 'It is not an allowed value.'],
    ['svc_documents_list', { confidentiality_level: ['public'] }, 'It has the wrong type.'],
    ['svc_documents_list', { category: 5.5 }, 'It has the wrong type.'],
  ])('%s with %j is a validation error that states the problem', async (name, given, expected) => {
    const [path] = Object.keys(given);
    const input = { deal_id: crypto.randomUUID(), ...given };
    const { body } = await send(service, access.token, message('tools/call', { name, arguments: input }));
    expect(body?.result.structuredContent).toMatchObject({
      error: 'validation_error',
      message: expect.stringContaining(` ${expected} Correct it`),
      details: [{ path, message: expected }],
    });
  });

  test('error codes are those of the protocol, never -32002, or HTTP statuses', async () => {
    const ofProtocol = new Set([-32_700, -32_600, -32_601, -32_602, -32_603, -32_020, -32_022]);
    const unknown = { ...modern, 'io.modelcontextprotocol/protocolVersion': '2031-01-01' };
    const refused = [
      await send(service, null, deals),
      await send(service, access.token, deals, { headers: { Origin: 'https://evil.example' } }),
      await send(service, access.token, undefined, { method: 'GET' }),
      await send(service, access.token, deals, { headers: { Accept: 'text/html' } }),
      await send(service, access.token, 'x'.repeat(2_000_000)),
      await send(service, access.token, deals, { headers: { 'Content-Type': 'text/plain' } }),
      await send(service, access.token, '{'),
      await send(service, access.token, '5'),
      await send(service, access.token, message('nonsense')),
      await send(service, access.token, message('tools/call', { name: 'svc_nonsense' })),
      await send(service, access.token, message('resources/read', { uri: 'deal://nowhere' })),
      await send(service, access.token, message('prompts/get', { name: 'nothing' })),
      await send(service, access.token, message('tools/list', { _meta: modern }), { headers: modernHeaders('ping') }),
      await send(service, access.token, message('tools/list', { _meta: unknown }), {
        headers: { ...modernHeaders('tools/list'), 'MCP-Protocol-Version': '2031-01-01' },
      }),
    ].map(({ status, body }) => ({ status, code: body?.error.code ?? status }));
    for (const { status, code } of refused) {
      if (code > 0) expect(code).toBe(status);
      else expect([...ofProtocol]).toContain(code);
    }
    expect(new Set(refused.map(({ code }) => code)).size).toBeGreaterThan(10);
  });

  test('headers of 2026-07-28 that contradict the body are rejected', async () => {
    const call = message('tools/call', { name: 'svc_deals_list', arguments: {}, _meta: modern });
    const good = modernHeaders('tools/call', 'svc_deals_list');
    expect((await send(service, access.token, call, { headers: good })).status).toBe(200);
    for (const wrong of [
      { 'Mcp-Name': 'svc_deals_get' },
      { 'Mcp-Method': 'tools/list' },
      { 'MCP-Protocol-Version': '2025-11-25' },
    ]) {
      const { status, body } = await send(service, access.token, call, { headers: { ...good, ...wrong } });
      expect([status, body?.error.code]).toEqual([400, -32_020]);
    }
    const { status, body } = await send(service, access.token, call, { headers: { 'Mcp-Method': 'tools/call' } });
    expect([status, body?.error.code]).toEqual([400, -32_020]);
  });

  test('unknown versions of the protocol are rejected', async () => {
    const unknown = { ...modern, 'io.modelcontextprotocol/protocolVersion': '2031-01-01' };
    const headers = { ...modernHeaders('tools/list'), 'MCP-Protocol-Version': '2031-01-01' };
    const newer = await send(service, access.token, message('tools/list', { _meta: unknown }), { headers });
    expect([newer.status, newer.body?.error.code]).toEqual([400, -32_022]);
    expect(newer.body?.error.data).toMatchObject({ supported: ['2026-07-28'] });
    const older = await send(service, access.token, list, { headers: { 'MCP-Protocol-Version': '2020-01-01' } });
    expect(older.status).toBe(400);
  });

  test('a client of any revision of 2025 gets its own revision', async () => {
    for (const protocolVersion of ['2025-11-25', '2025-06-18', '2025-03-26']) {
      const { body } = await send(
        service,
        access.token,
        message('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'old', version: '1' } }),
      );
      expect(body?.result).toMatchObject({
        protocolVersion,
        capabilities,
        serverInfo: { name: 'dealkeep', title: 'Dealkeep' },
      });
    }
  });

  test.each(['2024-11-05', '2024-10-07', '2026-07-28', '2031-01-01'])(
    'a client that initializes with %s is offered the latest revision of 2025',
    async (protocolVersion) => {
      const asked = { protocolVersion, capabilities: {}, clientInfo: { name: 'other', version: '1' } };
      const { body } = await send(service, access.token, message('initialize', asked));
      expect(body?.result).toEqual({
        protocolVersion: '2025-11-25',
        capabilities,
        serverInfo: { name: 'dealkeep', title: 'Dealkeep', version: expect.any(String), icons: expect.any(Array) },
        instructions,
      });
      if (protocolVersion === '2026-07-28') return;
      const { status } = await send(service, access.token, list, {
        headers: { 'MCP-Protocol-Version': protocolVersion },
      });
      expect(status).toBe(400);
    },
  );

  test('lists and discovery state how long and for whom they may be cached', async () => {
    for (const method of [
      'tools/list',
      'resources/list',
      'resources/templates/list',
      'prompts/list',
      'server/discover',
    ]) {
      const { body } = await send(service, access.token, message(method, { _meta: modern }), {
        headers: modernHeaders(method),
      });
      // Not cached, because documents, and who may open them, change.
      const ttlMs = method === 'resources/list' ? 0 : 300_000;
      expect(body?.result).toMatchObject({ ttlMs, cacheScope: 'private', resultType: 'complete' });
    }
  });

  test('notifications get 202 without a body', async () => {
    const { status, text } = await send(service, access.token, { jsonrpc: '2.0', method: 'notifications/initialized' });
    expect([status, text]).toEqual([202, '']);
  });

  test('an array of messages is rejected from other revisions, and if it contains an initialize', async () => {
    for (const version of ['2025-06-18', '2025-11-25', '2026-07-28']) {
      const headers = { 'MCP-Protocol-Version': version };
      const { status, body } = await send(service, access.token, [message('ping')], { headers });
      expect([status, body?.error.code]).toEqual([400, -32_600]);
    }
    const asked = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'old', version: '1' } };
    const { status, body } = await send(service, access.token, [message('initialize', asked)]);
    expect([status, body?.error.code]).toEqual([400, -32_600]);
    const headers = { 'MCP-Protocol-Version': '2025-03-26' };
    expect(
      (await send(service, access.token, [message('ping', {}, 1), message('ping', {}, 2)], { headers })).status,
    ).toBe(200);
  });

  test('an array of messages from a client of early 2025 gets an array of responses', async () => {
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } };
    const { body } = await send(service, access.token, [
      message('ping', {}, 1),
      { ...deals, id: 2 },
      cancelled,
      { ...list, id: 3 },
    ]);
    const answers = body as unknown as { id: number }[];
    expect(answers.map(({ id }) => id).toSorted()).toEqual([1, 2, 3]);
    expect((await send(service, access.token, [cancelled])).status).toBe(202);
  });
});

describe('a call on the fast path, without a server of the SDK', () => {
  // A field that nothing knows: its presence leaves a call to the SDK.
  const unknownToAll = { 'io.modelcontextprotocol/unknown': 1 };
  const reading = catalog.filter(({ scope }) => scope === 'mcp:read').map(({ name }) => name);

  /** The whole responses to a call by clients of 2025 and of 2026, each through the SDK and in the plainest form. */
  async function bothWays(token: string, call: { name: string; arguments?: unknown }, id: string | number = 1) {
    const asked = async (params: object, headers: Record<string, string> = {}) => {
      const answered = await send(service, token, message('tools/call', { ...call, ...params }, id), { headers });
      const told = Object.fromEntries(answered.headers);
      for (const name of ['date', 'x-request-id', 'x-ratelimit-remaining']) delete told[name];
      // The rate limit's minute may end between two calls.
      expect(told['x-ratelimit-reset']).toMatch(/^\d+$/);
      delete told['x-ratelimit-reset'];
      return [answered.status, told, answered.text];
    };
    const revision = { 'MCP-Protocol-Version': '2025-11-25' };
    return {
      older: [await asked({ _meta: unknownToAll }, revision), await asked({}, revision)],
      newer: [
        await asked({ _meta: { ...modern, ...unknownToAll } }, modernHeaders('tools/call', call.name)),
        await asked({ _meta: modern }, modernHeaders('tools/call', call.name)),
      ],
    };
  }

  test.each(reading)('%s responds byte for byte as through the SDK', async (name) => {
    const { deal, people } = await addFullDeal(service);
    const inputs = [{ deal_id: deal }, {}, undefined, null, [1], { deal_id: 'nonsense', '\u2028': 5 }];
    for (const given of inputs) {
      const { older, newer } = await bothWays(people.broker.token, { name, arguments: given });
      expect(older[1]).toEqual(older[0]);
      expect(newer[1]).toEqual(newer[0]);
    }
  });

  test('the response carries the request id, whatever its value', async () => {
    for (const id of ['', 'a"b\\\u2028', '1', 0, -1, Number.MAX_SAFE_INTEGER]) {
      const { older, newer } = await bothWays(access.token, { name: 'svc_deals_list' }, id);
      expect(older[1]).toEqual(older[0]);
      expect(newer[1]).toEqual(newer[0]);
      expect(JSON.parse(String(older[1]?.[2]))).toMatchObject({ id });
    }
  });

  test('input names that JavaScript objects inherit are reported like any other', async () => {
    const call = (given: string) =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"svc_deals_list","arguments":${given}}}`;
    for (const [given, faults] of [
      ['{"constructor":1}', 1],
      // The SDK drops this property.
      ['{"__proto__":{"state":5}}', 0],
      ['{"toString":1,"hasOwnProperty":2}', 2],
    ] as const) {
      const { status, body } = await send(service, access.token, call(given));
      const { details = [] } = (body?.result.structuredContent ?? {}) as { details?: unknown[] };
      expect([status, details.length]).toEqual([200, faults]);
    }
  });

  test('one valid envelope does not make later envelopes valid', async () => {
    const headers = modernHeaders('tools/call', 'svc_deals_list');
    const call = (meta: object) =>
      send(service, access.token, message('tools/call', { name: 'svc_deals_list', _meta: meta }), { headers });
    const client = 'io.modelcontextprotocol/clientInfo';
    const capabilitiesOf = 'io.modelcontextprotocol/clientCapabilities';
    expect((await call(modern)).status).toBe(200);
    expect((await call(modern)).status).toBe(200);
    for (const wrong of [
      { [client]: { name: 'test' } },
      { [client]: 'test' },
      { [capabilitiesOf]: [] },
      { [capabilitiesOf]: undefined },
      { [capabilitiesOf]: { elicitation: 5 } },
      { 'io.modelcontextprotocol/logLevel': 'loud' },
      { progressToken: {} },
      { progressToken: 1.5 },
    ]) {
      const { status, body } = await call({ ...modern, ...wrong });
      expect([JSON.stringify(wrong), status]).toEqual([JSON.stringify(wrong), 400]);
      expect([-32_600, -32_602]).toContain(body?.error.code);
    }
  });

  test('a call with an invalid id, invalid params or an extra member is rejected', async () => {
    for (const { body } of [
      await send(service, access.token, { ...deals, id: 1.5 }),
      await send(service, access.token, { ...deals, id: null }),
      await send(service, access.token, { ...deals, more: true }),
      await send(service, access.token, { ...deals, params: [] }),
    ])
      expect(body?.error.code).toBeLessThan(0);
  });
});
