/** Documents as resources, prompts, and asking the person for a permission, with clients of both eras. */

import { Client, StreamableHTTPClientTransport, type GetPromptResult } from '@modelcontextprotocol/client';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { digestOf } from '../../server/domain/clients/tokens.ts';
import { documentsAnywhere } from '../../server/domain/documents/documents.ts';
import { canonicalResource } from '../../server/http/resource-metadata.ts';
import { catalog } from '../../server/tools/catalog/index.ts';
import { documentsOnAPage } from '../../server/tools/resources.ts';
import { openService, type TestService } from '../harness.ts';
import { check } from './ask.ts';
import { addBrokerage, addPerson, addToken, allow, caller, insert, insertAll, send, type Access } from './scene.ts';

let service: TestService;
const clients: Client[] = [];
const access = {} as Record<'broker' | 'buyer' | 'other_buyer' | 'outsider', Access>;

beforeAll(async () => {
  service = await openService({ demo: true });
  for (const who of ['broker', 'buyer', 'other_buyer', 'outsider'] as const)
    access[who] = await addToken(service, service.demo.people[who].user_id);
});
afterAll(async () => {
  for (const client of clients) await client.close();
  await service?.close();
});

type Mode = 'legacy' | { pin: string };
const eras = [
  ['a client of 2025', 'legacy'],
  ['a client of 2026', { pin: '2026-07-28' }],
] as const satisfies readonly (readonly [string, Mode])[];

async function connect(who: Access, mode: Mode, capabilities: object = {}): Promise<Client> {
  const client = new Client({ name: 'host', version: '1' }, { versionNegotiation: { mode }, capabilities });
  const requestInit = { headers: { Authorization: `Bearer ${who.token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${service.mcpUrl}/api/mcp`), { requestInit }));
  clients.push(client);
  return client;
}

/** The text of a prompt. */
const textOf = ({ messages: [first] }: GetPromptResult): string =>
  first?.content.type === 'text' ? first.content.text : '';

const isDocument = ({ uri }: { uri: string }) => uri.startsWith('dealkeep:');

/** The documents that svc_documents_list returns to this person for all their deals, by URI. */
async function documentsByTool(who: Access): Promise<Map<string, Record<string, unknown>>> {
  const call = caller(service, who);
  const { deals } = (await call('svc_deals_list')).structuredContent as { deals: { id: string }[] };
  const found = new Map<string, Record<string, unknown>>();
  for (const { id: deal_id } of deals) {
    const { documents } = (await call('svc_documents_list', { deal_id })).structuredContent as {
      documents: { id: string }[];
    };
    for (const one of documents) found.set(`dealkeep://deals/${deal_id}/documents/${one.id}`, { ...one, deal_id });
  }
  return found;
}

describe.each(eras)('%s', (_title, mode) => {
  test.each(['broker', 'buyer', 'other_buyer', 'outsider'] as const)(
    'lists for the %s exactly the documents of svc_documents_list, and reads their metadata',
    async (who) => {
      const client = await connect(access[who], mode);
      const { resources: found } = await client.listResources();
      const told = await documentsByTool(access[who]);
      const documents = found.filter(isDocument);
      expect(documents.map(({ uri }) => uri).toSorted()).toEqual([...told.keys()].toSorted());
      for (const { uri, name, mimeType, annotations, icons } of documents.slice(0, 5)) {
        const { filename, uploaded_at } = told.get(uri) ?? {};
        expect([name, mimeType, annotations?.lastModified]).toEqual([filename, 'application/json', uploaded_at]);
        expect(icons?.[0]?.src).toBe(`${service.config.baseUrl}/icon.png`);
        const [content] = (await client.readResource({ uri })).contents;
        const { media_type, url, ...same } = JSON.parse((content as { text: string }).text) as Record<string, unknown>;
        expect(same).toEqual(told.get(uri));
        expect([typeof media_type, url]).toEqual([
          'string',
          `${service.config.baseUrl}/deals/${String(same['deal_id'])}/documents`,
        ]);
      }
    },
  );

  test('gets the same error for hidden, nonexistent and malformed addresses', async () => {
    const [hidden = ''] = [...(await documentsByTool(access.broker)).keys()];
    const client = await connect(access.outsider, mode);
    const uris = [
      hidden,
      hidden.replace(/[^/]+$/, crypto.randomUUID()),
      hidden.replace(/deals\/[^/]+/, `deals/${crypto.randomUUID()}`),
      'dealkeep://deals/x/documents/y',
    ];
    for (const uri of uris)
      await expect(client.readResource({ uri })).rejects.toMatchObject({
        code: -32_602,
        message: expect.stringMatching(/Unknown resource: .*resources\/list names the resources/s),
        data: { uri },
      });
  });

  test('gets a URI template for documents', async () => {
    const client = await connect(access.broker, mode);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates).toMatchObject([
      { uriTemplate: 'dealkeep://deals/{deal_id}/documents/{document_id}', mimeType: 'application/json' },
    ]);
  });

  test('gets links to documents after the text of svc_documents_list', async () => {
    const client = await connect(access.broker, mode);
    const deal_id = service.demo.deals.with_everything;
    const { content, structuredContent } = await client.callTool({
      name: 'svc_documents_list',
      arguments: { deal_id },
    });
    const [text, ...links] = content as { type: string; text?: string; uri?: string; name?: string }[];
    const { documents } = structuredContent as { documents: { id: string; filename: string }[] };
    expect(JSON.parse(text?.text ?? '')).toEqual(structuredContent);
    expect(links).toEqual(
      documents.slice(0, 10).map(({ id, filename }) => ({
        type: 'resource_link',
        uri: `dealkeep://deals/${deal_id}/documents/${id}`,
        name: filename,
        mimeType: 'application/json',
      })),
    );
    expect(links.length).toBeGreaterThan(0);
    const [content0] = (await client.readResource({ uri: String(links[0]?.uri) })).contents;
    expect(JSON.parse((content0 as { text: string }).text)).toMatchObject({ filename: links[0]?.name });
  });

  test('gets the icon of the server, of prompts and of resources', async () => {
    const client = await connect(access.broker, mode);
    const icons = [
      { src: `${service.config.baseUrl}/icon.png`, mimeType: 'image/png', sizes: ['192x192'] },
      { src: `${service.config.baseUrl}/icon.svg`, mimeType: 'image/svg+xml', sizes: ['any'] },
    ];
    expect(client.getServerVersion()).toMatchObject({ name: 'dealkeep', icons });
    for (const { icons: own } of (await client.listPrompts()).prompts) expect(own).toEqual(icons);
    for (const { icons: own } of (await client.listResources()).resources) expect(own).toEqual(icons);
    for (const { src, mimeType } of icons) {
      // Pages of other origins show it.
      const { status, headers } = await fetch(src.replace(service.config.baseUrl, service.origin));
      const open = ['cross-origin-resource-policy', 'access-control-allow-origin'].map((name) => headers.get(name));
      expect([status, headers.get('content-type'), ...open]).toEqual([200, mimeType, 'cross-origin', '*']);
    }
  });

  test('gets the prompts of the trade, which lead through existing tools with valid inputs', async () => {
    const client = await connect(access.broker, mode);
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name, arguments: takes }) => [name, takes?.map((one) => [one.name, one.required])])).toEqual([
      ['open_before_closing', [['deal', true]]],
      ['compare_offers', [['deal', true]]],
      [
        'what_changed',
        [
          ['deal', false],
          ['since', false],
        ],
      ],
    ]);
    const deal = service.demo.deals.with_everything;
    const call = caller(service, access.broker);
    for (const { name } of prompts) {
      const text = textOf(await client.getPrompt({ name, arguments: { deal } }));
      const steps = [...text.matchAll(/^\d+\. (svc_[a-z_]+) (\{.*?\}): (.+)$/gm)];
      expect(steps.length).toBeGreaterThan(1);
      expect([name, text.match(/svc_[a-z_]+/g)?.length]).toEqual([name, steps.length]);
      let read = '';
      for (const [, tool = '', input = '', look = ''] of steps) {
        const answer = await call(tool, JSON.parse(input) as Record<string, unknown>);
        expect([tool, answer.isError ?? false]).toEqual([tool, false]);
        check(tool, answer);
        // Field names in the text of a prompt must occur in a tool's listing or in an answer so far.
        read += JSON.stringify([catalog.find((one) => one.name === tool)?.listed, answer]);
        for (const field of look.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? [])
          expect([tool, field, read.includes(field)]).toEqual([tool, field, true]);
      }
    }
  });

  test('can name a deal by its title and a day by its weekday in a prompt', async () => {
    const client = await connect(access.broker, mode);
    const title = 'Bakery "North"';
    const text = textOf(await client.getPrompt({ name: 'what_changed', arguments: { deal: title, since: 'Monday' } }));
    const now = service.clock.now();
    const today = now.toISOString().slice(0, 10);
    const monday = new Date(now.getTime() - ((now.getUTCDay() + 6) % 7) * 86_400_000).toISOString().slice(0, 10);
    expect(text).toContain(`since ${monday} on the deal ${JSON.stringify(title)}? Today is ${today} (UTC).`);
    expect(text).toContain(
      `svc_deals_list {}: the deal_id is the id of the deal whose title is ${JSON.stringify(title)}; if several could be meant, ask me which; if none, ask me for its id, which is in the address of its page: where there are more than 200 deals, it lists only the newest.`,
    );
    const whole = await client.getPrompt({ name: 'what_changed', arguments: { since: '2026-01-02' } });
    expect(textOf(whole)).toContain('What changed since 2026-01-02 on each of my deals?');
    expect(textOf(whole)).toContain(
      'the deals that are not closed or withdrawn, and those with closed_at or updated_at on or after 2026-01-02; then the following for each;',
    );
  });

  test('resolves the name of the current weekday to today, and with last to a week ago', async () => {
    const client = await connect(access.broker, mode);
    const now = service.clock.now();
    const called = now.toLocaleDateString('en-US', { weekday: 'long', timeZone: 'UTC' });
    for (const [since, ago] of [
      [called, 0],
      [`last ${called}`, 7],
    ] as const) {
      const day = new Date(now.getTime() - ago * 86_400_000).toISOString().slice(0, 10);
      const prompt = await client.getPrompt({ name: 'what_changed', arguments: { since } });
      expect(textOf(prompt)).toContain(`What changed since ${day} on`);
    }
  });

  test('gets completions for days and for the titles of deals that the person sees', async () => {
    const titles = async (who: Access) =>
      ((await caller(service, who)('svc_deals_list')).structuredContent['deals'] as { title: string }[]).map(
        ({ title }) => title,
      );
    const ref = { type: 'ref/prompt' as const, name: 'compare_offers' };
    for (const who of ['broker', 'outsider'] as const) {
      const client = await connect(access[who], mode);
      const all = await client.complete({ ref, argument: { name: 'deal', value: '' } });
      expect(all.completion.values.toSorted()).toEqual([...new Set(await titles(access[who]))].toSorted());
    }
    const client = await connect(access.broker, mode);
    const [first = ''] = await titles(access.broker);
    const some = await client.complete({ ref, argument: { name: 'deal', value: first.slice(0, 5).toUpperCase() } });
    expect(some.completion.values).toContain(first);
    await service.sql(`update deals set title = title || ' ΟΔΟΣ' where title = $1`, [first]);
    const greek = await client.complete({ ref, argument: { name: 'deal', value: 'ΟΔΟΣ' } });
    await service.sql('update deals set title = $1 where title = $2', [first, `${first} ΟΔΟΣ`]);
    expect(greek.completion.values).toEqual([`${first} ΟΔΟΣ`]);
    const since = { ref: { ...ref, name: 'what_changed' }, argument: { name: 'since', value: 'MO' } };
    expect((await client.complete(since)).completion.values).toEqual(['Monday']);
    const other = { ref, argument: { name: 'nothing', value: '' } };
    expect((await client.complete(other)).completion.values).toEqual([]);
  });

  test('gets an explanation for an invalid prompt request', async () => {
    const client = await connect(access.broker, mode);
    for (const [params, message] of [
      [{ name: 'nothing' }, /Unknown prompt: nothing\. The prompts are open_before_closing/],
      [{ name: 'compare_offers' }, /needs the argument deal\. The deal, by its title or its id/],
      [{ name: 'compare_offers', arguments: { deal: 'x', colour: 'red' } }, /no argument colour: it takes deal/],
      [{ name: 'compare_offers', arguments: { deal: 'x'.repeat(201) } }, /at most 200 characters/],
    ] as const)
      await expect(client.getPrompt(params)).rejects.toMatchObject({
        code: -32_602,
        message: expect.stringMatching(message),
      });
  });
});

test('a long list is paged without duplicates, and a cursor is valid for its reader only', async () => {
  const broker = await addToken(service, await addPerson(service, 'Paging broker'));
  const other = await addToken(service, await addPerson(service, 'Another broker'));
  const organization_id = await addBrokerage(service, 'Paging');
  await insert(service, 'members', { brokerage_id: organization_id, user_id: broker.userId, role: 'broker' });
  const made: string[] = [];
  for (let at = 0; at < 3; at += 1) {
    const deal = await insert(service, 'deals', { organization_id, title: `Deal ${at}`, state: 'listed' });
    await insert(service, 'participants', { deal_id: deal, user_id: broker.userId, role: 'broker', status: 'active' });
    // The same time for all, so that only ids order them.
    const row = () => ({
      id: crypto.randomUUID(),
      deal_id: deal,
      filename: 'Same.pdf',
      category: 'tax',
      confidentiality: 'public',
      size_bytes: 1,
      media_type: 'application/pdf',
      storage_key: crypto.randomUUID(),
      uploaded_at: '2026-01-01T00:00:00Z',
    });
    const simple = Array.from({ length: 25 }, row);
    const produced = Array.from({ length: 15 }, () => ({ ...row(), diligence_request: 'Returns' }));
    await insertAll(service, 'documents', simple);
    await insertAll(service, 'production_documents', produced);
    made.push(...[...simple, ...produced].map(({ id }) => `dealkeep://deals/${deal}/documents/${id}`));
  }
  // The client requests page after page by itself, and returns all resources.
  const client = await connect(broker, { pin: '2026-07-28' });
  const all = (await client.listResources()).resources.filter(isDocument).map(({ uri }) => uri);
  expect(all.toSorted()).toEqual(made.toSorted());
  const page = async (who: Access, cursor?: string) => {
    const list = { jsonrpc: '2.0', id: 1, method: 'resources/list', params: cursor === undefined ? {} : { cursor } };
    const { body } = await send(service, who.token, list);
    return body as unknown as {
      result: { resources: { uri: string }[]; nextCursor?: string };
      error?: { code: number; message: string };
    };
  };
  const first = await page(broker);
  const second = await page(broker, first.result.nextCursor);
  const third = await page(broker, second.result.nextCursor);
  const pages = [first, second, third].map(({ result }) => result.resources.filter(isDocument).map(({ uri }) => uri));
  expect(pages.map(({ length }) => length)).toEqual([documentsOnAPage, documentsOnAPage, 20]);
  expect(pages.flat()).toEqual(all);
  expect(third.result.nextCursor).toBeUndefined();
  const cursor = String(first.result.nextCursor);
  for (const [who, wrong] of [
    [other, cursor],
    [broker, 'x'],
    [broker, `${cursor}AAAA`],
  ] as const)
    expect((await page(who, wrong)).error).toMatchObject({
      code: -32_602,
      message: expect.stringContaining('start without it'),
    });
});

describe('an admin who takes part in no deal of their brokerage', () => {
  const deals = 250;
  const title = (at: number) => `Laundry ${String(at).padStart(3, '0')}`;
  const published: string[] = [];
  let admin: Access;

  beforeAll(async () => {
    admin = await addToken(service, await addPerson(service, 'Admin of many'));
    const organization_id = await addBrokerage(service, 'Many deals');
    await insert(service, 'members', { brokerage_id: organization_id, user_id: admin.userId, role: 'admin' });
    const made = Array.from({ length: deals }, (_, at) => ({
      id: crypto.randomUUID(),
      organization_id,
      title: title(at),
      state: 'listed',
      currency: 'USD',
      needs_nda: true,
      keys_admitted: false,
      created_at: new Date(Date.UTC(2026, 0, 1, 0, at)),
      updated_at: new Date(Date.UTC(2026, 0, 1, 0, at)),
    }));
    await insertAll(service, 'deals', made);
    const document = (deal_id: string, confidentiality: string) => ({
      id: crypto.randomUUID(),
      deal_id,
      filename: 'Lease.pdf',
      category: 'legal',
      confidentiality,
      size_bytes: 1,
      media_type: 'application/pdf',
      storage_key: crypto.randomUUID(),
      uploaded_at: '2026-01-01T00:00:00Z',
    });
    // Each deal has two NDA-gated and two selected-buyer-only documents of either kind, all hidden from the admin;
    // every fourth deal also has a public one of either kind.
    for (const [table, more] of [
      ['documents', {}],
      ['production_documents', { diligence_request: 'Leases' }],
    ] as const) {
      const added = made.flatMap(({ id }, at) =>
        [
          'nda_gated',
          'nda_gated',
          'selected_buyer_only',
          'selected_buyer_only',
          ...(at % 4 === 0 ? ['public'] : []),
        ].map((confidentiality) => ({ ...document(id, confidentiality), ...more })),
      );
      await insertAll(service, table, added);
      for (const { id, deal_id, confidentiality } of added)
        if (confidentiality === 'public') published.push(`dealkeep://deals/${deal_id}/documents/${id}`);
      await service.sql(`analyze ${table}`);
    }
  });

  test('gets the public documents of all deals, up to the last page', async () => {
    const client = await connect(admin, { pin: '2026-07-28' });
    const all = (await client.listResources()).resources.filter(isDocument).map(({ uri }) => uri);
    expect(all).toHaveLength(2 * Math.ceil(deals / 4));
    expect(all.toSorted()).toEqual(published.toSorted());
  });

  test('causes no database reads of documents hidden from them', async () => {
    // A connection of its own, so that only this query is counted.
    const client = new pg.Client(service.connections.server);
    await client.connect();
    try {
      const lookedAt = async () => {
        const { rows } = await client.query<{ n: number }>(
          `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as n from pg_stat_xact_user_tables
           where relname in ('documents', 'production_documents')`,
        );
        return rows[0]?.n ?? NaN;
      };
      await client.query('begin');
      await client.query('select app.enter_with_token($1, $2)', [
        digestOf(admin.token),
        canonicalResource(service.config.baseUrl),
      ]);
      const before = await lookedAt();
      const { text, values } = documentsAnywhere(null, documentsOnAPage + 1);
      expect((await client.query(text, [...values])).rows).toHaveLength(documentsOnAPage + 1);
      // Documents of a deal are read only as far as the page has room, of both kinds.
      const looked = (await lookedAt()) - before;
      expect(looked).toBeGreaterThan(documentsOnAPage);
      expect(looked).toBeLessThanOrEqual(documentsOnAPage + 2);
    } finally {
      await client.end();
    }
  });

  test('gets 100 title completions at once with the total number, and finds any deal by its title', async () => {
    const client = await connect(admin, { pin: '2026-07-28' });
    const complete = async (value: string) =>
      (
        await client.complete({
          ref: { type: 'ref/prompt', name: 'compare_offers' },
          argument: { name: 'deal', value },
        })
      ).completion;
    const latest = Array.from({ length: 100 }, (_, at) => title(deals - 1 - at));
    expect(await complete('')).toEqual({ values: latest, total: deals, hasMore: true });
    expect(await complete(' LAUNDRY ')).toEqual({ values: latest, total: deals, hasMore: true });
    expect(await complete('dry 007')).toEqual({ values: [title(7)], total: 1, hasMore: false });
    // Matched literally, not as a pattern.
    for (const value of ['laundry%', 'laundry_007', String.raw`laundry\ 007`])
      expect(await complete(value)).toEqual({ values: [], total: 0, hasMore: false });
  });
});

describe('a request for documents or deal titles', () => {
  const ask = (who: Access | null, method: string, params: object = {}) =>
    send(service, who?.token ?? null, { jsonrpc: '2.0', id: 1, method, params });
  const uri = async () => [...(await documentsByTool(access.buyer)).keys()][0] ?? '';
  const requests = async (): Promise<readonly (readonly [string, object, string])[]> => [
    ['resources/list', {}, 'tool:svc_documents_list'],
    ['resources/read', { uri: await uri() }, 'tool:svc_documents_list'],
    [
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'compare_offers' }, argument: { name: 'deal', value: '' } },
      'tool:svc_deals_list',
    ],
  ];

  test('leaves the audit record of the corresponding tool, with the document that was read', async () => {
    for (const [method, params, action] of await requests()) {
      const who = await addToken(service, access.buyer.userId);
      expect((await ask(who, method, params)).status).toBe(200);
      const records = await service.sql<{ action: string; outcome: string; subject_id: string | null }>(
        'select action, outcome, subject_id from audit_records where client_id = $1',
        [who.clientId],
      );
      const subject_id = 'uri' in params ? String(params.uri).slice(-36) : null;
      expect([method, records]).toEqual([method, [{ action, outcome: 'ok', subject_id }]]);
    }
  });

  test('is 401 without a token or with a revoked one, before any other check', async () => {
    const gone = await addToken(service, access.buyer.userId);
    await service.sql('update vault.token_families set revoked_at = app.now() where id = $1', [gone.familyId]);
    const prompt = ['prompts/get', { name: 'compare_offers', arguments: { deal: 'x' } }, ''] as const;
    for (const [method, params] of [...(await requests()), ['prompts/list', {}, ''] as const, prompt]) {
      for (const who of [null, gone]) {
        const { status, text } = await ask(who, method, params);
        expect([method, status]).toEqual([method, 401]);
        expect(JSON.parse(text)).toMatchObject({ error: 'invalid_token' });
      }
    }
  });

  test('is rejected for a person without a required second factor, with the address to set one up', async () => {
    const organization_id = await addBrokerage(service, 'Strict');
    const owing = await addToken(service, await addPerson(service, 'Owing'));
    await insert(service, 'members', { brokerage_id: organization_id, user_id: owing.userId, role: 'broker' });
    await service.sql('update brokerages set requires_second_factor = true where id = $1', [organization_id]);
    for (const [method, params] of await requests()) {
      const { body } = await ask(owing, method, params);
      expect([method, body?.error]).toMatchObject([
        method,
        {
          code: 403,
          data: { error: 'second_factor_required', resolve_url: `${service.config.baseUrl}/settings/security` },
        },
      ]);
    }
  });

  test('counts against the rate limit of calls', async () => {
    const who = await addToken(service, access.buyer.userId);
    const asked = await requests();
    // Repeated when a minute of the rate limit ends in between.
    await expect
      .poll(async () => {
        const left: { remaining: number; reset: string | null }[] = [];
        for (const [method, params] of asked) {
          const { headers } = await ask(who, method, params);
          left.push({
            remaining: Number(headers.get('x-ratelimit-remaining')),
            reset: headers.get('x-ratelimit-reset'),
          });
        }
        const isOneMinute = new Set(left.map(({ reset }) => reset)).size === 1;
        return isOneMinute ? left.map(({ remaining }) => (left[0]?.remaining ?? 0) - remaining) : [];
      })
      .toEqual([0, 1, 2]);
  });
});

test('a client of early 2025, which does not know resource links, gets text only', async () => {
  const call = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'svc_documents_list', arguments: { deal_id: service.demo.deals.with_everything } },
  };
  for (const [headers, types] of [
    [{}, ['text']],
    [{ 'MCP-Protocol-Version': '2025-03-26' }, ['text']],
    [{ 'MCP-Protocol-Version': '2025-06-18' }, ['resource_link', 'text']],
  ] as const) {
    const { body } = await send(service, access.broker.token, call, { headers });
    expect([...new Set(body?.result.content.map(({ type }) => type))].toSorted()).toEqual(types);
  }
});

describe('a missing permission', () => {
  const tool = 'svc_qoe_normalization_create';
  const deal = () => service.demo.deals.with_everything;
  const adjustment = () => ({
    deal_id: deal(),
    period_label: 'TTM',
    adjustment_category: 'other',
    adjustment_amount: '1',
  });
  const opening = { elicitation: { url: {} } };

  /** Connects a host that opens pages; `onAsked` is the person's reaction to one. */
  async function host(
    who: Access,
    onAsked: (url: URL) => Promise<'accept' | 'decline'>,
    mode: Mode = { pin: '2026-07-28' },
  ) {
    const client = await connect(who, mode, opening);
    const asked: URL[] = [];
    const said: string[] = [];
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      if (params.mode !== 'url') throw new Error('no page to open');
      expect(params.message).toMatch(/Dealkeep, then come back\.$/);
      asked.push(new URL(params.url));
      said.push(params.message);
      return { action: await onAsked(new URL(params.url)) };
    });
    return { asked, said, call: () => client.callTool({ name: tool, arguments: adjustment() }) };
  }

  const paths = (who: Access) => [`/settings/clients/${who.clientId}/tools`, `/settings/deals/${deal()}/tools`];

  test('is requested from the person on our own pages, and the call continues once they give it', async () => {
    const who = await addToken(service, access.broker.userId);
    await service.sql('delete from deal_opt_ins where user_id = $1', [who.userId]);
    const { asked, call } = await host(who, async ({ pathname }) => {
      if (pathname.startsWith('/settings/clients')) await allow(service, who, [tool], []);
      else await allow(service, who, [], [deal()]);
      return 'accept';
    });
    const result = await call();
    expect(result.isError ?? false, JSON.stringify(result)).toBe(false);
    expect(asked.map(({ origin, pathname }) => [origin, pathname])).toEqual(
      paths(who).map((path) => [new URL(service.config.baseUrl).origin, path]),
    );
  });

  test.each(['accept', 'decline'] as const)(
    'is rejected after one request if the person has not given it, whatever the host says (%s)',
    async (action) => {
      const who = await addToken(service, access.broker.userId);
      const { asked, call } = await host(who, async () => action);
      const result = await call();
      expect(result).toMatchObject({
        isError: true,
        structuredContent: { error: 'permission_denied', reason: 'missing_tool_grant', resolve_url: asked[0]?.href },
      });
      expect(asked).toHaveLength(1);
    },
  );

  test("is not described as the person's to give when a broker has turned writing off on the deal", async () => {
    const who = await addToken(service, access.broker.userId);
    await allow(service, who, [tool], [deal()]);
    await service.sql('insert into deal_tool_stops (deal_id, stopped_by) values ($1, $2)', [deal(), who.userId]);
    try {
      const { said, call } = await host(who, async () => 'accept');
      expect(await call()).toMatchObject({ isError: true, structuredContent: { reason: 'missing_deal_opt_in' } });
      expect(said).toEqual([
        '“Record an earnings adjustment” may not write on this deal yet. See what is missing in Dealkeep, then come back.',
      ]);
    } finally {
      await service.sql('delete from deal_tool_stops where deal_id = $1', [deal()]);
    }
  });

  test('cannot be given by another person, whose settings apply only to themselves', async () => {
    const who = await addToken(service, access.broker.userId);
    const { call } = await host(who, async () => {
      await allow(service, { ...who, userId: access.buyer.userId }, [tool], [deal()]);
      return 'accept';
    });
    expect(await call()).toMatchObject({ isError: true, structuredContent: { reason: 'missing_tool_grant' } });
  });

  test('is reported by resolve_url to hosts without pages, hosts of 2025, and tokens without the scope', async () => {
    const who = await addToken(service, access.broker.userId);
    const reader = await addToken(service, access.broker.userId, { scopes: ['mcp:read'] });
    const never = async () => 'accept' as const;
    const hosts = [await host(who, never, 'legacy'), await host(reader, never)];
    for (const { call, asked } of hosts) {
      expect(await call()).toMatchObject({ isError: true, structuredContent: { resolve_url: expect.any(String) } });
      expect(asked).toEqual([]);
    }
    const plain = await connect(who, { pin: '2026-07-28' });
    expect(await plain.callTool({ name: tool, arguments: adjustment() })).toMatchObject({
      isError: true,
      structuredContent: { error: 'permission_denied', resolve_url: expect.any(String) },
    });
  });
});
