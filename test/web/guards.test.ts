/** Guarantees of every route of the web application's JSON API. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiRoutes } from '../../server/web/api/routes.ts';
import { signInAs } from './person.ts';
import { openScene, type WebScene } from './scene.ts';

let web: WebScene;
/** All routes, with an id of no record as their parameters. */
let routes: { method: string; path: string }[];

const readOnly = new Set(['GET', 'HEAD', 'OPTIONS']);

beforeAll(async () => {
  web = await openScene({ config: { features: { findings: true, financing: true } } });
  const known = apiRoutes(web.service.services, [], null).routes.filter(({ method }) => method !== 'ALL');
  routes = [...new Map(known.map(({ method, path }) => [`${method} ${path}`, { method, path }])).values()].map(
    ({ method, path }) => ({
      method,
      path: path.replaceAll(/:source\b[^/]*/g, 'simple').replaceAll(/:[a-z_]+(\{[^}]*\})?/g, randomUUID()),
    }),
  );
});
afterAll(() => web?.close());

const ask = (path: string, method: string, headers: Record<string, string>) =>
  fetch(`${web.service.origin}/api/web${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(readOnly.has(method) ? {} : { body: '{}' }),
  });

test('the checks below cover more than 30 routes', () => {
  expect(routes.length).toBeGreaterThan(30);
});

test('no GET route responds without a session or allows caching', async () => {
  for (const { method, path } of routes.filter((route) => route.method === 'GET')) {
    const response = await ask(path, method, {});
    // A required query parameter may be missing, too; the response then reports that first, and nothing else.
    expect([path, response.status === 400 || response.status === 401]).toEqual([path, true]);
    expect(response.headers.get('cache-control')).toBe('no-store');
    await response.body?.cancel();
  }
});

test('longer answers to reads are compressed as Accept-Encoding allows, except secrets', async () => {
  const broker = await web.as('broker');
  const read = (path: string, accepted: string) =>
    fetch(`${web.service.origin}/api/web${path}`, { headers: { ...broker.headers, 'Accept-Encoding': accepted } });
  const path = `/deals/${web.scene.deal}`;
  const plain = await read(path, 'identity');
  expect([plain.headers.get('content-encoding'), plain.headers.get('vary')]).toEqual([null, 'Accept-Encoding']);
  const whole = await plain.text();
  for (const encoding of ['br', 'gzip']) {
    const packed = await read(path, encoding);
    expect(['content-encoding', 'vary', 'cache-control'].map((name) => packed.headers.get(name))).toEqual([
      encoding,
      'Accept-Encoding',
      'no-store',
    ]);
    expect(await packed.text()).toBe(whole);
  }
  // The token for changes and the key of drafts; an answer of a few bytes.
  expect((await broker.ask('/me', { name: '名'.repeat(200) }, 'PATCH')).status).toBe(200);
  const [me, unread] = await Promise.all(['/me', '/notifications/unread'].map((other) => read(other, 'br, gzip')));
  expect((await me!.bytes()).length).toBeGreaterThan(1_024);
  expect([me, unread].map((answer) => answer!.headers.get('content-encoding'))).toEqual([null, null]);
});

test('requests with an ended session are answered with 401 signed_out, for reads and changes', async () => {
  const buyer = await signInAs(web.service, web.scene.people['other buyer']!);
  await web.service.sql('delete from vault.sessions where user_id = $1', [web.scene.people['other buyer']]);
  const { deal, participants } = web.scene;
  const until = new Date(Date.now() + 86_400_000).toISOString();
  for (const [path, body, method] of [
    [`/deals/${deal}`, undefined, 'GET'],
    [`/deals/${deal}/offers`, { payload: { currency: 'USD', purchase_price: '1' } }, 'POST'],
    [`/deals/${deal}/exclusivity`, { participant_id: participants['other buyer'], expires_at: until }, 'POST'],
    [`/deals`, { organization_id: web.scene.brokerage, title: 'X', currency: 'USD' }, 'POST'],
  ] as const) {
    const { status, body: answer } = await buyer.ask(path, body, method);
    expect([path, status, answer.error.code]).toEqual([path, 401, 'signed_out']);
  }
});

test('records that the caller may not see get exactly the response of missing ones, and nothing is recorded', async () => {
  const { deal, participants, records } = web.scene;
  const until = new Date(Date.now() + 86_400_000).toISOString();
  const nda = { participant_id: participants['other buyer'], terms: 'X', expires_at: null };
  const ofDeal: [path: (id: string) => string, method: string, body?: unknown][] = [
    [(id) => `/deals/${id}`, 'GET'],
    [(id) => `/deals/${id}`, 'PATCH', { title: 'X' }],
    [(id) => `/deals/${id}/moves`, 'POST', { to: 'closing' }],
    [(id) => `/deals/${id}/moves`, 'POST', { to: 'closed', confirm: false }],
    [(id) => `/deals/${id}/closing-warnings`, 'GET'],
    [(id) => `/deals/${id}/exclusivity`, 'POST', { participant_id: participants['other buyer'], expires_at: until }],
    [(id) => `/deals/${id}/exclusivity`, 'PATCH', { expires_at: until }],
    [(id) => `/deals/${id}/exclusivity`, 'DELETE'],
    [(id) => `/deals/${id}/participants`, 'POST', { email: 'x@example.test', name: 'X', role: 'buyer', advises: null }],
    [(id) => `/deals/${id}/participants/${participants['other buyer']}/invitation`, 'POST', {}],
    [(id) => `/deals/${id}/participants/${participants['other buyer']}`, 'DELETE'],
    [(id) => `/deals/${id}/ndas`, 'GET'],
    [(id) => `/deals/${id}/ndas/template`, 'GET'],
    [(id) => `/deals/${id}/ndas`, 'POST', nda],
    [(id) => `/deals/${id}/offers`, 'GET'],
    [(id) => `/deals/${id}/offers/${web.scene.people['other buyer']}/revisions`, 'GET'],
    [(id) => `/deals/${id}/offers`, 'POST', { payload: { currency: 'USD', purchase_price: '1' } }],
    [(id) => `/deals/${id}/conditions`, 'GET'],
    [(id) => `/deals/${id}/conditions`, 'POST', { name: 'X' }],
    [(id) => `/deals/${id}/activity`, 'GET'],
    [(id) => `/deals/${id}/tools`, 'GET'],
    [(id) => `/deals/${id}/tools/opt-in`, 'PUT', { expires_at: null }],
    [(id) => `/deals/${id}/tools/opt-in`, 'DELETE'],
    [(id) => `/deals/${id}/tools/shut-off`, 'PUT'],
    [(id) => `/deals/${id}/tools/shut-off`, 'DELETE'],
  ];
  const ofRecord: [record: string, path: (id: string) => string, method: string, body?: unknown][] = [
    [records["ndas/the exclusive buyer's"]!, (id) => `/ndas/${id}/sign`, 'POST', { signed_name: 'Xi' }],
    [records["ndas/the exclusive buyer's"]!, (id) => `/ndas/${id}/revoke`, 'POST', {}],
    [records["offers/the exclusive buyer's"]!, (id) => `/offers/${id}/accept`, 'POST', { expires_at: until }],
    [records["offers/the exclusive buyer's"]!, (id) => `/offers/${id}/decision`, 'POST', { decision: 'declined' }],
    [
      records["closing_conditions/the exclusive buyer's to meet"]!,
      (id) => `/conditions/${id}`,
      'PATCH',
      { status: 'satisfied' },
    ],
    [records["closing_conditions/the exclusive buyer's to meet"]!, (id) => `/conditions/${id}`, 'DELETE'],
    [participants['invited']!, (id) => `/invitations/${id}/accept`, 'POST', {}],
    [participants['invited']!, (id) => `/invitations/${id}/decline`, 'POST', {}],
  ];
  const outsider = await web.as('outsider');
  const counted = async () =>
    web.service.sql(`select (select count(*) from audit_records) as records, (select count(*) from users) as users`);
  const before = await counted();
  const all = [...ofDeal.map(([path, method, body]) => [deal, path, method, body] as const), ...ofRecord];
  for (const [id, path, method, body] of all) {
    const there = await outsider.ask(path(id), body, method);
    const nowhere = await outsider.ask(path(randomUUID()), body, method);
    expect([path(id), method, there]).toEqual([path(id), method, nowhere]);
    expect(there).toEqual({
      status: 404,
      body: { error: { code: 'not_found', message: 'It does not exist, or you do not have access to it.' } },
    });
  }
  expect(await counted()).toEqual(before);
});
