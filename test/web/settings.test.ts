/** The settings through the web application's routes: brokerage, members, keys, clients, tools and the audit trail, per role. */

import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import { aJpeg, aPng, aWebp, pngChunk } from '../pictures.ts';
import type { Scene } from '../policies/scene.ts';
import { addToken, caller } from '../tools/scene.ts';
import { signInAs, type SignedIn } from './person.ts';

const nowhere = '01900000-0000-7000-8000-000000000000';
const outside = ['seller', 'exclusive buyer', "broker's advisor", 'viewer', 'invited', 'outsider'];

let service: TestService;
let scene: Scene;
let foreign: string;
const people: Record<string, SignedIn> = {};
const as = (name: string): SignedIn => people[name]!;

beforeAll(async () => {
  service = await openService({ scene: true, config: { features: { findings: true, financing: false } } });
  scene = service.scene;
  for (const name of ['admin', 'broker', 'colleague', ...outside])
    people[name] = await signInAs(service, scene.people[name]!);
  const [elsewhere] = await service.sql<{ id: string }>(`select id from brokerages where slug = 'elsewhere'`);
  foreign = elsewhere!.id;
});
afterAll(() => service?.close());

const ours = (rest = '') => `/brokerages/${scene.brokerage}${rest}`;
const actionsOn = async (subject: string) =>
  (
    await service.sql<{ action: string }>('select action from audit_records where subject_id = $1 order by at, id', [
      subject,
    ])
  ).map(({ action }) => action);

/** A person whose sign-in was an hour ago, so that requests that require a recent one are refused. */
async function long(name: string): Promise<SignedIn> {
  const person = await signInAs(service, scene.people[name]!);
  await service.sql(
    `update vault.sessions set authenticated_at = app.now() - interval '1 hour'
     where user_id = $1 and id = (select id from vault.sessions where user_id = $1 order by created_at desc, id desc limit 1)`,
    [scene.people[name]],
  );
  return person;
}

describe('the brokerage', () => {
  test('is visible to its members and renamed only by its admins', async () => {
    for (const [name, role] of [
      ['admin', 'admin'],
      ['broker', 'broker'],
    ] as const)
      expect((await as(name).ask(ours())).body).toMatchObject({ id: scene.brokerage, slug: 'scene', role });
    expect((await as('broker').ask(ours(), { name: 'Mine' }, 'PATCH')).status).toBe(403);
    expect((await as('admin').ask(ours(), { name: ' ' }, 'PATCH')).body.error.details[0].path).toBe('name');
    expect((await as('admin').ask(ours(), { name: 'Scene & Sons' }, 'PATCH')).body.name).toBe('Scene & Sons');
    expect(await actionsOn(scene.brokerage)).toEqual(['brokerage.rename']);
  });

  test('shows its admins the status of the service, counting only its own mails', async () => {
    const before = await as('admin').ask(ours('/status'));
    expect(before.body).toEqual({
      versions: {
        product: expect.stringMatching(/^\d+\.\d+\.\d+/),
        node: process.versions.node,
        postgres: expect.stringMatching(/^\d+\.\d+/),
        schema: expect.stringMatching(/^\d{3}_[a-z0-9_]+$/),
      },
      jobs: [],
      mail: { waiting: 0, failing: 0, given_up: 0, oldest_at: null },
      notifications: { waiting: 0, failing: 0, oldest_at: null },
      webhooks: { waiting: 0, failing: 0, oldest_at: null, switched_off: 0 },
      backup: { every_seconds: null, last_success_at: null, last_failure_at: null },
      store: 'directory',
    });
    await service.sql(
      `select app.note_job_run('sweep', true), app.note_job_run('purge_mails', false),
        app.queue_mail('invitation', 'a@example.test', null, brokerage, null, true, '{}', null, null)
       from unnest(array[$1, $2, $2, null]::uuid[]) as brokerage`,
      [scene.brokerage, foreign],
    );
    const { body: statusAnswer } = await as('admin').ask(ours('/status'));
    expect(statusAnswer.mail).toEqual({ waiting: 1, failing: 0, given_up: 0, oldest_at: expect.any(String) });
    expect(statusAnswer.jobs).toEqual([
      {
        job: 'purge_mails',
        last_run_at: expect.any(String),
        last_success_at: null,
        last_failure_at: expect.any(String),
      },
      { job: 'sweep', last_run_at: expect.any(String), last_success_at: expect.any(String), last_failure_at: null },
    ]);
    await service.sql('update vault.outbox set given_up_at = app.now()');
    const { body: later } = await as('admin').ask(ours('/status'));
    expect(later.mail).toEqual({ waiting: 0, failing: 0, given_up: 1, oldest_at: null });
    await service.sql('delete from vault.outbox');

    expect((await as('broker').ask(ours('/status'))).status).toBe(403);
    expect((await as('admin').ask(`/brokerages/${foreign}/status`)).status).toBe(404);
  });

  test('shows its admins the status of failed notifications and of backups', async () => {
    await service.sql('delete from vault.events');
    await service.sql(
      `insert into vault.events (kind, deal_id, last_error) select 'question_asked', d.id, e.error
       from deals d, unnest(array['division by zero', null]) e (error) where d.organization_id = any ($1::uuid[])`,
      [[scene.brokerage, foreign]],
    );
    const [{ own } = { own: 0 }] = await service.sql<{ own: number }>(
      'select count(*)::int as own from deals where organization_id = $1',
      [scene.brokerage],
    );
    await service.sql(`select app.note_job_run('backup', true)`);
    service.clock.advance(1000);
    await service.sql(`select app.note_job_run('backup', false)`);
    const { body } = await as('admin').ask(ours('/status'));
    expect(body.notifications).toEqual({ waiting: 2 * own, failing: own, oldest_at: expect.any(String) });
    // The reason is for the operator alone.
    expect(JSON.stringify(body)).not.toContain('division');
    expect(body.backup).toEqual({
      every_seconds: null,
      last_success_at: expect.any(String),
      last_failure_at: expect.any(String),
    });
    expect(body.backup.last_failure_at > body.backup.last_success_at).toBe(true);
    expect(body.jobs.map(({ job }: { job: string }) => job)).not.toContain('backup');
    await service.sql('delete from vault.events');
  });

  test.each(outside)('and its members are answered like missing ones: %s', async (name) => {
    for (const [path, body, method] of [
      ['', undefined, 'GET'],
      ['', { name: 'X' }, 'PATCH'],
      ['/members', undefined, 'GET'],
      ['/status', undefined, 'GET'],
      ['/members', { email: 'x@example.test', name: 'X', role: 'staff' }, 'POST'],
      [`/members/${scene.people['broker']}`, { role: 'staff' }, 'PATCH'],
      [`/members/${scene.people['broker']}`, undefined, 'DELETE'],
      [`/members/${scene.people['broker']}/invitation`, {}, 'POST'],
    ] as const)
      expect(await as(name).ask(ours(path), body, method), `${method} ${path}`).toEqual(
        await as(name).ask(`/brokerages/${nowhere}${path}`, body, method),
      );
    expect((await as(name).ask(ours())).status).toBe(404);
  });

  test('is answered like a missing one for an admin of another brokerage', async () => {
    for (const path of ['', '/members', '/keys'])
      expect(await as('admin').ask(`/brokerages/${foreign}${path}`)).toEqual(
        await as('admin').ask(`/brokerages/${nowhere}${path}`),
      );
  });
});

describe('the logo of a brokerage', () => {
  const url = (rest = ours('/logo')) => `${service.origin}/api/web${rest}`;
  const send = (who: string, body: Buffer, rest = ours('/logo')) =>
    fetch(url(rest), { method: 'POST', headers: as(who).headers, body: new Uint8Array(body) });
  const shownTo = async (who: string) => {
    const response = await fetch(url(), { headers: as(who).headers });
    return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
  };

  test('is uploaded, replaced and removed only by its admins, and visible on its deals', async () => {
    for (const [sent, type] of [
      [aPng(60, 20), 'image/png'],
      [aJpeg, 'image/jpeg'],
      [aWebp, 'image/webp'],
    ] as const) {
      const answer = await send('admin', sent);
      expect(answer.status).toBe(200);
      expect(await answer.json()).toMatchObject({ id: scene.brokerage, logo_at: expect.any(String) });
      for (const who of ['admin', 'colleague', 'seller', "broker's advisor"]) {
        const { status, headers, bytes } = await shownTo(who);
        expect([who, status, headers.get('content-type')]).toEqual([who, 200, type]);
        expect(headers.get('x-content-type-options')).toBe('nosniff');
        expect(headers.get('content-security-policy')).toMatch(/^default-src 'none';.* sandbox$/);
        expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
        // The colour profile, which names its author, is removed.
        expect(bytes.includes('Google Inc.')).toBe(false);
        if (type === 'image/png') expect(bytes).toEqual(sent);
        else expect([sent.includes('ICC'), bytes.length < sent.length]).toEqual([true, true]);
      }
    }
    for (const who of ['invited', 'outsider']) expect((await shownTo(who)).status).toBe(404);
    expect((await fetch(url())).status).toBe(401);
    for (const [who, status] of [
      ['colleague', 403],
      ['seller', 404],
      ['outsider', 404],
    ] as const) {
      expect([who, (await send(who, aPng(2, 2))).status]).toEqual([who, status]);
      expect([who, (await as(who).ask(ours('/logo'), undefined, 'DELETE')).status]).toEqual([who, status]);
    }
    expect((await send('admin', aPng(2, 2), `/brokerages/${foreign}/logo`)).status).toBe(404);
    expect((await shownTo('admin')).bytes.subarray(8, 12).toString()).toBe('WEBP');
    const removed = await as('admin').ask(ours('/logo'), undefined, 'DELETE');
    expect(removed.body).toMatchObject({ id: scene.brokerage, logo_at: null });
    expect((await shownTo('admin')).status).toBe(404);
    expect((await as('seller').ask(`/deals/${scene.deal}`)).body.deal.organization_logo_at).toBeNull();
    expect((await actionsOn(scene.brokerage)).filter((action) => action.startsWith('brokerage.logo'))).toEqual([
      'brokerage.logo',
      'brokerage.logo',
      'brokerage.logo',
      'brokerage.logo.remove',
    ]);
  });

  test('must be a small image by its content, and is stored without metadata', async () => {
    const cut = (file: Buffer, bytes: number) => file.subarray(0, file.length - bytes);
    const changed = (file: Buffer, at: number, to: number) => {
      const copy = Buffer.from(file);
      copy[at] = to;
      return copy;
    };
    const frameOfJpeg = aJpeg.indexOf(Buffer.from([0xff, 0xc0]));
    const animated = changed(aWebp, 20, aWebp[20]! | 0x02);
    for (const [what, file, status] of [
      ['nothing', Buffer.alloc(0), 415],
      ['an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'), 415],
      ['a GIF', Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'), 415],
      ['a PNG that moves', aPng(2, 2, pngChunk('acTL', Buffer.alloc(8))), 415],
      ['a WebP that moves', animated, 415],
      ['a PNG of too many pixels', aPng(2001, 1), 415],
      ['a PNG of four thousand million pixels on a side', changed(aPng(2, 2), 16, 0xff), 415],
      ['a PNG without pixels', aPng(0, 0), 415],
      ['a PNG with two heads', aPng(2, 2, pngChunk('IHDR', Buffer.alloc(13))), 415],
      ['a PNG with a part that nobody knows', aPng(2, 2, pngChunk('ABCD', Buffer.alloc(1))), 415],
      ['a PNG that breaks off', cut(aPng(20, 20), 13), 415],
      ['a JPEG that breaks off', cut(aJpeg, 2), 415],
      ['a JPEG of too many pixels', changed(aJpeg, frameOfJpeg + 5, 0xff), 415],
      ['an arithmetic JPEG', changed(aJpeg, frameOfJpeg + 1, 0xc9), 415],
      ['a WebP that breaks off', cut(aWebp, 1), 415],
      ['a WebP whose canvas is larger than its picture', changed(aWebp, 25, 4), 415],
      ['too many bytes', Buffer.concat([aPng(2, 2), Buffer.alloc(200_000)]), 413],
    ] as const) {
      const answer = await send('admin', file);
      expect([what, answer.status]).toEqual([what, status]);
      const { error } = (await answer.json()) as { error: { code: string; message: string } };
      expect([what, error.message.length > 20]).toEqual([what, true]);
      expect([what, error.code]).toEqual([what, status === 413 ? 'validation_error' : 'unsupported_type']);
    }
    const hidden = Buffer.from('Taken at 47.3769 N, 8.5417 E');
    const comment = Buffer.concat([Buffer.from([0xff, 0xfe, 0, hidden.length + 2]), hidden]);
    const exif = Buffer.concat([Buffer.from('EXIF'), Buffer.from([hidden.length, 0, 0, 0]), hidden]);
    const longer = Buffer.concat([aWebp, exif]);
    longer.writeUInt32LE(longer.length - 8, 4);
    for (const file of [
      Buffer.concat([aPng(2, 2, pngChunk('tEXt', hidden), pngChunk('eXIf', hidden)), hidden]),
      Buffer.concat([aJpeg.subarray(0, 2), comment, aJpeg.subarray(2), hidden]),
      Buffer.concat([longer, hidden]),
    ]) {
      expect((await send('admin', file)).status).toBe(200);
      const { status, bytes } = await shownTo('seller');
      expect([status, bytes.length > 60, bytes.includes('47.3769')]).toEqual([200, true, false]);
    }
  });
});

describe('members', () => {
  const nora = { email: 'Nora@Example.test', name: 'Nora Vale', role: 'staff' };

  test('are invited by a working link, renewed, given roles and removed', async () => {
    const invited = await as('admin').ask(ours('/members'), nora);
    expect(invited).toMatchObject({
      status: 201,
      body: {
        member: { name: 'Nora Vale', email: 'nora@example.test', role: 'staff', status: 'invited' },
        mailed: false,
      },
    });
    const { member, invitation_url: first } = invited.body;
    const look = async (url: string) =>
      (
        await fetch(`${service.origin}/api/auth/invitation`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', origin: service.origin },
          body: JSON.stringify({ token: new URLSearchParams(new URL(url).hash.slice(1)).get('token') }),
        })
      ).status;
    expect(await look(first)).toBe(200);
    const renewed = await as('admin').ask(ours(`/members/${member.user_id}/invitation`), {});
    expect(renewed.status).toBe(200);
    expect([(await look(first)) === 200, await look(renewed.body.invitation_url)]).toEqual([false, 200]);

    const listed = (await as('broker').ask(ours('/members'))).body.items;
    expect(listed.map(({ name, role, status }: typeof nora & { status: string }) => [name, role, status])).toEqual([
      ['admin', 'admin', 'active'],
      ['broker', 'broker', 'active'],
      ['colleague', 'broker', 'active'],
      ['Nora Vale', 'staff', 'invited'],
    ]);
    expect((await as('admin').ask(ours(`/members/${member.user_id}`), { role: 'broker' }, 'PATCH')).body.role).toBe(
      'broker',
    );
    expect((await as('admin').ask(ours(`/members/${member.user_id}`), undefined, 'DELETE')).status).toBe(200);
    expect((await as('admin').ask(ours(`/members/${member.user_id}/invitation`), {})).status).toBe(404);
    expect(await actionsOn(member.user_id)).toEqual(['member.invite', 'member.invite', 'member.role', 'member.remove']);
  });

  test('are made or invited as admins only after a recent sign-in', async () => {
    const admin = await long('admin');
    const colleague = ours(`/members/${scene.people['colleague']}`);
    const stale = { status: 403, body: { error: { code: 'recent_sign_in_required' } } };
    const asked = { email: 'new.admin@example.test', name: 'New', role: 'admin' };
    expect(await admin.ask(ours('/members'), asked)).toMatchObject(stale);
    expect(await admin.ask(colleague, { role: 'admin' }, 'PATCH')).toMatchObject(stale);
    expect(await admin.ask(ours('/members'), { ...asked, deliver: 'link' })).toMatchObject(stale);
    expect(await service.sql(`select from users where email = $1`, [asked.email])).toEqual([]);
    // Inviting staff and brokers requires no recent sign-in.
    const { body } = await admin.ask(ours('/members'), { ...asked, role: 'staff' });
    expect(await admin.ask(ours(`/members/${body.member.user_id}`), { role: 'admin' }, 'PATCH')).toMatchObject(stale);
    const promoted = await as('admin').ask(ours(`/members/${body.member.user_id}`), { role: 'admin' }, 'PATCH');
    expect(promoted.body.role).toBe('admin');
    // A new link for an admin's invitation is as powerful as the first.
    expect(await admin.ask(ours(`/members/${body.member.user_id}/invitation`), {})).toMatchObject(stale);
    await as('admin').ask(ours(`/members/${body.member.user_id}`), undefined, 'DELETE');
  });

  test('are managed only by admins, and the last admin stays', async () => {
    const colleague = ours(`/members/${scene.people['colleague']}`);
    for (const [path, body, method] of [
      [ours('/members'), nora, 'POST'],
      [colleague, { role: 'admin' }, 'PATCH'],
      [colleague, undefined, 'DELETE'],
    ] as const)
      expect((await as('broker').ask(path, body, method)).status).toBe(403);
    const self = ours(`/members/${scene.people['admin']}`);
    for (const [body, method] of [
      [{ role: 'staff' }, 'PATCH'],
      [undefined, 'DELETE'],
    ] as const)
      expect(await as('admin').ask(self, body, method)).toMatchObject({
        status: 409,
        body: { error: { code: 'last_admin' } },
      });
    expect(await as('admin').ask(ours('/members'), { ...nora, email: 'broker@example.test' })).toMatchObject({
      status: 409,
      body: { error: { code: 'already_member' } },
    });
    const { body } = await as('admin').ask(ours('/members'), { email: 'nowhere', name: '', role: 'king' });
    expect(body.error.details.map(({ path }: { path: string }) => path)).toEqual(['email', 'name', 'role']);
  });
});

describe('API keys', () => {
  const input = { name: 'Website', environment: 'test', scopes: ['contacts:read'], ceiling: 120, expires_at: null };
  const works = async (token: string) =>
    (await fetch(`${service.restUrl}/contacts`, { headers: { authorization: `Bearer ${token}` } })).status === 200;

  test('126, 129, 130. show their token once, rotate with an overlap, and stop working when revoked', async () => {
    const made = await as('admin').ask(ours('/keys'), input);
    expect(made).toMatchObject({ status: 201, body: { key: { ...input, state: 'active', created_by_name: 'admin' } } });
    const { key, token } = made.body;
    expect(key.hint).toBe(`dk_test_…${token.slice(-4)}`);
    expect(await works(token)).toBe(true);
    const list = await as('admin').ask(ours('/keys'));
    expect(list.body.items.map(({ id }: { id: string }) => id)).toContain(key.id);
    expect(JSON.stringify(list.body)).not.toContain(token);

    const rotated = (await as('admin').ask(`/keys/${key.id}/rotate`, { overlap_seconds: 3600 })).body;
    expect(rotated.key).toMatchObject({ id: key.id, previous_hint: key.hint });
    expect([await works(token), await works(rotated.token)]).toEqual([true, true]);
    const again = (await as('admin').ask(`/keys/${key.id}/rotate`, { overlap_seconds: 0 })).body;
    expect([await works(token), await works(rotated.token), await works(again.token)]).toEqual([false, false, true]);

    expect((await as('admin').ask(`/keys/${key.id}/revoke`, {})).body).toMatchObject({ state: 'revoked' });
    expect(await works(again.token)).toBe(false);
    expect(await as('admin').ask(`/keys/${key.id}/rotate`, { overlap_seconds: 0 })).toMatchObject({
      status: 409,
      body: { error: { code: 'api_key_ended' } },
    });
    expect(await actionsOn(key.id)).toEqual(['api_key.create', 'api_key.rotate', 'api_key.rotate', 'api_key.revoke']);
  });

  test('124. require a recent sign-in to be created or rotated, but not to be revoked', async () => {
    const admin = await long('admin');
    const { key } = (await as('admin').ask(ours('/keys'), input)).body;
    const count = async () => (await service.sql('select id from api_keys')).length;
    const before = await count();
    for (const [path, body] of [
      [ours('/keys'), input],
      [`/keys/${key.id}/rotate`, { overlap_seconds: 0 }],
    ] as const)
      expect(await admin.ask(path, body)).toMatchObject({
        status: 403,
        body: { error: { code: 'recent_sign_in_required' } },
      });
    expect(await count()).toBe(before);
    // Revoking a key requires no recent sign-in.
    expect((await admin.ask(`/keys/${key.id}/revoke`, {})).status).toBe(200);
  });

  test('are shown as stopped once the last recipient of their token has left, until rotated', async () => {
    const live = { ...input, environment: 'live', scopes: ['deals:read'] };
    const admins = await Promise.all(
      ['Vera', 'Walt'].map(async (name) => {
        const [user] = await service.sql<{ id: string }>(
          `with made as (insert into users (email, name) values (lower($1) || '@example.test', $1) returning id),
             joined as (insert into members (brokerage_id, user_id, role) select $2, id, 'admin' from made)
           select id from made`,
          [name, scene.brokerage],
        );
        return { id: user!.id, person: await signInAs(service, user!.id) };
      }),
    );
    const [vera, walt] = [admins[0]!, admins[1]!];
    const make = async (by: SignedIn) => (await by.ask(ours('/keys'), live)).body.key.id as string;
    const [veras, walts, rotated] = [await make(vera.person), await make(walt.person), await make(vera.person)];
    expect((await walt.person.ask(`/keys/${rotated}/rotate`, { overlap_seconds: 0 })).status).toBe(200);
    const looked = async () => {
      const { items } = (await as('admin').ask(ours('/keys'))).body;
      const onDeal = (await as('broker').ask(`/deals/${scene.deal}/keys`)).body.keys;
      return [veras, walts, rotated].map((key) => [
        items.find(({ id }: { id: string }) => id === key).state,
        onDeal.some(({ id }: { id: string }) => id === key),
      ]);
    };
    const [working, stopped] = [
      ['active', true],
      ['stopped', false],
    ];
    const leaves = (id: string) => as('admin').ask(ours(`/members/${id}`), undefined, 'DELETE');
    expect(await looked()).toEqual([working, working, working]);
    expect((await leaves(vera.id)).status).toBe(200);
    expect(await looked()).toEqual([stopped, working, working]);
    expect((await leaves(walt.id)).status).toBe(200);
    expect(await looked()).toEqual([stopped, stopped, stopped]);
    const again = (await as('admin').ask(`/keys/${rotated}/rotate`, { overlap_seconds: 0 })).body;
    expect(again.key.state).toBe('active');
    expect(await looked()).toEqual([stopped, stopped, working]);
  });

  test('are accessible only to admins', async () => {
    const { key } = (await as('admin').ask(ours('/keys'), input)).body;
    for (const name of ['broker', ...outside]) {
      const { status, body } = await as(name).ask(ours('/keys'));
      expect(status === 404 || body.items.length === 0, name).toBe(true);
      expect([403, 404, 409]).toContain((await as(name).ask(ours('/keys'), input)).status);
      for (const [step, sent] of [
        ['rotate', { overlap_seconds: 0 }],
        ['revoke', {}],
      ] as const)
        expect(await as(name).ask(`/keys/${key.id}/${step}`, sent)).toEqual(
          await as(name).ask(`/keys/${nowhere}/${step}`, sent),
        );
    }
    expect((await as('broker').ask(`/keys/${key.id}/revoke`, {})).status).toBe(404);
  });

  test('are rejected with all invalid fields', async () => {
    const bad = { name: '', environment: 'prod', scopes: [], ceiling: 0, expires_at: 'soon' };
    const { body } = await as('admin').ask(ours('/keys'), bad);
    expect(body.error.details.map(({ path }: { path: string }) => path)).toEqual(Object.keys(bad));
    expect(body.error.details.at(-1).message).toBe('Choose a day and time in the years 1 to 9999.');
    expect(await as('admin').ask(ours('/keys'), { ...input, expires_at: service.clock.inDays(-1) })).toMatchObject({
      status: 409,
      body: { error: { code: 'expires_in_the_past' } },
    });
  });
});

const editor = { name: 'My editor', redirect_uris: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'] };

async function register(name: string): Promise<string> {
  const { status, body } = await as(name).ask('/clients', editor);
  expect(status).toBe(201);
  return body.id;
}

describe('connected clients', () => {
  const seenBy = async (name: string, id: string) =>
    (await as(name).ask('/clients')).body.items.find((client: { id: string }) => client.id === id);

  test('are registered, changed, disabled and deleted only by their creator', async () => {
    const id = await register('exclusive buyer');
    const { body } = await as('exclusive buyer').ask('/clients');
    expect(body.tool_server).toBe(`${service.config.baseUrl}/api/mcp`);
    expect(body.presets.length).toBeGreaterThan(2);
    expect(await seenBy('exclusive buyer', id)).toMatchObject({
      ...editor,
      client_id: id,
      mine: true,
      can_manage: true,
      scopes: [],
      connected_at: null,
      brokerage_id: null,
    });
    const uris = { ...editor, redirect_uris: ['https://app.example.test/callback'] };
    expect((await as('exclusive buyer').ask(`/clients/${id}`, uris, 'PATCH')).body).toMatchObject(uris);
    expect((await as('exclusive buyer').ask(`/clients/${id}/switch`, { disabled: true })).body.disabled).toBe(true);
    for (const name of ['admin', 'broker', 'seller', 'outsider']) {
      expect(await seenBy(name, id)).toBeUndefined();
      for (const [step, sent, method] of [
        ['', editor, 'PATCH'],
        ['', undefined, 'DELETE'],
        ['/share', { brokerage_id: null }, 'POST'],
        ['/switch', { disabled: true }, 'POST'],
        ['/disconnect', {}, 'POST'],
      ] as const)
        expect(await as(name).ask(`/clients/${id}${step}`, sent, method)).toEqual(
          await as(name).ask(`/clients/${nowhere}${step}`, sent, method),
        );
    }
    expect((await as('exclusive buyer').ask(`/clients/${id}`, undefined, 'DELETE')).status).toBe(204);
    expect(await seenBy('exclusive buyer', id)).toBeUndefined();
    expect(await actionsOn(id)).toEqual(['client.create', 'client.change', 'client.disable', 'client.delete']);
  });

  test('are shared by admins with the members of their brokerage, who cannot manage them', async () => {
    const id = await register('admin');
    const shared = await as('admin').ask(`/clients/${id}/share`, { brokerage_id: scene.brokerage });
    expect(shared.body).toMatchObject({ brokerage_id: scene.brokerage, can_manage: true });
    expect(await seenBy('broker', id)).toMatchObject({ mine: false, can_manage: false });
    expect(await seenBy('seller', id)).toBeUndefined();
    expect((await as('broker').ask(`/clients/${id}`, editor, 'PATCH')).status).toBe(403);
    expect((await as('broker').ask(`/clients/${id}`, undefined, 'DELETE')).status).toBe(403);

    const own = await register('broker');
    expect((await as('broker').ask(`/clients/${own}/share`, { brokerage_id: scene.brokerage })).status).toBe(403);
    expect((await as('admin').ask(`/clients/${id}/share`, { brokerage_id: foreign })).status).toBe(409);
    const unshared = await register('admin');
    expect((await as('admin').ask(`/clients/${unshared}/share`, { brokerage_id: foreign })).status).toBe(403);
    expect((await as('admin').ask(`/clients/${id}/share`, { brokerage_id: null })).body.brokerage_id).toBeNull();
    expect(await seenBy('broker', id)).toBeUndefined();
  });

  test('show their scopes until they are disconnected', async () => {
    const id = await register('seller');
    await service.sql(
      `with family as (
         insert into vault.token_families (user_id, client_id, scopes, resource, consented_at, ends_at)
         values ($1, $2, '{mcp:read}', $3, app.now(), app.now() + interval '30 days') returning id)
       insert into vault.refresh_tokens (digest, family_id, expires_at)
       select sha256('arranged'), id, app.now() + interval '30 days' from family`,
      [scene.people['seller'], id, `${service.config.baseUrl}/api/mcp`],
    );
    expect(await seenBy('seller', id)).toMatchObject({ scopes: ['mcp:read'], connected_at: expect.any(String) });
    for (let twice = 0; twice < 2; twice++)
      expect(await as('seller').ask(`/clients/${id}/disconnect`, {})).toMatchObject({
        status: 200,
        body: { scopes: [], connected_at: null },
      });
  });

  test('112. are rejected with the error of an invalid redirect URI', async () => {
    const { status, body } = await as('broker').ask('/clients', {
      name: 'x\u202ey',
      redirect_uris: ['http://evil.test/'],
    });
    expect(status).toBe(400);
    expect(body.error.details).toEqual([
      { path: 'name', message: 'Leave out invisible characters.' },
      { path: 'redirect_uris', message: expect.stringMatching(/^http:\/\/evil\.test\/: Plain http only/) },
    ]);
    expect((await as('broker').ask('/clients', { ...editor, redirect_uris: [] })).status).toBe(400);
  });
});

test('sharing a client, or adding a redirect URI to a shared one, requires a recent sign-in', async () => {
  const admin = await long('admin');
  const client = await register('admin');
  const stale = { status: 403, body: { error: { code: 'recent_sign_in_required' } } };
  const share = { brokerage_id: scene.brokerage };
  expect(await admin.ask(`/clients/${client}/share`, share)).toMatchObject(stale);
  expect((await admin.ask(`/clients/${client}`, editor, 'PATCH')).status).toBe(200);
  expect((await as('admin').ask(`/clients/${client}/share`, share)).body.brokerage_id).toBe(scene.brokerage);
  const elsewhere = { ...editor, redirect_uris: [...editor.redirect_uris, 'https://elsewhere.example/callback'] };
  expect(await admin.ask(`/clients/${client}`, elsewhere, 'PATCH')).toMatchObject(stale);
  expect((await admin.ask(`/clients/${client}/share`, { brokerage_id: null })).body.brokerage_id).toBeNull();
  await as('admin').ask(`/clients/${client}`, undefined, 'DELETE');
});

describe('tools', () => {
  test('are granted per client and tool, with an end date, by the owner of the client', async () => {
    const client = await register('colleague');
    const grant = { client_id: client, tool: 'svc_questions_create', expires_at: service.clock.inDays(2) };
    const { status, body } = await as('colleague').ask('/tools/grants', grant, 'PUT');
    expect(status).toBe(200);
    expect(body.grants).toEqual([{ ...grant, granted_at: expect.any(String) }]);
    expect(body.clients).toContainEqual({
      id: client,
      name: editor.name,
      host: null,
      connected: false,
      may_write: false,
      disabled: false,
    });
    const availability = Object.fromEntries(
      body.write_tools.map(({ name, available }: { name: string; available: boolean }) => [name, available]),
    );
    expect(availability).toMatchObject({ svc_findings_create: true, svc_financing_source_create: false });

    expect(await as('seller').ask('/tools/grants', grant, 'PUT')).toEqual(
      await as('seller').ask('/tools/grants', { ...grant, client_id: nowhere }, 'PUT'),
    );
    expect(
      await as('colleague').ask('/tools/grants', { ...grant, expires_at: service.clock.inDays(-1) }, 'PUT'),
    ).toMatchObject({
      status: 409,
      body: { error: { code: 'ends_in_the_past' } },
    });
    expect((await as('colleague').ask('/tools/grants', { ...grant, tool: 'svc_deals_list' }, 'PUT')).status).toBe(400);
    const off = `/tools/grants/${client}/svc_questions_create`;
    for (let twice = 0; twice < 2; twice++)
      expect((await as('colleague').ask(off, undefined, 'DELETE')).body.grants).toEqual([]);
  });

  test('list the opted-in deals, and the broker who shut tools off', async () => {
    await as('exclusive buyer').ask(`/deals/${scene.deal}/tools/opt-in`, { expires_at: null }, 'PUT');
    await as('broker').ask(`/deals/${scene.deal}/tools/shut-off`, {}, 'PUT');
    expect((await as('exclusive buyer').ask('/tools')).body.opt_ins).toEqual([
      {
        deal_id: scene.deal,
        deal_title: 'Corner bakery',
        granted_at: expect.any(String),
        expires_at: null,
        shut_off: true,
        shut_off_by_name: 'broker',
      },
    ]);
    expect((await as('outsider').ask('/tools')).body.opt_ins).toEqual([]);
  });
});

interface Seen {
  id: string;
  user_id: string | null;
  action: string;
  outcome: string;
  at: string;
}

describe('the audit trail', () => {
  const read = async (name: string, query: Record<string, string> = {}): Promise<Seen[]> => {
    const found: Seen[] = [];
    let cursor: string | null = null;
    do {
      const search = new URLSearchParams({ ...query, limit: '7', ...(cursor && { cursor }) });
      const { status, body } = await as(name).ask(`/audit?${search}`);
      expect(status).toBe(200);
      found.push(...body.items);
      cursor = body.next_cursor;
    } while (cursor !== null);
    return found;
  };

  test('shows everybody their own records, and admins those of the brokerage, page by page', async () => {
    const own = await service.sql<{ id: string }>('select id from audit_records where user_id = $1', [
      scene.people['seller'],
    ]);
    expect(new Set((await read('seller')).map(({ id }) => id))).toEqual(new Set(own.map(({ id }) => id)));
    const all = await service.sql<{ id: string }>(
      'select id from audit_records where brokerage_id = $1 order by at desc, id desc',
      [scene.brokerage],
    );
    expect(all.length).toBeGreaterThan(10);
    expect((await read('admin', { brokerage_id: scene.brokerage })).map(({ id }) => id)).toEqual(
      all.map(({ id }) => id),
    );
    for (const name of outside)
      for (const { user_id } of await read(name, { brokerage_id: scene.brokerage }))
        expect(user_id).toBe(scene.people[name]);
    expect(await read('admin', { brokerage_id: foreign })).toEqual([]);
  });

  test('does not reveal whether an invisible deal exists', async () => {
    const access = await addToken(service, scene.people['outsider']!);
    const call = caller(service, access);
    await call('svc_deals_get', { deal_id: scene.deal });
    await call('svc_deals_get', { deal_id: nowhere });
    const known = ({ action, outcome }: Seen) => ({ action, outcome });
    const own = (await read('outsider')).filter(({ action }) => action === 'tool:svc_deals_get');
    expect(own.map(known)).toEqual([known(own[0]!), known(own[0]!)]);
    expect(await read('outsider', { brokerage_id: scene.brokerage, action: 'tool:' })).toEqual([]);
    // Nor does the deal's brokerage see calls by a person who does not see the deal.
    const told = await read('admin', { brokerage_id: scene.brokerage, action: 'tool:svc_deals_get' });
    expect(told.filter(({ user_id }) => user_id === scene.people['outsider'])).toEqual([]);
  });

  test('is filtered by person, action, outcome and time', async () => {
    const of = { brokerage_id: scene.brokerage };
    await service.sql(
      `insert into audit_records (brokerage_id, user_id, action, outcome, noted)
       select $1, $2, 'tool:svc_questions_create', outcome, false from unnest('{ok,repeated,refused}'::text[]) outcome`,
      [scene.brokerage, scene.people['admin']],
    );
    const all = await read('admin', of);
    const person = scene.people['admin']!;
    expect(await read('admin', { ...of, user_id: person })).toEqual(all.filter(({ user_id }) => user_id === person));
    expect(await read('admin', { ...of, action: 'api_key.' })).toEqual(
      all.filter(({ action }) => action.startsWith('api_key.')),
    );
    const own = await read('admin');
    const wentWell = ({ outcome }: Seen) => ['done', 'ok', 'repeated'].includes(outcome);
    expect(await read('admin', { ...of, outcome: 'refused' })).toEqual(all.filter((record) => !wentWell(record)));
    expect(await read('admin', { ...of, outcome: 'done' })).toEqual(all.filter(wentWell));
    expect(await read('admin', { outcome: 'refused' })).toEqual(own.filter((record) => !wentWell(record)));
    expect(await read('admin', { outcome: 'done' })).toEqual(own.filter(wentWell));
    // Actions of several kinds, with tools among them, enough for several pages.
    await service.sql(
      `insert into audit_records (at, user_id, action, outcome, noted)
       select app.now() - n * interval '1 minute', $1, (array['trial.a', 'trial.b', 'trial.c', 'tool:svc_deals_get'])[1 + n % 4],
         case when n % 3 = 0 then 'refused' else 'done' end, false from generate_series(1, 60) n`,
      [person],
    );
    const tried = await read('admin');
    for (const beginning of ['trial.', 'trial.b', 'tri', 'trial.d', 't', 'tool:', 'tool:svc_deals_get']) {
      const begun = tried.filter(({ action }) => action.startsWith(beginning));
      expect(await read('admin', { action: beginning })).toEqual(begun);
      expect(await read('admin', { action: beginning, outcome: 'done' })).toEqual(begun.filter(wentWell));
      expect(await read('admin', { action: beginning, from: tried[20]!.at, to: tried[5]!.at })).toEqual(
        begun.filter((record) => record.at >= tried[20]!.at && record.at < tried[5]!.at),
      );
    }
    expect(tried.filter(({ action }) => action.startsWith('trial.')).length).toBe(45);
    expect(await read('admin', { action: 'trial.', user_id: scene.people['seller']! })).toEqual([]);
    await service.sql(
      `delete from audit_records where user_id = $1 and brokerage_id is null and (action like 'trial.%' or request_id is null and action = 'tool:svc_deals_get')`,
      [person],
    );
    const { at } = all[3]!;
    expect(await read('admin', { ...of, from: at })).toEqual(all.filter((record) => record.at >= at));
    expect(await read('admin', { ...of, to: service.clock.inDays(-1) })).toEqual([]);
    expect((await as('admin').ask('/audit?outcome=maybe')).body.error.details[0].path).toBe('outcome');
  });

  test('is exported as CSV with its filters', async () => {
    await as('admin').ask(ours('/keys'), {
      name: '=HYPERLINK("x")',
      environment: 'test',
      scopes: ['contacts:read'],
      ceiling: null,
      expires_at: null,
    });
    const query = new URLSearchParams({ brokerage_id: scene.brokerage, action: 'api_key.create' });
    const response = await fetch(`${service.origin}/api/web/audit/export?${query}`, { headers: as('admin').headers });
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="audit-trail.csv"');
    const lines = (await response.text()).trim().split('\r\n');
    expect(lines[0]).toContain('at,person,client,key,deal,action,outcome');
    expect(lines.length - 1).toBe(
      (await read('admin', { brokerage_id: scene.brokerage, action: 'api_key.create' })).length,
    );
    expect(lines.slice(1).every((line) => line.includes(',api_key.create,done,'))).toBe(true);
    // The name is in the row of the key, and not in a record that outlasts it.
    expect(lines.slice(1).every((line) => line.includes('""name"": ""') || line.includes('""name"":""'))).toBe(true);
    expect(await service.sql(`select from audit_records where action = 'api_key.create' and details ? 'name'`)).toEqual(
      [],
    );
    const foreignFile = await fetch(`${service.origin}/api/web/audit/export?brokerage_id=${scene.brokerage}`, {
      headers: as('outsider').headers,
    });
    expect((await foreignFile.text()).trim().split('\r\n')).toHaveLength(1);
  });

  test('shows people who run no deal of the brokerage only their own actions there, with all filters', async () => {
    const of = { brokerage_id: scene.brokerage };
    const shownTo = async (name: string, condition: string) =>
      (
        await service.sql<{ id: string }>(
          `select r.id from audit_records r where r.brokerage_id = $1 and r.user_id = $2 and (${condition})
             and (r.deal_id is null or r.deal_id in (select p.deal_id from participants p where p.user_id = $2 and p.status = 'active'))
           order by r.at desc, r.id desc`,
          [scene.brokerage, scene.people[name]],
        )
      ).map(({ id }) => id);
    for (const name of ['outsider', 'exclusive buyer', 'viewer', 'admin'])
      await service.sql(
        `insert into audit_records (at, brokerage_id, deal_id, user_id, action, outcome, noted)
         select app.now() - n * interval '1 minute', $1, case when n % 3 = 0 then $2::uuid end, $3, (array['nda.send', 'nda.sign'])[1 + n % 2],
           case when n % 4 = 0 then 'done' when n % 10 = 1 then 'repeated' else 'refused' end, n % 4 = 0 from generate_series(1, 30) n`,
        [scene.brokerage, scene.deal, scene.people[name]],
      );
    for (const name of ['outsider', 'exclusive buyer', 'viewer']) {
      const ids = async (query: Record<string, string>) => (await read(name, { ...of, ...query })).map(({ id }) => id);
      const refused = await ids({ outcome: 'refused' });
      expect(refused).toEqual(await shownTo(name, `r.outcome not in ('done', 'ok', 'repeated')`));
      expect(refused.length).toBeGreaterThan(12);
      const tried = await ids({ action: 'nda.' });
      expect(tried).toEqual(await shownTo(name, `starts_with(r.action, 'nda.')`));
      expect(tried).toHaveLength(name === 'outsider' ? 20 : 30);
      expect(await ids({ action: 'nda.sign', outcome: 'refused' })).toEqual(
        await shownTo(name, `r.action = 'nda.sign' and r.outcome = 'refused'`),
      );
      expect(await ids({ action: 'n', outcome: 'done' })).toEqual(
        await shownTo(name, `starts_with(r.action, 'n') and r.outcome in ('done', 'ok', 'repeated')`),
      );
      expect(await ids({ user_id: scene.people[name]! })).toEqual(await shownTo(name, 'true'));
      expect(await ids({ user_id: scene.people['admin']!, outcome: 'refused' })).toEqual([]);
      const { at } = (await read(name, { ...of, outcome: 'refused' }))[9]!;
      expect(await ids({ outcome: 'refused', from: at })).toEqual(refused.slice(0, 10));
      expect(await ids({ outcome: 'refused', to: at })).toEqual(refused.slice(10));
      expect(await read(name, { brokerage_id: foreign, outcome: 'refused' })).toEqual([]);
    }
  });

  describe('with thousands of records', () => {
    // Five batches: while nobody reads the response, the first four are read ahead and buffered by the service and the
    // connection.
    const many = 4_500;
    const path = `/api/web/audit/export?action=long.&brokerage_id=`;
    beforeAll(() =>
      service.sql(
        `insert into audit_records (at, brokerage_id, user_id, action, subject_id, outcome, details)
         select app.now() - n / 2 * interval '1 second', $1, $2, 'long.file', n::text, 'done', jsonb_build_object('note', repeat('x', 4000))
         from generate_series(1, ${many}) n`,
        [scene.brokerage, scene.people['admin']],
      ),
    );
    afterAll(() => service.sql(`delete from audit_records where action = 'long.file'`));

    test('is exported completely, latest records first', async () => {
      const { headers } = as('admin');
      const response = await fetch(service.origin + path + scene.brokerage, { headers });
      const lines = (await response.text()).trim().split('\r\n').slice(1);
      const times = lines.map((line) => line.slice(0, line.indexOf(',')));
      const subjects = lines.flatMap((line) => /,long\.file,done,(\d+),/.exec(line)?.slice(1) ?? []);
      expect(new Set(subjects).size).toBe(many);
      expect(lines).toHaveLength(many);
      expect(times).toEqual(times.toSorted().toReversed());
    });

    test('aborts the export with a note if the reader signs out meanwhile', async () => {
      const leaving = await signInAs(service, scene.people['admin']!);
      const asked = get(service.origin + path + scene.brokerage, { headers: leaving.headers });
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      expect(response.statusCode).toBe(200);
      const signedOut = await fetch(`${service.origin}/api/auth/sign-out`, {
        method: 'POST',
        body: '{}',
        headers: { ...leaving.headers, 'content-type': 'application/json' },
      });
      expect(signedOut.ok).toBe(true);
      // Reads each chunk as it arrives: `fetch` may drop the last ones when the connection breaks after them.
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => void (text += chunk));
      await expect(once(response, 'end')).rejects.toThrow();
      const lines = text.trim().split('\r\n');
      expect(lines.at(-1)).toContain('Incomplete: the export stopped here.');
      expect(lines.length).toBeLessThan(many);
    });
  });
});
