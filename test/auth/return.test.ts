import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { safeReturnPath } from '../../server/http/return-path.ts';
import { openService, type TestService } from '../harness.ts';
import { hiddenField, openAccount, Visitor, type Account } from './scene.ts';

let service: TestService;
let ann: Account;

beforeAll(async () => {
  service = await openService();
  ann = await openAccount(service);
});
afterAll(() => service.close());

const elsewhere = [
  '//evil.example',
  '///evil.example',
  '/\\evil.example',
  '\\\\evil.example',
  '/\\/evil.example',
  'https:evil.example',
  'https://evil.example/',
  'HTTPS:/evil.example',
  'javascript:alert(1)',
  'data:text/html,x',
  '%2f%2fevil.example',
  '/\t/evil.example',
  '/\n/evil.example',
  '\t//evil.example',
  ' //evil.example',
  '/..//evil.example',
  '/.//evil.example',
  '/a/../..//evil.example',
  '/%2e%2e//evil.example',
  'evil.example',
  '@evil.example',
  '?return_to=//evil.example',
  '',
  '/\u0000',
  '/ evil',
  '/\u2028/evil.example',
];

describe('after signing in', () => {
  it.each(elsewhere)('%j does not lead away', async (returnTo) => {
    expect(safeReturnPath(returnTo)).toBe('/');
    const visitor = new Visitor(service.origin);
    const page = await visitor.get(`/sign-in?${new URLSearchParams({ return_to: returnTo })}`);
    expect(hiddenField(await page.text(), 'return_to')).toBe('/');
    const answer = await visitor.form('/sign-in', { email: ann.email, password: ann.password, return_to: returnTo });
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toBe('/');
    // Signed in already, the page sends on at once.
    const again = await visitor.get(`/sign-in?${new URLSearchParams({ return_to: returnTo })}`);
    expect(new URL(again.headers.get('location') ?? '', service.origin).origin).toBe(service.origin);
  });

  it.each([
    '/',
    '/deals?state=listed&q=a+b%20c#top',
    '/%2f%2fevil.example',
    '/%5c%5cevil.example',
    `/api/mcp/authorize?state=${encodeURIComponent('+&=% /ü😀'.repeat(60))}&redirect_uri=https%3A%2F%2Fclient.example%2Fcb%3Fx%3D1`,
  ])('%j is reached as it is', async (returnTo) => {
    const visitor = new Visitor(service.origin);
    const page = await visitor.get(`/sign-in?${new URLSearchParams({ return_to: returnTo })}`);
    const kept = hiddenField(await page.text(), 'return_to').replaceAll('&amp;', '&');
    expect(kept).toBe(returnTo);
    const answer = await visitor.form('/sign-in', { email: ann.email, password: ann.password, return_to: kept });
    expect(answer.headers.get('location')).toBe(returnTo);
  });
});

describe('an authorization request of somebody who is signed out', () => {
  const callback = 'https://client.example/callback';
  let clientId: string;

  beforeAll(async () => {
    const [client] = await service.sql<{ id: string }>(
      `insert into connected_clients (created_by, name, redirect_uris) values ($1, 'Assistant', $2) returning id`,
      [ann.id, [callback]],
    );
    clientId = client?.id ?? '';
  });

  const request = (changes: Record<string, string> = {}) =>
    `/api/mcp/authorize?${new URLSearchParams({
      client_id: clientId,
      redirect_uri: callback,
      response_type: 'code',
      code_challenge: 'c'.repeat(43),
      code_challenge_method: 'S256',
      scope: 'mcp:read mcp:write',
      state: '+&=% ü😀/ä',
      ...changes,
    })}`;

  it('comes back to the same request, all of it intact', async () => {
    const visitor = new Visitor(service.origin);
    const sent = await visitor.get(request());
    expect([302, 303]).toContain(sent.status);
    const signIn = sent.headers.get('location') ?? '';
    expect(signIn).toMatch(/^\/sign-in\?return_to=/);
    const page = await visitor.get(signIn);
    const returnTo = hiddenField(await page.text(), 'return_to').replaceAll('&amp;', '&');
    const answer = await visitor.form('/sign-in', { email: ann.email, password: ann.password, return_to: returnTo });
    expect(answer.headers.get('location')).toBe(request());
    expect((await visitor.get(request())).status).toBe(200);
  });

  it.each<Record<string, string>>([
    { scope: 'everything' },
    { response_type: 'token' },
    { code_challenge_method: 'plain' },
  ])('signs in before it is told of its fault: %j', async (fault) => {
    const visitor = new Visitor(service.origin);
    const sent = await visitor.get(request(fault));
    expect(sent.headers.get('location')).toMatch(/^\/sign-in\?return_to=/);
    await visitor.signIn(ann);
    const told = await visitor.get(request(fault));
    expect(told.headers.get('location')).toMatch(/^https:\/\/client\.example\/callback\?.*error=/);
  });

  it('is answered for whoever arrives from another site by a link', async () => {
    const visitor = new Visitor(service.origin, { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document' });
    visitor.cookies.set('dealkeep', (await signInToken()) ?? '');
    expect((await visitor.get(request())).status).toBe(200);
  });

  async function signInToken() {
    const visitor = new Visitor(service.origin);
    await visitor.signIn(ann);
    return visitor.cookies.get('dealkeep');
  }
});
