/**
 * Contacts kept in sync with another system: changed, archived, merged, found again, in batches, and with each request
 * done once.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../server/config/config.ts';
import { openService, type TestService } from '../harness.ts';
import { atOnce } from '../locks.ts';
import { as, brokerage, codeOf, type Answer, type Brokerage, type ContactRecord } from './scene.ts';

let service: TestService;
let ours: Brokerage;
let theirs: Brokerage;
let call: ReturnType<typeof as>;
/** The same caller, on the other node. */
let elsewhere: ReturnType<typeof as>;
let foreign: ReturnType<typeof as>;

beforeAll(async () => {
  service = await openService({
    nodes: 2,
    config: { rateLimits: { ...readConfig({}).rateLimits, rest_ip: 1_000_000, rest_auth_failure_ip: 1_000_000 } },
  });
  ours = await brokerage(service);
  theirs = await brokerage(service);
  const key = await ours.key();
  [call, elsewhere] = service.nodes.map((node) => as(key, node.restUrl)) as [typeof call, typeof call];
  foreign = as(await theirs.key(), service.restUrl);
});
afterAll(() => service.close());

type Reply = Awaited<ReturnType<typeof call>>;

const entry = ({ body }: Reply) => body as ContactRecord;
const tagOf = ({ headers }: Reply) => headers.get('etag')!;

async function add(displayName: string, more: object = {}, get = call): Promise<Answer> {
  const made = await get('POST', '/contacts', { type: 'person', displayName, ...more });
  expect(made.status).toBe(201);
  return made.body!;
}

const one = (id: string, query = '?expand=record&archived=true') => call('GET', `/contacts/${id}${query}`);
const recorded = (id: string | null) =>
  service.sql<{ action: string; outcome: string; details: object }>(
    `select action, outcome, details from audit_records where subject_id = $1 and key_id is not null order by at, id`,
    [id],
  );

describe('PATCH of a contact', () => {
  test('changes the properties sent, clears those that are null and keeps the others', async () => {
    const made = await add('Ada', { email: 'ada@example.com', phone: '1' });
    service.clock.advance(5);
    const changed = await call('PATCH', `/contacts/${made.id}`, { displayName: 'Ada L.', email: null });
    expect(changed.status).toBe(200);
    expect(Object.keys(changed.body!)).toEqual(
      'id type displayName email phone externalId archivedAt mergedInto erasedAt createdAt updatedAt etag'.split(' '),
    );
    expect(entry(changed)).toEqual({
      ...made,
      displayName: 'Ada L.',
      email: null,
      externalId: null,
      archivedAt: null,
      mergedInto: null,
      erasedAt: null,
      etag: tagOf(changed),
      updatedAt: expect.stringMatching(/Z$/),
    });
    expect(entry(changed).updatedAt > made.updatedAt).toBe(true);
    expect((await one(made.id)).body).toEqual(changed.body);
    expect((await one(made.id, '')).body).toEqual({
      ...made,
      displayName: 'Ada L.',
      email: null,
      updatedAt: entry(changed).updatedAt,
    });
    const type = { 'Content-Type': 'application/merge-patch+json' };
    const again = await call('PATCH', `/contacts/${made.id}`, { type: 'company', phone: '2', externalId: 'a-1' }, type);
    expect(entry(again)).toMatchObject({ type: 'company', phone: '2', externalId: 'a-1', displayName: 'Ada L.' });
    expect((await recorded(made.id)).slice(1)).toEqual([
      { action: 'contact.update', outcome: 'done', details: { changed: ['displayName', 'email'] } },
      { action: 'contact.update', outcome: 'done', details: { changed: ['type', 'phone', 'externalId'] } },
    ]);
  });

  test('an empty phone number is stored as none, however it is sent', async () => {
    const made = await add('No phone', { phone: '' });
    expect(made.phone).toBeNull();
    const before = await one(made.id);
    const after = await call('PATCH', `/contacts/${made.id}`, { phone: '' });
    expect([after.body, before.body!.phone]).toEqual([before.body, null]);
    const put = await call('PUT', '/contacts/by-external-id/no-phone', {
      type: 'person',
      displayName: 'No phone',
      phone: '',
    });
    expect(entry(put).phone).toBeNull();
  });

  test('names and phone numbers are stored without surrounding space, however they are sent', async () => {
    const sent = { type: 'person', displayName: ' Ada \t\u00a0', phone: '\n5 5 ' };
    const [made, blank] = [await add(sent.displayName, sent), await add('Blank', { phone: '  ' })];
    expect([made.displayName, made.phone, blank.phone]).toEqual(['Ada', '5 5', null]);
    expect(entry(await one(made.id))).toMatchObject({ displayName: 'Ada', phone: '5 5' });
    const item = { action: 'upsert', externalId: 'spaced', contact: sent };
    const batch = await call('POST', '/contacts/batch', { items: [item] });
    for (const written of [
      (batch.body as unknown as { results: { contact: ContactRecord }[] }).results[0]!.contact,
      entry(await call('PUT', '/contacts/by-external-id/spaced', sent)),
      entry(await call('PATCH', `/contacts/${blank.id}`, sent)),
    ])
      expect(written).toMatchObject({ displayName: 'Ada', phone: '5 5' });
  });

  test('with the same values leaves updatedAt and the ETag as they are, so two systems do not loop', async () => {
    const made = await add('Quiet', { phone: '1' });
    const before = await one(made.id);
    service.clock.advance(5);
    for (const patch of [{}, { phone: '1' }, { displayName: 'Quiet', email: null, type: 'person' }]) {
      const after = await call('PATCH', `/contacts/${made.id}`, patch);
      expect([after.status, after.body, tagOf(after)]).toEqual([200, before.body, tagOf(before)]);
    }
  });

  test.each([
    [{ displayName: null }, 'displayName'],
    [{ displayName: ' ' }, 'displayName'],
    [{ type: null }, 'type'],
    [{ type: 'dog' }, 'type'],
    [{ email: 'x' }, 'email'],
    [{ email: '' }, 'email'],
    [{ phone: 7 }, 'phone'],
    [{ phone: '\0' }, 'phone'],
    [{ displayName: '\ud800' }, 'displayName'],
    [{ externalId: '' }, 'externalId'],
    [{ externalId: 'a b' }, 'externalId'],
    [{ externalId: 'é' }, 'externalId'],
    [{ externalId: '..' }, 'externalId'],
    [{ externalId: 'x'.repeat(256) }, 'externalId'],
    [{ id: crypto.randomUUID() }, 'id'],
    [{ archivedAt: null }, 'archivedAt'],
    [{ brokerage_id: 'x' }, 'brokerage_id'],
    [[], ''],
    [null, ''],
    ['"x"', ''],
    ['{"phone":"1","phone":"2"}', 'phone'],
    ['{', ''],
  ])('%j is rejected and changes nothing', async (patch, path) => {
    const made = await add('Firm');
    const refused = await call('PATCH', `/contacts/${made.id}`, patch === null ? 'null' : patch);
    expect(codeOf(refused)).toEqual([400, 'validation_error']);
    expect(refused.body?.error.details.faults[0]).toMatchObject({ in: 'body', path });
    expect((await one(made.id, '')).body).toEqual(made);
  });

  test("requires a contact of the key's brokerage; writes require both contact scopes", async () => {
    const made = await add('Kept');
    for (const id of [made.id, crypto.randomUUID(), 'none', '%00'])
      expect(codeOf(await foreign('PATCH', `/contacts/${id}`, { phone: '1' }))).toEqual([404, 'contact_not_found']);
    for (const scopes of [['contacts:read'], ['contacts:write']] as const) {
      const key = await ours.key({ scopes });
      const lacking = scopes[0] === 'contacts:read' ? 'contacts:write' : 'contacts:read';
      const get = as(key, service.restUrl);
      for (const [method, path, body] of [
        ['PATCH', `/contacts/${made.id}`, { phone: '1' }],
        ['PATCH', '/contacts/none', { nothing: 1 }],
        ['POST', `/contacts/archive/${made.id}`, undefined],
        ['POST', `/contacts/merge/${made.id}`, { from: crypto.randomUUID() }],
        ['PUT', '/contacts/by-external-id/scope', { type: 'person', displayName: 'A' }],
        ['POST', '/contacts/batch', { items: [{ action: 'create', contact: { type: 'person', displayName: 'A' } }] }],
      ] as const)
        for (const headers of [{}, { 'Idempotency-Key': `s-${path}` }] as Record<string, string>[]) {
          const refused = await get(method, path, body, headers);
          expect([path, refused.status, refused.body?.error.details['required_scope']]).toEqual([path, 403, lacking]);
        }
      // Requests for which a scope is missing, including the scope to read, leave no idempotency key.
      const [kept] = await service.sql('select count(*)::int as n from vault.idempotency_keys where key_id = $1', [
        key.id,
      ]);
      expect(kept).toEqual({ n: 0 });
    }
    expect(codeOf(await as(null, service.restUrl)('PATCH', `/contacts/${made.id}`, { phone: '1' }))).toEqual([
      401,
      'invalid_token',
    ]);
    expect((await one(made.id, '')).body).toEqual(made);
    expect((await call('GET', '/contacts/by-external-id/scope')).status).toBe(404);
  });
});

describe('archiving', () => {
  test('hides a contact unless archived=true is sent; restoring brings it back', async () => {
    const made = await add('Shelf', { email: 'shelf@example.com' });
    const path = `/contacts/${made.id}`;
    const archived = await call('POST', path.replace('contacts', 'contacts/archive'));
    expect([archived.status, entry(archived).archivedAt]).toEqual([200, expect.stringMatching(/Z$/)]);
    const again = await call('POST', path.replace('contacts', 'contacts/archive'));
    expect([again.status, again.text]).toEqual([200, archived.text]);
    for (const query of ['', '?expand=record', '?archived=false'])
      expect(codeOf(await call('GET', path + query))).toEqual([404, 'contact_not_found']);
    expect((await call('GET', `${path}?archived=true`)).body).toEqual({
      ...made,
      updatedAt: entry(archived).updatedAt,
    });
    expect(codeOf(await call('PATCH', path, { phone: '1' }))).toEqual([409, 'conflict']);
    expect(codeOf(await foreign('POST', path.replace('contacts', 'contacts/restore')))).toEqual([
      404,
      'contact_not_found',
    ]);
    const restored = await call('POST', path.replace('contacts', 'contacts/restore'));
    expect([restored.status, entry(restored).archivedAt]).toEqual([200, null]);
    expect((await call('POST', path.replace('contacts', 'contacts/restore'))).text).toBe(restored.text);
    expect((await call('GET', path)).status).toBe(200);
    expect((await recorded(made.id)).map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
      'contact.create done',
      'contact.archive done',
      'contact.archive done',
      'contact.update refused',
      'contact.restore refused',
      'contact.restore done',
      'contact.restore done',
    ]);
  });
});

describe('external ids', () => {
  const path = (id: string) => `/contacts/by-external-id/${encodeURIComponent(id)}`;

  test('the first PUT creates the contact, later ones replace it', async () => {
    const first = await call('PUT', path('crm/1 %'.replace(' ', '+')), {
      type: 'person',
      displayName: 'Ida',
      phone: '1',
    });
    expect(first.status).toBe(201);
    const { id } = entry(first);
    expect(first.headers.get('location')).toBe(`/api/v1/contacts/${id}`);
    expect(entry(first)).toMatchObject({ externalId: 'crm/1+%', phone: '1', email: null });
    const same = await call('PUT', path('crm/1+%'), { type: 'person', displayName: 'Ida', phone: '1' });
    expect([same.status, same.text, same.headers.get('location')]).toEqual([200, first.text, null]);
    const other = await call('PUT', path('crm/1+%'), {
      type: 'company',
      displayName: 'Ida Ltd',
      email: 'ida@example.com',
    });
    expect([other.status, entry(other)]).toEqual([
      200,
      {
        ...entry(first),
        type: 'company',
        displayName: 'Ida Ltd',
        phone: null,
        email: 'ida@example.com',
        updatedAt: entry(other).updatedAt,
        etag: tagOf(other),
      },
    ]);
    const got = await call('GET', path('crm/1+%'));
    expect([got.status, got.body, tagOf(got)]).toEqual([200, other.body, tagOf(other)]);
    expect((await call('GET', path('crm/1+%'), undefined, { 'If-None-Match': tagOf(got) })).status).toBe(304);
    // The first operations do not return the external id.
    expect((await call('GET', `/contacts/${id}`)).body).not.toHaveProperty('externalId');
    // Another brokerage has external ids of its own.
    expect((await foreign('GET', path('crm/1+%'))).status).toBe(404);
    expect((await foreign('PUT', path('crm/1+%'), { type: 'person', displayName: 'Theirs' })).status).toBe(201);
  });

  test('If-Match on an unknown external id is rejected and creates nothing', async () => {
    const body = { type: 'person', displayName: 'Nobody' };
    for (const tag of ['*', '"x"'])
      expect(codeOf(await call('PUT', path('unmade'), body, { 'If-Match': tag }))).toEqual([
        412,
        'precondition_failed',
      ]);
    expect((await call('GET', path('unmade'))).status).toBe(404);
  });

  test.each(['a b', 'é', '\u0000', 'x'.repeat(256), '%20'.repeat(3)])(
    'external id "%s" is accepted only if it is visible ASCII of at most 255 characters',
    async (id) => {
      const refused = await call('PUT', path(id), { type: 'person', displayName: 'A' });
      if (id.startsWith('%')) expect(refused.status).toBe(201);
      else {
        expect(codeOf(refused)).toEqual([400, 'validation_error']);
        expect((await call('GET', path(id))).status).toBe(404);
      }
    },
  );

  test('20 concurrent PUTs of one external id on two nodes create one contact', async () => {
    const key = await ours.key();
    const nodes = service.nodes.map((node) => as(key, node.restUrl));
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        nodes[n % 2]!('PUT', path('race'), { type: 'person', displayName: `R${n % 3}` }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array.from({ length: 19 }, () => 200), 201]);
    expect(new Set(answers.map((answer) => entry(answer).id)).size).toBe(1);
    const taken = await add('Late');
    expect(codeOf(await call('PATCH', `/contacts/${taken.id}`, { externalId: 'race' }))).toEqual([409, 'conflict']);
    expect((await one(taken.id)).body).toMatchObject({ externalId: null });
  });

  test('a PUT for an archived contact is rejected with its id and does not restore it', async () => {
    const made = await call('PUT', path('shelved'), { type: 'person', displayName: 'S' });
    await call('POST', `/contacts/archive/${entry(made).id}`);
    expect((await call('GET', path('shelved'))).status).toBe(404);
    expect(entry(await call('GET', `${path('shelved')}?archived=true`)).id).toBe(entry(made).id);
    const refused = await call('PUT', path('shelved'), { type: 'person', displayName: 'S2' });
    expect([...codeOf(refused), refused.body?.error.details['contactId']]).toEqual([409, 'conflict', entry(made).id]);
    const taken = await add('Late');
    expect(codeOf(await call('PATCH', `/contacts/${taken.id}`, { externalId: 'shelved' }))).toEqual([409, 'conflict']);
  });
});

describe('merging', () => {
  const path = (id: string) => `/contacts/by-external-id/${id}`;

  test('fills in missing values, archives the duplicate with a pointer and moves its external ids', async () => {
    const kept = await add('Kept', { phone: '1' });
    const twin = await call('PUT', path('twin'), {
      type: 'person',
      displayName: 'Kept too',
      phone: '2',
      email: 'k@example.com',
    });
    const merged = await call('POST', `/contacts/merge/${kept.id}`, { from: entry(twin).id });
    expect([merged.status, entry(merged)]).toEqual([
      200,
      { ...entry(await one(kept.id)), displayName: 'Kept', phone: '1', email: 'k@example.com', externalId: 'twin' },
    ]);
    const old = await one(entry(twin).id);
    expect(entry(old)).toMatchObject({
      mergedInto: kept.id,
      externalId: null,
      archivedAt: expect.stringMatching(/Z$/),
      phone: '2',
    });
    expect((await call('GET', `/contacts/${entry(twin).id}`)).status).toBe(404);
    expect(entry(await call('GET', path('twin'))).id).toBe(kept.id);
    const again = await call('POST', `/contacts/merge/${kept.id}`, { from: entry(twin).id });
    expect([again.status, again.text]).toEqual([200, merged.text]);
    expect((await recorded(kept.id)).filter(({ action }) => action === 'contact.merge')).toEqual([
      { action: 'contact.merge', outcome: 'done', details: { from: entry(twin).id } },
      { action: 'contact.merge', outcome: 'done', details: { from: entry(twin).id, changed: [] } },
    ]);

    // A second contact is merged, with an external id of its own and with a contact already merged into it that has
    // one, too.
    const third = await call('PUT', path('third'), { type: 'person', displayName: 'Third' });
    const fourth = await call('PUT', path('fourth'), { type: 'person', displayName: 'Fourth' });
    await call('POST', `/contacts/merge/${entry(third).id}`, { from: entry(fourth).id });
    await call('POST', `/contacts/merge/${kept.id}`, { from: entry(third).id });
    for (const id of ['twin', 'third', 'fourth']) expect(entry(await call('GET', path(id))).id).toBe(kept.id);
    expect(entry(await one(entry(fourth).id)).mergedInto).toBe(kept.id);
    const written = await call('PUT', path('fourth'), { type: 'person', displayName: 'By another id' });
    expect([written.status, entry(written)]).toMatchObject([
      200,
      { id: kept.id, externalId: 'twin', displayName: 'By another id' },
    ]);

    const restored = await call('POST', `/contacts/restore/${entry(third).id}`);
    expect(entry(restored)).toMatchObject({ archivedAt: null, mergedInto: null, externalId: 'third' });
    expect(entry(await call('GET', path('third'))).id).toBe(entry(third).id);
  });

  test('what was erased is marked as such, and is neither restored nor changed nor merged', async () => {
    const kept = await add('Kept');
    const gone = await call('PUT', path('erased-1'), { type: 'person', displayName: 'Gone', phone: '1' });
    const { id } = entry(gone);
    await service.sql(`select app.erase_contacts(array[$1::uuid], null, 'admin', null, null)`, [id]);
    const left = entry(await one(id));
    expect(left).toMatchObject({ displayName: 'Former participant', phone: null, externalId: null });
    expect(left.erasedAt).toBe(left.archivedAt);
    for (const answer of [
      await call('POST', `/contacts/restore/${id}`),
      await call('PATCH', `/contacts/${id}`, { displayName: 'Gone' }),
      await call('POST', `/contacts/merge/${kept.id}`, { from: id }),
      await call('POST', `/contacts/merge/${id}`, { from: kept.id }),
    ])
      expect(answer).toMatchObject({
        status: 409,
        body: { error: { code: 'conflict', details: { reason: 'erased', contactId: id } } },
      });
    const batch = await call('POST', '/contacts/batch', { items: [{ action: 'update', id, contact: { phone: '2' } }] });
    expect((batch.body as unknown as { results: object[] }).results).toMatchObject([
      { status: 409, etag: left.etag, error: { details: { reason: 'erased' } } },
    ]);
    expect((await call('POST', `/contacts/archive/${id}`)).status).toBe(200);
    expect(entry(await one(id))).toEqual(left);
  });

  test('invalid merges are rejected and change nothing', async () => {
    const kept = await add('Kept');
    const company = await add('Firm', { type: 'company' });
    const gone = await add('Gone');
    await call('POST', `/contacts/archive/${gone.id}`);
    const foreigner = await add('Theirs', {}, foreign);
    const merge = (id: string, from: unknown) => call('POST', `/contacts/merge/${id}`, { from });
    for (const from of [foreigner.id, crypto.randomUUID(), kept.id, 'x', null, undefined])
      expect([from, ...codeOf(await merge(kept.id, from))]).toEqual([from, 400, 'validation_error']);
    expect(codeOf(await merge(kept.id, company.id))).toEqual([409, 'conflict']);
    const archived = await merge(kept.id, gone.id);
    expect([...codeOf(archived), archived.body?.error.details]).toEqual([409, 'conflict', { contactId: gone.id }]);
    const into = await merge(gone.id, kept.id);
    expect([...codeOf(into), into.body?.error.details]).toEqual([409, 'conflict', { contactId: gone.id }]);
    expect(into.body?.error.message).toContain('The contact to merge into is archived');
    for (const id of [foreigner.id, crypto.randomUUID(), 'x'])
      expect(codeOf(await merge(id, kept.id))).toEqual([404, 'contact_not_found']);
    for (const id of [kept.id, company.id]) expect(entry(await one(id)).archivedAt).toBeNull();
    const stale = await call('POST', `/contacts/merge/${kept.id}`, { from: company.id }, { 'If-Match': '"x"' });
    expect(codeOf(stale)).toEqual([412, 'precondition_failed']);
    expect((await foreign('GET', `/contacts/${foreigner.id}`)).status).toBe(200);
  });

  test('two concurrent merges into each other leave one of the two contacts', async () => {
    const [a, b] = [await add('A'), await add('B')];
    const answers = await Promise.all([
      call('POST', `/contacts/merge/${a.id}`, { from: b.id }),
      call('POST', `/contacts/merge/${b.id}`, { from: a.id }),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  });

  test('waits for a batch with the same contacts in another order', async () => {
    const [a, b] = [await add('A'), await add('B')];
    const items = [b, a].map(({ id }) => ({ action: 'update', id, contact: { phone: '7' } }));
    const answers = await atOnce(
      service,
      ['contacts', 'id', b.id],
      () => call('POST', '/contacts/batch', { items }),
      () => elsewhere('POST', `/contacts/merge/${a.id}`, { from: b.id }),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(entry(await one(b.id))).toMatchObject({ phone: '7', mergedInto: a.id });
  });

  test('blocks a concurrent PUT that uses the external id of a contact merged earlier', async () => {
    const put = (id: string, displayName: string, by = call) => by('PUT', path(id), { type: 'person', displayName });
    const [b, x] = [entry(await put('beside-b', 'B')), entry(await put('beside-x', 'X'))];
    await call('POST', `/contacts/merge/${b.id}`, { from: x.id });
    const a = await add('A');
    const answers = await atOnce(
      service,
      ['contacts', 'id', a.id],
      () => call('POST', `/contacts/merge/${a.id}`, { from: b.id }),
      () => put('beside-x', 'Changed', elsewhere),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(entry(await one(a.id))).toMatchObject({ displayName: 'Changed', externalId: 'beside-b' });
  });
});

describe('batches', () => {
  interface Result {
    status: number;
    etag?: string;
    contact?: ContactRecord;
    error?: { code: string; message: string; details?: { faults: { path: string }[] } };
  }
  const results = ({ body }: Reply) => (body as unknown as { results: Result[] }).results;
  const person = (displayName: string) => ({ type: 'person', displayName });

  test('each item succeeds or is rejected as if sent alone, in the order given', async () => {
    const made = await add('Batch');
    const tag = tagOf(await one(made.id));
    const sent = await call('POST', '/contacts/batch', {
      items: [
        { action: 'create', contact: { ...person('New'), externalId: 'b-1' } },
        { action: 'create', contact: { ...person('Again'), externalId: 'b-1' } },
        { action: 'upsert', externalId: 'b-1', contact: { ...person('New'), phone: '3' } },
        { action: 'upsert', externalId: 'b-2', contact: person('Second') },
        { action: 'update', id: made.id, ifMatch: tag, contact: { phone: '9' } },
        { action: 'update', id: made.id, ifMatch: tag, contact: { phone: '10' } },
        { action: 'update', id: made.id, ifMatch: 'W/"x"', contact: { phone: '10' } },
        { action: 'update', id: crypto.randomUUID(), contact: { phone: '1' } },
        { action: 'create', contact: { type: 'dog' } },
        { action: 'delete', id: made.id },
        'nonsense',
        { action: 'create', contact: person('x'.repeat(65_600)) },
      ],
    });
    expect(sent.status).toBe(200);
    expect(results(sent).map(({ status, error, contact }) => [status, error?.code ?? contact?.displayName])).toEqual([
      [201, 'New'],
      [409, 'conflict'],
      [200, 'New'],
      [201, 'Second'],
      [200, 'Batch'],
      [412, 'precondition_failed'],
      [412, 'precondition_failed'],
      [404, 'contact_not_found'],
      [400, 'validation_error'],
      [400, 'validation_error'],
      [400, 'validation_error'],
      [400, 'validation_error'],
    ]);
    // The tag is the same as of the contact alone: the next change can depend on it.
    const now = tagOf(await one(made.id));
    expect(results(sent).map(({ etag }) => etag)).toEqual([
      expect.any(String),
      undefined,
      tagOf(await one(results(sent)[0]!.contact!.id)),
      expect.any(String),
      now,
      now,
      now,
      ...Array.from({ length: 5 }, () => undefined),
    ]);
    expect(results(sent)[1]!.error!.details).toEqual({ contactId: results(sent)[0]!.contact!.id });
    const list = await call('GET', '/contacts?expand=record&search=batch');
    expect(list.body!.data).toMatchObject([{ id: made.id, etag: now }]);
    expect(results(sent)[2]!.contact).toMatchObject({ id: results(sent)[0]!.contact!.id, phone: '3' });
    expect(results(sent)[8]!.error!.details!.faults.map(({ path }) => path)).toEqual([
      'contact.type',
      'contact.displayName',
    ]);
    expect(entry(await one(made.id)).phone).toBe('9');
    const [batch] = await service.sql(
      `select outcome, details from audit_records where action = 'contact.batch' and brokerage_id = $1 order by at desc limit 1`,
      [ours.id],
    );
    expect(batch).toEqual({ outcome: 'done', details: { created: 2, done: 2, taken: 1, stale: 2, not_found: 1 } });
    expect((await recorded(made.id)).at(-1)).toMatchObject({
      action: 'contact.update',
      details: { changed: ['phone'] },
    });
  });

  test('archives and restores, on condition if asked', async () => {
    const [a, b] = [await add('To archive'), await add('Changed')];
    const old = tagOf(await one(b.id));
    await call('PATCH', `/contacts/${b.id}`, { phone: '1' });
    const send = async (...items: object[]) =>
      results(await call('POST', '/contacts/batch', { items })).map(({ status, contact }) => [
        status,
        contact && contact.archivedAt !== null,
      ]);
    const item = (action: string, id: string, more: object = {}) => ({ action, id, ...more });
    expect(
      await send(
        item('archive', a.id),
        item('archive', b.id, { ifMatch: old }),
        item('archive', crypto.randomUUID()),
        item('archive', b.id, { contact: { phone: '2' } }),
      ),
    ).toEqual([
      [200, true],
      [412, undefined],
      [404, undefined],
      [400, undefined],
    ]);
    expect((await call('GET', `/contacts/${a.id}`)).status).toBe(404);
    expect(await send(item('restore', a.id), item('restore', b.id))).toEqual([
      [200, false],
      [200, false],
    ]);
    expect((await recorded(a.id)).map(({ action }) => action)).toEqual([
      'contact.create',
      'contact.archive',
      'contact.restore',
    ]);
  });

  test('takes 1 to 200 items and at most a megabyte, and counts each item against the rate limit', async () => {
    for (const items of [[], undefined, {}, Array.from({ length: 201 }, () => ({}))])
      expect(codeOf(await call('POST', '/contacts/batch', { items }))).toEqual([400, 'validation_error']);
    const large = Array.from({ length: 20 }, (_, n) => ({
      action: 'create',
      contact: person(`${n}${'x'.repeat(60_000)}`),
    }));
    expect(codeOf(await call('POST', '/contacts/batch', { items: large }))).toEqual([413, 'validation_error']);
    service.clock.startMinute();
    const key = await ours.key({ ceiling: 250 });
    const limited = as(key, service.restUrl);
    const items = Array.from({ length: 200 }, (_, n) => ({
      action: 'upsert',
      externalId: `many-${n}`,
      contact: person(`Many ${n}`),
    }));
    const first = await limited('POST', '/contacts/batch', { items });
    expect(results(first).every(({ status }) => status === 201)).toBe(true);
    expect(first.headers.get('x-ratelimit-remaining')).toBe('50');
    const second = await limited('POST', '/contacts/batch', { items });
    expect(codeOf(second)).toEqual([429, 'rate_limited']);
    // A batch over the limit leaves no audit record.
    expect(
      await service.sql(`select outcome from audit_records where key_id = $1 and action = 'contact.batch'`, [key.id]),
    ).toEqual([{ outcome: 'done' }]);
    const [row] = await service.sql(`select count(*)::int as n from contacts where external_id like 'many-%'`);
    expect(row).toEqual({ n: 200 });
    // A batch larger than the key's limit per minute is not told to wait, and counts as one request.
    const small = as(await ours.key({ ceiling: 5 }), service.restUrl);
    const refused = await small('POST', '/contacts/batch', { items: items.slice(0, 6) });
    expect(codeOf(refused)).toEqual([400, 'validation_error']);
    expect(refused.body?.error.details.faults).toMatchObject([{ in: 'body', path: 'items' }]);
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('4');
    service.clock.startMinute();
    expect((await small('POST', '/contacts/batch', { items: items.slice(0, 5) })).status).toBe(200);
  });

  test('two concurrent batches with the same external ids in opposite order create each contact once', async () => {
    const key = await ours.key();
    const nodes = service.nodes.map((node) => as(key, node.restUrl));
    const items = Array.from({ length: 40 }, (_, n) => ({
      action: 'upsert',
      externalId: `cross-${n}`,
      contact: person(`C${n}`),
    }));
    const send = async (n: number) => {
      // A request that loses a deadlock gets 503 and is retried.
      for (;;) {
        const answer = await nodes[n]!('POST', '/contacts/batch', { items: n ? items.toReversed() : items });
        if (answer.status !== 503) return answer;
      }
    };
    const answers = await Promise.all([send(0), send(1)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const [row] = await service.sql(`select count(*)::int as n from contacts where external_id like 'cross-%'`);
    expect(row).toEqual({ n: 40 });
  });
});

describe('an Idempotency-Key', () => {
  test('makes every writing operation run once and replays its response', async () => {
    const tenant = await brokerage(service);
    const key = await tenant.key();
    const nodes = service.nodes.map((node) => as(key, node.restUrl));
    const [get] = nodes as [typeof call];
    const [a, b, d] = [await add('A', {}, get), await add('B', { phone: '1' }, get), await add('D', {}, get)];
    const asked: [method: string, path: string, body?: unknown][] = [
      ['PATCH', `/contacts/${a.id}`, { phone: '7' }],
      ['PUT', '/contacts/by-external-id/once', { type: 'person', displayName: 'Once' }],
      ['POST', `/contacts/merge/${a.id}`, { from: b.id }],
      ['POST', `/contacts/archive/${d.id}`],
      ['POST', `/contacts/restore/${d.id}`],
      [
        'POST',
        '/contacts/batch',
        { items: [{ action: 'create', contact: { type: 'person', displayName: 'Batched' } }] },
      ],
    ];
    for (const [index, [method, path, body]] of asked.entries()) {
      const headers = { 'Idempotency-Key': `twice-${index}` };
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, n) => nodes[n % 2]!(method, path, body, headers)),
      );
      expect([path, ...answers.map(({ status }) => status < 300)]).toEqual([path, ...answers.map(() => true)]);
      expect(new Set(answers.map(({ text, status }) => `${status} ${text}`)).size).toBe(1);
      expect(answers.filter((answer) => answer.headers.get('idempotent-replayed') === null)).toHaveLength(1);
      expect(new Set(answers.map((answer) => answer.headers.get('etag'))).size).toBe(1);
      // The response is replayed, whatever has changed since.
      await get('PATCH', `/contacts/${a.id}`, { phone: `later ${index}` });
      const later = await get(method, path, body, headers);
      expect([later.text, later.headers.get('idempotent-replayed'), later.headers.get('location')]).toEqual([
        answers[0]!.text,
        'true',
        answers[0]!.headers.get('location'),
      ]);
    }
    const [counted] = await service.sql(`select count(*)::int as n from contacts where brokerage_id = $1`, [tenant.id]);
    expect(counted).toEqual({ n: 5 });
    const repeated = await service.sql(
      `select distinct a.action, c.display_name as contact from audit_records a left join contacts c on c.id::text = a.subject_id
       where a.key_id = $1 and a.outcome = 'repeated' order by 1, 2`,
      [key.id],
    );
    expect(repeated.map(({ action, contact }) => [action, contact])).toEqual([
      ['contact.archive', 'D'],
      ['contact.batch', null],
      ['contact.merge', 'A'],
      ['contact.restore', 'D'],
      ['contact.update', 'A'],
      ['contact.update', 'Once'],
    ]);
  });

  test('replays a response that contains a lone surrogate from the request', async () => {
    const items =
      '{ "items": [{ "action": "create", "contact": { "type": "person", "displayName": "H", "\\ud83e": 1 } }] }';
    const headers = { 'Idempotency-Key': 'half', 'Content-Type': 'application/json' };
    const [first, again] = [
      await call('POST', '/contacts/batch', items, headers),
      await call('POST', '/contacts/batch', items, headers),
    ];
    expect(first.text).toContain('\\ud83e');
    expect([again.status, again.text]).toEqual([200, first.text]);
  });

  test('replays the response to a batch whose properties come in another order', async () => {
    const headers = { 'Idempotency-Key': 'order' };
    const first = await call(
      'POST',
      '/contacts/batch',
      { items: [{ action: 'create', contact: { type: 'person', displayName: 'Ordered', tags: ['b', 'a'] } }] },
      headers,
    );
    const again = await call(
      'POST',
      '/contacts/batch',
      { items: [{ contact: { tags: ['b', 'a'], displayName: 'Ordered', type: 'person' }, action: 'create' }] },
      headers,
    );
    expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([200, first.text, 'true']);
  });

  test('is bound to one successful request, and stays free after a rejected one', async () => {
    const made = await add('Bound');
    const other = await add('Other');
    const headers = { 'Idempotency-Key': 'bound' };
    expect((await call('PATCH', `/contacts/${made.id}`, { phone: null, email: 'x' }, headers)).status).toBe(400);
    expect(
      (await call('PATCH', `/contacts/${made.id}`, { phone: '1' }, { ...headers, 'If-Match': '"x"' })).status,
    ).toBe(412);
    expect((await call('PATCH', `/contacts/${crypto.randomUUID()}`, { phone: '1' }, headers)).status).toBe(404);
    const first = await call('PATCH', `/contacts/${made.id}`, { phone: '1', email: null }, headers);
    expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([200, null]);
    const same = await call('PATCH', `/contacts/${made.id}`, '{ "email": null, "phone": "\\u0031" }', {
      ...headers,
      'Content-Type': 'application/json',
    });
    expect([same.status, same.text, same.headers.get('idempotent-replayed')]).toEqual([200, first.text, 'true']);
    // A replay ignores If-Match: the change itself gave the contact another tag.
    for (const tag of ['"x"', first.headers.get('etag')!]) {
      const fits = { ...headers, 'If-Match': tag };
      const again = await call('PATCH', `/contacts/${made.id}`, { phone: '1', email: null }, fits);
      expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
    }
    for (const [method, path, body] of [
      ['PATCH', `/contacts/${made.id}`, { phone: '2' }],
      ['PATCH', `/contacts/${other.id}`, { phone: '1', email: null }],
      ['POST', `/contacts/archive/${made.id}`, undefined],
      ['POST', '/contacts', { type: 'person', displayName: 'Bound' }],
    ] as const) {
      const refused = await call(method, path, body, headers);
      expect([path, ...codeOf(refused)]).toEqual([path, 400, 'validation_error']);
      expect(refused.body?.error.details.faults).toMatchObject([{ in: 'header', path: 'Idempotency-Key' }]);
    }
    const created = { 'Idempotency-Key': 'of-create' };
    await call('POST', '/contacts', { type: 'person', displayName: 'C' }, created);
    expect(codeOf(await call('POST', `/contacts/archive/${made.id}`, undefined, created))).toEqual([
      400,
      'validation_error',
    ]);
    for (const bad of ['', 'x'.repeat(256), 'a b'])
      expect((await call('POST', `/contacts/archive/${made.id}`, undefined, { 'Idempotency-Key': bad })).status).toBe(
        400,
      );
    expect(entry(await one(other.id)).phone).toBeNull();
    expect(entry(await one(made.id)).archivedAt).toBeNull();
  });

  test('is kept for 24 hours, and not after a change that failed', async () => {
    const made = await add('Daily');
    const headers = { 'Idempotency-Key': 'day' };
    const path = `/contacts/${made.id}`;
    await service.sql(`alter table contacts add constraint arranged check (phone <> 'fails') not valid`);
    expect((await call('PATCH', path, { phone: 'fails' }, headers)).status).toBeGreaterThanOrEqual(400);
    await service.sql('alter table contacts drop constraint arranged');
    await call('PATCH', path, { phone: '1' }, headers);
    service.clock.advance(24 * 3_600_000 - 60_000);
    expect((await call('PATCH', path, { phone: '1' }, headers)).headers.get('idempotent-replayed')).toBe('true');
    service.clock.advance(120_000);
    const next = await call('PATCH', path, { phone: '2' }, headers);
    expect([next.status, next.headers.get('idempotent-replayed')]).toEqual([200, null]);
  });
});

test("rejected requests are audited with the contact's id, even that of an inaccessible contact", async () => {
  const key = await ours.key();
  const asKey = as(key, service.restUrl);
  const made = await add('Refused');
  const strange = await add('Strange', {}, foreign);
  await asKey('PATCH', `/contacts/${made.id}`, { phone: '1' }, { 'If-Match': '"stale"' });
  await asKey('POST', `/contacts/merge/${made.id.toUpperCase()}`, { from: made.id });
  await asKey('POST', `/contacts/archive/${strange.id}`);
  await asKey('PATCH', '/contacts/no-uuid', { phone: '1' });
  await asKey('PUT', `/contacts/by-external-id/${made.id}`, { type: 'nobody' });
  const records = await service.sql(
    `select action, outcome, subject_id, deal_id, brokerage_id, details ->> 'status' as status
     from audit_records where key_id = $1 order by at, id`,
    [key.id],
  );
  const refused = { outcome: 'refused', deal_id: null, brokerage_id: ours.id };
  expect(records).toEqual([
    { ...refused, action: 'contact.update', subject_id: made.id, status: '412' },
    { ...refused, action: 'contact.merge', subject_id: made.id, status: '400' },
    { ...refused, action: 'contact.archive', subject_id: strange.id, status: '404' },
    { ...refused, action: 'contact.update', subject_id: null, status: '404' },
    { ...refused, action: 'contact.update', subject_id: null, status: '400' },
  ]);
});

test('GET /me describes the key and its brokerage, whatever its scopes', async () => {
  const tenant = await brokerage(service);
  const expiresAt = new Date(service.clock.now().getTime() + 86_400_000);
  const key = await tenant.key({ scopes: ['contacts:write'], environment: 'live', ceiling: 70, expiresAt });
  const [brokerageRow] = await service.sql<{ name: string }>('select name from brokerages where id = $1', [tenant.id]);
  const me = await as(key, service.restUrl)('GET', '/me');
  expect([me.status, me.body]).toEqual([
    200,
    {
      key: {
        id: key.id,
        name: 'a key',
        environment: 'live',
        lastFour: key.token.slice(-4),
        expiresAt: expiresAt.toISOString(),
      },
      brokerage: { id: tenant.id, name: brokerageRow!.name },
      scopes: ['contacts:write'],
      ceiling: 70,
    },
  ]);
  const usual = await as(await tenant.key({ ceiling: null }), service.restUrl)('GET', '/me');
  expect(usual.body).toMatchObject({ ceiling: 600, key: { expiresAt: null } });
  expect(codeOf(await as(null, service.restUrl)('GET', '/me'))).toEqual([401, 'invalid_token']);
});

test('If-Match rejects a change of an outdated version, even within one millisecond', async () => {
  // The last test of this file, because the clock stands still from here on.
  service.clock.stand(service.clock.now());
  const made = await add('Shared');
  const path = `/contacts/${made.id}`;
  const first = tagOf(await call('GET', path));
  expect(tagOf(await one(made.id))).toBe(first);
  const changed = await call('PATCH', path, { phone: '1' }, { 'If-Match': first });
  expect([changed.status, tagOf(changed) === first]).toEqual([200, false]);
  // Both changes happened in the same millisecond.
  expect(entry(changed).updatedAt).toBe(made.updatedAt);
  for (const stale of [first, '"x"', `W/${tagOf(changed)}`, '', 'nonsense', '"'])
    expect([stale, ...codeOf(await call('PATCH', path, { phone: '2' }, { 'If-Match': stale }))]).toEqual([
      stale,
      412,
      'precondition_failed',
    ]);
  const now = tagOf(changed);
  for (const fits of [`"x", ${now}`, now.replace(/"$/, '-gzip"'), '*'])
    expect((await call('PATCH', path, { phone: '1' }, { 'If-Match': fits })).status).toBe(200);
  expect(
    codeOf(await call('POST', path.replace('contacts', 'contacts/archive'), undefined, { 'If-Match': first })),
  ).toEqual([412, 'precondition_failed']);
  expect((await one(made.id)).body).toEqual(changed.body);
  // Of several concurrent changes with the same tag, one succeeds.
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) => call('PATCH', path, { phone: `p${n}` }, { 'If-Match': now })),
  );
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 11 }, () => 412)]);
});
