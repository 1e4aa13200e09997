/** Clients that identify themselves by a document at an https URL of their own, read from a host on this machine. */

import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest';
import { createApp } from '../../server/app.ts';
import { listen } from '../../server/cli/listen.ts';
import { mint } from '../../server/domain/clients/tokens.ts';
import { documentUrlFault, freshness, openClientDocuments, readDocument } from '../../server/oauth/client-documents.ts';
import { canCertify, certificateFor } from '../certificate.ts';
import { openService, type TestService } from '../harness.ts';
import { signedInWith } from '../web/person.ts';
import { scopesOf } from './bearer.ts';
import {
  addClient,
  addPerson,
  answerOf,
  approve,
  askToken,
  authorizeUrl,
  challengeOf,
  connect,
  decide,
  decodeEntities,
  markupOf,
  newVerifier,
  openConsent,
  post,
  refresh,
  visit,
  type Grant,
  type Parameters,
  type Person,
} from './scene.ts';

const redirectUri = 'https://localhost/callback';
const pinnedUrl = 'https://assistant.example/oauth/client.json';

/** The host's response for each path, and the paths requested so far. */
const host = {
  documents: new Map<string, { status?: number; headers?: Record<string, string>; body: string }>(),
  asked: [] as string[],
  /** Responses wait for this promise. */
  until: Promise.resolve(),
};
let server: https.Server;
let origin: string;
let service: TestService;
let ada: Person;
let bert: Person;

/** Publishes a document at a new path; returns its URL. */
let count = 0;
function publish(changes: Record<string, unknown> = {}, headers: Record<string, string> = {}): string {
  const at = `/client-${(count += 1)}.json`;
  revise(origin + at, changes, headers);
  return origin + at;
}
function revise(url: string, changes: Record<string, unknown> = {}, headers: Record<string, string> = {}): void {
  const document = { client_id: url, client_name: 'Assistant Five', redirect_uris: [redirectUri], ...changes };
  host.documents.set(new URL(url).pathname, { headers, body: JSON.stringify(document) });
}

describe.runIf(canCertify)('client metadata documents', () => {
  beforeAll(async () => {
    const { key, cert } = certificateFor('localhost');
    server = https.createServer({ key, cert }, (request, response) => {
      const asked = request.url ?? '';
      host.asked.push(asked);
      const { status = 200, headers = {}, body } = host.documents.get(asked) ?? { status: 404, body: '' };
      void host.until.then(() =>
        response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body),
      );
    });
    server.listen(0, 'localhost');
    await once(server, 'listening');
    origin = `https://localhost:${(server.address() as AddressInfo).port}`;
    const file = path.join(inject('directory'), 'pinned-clients.json');
    const pinned = {
      client_id: pinnedUrl,
      client_name: 'Pinned assistant',
      redirect_uris: ['https://assistant.example/back', 'http://127.0.0.1:33418/', 'assistant://back'],
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
    };
    await writeFile(file, JSON.stringify([pinned]));
    service = await openService({
      config: { clientMetadata: { mode: 'on', file, guard: { allowLoopback: true, ca: cert } } },
    });
    // The clock stands still, so that requests limited per minute fall into the same minute, however slow the machine
    // is.
    service.clock.stand(new Date(Math.ceil(Date.now() / 60_000) * 60_000));
    ada = await addPerson(service, 'Ada');
    bert = await addPerson(service, 'Bert');
  });
  afterAll(async () => {
    await service?.close();
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => service.clock.advance(61_000));

  const asks = (url: string, changes: Parameters = {}): Parameters => ({
    client_id: url,
    redirect_uri: redirectUri,
    ...changes,
  });
  const look = (url: string, changes: Parameters = {}, person: Person | null = ada) =>
    visit(authorizeUrl(service, asks(url, changes)), person);

  /** Expects a page that refuses the request, without a redirect. */
  async function refused(url: string, says: RegExp, changes: Parameters = {}): Promise<void> {
    const response = await look(url, changes);
    expect([url, response.status, response.headers.get('location')]).toEqual([url, 400, null]);
    expect(await markupOf(response)).toMatch(says);
  }

  /** Runs the flow from the authorization request to the tokens. */
  async function connectBy(url: string, person = ada, changes: Parameters = {}): Promise<Grant> {
    const verifier = newVerifier();
    const asked = asks(url, { code_challenge: challengeOf(verifier), ...changes });
    const code = await approve(service, person, asked);
    const { status, body } = await askToken(service, {
      grant_type: 'authorization_code',
      client_id: url,
      code,
      code_verifier: verifier,
      redirect_uri: asked['redirect_uri'],
    });
    expect([status, body.error]).toEqual([200, undefined]);
    return { clientId: url, code, verifier, access: body.access_token ?? '', refresh: body.refresh_token ?? '' };
  }

  const listed = async (person = ada) => (await signedInWith(service, person.session).ask('/clients')).body.items;
  const rowsOf = (url: string) =>
    service.sql<{ id: string; created_by: string; name: string; deleted_at: Date | null }>(
      'select id, created_by, name, deleted_at from connected_clients where metadata_url = $1 order by id',
      [url],
    );

  test('are advertised in the server metadata, without a registration endpoint', async () => {
    const metadata = await (await fetch(`${service.origin}/.well-known/oauth-authorization-server`)).json();
    expect(metadata).toMatchObject({ client_id_metadata_document_supported: true });
    expect(metadata).not.toHaveProperty('registration_endpoint');
  });

  describe("connecting a client by its document's URL", () => {
    test('shows the host and that the client is new, and creates the client on approval', async () => {
      const url = publish();
      const markup = await markupOf(look(url));
      expect(markup).toContain('Let <span class="host">localhost</span> use Dealkeep in your name?');
      expect(markup).toContain('It calls itself “<bdi>Assistant Five</bdi>”.');
      expect(markup).toContain('<strong>New</strong>: you have not connected it before.');
      expect(markup).toContain(url);
      expect(await rowsOf(url)).toEqual([]);

      const grant = await connectBy(url);
      expect(await scopesOf(service, grant.access)).toEqual(['mcp:read', 'mcp:write']);
      const shown = (await listed()).find((client: { client_id: string }) => client.client_id === url);
      expect(shown).toMatchObject({
        name: 'Assistant Five',
        metadata_url: url,
        redirect_uris: [redirectUri],
        mine: true,
      });
      expect(shown.connected_at).not.toBeNull();
      const again = await markupOf(look(url));
      expect(again).toMatch(/You first connected it on \d{1,2} \p{L}+ \d{4}\./u);
      expect(again).not.toContain('<strong>New</strong>');
    });

    test('creates a client for each person, and tokens work for that client alone', async () => {
      const url = publish();
      const [hers, his] = [await connectBy(url), await connectBy(url, bert)];
      expect((await rowsOf(url)).map((row) => row.created_by)).toEqual([ada.id, bert.id]);
      const [client] = (await listed()).filter((one: { client_id: string }) => one.client_id === url);
      await signedInWith(service, ada.session).ask(`/clients/${client.id}/disconnect`, {});
      expect(await scopesOf(service, hers.access)).toBeNull();
      expect(await scopesOf(service, his.access)).toEqual(['mcp:read', 'mcp:write']);
      const renewed = await refresh(service, url, his.refresh);
      expect(renewed.status).toBe(200);
      // A refresh token does not work with the URL of another document.
      for (const other of [publish(), 'https://localhost/unknown.json']) {
        const { status, body } = await refresh(service, other, renewed.body.refresh_token ?? '');
        expect([status, body.error]).toEqual([400, 'invalid_grant']);
      }
      expect(
        (await post(service, '/api/mcp/revoke', { client_id: url, token: renewed.body.refresh_token })).status,
      ).toBe(200);
      expect((await refresh(service, url, renewed.body.refresh_token ?? '')).body.error).toBe('invalid_grant');
      expect((await post(service, '/api/mcp/revoke', { client_id: url, token: 'dkr_unknown' })).status).toBe(200);
    });

    test('limits the rate of unknown refresh tokens without blocking a valid one', async () => {
      const url = publish();
      const grant = await connectBy(url);
      const { rateLimits } = service.services.config;
      const before = { ...rateLimits };
      onTestFinished(() => void Object.assign(rateLimits, before));
      Object.assign(rateLimits, { token_failure: 3 });
      const statuses = [];
      for (let n = 0; n < 5; n += 1) statuses.push((await refresh(service, url, mint('refresh').token)).status);
      expect(statuses).toEqual([400, 400, 400, 429, 429]);
      expect((await refresh(service, url, grant.refresh)).status).toBe(200);
    });

    test("rejects the id of the client's record as client_id for consent, tokens and revocation", async () => {
      const url = publish();
      const grant = await connectBy(url);
      const id = (await rowsOf(url))[0]?.id ?? '';
      await refused(id, /There is no client with this client_id/);
      await refused(id, /There is no client with this client_id/, { redirect_uri: 'https://elsewhere.example/' });

      const verifier = newVerifier();
      const code = await approve(service, ada, asks(url, { code_challenge: challengeOf(verifier) }));
      const exchange = (clientId: string) =>
        askToken(service, {
          grant_type: 'authorization_code',
          client_id: clientId,
          code,
          code_verifier: verifier,
          redirect_uri: redirectUri,
        });
      expect((await exchange(id)).body.error).toBe('invalid_client');
      expect((await exchange(url)).status).toBe(200);
      expect((await refresh(service, id, grant.refresh)).body.error).toBe('invalid_client');
      const revoked = await post(service, '/api/mcp/revoke', { client_id: id, token: grant.refresh });
      expect(revoked.body.error).toBe('invalid_client');
      expect((await refresh(service, url, grant.refresh)).status).toBe(200);
    });

    test('creates one client for two simultaneous approvals', async () => {
      const url = publish();
      const forms = [await openConsent(service, ada, asks(url)), await openConsent(service, ada, asks(url))];
      const yes = [
        ['scope', 'mcp:read'],
        ['decision', 'approve'],
      ] as const;
      const answers = await Promise.all(forms.map((form) => decide(service, ada, [...Object.entries(form), ...yes])));
      expect(answers.map(({ status }) => status)).toEqual([302, 302]);
      expect(await rowsOf(url)).toHaveLength(1);
    });

    test('leaves only an audit record after a denial', async () => {
      const url = publish();
      const form = await openConsent(service, ada, asks(url));
      const response = await decide(service, ada, [...Object.entries(form), ['decision', 'deny']]);
      expect(answerOf(response).get('error')).toBe('access_denied');
      expect(await rowsOf(url)).toEqual([]);
      const records = await service.sql(
        `select details->>'document' as document from audit_records where action = 'consent.deny'`,
      );
      expect(records).toContainEqual({ document: url });
    });

    test('is rejected for a disabled client, and shows a deleted client as new', async () => {
      const url = publish();
      const grant = await connectBy(url);
      const { ask } = signedInWith(service, ada.session);
      const [{ id }] = (await listed()).filter((one: { client_id: string }) => one.client_id === url);
      await ask(`/clients/${id}/switch`, { disabled: true });
      await refused(url, /This client was turned off/);
      expect(await scopesOf(service, grant.access)).toBeNull();
      expect(await refresh(service, url, grant.refresh)).toMatchObject({
        status: 400,
        body: { error: 'invalid_grant' },
      });
      await ask(`/clients/${id}`, undefined, 'DELETE');
      expect(await refresh(service, url, grant.refresh)).toMatchObject({
        status: 400,
        body: { error: 'invalid_grant' },
      });
      expect((await post(service, '/api/mcp/revoke', { client_id: url, token: grant.refresh })).status).toBe(200);
      expect(await markupOf(look(url))).toContain('<strong>New</strong>');
      await connectBy(url);
      expect((await rowsOf(url)).map(({ deleted_at }) => deleted_at === null)).toEqual([false, true]);
    });

    test('of a person with 50 clients leads to deleting one, and back to the request', async () => {
      const dan = await addPerson(service, 'Dan');
      const first = await addClient(service, dan);
      for (let made = 1; made < 50; made += 1) await addClient(service, dan);
      const url = publish();
      const approved = async () =>
        decide(service, dan, [
          ...Object.entries(await openConsent(service, dan, asks(url))),
          ['scope', 'mcp:read'],
          ['decision', 'approve'],
        ]);
      const full = await approved();
      expect([full.status, full.headers.get('location')]).toEqual([409, null]);
      const markup = await markupOf(full);
      expect(markup).toContain('You have 50 clients, which is the limit');
      // Whoever follows it keeps this page, and the host that opened it in a popup its window.
      expect(markup).toContain('href="/settings/clients" target="_blank" rel="noopener"');
      const [, here = ''] = /href="(\/api\/mcp\/authorize\?[^"]*)"/.exec(markup) ?? [];
      expect(new URLSearchParams(decodeEntities(here).split('?')[1]).get('client_id')).toBe(url);
      await signedInWith(service, dan.session).ask(`/clients/${first}`, undefined, 'DELETE');
      expect((await approved()).status).toBe(302);
    });

    test('creates a client that cannot be renamed, given other redirect URIs or shared', async () => {
      const url = publish();
      await connectBy(url);
      const { ask } = signedInWith(service, ada.session);
      const [{ id }] = (await listed()).filter((one: { client_id: string }) => one.client_id === url);
      const changed = await ask(`/clients/${id}`, { name: 'Mine', redirect_uris: ['https://evil.example/'] }, 'PATCH');
      expect([changed.status, changed.body.error.code]).toEqual([409, 'from_document']);
      await expect(
        service.sql('update connected_clients set brokerage_id = gen_random_uuid() where id = $1', [id]),
      ).rejects.toThrow(/document_is_of_one_person/);
    });
  });

  describe('a changed document', () => {
    test('is fetched after its cache lifetime, its changes are shown, and removed redirect URIs end grants', async () => {
      const url = publish({}, { 'cache-control': 'max-age=600' });
      const grant = await connectBy(url);
      revise(
        url,
        { client_name: 'Another name', redirect_uris: ['https://localhost/new'] },
        { 'cache-control': 'max-age=600' },
      );
      expect(await markupOf(look(url))).toContain('<bdi>Assistant Five</bdi>');
      service.clock.advance(601_000);
      const markup = await markupOf(look(url, { redirect_uri: 'https://localhost/new' }));
      expect(markup).toContain('<bdi>Another name</bdi>');
      expect(markup).toContain('it was called “<bdi>Assistant Five</bdi>”');
      await refused(url, /not registered for it/);
      // Until a person agrees to the client's new document, the one that they agreed to before remains in force.
      expect((await rowsOf(url))[0]?.name).toBe('Assistant Five');
      const renewed = await refresh(service, url, grant.refresh);
      expect(renewed.status).toBe(200);
      await connectBy(url, ada, { redirect_uri: 'https://localhost/new' });
      expect((await rowsOf(url)).map(({ name }) => name)).toEqual(['Another name']);
      expect((await refresh(service, url, renewed.body.refresh_token ?? '')).body.error).toBe('invalid_grant');
    });

    test('cannot be approved by a consent form older than ten minutes, which leads to a new one', async () => {
      const url = publish();
      const form = await openConsent(service, ada, asks(url));
      service.clock.advance(601_000);
      const late = await decide(service, ada, [
        ...Object.entries(form),
        ['scope', 'mcp:read'],
        ['decision', 'approve'],
      ]);
      expect([late.status, late.headers.get('location')]).toEqual([
        303,
        expect.stringMatching(/^\/api\/mcp\/authorize\?/),
      ]);
      expect(await rowsOf(url)).toEqual([]);
    });
  });

  describe('redirect URIs of a document', () => {
    test('match exactly, and on loopback hosts with any port', async () => {
      const url = publish({
        redirect_uris: ['http://127.0.0.1:3118/callback', 'http://localhost/cb', redirectUri, 'app://x'],
      });
      for (const good of [
        'http://127.0.0.1:51234/callback',
        'http://127.0.0.1:3118/callback',
        'http://localhost:7/cb',
        redirectUri,
      ])
        expect([good, (await look(url, { redirect_uri: good })).status]).toEqual([good, 200]);
      for (const bad of [
        'http://localhost:3118/callback',
        `${redirectUri}/`,
        'https://localhost:1/callback',
        'app://x',
      ])
        await refused(url, /does not list the address/, { redirect_uri: bad });
    });

    test('on another host than the document are pointed out on the consent page', async () => {
      const url = publish({ redirect_uris: ['https://elsewhere.example/cb'] });
      const markup = await markupOf(look(url, { redirect_uri: 'https://elsewhere.example/cb' }));
      expect(markup).toContain('Its responses go to elsewhere.example, which is not localhost');
    });
  });

  describe('an invalid authorization request', () => {
    const faults: [Parameters, RegExp, string][] = [
      [{ response_type: undefined }, /response_type is missing/, 'invalid_request'],
      [{ scope: 'everything' }, /The scopes are/, 'invalid_scope'],
      [{ code_challenge: 'short' }, /code_challenge must be/, 'invalid_request'],
    ];

    test('gets an error page without a redirect if the person has not approved the client', async () => {
      const url = publish({ redirect_uris: ['https://evil.example/login', redirectUri] });
      for (const [changes, says] of faults) {
        await refused(url, says, { ...changes, redirect_uri: 'https://evil.example/login' });
        await refused(url, /It says that it is from <strong>localhost<\/strong>/, changes);
      }
      // The consent of another person changes nothing.
      await connectBy(url, bert);
      await refused(url, /response_type is missing/, { response_type: undefined });
    });

    test('is redirected to an approved client, except to a redirect URI added after the approval', async () => {
      const url = publish({}, { 'cache-control': 'max-age=60' });
      await connectBy(url);
      for (const [changes, , error] of faults) {
        const response = await look(url, changes);
        expect([response.status, answerOf(response).get('error')]).toEqual([302, error]);
        expect(response.headers.get('location')).toContain(`${redirectUri}?`);
      }
      revise(url, { redirect_uris: [redirectUri, 'https://evil.example/login'] });
      service.clock.advance(61_000);
      await refused(url, /response_type is missing/, {
        response_type: undefined,
        redirect_uri: 'https://evil.example/login',
      });
      expect((await look(url, { response_type: undefined })).status).toBe(302);
    });
  });

  describe('fetching a document', () => {
    test('is done only for signed-in people, and not by the token endpoint', async () => {
      const url = publish();
      const response = await look(url, {}, null);
      expect([response.status, response.headers.get('location')]).toEqual([302, expect.stringMatching(/^\/sign-in\?/)]);
      expect(host.asked).not.toContain(new URL(url).pathname);
      // The token endpoint does not fetch it either.
      await refresh(service, url, 'dkr_nothing');
      expect(host.asked).not.toContain(new URL(url).pathname);
    });

    test('is done once while the document is fresh, and for 20 new documents a minute and person', async () => {
      const url = publish();
      await Promise.all(Array.from({ length: 12 }, () => look(url)));
      expect(host.asked.filter((asked) => asked === new URL(url).pathname)).toHaveLength(1);
      service.clock.advance(61_000);
      for (let at = 0; at < 20; at += 1) expect((await look(publish())).status).toBe(200);
      const over = await look(publish());
      expect(over.status).toBe(429);
      const wait = over.headers.get('retry-after');
      expect(await markupOf(over)).toContain(
        `Too many new clients: try again in ${wait} ${wait === '1' ? 'second' : 'seconds'}.`,
      );
      expect((await look(publish(), {}, bert)).status).toBe(200);
      // A known document does not count against the limit.
      expect((await look(url)).status).toBe(200);
    });

    test('is done once for simultaneous reads of the same document', async () => {
      const { services } = service.nodes[0] ?? service;
      const documents = openClientDocuments(services);
      const url = publish();
      const read = await Promise.all(Array.from({ length: 5 }, () => documents.read(url, ada.id)));
      expect(read.map((document) => document.url)).toEqual(Array.from({ length: 5 }, () => url));
      expect(host.asked.filter((asked) => asked === new URL(url).pathname)).toHaveLength(1);
    });

    test('is limited to two at once per person, so that slow hosts do not block other people', async () => {
      const slow = [publish(), publish(), publish()];
      const { promise: until, resolve: release } = Promise.withResolvers<void>();
      host.until = until;
      try {
        const looks = slow.map((url) => look(url));
        const turnedAway = await Promise.race(looks);
        expect([turnedAway.status, turnedAway.headers.get('retry-after')]).toEqual([429, '5']);
        const answers = looks.map((answer) => markupOf(answer));
        expect(await Promise.race(answers)).toContain('Two clients are already being looked up for you');
        // Another person's request waits like the first two instead of being refused.
        answers.push(markupOf(look(publish(), {}, bert)));
        release();
        const away = (await Promise.all(answers)).map((markup) => markup.includes('being looked up'));
        expect(away.filter(Boolean)).toHaveLength(1);
        expect(away[3]).toBe(false);
      } finally {
        release();
        host.until = Promise.resolve();
      }
    });

    test('follows no redirects and accepts no status but 200', async () => {
      const url = publish();
      const other = publish();
      const at = new URL(url).pathname;
      host.documents.set(at, { status: 302, headers: { location: other }, body: '' });
      await refused(url, /it answered 302/);
      host.documents.set(at, { status: 404, body: host.documents.get(new URL(other).pathname)?.body ?? '' });
      await refused(url, /it answered 404/);
      // An error is not cached.
      revise(url);
      expect((await look(url)).status).toBe(200);
    });

    test('rejects an oversized, malformed or unsuitable document with an explanation', async () => {
      const cases: [string | Record<string, unknown>, RegExp][] = [
        [`{"client_id":"${'x'.repeat(70_000)}"}`, /too large/],
        ['<html>', /not JSON/],
        ['[]', /does not describe a client/],
        ['null', /does not describe a client/],
        [{ client_id: `${origin}/another.json` }, /belongs to another client/],
        [{ token_endpoint_auth_method: 'client_secret_post' }, /Only clients without one/],
        [{ token_endpoint_auth_method: 'private_key_jwt' }, /Only clients without one/],
        [{ client_secret: 'x' }, /Only clients without one/],
        [{ grant_types: ['client_credentials'] }, /authorization codes/],
        [{ redirect_uris: ['app://x', 'http://evil.example/', 'https://*.example/'] }, /no redirect URI/],
        [{ redirect_uris: 'https://localhost/callback' }, /no redirect URI/],
        [{ redirect_uris: Array.from({ length: 21 }, (_, n) => `https://localhost/${n}`) }, /more than 20/],
      ];
      for (const [given, says] of cases) {
        service.clock.advance(61_000);
        const url = publish(typeof given === 'string' ? {} : given);
        if (typeof given === 'string') host.documents.set(new URL(url).pathname, { body: given });
        await refused(url, says);
      }
    });

    test.each([
      'http://assistant.example/client.json',
      'https://assistant.example',
      'https://assistant.example/',
      'https://assistant.example/a/../client.json',
      'https://assistant.example/client.json#x',
      'https://assistant.example/client.json#',
      'https://me@assistant.example/client.json',
      'https://ASSISTANT.example/client.json',
      'https://assistant.example:443/client.json',
      'https://93.184.216.34/client.json',
      'https://10.0.0.1/client.json',
      'https://intranet/client.json',
      'https://router.local/client.json',
      'https://assistant.example:22/client.json',
      `https://assistant.example/${'x'.repeat(1_000)}`,
    ])('rejects the URL %s without a request', async (url) => {
      expect(documentUrlFault(url, { allowLoopback: false })).not.toBeNull();
      await refused(url, /no client can be identified by a document there/);
    });

    test('makes no request to a loopback host unless the configuration allows it', async () => {
      const { services } = service.nodes[0] ?? service;
      const strict = openClientDocuments({
        ...services,
        config: {
          ...services.config,
          clientMetadata: { mode: 'on', file: undefined, guard: { allowLoopback: false } },
        },
      });
      const before = host.asked.length;
      await expect(strict.read(publish(), ada.id)).rejects.toThrow(/found on the Internet/);
      expect(host.asked).toHaveLength(before);
    });

    test('caches it as long as its headers say, at least a minute and at most a day', () => {
      const now = new Date('2030-01-01T00:00:00Z');
      const keep = (headers: Record<string, string>) => freshness({ headers }, now) / 1_000;
      expect(keep({})).toBe(300);
      expect(keep({ 'cache-control': 'public, max-age=7200' })).toBe(7_200);
      expect(keep({ 'cache-control': 'max-age=7200', age: '7000' })).toBe(200);
      expect(keep({ 'cache-control': 'max-age=99999999' })).toBe(86_400);
      expect(keep({ 'cache-control': 'max-age=600, no-store' })).toBe(60);
      expect(keep({ 'cache-control': 'no-cache' })).toBe(60);
      expect(keep({ expires: 'Tue, 01 Jan 2030 01:00:00 GMT' })).toBe(3_600);
      expect(keep({ expires: '0' })).toBe(60);
    });
  });

  describe('misleading names and hosts', () => {
    test('client names are shown escaped and without invisible characters', async () => {
      const url = publish({ client_name: '  Assis\u202etant\u200b <b>Five</b>\n' });
      const markup = await markupOf(look(url));
      expect(markup).toContain('It calls itself “<bdi>Assistant &lt;b&gt;Five&lt;/b&gt;</bdi>”.');
      expect(readDocument(url, { client_id: url, redirect_uris: [redirectUri], client_name: '\u200b ' }).name).toBe(
        'localhost',
      );
      expect([
        ...readDocument(url, { client_id: url, redirect_uris: [redirectUri], client_name: 'é'.repeat(300) }).name,
      ]).toHaveLength(40);
    });

    test('a name cannot read like a sentence of ours', async () => {
      const sentence =
        'Claude”, which Dealkeep has checked, renew what you allowed before. Nothing new is allowed. Let “it';
      const markup = await markupOf(look(publish({ client_name: sentence })));
      expect(markup).toContain('<h1> Let <span class="host">localhost</span> use Dealkeep in your name? </h1>');
      expect(markup).toContain('It calls itself “<bdi>Claude, which Dealkeep has checked, rene</bdi>”.');
      expect(markup).not.toContain('Nothing new');
      expect(await markupOf(look(publish({ client_name: "Ann's client" })))).toContain('“<bdi>Ann&#39;s client</bdi>”');
    });

    test('letters of other scripts are pointed out on the consent page', async () => {
      expect(await markupOf(look(publish({ client_name: 'Сlaude' })))).toContain('letters that can look like others');
      expect(await markupOf(look(publish({ client_name: 'Café 5' })))).not.toContain(
        'letters that can look like others',
      );
      const url = publish({ redirect_uris: ['https://xn--80ak6aa92e.example/cb'] });
      const markup = await markupOf(look(url, { redirect_uri: 'https://xn--80ak6aa92e.example/cb' }));
      expect(markup).toContain('letters that can look like others');
      expect(markup).toContain('<strong>xn--80ak6aa92e.example</strong>');
    });
  });

  describe('pinned documents', () => {
    test('are not fetched, may offer a key besides none, and keep only allowed redirect URIs', async () => {
      const markup = await markupOf(look(pinnedUrl, { redirect_uri: 'http://127.0.0.1:40000/' }));
      expect(markup).toContain('Let <span class="host">assistant.example</span> use');
      expect(markup).toContain('It calls itself “<bdi>Pinned assistant</bdi>”.');
      await connectBy(pinnedUrl, ada, { redirect_uri: 'https://assistant.example/back' });
      await refused(pinnedUrl, /does not list/, { redirect_uri: 'assistant://back' });
    });

    test('of well-known hosts in deploy/client-documents.json are valid', async () => {
      const { services } = service.nodes[0] ?? service;
      const file = path.join(import.meta.dirname, '../../deploy/client-documents.json');
      const clientMetadata = { mode: 'pinned', file, guard: { allowLoopback: false } } as const;
      const documents = openClientDocuments({ ...services, config: { ...services.config, clientMetadata } });
      for (const [url, name] of [
        ['https://claude.ai/oauth/claude-code-client-metadata', 'Claude Code'],
        ['https://chatgpt.com/oauth/codex/client.json', 'Codex'],
        ['https://chatgpt.com/oauth/client.json', 'ChatGPT'],
      ] as const)
        expect(await documents.read(url, ada.id)).toMatchObject({ url, name });
    });

    test('are the only accepted documents in mode pinned, and rejected in mode off', async () => {
      const { services } = service.nodes[0] ?? service;
      const { file, guard } = services.config.clientMetadata;
      const of = (mode: 'pinned' | 'off') =>
        openClientDocuments({ ...services, config: { ...services.config, clientMetadata: { mode, file, guard } } });
      expect((await of('pinned').read(pinnedUrl, ada.id)).name).toBe('Pinned assistant');
      await expect(of('pinned').read(publish(), ada.id)).rejects.toThrow(/the operator of this service allows/);
      await expect(of('off').read(pinnedUrl, ada.id)).rejects.toThrow(/the operator of this service allows/);
    });

    test.each(['pinned', 'off'] as const)(
      'with CLIENT_METADATA=%s, block clients of other documents without revoking, but not registered ones',
      async (mode) => {
        const other = await connectBy(publish());
        const pinned = await connectBy(pinnedUrl, ada, { redirect_uri: 'https://assistant.example/back' });
        const registered = await connect(service, ada, await addClient(service, ada));
        const { services } = service;
        const clientMetadata = { ...services.config.clientMetadata, mode };
        const listener = await listen('127.0.0.1', 0);
        listener.answerWith(createApp({ ...services, config: { ...services.config, clientMetadata } }), services);
        onTestFinished(() => listener.close(1));
        const node = { origin: `http://127.0.0.1:${listener.port}` };
        const calls = async (at: { readonly origin: string }, { access }: Grant) =>
          (
            await fetch(`${at.origin}/api/mcp`, {
              method: 'POST',
              headers: {
                Authorization: `Bearer ${access}`,
                'Content-Type': 'application/json',
                Accept: 'application/json',
              },
              body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
            })
          ).status;
        const goesOn = mode === 'pinned' ? 200 : 401;
        for (const at of [service, node, node]) {
          const here = at === service;
          expect(await Promise.all([other, pinned, registered].map((grant) => calls(at, grant)))).toEqual(
            here ? [200, 200, 200] : [401, goesOn, 200],
          );
        }
        // The settings page shows which clients are refused.
        const { headers } = signedInWith(service, ada.session);
        const onPage = async (at: { readonly origin: string }) => {
          const answer = await fetch(`${at.origin}/api/web/clients`, { headers });
          const { items } = (await answer.json()) as { items: { client_id: string; refused: boolean }[] };
          return [other, pinned, registered].map(
            ({ clientId }) => items.find((one) => one.client_id === clientId)?.refused,
          );
        };
        expect(await onPage(service)).toEqual([false, false, false]);
        expect(await onPage(node)).toEqual([true, mode === 'off', false]);
        const refreshed = async ({ clientId, refresh: token }: Grant) => {
          const { status, body } = await refresh(node, clientId, token);
          return body.error ?? status;
        };
        expect(await refreshed(other)).toBe('invalid_client');
        expect(await refreshed(pinned)).toBe(mode === 'pinned' ? 200 : 'invalid_client');
        expect(await refreshed(registered)).toBe(200);
        // The page of the authorize endpoint gives the reason.
        const asked = new URL(authorizeUrl(service, asks(other.clientId)));
        const told = await visit(node.origin + asked.pathname + asked.search, ada);
        expect([told.status, await markupOf(told)]).toEqual([
          400,
          expect.stringContaining('that the operator of this service allows'),
        ]);
        // Nothing was revoked by the refusal.
        expect((await refresh(service, other.clientId, other.refresh)).status).toBe(200);
        // A client can revoke its tokens, whether it is accepted or not.
        expect((await post(node, '/api/mcp/revoke', { token: other.access, client_id: other.clientId })).status).toBe(
          200,
        );
        expect(await scopesOf(service, other.access)).toBeNull();
      },
    );

    test.each([
      ['not JSON', '{', /cannot be read as JSON/],
      ['no array', '{}', /must be an array/],
      ['no client_id', '[{}]', /no client_id in entry 1/],
      ['a bad address', '[{"client_id":"http://a.example/c"}]', /begin with https/],
      ['a bad document', '[{"client_id":"https://a.example/c"}]', /cannot be used in entry 1/],
    ])('prevent the service from starting if their file is invalid: %s', async (_, content, says) => {
      const file = path.join(inject('directory'), `pinned-${(count += 1)}.json`);
      await writeFile(file, content);
      const { services } = service.nodes[0] ?? service;
      const clientMetadata = { mode: 'on', file, guard: { allowLoopback: false } } as const;
      expect(() => openClientDocuments({ ...services, config: { ...services.config, clientMetadata } })).toThrow(says);
    });
  });
});
