import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { redirectUriFault, clientPresets } from '../../server/domain/clients/redirect-uris.ts';
import { csrfToken } from '../../server/http/csrf.ts';
import { openService, type TestService } from '../harness.ts';
import { scopesOf } from './bearer.ts';
import { addBrokerage, addClient, addPerson, connect, markupOf, refresh, visit, type Person } from './scene.ts';

let service: TestService;
let ada: Person;
let bert: Person;
let brokerage: string;

beforeAll(async () => {
  service = await openService();
  brokerage = await addBrokerage(service, 'Harbor');
  ada = await addPerson(service, 'Ada', { brokerage, role: 'admin' });
  bert = await addPerson(service, 'Bert', { brokerage, role: 'staff' });
});
afterAll(() => service?.close());
beforeEach(async () => {
  service.clock.advance(60_000);
  // Sharing a client needs a recent sign-in.
  await service.sql('update vault.sessions set authenticated_at = app.now()');
});

const open = (path: string, person: Person | null = ada) => visit(service.origin + path, person);

function submit(
  path: string,
  fields: Record<string, string>,
  person = ada,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(service.origin + path, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: person.cookie, origin: service.origin, accept: 'text/html', ...headers },
    body: new URLSearchParams({ csrf: csrfToken(person.session), ...fields }),
  });
}

const idOf = (response: Response): string =>
  /clients\/([0-9a-f-]{36})/.exec(response.headers.get('location') ?? '')?.[1] ?? '';

async function register(name: string, redirectUris: string, person = ada): Promise<string> {
  const response = await submit('/settings/clients', { name, redirect_uris: redirectUris }, person);
  expect(response.status).toBe(303);
  return idOf(response);
}

describe('clients', () => {
  test('109. lists name, scopes, created and last used; disconnecting ends the tokens at once', async () => {
    const clientId = await register('My assistant', 'https://client.example/callback');
    const grant = await connect(service, ada, clientId, ['mcp:read']);
    expect(await markupOf(open('/settings/clients'))).toMatch(
      new RegExp(`My assistant.*mcp:read.*\\d{4}-\\d\\d-\\d\\d.*never`),
    );
    await scopesOf(service, grant.access);
    expect(await markupOf(open(`/settings/clients/${clientId}`))).toMatch(
      /Last used<\/dt> <dd>\d{4}-\d\d-\d\d \d\d:\d\d UTC/,
    );
    expect((await submit(`/settings/clients/${clientId}/disconnect`, {})).status).toBe(303);
    expect(await scopesOf(service, grant.access)).toBeNull();
    expect((await refresh(service, clientId, grant.refresh)).body.error).toBe('invalid_grant');
    expect(await markupOf(open(`/settings/clients/${clientId}`))).toContain('not connected');
  });

  test('the last use is written once a minute at most, and never waited for', async () => {
    const grant = await connect(service, ada, await register('Watched', 'https://client.example/callback'));
    const lastUse = async () =>
      (
        await service.sql<{ at: Date }>('select last_used_at as at from vault.token_families where client_id = $1', [
          grant.clientId,
        ])
      )[0]?.at;
    await scopesOf(service, grant.access);
    const first = await lastUse();
    service.clock.advance(30_000);
    await scopesOf(service, grant.access);
    expect(await lastUse()).toEqual(first);
    service.clock.advance(31_000);
    await scopesOf(service, grant.access);
    expect(await lastUse()).not.toEqual(first);
  });

  test('109. signed out: to sign in first', async () => {
    expect((await open('/settings/clients', null)).headers.get('location')).toMatch(/^\/sign-in\?return_to=/);
  });

  test('112. no secret is issued: the page of a new client shows its client_id', async () => {
    const clientId = await register('Plain', 'https://client.example/callback');
    const markup = await markupOf(open(`/settings/clients/${clientId}?done=created`));
    expect(markup).toContain(`<code>${clientId}</code>`);
    expect(markup).not.toMatch(/secret/i);
  });

  const bad = [
    'http://client.example/callback',
    'custom://callback',
    'javascript:alert(1)',
    'https://client.example/callback#fragment',
    'https://user@client.example/callback',
    'https://user:password@client.example/',
    'https://*.example/callback',
    'https://client.example/../callback',
    'https://client.example/%2e%2e/callback',
    'https://client.example\\callback',
    'https://client.example./callback',
    'https://cliént.example/callback',
    'https://client.example:443/callback',
    'HTTPS://client.example/callback',
    'https://client.example/call\tback',
    'http://localhost.evil.example/callback',
    'http://127.0.0.2/callback',
    'http://2130706433/callback',
    'https://client.example/callback?code=1',
    'https://client.example/callback?a=1&state=2',
    'callback',
    '//client.example/callback',
    `https://client.example/${'x'.repeat(1000)}`,
  ];
  test.each(bad)('112. refuses the redirect URI %s', async (uri) => {
    expect(redirectUriFault(uri)).not.toBeNull();
    const before = await service.sql('select id from connected_clients');
    const response = await submit('/settings/clients', { name: 'Bad', redirect_uris: uri });
    expect(response.status).toBe(400);
    expect(await service.sql('select id from connected_clients')).toEqual(before);
  });

  test('112. so does the database, whoever asks it', async () => {
    const unfit = bad.filter((uri) => !/[?&](code|state)=|443|%2e|2130706433|127\.0\.0\.2/.test(uri));
    for (const uri of unfit) {
      const [answer] = await service.sql<{ allowed: boolean }>('select app.redirect_uri_allowed($1) as allowed', [uri]);
      expect([uri, answer?.allowed]).toEqual([uri, false]);
    }
  });

  test('112. takes https and loopback URIs, those of the presets among them, and fills them in', async () => {
    for (const uri of [
      'https://client.example',
      'https://client.example:8443/a?b=c',
      'http://[::1]:9/x',
      ...clientPresets.flatMap(({ redirectUris }) => redirectUris),
    ]) {
      expect([uri, redirectUriFault(uri)]).toEqual([uri, null]);
    }
    const clientId = await register(
      'Everything',
      clientPresets.flatMap(({ redirectUris }) => redirectUris).join('\r\n'),
    );
    const markup = await markupOf(open(`/settings/clients/${clientId}`));
    expect(markup).toContain('https://claude.ai/api/mcp/auth_callback');
    expect(await markupOf(open('/settings/clients?preset=cursor'))).toContain('http://localhost:8787/callback');
  });

  test('the presets are the URIs that these clients really send', async () => {
    expect(Object.fromEntries(clientPresets.map(({ id, redirectUris }) => [id, redirectUris]))).toEqual({
      claude: ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
      vscode: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'],
      cursor: ['http://localhost:8787/callback', 'https://www.cursor.com/agents/mcp/oauth/callback'],
      inspector: ['http://127.0.0.1:6276/oauth/callback'],
      desktop: ['http://localhost/callback'],
    });
  });

  test('112. a name is needed, visible and not too long', async () => {
    for (const name of ['', '   ', 'x'.repeat(101), 'a\u202eb', 'a\nb']) {
      expect((await submit('/settings/clients', { name, redirect_uris: 'https://client.example/cb' })).status).toBe(
        400,
      );
    }
  });

  test('the redirect URIs can be changed later', async () => {
    const clientId = await register('Changing', 'https://client.example/old');
    const changed = await submit(`/settings/clients/${clientId}`, {
      name: 'Changed',
      redirect_uris: 'https://client.example/new',
    });
    expect(changed.status).toBe(303);
    expect(await service.sql('select name, redirect_uris from connected_clients where id = $1', [clientId])).toEqual([
      { name: 'Changed', redirect_uris: ['https://client.example/new'] },
    ]);
    expect((await submit(`/settings/clients/${clientId}`, { name: 'Changed', redirect_uris: 'ftp://x' })).status).toBe(
      400,
    );
  });

  test("112. B cannot see, change, switch off, share or delete A's client", async () => {
    const clientId = await register('Of Ada', 'https://client.example/callback');
    expect(await markupOf(open('/settings/clients', bert))).not.toContain('Of Ada');
    expect((await open(`/settings/clients/${clientId}`, bert)).status).toBe(404);
    expect((await open(`/settings/clients/${clientId}/tools`, bert)).status).toBe(404);
    const fields = { name: 'Of Bert', redirect_uris: 'https://evil.example/' };
    for (const path of ['', '/disable', '/delete', '/unshare', '/disconnect', '/share']) {
      const response = await submit(`/settings/clients/${clientId}${path}`, { ...fields, brokerage }, bert);
      expect([path, response.status]).toEqual([path, 404]);
    }
    expect(
      await service.sql('select name, disabled, deleted_at, brokerage_id from connected_clients where id = $1', [
        clientId,
      ]),
    ).toEqual([{ name: 'Of Ada', disabled: false, deleted_at: null, brokerage_id: null }]);
  });

  test('an admin shares a client; members use it, and the admins alone manage it', async () => {
    const clientId = await register('For all', 'https://client.example/callback');
    expect((await submit(`/settings/clients/${clientId}/share`, { brokerage })).status).toBe(303);
    expect(await markupOf(open('/settings/clients', bert))).toContain('For all');
    const grant = await connect(service, bert, clientId);
    for (const path of ['/disable', '/delete', '/unshare']) {
      expect((await submit(`/settings/clients/${clientId}${path}`, {}, bert)).status).toBe(404);
    }
    await service.sql(
      `insert into members (brokerage_id, user_id, role) select $1, id, 'admin' from users where id = $2`,
      [brokerage, (await addPerson(service, 'Second admin')).id],
    );
    await service.sql(`update members set role = 'staff' where user_id = $1`, [ada.id]);
    expect(
      (await submit(`/settings/clients/${clientId}`, { name: 'Mine', redirect_uris: 'https://evil.example/' })).status,
    ).toBe(404);
    await service.sql(`update members set role = 'admin' where user_id = $1`, [ada.id]);
    expect((await submit(`/settings/clients/${clientId}/unshare`, {})).status).toBe(303);
    expect(await scopesOf(service, grant.access)).toBeNull();
  });

  test('nobody shares with a brokerage of which they are no admin', async () => {
    const clientId = await register('Of Bert', 'https://client.example/callback', bert);
    const response = await submit(`/settings/clients/${clientId}/share`, { brokerage }, bert);
    expect(response.status).toBe(403);
    expect(await service.sql('select brokerage_id from connected_clients where id = $1', [clientId])).toEqual([
      { brokerage_id: null },
    ]);
  });

  test('forms without the CSRF token or from another site change nothing', async () => {
    const fields = { name: 'Forged', redirect_uris: 'https://evil.example/' };
    expect((await submit('/settings/clients', { ...fields, csrf: 'x' })).status).toBe(403);
    expect((await submit('/settings/clients', fields, ada, { origin: 'https://evil.example' })).status).toBe(403);
    expect(await service.sql(`select from connected_clients where name = 'Forged'`)).toEqual([]);
  });

  test('50 clients are the most', async () => {
    const cleo = await addPerson(service, 'Cleo');
    for (let made = 0; made < 50; made += 1) await addClient(service, cleo);
    const response = await submit(
      '/settings/clients',
      { name: 'One more', redirect_uris: 'https://client.example/' },
      cleo,
    );
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('50 clients')]);
  });
});
