/**
 * What API keys write on deals: by their scopes, as the rules of a sale allow, each time with an audit record of the
 * key.
 */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Dealkeep, NotReached } from '../../clients/typescript/src/index.ts';
import { readConfig } from '../../server/config/config.ts';
import type { KeyScope } from '../../server/domain/clients/key-scopes.ts';
import { whileChanging } from '../locks.ts';
import type { Scene } from '../policies/scene.ts';
import { signInAs } from '../web/person.ts';
import { openScene, type WebScene } from '../web/scene.ts';
import { aPdf } from '../web/uploads.ts';
import { prepareRefusals } from './refusals.ts';
import { as, dealScopesOf, issueKey, type Key } from './scene.ts';

let web: WebScene;
let scene: Scene;
let full: Key;
let dealScopes: readonly KeyScope[];
let ask: ReturnType<typeof as>;

const admin = () => ({ id: scene.brokerage, admin: scene.people['admin']! });
const key = (scopes: readonly KeyScope[]) => issueKey(web.service, admin(), { scopes });
const nothing = '018cc251-0000-7000-8000-000000000000';

/** The latest audit record with this action. */
async function latest(action: string) {
  const [record] = await web.service.sql(
    `select key_id, user_id, brokerage_id, deal_id, subject_id, outcome, details, request_id is not null as has_request
     from audit_records where action = $1 order by at desc, id desc limit 1`,
    [action],
  );
  return record;
}

beforeAll(async () => {
  const rateLimits = { ...readConfig({}).rateLimits, rest_ip: 1_000_000 };
  web = await openScene({
    config: { rateLimits, features: { findings: true, financing: true }, smtpUrl: 'smtp://127.0.0.1:1' },
  });
  ({ scene } = web);
  await web.service.sql('update deals set keys_admitted = true where id = $1', [scene.deal]);
  dealScopes = await dealScopesOf(web.service);
  full = await key(dealScopes);
  ask = as(full, web.service.restUrl);
});
afterAll(() => web.close());

/**
 * Each operation that writes: a valid body, the scopes to write and to read, the error code when there is no such deal,
 * and the action in the audit trail.
 */
const writes: readonly {
  readonly method: string;
  readonly path: string;
  readonly body: () => object;
  readonly scope: KeyScope;
  readonly read: KeyScope;
  readonly absent: string | null;
  readonly action: string;
}[] = [
  {
    method: 'POST',
    path: '/deals',
    body: () => ({ title: 'Orchard' }),
    scope: 'deals:write',
    read: 'deals:read',
    absent: null,
    action: 'deal.open',
  },
  {
    method: 'PATCH',
    path: '/deals/:deal',
    body: () => ({ summary: 'A bakery.' }),
    scope: 'deals:write',
    read: 'deals:read',
    absent: 'deal_not_found',
    action: 'deal.edit',
  },
  {
    method: 'POST',
    path: '/deals/:deal/state',
    body: () => ({ to: 'diligence' }),
    scope: 'deals:write',
    read: 'deals:read',
    absent: 'deal_not_found',
    action: 'deal.move',
  },
  {
    method: 'POST',
    path: '/deals/:deal/invitations',
    body: () => ({ email: 'somebody@else.example', name: 'Somebody', role: 'buyer' }),
    scope: 'participants:write',
    read: 'participants:read',
    absent: 'deal_not_found',
    action: 'participant.invite',
  },
  {
    method: 'POST',
    path: '/deals/:deal/conditions',
    body: () => ({ name: 'Financing' }),
    scope: 'conditions:write',
    read: 'conditions:read',
    absent: 'deal_not_found',
    action: 'condition.add',
  },
  {
    method: 'PATCH',
    path: '/deals/:deal/conditions/:condition',
    body: () => ({ status: 'in_progress' }),
    scope: 'conditions:write',
    read: 'conditions:read',
    absent: 'condition_not_found',
    action: 'condition.change',
  },
  {
    method: 'POST',
    path: '/deals/:deal/qoe/snapshots',
    body: () => ({
      customers: [
        { customerName: 'Diner', periodStartDate: '2026-02-01', periodEndDate: '2026-02-28', revenueTotal: '10' },
      ],
    }),
    scope: 'qoe:write',
    read: 'qoe:read',
    absent: 'deal_not_found',
    action: 'qoe.snapshot.request',
  },
];

const conditionIn = (path: string) =>
  path.includes(':condition') ? scene.records["closing_conditions/the exclusive buyer's to meet"] : undefined;
const filled = (path: string, deal: string) =>
  path.replace(':deal', deal).replace(':condition', conditionIn(path) ?? '');

/** The number of rows that keys write, and of mails, and the times of the last changes. */
const written = () =>
  web.service.sql(
    `select (select count(*) from deals) as deals, (select count(*) from participants) as participants, (select count(*) from vault.outbox) as mails,
       (select count(*) from closing_conditions) as conditions, (select count(*) from accounting_snapshots) as snapshots,
       (select max(updated_at) from deals) as deal_changed, (select max(updated_at) from closing_conditions) as condition_changed`,
  );

describe('a key', () => {
  test.each(writes)('$method $path: needs $scope and $read', async ({ method, path, body, scope, read, action }) => {
    const before = await written();
    for (const missing of [scope, read]) {
      const others = as(await key(dealScopes.filter((one) => one !== missing)), web.service.restUrl);
      const answer = await others(method, filled(path, scene.deal), body());
      expect([answer.status, answer.body?.error.details['required_scope']]).toEqual([403, missing]);
      expect(await latest(action)).toMatchObject({
        outcome: 'refused',
        brokerage_id: scene.brokerage,
        deal_id: path === '/deals' ? null : scene.deal,
        details: { status: 403, code: 'insufficient_scope' },
      });
    }
    expect(await written()).toEqual(before);
  });

  test.each(writes.filter(({ absent }) => absent !== null))(
    '$method $path: gets a 404 for an inaccessible deal and changes nothing',
    async ({ method, path, body, absent, action }) => {
      const answers = [];
      const unreached = [scene.idle, scene.records['deals/a deal of another brokerage']!, nothing];
      const trails = () => web.service.sql('select count(*) from audit_records where deal_id = any ($1)', [unreached]);
      const before = await trails();
      for (const deal of [...unreached, 'no-uuid']) {
        answers.push(await ask(method, filled(path, deal), body()));
        // The audit trail of the key's own brokerage names the deal that was requested; the audit trail of the deal
        // gets no record.
        expect(await latest(action)).toMatchObject({
          key_id: full.id,
          brokerage_id: scene.brokerage,
          deal_id: null,
          subject_id: conditionIn(path) ?? (deal === 'no-uuid' ? null : deal),
          outcome: 'refused',
        });
      }
      expect(await trails()).toEqual(before);
      for (const { status, text, body: told } of answers) {
        expect([status, told?.error.code]).toEqual([404, absent]);
        expect(text).toBe(answers[0]?.text);
      }
    },
  );

  test.each(writes)('$method $path: leaves an audit record', async ({ method, path, body, action, scope }) => {
    // A deal that is there already is not moved, and nothing is recorded.
    if (path.endsWith('/state'))
      await web.service.sql(`update deal_stages set state = 'exclusivity' where deal_id = $1`, [scene.deal]);
    const answer = await ask(method, filled(path, scene.deal), body());
    expect([answer.text, answer.status].at(1)).toBe(method === 'PATCH' || path.endsWith('/state') ? 200 : 201);
    expect(await latest(action)).toMatchObject({
      key_id: full.id,
      // An invitation is sent in the name of a person: the person who issued the key.
      user_id: scope === 'participants:write' ? scene.people['admin'] : null,
      brokerage_id: scene.brokerage,
      deal_id: path === '/deals' ? answer.body?.id : scene.deal,
      outcome: 'done',
      has_request: true,
    });
  });

  test.each(writes)('$method $path: runs once per Idempotency-Key', async ({ method, path, body, action }) => {
    const headers = { 'Idempotency-Key': `once ${method} ${path}`.replaceAll(/[^!-~]/g, '-') };
    const sent = { ...body(), ...(path.endsWith('/invitations') && { email: 'once@else.example' }) };
    const [first, again] = [
      await ask(method, filled(path, scene.deal), sent, headers),
      await ask(method, filled(path, scene.deal), sent, headers),
    ];
    expect([again.status, again.text]).toEqual([first.status, first.text]);
    expect([first.headers.get('idempotent-replayed'), again.headers.get('idempotent-replayed')]).toEqual([
      null,
      'true',
    ]);
    expect(await latest(action)).toMatchObject({
      brokerage_id: scene.brokerage,
      deal_id: path === '/deals' ? null : scene.deal,
      subject_id: first.body?.id,
      outcome: 'repeated',
    });
    const other = await ask(method, filled(path, scene.deal), { ...sent, name: 'Other', title: 'Other' }, headers);
    expect(other.status).toBe(400);
  });
});

describe('a replayed response', () => {
  test.each(writes)('$method $path: is withheld once the deal no longer admits keys', async (write) => {
    const { method, path, body, action } = write;
    const headers = { 'Idempotency-Key': `closed ${method} ${path}`.replaceAll(/[^!-~]/g, '-') };
    const sent = { ...body(), ...(path.endsWith('/invitations') && { email: 'closed@else.example' }) };
    const first = await ask(method, filled(path, scene.deal), sent, headers);
    expect(first.status).toBeLessThan(300);
    const deal = path === '/deals' ? first.body?.id : scene.deal;
    const opened = 'update deals set keys_admitted = $2 where id = $1';
    await web.service.sql(opened, [deal, false]);
    const closed = await ask(method, filled(path, scene.deal), sent, headers);
    await web.service.sql(opened, [deal, true]);
    expect([closed.status, closed.body?.error.code]).toEqual([404, write.absent ?? 'deal_not_found']);
    expect(await latest(action)).toMatchObject({ outcome: 'refused', details: { status: 404 } });
    expect((await ask(method, filled(path, scene.deal), sent, headers)).text).toBe(first.text);
  });
});

describe('deals', () => {
  test('are created as drafts that admit keys, with the issuer of the key as broker', async () => {
    const sent = {
      title: 'Orchard',
      industry: 'Farming',
      location: 'Boise',
      summary: 'Apples.',
      askingPrice: '1250000.50',
      currency: 'CAD',
      needsNda: false,
    };
    const { status, body, headers } = await ask('POST', '/deals', sent);
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`/api/v1/deals/${body?.id}`);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string;
    expect(body).toEqual({
      id: expect.any(String),
      ...sent,
      askingPrice: '1250000.5',
      state: 'draft',
      organizationId: scene.brokerage,
      exclusiveBuyerUserId: null,
      exclusivityGrantedAt: null,
      exclusivityExpiresAt: null,
      closedAt: null,
      createdAt: time,
      updatedAt: time,
    });
    expect((await ask('GET', `/deals/${body?.id}`)).body).toEqual(body);
    const people = await ask('GET', `/deals/${body?.id}/participants`);
    expect(people.body?.data).toEqual([
      expect.objectContaining({ userId: scene.people['admin'], role: 'broker', status: 'active' }),
    ]);
    const least = await ask('POST', '/deals', { title: 'Least' });
    expect(least.body).toMatchObject({ currency: 'USD', needsNda: true, askingPrice: null, industry: null });
  });

  test('have a title of at most 200 characters, an emoji counting as one', async () => {
    expect((await ask('POST', '/deals', { title: '🥐'.repeat(200) })).status).toBe(201);
    const refused = await ask('POST', '/deals', { title: '🥐'.repeat(201) });
    expect(refused).toMatchObject({ status: 400, body: { error: { details: { faults: [{ path: 'title' }] } } } });
  });

  test('are changed only in the properties sent; null clears a value, an invalid value is rejected', async () => {
    const before = await ask('PATCH', `/deals/${scene.deal}`, {
      industry: 'Food',
      askingPrice: '10',
      location: 'Boise',
    });
    expect(before.body).toMatchObject({ industry: 'Food', askingPrice: '10', location: 'Boise' });
    const after = await ask('PATCH', `/deals/${scene.deal}`, { industry: null, askingPrice: null });
    expect(after.body).toMatchObject({ title: 'Corner bakery', industry: null, askingPrice: null, location: 'Boise' });
    for (const [sent, path] of [
      [{ title: '' }, 'title'],
      [{ title: null }, 'title'],
      [{ title: 'x'.repeat(201) }, 'title'],
      [{ askingPrice: 10 }, 'askingPrice'],
      [{ askingPrice: '1e5' }, 'askingPrice'],
      [{ currency: 'usd' }, 'currency'],
      [{ state: 'closed' }, 'state'],
      [{ summary: 'a\0b' }, 'summary'],
    ] as const) {
      const { status, body } = await ask('PATCH', `/deals/${scene.deal}`, sent);
      expect([status, body?.error.details.faults[0]?.path]).toEqual([400, path]);
    }
  });

  test('are not changed by a request with an unsupported If-None-Match', async () => {
    const { body: made } = await ask('POST', '/deals', { title: 'Conditional' });
    const refused = await ask('PATCH', `/deals/${made?.id}`, { title: 'Changed' }, { 'If-None-Match': '*' });
    expect([refused.status, refused.body?.error.details.faults]).toEqual([
      400,
      [{ in: 'header', path: 'If-None-Match', message: expect.stringContaining('leave it out') }],
    ]);
    expect((await ask('GET', `/deals/${made?.id}`)).body).toEqual(made);
    expect((await ask('PATCH', `/deals/${made?.id}`, { title: 'Changed' }, { 'If-Match': '*' })).status).toBe(200);
  });

  test('are changed and moved with If-Match only as they were read', async () => {
    const { body: made } = await ask('POST', '/deals', { title: 'Conditional' });
    const path = `/deals/${made?.id}`;
    const tagOf = ({ headers }: Awaited<ReturnType<typeof ask>>) => headers.get('etag')!;
    const read = tagOf(await ask('GET', path));
    const both = await Promise.all(
      ['One', 'Other'].map((title) => ask('PATCH', path, { title }, { 'If-Match': read })),
    );
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 412]);
    const done = both.find(({ status }) => status === 200)!;
    expect(await latest('deal.edit')).toMatchObject({ subject_id: made?.id });
    const now = tagOf(await ask('GET', path));
    expect([tagOf(done), now === read]).toEqual([now, false]);
    const stale = await ask('POST', `${path}/state`, { to: 'listed' }, { 'If-Match': read });
    expect([stale.status, stale.body?.error.code]).toEqual([412, 'precondition_failed']);
    expect((await ask('GET', path)).body).toEqual(done.body);
    const moved = await ask('POST', `${path}/state`, { to: 'listed' }, { 'If-Match': now });
    expect([moved.status, moved.body]).toMatchObject([200, { state: 'listed' }]);
    expect((await ask('PATCH', path, { title: 'Then' }, { 'If-Match': tagOf(moved) })).status).toBe(200);
  });

  test('change state only along the permitted moves', async () => {
    const { body } = await ask('POST', '/deals', { title: 'A sale' });
    const move = (to: string, more = {}) => ask('POST', `/deals/${body?.id}/state`, { to, ...more });
    expect((await move('listed')).body).toMatchObject({ state: 'listed' });
    const refused = await move('closing');
    expect([refused.status, refused.body?.error]).toEqual([
      409,
      {
        code: 'conflict',
        message: 'A deal cannot go from listed to closing.',
        details: { reason: 'move_not_allowed' },
      },
    ]);
    expect(await latest('deal.move')).toMatchObject({ outcome: 'refused', details: { status: 409, code: 'conflict' } });
    expect((await move('exclusivity')).body?.error.details['reason']).toBe('exclusivity_missing');
    expect((await move('somewhere')).status).toBe(400);
    expect((await move('withdrawn')).body).toMatchObject({ state: 'withdrawn' });
  });

  test('show rejected attempts of a key in the audit trail that their broker reads', async () => {
    expect((await ask('POST', `/deals/${scene.deal}/state`, { to: 'closed' })).status).toBe(409);
    const broker = await signInAs(web.service, scene.people['broker']!);
    const { body } = await broker.ask(
      `/audit?brokerage_id=${scene.brokerage}&action=deal.move&outcome=refused&limit=1`,
    );
    expect(body.items).toMatchObject([
      { deal_id: scene.deal, subject_id: scene.deal, details: { status: 409, code: 'conflict' } },
    ]);
  });

  test('are closed with open conditions only after confirmation, and then reject every change', async () => {
    const { body } = await ask('POST', '/deals', { title: 'Nearly done' });
    const id = body!.id;
    await web.service.sql(`update deals set state = 'listed' where id = $1`, [id]);
    await web.service.sql(
      `with p as (insert into participants (deal_id, user_id, role, status) values ($1, $2, 'buyer', 'active') returning id)
       insert into exclusivities (deal_id, participant_id, expires_at) select $1, id, app.now() + interval '1 day' from p`,
      [id, scene.people['other buyer']],
    );
    for (const to of ['diligence', 'closing'])
      expect((await ask('POST', `/deals/${id}/state`, { to })).status).toBe(200);
    await ask('POST', `/deals/${id}/conditions`, { name: 'The lease' });
    const unconfirmed = await ask('POST', `/deals/${id}/state`, { to: 'closed' });
    expect([unconfirmed.status, unconfirmed.body?.error.details['reason']]).toEqual([409, 'closing_unconfirmed']);
    const closed = await ask('POST', `/deals/${id}/state`, { to: 'closed', confirm: true });
    expect(closed.body).toMatchObject({ state: 'closed', closedAt: expect.any(String) });
    for (const [method, path, sent] of [
      ['PATCH', '', { title: 'Other' }],
      ['POST', '/conditions', { name: 'Late' }],
      ['POST', '/qoe/snapshots', writes.at(-1)!.body()],
      ['POST', '/invitations', { email: 'late@else.example', name: 'Late', role: 'buyer' }],
    ] as const) {
      const late = await ask(method, `/deals/${id}${path}`, sent);
      expect([path, late.status, late.body?.error.details['reason']]).toEqual([path, 409, 'deal_closed']);
    }
  });
});

describe('invitations', () => {
  test("are sent in the name of the key's issuer, to people who do not participate yet", async () => {
    const { status, body } = await ask('POST', `/deals/${scene.deal}/invitations`, {
      email: 'New.Buyer@else.example',
      name: 'New Buyer',
      role: 'buyer',
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      userId: body?.id,
      name: 'New Buyer',
      email: 'new.buyer@else.example',
      role: 'buyer',
      status: 'invited',
    });
    expect(JSON.stringify(body)).not.toContain('accept-invitation');

    const anew = (part: object) =>
      ask('POST', `/deals/${scene.deal}/invitations`, { email: 'new.buyer@else.example', name: 'New Buyer', ...part });
    expect((await anew({ role: 'buyer' })).body).toMatchObject({ id: body?.id });
    for (const other of [{ role: 'seller' }, { role: 'advisor', advises: scene.participants['seller'] }]) {
      const refused = await anew(other);
      expect([refused.status, refused.body?.error.details['reason']]).toEqual([409, 'already_invited']);
      expect(refused.body?.error.message).toContain('withdraw it on the deal’s page first');
    }
    const waiting = await ask('GET', `/deals/${scene.deal}/participants?limit=200`);
    expect(waiting.body?.data.find(({ id }) => id === body?.id)).toMatchObject({ role: 'buyer', status: 'invited' });
    await web.service.sql('update vault.invitations set expires_at = app.now() where participant_id = $1', [body?.id]);
    expect((await anew({ role: 'seller' })).body).toMatchObject({ id: body?.id, role: 'seller' });

    await web.service.sql(
      `insert into vault.mail_counts (subject, since, sent)
       values ('hour to often@else.example', date_trunc('hour', app.now(), 'UTC'), 10)`,
    );
    const often = await ask('POST', `/deals/${scene.deal}/invitations`, {
      email: 'often@else.example',
      name: 'Often',
      role: 'buyer',
    });
    expect(often.status).toBe(429);
    // The response to a key offers no link that the key could pass on.
    expect(often.body?.error.message).toMatch(
      /^This address was sent many e-mails within this hour: try again after \d\d:00 UTC( on .+)?\.$/,
    );
    const there = await ask('POST', `/deals/${scene.deal}/invitations`, {
      email: 'seller@example.test',
      name: 'Seller',
      role: 'buyer',
    });
    expect([there.status, there.body?.error.details['reason']]).toEqual([409, 'already_participant']);
    const advisor = await ask('POST', `/deals/${scene.deal}/invitations`, {
      email: 'adv@else.example',
      name: 'Advisor',
      role: 'advisor',
      advises: scene.participants["seller's advisor"],
    });
    expect([advisor.status, advisor.body?.error.details['reason']]).toEqual([409, 'advisor_of_advisor']);
    for (const [sent, path] of [
      [{ role: 'advisor' }, 'advises'],
      [{ role: 'buyer', advises: scene.participants['seller'] }, 'advises'],
      [{ role: 'owner' }, 'role'],
      [{ email: 'no address' }, 'email'],
      [{ name: 'a\nb' }, 'name'],
    ] as const) {
      const answer = await ask('POST', `/deals/${scene.deal}/invitations`, {
        email: 'a@else.example',
        name: 'A',
        role: 'buyer',
        ...sent,
      });
      expect([answer.status, answer.body?.error.details.faults[0]?.path]).toEqual([400, path]);
    }
  });

  test('as a broker are limited to members of the brokerage', async () => {
    const invite = (email: string, part: object = { role: 'broker' }) =>
      ask('POST', `/deals/${scene.deal}/invitations`, { email, name: 'B', ...part });
    const stranger = await invite('stranger@else.example');
    expect([stranger.status, stranger.body?.error.details['reason']]).toEqual([409, 'not_a_member']);
    const advisor = (advises: string | undefined) => invite('stranger@else.example', { role: 'advisor', advises });
    const ofBroker = await advisor(scene.participants['broker']);
    expect([ofBroker.status, ofBroker.body?.error.details['reason']]).toEqual([409, 'not_a_member']);
    const ofSeller = await advisor(scene.participants['seller']);
    expect(ofSeller.status).toBe(201);
    const { sql } = web.service;
    const [found] = await sql('select email from users where id = $1', [scene.people['colleague']]);
    const member = await invite(found!['email'] as string);
    expect(member.status).toBe(201);
    expect(member.body).toMatchObject({ role: 'broker', status: 'invited' });
    await sql(`update participants set status = 'removed' where id = any ($1)`, [[member.body?.id, ofSeller.body?.id]]);
  });

  test('as a broker are rejected for a member removed concurrently', async () => {
    const { sql } = web.service;
    const [leaver] = await sql<{ id: string; email: string }>(
      `with u as (insert into users (email, name) values ('leaves@scene.example', 'L') returning id, email),
         m as (insert into members (brokerage_id, user_id, role) select $1, id, 'broker' from u)
       select id, email from u`,
      [scene.brokerage],
    );
    const removal = [`update members set status = 'removed' where user_id = $1`, [leaver!.id]] as const;
    const { status, body } = await whileChanging(web.service, [removal], () =>
      ask('POST', `/deals/${scene.deal}/invitations`, { email: leaver!.email, name: 'L', role: 'broker' }),
    );
    expect([status, body?.error.details['reason']]).toEqual([409, 'not_a_member']);
  });

  test('are rejected once the issuer of the key is no longer an admin', async () => {
    const { sql } = web.service;
    const role = (name: string) =>
      sql(`update members set role = $3 where brokerage_id = $1 and user_id = $2`, [
        scene.brokerage,
        scene.people['colleague'],
        name,
      ]);
    await role('admin');
    const token = await issueKey(
      web.service,
      { id: scene.brokerage, admin: scene.people['colleague']! },
      { scopes: dealScopes },
    );
    const theirs = as(token, web.service.restUrl);
    const invite = (email: string) =>
      theirs('POST', `/deals/${scene.deal}/invitations`, { email, name: 'A', role: 'viewer' });
    expect((await invite('one@else.example')).status).toBe(201);
    await role('broker');
    const refused = await invite('two@else.example');
    expect([refused.status, refused.body?.error.details['required_scope']]).toEqual([403, 'participants:write']);
    // The same applies when the issuer loses the role after the key was let in.
    await role('admin');
    const change = 'update members set role = $3 where brokerage_id = $1 and user_id = $2';
    const late = await whileChanging(
      web.service,
      [[change, [scene.brokerage, scene.people['colleague'], 'staff']]],
      () => theirs('POST', '/deals', { title: 'Not mine' }),
    );
    expect([late.status, late.body?.error.details['required_scope']]).toEqual([403, 'deals:write']);
    await role('broker');
  });

  test("count against the mail limit of the key's issuer", async () => {
    const answers = [];
    web.service.clock.startMinute();
    for (let n = 0; n < 21; n += 1)
      answers.push(
        await ask('POST', `/deals/${scene.deal}/invitations`, {
          email: `m${n}@mails.example`,
          name: 'M',
          role: 'viewer',
        }),
      );
    const last = answers.find(({ status }) => status === 429);
    expect(last?.body?.error).toMatchObject({ code: 'rate_limited', details: { retry_after: expect.any(Number) } });
    expect(last?.headers.get('retry-after')).toMatch(/^\d+$/);
    web.service.clock.advance(86_400_000);
  });
});

describe('closing conditions', () => {
  test('are added and changed as by a broker, and an unchanged one leaves no record', async () => {
    const path = `/deals/${scene.deal}/conditions`;
    const deadline = web.service.clock.inDays(60).slice(0, 10);
    const { body } = await ask('POST', path, {
      name: 'Licence',
      deadline,
      ownerUserId: scene.people['exclusive buyer'],
    });
    expect(body).toMatchObject({
      dealId: scene.deal,
      name: 'Licence',
      status: 'open',
      deadline,
      ownerUserId: scene.people['exclusive buyer'],
      overdue: false,
      completedAt: null,
    });
    const met = await ask('PATCH', `${path}/${body?.id}`, {
      status: 'satisfied',
      ownerUserId: null,
      name: 'The licence',
    });
    expect(met.body).toMatchObject({
      status: 'satisfied',
      ownerUserId: null,
      name: 'The licence',
      completedAt: expect.any(String),
    });
    expect((await ask('GET', `${path}?status=satisfied`)).body?.data).toContainEqual(met.body);
    // A change that alters nothing is reported to nobody, neither to readers of events nor in the activity of the deal.
    const trail = () =>
      web.service.sql(`select count(*)::int as records from audit_records where action = 'condition.change'`);
    const before = await trail();
    web.service.clock.advance(1_000);
    for (const same of [{}, { name: 'The licence' }, { status: 'satisfied', ownerUserId: null, deadline }])
      expect(await ask('PATCH', `${path}/${body?.id}`, same)).toMatchObject({ status: 200, body: met.body });
    expect(await trail()).toEqual(before);
    const stranger = await ask('POST', path, { name: 'X', ownerUserId: scene.people['outsider'] });
    expect([stranger.status, stranger.body?.error.details['reason']]).toEqual([409, 'owner_takes_no_part']);
    const other = await ask('PATCH', `${path}/${nothing}`, { name: 'X' });
    expect([other.status, other.body?.error.code]).toEqual([404, 'condition_not_found']);
    for (const [sent, at] of [
      [{}, 'name'],
      [{ name: 'X', deadline: '2027-02-30' }, 'deadline'],
      [{ name: 'X', ownerUserId: 'me' }, 'ownerUserId'],
      [{ name: 'X', status: 'open' }, 'status'],
    ] as const) {
      const answer = await ask('POST', path, sent);
      expect([answer.status, answer.body?.error.details.faults[0]?.path]).toEqual([400, at]);
    }
  });

  test('of another deal are not changed through a deal that the key can access', async () => {
    const [foreign] = await web.service.sql<{ id: string }>(
      `insert into closing_conditions (deal_id, name) values ($1, 'Not yours') returning id`,
      [scene.idle],
    );
    const { status } = await ask('PATCH', `/deals/${scene.deal}/conditions/${foreign!.id}`, { name: 'Mine' });
    expect(status).toBe(404);
    expect(await web.service.sql('select name from closing_conditions where id = $1', [foreign!.id])).toEqual([
      { name: 'Not yours' },
    ]);
  });
});

describe('accounting snapshots', () => {
  const path = () => `/deals/${scene.deal}/qoe/snapshots`;
  const month = { periodStartDate: '2026-03-01', periodEndDate: '2026-03-31' };

  test('are stored completely and read again digit for digit', async () => {
    const { status, body } = await ask('POST', path(), {
      sourceName: 'Ledger',
      periods: [
        { periodLabel: '2026-03', ...month, revenue: '1234567890123456.1234', netIncome: '-0.5', currency: 'EUR' },
        {
          periodLabel: '2026-04',
          periodStartDate: '2026-04-01',
          periodEndDate: '2026-04-30',
          revenue: '2',
          ebitda: null,
        },
      ],
      customers: [
        { customerName: 'Diner', ...month, revenueTotal: '3' },
        { customerName: 'Hotel', ...month, revenueTotal: '1' },
      ],
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({ snapshotType: 'full', status: 'completed', sourceName: 'Ledger', failure: null });
    const periods = await ask('GET', `/deals/${scene.deal}/qoe/periods?snapshotId=${body?.id}`);
    expect(periods.body?.data).toEqual([
      expect.objectContaining({ periodLabel: '2026-04', revenue: '2.0000', currency: 'USD', ebitda: null }),
      expect.objectContaining({ revenue: '1234567890123456.1234', netIncome: '-0.5000', currency: 'EUR' }),
    ]);
    const customers = await ask('GET', `/deals/${scene.deal}/qoe/customers`);
    expect(customers.body?.data).toEqual([
      expect.objectContaining({ customerName: 'Diner', revenueShare: '0.750000', rank: 1, snapshotId: body?.id }),
      expect.objectContaining({ customerName: 'Hotel', revenueShare: '0.250000', rank: 2 }),
    ]);
    const only = await ask('POST', path(), { periods: [{ periodLabel: '2026-03', ...month, revenue: '1' }] });
    expect(only.body).toMatchObject({ snapshotType: 'profit_and_loss', sourceName: null });
  });

  test('store labels and customer names without surrounding or repeated spaces', async () => {
    const { body } = await ask('POST', path(), {
      sourceName: ' Ledger ',
      periods: [{ periodLabel: ' 2026-03\u00a0', ...month, revenue: '1' }],
      customers: [{ customerName: ' Blue \n Ridge  Diner ', ...month, revenueTotal: '3' }],
    });
    expect(body).toMatchObject({ sourceName: 'Ledger' });
    const periods = await ask('GET', `/deals/${scene.deal}/qoe/periods?snapshotId=${body?.id}`);
    expect(periods.body?.data).toMatchObject([{ periodLabel: '2026-03' }]);
    const customers = await ask('GET', `/deals/${scene.deal}/qoe/customers?snapshotId=${body?.id}`);
    expect(customers.body?.data).toMatchObject([{ customerName: 'Blue Ridge Diner' }]);
  });

  test('are rejected with the path of the error, and nothing is stored', async () => {
    const count = async () => (await web.service.sql('select count(*)::int as n from accounting_snapshots'))[0]!['n'];
    const before = await count();
    const row = { periodLabel: '2026-03', ...month, revenue: '1' };
    for (const [sent, at] of [
      [{}, ''],
      [{ periods: [] }, ''],
      [{ periods: 'x' }, 'periods'],
      [{ periods: [row, row] }, 'periods.1'],
      [{ periods: [{ ...row, periodEndDate: '2026-02-01' }] }, 'periods.0.periodEndDate'],
      [{ periods: [{ ...row, revenue: 1 }] }, 'periods.0.revenue'],
      [{ periods: [{ ...row, revenue: '1.12345' }] }, 'periods.0.revenue'],
      [{ periods: [{ ...row, revenue: undefined }] }, 'periods.0.revenue'],
      [{ periods: [{ ...row, more: '1' }] }, 'periods.0.more'],
      [{ periods: [{ ...row, periodLabel: ' ' }] }, 'periods.0.periodLabel'],
      [{ customers: [{ customerName: '', ...month, revenueTotal: '1' }] }, 'customers.0.customerName'],
      [{ customers: [{ customerName: 'A\u202eB', ...month, revenueTotal: '1' }] }, 'customers.0.customerName'],
    ] as const) {
      const answer = await ask('POST', path(), sent);
      expect([answer.status, answer.body?.error.details.faults[0]?.path]).toEqual([400, at]);
    }
    const large = await ask('POST', path(), `{"sourceName": "${' '.repeat(1_100_000)}"}`);
    expect(large.status).toBe(413);
    expect(await count()).toBe(before);
  });
});

const pdf = aPdf();
const sha256 = createHash('sha256').update(pdf).digest('hex');
const octets = { 'Content-Type': 'application/octet-stream' };
// A category is stored without the surrounding spaces.
const aboutPdf = '?filename=Lease.pdf&category=%20legal%20&confidentiality=nda_gated';
const upload = (by = ask, more = aboutPdf, headers: Record<string, string> = {}, deal = scene.deal) =>
  by('POST', `/deals/${deal}/documents${more}`, pdf, { ...octets, ...headers });
const content = (token: string, id: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${web.service.restUrl}/documents/${id}/content`, {
    method,
    headers: { Authorization: `Bearer ${token}`, ...headers },
  });

describe('documents', () => {
  const openings = (id: string) =>
    web.service.sql('select user_id, key_id from document_openings where document_id = $1 order by opened_at, id', [
      id,
    ]);

  test('are uploaded and downloaded again, with a record of each opening', async () => {
    const { status, body: added } = await upload();
    expect(status).toBe(201);
    expect(added).toMatchObject({
      dealId: scene.deal,
      source: 'simple',
      filename: 'Lease.pdf',
      category: 'legal',
      confidentiality: 'nda_gated',
      mediaType: 'application/pdf',
      sizeBytes: pdf.length,
      sha256,
      diligenceRequest: null,
      uploadedByName: null,
    });
    expect((await ask('GET', `/deals/${scene.deal}/documents/${added?.id}`)).body).toEqual(added);
    expect(await latest('document.upload')).toMatchObject({
      key_id: full.id,
      user_id: null,
      deal_id: scene.deal,
      outcome: 'done',
    });
    const reader = await key(['documents:content']);
    const file = await content(reader.token, added!.id);
    expect(Buffer.from(await file.arrayBuffer())).toEqual(pdf);
    expect(Object.fromEntries(file.headers)).toMatchObject({
      'content-type': 'application/pdf',
      'content-length': String(pdf.length),
      'content-disposition': `attachment; filename="Lease.pdf"; filename*=UTF-8''Lease.pdf`,
      etag: `"${sha256}"`,
    });
    expect(await openings(added!.id)).toEqual([{ user_id: null, key_id: reader.id }]);
    const part = await content(reader.token, added!.id, { Range: 'bytes=1-3' });
    expect([part.status, await part.text(), part.headers.get('content-range')]).toEqual([
      206,
      'PDF',
      `bytes 1-3/${pdf.length}`,
    ]);
    const { storage } = web.service.nodes[0]!.services;
    const reads = vi.spyOn(storage, 'read');
    onTestFinished(() => reads.mockRestore());
    const head = await content(reader.token, added!.id, {}, 'HEAD');
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(pdf.length)]);
    // HEAD opens no body: a file or a bucket connection that nobody reads would stay open.
    expect(reads).not.toHaveBeenCalled();
    // Neither resuming a download nor a HEAD request is recorded as a new opening.
    expect(await openings(added!.id)).toHaveLength(1);
    const none = await content(reader.token, added!.id, { Range: `bytes=${pdf.length}-` });
    expect([none.status, ((await none.json()) as { error: { code: string } }).error.code]).toEqual([
      416,
      'validation_error',
    ]);
    const shown = await (await web.as('broker')).ask(`/documents/simple/${added?.id}/openings`);
    expect(shown.body.items).toEqual([expect.objectContaining({ user_id: null, user_name: 'An API key' })]);
    // Sellers are not told whether keys reach the deal.
    const toSeller = await (await web.as('seller')).ask(`/documents/simple/${added?.id}/openings`);
    expect(toSeller.body.items).toEqual([expect.objectContaining({ user_id: null, user_name: 'The brokerage' })]);
  });

  test('are produced for a diligence request, and stored once per Idempotency-Key', async () => {
    const more = `${aboutPdf}&diligenceRequest=Bank%20statements`;
    const first = await upload(ask, more, { 'Idempotency-Key': 'file' });
    const again = await upload(ask, more, { 'Idempotency-Key': 'file' });
    expect(first.body).toMatchObject({ source: 'production', diligenceRequest: 'Bank statements' });
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
    expect((await upload(ask, aboutPdf, { 'Idempotency-Key': 'file' })).status).toBe(400);
  });

  test('have names of up to 255 characters, an emoji counting as one', async () => {
    const filename = `${'🥐'.repeat(251)}.pdf`;
    const added = await upload(
      ask,
      `?filename=${encodeURIComponent(filename)}&category=legal&confidentiality=nda_gated`,
    );
    expect([added.status, added.body]).toMatchObject([201, { filename }]);
    const file = await content((await key(['documents:content'])).token, added.body!.id);
    expect([file.status, Buffer.from(await file.arrayBuffer())]).toEqual([200, pdf]);
    expect(file.headers.get('content-disposition')).toContain(`filename*=UTF-8''${encodeURIComponent(filename)}`);
  });

  test('have names without marks that have no width', async () => {
    const more = `?filename=${encodeURIComponent('\u200fחוזה\u200b.pdf\u200e')}&category=legal&confidentiality=nda_gated`;
    const { status, body: added } = await upload(ask, more);
    expect([status, added]).toMatchObject([201, { filename: 'חוזה.pdf' }]);
  });

  test('are rejected without scope or access to the deal, and with an invalid name, category or type', async () => {
    for (const missing of ['documents:write', 'documents:read'] as const) {
      const { status, body: told } = await upload(
        as(await key(dealScopes.filter((one) => one !== missing)), web.service.restUrl),
      );
      expect([status, told?.error.details['required_scope']]).toEqual([403, missing]);
    }
    for (const deal of [scene.idle, nothing, 'x']) {
      const { status, body: told } = await upload(ask, aboutPdf, {}, deal);
      expect([status, told?.error.code]).toEqual([404, 'deal_not_found']);
    }
    for (const [more, path] of [
      ['?category=legal&confidentiality=public', 'filename'],
      [`?filename=${encodeURIComponent('🥐'.repeat(252))}.pdf&category=legal&confidentiality=public`, 'filename'],
      ['?filename=a%2Fb.pdf&category=legal&confidentiality=public', 'filename'],
      [`?filename=${encodeURIComponent('a\u202efdp.exe.pdf')}&category=legal&confidentiality=public`, 'filename'],
      ['?filename=%20%E2%80%8B&category=legal&confidentiality=public', 'filename'],
      ['?filename=a.pdf&confidentiality=public', 'category'],
      ['?filename=a.pdf&category=%20%09&confidentiality=public', 'category'],
      ['?filename=a.pdf&category=legal&confidentiality=public&diligenceRequest=%20', 'diligenceRequest'],
      ['?filename=a.pdf&category=legal', 'confidentiality'],
      ['?filename=a.pdf&category=legal&confidentiality=secret', 'confidentiality'],
    ] as const) {
      const { status, body: told } = await upload(ask, more);
      expect([status, told?.error.details.faults[0]?.path]).toEqual([400, path]);
    }
    const program = await ask(
      'POST',
      `/deals/${scene.deal}/documents?filename=a.exe&category=x&confidentiality=public`,
      Buffer.from('MZ'),
      octets,
    );
    expect([program.status, program.body?.error.code]).toEqual([415, 'validation_error']);
    const reader = await key(['documents:content']);
    const other = await key(dealScopes.filter((one) => one !== 'documents:content'));
    const { body: there } = await upload();
    expect((await content(other.token, there!.id)).status).toBe(403);
    const [hidden] = await web.service.sql<{ id: string }>(
      `insert into documents (deal_id, filename, category, confidentiality, size_bytes, media_type, storage_key)
       values ($1, 'a.pdf', 'x', 'public', 1, 'application/pdf', 'hidden') returning id`,
      [scene.idle],
    );
    const answers = await Promise.all([hidden!.id, nothing, 'x'].map((id) => content(reader.token, id)));
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect(new Set(texts).size).toBe(1);
    expect(texts[0]).toContain('document_not_found');
    expect(await openings(hidden!.id)).toEqual([]);
    await web.service.sql('update documents set removed_at = app.now() where id = $1', [there!.id]);
    expect((await content(reader.token, there!.id)).status).toBe(404);
  });

  test('are uploaded by the typed client, which retries bytes and blobs but not streams', async () => {
    let refusals: number[] = [];
    const sent: RequestInit[] = [];
    const unsteady: typeof fetch = async (url, init) => {
      sent.push(init!);
      const status = refusals.shift();
      const response = await fetch(url, init);
      return status === undefined ? response : new Response('{}', { status, headers: { 'Retry-After': '0' } });
    };
    const dealkeep = new Dealkeep({ url: web.service.origin, key: full.token, timeout: 1, fetch: unsteady });
    const about = { dealId: scene.deal, category: 'legal', confidentiality: 'nda_gated' } as const;
    const send = (filename: string, body: NonNullable<RequestInit['body']>, options = {}) =>
      dealkeep.uploadDocument({ ...about, filename, body }, options);
    const stream = () => new Blob([pdf]).stream();
    expect((await send('Stream.pdf', stream())).sha256).toBe(sha256);
    for (const [filename, body] of [
      ['Bytes.pdf', pdf],
      ['Blob.pdf', new Blob([pdf])],
    ] as const) {
      sent.length = 0;
      refusals = [503, 429];
      const { id } = await send(filename, body);
      expect(sent).toHaveLength(3);
      const kept = await web.service.sql(`select id, sha256 from documents where filename = $1`, [filename]);
      expect(kept).toEqual([{ id, sha256: Buffer.from(sha256, 'hex') }]);
    }
    for (const status of [429, 503]) {
      sent.length = 0;
      refusals = [status];
      await expect(send('Once.pdf', stream())).rejects.toMatchObject({ status });
      expect(sent).toHaveLength(1);
    }
    const { id: documentId } = await send('Rows.json', '[1, 2]');
    expect(await (await dealkeep.getDocumentContent({ documentId }, { timeout: 5_000 })).text()).toBe('[1, 2]');
    const part = await dealkeep.getDocumentContent({ documentId, range: 'bytes=1-' }, { timeout: 5_000 });
    expect([part.status, await part.text()]).toEqual([206, '1, 2]']);
    await expect(send('Late.pdf', stream(), { timeout: 1 })).rejects.toBeInstanceOf(NotReached);
  });
});

const fullDisk = `create or replace function full_disk() returns trigger language plpgsql as
  $$ begin raise 'No space left on device' using errcode = '53100'; end $$`;

test('every response to a write matches the OpenAPI document, and every announced response occurs', async () => {
  const { sql, restUrl } = web.service;
  const { document, limited, away } = await prepareRefusals(web.service, admin());
  const none = as(await key(['contacts:read']), restUrl);
  await sql(fullDisk);
  const tables = ['deals', 'participants', 'closing_conditions', 'accounting_snapshots'];
  let n = 0;
  for (const { method, path, body, absent } of writes) {
    const template = path.replace(':deal', '{dealId}').replace(':condition', '{conditionId}');
    const asked = filled(path, scene.deal);
    const fresh = () =>
      path.endsWith('/invitations') ? { ...body(), email: `d${(n += 1)}@document.example` } : body();
    const check = (answer: Awaited<ReturnType<typeof ask>>) => document.check(`${method} ${template}`, answer);
    check(await ask(method, asked, fresh()));
    check(await ask(method, asked, { more: 1 }));
    check(await ask(method, asked, 'x', { 'Content-Type': 'text/plain' }));
    check(await ask(method, asked, 'x'.repeat(1_100_000), { 'Content-Type': 'application/json' }));
    check(await none(method, asked, fresh()));
    check(await as(null, restUrl)(method, asked, fresh()));
    check(await limited(method, asked, fresh()));
    check(await as(full, away)(method, asked, fresh()));
    if (absent !== null) check(await ask(method, filled(path, nothing), fresh()));
    await sql('alter table deals rename to deals_away');
    check(await ask(method, asked, fresh()).finally(() => sql('alter table deals_away rename to deals')));
    for (const table of tables)
      await sql(`create trigger a_full_disk before insert or update on ${table} execute function full_disk()`);
    const unkept = await ask(method, asked, fresh());
    for (const table of tables) await sql(`drop trigger a_full_disk on ${table}`);
    check(unkept);
  }
  const conflicts = {
    'POST /deals': () => ask('POST', '/deals', { title: 'A', brokerEmail: 'nobody@else.example' }),
    'POST /deals/{dealId}/state': () => ask('POST', `/deals/${scene.deal}/state`, { to: 'draft' }),
    'POST /deals/{dealId}/invitations': () =>
      ask('POST', `/deals/${scene.deal}/invitations`, { email: 'seller@example.test', name: 'A', role: 'buyer' }),
    'POST /deals/{dealId}/conditions': () =>
      ask('POST', `/deals/${scene.deal}/conditions`, { name: 'A', ownerUserId: scene.people['outsider'] }),
    'PATCH /deals/{dealId}/conditions/{conditionId}': () =>
      ask('PATCH', filled('/deals/:deal/conditions/:condition', scene.deal), { ownerUserId: scene.people['outsider'] }),
  };
  for (const [operation, path, sent] of [
    ['PATCH /deals/{dealId}', '', { title: 'Stale' }],
    ['POST /deals/{dealId}/state', '/state', { to: 'draft' }],
  ] as const)
    document.check(
      operation,
      await ask(operation.split(' ')[0]!, `/deals/${scene.deal}${path}`, sent, { 'If-Match': '"stale"' }),
    );
  for (const [operation, refused] of Object.entries(conflicts)) document.check(operation, await refused());
  await sql(`update deals set state = 'closing' where id = $1`, [scene.deal]);
  await sql(`update deals set state = 'closed' where id = $1`, [scene.deal]);
  document.check('PATCH /deals/{dealId}', await ask('PATCH', `/deals/${scene.deal}`, { title: 'Late' }));
  document.check(
    'POST /deals/{dealId}/qoe/snapshots',
    await ask('POST', `/deals/${scene.deal}/qoe/snapshots`, writes.at(-1)!.body()),
  );
  const writing = (operation: string) => !operation.startsWith('GET ') && !operation.includes('/documents ');
  expect(document.checked('/deals').filter(writing)).toEqual(document.announced('/deals').filter(writing));
});

/** The response to an upload that announces its size and sends no body. */
async function announcing(deal: string, bytes: number) {
  const request = http.request(`${web.service.restUrl}/deals/${deal}/documents${aboutPdf}`, {
    method: 'POST',
    headers: { ...octets, Authorization: `Bearer ${full.token}`, 'Content-Length': String(bytes) },
  });
  request.flushHeaders();
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  let text = '';
  for await (const chunk of response) text += chunk;
  request.destroy();
  const headers = new Headers(response.headers as Record<string, string>);
  return { status: response.statusCode ?? 0, headers, body: JSON.parse(text) as unknown };
}

test('every response to an upload or download matches the OpenAPI document, and each announced one occurs', async () => {
  const { sql, restUrl } = web.service;
  const { document, limited, away, limitedToken } = await prepareRefusals(web.service, admin());
  const none = as(await key(['contacts:read']), restUrl);
  const uploaded = (answer: Parameters<typeof document.check>[1]) =>
    document.check('POST /deals/{dealId}/documents', answer);
  const opened = async (answer: Response) =>
    document.check('GET /documents/{documentId}/content', {
      status: answer.status,
      headers: answer.headers,
      body: answer.headers.get('content-type')?.includes('json') ? await answer.json() : await answer.arrayBuffer(),
    });
  const { body: own } = await ask('POST', '/deals', { title: 'With a data room' });
  const to = (by: typeof ask, more = aboutPdf, deal = own!.id) => upload(by, more, {}, deal);
  const made = await to(ask);
  uploaded(made);
  uploaded(await to(ask, '?filename=a.pdf'));
  uploaded(await to(as(null, restUrl)));
  uploaded(await to(none));
  uploaded(await to(ask, aboutPdf, nothing));
  const named = aboutPdf.replace('Lease.pdf', 'a.exe');
  uploaded(await ask('POST', `/deals/${own!.id}/documents${named}`, Buffer.from('MZ'), octets));
  uploaded(await announcing(own!.id, 3_000_000_000));
  uploaded(await to(limited));
  uploaded(await to(as(full, away)));
  const id = made.body?.id ?? '';
  await opened(await content(full.token, id));
  await opened(await content(full.token, id, { Range: 'bytes=1-3' }));
  await opened(await content(full.token, id, { Range: `bytes=${pdf.length}-` }));
  await opened(await content('dk_live_nobody', id));
  await opened(await content((await key(['contacts:read'])).token, id));
  await opened(await content(full.token, nothing));
  await opened(await content(limitedToken, id));
  await opened(await fetch(`${away}/documents/${id}/content`, { headers: { Authorization: `Bearer ${full.token}` } }));
  await sql('alter table deals rename to deals_away; alter table documents rename to documents_away');
  const broken = await Promise.all([to(ask), content(full.token, id)]);
  await sql('alter table deals_away rename to deals; alter table documents_away rename to documents');
  uploaded(broken[0]);
  await opened(broken[1]);
  await sql(fullDisk);
  for (const table of ['documents', 'document_openings'])
    await sql(`create trigger a_full_disk before insert on ${table} execute function full_disk()`);
  const unkept = await to(ask);
  await opened(await content(full.token, id));
  for (const table of ['documents', 'document_openings']) await sql(`drop trigger a_full_disk on ${table}`);
  uploaded(unkept);
  for (const [before, after] of [
    ['diligence', 'closing'],
    ['closing', 'closed'],
  ])
    await sql('update deals set state = $3 where id = $1 and state = $2', [scene.deal, before, after]);
  uploaded(await upload());
  const about = (operation: string) => operation.startsWith('POST ') && operation.includes('/documents ');
  expect(document.checked('/deals')).toEqual(document.announced('/deals').filter(about));
  expect(document.checked('/documents')).toEqual(document.announced('/documents'));
});
