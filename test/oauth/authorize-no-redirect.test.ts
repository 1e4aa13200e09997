import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { csrfToken } from '../../server/http/csrf.ts';
import { openService, type TestService } from '../harness.ts';
import {
  addBrokerage,
  addClient,
  addPerson,
  authorizeUrl,
  callback,
  decide,
  decodeEntities,
  hiddenFields,
  markupOf,
  visit,
  type Parameters,
  type Person,
} from './scene.ts';

let service: TestService;
let ada: Person;
let bert: Person;
let clientId: string;

beforeAll(async () => {
  service = await openService();
  ada = await addPerson(service, 'Ada');
  bert = await addPerson(service, 'Bert');
  clientId = await addClient(service, ada, {
    redirectUris: [callback, 'https://client.example/with?own=1', 'http://127.0.0.1:7777/cb'],
  });
});
afterAll(() => service?.close());
beforeEach(() => service.clock.advance(60_000));

/** Expects a page with an error, no redirect and no code, for a signed-in and for a signed-out visitor. */
async function refused(parameters: Parameters, extra = ''): Promise<string> {
  const url = authorizeUrl(service, { client_id: clientId, ...parameters }, extra);
  let markup = '';
  for (const person of [ada, null]) {
    const response = await visit(url, person);
    expect([response.status, response.headers.get('location')]).toEqual([400, null]);
    expect(response.headers.get('content-type')).toMatch(/^text\/html/);
    markup = await response.text();
  }
  const codes = await service.sql('select from vault.authorization_codes');
  expect(codes).toHaveLength(0);
  return markup;
}

test('the valid request that the other tests vary shows the consent page', async () => {
  expect((await visit(authorizeUrl(service, { client_id: clientId }), ada)).status).toBe(200);
});

test('8. a missing or empty client_id gets an error page, not a redirect', async () => {
  expect(await refused({ client_id: undefined })).toContain('client_id is missing.');
  expect(await refused({ client_id: '' })).toContain('client_id is missing.');
});

test('9. an unknown or malformed client_id gets an error page, not a redirect', async () => {
  await refused({ client_id: '01900000-0000-7000-8000-000000000000' });
  await refused({ client_id: "x' or 1=1 --" });
  await refused({ client_id: '\0' });
  await refused({ client_id: clientId.toUpperCase() });
});

test("9. another person's client gets the same page as an unknown one, whatever the redirect_uri", async () => {
  const bob = await addPerson(service, 'Bob');
  for (const redirect_uri of [callback, 'https://evil.example/']) {
    const pages = await Promise.all(
      [clientId, '01900000-0000-7000-8000-000000000000'].map((client_id) =>
        visit(authorizeUrl(service, { client_id, redirect_uri }), bob),
      ),
    );
    expect(pages.map(({ status }) => status)).toEqual([400, 400]);
    // Only the link with which to sign in as somebody else has the request itself.
    const texts = await Promise.all(pages.map((page) => page.text()));
    const [theirs, nobodys] = texts.map((text) => text.replaceAll(/client_id%3D[\w-]+/g, ''));
    expect(theirs).toBe(nobodys);
  }
});

test("9. the page about another person's client says who is signed in, and leads to signing in as somebody else", async () => {
  const bob = await addPerson(service, 'Bob');
  const url = authorizeUrl(service, { client_id: clientId });
  const markup = decodeEntities(await markupOf(visit(url, bob)));
  expect(markup).toContain('You are signed in as <strong>Bob</strong>.');
  const [, link = ''] = /<a href="([^"]*)">Sign in as somebody else/.exec(markup) ?? [];
  const { pathname, searchParams } = new URL(link, service.origin);
  expect([pathname, service.origin + searchParams.get('return_to')]).toEqual(['/sign-out', url]);
});

test('10. a deleted or disabled client gets an error page, not a redirect', async () => {
  const gone = await addClient(service, ada);
  await service.sql('update connected_clients set deleted_at = app.now() where id = $1', [gone]);
  await refused({ client_id: gone });
  const off = await addClient(service, ada);
  await service.sql('update connected_clients set disabled = true where id = $1', [off]);
  expect(await refused({ client_id: off })).toContain('There is no client with this client_id');
});

test('10. a disabled client looks unknown to everybody who does not have it in their settings', async () => {
  const brokerage = await addBrokerage(service);
  const cleo = await addPerson(service, 'Cleo', { brokerage, role: 'admin' });
  const dora = await addPerson(service, 'Dora', { brokerage });
  const shared = await addClient(service, cleo, { brokerage });
  const shownTo = (person: Person) => visit(authorizeUrl(service, { client_id: shared }), person).then(markupOf);
  const fields = hiddenFields(await shownTo(cleo));
  await service.sql('update connected_clients set disabled = true where id = $1', [shared]);
  expect(await shownTo(cleo)).toContain('This client was turned off. Turn it on again');
  expect(await shownTo(dora)).toContain('This client was turned off. An admin of Harbor Brokers can turn it on again.');
  expect(await shownTo(ada)).toContain('There is no client with this client_id');
  const decided = await decide(service, cleo, [...Object.entries(fields), ['decision', 'deny']]);
  expect(decided.status).toBe(400);
  expect(await markupOf(decided)).toContain('This client was turned off. Turn it on again');
});

test('11. a duplicated client_id gets an error page, not a redirect', async () => {
  const other = await addClient(service, ada);
  expect(await refused({}, `&client_id=${clientId}`)).toContain('client_id was sent more than once: send it once.');
  await refused({}, `&client_id=${other}`);
});

test('12. a missing or empty redirect_uri gets an error page, not a redirect', async () => {
  expect(await refused({ redirect_uri: undefined })).toContain('redirect_uri is missing.');
  expect(await refused({ redirect_uri: '' })).toContain('redirect_uri is missing.');
});

test('13. an unregistered redirect_uri gets an error page, not a redirect', async () => {
  await refused({ redirect_uri: 'https://evil.example/callback' });
  await refused({ redirect_uri: 'javascript:alert(1)' });
  await refused({ redirect_uri: `${callback}\0` });
});

test('14. a duplicated redirect_uri gets an error page, not a redirect, even if one is registered', async () => {
  await refused({}, `&redirect_uri=${encodeURIComponent('https://evil.example/')}`);
  await refused({ redirect_uri: 'https://evil.example/' }, `&redirect_uri=${encodeURIComponent(callback)}`);
  expect(await refused({}, `&redirect_uri=${encodeURIComponent(callback)}`)).toContain(
    'redirect_uri was sent more than once: send it once.',
  );
});

test.each([
  ['trailing slash', 'https://client.example/callback/'],
  ['extra path', 'https://client.example/callback/more'],
  ['extra query', 'https://client.example/callback?next=evil'],
  ['case of the path', 'https://client.example/Callback'],
  ['case of the host', 'https://CLIENT.example/callback'],
  ['added port', 'https://client.example:8443/callback'],
  ['added default port', 'https://client.example:443/callback'],
  ['http for https', 'http://client.example/callback'],
  ['encoded dots', 'https://client.example/x/%2e%2e/callback'],
  ['dots', 'https://client.example/x/../callback'],
  ['userinfo', 'https://client.example@evil.example/callback'],
  ['subdomain', 'https://a.client.example/callback'],
  ['longer host', 'https://client.example.evil.example/callback'],
  ['fragment', 'https://client.example/callback#x'],
  ['backslash', 'https://client.example\\@evil.example/callback'],
  ['trailing dot', 'https://client.example./callback'],
  ['unicode host', 'https://cliént.example/callback'],
  ['blank', ' https://client.example/callback'],
  ['without the query it was registered with', 'https://client.example/with'],
])('15. a redirect_uri that nearly matches gets an error page, not a redirect: %s', async (_, redirectUri) => {
  await refused({ redirect_uri: redirectUri });
});

test("15. another client's redirect_uri gets an error page, not a redirect", async () => {
  await addClient(service, ada, { redirectUris: ['https://other.example/callback'] });
  await refused({ redirect_uri: 'https://other.example/callback' });
});

test('16. a loopback redirect_uri that is registered with a port matches no other port', async () => {
  expect(
    (await visit(authorizeUrl(service, { client_id: clientId, redirect_uri: 'http://127.0.0.1:7777/cb' }), ada)).status,
  ).toBe(200);
  await refused({ redirect_uri: 'http://127.0.0.1:7778/cb' });
  await refused({ redirect_uri: 'http://127.0.0.1/cb' });
});

test('17. a loopback redirect_uri that is registered without a port matches any port and nothing else', async () => {
  const desktop = await addClient(service, ada, { redirectUris: ['http://localhost/callback', 'http://[::1]/six'] });
  for (const uri of [
    'http://localhost/callback',
    'http://localhost:1/callback',
    'http://localhost:51234/callback',
    'http://[::1]:8080/six',
  ]) {
    expect([uri, (await visit(authorizeUrl(service, { client_id: desktop, redirect_uri: uri }), ada)).status]).toEqual([
      uri,
      200,
    ]);
  }
  for (const uri of [
    'http://localhost:51234/other',
    'http://127.0.0.1:51234/callback',
    'http://[::1]:8080/callback',
    'https://localhost:51234/callback',
    'http://localhost:51234/callback?x=1',
    'http://localhost:51234:2/callback',
    'http://localhost:/callback',
    'http://localhost:65536/callback',
    'http://localhost:99999/callback',
    'http://localhost:5@evil.example/callback',
    'http://localhost.evil.example:51234/callback',
  ]) {
    await refused({ client_id: desktop, redirect_uri: uri });
  }
});

describe('13. the unregistered redirect_uri of a request', () => {
  const other = 'https://client.example/elsewhere';
  const shown = (person: Person | null, changes: Parameters = {}) =>
    visit(authorizeUrl(service, { client_id: clientId, redirect_uri: other, ...changes }), person).then(markupOf);
  const hereOf = (markup: string) => hiddenFields(markup)['here'] ?? '';
  const urisOf = async (id: string) =>
    (
      await service.sql<{ redirect_uris: string[] }>('select redirect_uris from connected_clients where id = $1', [id])
    )[0]?.redirect_uris;
  const adds = (
    person: Person,
    markup: string,
    changes: Record<string, string> = {},
    headers: Record<string, string> = {},
  ) =>
    decide(
      service,
      person,
      Object.entries({ ...hiddenFields(markup), decision: 'add_redirect_uri', ...changes }),
      headers,
    );

  test("is shown to signed-out visitors and the client's manager, who can add it, and to nobody else", async () => {
    const [hers, his, nobodys] = [await shown(ada), await shown(bert), await shown(null)];
    expect(hers).toContain(`<code class="whole">${other}</code>`);
    expect(hers).toContain('Add this address and go on');
    expect(hers).toContain('<strong>client.example</strong>');
    // For Bert the client does not exist.
    expect(his).not.toContain(other);
    expect(nobodys).toContain(`<code class="whole">${other}</code>`);
    expect(nobodys).toContain('href="/sign-in?return_to=');
    expect(nobodys).not.toContain('Add this address');
    expect(nobodys).not.toContain('Assistant');
  });

  test('is added by its form alone, which leads back to the request', async () => {
    const own = await addClient(service, ada, { redirectUris: [callback] });
    const markup = await shown(ada, { client_id: own });
    const attempts = [
      await adds(ada, markup, { csrf: 'x' }),
      await adds(ada, markup, {}, { origin: 'https://evil.example' }),
      await adds(bert, markup),
      await visit(`${service.origin}${hereOf(markup)}&decision=add_redirect_uri`, ada),
    ];
    expect(attempts.map(({ status, headers }) => [status, headers.get('location')])).toEqual([
      [403, null],
      [403, null],
      [403, null],
      [400, null],
    ]);
    expect(await urisOf(own)).toEqual([callback]);
    // The error page for a form from before signing in again links back to the request.
    expect(await attempts[0]?.text()).toContain(`href="${hereOf(markup).replaceAll('&', '&amp;')}"`);

    const added = await adds(ada, markup);
    expect([added.status, added.headers.get('location')]).toEqual([303, hereOf(markup)]);
    expect(await urisOf(own)).toEqual([callback, other]);
    expect((await visit(service.origin + hereOf(markup), ada)).status).toBe(200);
    // Adding it again changes nothing.
    expect((await adds(ada, markup)).status).toBe(303);
    expect(await urisOf(own)).toEqual([callback, other]);
    expect(await service.sql('select from vault.authorization_codes')).toHaveLength(0);
  });

  test('on a loopback host is added for any port', async () => {
    const own = await addClient(service, ada, { redirectUris: [callback] });
    const markup = await shown(ada, { client_id: own, redirect_uri: 'http://127.0.0.1:50123/callback/x1' });
    expect(markup).toContain('<code class="whole">http://127.0.0.1/callback/x1</code>');
    await adds(ada, markup);
    expect(await urisOf(own)).toEqual([callback, 'http://127.0.0.1/callback/x1']);
  });

  test('cannot be added if no client may have it, or if the client has the maximum', async () => {
    for (const uri of [
      'http://evil.example/',
      'https://evil.example/#x',
      'app://back',
      'https://evil.example/?code=1',
    ]) {
      const markup = await shown(ada, { redirect_uri: uri });
      expect(markup).toContain('It cannot be added');
      const here = `/api/mcp/authorize?${new URLSearchParams({ client_id: clientId, redirect_uri: uri })}`;
      expect((await adds(ada, await shown(ada), { here })).status).toBe(400);
    }
    const full = await addClient(service, ada, {
      redirectUris: Array.from({ length: 20 }, (_, n) => `https://client.example/${n}`),
    });
    expect(await shown(ada, { client_id: full })).toContain('addresses, the maximum.');
  });

  test('of a shared client is added only by an admin with a recent sign-in', async () => {
    const brokerage = await addBrokerage(service);
    const cleo = await addPerson(service, 'Cleo', { brokerage, role: 'admin' });
    const dora = await addPerson(service, 'Dora', { brokerage });
    const shared = await addClient(service, cleo, { brokerage, redirectUris: [callback] });
    expect(await shown(dora, { client_id: shared })).toContain(
      'The person who registered the client can add the address',
    );
    const markup = await shown(cleo, { client_id: shared });
    await service.sql(`update vault.sessions set authenticated_at = app.now() - interval '1 hour'`);
    const asked = await adds(cleo, markup);
    expect([asked.status, asked.headers.get('location')]).toEqual([302, expect.stringMatching(/^\/re-authenticate\?/)]);
    expect(await urisOf(shared)).toEqual([callback]);
    await service.sql('update vault.sessions set authenticated_at = app.now()');
    expect((await adds(dora, await shown(ada), { csrf: csrfToken(dora.session), here: hereOf(markup) })).status).toBe(
      403,
    );
    expect((await adds(cleo, markup)).status).toBe(303);
    expect(await urisOf(shared)).toEqual([callback, other]);
  });

  test('is shown escaped, truncated, and with invisible characters replaced', async () => {
    const uri = `https://client.example/<script>\u202e${'x'.repeat(3_000)}`;
    const markup = await shown(ada, { redirect_uri: uri });
    expect(markup).toContain('&lt;script&gt;\ufffdxxx');
    expect(markup).not.toContain('<script>');
    expect(/<code class="whole">([^<]*)<\/code>/.exec(markup)?.[1]?.length).toBeLessThan(1_100);
  });

  test('is not added by a form that leads back to anything but an authorization request', async () => {
    const markup = await shown(ada);
    for (const here of [
      'https://evil.example/',
      '//evil.example/api/mcp/authorize?x',
      '/api/mcp/authorize/../../?x',
      '/settings',
    ]) {
      const response = await adds(ada, markup, { here });
      expect([here, response.status, response.headers.get('location')]).toEqual([here, 400, null]);
    }
  });
});

test('18. the error page escapes the parameters of the request, and cannot be framed', async () => {
  const markup = '<script>alert(1)</script>';
  const url = authorizeUrl(
    service,
    { client_id: markup, redirect_uri: markup, state: markup },
    `&${encodeURIComponent(markup)}=1`,
  );
  const response = await visit(url, ada);
  expect(response.status).toBe(400);
  expect(await response.text()).not.toContain(markup);
  expect(response.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  expect(response.headers.get('x-frame-options')).toBe('DENY');
});
