/** GET /events: which changes it returns, who reads them, and how a reader continues. */

import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { KeyScope } from '../../server/domain/clients/key-scopes.ts';
import { changesOf, eventTypes, publishChanges } from '../../server/domain/events/changes.ts';
import { lifetimes } from '../../server/domain/lifetimes.ts';
import { openService, type TestService } from '../harness.ts';
import { as, brokerage, type Brokerage, type Key } from './scene.ts';

let service: TestService;
let tenant: Brokerage;
let key: Key;

beforeAll(async () => {
  service = await openService();
  tenant = await brokerage(service);
  key = await tenant.key({ scopes: ['contacts:read', 'contacts:write', 'events:read'] });
});
afterAll(() => service?.close());

interface Page {
  data: {
    id: string;
    type: string;
    objectType: string;
    objectId: string;
    dealId: string | null;
    occurredAt: string;
    data?: unknown;
  }[];
  pagination: { hasMore: boolean; nextCursor: string };
  error: { code: string; message: string; details: { faults: { path: string }[] } };
}

/**
 * Publishes every committed change; polled because transactions of other tests in the cluster may still be in progress.
 */
const published = () =>
  expect.poll(async () => (await service.database.run(publishChanges())).moved || (await settled())).toBe(true);
const settled = async () => !(await service.database.run(publishChanges())).waits;

async function events(query: Record<string, string> = {}, by: Key = key): Promise<Page & { status: number }> {
  const answer = await as(by, service.restUrl)('GET', `/events?${new URLSearchParams(query).toString()}`);
  return { ...(answer.body as unknown as Page), status: answer.status };
}
const latest = async (by: Key = key) => (await events({ after: 'latest' }, by)).pagination.nextCursor;
const contact = async (name: string) =>
  (await as(key, service.restUrl)('POST', '/contacts', { type: 'person', displayName: name })).body!;

describe('a page', () => {
  test('contains the changes since the cursor, oldest first, and always a next cursor', async () => {
    const begin = await latest();
    const made = [await contact('Ada'), await contact('Ben'), await contact('Cy')];
    await service.sql(`update contacts set phone = '1' where id = $1`, [made[0]!.id]);
    await service.sql(`update contacts set archived_at = app.now() where id = $1`, [made[1]!.id]);
    await published();
    const first = await events({ after: begin, limit: '3' });
    expect(first.data.map(({ type, objectId }) => [type, objectId])).toEqual(
      made.map(({ id }) => ['contact.created', id]),
    );
    expect(first.data[0]).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      type: 'contact.created',
      objectType: 'contact',
      objectId: made[0]!.id,
      dealId: null,
      occurredAt: made[0]!.createdAt,
    });
    expect(first.pagination.hasMore).toBe(true);
    const second = await events({ after: first.pagination.nextCursor });
    expect(second.data.map(({ type, objectId }) => [type, objectId])).toEqual([
      ['contact.updated', made[0]!.id],
      ['contact.archived', made[1]!.id],
    ]);
    expect(second.pagination.hasMore).toBe(false);
    const third = await events({ after: second.pagination.nextCursor });
    expect([third.data, third.pagination.hasMore]).toEqual([[], false]);
    await service.sql(`update contacts set archived_at = null where id = $1`, [made[1]!.id]);
    await published();
    const fourth = await events({ after: third.pagination.nextCursor });
    expect(fourth.data.map(({ type }) => type)).toEqual(['contact.restored']);
    // The same page again, with the same event ids.
    expect((await events({ after: begin, limit: '3' })).data).toEqual(first.data);
  });

  test('with expand=data contains each record as its own path returns it, and null for deleted ones', async () => {
    const begin = await latest();
    const [kept, merged, gone] = [await contact('Kept'), await contact('Merged'), await contact('Gone')];
    const ask = as(key, service.restUrl);
    await ask('POST', `/contacts/merge/${kept.id}`, { from: merged.id });
    await service.sql('delete from contacts where id = $1', [gone.id]);
    await published();
    const { data } = await events({ after: begin, expand: 'data' });
    const [one, other] = await Promise.all(
      [kept, merged].map(async ({ id }) => (await ask('GET', `/contacts/${id}?archived=true&expand=record`)).body),
    );
    expect(other).toMatchObject({ archivedAt: expect.any(String), mergedInto: kept.id });
    expect(data.map((event) => [event.type, event.data])).toEqual([
      ['contact.created', one],
      ['contact.created', other],
      ['contact.created', null],
      ['contact.archived', other],
      ['contact.updated', one],
      ['contact.removed', null],
    ]);
  });

  test('with expand=data is refused when the key ends before the records are read', async () => {
    const ending = await tenant.key({ scopes: ['contacts:read', 'events:read'] });
    const begin = await latest(ending);
    await contact('Read late');
    await published();
    const { database } = service;
    const together = database.together.bind(database);
    let runs = 0;
    const spy = vi.spyOn(database, 'together').mockImplementation(async (...statements) => {
      runs += 1;
      if (runs === 2) await service.sql('update api_keys set revoked_at = app.now() where id = $1', [ending.id]);
      return together(...statements);
    });
    const { status, error } = await events({ after: begin, expand: 'data' }, ending).finally(() => spy.mockRestore());
    expect([runs, status, error.code]).toEqual([2, 401, 'invalid_token']);
  });

  test('with types contains only events of those types', async () => {
    const begin = await latest();
    const { id } = await contact('Typed');
    await service.sql(`update contacts set phone = '2' where id = $1`, [id]);
    await service.sql(`update contacts set archived_at = app.now() where id = $1`, [id]);
    await published();
    const of = async (types: string) => (await events({ after: begin, types })).data.map(({ type }) => type);
    expect(await of('contact.updated')).toEqual(['contact.updated']);
    expect(await of('contact.archived,contact.created')).toEqual(['contact.created', 'contact.archived']);
    expect(await of('deal.created')).toEqual([]);
  });

  test('without a cursor begins with the oldest event', async () => {
    const all = await events({ limit: '1' });
    const [oldest] = await service.sql<{ id: string }>(
      'select id from change_events where brokerage_id = $1 order by seq limit 1',
      [tenant.id],
    );
    expect(all.data[0]?.id).toBe(oldest!.id);
  });
});

describe('a cursor', () => {
  test.each([
    ['after', ''],
    ['after', 'x'],
    ['after', 'a'.repeat(99)],
    ['limit', '0'],
    ['limit', '201'],
    ['types', ''],
    ['types', 'contact.created,contact.sold'],
    ['expand', 'everything'],
  ])('%s=%s is rejected', async (name, value) => {
    const { status, error } = await events({ [name]: value });
    expect([status, error.code, error.details.faults[0]?.path]).toEqual([400, 'validation_error', name]);
  });

  test('does not reveal how much others change, and is rejected for another brokerage', async () => {
    const [one, other] = [await latest(), await latest()];
    expect(one).not.toBe(other);
    expect(one).toHaveLength(other.length);
    const elsewhere = await (await brokerage(service)).key({ scopes: ['events:read'] });
    expect((await events({ after: one }, elsewhere)).status).toBe(400);
  });

  test('that was altered has expired', async () => {
    const one = await latest();
    const changed = `${one.slice(0, 40)}${one[40] === 'A' ? 'B' : 'A'}${one.slice(41)}`;
    const { status, error } = await events({ after: changed });
    expect([status, error.code]).toEqual([410, 'cursor_expired']);
    expect((await events({ after: `${one}AAAA` })).status).toBe(400);
    // Only a key that may read events learns that the cursor is gone.
    const other = await tenant.key({ scopes: ['contacts:read'] });
    expect((await events({ after: changed }, other)).status).toBe(403);
  });

  test('expires after 30 days, and the events behind it are deleted a day later', async () => {
    const begin = await latest();
    await contact('Old');
    await published();
    service.clock.advance(Number.parseInt(lifetimes.change, 10) * 86_400_000 - 60_000);
    expect((await events({ after: begin })).data).toHaveLength(1);
    service.clock.advance(120_000);
    const { status, error } = await events({ after: begin });
    expect([status, error.code]).toEqual([410, 'cursor_expired']);
    expect(error.message).toMatch(/after=latest/);
    expect((await events()).data.length).toBeGreaterThan(0);
    service.clock.advance(86_400_000);
    await service.sql('select app.purge_changes()');
    expect((await events()).data).toEqual([]);
  });

  test('of today expires when the next events are deleted, so a slow reader notices the gap', async () => {
    const one = await brokerage(service);
    const reader = await one.key({ scopes: ['contacts:read', 'contacts:write', 'events:read'] });
    for (const displayName of ['First', 'Second', 'Third'])
      await as(reader, service.restUrl)('POST', '/contacts', { type: 'person', displayName });
    await published();
    const [begun, upToDate] = [await events({ limit: '1' }, reader), await latest(reader)];
    service.clock.advance(29 * 86_400_000);
    const behind = await events({ after: begun.pagination.nextCursor, limit: '1' }, reader);
    expect(behind.data).toHaveLength(1);
    const atTheEnd = await events({ after: upToDate }, reader);
    service.clock.advance(3 * 86_400_000);
    // The events are not purged yet, and neither is anything behind the cursor.
    expect((await events({ after: behind.pagination.nextCursor }, reader)).data).toHaveLength(1);
    const fourth = await as(reader, service.restUrl)('POST', '/contacts', { type: 'person', displayName: 'Fourth' });
    await published();
    await service.sql('select app.purge_changes()');
    const { status, error } = await events({ after: behind.pagination.nextCursor }, reader);
    expect([status, error?.code]).toEqual([410, 'cursor_expired']);
    // A reader who has read all of them continues, and so does a reader who starts with the oldest.
    for (const query of [{ after: atTheEnd.pagination.nextCursor }, {}] as Record<string, string>[])
      expect((await events(query, reader)).data.map(({ objectId }) => objectId)).toEqual([fourth.body!.id]);
  });

  test('is renewed daily for a reader that sends If-None-Match while nothing changes', async () => {
    let cursor = await latest();
    let etag = '';
    let renewed = 0;
    const ask = async () => {
      const answer = await as(key, service.restUrl)('GET', `/events?after=${cursor}`, undefined, {
        ...(etag !== '' && { 'If-None-Match': etag }),
      });
      if (answer.status === 200) {
        renewed += 1;
        etag = answer.headers.get('etag') ?? '';
        cursor = answer.body?.pagination.nextCursor ?? '';
      }
      return answer.status;
    };
    // Starts after midnight, so that a response and its repetition fall on the same day.
    const untilMidnight = 86_400_000 - (service.clock.now().getTime() % 86_400_000);
    service.clock.advance(untilMidnight + 60_000);
    expect(await ask()).toBe(200);
    for (let day = 1; day <= 40; day += 1) {
      expect([day, await ask()]).toEqual([day, 304]);
      service.clock.advance(86_400_000);
      expect([day, await ask()]).toEqual([day, 200]);
    }
    expect(renewed).toBe(41);
  });

  test('comes with an ETag from which the sequence number of the event cannot be guessed', async () => {
    const begin = await latest();
    await contact('Counted');
    await contact('Counted too');
    await published();
    const { headers, body } = await as(key, service.restUrl)('GET', `/events?limit=1&after=${begin}`);
    const { data, pagination } = body as unknown as Page;
    expect(pagination.hasMore).toBe(true);
    const [{ seq } = { seq: '' }] = await service.sql<{ seq: string }>(
      'select seq::text from change_events where id = $1',
      [data[0]!.id],
    );
    expect(seq).toMatch(/^\d+$/);
    // Otherwise, anybody who knows everything else in the tag could find the number by trying.
    const day = headers.get('date')!;
    const tried = [
      [data, seq, new Date(day).toISOString().slice(0, 10)],
      [data, seq],
      [data, Number(seq)],
    ].map((content) => `"${hash('sha256', JSON.stringify(content), 'base64url').slice(0, 27)}"`);
    expect(tried).not.toContain(headers.get('etag'));
  });

  test('advances past 400,000 events of other types, also with If-None-Match', async () => {
    const begin = await latest();
    await service.sql(
      `insert into change_events (brokerage_id, object_type, object_id, change)
       select $1, 'contact', gen_random_uuid(), 'updated' from generate_series(1, 400000)`,
      [tenant.id],
    );
    const archived = await contact('Behind all of them');
    await service.sql('update contacts set archived_at = app.now() where id = $1', [archived.id]);
    await published();
    const seen: string[] = [];
    let [cursor, etag, more] = [begin, '', true];
    for (let asked = 0; more && asked < 10; asked += 1) {
      const path = `/events?limit=1&types=contact.archived&after=${cursor}`;
      const headers: Record<string, string> = etag === '' ? {} : { 'If-None-Match': etag };
      const answer = await as(key, service.restUrl)('GET', path, undefined, headers);
      if (answer.status !== 200) continue;
      const page = answer.body as unknown as Page;
      [cursor, etag, more] = [page.pagination.nextCursor, answer.headers.get('etag') ?? '', page.pagination.hasMore];
      seen.push(...page.data.map(({ objectId }) => objectId));
    }
    expect(seen).toEqual([archived.id]);
    await service.sql(`delete from change_events where brokerage_id = $1 and change = 'updated'`, [tenant.id]);
  });

  test('from before a restore has expired', async () => {
    const begin = await latest();
    await service.sql(`update vault.change_stream set origin = 'elsewhere'`);
    await contact('After');
    await published();
    expect((await events({ after: begin })).error.code).toBe('cursor_expired');
  });
});

describe('readers of events', () => {
  const records: readonly (readonly [type: string, scope: KeyScope])[] = [
    ['deal', 'deals:read'],
    ['participant', 'participants:read'],
    ['nda', 'ndas:read'],
    ['offer', 'offers:read'],
    ['question', 'questions:read'],
    ['document', 'documents:read'],
    ['production_document', 'documents:read'],
    ['qoe_checklist_item', 'qoe:read'],
    ['accounting_snapshot', 'qoe:read'],
    ['normalization', 'qoe:read'],
    ['closing_condition', 'conditions:read'],
    ['finding', 'findings:read'],
    ['financing_source', 'financing:read'],
  ];

  /** Creates a deal with a record of each type, changes them and, where possible, removes them. */
  async function deal(owner: Brokerage): Promise<string> {
    const [made] = await service.sql<{ deal: string; buyer: string; person: string }>(
      `with d as (insert into deals (organization_id, title, state) values ($1, 'A deal', 'listed') returning id),
         u as (insert into users (email, name) values (gen_random_uuid() || '@example.test', 'Bo') returning id),
         p as (insert into participants (deal_id, user_id, role, status) select d.id, u.id, 'buyer', 'active' from d, u returning id)
       select d.id as deal, u.id as person, p.id as buyer from d, u, p`,
      [owner.id],
    );
    const { deal: id, buyer, person } = made!;
    const file = `'a.pdf', 'financials', 'public', 1, 'application/pdf', gen_random_uuid()::text`;
    const columns = 'deal_id, filename, category, confidentiality, size_bytes, media_type, storage_key';
    for (const text of [
      `insert into ndas (deal_id, participant_id, terms) values ('${id}', '${buyer}', 'T')`,
      `update ndas set status = 'revoked' where deal_id = '${id}'`,
      `insert into offers (deal_id, participant_id, buyer_user_id, revision_number, payload) select '${id}', '${buyer}', '${person}', 1, payload from (select '{}'::jsonb as payload) p where app.is_offer_payload(p.payload)`,
      `insert into questions (deal_id, category, question_text, asked_by, participant_id) values ('${id}', 'tax', 'Q', '${person}', '${buyer}')`,
      `insert into documents (${columns}) values ('${id}', ${file})`,
      `update documents set removed_at = app.now() where deal_id = '${id}'`,
      `insert into production_documents (${columns}, diligence_request) values ('${id}', ${file}, 'R')`,
      `insert into qoe_checklist (deal_id, category, title) values ('${id}', 'c', 'T')`,
      `delete from qoe_checklist where deal_id = '${id}'`,
      `insert into accounting_snapshots (deal_id, snapshot_type) values ('${id}', 'full')`,
      `insert into normalizations (deal_id, period_label, adjustment_category, adjustment_amount) values ('${id}', '2025', 'other', 1)`,
      `insert into closing_conditions (deal_id, name) values ('${id}', 'N')`,
      `delete from closing_conditions where deal_id = '${id}'`,
      `insert into findings (deal_id, participant_id, category, title, severity) values ('${id}', '${buyer}', 'tax', 'T', 'minor')`,
      `insert into finding_comments (finding_id, body) select id, 'B' from findings where deal_id = '${id}'`,
      `insert into financing_sources (deal_id, participant_id, source_type, source_name, commitment_amount, currency) values ('${id}', '${buyer}', 'sba_7a', 'B', 1, 'USD')`,
    ])
      await service.sql(text);
    return id;
  }

  test('a key gets events, including removals, only within its scopes and on deals that admit keys', async () => {
    const all = await tenant.key({ scopes: ['events:read', ...new Set(records.map(([, scope]) => scope))] });
    const begin = await latest(all);
    const id = await deal(tenant);
    await deal(tenant);
    await published();
    expect((await events({ after: begin, limit: '200' }, all)).data).toEqual([]);

    await service.sql('update deals set keys_admitted = true where id = $1', [id]);
    await published();
    const { data } = await events({ after: begin, limit: '200' }, all);
    expect(new Set(data.map(({ dealId }) => dealId))).toEqual(new Set([id]));
    const types = new Set(data.map(({ type }) => type));
    for (const type of [
      'deal.created',
      'deal.admitted',
      'participant.created',
      'nda.created',
      'nda.updated',
      'question.created',
      'document.created',
      'document.removed',
      'production_document.created',
      'qoe_checklist_item.removed',
      'accounting_snapshot.created',
      'normalization.created',
      'closing_condition.created',
      'closing_condition.removed',
      'finding.created',
      'finding.updated',
      'financing_source.created',
    ])
      expect([type, types.has(type)]).toEqual([type, true]);
    expect([...types].filter((type) => !eventTypes.includes(type))).toEqual([]);

    // With a single scope, a key gets the records of that scope only.
    for (const [type, scope] of records) {
      const one = await tenant.key({ scopes: ['events:read', scope] });
      const answer = await events({ limit: '200' }, one);
      const those = answer.data.map(({ objectType }) => objectType);
      const within = records.filter(([, other]) => other === scope).map(([other]) => other);
      expect([type, those.filter((other) => !within.includes(other))]).toEqual([type, []]);
      if (type !== 'offer') expect([type, those.includes(type)]).toEqual([type, true]);
    }
    const none = await tenant.key({ scopes: ['events:read'] });
    expect((await events({}, none)).data).toEqual([]);

    await service.sql('update deals set keys_admitted = false where id = $1', [id]);
    await published();
    expect((await events({ after: begin, limit: '200' }, all)).data).toEqual([]);
  });

  test('a restored document ends with an update; clearing the body of a removed one causes no event', async () => {
    const reader = await tenant.key({ scopes: ['documents:read', 'events:read'] });
    const id = await deal(tenant);
    await service.sql('update deals set keys_admitted = true where id = $1', [id]);
    for (const [table, type, more] of [
      ['documents', 'document', ''],
      ['production_documents', 'production_document', `, 'R'`],
    ] as const) {
      await published();
      const begin = await latest(reader);
      const [added] = await service.sql<{ id: string }>(
        `insert into ${table} (deal_id, filename, category, confidentiality, size_bytes, media_type, storage_key${more && ', diligence_request'})
         values ($1, 'b.pdf', 'financials', 'public', 1, 'application/pdf', gen_random_uuid()${more}) returning id`,
        [id],
      );
      for (const change of ['removed_at = app.now()', 'removed_at = null', 'removed_at = app.now()'])
        await service.sql(`update ${table} set ${change} where id = $1`, [added!.id]);
      await service.sql(`update ${table} set body_cleared_at = app.now() where id = $1`, [added!.id]);
      await published();
      const { data } = await events({ after: begin }, reader);
      expect(data.map((event) => [event.type, event.objectId])).toEqual(
        ['created', 'removed', 'updated', 'removed'].map((change) => [`${type}.${change}`, added!.id]),
      );
    }
  });

  test('every type of event has an object type with a scope', () => {
    expect(Object.keys(changesOf).toSorted()).toEqual(['contact', ...records.map(([type]) => type)].toSorted());
  });

  test('a brokerage gets no events of another, and a key without events:read is rejected', async () => {
    const other = await brokerage(service);
    const theirs = await other.key({ scopes: ['contacts:read', 'events:read', 'deals:read'] });
    await contact('Ours');
    await published();
    expect((await events({}, theirs)).data).toEqual([]);
    const refused = await events({}, await tenant.key({ scopes: ['contacts:read'] }));
    expect([refused.status, refused.error.code]).toEqual([403, 'insufficient_scope']);
  });
});
