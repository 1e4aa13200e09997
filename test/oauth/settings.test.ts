import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { clientPresets, redirectUriFault, redirectUriMatches } from '../../server/domain/clients/redirect-uris.ts';
import { ways } from '../../web/src/routes/settings/assistants/instructions.ts';
import { openService, type TestService } from '../harness.ts';
import { whileChanging } from '../locks.ts';
import { signedInWith } from '../web/person.ts';
import { scopesOf } from './bearer.ts';
import { addBrokerage, addClient, addPerson, connect, refresh, type Person } from './scene.ts';

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

const ask = (path: string, body?: unknown, person = ada, method?: string) =>
  signedInWith(service, person.session).ask(path, body, method);

/** The client's entry in the person's list; undefined if it is not listed. */
const seen = async (id: string, person = ada) =>
  (await ask('/clients', undefined, person)).body.items.find((client: { id: string }) => client.id === id);

async function register(name: string, redirectUris: string | string[], person = ada): Promise<string> {
  const { status, body } = await ask('/clients', { name, redirect_uris: [redirectUris].flat() }, person);
  expect(status).toBe(201);
  return body.id;
}

describe('connected clients', () => {
  test('109. are listed with name, scopes and dates, and disconnecting revokes their tokens at once', async () => {
    const clientId = await register('My assistant', 'https://client.example/callback');
    const grant = await connect(service, ada, clientId, ['mcp:read']);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);
    const shown = { name: 'My assistant', scopes: ['mcp:read'], created_at: time, connected_at: time };
    expect(await seen(clientId)).toMatchObject({ ...shown, last_used_at: null });
    await scopesOf(service, grant.access);
    await service.noteUses();
    expect(await seen(clientId)).toMatchObject({ ...shown, last_used_at: time });
    expect((await ask(`/clients/${clientId}/disconnect`, {})).status).toBe(200);
    expect(await scopesOf(service, grant.access)).toBeNull();
    expect((await refresh(service, clientId, grant.refresh)).body.error).toBe('invalid_grant');
    expect(await seen(clientId)).toMatchObject({ scopes: [], connected_at: null });
  });

  test('have their last use recorded in the background', async () => {
    const grant = await connect(service, ada, await register('Watched', 'https://client.example/callback'));
    const lastUse = async () =>
      (
        await service.sql<{ at: Date }>('select last_used_at as at from vault.token_families where client_id = $1', [
          grant.clientId,
        ])
      )[0]?.at;
    await scopesOf(service, grant.access);
    expect(await lastUse()).toBeNull();
    await service.noteUses();
    const first = await lastUse();
    expect(first).toBeInstanceOf(Date);
    service.clock.advance(61_000);
    await scopesOf(service, grant.access);
    expect(await lastUse()).toEqual(first);
    await service.noteUses();
    expect(await lastUse()).not.toEqual(first);
  });

  test('109. are not listed without a session', async () => {
    const answer = await fetch(`${service.origin}/api/web/clients`);
    expect([answer.status, await answer.json()]).toMatchObject([401, { error: { code: 'signed_out' } }]);
  });

  test('112. get a client_id and no secret when they are created', async () => {
    const details = { name: 'Plain', redirect_uris: ['https://client.example/callback'] };
    const { status, body } = await ask('/clients', details);
    expect([status, body.client_id]).toEqual([201, body.id]);
    expect(JSON.stringify([body, await seen(body.id)])).not.toMatch(/secret/i);
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
    'https://my_app.example.com/callback',
    'https://client.example:0/callback',
    'callback',
    '//client.example/callback',
    `https://client.example/${'x'.repeat(1000)}`,
  ];
  test.each(bad)('112. cannot have the redirect URI %s', async (uri) => {
    expect(redirectUriFault(uri)).not.toBeNull();
    const before = await service.sql('select id from connected_clients');
    const { status, body } = await ask('/clients', { name: 'Bad', redirect_uris: [uri] });
    expect([status, body.error.details[0].path]).toEqual([400, 'redirect_uris']);
    expect(await service.sql('select id from connected_clients')).toEqual(before);
  });

  test('112. cannot have an invalid redirect URI in the database either', async () => {
    const unfit = bad.filter((uri) => !/[?&](code|state)=|443|%2e|2130706433|127\.0\.0\.2/.test(uri));
    for (const uri of unfit) {
      const [answer] = await service.sql<{ allowed: boolean }>('select app.redirect_uri_allowed($1) as allowed', [uri]);
      expect([uri, answer?.allowed]).toEqual([uri, false]);
    }
  });

  test('112. have an explanation for each redirect URI that the database rejects', async () => {
    const marks = [...'!$%&()*+,-./:;<=>?@[\\]^_`{|}~\'"#'];
    const hosts = ['a.example', '-a.example', 'a-.example', '-', '127.0.0.1', '[::1]', '[fe80::1]', '[::ffff:1.2.3.4]'];
    const uris = [
      ...bad,
      ...marks.flatMap((mark) => [
        `https://a${mark}b.example/cb`,
        `https://a.example/c${mark}b`,
        `http://localhost${mark}`,
      ]),
      ...[...hosts, 'localhost'].flatMap((host) => [`https://${host}/cb`, `http://${host}/cb`]),
      ...['0', '00', '1', '080', '65535', '65536', '99999', ''].flatMap((port) => [
        `https://a.example:${port}/`,
        `http://localhost:${port}/`,
      ]),
    ];
    const refused = await service.sql<{ uri: string }>(
      'select uri from unnest($1::text[]) uri where not app.redirect_uri_allowed(uri)',
      [uris],
    );
    expect(refused.length).toBeGreaterThan(bad.length);
    expect(refused.filter(({ uri }) => redirectUriFault(uri) === null)).toEqual([]);
  });

  test('112. can have https and loopback redirect URIs and those of the presets, which are offered', async () => {
    for (const uri of [
      'https://client.example',
      'https://client.example:8443/a?b=c',
      'http://[::1]:9/x',
      ...clientPresets.flatMap(({ redirectUris }) => redirectUris),
    ]) {
      expect([uri, redirectUriFault(uri)]).toEqual([uri, null]);
    }
    const all = [...new Set(clientPresets.flatMap(({ redirectUris }) => redirectUris))];
    const clientId = await register('Everything', all);
    expect((await seen(clientId)).redirect_uris).toEqual(all);
    const { presets } = (await ask('/clients')).body;
    expect(presets).toEqual(
      clientPresets.map(({ redirectUris, byDocument, ...preset }) => ({
        ...preset,
        redirect_uris: redirectUris,
        by_document: byDocument,
      })),
    );
  });

  test('have presets with the redirect URIs that well-known clients really send', async () => {
    const both = (...paths: string[]) => paths.flatMap((at) => [`http://localhost${at}`, `http://127.0.0.1${at}`]);
    expect(Object.fromEntries(clientPresets.map(({ id, redirectUris }) => [id, redirectUris]))).toEqual({
      claude: ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
      'claude-code': both('/callback'),
      chatgpt: ['https://chatgpt.com/connector_platform_oauth_redirect'],
      codex: both('/callback'),
      vscode: [...both('/'), 'https://vscode.dev/redirect', 'https://insiders.vscode.dev/redirect'],
      cursor: [...both('/callback'), 'https://www.cursor.com/agents/mcp/oauth/callback'],
      'copilot-studio': ['https://global.consent.azure-apim.net/redirect'],
      'gemini-cli': both('/oauth/callback'),
      opencode: both('/mcp/oauth/callback'),
      'mcp-remote': both('/oauth/callback'),
      inspector: both('/oauth/callback', '/oauth/callback/debug'),
      desktop: both('/callback'),
    });
    // Redirect URIs that these clients were seen to send are accepted: on this machine with any port.
    const takes = (id: string, uri: string) =>
      redirectUriMatches(clientPresets.find((preset) => preset.id === id)?.redirectUris ?? [], uri);
    for (const [id, uri] of [
      ['claude-code', 'http://localhost:3118/callback'],
      ['vscode', 'http://127.0.0.1:33418/'],
      ['cursor', 'http://localhost:8787/callback'],
      ['gemini-cli', 'http://localhost:7777/oauth/callback'],
      ['opencode', 'http://127.0.0.1:19876/mcp/oauth/callback'],
      ['mcp-remote', 'http://localhost:3334/oauth/callback'],
      ['inspector', 'http://127.0.0.1:6276/oauth/callback'],
    ] as const)
      expect([id, takes(id, uri)]).toEqual([id, true]);
  });

  test('have instructions for connecting each preset', () => {
    for (const { id } of clientPresets) {
      const way = ways[id]({ address: 'https://deals.example.com/api/mcp', clientId: 'ID', name: 'dealkeep' });
      expect([id, way.steps.length]).not.toEqual([id, 0]);
      const lines = way.steps.flatMap((step) => step.lines ?? []).join(' ');
      expect([id, lines.includes('https://deals.example.com/api/mcp'), lines.includes('ID')]).toEqual([id, true, true]);
      if (id === 'chatgpt') expect(way.note).toContain('https://chatgpt.com/connector/oauth/…');
      // It requests no scope that is not in its settings.
      if (id === 'gemini-cli') expect(lines).toMatch(/"mcp:read",\s+"mcp:write"/);
    }
  });

  test('112. need a name that is visible and not too long', async () => {
    for (const name of ['', '   ', 'x'.repeat(101), 'a\u202eb', 'a\nb']) {
      const { status } = await ask('/clients', { name, redirect_uris: ['https://client.example/cb'] });
      expect([name, status]).toEqual([name, 400]);
    }
  });

  test('can be renamed and given other redirect URIs later', async () => {
    const clientId = await register('Changing', 'https://client.example/old');
    const details = { name: 'Changed', redirect_uris: ['https://client.example/new'] };
    expect((await ask(`/clients/${clientId}`, details, ada, 'PATCH')).status).toBe(200);
    const now = () => service.sql('select name, redirect_uris from connected_clients where id = $1', [clientId]);
    expect(await now()).toEqual([details]);
    expect((await ask(`/clients/${clientId}`, { name: 'Renamed' }, ada, 'PATCH')).status).toBe(200);
    expect(await now()).toEqual([{ ...details, name: 'Renamed' }]);
    const unfit = { ...details, redirect_uris: ['ftp://x'] };
    expect((await ask(`/clients/${clientId}`, unfit, ada, 'PATCH')).status).toBe(400);
  });

  test('112. of one person cannot be seen, changed, disabled, shared or deleted by another', async () => {
    const clientId = await register('Of Ada', 'https://client.example/callback');
    expect(await seen(clientId, bert)).toBeUndefined();
    const details = { name: 'Of Bert', redirect_uris: ['https://evil.example/'] };
    const grant = { client_id: clientId, tool: 'svc_questions_create', expires_at: null };
    for (const [path, body, method] of [
      [`/clients/${clientId}`, details, 'PATCH'],
      [`/clients/${clientId}/switch`, { disabled: true }, 'POST'],
      [`/clients/${clientId}`, undefined, 'DELETE'],
      [`/clients/${clientId}/share`, { brokerage_id: null }, 'POST'],
      [`/clients/${clientId}/share`, { brokerage_id: brokerage }, 'POST'],
      [`/clients/${clientId}/disconnect`, {}, 'POST'],
      ['/tools/grants', grant, 'PUT'],
    ] as const)
      expect([method, path, (await ask(path, body, bert, method)).status]).toEqual([method, path, 404]);
    expect(
      await service.sql('select name, disabled, deleted_at, brokerage_id from connected_clients where id = $1', [
        clientId,
      ]),
    ).toEqual([{ name: 'Of Ada', disabled: false, deleted_at: null, brokerage_id: null }]);
  });

  test('that an admin shares can be used by all members, and managed by admins alone', async () => {
    const clientId = await register('For all', 'https://client.example/callback');
    expect((await ask(`/clients/${clientId}/share`, { brokerage_id: brokerage })).status).toBe(200);
    expect(await seen(clientId, bert)).toMatchObject({ name: 'For all', can_manage: false });
    const grant = await connect(service, bert, clientId);
    const evil = { name: 'Mine', redirect_uris: ['https://evil.example/'] };
    for (const [path, body, method] of [
      ['', evil, 'PATCH'],
      ['/switch', { disabled: true }, 'POST'],
      ['', undefined, 'DELETE'],
      ['/share', { brokerage_id: null }, 'POST'],
    ] as const)
      expect((await ask(`/clients/${clientId}${path}`, body, bert, method)).status).toBe(403);
    await service.sql(
      `insert into members (brokerage_id, user_id, role) select $1, id, 'admin' from users where id = $2`,
      [brokerage, (await addPerson(service, 'Second admin')).id],
    );
    await service.sql(`update members set role = 'staff' where user_id = $1`, [ada.id]);
    expect((await ask(`/clients/${clientId}`, evil, ada, 'PATCH')).status).toBe(403);
    await service.sql(`update members set role = 'admin' where user_id = $1`, [ada.id]);
    expect((await ask(`/clients/${clientId}/share`, { brokerage_id: null })).status).toBe(200);
    expect(await scopesOf(service, grant.access)).toBeNull();
  });

  test('that are shared move to another brokerage only after they were unshared, with a record in both trails', async () => {
    const elsewhere = await addBrokerage(service, 'Coast');
    const dora = await addPerson(service, 'Dora', { brokerage, role: 'admin' });
    for (const { id } of [ada, dora])
      await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [elsewhere, id]);
    await service.sql('update vault.sessions set authenticated_at = app.now()');
    const clientId = await register('For Harbor', 'https://client.example/callback');
    const share = (to: string | null, person: Person) =>
      ask(`/clients/${clientId}/share`, { brokerage_id: to }, person);
    expect((await share(brokerage, ada)).status).toBe(200);
    const grant = await connect(service, bert, clientId);
    // Neither another admin of both brokerages nor whoever added it moves it.
    for (const person of [dora, ada]) {
      const { status, body } = await share(elsewhere, person);
      expect([status, body.error?.code]).toEqual([409, 'client_shared']);
    }
    expect((await share(null, dora)).status).toBe(403);
    expect(await scopesOf(service, grant.access)).not.toBeNull();
    expect(await seen(clientId)).toMatchObject({ brokerage_id: brokerage, can_manage: true });
    for (const to of [null, elsewhere]) expect((await share(to, ada)).status).toBe(200);
    const trail = async (of: string) =>
      (await ask(`/audit?brokerage_id=${of}&action=client.`, undefined, dora)).body.items
        .filter(({ subject_id }: { subject_id: string }) => subject_id === clientId)
        .map(({ action }: { action: string }) => action);
    expect([await trail(brokerage), await trail(elsewhere)]).toEqual([
      ['client.unshare', 'client.share'],
      ['client.share'],
    ]);
  });

  test('that are not shared are audited in the only brokerage of their person', async () => {
    const clientId = await register('Of Bert', 'https://client.example/callback', bert);
    expect((await ask(`/clients/${clientId}`, { name: 'Bert’s' }, bert, 'PATCH')).status).toBe(200);
    for (const disabled of [true, false])
      expect((await ask(`/clients/${clientId}/switch`, { disabled }, bert)).status).toBe(200);
    expect((await ask(`/clients/${clientId}`, undefined, bert, 'DELETE')).status).toBe(204);
    const { items } = (await ask(`/audit?brokerage_id=${brokerage}&action=client.`)).body;
    expect(
      items
        .filter(({ subject_id }: { subject_id: string }) => subject_id === clientId)
        .map(({ action }: { action: string }) => action)
        .toReversed(),
    ).toEqual(['client.create', 'client.change', 'client.disable', 'client.enable', 'client.delete']);
  });

  test('cannot be shared with a brokerage by a person who is not its admin', async () => {
    const clientId = await register('Of Bert', 'https://client.example/callback', bert);
    expect((await ask(`/clients/${clientId}/share`, { brokerage_id: brokerage }, bert)).status).toBe(403);
    expect(await service.sql('select brokerage_id from connected_clients where id = $1', [clientId])).toEqual([
      { brokerage_id: null },
    ]);
  });

  test('are not created without the CSRF token or from another site', async () => {
    const { headers } = signedInWith(service, ada.session);
    const forge = (changes: Record<string, string>) =>
      fetch(`${service.origin}/api/web/clients`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', ...changes },
        body: JSON.stringify({ name: 'Forged', redirect_uris: ['https://evil.example/'] }),
      });
    expect((await forge({ 'x-csrf-token': 'x' })).status).toBe(403);
    expect((await forge({ origin: 'https://evil.example' })).status).toBe(403);
    expect(await service.sql(`select from connected_clients where name = 'Forged'`)).toEqual([]);
  });

  test('are limited to 50 per person, also when the last ones are created at the same time', async () => {
    const cleo = await addPerson(service, 'Cleo');
    for (let made = 0; made < 49; made += 1) await addClient(service, cleo);
    const details = { name: 'One more', redirect_uris: ['https://client.example/'] };
    const another = [
      `insert into connected_clients (created_by, name, redirect_uris) values ($1, $2, $3)`,
      [cleo.id, ...Object.values(details)],
    ] as const;
    const { status, body } = await whileChanging(service, [another], () => ask('/clients', details, cleo));
    expect([status, body.error?.message]).toEqual([409, expect.stringContaining('50 clients')]);
  });
});

test('lists of members, clients and deals open to tools are limited in length', async () => {
  const full = await addBrokerage(service, 'Full');
  const dora = await addPerson(service, 'Dora', { brokerage: full, role: 'broker' });
  const own = await register('Her own', 'https://client.example/callback', dora);
  await service.sql(
    `with people as (insert into users (email, name) select 'full' || n || '@example.com', 'A ' || n from generate_series(1, 2000) n returning id),
       parts as (insert into members (brokerage_id, user_id, role) select $1, id, 'broker' from people returning user_id)
     insert into connected_clients (created_by, brokerage_id, name, redirect_uris, created_at)
       select user_id, $1, 'Shared', '{https://client.example/}', app.now() + interval '1 second' from parts limit 500`,
    [full],
  );
  await service.sql(
    `with made as (insert into deals (organization_id, title) select $1, 'Deal ' || n from generate_series(1, 501) n returning id),
       parts as (insert into participants (deal_id, user_id, role, status) select id, $2, 'viewer', 'active' from made)
     insert into deal_opt_ins (user_id, deal_id) select $2, id from made`,
    [full, dora.id],
  );
  expect((await ask(`/brokerages/${full}/members`, undefined, dora)).body.items).toHaveLength(2000);
  const { items } = (await ask('/clients', undefined, dora)).body;
  expect([items.length, items[0].name, items.at(-1).id]).toEqual([500, 'Shared', own]);
  expect((await ask('/tools', undefined, dora)).body.opt_ins).toHaveLength(500);
});
