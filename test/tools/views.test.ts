/** The views of results as resources: who gets them, their size, and that nothing changes for hosts that show none. */

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { catalog, listedWith } from '../../server/tools/catalog/index.ts';
import { viewNames } from '../../server/tools/views.ts';
import { openService, type TestService } from '../harness.ts';
import { addToken, type Access } from './scene.ts';

let service: TestService;
let access: Access;
const clients: Client[] = [];

beforeAll(async () => {
  service = await openService({ demo: true });
  access = await addToken(service, service.demo.people.broker.user_id);
});
afterAll(async () => {
  for (const client of clients) await client.close();
  await service?.close();
});

const mimeType = 'text/html;profile=mcp-app';
const announced = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [mimeType] } } };

async function connect(mode: 'legacy' | { pin: string }, capabilities: object = {}): Promise<Client> {
  const client = new Client({ name: 'host', version: '1' }, { versionNegotiation: { mode }, capabilities });
  const requestInit = { headers: { Authorization: `Bearer ${access.token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${service.mcpUrl}/api/mcp`), { requestInit }));
  clients.push(client);
  return client;
}

const uris = viewNames.map((name) => `ui://dealkeep/${name}`);

/** The URI of each tool's view, for the tools that have one. */
async function drawnBy(client: Client): Promise<Record<string, unknown>> {
  const { tools } = await client.listTools();
  return Object.fromEntries(
    tools.flatMap(({ name, _meta }) =>
      _meta ? [[name, (_meta as { ui: { resourceUri: string } }).ui.resourceUri]] : [],
    ),
  );
}

const all = {
  svc_qoe_get: 'ui://dealkeep/bridge',
  svc_qoe_pl_periods: 'ui://dealkeep/monthly',
  svc_qoe_customer_concentration: 'ui://dealkeep/customers',
  svc_offers_list: 'ui://dealkeep/offers',
  svc_closing_conditions_list: 'ui://dealkeep/conditions',
};

describe.each([
  ['a client of 2025', 'legacy'],
  ['a client of 2026', { pin: '2026-07-28' }],
] as const)('%s', (_title, mode) => {
  test('lists and reads every view: one file under 150 kB that loads nothing and contains our base URL', async () => {
    const client = await connect(mode, announced);
    const { resources } = await client.listResources();
    const views = resources.slice(0, uris.length);
    expect(views.map(({ uri }) => uri)).toEqual(uris);
    for (const { uri, mimeType: type, title, _meta } of views) {
      expect([type, _meta?.['ui']]).toEqual([mimeType, { csp: {}, prefersBorder: true }]);
      expect(title).toMatch(/^[A-Z].{10,60}$/);
      const [content, ...others] = (await client.readResource({ uri })).contents;
      expect(others).toEqual([]);
      expect(content).toMatchObject({ uri, mimeType, _meta: { ui: { csp: {}, prefersBorder: true } } });
      const text = String((content as { text: string }).text);
      expect(Buffer.byteLength(text)).toBeLessThan(150_000);
      expect(text).toMatch(/^<!doctype html>/);
      expect(text).toContain(`data-origin="${service.config.baseUrl}"`);
      expect(text).toMatch(/content="default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+';/);
      expect(text).not.toMatch(/<(link|img|iframe)\b|<script[^>]+src|@import|url\(/i);
    }
  });

  test('gets an error for any other resource', async () => {
    const client = await connect(mode, announced);
    for (const uri of ['ui://dealkeep/../demo.json', 'ui://dealkeep/bridge.html', 'file:///etc/passwd', 'ui://x'])
      await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32_602 });
  });

  test('gets the view of each tool if it shows views', async () => {
    expect(await drawnBy(await connect(mode, announced))).toEqual(all);
  });
});

test('a host of 2026 without views gets plain tools, and a host of 2025 plain tools with additional _meta', async () => {
  const plain = await connect({ pin: '2026-07-28' });
  const listed = catalog.map((tool) => listedWith(tool, service.config.features));
  expect((await plain.listTools()).tools).toEqual(JSON.parse(JSON.stringify(listed)));
  const { tools } = await (await connect('legacy')).listTools();
  const bare = tools.map((tool) => Object.fromEntries(Object.entries(tool).filter(([key]) => key !== '_meta')));
  expect(bare).toEqual(JSON.parse(JSON.stringify(listed)));
});

test('the figures that a view draws are in the structured result', async () => {
  const client = await connect({ pin: '2026-07-28' });
  const answer = await client.callTool({
    name: 'svc_qoe_get',
    arguments: { deal_id: service.demo.deals.with_everything },
  });
  expect(Object.keys(answer['_meta'] ?? {}).filter((key) => key.startsWith('dealkeep'))).toEqual([]);
  const { ebitda_bridge: bridge } = answer.structuredContent as { ebitda_bridge: object };
  expect(Object.keys(bridge)).toEqual([
    'period_label',
    'period_start_date',
    'period_end_date',
    'currency',
    'reported_ebitda',
    'adjustments',
    'adjusted_ebitda',
  ]);
});

test('every link in a result leads to a page of ours', async () => {
  const client = await connect({ pin: '2026-07-28' });
  const deal_id = service.demo.deals.with_everything;
  const { baseUrl } = service.config;
  const names = ['svc_deals_get', 'svc_documents_list', 'svc_questions_list', ...Object.keys(all)];
  for (const name of ['svc_deals_list', ...names]) {
    const answer = await client.callTool({ name, arguments: name === 'svc_deals_list' ? {} : { deal_id } });
    const { url, deal_url = url } = answer.structuredContent as { url: string; deal_url?: string };
    for (const link of [url, deal_url.replace('{id}', deal_id)]) {
      expect([name, link.startsWith(`${baseUrl}/deals`)]).toEqual([name, true]);
      const headers = { Accept: 'text/html' };
      const page = await fetch(link.replace(baseUrl, service.origin), { headers });
      expect([name, page.status, page.headers.get('content-type')]).toEqual([name, 200, 'text/html; charset=utf-8']);
      await page.text();
    }
  }
});

test.each(['other_buyer', 'outsider'] as const)(
  '%s, without access to the books, gets no figures beside the result',
  async (who) => {
    const stranger = await addToken(service, service.demo.people[who].user_id);
    const response = await fetch(`${service.mcpUrl}/api/mcp`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json',
        Authorization: `Bearer ${stranger.token}`,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'svc_qoe_get', arguments: { deal_id: service.demo.deals.with_everything } },
      }),
    });
    expect(await response.text()).not.toContain('ebitda');
  },
);

test('views are not served as web pages', async () => {
  for (const name of viewNames) {
    const response = await fetch(`${service.origin}/views/${name}.html`);
    expect(response.status).toBe(404);
  }
});
