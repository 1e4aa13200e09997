/** Checks the published document against real responses. */

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../server/config/config.ts';
import { openApiDocument } from '../../server/rest/openapi.ts';
import { restOperations } from '../../server/rest/routes.ts';
import { tags } from '../../server/rest/tags.ts';
import { openService, type TestService } from '../harness.ts';
import { startCutOffNode } from '../tools/node.ts';
import { pointerTo, readDocument, type PublishedDocument, type Response } from './document.ts';
import { as, brokerage, type Brokerage } from './scene.ts';

let service: TestService;
let tenant: Brokerage;
let api: PublishedDocument['api'];
let schema: PublishedDocument['schema'];
let document: PublishedDocument;

beforeAll(async () => {
  service = await openService({ config: { rateLimits: { ...readConfig({}).rateLimits, rest_ip: 1_000_000 } } });
  tenant = await brokerage(service);
  document = await readDocument(service.restUrl);
  ({ api, schema } = document);
});
afterAll(() => service.close());

const check: PublishedDocument['check'] = (operation, answer) => document.check(operation, answer);

describe('responses', () => {
  test('of contacts, events and /me match the document, and every announced one occurs', async () => {
    // Starts at the beginning of a minute, so that callers over a limit stay over it for the whole test.
    service.clock.advance(60_000 - (service.clock.now().getTime() % 60_000));
    const key = await tenant.key({ scopes: ['contacts:read', 'contacts:write', 'events:read'] });
    const full = as(key, service.restUrl);
    const person = { type: 'person', displayName: 'Ada' };
    const made = await full('POST', '/contacts', { ...person, email: 'ada@example.com', phone: '1' });
    check('POST /contacts', made);
    for (let n = 0; n < 3; n += 1)
      check('POST /contacts', await full('POST', '/contacts', person, { 'Idempotency-Key': 'n' }));
    const one = `/contacts/${made.body?.id}`;
    for (const query of ['', '?after=latest&expand=data', '?after=x'])
      check('GET /events', await full('GET', `/events${query}`));
    const { body: begin } = await full('GET', '/events?after=latest');
    await service.sql(`update vault.change_stream set history = gen_random_uuid()`);
    check('GET /events', await full('GET', `/events?after=${begin?.pagination.nextCursor}`));
    check('GET /contacts', await full('GET', '/contacts'));
    check('GET /contacts', await full('GET', '/contacts?limit=1'));
    for (const [template, asked] of [
      ['/contacts', '/contacts'],
      ['/contacts/{contactId}', one],
    ] as const) {
      const answer = await full('GET', asked);
      check(`GET ${template}`, answer);
      const again = await full('GET', asked, undefined, { 'If-None-Match': answer.headers.get('etag') ?? '' });
      expect(again.status).toBe(304);
      check(`GET ${template}`, again);
    }
    check('GET /contacts/{contactId}', await full('GET', '/contacts/none'));
    check('GET /contacts', await full('GET', '/contacts?limit=0&cursor=x'));
    check('POST /contacts', await full('POST', '/contacts', { ...person, more: 1 }));
    check(
      'POST /contacts',
      await full('POST', '/contacts', 'x'.repeat(70_000), { 'Content-Type': 'application/json' }),
    );
    check('POST /contacts', await full('POST', '/contacts', 'x', { 'Content-Type': 'text/plain' }));
    const nobody = as(null, service.restUrl);
    const limited = as(await tenant.key({ ceiling: 1 }), service.restUrl);
    await limited('GET', '/contacts');
    const [reader, writer] = [
      await tenant.key({ scopes: ['contacts:read'] }),
      await tenant.key({ scopes: ['contacts:write'] }),
    ];
    const away = await startCutOffNode(service);
    onTestFinished(away.stop);
    for (const [method, path, template, other] of [['GET', '/events', '/events', writer]] as const) {
      const body = undefined;
      check(`${method} ${template}`, await nobody(method, path, body));
      check(`${method} ${template}`, await limited(method, path, body));
      check(`${method} ${template}`, await as(other, service.restUrl)(method, path, body));
      await service.sql(
        'alter table contacts rename to contacts_away; alter table vault.change_stream rename to change_stream_away',
      );
      const broken = await full(method, path, body);
      await service.sql(
        'alter table contacts_away rename to contacts; alter table vault.change_stream_away rename to change_stream',
      );
      check(`${method} ${template}`, broken);
      check(`${method} ${template}`, await as(key, `${away.origin}/api/v1`)(method, path, body));
    }
    const added = async (more: object = {}) => (await full('POST', '/contacts', { ...person, ...more })).body!.id;
    const archived = await added();
    await full('POST', `/contacts/archive/${archived}`);
    const firm = await added({ type: 'company' });
    const stale = { 'If-Match': '"stale"' };
    const byExternalId = '/contacts/by-external-id/{externalId}';
    const batch = {
      items: [
        { action: 'create', contact: person },
        { action: 'update', id: firm, contact: { phone: 7 } },
      ],
    };
    const erased = await added();
    await service.sql(`select app.erase_contacts(array[$1::uuid], null, 'admin', null, null)`, [erased]);
    /** Further requests, to get the responses that are specific to an operation. */
    const own: [operation: string, path: string, body?: unknown, headers?: Record<string, string>][] = [
      ['GET /me', '/me'],
      ['GET /me', '/me', undefined, { 'If-None-Match': '*' }],
      ['GET /events', '/events', undefined, { 'If-None-Match': '*' }],
      ['GET /contacts', '/contacts?expand=record&archived=true&sort=updatedAt'],
      ['GET /contacts/{contactId}', `/contacts/${archived}?expand=record&archived=true`],
      ['GET /contacts/{contactId}', `${one}?expand=all`],
      ['PATCH /contacts/{contactId}', one, { externalId: 'one', phone: null }],
      ['PATCH /contacts/{contactId}', one, { phone: '1' }, stale],
      ['PATCH /contacts/{contactId}', '/contacts/none', { phone: '1' }],
      ['PATCH /contacts/{contactId}', `/contacts/${firm}`, { externalId: 'one' }],
      [`PUT ${byExternalId}`, '/contacts/by-external-id/two', person],
      [`PUT ${byExternalId}`, '/contacts/by-external-id/two', { ...person, phone: '1' }],
      [`PUT ${byExternalId}`, '/contacts/by-external-id/two', person, stale],
      [`PUT ${byExternalId}`, '/contacts/by-external-id/a%20b', person],
      [`GET ${byExternalId}`, '/contacts/by-external-id/two'],
      [`GET ${byExternalId}`, '/contacts/by-external-id/none'],
      [`GET ${byExternalId}`, '/contacts/by-external-id/two', undefined, { 'If-None-Match': '*' }],
      [`GET ${byExternalId}`, '/contacts/by-external-id/two?archived=maybe'],
      ['POST /contacts/batch', '/contacts/batch', batch],
      ...(['archive', 'restore'] as const).flatMap((act): typeof own => [
        [`POST /contacts/${act}/{contactId}`, `/contacts/${act}/${firm}`],
        [`POST /contacts/${act}/{contactId}`, `/contacts/${act}/none`],
        [`POST /contacts/${act}/{contactId}`, `/contacts/${act}/${firm}`, undefined, stale],
      ]),
      ['POST /contacts/restore/{contactId}', `/contacts/restore/${erased}`],
      ['POST /contacts/merge/{contactId}', one.replace('contacts', 'contacts/merge'), { from: await added() }],
      ['POST /contacts/merge/{contactId}', one.replace('contacts', 'contacts/merge'), { from: firm }],
      ['POST /contacts/merge/{contactId}', '/contacts/merge/none', { from: firm }],
      ['POST /contacts/merge/{contactId}', one.replace('contacts', 'contacts/merge'), { from: firm }, stale],
    ];
    for (const [operation, path, body, headers] of own)
      check(operation, await full(operation.split(' ')[0]!, path, body, headers));
    const two = (await full('GET', '/contacts/by-external-id/two')).body!.id;
    await full('POST', `/contacts/archive/${two}`);
    check(`PUT ${byExternalId}`, await full('PUT', '/contacts/by-external-id/two', person));

    await service.sql(`create function full_disk() returns trigger language plpgsql as
      $$ begin raise 'No space left on device' using errcode = '53100'; end $$`);
    let count = 0;
    for (const [method, path, template, other, body] of [
      ['GET', '/contacts', '/contacts', writer],
      ['POST', '/contacts', '/contacts', reader, () => person],
      ['GET', one, '/contacts/{contactId}', writer],
      ['PATCH', one, '/contacts/{contactId}', reader, () => ({ phone: `${(count += 1)}` })],
      ['GET', '/contacts/by-external-id/one', byExternalId, writer],
      ['PUT', '/contacts/by-external-id/three', byExternalId, reader, () => person],
      ['POST', '/contacts/batch', '/contacts/batch', reader, () => batch],
      ['POST', one.replace('contacts', 'contacts/archive'), '/contacts/archive/{contactId}', reader],
      ['POST', `/contacts/restore/${archived}`, '/contacts/restore/{contactId}', reader],
      ['POST', `/contacts/merge/${firm}`, '/contacts/merge/{contactId}', reader, (from: string) => ({ from })],
      ['GET', '/me', '/me', null],
    ] as const) {
      const operation = `${method} ${template}`;
      const ask = async (call: typeof full, at = path as string, headers: Record<string, string> = {}) =>
        call(
          method,
          at,
          body?.(template.startsWith('/contacts/merge') ? await added({ type: 'company' }) : ''),
          headers,
        );
      check(operation, await ask(nobody));
      check(operation, await ask(limited));
      if (other) check(operation, await ask(as(other, service.restUrl)));
      const table = other ? 'contacts' : 'api_keys';
      const from = body?.(template.startsWith('/contacts/merge') ? await added({ type: 'company' }) : '');
      await service.sql(`alter table ${table} rename to away`);
      const failed = await full(method, path, from);
      await service.sql(`alter table away rename to ${table}`);
      check(operation, failed);
      check(operation, await as(key, `${away.origin}/api/v1`)(method, path, from));
      if (method === 'GET') continue;
      check(operation, await ask(full, path, { 'Idempotency-Key': 'a b' }));
      await service.sql('create trigger full_disk before insert or update on contacts execute function full_disk()');
      const unkept = await full(method, path, from);
      await service.sql('drop trigger full_disk on contacts');
      check(operation, unkept);
      if (!body) continue;
      check(operation, await full(method, path, `"${'x'.repeat(1_100_000)}"`, { 'Content-Type': 'application/json' }));
      check(operation, await full(method, path, 'x', { 'Content-Type': 'text/plain' }));
    }
    for (const below of ['/contacts', '/me', '/events'])
      expect(document.checked(below)).toEqual(document.announced(below));
  });

  test('that differ from their schema fail validation', async () => {
    const full = as(await tenant.key(), service.restUrl);
    const { body } = await full('POST', '/contacts', { type: 'person', displayName: 'Ada' });
    const validate = schema('#/components/schemas/Contact');
    expect(validate(body)).toBe(true);
    for (const wrong of [
      { id: 'x' },
      { type: 'dog' },
      { createdAt: '2020' },
      { displayName: undefined },
      { email: 'x' },
    ])
      expect(validate({ ...body, ...wrong }), JSON.stringify(wrong)).toBe(false);
    expect(schema('#/components/schemas/ErrorEnvelope')({ error: { code: 'other', message: '' } })).toBe(false);
  });
});

describe('the document', () => {
  test('has an example of every body and response, built from examples of their properties', () => {
    const without: string[] = [];
    openApiDocument('https://dealkeep.example', restOperations(service.services), (path) => without.push(path));
    const sentence = 'gives no example: in its schema, add .meta({ examples: [...] }) with one from the demo';
    expect([...new Set(without)].map((path) => `${path} ${sentence}`)).toEqual([]);
  });

  test('permits values of later versions, and lists the current ones', () => {
    for (const [name, property] of [
      ['Event', 'type'],
      ['Event', 'objectType'],
      ['WebhookEvent', 'type'],
      ['WebhookEvent', 'objectType'],
      ['Webhook', 'offReason'],
      ['WebhookWithSecret', 'offReason'],
    ] as const) {
      const at = pointerTo('components', 'schemas', name, 'properties', property);
      expect(schema(at)('later'), `${name}.${property}`).toBe(true);
      expect(schema(at)(7), `${name}.${property}`).toBe(false);
      const { properties } = api.components['schemas']![name] as { properties: Record<string, object> };
      expect(JSON.stringify(properties[property])).toMatch(/"enum":\["\w+/);
    }
  });

  test('describes every group of operations', () => {
    const silent = api.tags.filter(({ description }) => description === '').map(({ name }) => name);
    expect(silent.map((name) => `The tag ${name} has no description: add one to server/rest/tags.ts`)).toEqual([]);
    const described = new Set(api.tags.map(({ name }) => name));
    expect(Object.keys(tags).filter((name) => !described.has(name))).toEqual([]);
  });

  test('has no example that its schema rejects', () => {
    const wrong: string[] = [];
    /** Checks the examples of every body below a part of the document. */
    function look(part: unknown, steps: readonly string[]): void {
      if (typeof part !== 'object' || part === null) return;
      const { content } = part as Response;
      for (const [type, { schema: body, example, examples = {} }] of Object.entries(content ?? {})) {
        if (!type.includes('json')) continue;
        const validate = schema(pointerTo(...steps, 'content', type, 'schema'));
        const all = [example, ...Object.values(examples).map(({ value }) => value)].filter(Boolean);
        if (all.length === 0) wrong.push(`${steps.join(' ')}: there is no example of ${JSON.stringify(body)}`);
        for (const one of all)
          if (!validate(one))
            wrong.push(`${steps.join(' ')}: ${JSON.stringify(one)} ${JSON.stringify(validate.errors)}`);
      }
      for (const [name, inner] of Object.entries(part)) if (name !== 'content') look(inner, [...steps, name]);
    }
    look(api.paths, ['paths']);
    look(api.webhooks, ['webhooks']);
    look(api.components['responses'], ['components', 'responses']);
    expect(wrong).toEqual([]);
  });

  test('specifies the details of each error', () => {
    const error = schema('#/components/schemas/RateLimitedError');
    const body = { error: { code: 'rate_limited', message: 'Later.', details: { limit: 600, retry_after: 3 } } };
    expect(error(body)).toBe(true);
    expect(error({ error: { ...body.error, details: { limit: 600 } } })).toBe(false);
    expect(error({ error: { ...body.error, code: 'invalid_token' } })).toBe(false);
    expect(schema('#/components/schemas/ValidationError')({ error: { code: 'validation_error', message: '' } })).toBe(
      false,
    );
  });
});

test('bodies that the document permits are accepted, and others rejected', async () => {
  const full = as(await tenant.key(), service.restUrl);
  const allows = schema('#/components/schemas/ContactCreate');
  const name = { type: 'person', displayName: 'a' };
  for (const body of [
    name,
    { ...name, type: 'company', phone: '' },
    { ...name, displayName: '😀'.repeat(500) },
    { ...name, displayName: '😀'.repeat(5_000) },
    { ...name, displayName: '' },
    { ...name, displayName: ' ' },
    { ...name, displayName: 'a\0' },
    { ...name, displayName: ' \0' },
    { ...name, phone: '\0' },
    { ...name, phone: '1'.repeat(50) },
    { ...name, phone: '1'.repeat(5_000) },
    { ...name, email: 'a@example.com' },
    { ...name, email: 'a' },
    { ...name, email: null },
    { ...name, phone: null },
    { ...name, extra: 1 },
    { displayName: 'a' },
    { type: 'person' },
    { ...name, type: 'Person' },
    [],
    null,
    'text',
  ])
    expect([body, (await full('POST', '/contacts', body)).status === 201]).toEqual([body, allows(body)]);
});

test('the document matches the specification', () => {
  expect(api.openapi).toMatch(/^3\.1\./);
  expect(api.info.version).toBe('1.0.0');
  expect(api.servers).toEqual([{ url: service.restUrl }]);
  expect(api.components['securitySchemes']?.['apiKey']).toMatchObject({ type: 'http', scheme: 'bearer' });
  const shape = (name: string) => {
    const { properties = {}, required = [] } = (api.components['schemas']?.[name] ?? {}) as {
      properties?: object;
      required?: string[];
    };
    return [Object.keys(properties), required];
  };
  expect(shape('Contact')).toEqual([
    ['id', 'type', 'displayName', 'email', 'phone', 'createdAt', 'updatedAt'],
    ['id', 'type', 'displayName', 'createdAt', 'updatedAt'],
  ]);
  expect(shape('ContactCreate')).toEqual([
    ['type', 'displayName', 'email', 'phone'],
    ['type', 'displayName'],
  ]);
  expect(shape('ContactList')).toEqual([
    ['data', 'pagination'],
    ['data', 'pagination'],
  ]);
  expect(shape('Pagination')).toEqual([['hasMore', 'nextCursor'], ['hasMore']]);
  expect(api.paths['/contacts']?.['get']?.parameters).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: 'cursor', in: 'query', schema: { type: 'string' } }),
      expect.objectContaining({
        name: 'limit',
        in: 'query',
        schema: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
      }),
    ]),
  );
});
