/**
 * The security headers of every response of the service: every route and method, signed in or not, and also on errors.
 */

import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect } from '../policies/scene.ts';
import { addToken } from '../tools/scene.ts';
import { brokerage } from '../rest/scene.ts';
import { authorizeUrl, callback } from '../oauth/scene.ts';
import { askPlainly, changing, openWalk, stopAsking, type Walk } from './routes.ts';

const build = path.join(import.meta.dirname, '../../web/dist');

/** Responses that are the same for everybody, and so may be cached. Every other response is personal, or could be. */
const forEverybody = [
  /^\/assets\//,
  /^\/(icon\.(png|svg)|manifest\.webmanifest|theme\.js|page\.css)$/,
  /^\/\.well-known\//,
  /^(\/api\/mcp|\/mcp|)\/server-card$/,
  /^\/api\/v1\/(openapi\.json|docs\/.+)$/,
];

interface Answer {
  readonly what: string;
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
}

function policyOf(headers: Headers): Map<string, string[]> {
  const directives = (headers.get('content-security-policy') ?? '').split(';').map((one) => one.trim().split(/\s+/));
  return new Map(directives.map(([name = '', ...sources]) => [name, sources]));
}

/** The faults of a response, in words. */
function faultsOf({ what, path: at, status, headers }: Answer, secure: boolean): string[] {
  const faults: string[] = [];
  const hold = (holds: boolean, fault: string) => {
    if (!holds) faults.push(`${what} (${status}): ${fault}`);
  };
  const policy = policyOf(headers);
  const sources = (directive: string) => policy.get(directive) ?? policy.get('default-src') ?? ['*'];
  const scripts = new Set(sources('script-src'));
  // The decoders of PDF.js run in a worker, to which the policy of the worker's own file applies.
  if (at.startsWith('/assets/')) scripts.delete("'wasm-unsafe-eval'");
  hold(
    [...scripts].every((source) => source === "'self'" || source === "'none'"),
    `scripts from ${[...scripts].join(' ')}`,
  );
  hold(
    [...policy.values()].flat().every((source) => !/^\*$|^https?:|unsafe-(eval|hashes)$/.test(source)),
    'a source too wide',
  );
  const styles = sources('style-src');
  hold(!styles.includes("'unsafe-inline'") || at === '/api/v1/docs', 'inline styles');
  hold(policy.get('frame-ancestors')?.join() === "'none'", 'may be framed');
  hold(policy.get('base-uri')?.join() === "'none'", 'base-uri');
  hold(sources('object-src').join() === "'none'", 'object-src');
  const forms = policy.get('form-action')?.join();
  // Chromium applies the policy also to the redirect to the client, after the form of the consent page.
  const toClient = at === '/api/mcp/authorize';
  hold(forms === "'none'" || forms === "'self'" || (forms === undefined && toClient), `forms go to ${forms}`);

  hold(headers.get('x-frame-options') === 'DENY', 'X-Frame-Options');
  hold(headers.get('x-content-type-options') === 'nosniff', 'X-Content-Type-Options');
  // Clients open the consent page in a popup, which may lead to signing in and back, and wait for it.
  const inPopup = /^(\/[a-z-]+\?return_to=)?\/api\/mcp\/authorize(\?|$)/.test(decodeURIComponent(at));
  const opener = inPopup ? 'unsafe-none' : 'same-origin';
  hold(headers.get('cross-origin-opener-policy') === opener, 'COOP');
  // Hosts of assistants show the icon.
  const users = /^\/icon\.(png|svg)$/.test(at) && status < 400 ? 'cross-origin' : 'same-origin';
  hold(headers.get('cross-origin-resource-policy') === users, 'CORP');
  hold(['no-referrer', 'same-origin'].includes(headers.get('referrer-policy') ?? ''), 'Referrer-Policy');
  const strict = headers.get('strict-transport-security');
  hold(secure ? Number(/^max-age=(\d+)/.exec(strict ?? '')?.[1]) >= 31_536_000 : strict === null, `HSTS ${strict}`);
  const kept = headers.get('cache-control') ?? '';
  const page = (headers.get('content-type') ?? '').startsWith('text/html') && kept === 'no-cache';
  const mayBeKept = status < 400 && (forEverybody.some((known) => known.test(at)) || page);
  hold(kept === 'no-store' || mayBeKept, `Cache-Control ${kept || 'missing'}`);
  return faults;
}

const browser = { accept: 'text/html', 'sec-fetch-dest': 'document' };
const plain = { accept: 'text/html' };

/**
 * Over https every route is requested in every way; over http, where the only difference is one header less, with one
 * method that reads and one that changes.
 */
const services = [
  {
    name: 'http',
    baseUrl: undefined,
    secure: false,
    ways: [{ method: 'GET' }, { method: 'POST' }],
    readings: [{}],
    reached: [200, 400, 401, 403, 404, 415],
  },
  {
    name: 'https',
    baseUrl: 'https://deals.example.com',
    secure: true,
    ways: [
      ...['GET', 'HEAD', 'OPTIONS', ...changing].map((method) => ({ method })),
      { method: 'GET', headers: browser },
      { method: 'GET', headers: plain },
      { method: 'GET', headers: { accept: 'text/event-stream' } },
      { method: 'POST', headers: { accept: 'text/event-stream' } },
      { method: 'POST', headers: { ...plain, origin: 'https://elsewhere.example' } },
    ],
    readings: [{}, browser, plain],
    reached: [200, 204, 400, 401, 403, 404, 405, 415],
  },
];

interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

afterAll(stopAsking);

describe.each(services)(
  'security headers over $name',
  { timeout: 240_000 },
  ({ baseUrl, secure, ways, readings, reached }) => {
    let walk: Walk;
    beforeAll(async () => {
      walk = await openWalk(baseUrl);
    });
    afterAll(() => walk?.close());

    const ask = async (method: string, at: string, asked: Asked = {}): Promise<Answer> => ({
      what: `${method} ${at}`,
      path: at,
      ...(await askPlainly(walk.service.origin + at, method, asked)),
    });
    const expectFaultless = (answers: readonly Answer[]) =>
      expect(answers.flatMap((answer) => faultsOf(answer, secure))).toEqual([]);
    const statuses = (answers: readonly Answer[]) => new Set(answers.map(({ status }) => status));

    test('are on every route without credentials', async () => {
      const paths = [...new Set(walk.routes.map((route) => route.path))];
      expect(paths.length).toBeGreaterThan(150);
      const answers: Answer[] = [];
      for (const at of paths)
        answers.push(...(await Promise.all(ways.map(({ method, ...init }) => ask(method, at, init)))));
      expectFaultless(answers);
      expect([...statuses(answers)]).toEqual(expect.arrayContaining(reached));
    });

    test('are on every route for a signed-in person, for reads and changes', async () => {
      const answers: Answer[] = [];
      for (const { path: at } of walk.routes.filter(({ method }) => method === 'GET')) {
        const headers = await walk.signedIn();
        answers.push(
          ...(await Promise.all(readings.map((how) => ask('GET', at, { headers: { ...headers, ...how } })))),
        );
      }
      expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(40 * readings.length);
      for (const { method, path: at } of walk.routes.filter((route) => changing.includes(route.method))) {
        const headers = { ...(await walk.signedIn()), 'content-type': 'application/json' };
        answers.push(await ask(method, at, { headers, body: '{}' }));
      }
      expectFaultless(answers);
      for (const status of [200, 204, 400, 404]) expect(statuses(answers)).toContain(status);
    });

    test('are on every file of the application, with and without If-None-Match', async () => {
      const names = readdirSync(build, { recursive: true, encoding: 'utf8' }).filter((name) => /\.\w+$/.test(name));
      const files = names.filter((name) => !/\.(br|gz)$/.test(name)).map((name) => `/${name}`);
      expect(existsSync(path.join(build, 'index.html'))).toBe(true);
      const answers: Answer[] = [];
      for (const file of files) {
        const answer = await ask('GET', file);
        answers.push(answer);
        const etag = answer.headers.get('etag');
        if (etag) answers.push(await ask('GET', file, { headers: { 'if-none-match': etag } }));
      }
      expectFaultless(answers);
      for (const status of [200, 304]) expect(statuses(answers)).toContain(status);
    });

    test('are on requests with an API key or access token, and on every step of an OAuth grant', async () => {
      const { service, scene } = walk;
      const key = await (await brokerage(service)).key();
      const { token, clientId } = await addToken(service, scene.people['broker']!);
      const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` });
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
      const call = {
        ...bearer(token),
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      };
      const at = (parameters: Record<string, string>) =>
        authorizeUrl(service, { client_id: clientId, redirect_uri: callback, ...parameters }).slice(
          service.origin.length,
        );
      const headers = { ...(await walk.signedIn()), ...browser };
      const answers = [
        await ask('GET', '/api/v1/contacts', { headers: bearer(key.token) }),
        await ask('POST', '/api/mcp', { headers: call, body }),
        await ask('POST', '/mcp', { headers: call, body }),
        await ask('POST', '/mcp', { headers: { ...call, origin: 'https://claude.ai' }, body }),
        await ask('GET', at({}), { headers }),
        await ask('GET', at({ scope: 'all' }), { headers }),
        await ask('GET', at({ redirect_uri: 'https://elsewhere.example' }), { headers }),
        await ask('GET', at({}), { headers: browser }),
      ].map((answer) => ({ ...answer, path: answer.path.split('?')[0]! }));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 302, 400, 302]);
      const signIn = `/sign-in?${new URLSearchParams({ return_to: at({}) })}`;
      expectFaultless([...answers, await ask('GET', signIn, { headers: plain })]);
    });

    test('are on responses to missing paths, oversized bodies and malformed bodies', async () => {
      const headers = await walk.signedIn();
      const large = 'x'.repeat(300_000);
      const json = { ...headers, 'content-type': 'application/json' };
      const form = { ...headers, 'content-type': 'application/x-www-form-urlencoded' };
      const answers = [];
      for (const start of [
        '',
        '/api',
        '/api/v1',
        '/api/auth',
        '/api/web',
        '/api/mcp',
        '/.well-known',
        '/settings/clients',
      ])
        for (const how of [{}, plain]) answers.push(await ask('GET', `${start}/no/such/thing`, { headers: how }));
      for (const at of ['/api/auth/profile', '/api/auth/sign-in', '/api/web/me', '/api/mcp/authorize'])
        answers.push(await ask('POST', at, { headers: { ...form, ...plain }, body: large }));
      for (const at of ['/api/auth/profile', '/api/web/deals', '/api/mcp/token', '/api/mcp/revoke', '/api/v1/contacts'])
        for (const body of [large, '{', 'null']) answers.push(await ask('POST', at, { headers: json, body }));
      expectFaultless(answers);
      for (const status of [400, 404, 413]) expect(statuses(answers)).toContain(status);
    });

    test('are on internal errors and while the database is unreachable', async () => {
      const { service, scene } = walk;
      const key = await (await brokerage(service)).key();
      const { token, clientId } = await addToken(service, scene.people['broker']!);
      const headers = await walk.signedIn();
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
      const everywhere = async () => [
        await ask('GET', '/api/v1/contacts', { headers: { authorization: `Bearer ${key.token}` } }),
        await ask('POST', '/api/mcp', {
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body,
        }),
        await ask('POST', '/api/mcp/token', {
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: `${new URLSearchParams({ grant_type: 'refresh_token', client_id: clientId, refresh_token: 'dkr_x' })}`,
        }),
        await ask('GET', '/api/web/me', { headers }),
        await ask('GET', '/api/auth/session', { headers }),
        await ask('GET', '/api/auth/sessions', { headers: { ...headers, ...plain } }),
        await ask(
          'GET',
          authorizeUrl(service, { client_id: clientId, redirect_uri: callback }).slice(service.origin.length),
          {
            headers: { ...headers, ...plain },
          },
        ),
        await ask('GET', '/readyz'),
      ];
      await service.sql(`create or replace function app.now() returns timestamptz language plpgsql stable set search_path = '' as
      $$ begin raise exception 'the clock is broken'; end $$`);
      await service.sql('alter table vault.refresh_tokens rename to mislaid');
      const failed = await everywhere();
      expect(failed.map(({ status }) => status)).toEqual([500, 500, 500, 500, 500, 500, 500, 200]);
      const server = await connect(service.connections.server);
      await service.sql(`alter database ${service.connections.server.database} with connection limit 0`);
      await server.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where usename = current_user and datname = current_database() and pid <> pg_backend_pid()',
      );
      await server.end();
      const away = await everywhere();
      expect(away.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 503));
      expectFaultless([...failed, ...away]);
    });
  },
);
