import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { hashPassword } from '../../server/domain/accounts/password-hashes.ts';
import { csrfToken } from '../../server/http/csrf.ts';
import { openService, type TestService } from '../harness.ts';
import { startNode } from '../tools/node.ts';
import {
  addBrokerage,
  addClient,
  addPerson,
  answerOf,
  approve,
  authorizeUrl,
  callback,
  challengeOf,
  connect,
  decide,
  decodeEntities,
  hiddenFields,
  markupOf,
  newVerifier,
  openConsent,
  openSession,
  post,
  redeem,
  visit,
  type Person,
} from './scene.ts';

let service: TestService;
let ada: Person;
let clientId: string;
let brokerage: string;

beforeAll(async () => {
  service = await openService();
  brokerage = await addBrokerage(service, 'Harbor & Sons');
  ada = await addPerson(service, 'Ada Admin', { brokerage, role: 'admin' });
  clientId = await addClient(service, ada, { name: 'Assistant' });
});
afterAll(() => service?.close());
beforeEach(() => service.clock.advance(60_000));

const codes = () => service.sql('select * from vault.authorization_codes');
const yes = (fields: Record<string, string>, scopes: readonly string[] = ['mcp:read', 'mcp:write']) => [
  ...Object.entries(fields),
  ...scopes.map((scope) => ['scope', scope] as const),
  ['decision', 'approve'] as const,
];

/** Expects that a response does not redirect to the client, and that no code was stored. */
async function nothingCameOf(response: Response, status: number): Promise<void> {
  const before = (await codes()).length;
  expect(response.status).toBe(status);
  expect(response.headers.get('location') ?? '').not.toContain('client.example/callback');
  expect(before).toBe(0);
}

/** The person in the same browser, after confirming their identity with a password. */
async function confirmed(person: Person): Promise<Person> {
  const password = `pass ${Math.random()}`;
  await service.sql('insert into vault.passwords (user_id, phc, address_proven_at) values ($1, $2, app.now())', [
    person.id,
    await hashPassword(password, service.config.passwordParameters),
  ]);
  const proven = await fetch(`${service.origin}/api/auth/re-authenticate`, {
    method: 'POST',
    headers: {
      cookie: person.cookie,
      origin: service.origin,
      'content-type': 'application/json',
      'x-csrf-token': csrfToken(person.session),
    },
    body: JSON.stringify({ password }),
  });
  expect(proven.status).toBe(200);
  const renewed = proven.headers.getSetCookie().find((set) => set.startsWith('dealkeep=')) ?? '';
  const cookie = /^[^;]+/.exec(renewed)?.[0] ?? '';
  return { ...person, session: cookie.split('=')[1] ?? '', cookie };
}

describe('the consent page', () => {
  test('37. names the client, its creator, redirect host, scopes, account, brokerage and lifetimes', async () => {
    const markup = await markupOf(visit(authorizeUrl(service, { client_id: clientId }), ada));
    for (const words of [
      'Assistant',
      'you, on ',
      'client.example',
      'Read what you can see',
      'mcp:read',
      'Write in your name',
      'mcp:write',
      ada.name,
      ada.email,
      'Harbor &amp; Sons',
      'one hour',
      '30 days',
      '180 days',
    ]) {
      expect(markup).toContain(words);
    }
    expect(markup).not.toContain('on this computer');
  });

  test('37. names the creator and the brokerage of a shared client, and only the requested scope', async () => {
    const shared = await addClient(service, ada, { name: 'Team helper', brokerage });
    const staff = await addPerson(service, 'Sam Staff', { brokerage, role: 'staff' });
    const markup = await markupOf(visit(authorizeUrl(service, { client_id: shared, scope: 'mcp:read' }), staff));
    expect(markup).toContain('Ada Admin, on ');
    expect(markup).toContain('shared with Harbor &amp; Sons');
    expect(markup).not.toContain('mcp:write');
  });

  test.each(['http://localhost/callback', 'http://127.0.0.1:8123/cb', 'http://[::1]/cb', 'https://localhost/cb'])(
    '37. warns about a redirect URI on this computer: %s',
    async (uri) => {
      const loopback = await addClient(service, ada, { redirectUris: [uri] });
      const markup = await markupOf(visit(authorizeUrl(service, { client_id: loopback, redirect_uri: uri }), ada));
      expect(markup).toContain('on this computer');
    },
  );

  test('37. says how many tools are still on for the client, also after a connection has ended', async () => {
    const again = await addClient(service, ada, { name: 'Again' });
    const words = async () => {
      const markup = await markupOf(visit(authorizeUrl(service, { client_id: again }), ada));
      return /Ask questions[^<]*/.exec(markup)?.[0];
    };
    const stillOff = 'works only where you have turned it on, for this client and for the deal.';
    expect(await words()).not.toContain('Already on');
    const { refresh } = await connect(service, ada, again);
    const allow = (tool: string) =>
      service.sql('insert into tool_grants (user_id, client_id, tool) values ($1, $2, $3)', [ada.id, again, tool]);
    await allow('svc_questions_create');
    await post(service, '/api/mcp/revoke', { client_id: again, token: refresh });
    expect(await words()).toContain(`${stillOff} Already on for this client: 1 tool.`);
    await allow('svc_qoe_normalization_create');
    expect(await words()).toContain(`${stillOff} Already on for this client: 2 tools.`);
    expect(await words()).not.toContain('stays off');
  });

  test('37. mentions findings and financing only if these features are on', async () => {
    const wordsAt = async ({ origin }: { origin: string }) => {
      const { pathname, search } = new URL(authorizeUrl(service, { client_id: clientId }));
      const markup = await markupOf(visit(origin + pathname + search, ada));
      return [/Your deals[^<]*/, /Ask questions and record [^.]*\./].map((pattern) => pattern.exec(markup)?.[0]);
    };
    const off = [
      'Your deals and the people on them, quality-of-earnings figures, questions, offers, closing conditions, and the names of documents, never what is in the documents.',
      'Ask questions and record adjustments.',
    ];
    expect(await wordsAt(service)).toEqual(off);
    const features = { findings: true, financing: true };
    const node = await startNode(service, service.connections.server, { config: { features } });
    try {
      expect(await wordsAt(node)).toEqual([
        'Your deals and the people on them, quality-of-earnings figures, questions, findings with their comments, offers, sources of financing, closing conditions, and the names of documents, never what is in the documents.',
        'Ask questions and record adjustments, findings, and financing.',
      ]);
    } finally {
      await node.stop();
    }
  });

  test('38. escapes the name of the client', async () => {
    const markupName = '<img src=x onerror=alert(1)>';
    const evil = await addClient(service, ada, { name: markupName });
    const markup = await markupOf(visit(authorizeUrl(service, { client_id: evil }), ada));
    expect(markup).not.toContain(markupName);
    expect(markup).toContain('&lt;img src=x onerror=alert(1)&gt;');
  });

  test('39. cannot be framed or cached, sends no referrer, loads nothing external, has no form-action', async () => {
    const response = await visit(authorizeUrl(service, { client_id: clientId }), ada);
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('form-action');
    expect(policy).not.toContain('script-src');
    expect(response.headers.get('x-frame-options')).toBe('DENY');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('referrer-policy')).toBe('no-referrer');
    const markup = await response.text();
    expect(markup).not.toMatch(/<script/);
    // Only signing out, which comes back, and what opens a new tab: others would cut a host's popup off from it.
    const links = [...markup.matchAll(/<a\b[^>]*>/g)].map(([link]) => link);
    expect(links.filter((link) => !/target="_blank"|href="\/sign-out\?/.test(link))).toEqual([]);
    expect(
      [...markup.matchAll(/(?:src|href|action)="([^"]*)"/g)]
        .map(([, url = '']) => url)
        .filter((url) => /^(https?:)?\/\//.test(url)),
    ).toEqual([]);
  });
});

describe('rejected decisions', () => {
  let fields: Record<string, string>;
  beforeEach(async () => {
    await service.sql('delete from vault.authorization_codes');
    fields = await openConsent(service, ada, { client_id: clientId });
  });

  test('42. without a session, which lead to the sign-in page and back', async () => {
    const response = await decide(service, null, yes(fields));
    await nothingCameOf(response, 302);
    const location = new URL(response.headers.get('location') ?? '', service.origin);
    expect(location.pathname).toBe('/sign-in');
    const back = new URL(location.searchParams.get('return_to') ?? '', service.origin);
    expect(back.pathname).toBe('/api/mcp/authorize');
    expect((await visit(back.href, ada)).status).toBe(200);
  });

  test('42. with a session that has ended', async () => {
    const session = await openSession(service, ada.id);
    const there = { ...ada, session, cookie: `dealkeep=${session}` };
    const own = await openConsent(service, there, { client_id: clientId });
    await service.sql('update vault.sessions set ended_at = app.now() where digest = sha256($1::bytea)', [
      Buffer.from(session),
    ]);
    const response = await decide(service, there, yes(own));
    await nothingCameOf(response, 302);
    expect(response.headers.get('location')).toMatch(/^\/sign-in\?/);
  });

  test('43. without a CSRF token, or with a wrong one', async () => {
    const { csrf, ...others } = fields;
    await nothingCameOf(await decide(service, ada, yes(others)), 403);
    await nothingCameOf(await decide(service, ada, yes({ ...others, csrf: 'x'.repeat(csrf?.length ?? 0) })), 403);
  });

  test('44. with the CSRF token of another session', async () => {
    const session = await openSession(service, ada.id);
    const elsewhere = { ...ada, session, cookie: `dealkeep=${session}` };
    const { csrf = '' } = await openConsent(service, elsewhere, { client_id: clientId });
    await nothingCameOf(await decide(service, ada, yes({ ...fields, csrf })), 403);
  });

  describe('44. with a form from before re-authentication in another tab', () => {
    let now: Person;
    let own: string;
    let old: Record<string, string>;
    const state = `a+b&c=%25 "'><img src=x>`;
    beforeAll(async () => {
      const before = await addPerson(service, 'Two Tabs');
      own = await addClient(service, before);
      old = await openConsent(service, before, { client_id: own, state });
      now = await confirmed(before);
    });

    /** The targets of a page's links. */
    const linksOf = (markup: string) =>
      [...markup.matchAll(/<a\b[^>]* href="([^"]*)"/g)].map(([, href = '']) => decodeEntities(href));

    test.each(['approve', 'deny'])(
      '%s creates no code, and the error page links to the same request',
      async (decision) => {
        const sent = Object.entries({ ...old, scope: 'mcp:read', decision });
        const response = await decide(service, now, sent);
        await nothingCameOf(response, 403);
        expect(response.headers.get('location')).toBeNull();
        const markup = await response.text();
        expect(markup).toContain('Look at the request again');
        expect(markup).not.toContain('cannot be connected');
        expect(markup).not.toContain('<img');
        const [again = ''] = linksOf(markup).filter((href) => href.startsWith('/api/mcp/authorize?'));
        const asked = new URL(authorizeUrl(service, { client_id: own, state })).searchParams;
        const named = new URL(again, service.origin).searchParams;
        for (const [name, value] of asked) expect([name, named.get(name)]).toEqual([name, value]);
        expect((await visit(service.origin + again, now)).status).toBe(200);
        expect(await codes()).toEqual([]);
      },
    );

    test('the request shown again has writing unticked if the person had unticked it, until they tick it', async () => {
      const box = (checked: string) => `<input type="checkbox" name="scope" value="mcp:write"${checked} />`;
      const linked = async (form: Record<string, string>, scopes?: string[]) => {
        const markup = await (await decide(service, now, yes({ ...form, csrf: old['csrf'] ?? '' }, scopes))).text();
        const [again = ''] = linksOf(markup).filter((href) => href.startsWith('/api/mcp/authorize?'));
        return (await visit(service.origin + again, now)).text();
      };
      const unticked = await linked(old, ['mcp:read']);
      expect(unticked).toContain(box(''));
      const { scope: _, ...shown } = hiddenFields(unticked);
      expect(await linked(shown, ['mcp:read'])).toContain(box(''));
      expect(await linked(shown)).toContain(box(' checked'));
    });

    test('the error page links only to valid authorization requests of this service', async () => {
      const { request = '', csrf = '' } = old;
      const told = JSON.parse(Buffer.from(request.split('.')[0] ?? '', 'base64url').toString()) as object;
      const changed = (change: object) => Buffer.from(JSON.stringify({ ...told, ...change })).toString('base64url');
      const linked = async (sent: Record<string, string>) => {
        const response = await decide(service, now, Object.entries({ csrf, decision: 'approve', ...sent }));
        expect(response.status).toBe(403);
        return linksOf(await response.text());
      };
      const elsewhere = ['/settings/clients'];
      expect(await linked({})).toEqual(elsewhere);
      const here = new URL(authorizeUrl(service, { client_id: own }));
      const offered = here.pathname + here.search;
      expect(await linked({ here: offered })).toEqual([offered, '/settings/clients']);
      const hostile: Record<string, string>[] = [
        { request: 'x' },
        { request: changed({ clientId: 'javascript:alert(1)' }) },
        { request: changed({ clientId: `${own}&redirect_uri=https://evil.example` }) },
        { request: changed({ redirectUri: 'nowhere' }) },
        { request: changed({ challenge: 'short' }) },
        { request: changed({ scopes: ['mcp:admin'] }) },
        { request: changed({ resource: 'https://evil.example' }) },
        { request: changed({ state: '' }) },
        { here: `https://evil.example${offered}` },
        { here: `//evil.example${offered}` },
        { here: offered.replace('/authorize', '/authorize/../..') },
        { here: `${offered}&client_id=${own}` },
        { here: `${offered}&scope=mcp:read` },
      ];
      for (const sent of hostile) expect([sent, await linked(sent)]).toEqual([sent, elsewhere]);
    });
  });

  test('45. from another origin or site', async () => {
    const foreign: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `${service.origin}.evil.example` },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ];
    for (const headers of foreign) {
      await nothingCameOf(await decide(service, ada, yes(fields), headers), 403);
    }
  });

  test('46. with a form that was altered or signed for another session', async () => {
    const [payload = '', signature = ''] = (fields['request'] ?? '').split('.');
    const request = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
    const other = await addClient(service, ada, { redirectUris: ['https://evil.example/'] });
    for (const change of [
      { clientId: other },
      { redirectUri: 'https://evil.example/' },
      { challenge: challengeOf(newVerifier()) },
      { scopes: ['mcp:read', 'mcp:write', 'mcp:admin'] },
      { state: 'other' },
    ]) {
      const changed = Buffer.from(JSON.stringify({ ...request, ...change })).toString('base64url');
      await nothingCameOf(await decide(service, ada, yes({ ...fields, request: `${changed}.${signature}` })), 400);
    }
    const session = await openSession(service, ada.id);
    const elsewhere = { ...ada, session, cookie: `dealkeep=${session}` };
    const { request: foreign = '' } = await openConsent(service, elsewhere, { client_id: clientId });
    await nothingCameOf(await decide(service, ada, yes({ ...fields, request: foreign })), 400);
    const given = fields['request'] ?? '';
    for (const altered of ['', `${given}.x`, `${given}=`, given.replace('.', '.\n')])
      await nothingCameOf(await decide(service, ada, yes({ ...fields, request: altered })), 400);
  });

  test('46. with a redirect URI that was removed after the page was shown', async () => {
    const changing = await addClient(service, ada);
    const own = await openConsent(service, ada, { client_id: changing });
    await service.sql(`update connected_clients set redirect_uris = '{https://client.example/new}' where id = $1`, [
      changing,
    ]);
    await nothingCameOf(await decide(service, ada, yes(own)), 400);
    await nothingCameOf(await decide(service, ada, [...Object.entries(own), ['decision', 'deny']]), 400);
  });

  test('46. with more scopes than requested, which are not granted', async () => {
    const verifier = newVerifier();
    const reading = { client_id: clientId, scope: 'mcp:read', code_challenge: challengeOf(verifier) };
    const code = await approve(service, ada, reading, ['mcp:read', 'mcp:write']);
    expect((await redeem(service, { clientId, code, verifier })).body.scope).toBe('mcp:read');
  });

  test('50. without mcp:read, which counts as a denial', async () => {
    for (const scopes of [[], ['mcp:write']]) {
      const response = await decide(service, ada, yes(fields, scopes));
      expect(response.status).toBe(302);
      expect([answerOf(response).get('error'), answerOf(response).get('code')]).toEqual(['access_denied', null]);
    }
    expect(await codes()).toEqual([]);
  });

  test('52. for the private client of another person', async () => {
    const bert = await addPerson(service, 'Bert', { brokerage });
    expect((await visit(authorizeUrl(service, { client_id: clientId }), bert)).status).toBe(400);
    await expect(openConsent(service, bert, { client_id: clientId })).rejects.toThrow('no consent page');
  });

  test('52. by a suspended person', async () => {
    const cleo = await addPerson(service, 'Cleo');
    const own = await addClient(service, cleo);
    const open = await openConsent(service, cleo, { client_id: own });
    await service.sql('update users set suspended_at = app.now() where id = $1', [cleo.id]);
    await nothingCameOf(await decide(service, cleo, yes(open)), 302);
    expect((await visit(authorizeUrl(service, { client_id: own }), cleo)).headers.get('location')).toMatch(
      /^\/sign-in\?/,
    );
  });

  test('52. by a person who has left the brokerage that the client is shared with', async () => {
    const shared = await addClient(service, ada, { brokerage });
    const dan = await addPerson(service, 'Dan', { brokerage });
    const open = await openConsent(service, dan, { client_id: shared });
    await service.sql(`update members set status = 'removed' where user_id = $1`, [dan.id]);
    await nothingCameOf(await decide(service, dan, yes(open)), 400);
  });

  test('with another content type, an oversized body or an unknown decision', async () => {
    const url = `${service.origin}/api/mcp/authorize`;
    const headers = { cookie: ada.cookie, origin: service.origin };
    const json = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ ...fields, decision: 'approve' }),
    });
    await nothingCameOf(json, 415);
    const large = await fetch(url, {
      method: 'POST',
      headers,
      body: new URLSearchParams({ ...fields, more: 'x'.repeat(70_000) }),
    });
    await nothingCameOf(large, 413);
    await nothingCameOf(await decide(service, ada, [...Object.entries(fields), ['decision', 'maybe']]), 400);
  });
});

describe('valid decisions', () => {
  test.each(['st', 'a+b&c=%25 \n é😀'])(
    '47. approval redirects to the exact URI with one code, state and iss: %j',
    async (state) => {
      const fields = await openConsent(service, ada, { client_id: clientId, state });
      const response = await decide(service, ada, yes(fields));
      expect(response.status).toBe(302);
      expect(response.headers.get('location')?.split('?')[0]).toBe(callback);
      const answer = answerOf(response);
      expect([...answer.keys()]).toEqual(['code', 'state', 'iss']);
      expect([answer.get('state'), answer.get('iss')]).toEqual([state, service.config.baseUrl]);
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(response.headers.get('referrer-policy')).toBe('no-referrer');
    },
  );

  test('47. approval redirects to a loopback URI with the requested port', async () => {
    const desktop = await addClient(service, ada, { redirectUris: ['http://localhost/callback?own=1'] });
    const fields = await openConsent(service, ada, {
      client_id: desktop,
      redirect_uri: 'http://localhost:49152/callback?own=1',
    });
    const response = await decide(service, ada, yes(fields));
    expect(response.headers.get('location')).toMatch(/^http:\/\/localhost:49152\/callback\?own=1&code=/);
  });

  test('48. denial redirects with access_denied, state and iss, and creates no code', async () => {
    await service.sql('delete from vault.authorization_codes');
    const fields = await openConsent(service, ada, { client_id: clientId });
    const response = await decide(service, ada, [
      ...Object.entries(fields),
      ['scope', 'mcp:read'],
      ['decision', 'deny'],
    ]);
    expect(response.status).toBe(302);
    const answer = answerOf(response);
    expect([answer.get('error'), answer.get('state'), answer.get('iss'), answer.get('code')]).toEqual([
      'access_denied',
      'st',
      service.config.baseUrl,
      null,
    ]);
    expect(await codes()).toEqual([]);
  });

  test('49. approving fewer scopes narrows the grant', async () => {
    const verifier = newVerifier();
    const code = await approve(service, ada, { client_id: clientId, code_challenge: challengeOf(verifier) }, [
      'mcp:read',
    ]);
    expect((await redeem(service, { clientId, code, verifier })).body.scope).toBe('mcp:read');
  });

  test('51. submitting the same form twice gives at most one usable code', async () => {
    const verifier = newVerifier();
    const fields = await openConsent(service, ada, { client_id: clientId, code_challenge: challengeOf(verifier) });
    const [first, second] = [await decide(service, ada, yes(fields)), await decide(service, ada, yes(fields))].map(
      (response) => answerOf(response).get('code') ?? '',
    );
    expect((await redeem(service, { clientId, code: first ?? '', verifier })).body.error).toBe('invalid_grant');
    expect((await redeem(service, { clientId, code: second ?? '', verifier })).status).toBe(200);
    const third = await decide(service, ada, yes(fields));
    expect([third.status, third.headers.get('location')]).toEqual([400, null]);
  });

  test('51. submitting the same form twenty times at once gives one usable code', async () => {
    const verifier = newVerifier();
    const fields = await openConsent(service, ada, { client_id: clientId, code_challenge: challengeOf(verifier) });
    const responses = await Promise.all(Array.from({ length: 20 }, () => decide(service, ada, yes(fields))));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([302]));
    const statuses = [];
    for (const response of responses) {
      statuses.push((await redeem(service, { clientId, code: answerOf(response).get('code') ?? '', verifier })).status);
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  });

  test('approval of a shared client gives a member tokens', async () => {
    const shared = await addClient(service, ada, { brokerage });
    const staff = await addPerson(service, 'Sue', { brokerage, role: 'staff' });
    expect((await connect(service, staff, shared)).access).toMatch(/^dka_/);
  });
});

describe('approval of write access', () => {
  const hourAgo = (person: Person) =>
    service.sql(`update vault.sessions set authenticated_at = app.now() - interval '1 hour' where user_id = $1`, [
      person.id,
    ]);
  const answer = async (person: Person, scopes: readonly string[], state: string) => {
    const fields = await openConsent(service, person, { client_id: await addClient(service, person), state });
    await hourAgo(person);
    return decide(service, person, [
      ...Object.entries(fields),
      ...scopes.map((scope) => ['scope', scope] as const),
      ['decision', 'approve'],
    ]);
  };

  test('needs a recent sign-in, and re-authentication leads back to the same request', async () => {
    const person = await addPerson(service, 'Late');
    const state = 'kept + & = %';
    const asked = await answer(person, ['mcp:read', 'mcp:write'], state);
    expect(asked.status).toBe(302);
    const confirm = new URL(asked.headers.get('location') ?? '', service.origin);
    expect(confirm.pathname).toBe('/re-authenticate');
    expect(await service.sql('select from vault.authorization_codes where user_id = $1', [person.id])).toEqual([]);

    const returnTo = confirm.searchParams.get('return_to') ?? '';
    const again = await confirmed(person);
    const page = await visit(new URL(returnTo, service.origin).href, again);
    const fields = Object.entries(hiddenFields(await page.text()));
    const approved = await decide(service, again, [
      ...fields.filter(([name]) => name !== 'scope'),
      ['scope', 'mcp:read'],
      ['scope', 'mcp:write'],
      ['decision', 'approve'],
    ]);
    expect(answerOf(approved).get('state')).toBe(state);
    expect(answerOf(approved).get('code')).toMatch(/^dkc_/);
  });

  test('announces re-authentication on the page; read-only approval and denial need none', async () => {
    const person = await addPerson(service, 'Reader');
    const own = await addClient(service, person);
    const look = () => markupOf(visit(authorizeUrl(service, { client_id: own }), person));
    expect(await look()).not.toContain('We ask for your password once more');
    await hourAgo(person);
    expect(await look()).toContain('We ask for your password once more');
    expect(answerOf(await answer(person, ['mcp:read'], 's')).get('code')).toMatch(/^dkc_/);
    const fields = await openConsent(service, person, { client_id: own });
    const denied = await decide(service, person, [...Object.entries(fields), ['decision', 'deny']]);
    expect(answerOf(denied).get('error')).toBe('access_denied');
  });
});
