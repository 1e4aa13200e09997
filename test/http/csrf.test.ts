/**
 * No change is made merely because a browser holds a session: every route that changes something, through every
 * interface.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { csrfToken } from '../../server/http/csrf.ts';
import { mintToken } from '../../server/domain/accounts/secret-tokens.ts';
import { openAccount, signedInVisitor, Visitor, type Account } from '../auth/scene.ts';
import {
  asksForNoSession,
  askPlainly,
  beforeSession,
  changing,
  openWalk,
  stopAsking,
  withoutSession,
  type Route,
  type Walk,
} from './routes.ts';

let walk: Walk;
let cookie: string;
let token: string;

beforeAll(async () => {
  walk = await openWalk();
  const headers = await walk.signedIn();
  cookie = headers['cookie'] ?? '';
  token = headers['x-csrf-token'] ?? '';
});
afterAll(async () => {
  stopAsking();
  await walk?.close();
});

const isForm = (path: string) => path === '/api/mcp/authorize';

const attempt = (method: string, path: string, headers: Record<string, string>) =>
  askPlainly(walk.service.origin + path, method, {
    headers: { 'content-type': isForm(path) ? 'application/x-www-form-urlencoded' : 'application/json', ...headers },
    body: isForm(path) ? 'x=1' : '{}',
  });

/** The consent page takes the token from its form only. */
const formOnly = new Set(['/api/mcp/authorize']);
const changes = (): Route[] => walk.routes.filter(({ method }) => changing.includes(method));
const bySession = () => changes().filter(({ pattern }) => !asksForNoSession(pattern) && !(pattern in beforeSession));
const untouched = () =>
  walk.service.sql(`select (select count(*) from audit_records) as records, (select count(*) from users) as users,
    (select count(*) from deals) as deals, (select count(*) from vault.sessions where ended_at is null) as sessions`);

test('every exception from the CSRF token is an existing route, and more than 80 routes need the token', () => {
  const known = new Set(walk.routes.map(({ pattern }) => pattern));
  expect([...Object.keys(withoutSession), ...Object.keys(beforeSession)].filter((path) => !known.has(path))).toEqual(
    [],
  );
  expect(bySession().length).toBeGreaterThan(80);
});

test('125. every session route rejects a change without the CSRF token of the session', async () => {
  const before = await untouched();
  const another = csrfToken(mintToken());
  for (const { method, path } of bySession()) {
    const answers = [
      await attempt(method, path, { cookie }),
      await attempt(method, path, { cookie, 'x-csrf-token': '' }),
      await attempt(method, path, { cookie, 'x-csrf-token': 'AAAA' }),
      await attempt(method, path, { cookie, 'x-csrf-token': another }),
      await attempt(method, path, {
        cookie,
        'x-csrf-token': another,
        origin: walk.service.origin,
        'sec-fetch-site': 'same-origin',
      }),
      await attempt(method, path, { cookie, origin: walk.service.origin, 'sec-fetch-site': 'same-origin' }),
    ];
    const refused = answers.map(() => 403);
    expect([method, path, ...answers.map(({ status }) => status)]).toEqual([method, path, ...refused]);
  }
  expect(await untouched()).toEqual(before);
});

test('125. every route rejects a cross-site change, even with the right CSRF token', async () => {
  const before = await untouched();
  for (const { method, path } of [...bySession(), ...changes().filter(({ pattern }) => pattern in beforeSession)]) {
    const right = { cookie, 'x-csrf-token': token };
    const answers = [
      await attempt(method, path, { ...right, origin: 'https://elsewhere.example' }),
      await attempt(method, path, { ...right, origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' }),
      await attempt(method, path, { ...right, 'sec-fetch-site': 'cross-site' }),
      await attempt(method, path, { ...right, 'sec-fetch-site': 'same-site' }),
      await attempt(method, path, { ...right, origin: 'null' }),
      await attempt(method, path, { ...right, origin: `${walk.service.origin}.elsewhere.example` }),
    ];
    expect([method, path, ...answers.map(({ status }) => status)]).toEqual([
      method,
      path,
      403,
      403,
      403,
      403,
      403,
      403,
    ]);
  }
  expect(await untouched()).toEqual(before);
});

test('125. every session route rejects a CSRF token without a session', async () => {
  const before = await untouched();
  for (const { method, path, pattern } of bySession()) {
    const { status, headers } = await attempt(method, path, { 'x-csrf-token': token });
    // A person who decides on a client while signed out is redirected to sign in, and asked again.
    const toSignIn = formOnly.has(pattern) && (headers.get('location') ?? '').startsWith('/sign-in?');
    expect([method, path, toSignIn ? 403 : status]).toEqual([method, path, 403]);
  }
  expect(await untouched()).toEqual(before);
});

test('routes that need another credential reject a session with its CSRF token', async () => {
  const before = await untouched();
  const own = { cookie, 'x-csrf-token': token, origin: walk.service.origin };
  for (const path of Object.keys(withoutSession)) {
    for (const method of changing) {
      const { status } = await attempt(method, path, own);
      expect([method, path, [400, 401, 404, 405, 415].includes(status)]).toEqual([method, path, true]);
    }
  }
  expect(await untouched()).toEqual(before);
});

test('methods that a route does not support are rejected and change nothing', async () => {
  const before = await untouched();
  const known = new Set(changes().map(({ method, path }) => `${method} ${path}`));
  for (const path of new Set(walk.routes.map((route) => route.path))) {
    const others = changing.filter((one) => !known.has(`${one} ${path}`));
    // Sent concurrently, because one after the other they exceed the timeout of a test on a busy machine.
    await Promise.all(
      others.map(async (method) => {
        const { status } = await attempt(method, path, { cookie, 'x-csrf-token': token, origin: walk.service.origin });
        expect([method, path, status >= 400 && status < 500]).toEqual([method, path, true]);
      }),
    );
  }
  expect(await untouched()).toEqual(before);
});

describe('the CSRF token of a session', () => {
  let ann: Account;
  let visitor: Visitor;
  beforeAll(async () => {
    ann = await openAccount(walk.service);
    visitor = await signedInVisitor(walk.service, ann);
  });
  const own = () => csrfToken(visitor.cookies.get('dealkeep') ?? '');

  test('is accepted in a header only, from the application and from programs', async () => {
    const input = { csrf: own(), name: ann.name };
    const header = { 'x-csrf-token': own() };
    expect((await visitor.json('/api/auth/profile', input, header)).status).toBe(200);
    const browser = { ...header, origin: walk.service.origin, 'sec-fetch-site': 'same-origin' };
    expect((await visitor.json('/api/auth/profile', input, browser)).status).toBe(200);
    // A field does not replace the header: otherwise a form or JSON of another site would need no preflight.
    expect((await visitor.json('/api/auth/profile', input)).status).toBe(403);
    const form = { method: 'POST', body: new URLSearchParams(input) };
    expect((await visitor.send('/api/auth/profile', form)).status).toBe(403);
    expect((await visitor.send('/api/web/me', { ...form, method: 'PATCH' })).status).toBe(403);
  });

  test('changes when the session is renewed', async () => {
    const before = own();
    await visitor.signIn(ann);
    expect(own()).not.toBe(before);
    expect((await visitor.json('/api/auth/profile', { name: ann.name }, { 'x-csrf-token': before })).status).toBe(403);
  });
});
