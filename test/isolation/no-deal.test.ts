/**
 * The all-zero id, which stands for no deal in a caller's identity, gets the same response as any other id without a
 * deal, through each interface.
 */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApp } from '../../server/app.ts';
import { keyScopes } from '../../server/domain/clients/key-scopes.ts';
import { catalog } from '../../server/tools/catalog/index.ts';
import { openService, type TestService } from '../harness.ts';
import { issueKey } from '../rest/scene.ts';
import { addToken } from '../tools/scene.ts';
import { leastInput } from '../tools/inputs.ts';
import { signInAs } from '../web/person.ts';

const zeros = '00000000-0000-0000-0000-000000000000';
const absent = randomUUID();
const record = randomUUID();

let service: TestService;
let routes: readonly { readonly method: string; readonly path: string }[];

beforeAll(async () => {
  service = await openService({ scene: true, config: { features: { findings: true, financing: true } } });
  routes = createApp(service.services).routes.filter(
    ({ method, path }) => method !== 'ALL' && /^\/api\/(web|v1)\/deals\/:\w+/.test(path),
  );
});
afterAll(() => service?.close());

/** The status and text of a response, without the parts that differ from request to request. */
async function answerOf(path: string, { headers, ...request }: RequestInit): Promise<string> {
  const response = await fetch(service.origin + path, { ...request, headers: { 'x-request-id': 'asked', ...headers } });
  const text = (await response.text()).replaceAll(new RegExp(`${zeros}|${absent}`, 'g'), '<deal>');
  return `${response.status} ${text.replaceAll(/"request_?id":"[^"]*"/gi, '')}`;
}

/** Requests every route about the deal with this id. */
async function asked(prefix: string, headers: Record<string, string>, deal: string): Promise<Record<string, string>> {
  const answers: Record<string, string> = {};
  for (const { method, path } of routes.filter((route) => route.path.startsWith(prefix))) {
    const [, ...others] = [...path.matchAll(/:\w+/g)];
    const filled = others.reduce((one, [name]) => one.replace(name, record), path.replace(/:\w+/, deal));
    answers[`${method} ${path}`] = await answerOf(filled, {
      method,
      headers: method === 'GET' ? headers : { 'content-type': 'application/json', ...headers },
      body: method === 'GET' ? null : '{}',
    });
  }
  return answers;
}

test.each(['admin', 'broker', 'outsider'])(
  'the all-zero deal id gets the response of an unknown id in the web application: %s',
  async (who) => {
    const { headers } = await signInAs(service, service.scene.people[who]!);
    const answers = await asked('/api/web', headers, absent);
    expect(Object.keys(answers).length).toBeGreaterThan(50);
    expect(await asked('/api/web', headers, zeros)).toEqual(answers);
  },
);

test('the all-zero deal id gets the response of an unknown id in the REST API', async () => {
  const { token } = await issueKey(
    service,
    { id: service.scene.brokerage, admin: service.scene.people['admin']! },
    { scopes: keyScopes },
  );
  const headers = { authorization: `Bearer ${token}` };
  const answers = await asked('/api/v1', headers, absent);
  expect(Object.keys(answers).length).toBeGreaterThan(10);
  expect(await asked('/api/v1', headers, zeros)).toEqual(answers);
});

test.each(['admin', 'broker', 'outsider'])(
  'the all-zero deal id gets the response of an unknown id in the tools: %s',
  async (who) => {
    const { token } = await addToken(service, service.scene.people[who]!, { scopes: ['mcp:read', 'mcp:write'] });
    for (const { name, listed } of catalog) {
      if (!('deal_id' in (listed.inputSchema.properties ?? {})) || name === 'svc_deals_list') continue;
      const call = (deal_id: string) =>
        answerOf('/api/mcp', {
          method: 'POST',
          headers: {
            authorization: `Bearer ${token}`,
            accept: 'application/json, text/event-stream',
            'content-type': 'application/json',
          },
          body: JSON.stringify({
            jsonrpc: '2.0',
            id: 1,
            method: 'tools/call',
            params: { name, arguments: leastInput(name, { deal_id }) },
          }),
        });
      expect([name, await call(zeros)]).toEqual([name, await call(absent)]);
    }
  },
);
