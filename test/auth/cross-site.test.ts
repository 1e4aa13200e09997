import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../server/app.ts';
import { csrfToken } from '../../server/http/csrf.ts';
import { openHouse, type TestHouse } from '../harness.ts';
import { openAccount, signedInVisitor, Visitor, type Account } from './scene.ts';

let house: TestHouse;
let ann: Account;
let visitor: Visitor;

beforeAll(async () => {
  house = await openHouse();
  ann = await openAccount(house);
  visitor = await signedInVisitor(house, ann);
});
afterAll(() => house.close());

/** Before there is a session there is nothing to bind a token to: these are guarded by where they come from. */
const beforeASession = new Set([
  '/sign-in',
  '/sign-in/code',
  '/reset',
  '/reset/new',
  '/set-up',
  '/accept-invitation/new',
  '/api/auth/sign-in',
  '/api/auth/second-factor',
  '/api/auth/reset',
  '/api/auth/reset/confirm',
  '/api/auth/set-up',
  '/api/auth/invitation/accept',
  '/api/auth/passkey/options',
  '/api/auth/passkey/sign-in',
]);

/** Every route of the house that changes something and goes by the session cookie. */
function changes(): { method: string; path: string }[] {
  const found = createApp(house.house).routes.filter(
    ({ method, path }) =>
      !['GET', 'HEAD', 'OPTIONS', 'ALL'].includes(method) && !/^\/(api\/v1|api\/mcp|mcp)/.test(path),
  );
  const unique = new Map(
    found.map(({ method, path }) => [
      `${method} ${path}`,
      { method, path: path.replace(/:[a-z_]+(\{[^}]*\})?/gi, '00000000-0000-7000-8000-000000000000') },
    ]),
  );
  return [...unique.values()];
}

async function attempt(
  { method, path }: { method: string; path: string },
  headers: Record<string, string>,
): Promise<number> {
  const response = await visitor.send(path, {
    method,
    body: path.startsWith('/api/') ? '{}' : 'x=1',
    headers: {
      'content-type': path.startsWith('/api/') ? 'application/json' : 'application/x-www-form-urlencoded',
      ...headers,
    },
  });
  await response.text();
  return response.status;
}

const token = () => csrfToken(visitor.cookies.get('dealkeep') ?? '');

describe('a change that another site asks for', () => {
  it('is refused by every route, even with the right token', async () => {
    const routes = changes();
    expect(routes.length).toBeGreaterThan(40);
    for (const route of routes) {
      const statuses = [
        await attempt(route, {
          'x-csrf-token': token(),
          origin: 'https://evil.example',
          'sec-fetch-site': 'cross-site',
        }),
        await attempt(route, { 'x-csrf-token': token(), origin: 'https://evil.example' }),
        await attempt(route, { 'x-csrf-token': token(), 'sec-fetch-site': 'same-site' }),
        await attempt(route, { 'x-csrf-token': token(), origin: 'null' }),
      ];
      expect([route.method, route.path, ...statuses]).toEqual([route.method, route.path, 403, 403, 403, 403]);
    }
    expect(await visitor.session()).not.toBeNull();
  });

  it('is refused without the token of the session, by every route that goes by one', async () => {
    const other = csrfToken('B'.repeat(43));
    for (const route of changes().filter(({ path }) => !beforeASession.has(path))) {
      const statuses = [
        await attempt(route, {}),
        await attempt(route, { 'x-csrf-token': '' }),
        await attempt(route, { 'x-csrf-token': other }),
        await attempt(route, { 'x-csrf-token': other, origin: house.origin, 'sec-fetch-site': 'same-origin' }),
      ];
      expect([route.method, route.path, ...statuses]).toEqual([route.method, route.path, 403, 403, 403, 403]);
    }
    expect(await visitor.session()).not.toBeNull();
  });

  it('gets no session without a cookie', async () => {
    const stranger = new Visitor(house.origin);
    const answer = await stranger.json('/api/auth/sign-out-everywhere', {}, { 'x-csrf-token': token() });
    expect(answer.status).toBe(403);
  });
});

describe('the token of a session', () => {
  it('is taken from a header or a field, of our own pages and of programs', async () => {
    const fields = { csrf: token(), name: ann.name };
    expect((await visitor.form('/settings/security/name', fields)).status).toBe(303);
    // A page with no-referrer sends its forms with Origin: null.
    expect((await visitor.form('/settings/security/name', fields, { origin: 'null' })).status).toBe(303);
    expect((await visitor.json('/api/auth/profile', { name: ann.name }, { 'x-csrf-token': token() })).status).toBe(200);
    // A field is no header: JSON of another site would need no preflight otherwise.
    expect((await visitor.json('/api/auth/profile', fields)).status).toBe(403);
  });

  it('is another one after the session was renewed', async () => {
    const before = token();
    await visitor.signIn(ann);
    expect(token()).not.toBe(before);
    expect((await visitor.json('/api/auth/profile', { name: ann.name }, { 'x-csrf-token': before })).status).toBe(403);
  });

  it('is explained on a page to a person, and not redirected', async () => {
    const answer = await visitor.form('/settings/security/name', { name: 'Mallory', csrf: 'x' });
    expect(answer.status).toBe(403);
    expect(answer.headers.get('location')).toBeNull();
    expect(await answer.text()).toContain('Reload the page');
  });
});

it('has no page that another site may frame, and none that loads anything from elsewhere', async () => {
  const pages = [
    '/sign-in',
    '/sign-in/code',
    '/reset',
    '/reset/sent',
    '/reset/new?token=x',
    '/set-up?token=x',
    '/accept-invitation?token=x',
    '/sign-out',
    '/re-authenticate',
    '/settings/security',
    '/settings/people',
    '/confirm-address?token=x',
  ];
  for (const path of pages) {
    const { headers } = await visitor.get(path);
    if (headers.get('location')) continue;
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("form-action 'self'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cache-control')).toBe('no-store');
  }
});
