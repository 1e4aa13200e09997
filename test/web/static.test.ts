/** How the built application is served: content security policy, caching, compression, and missing files. */

import { gunzipSync, brotliDecompressSync } from 'node:zlib';
import http from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Hono } from 'hono';
import { publicOrigin } from '../../server/http/session.ts';
import { staticRoutes } from '../../server/web/static.ts';
import { openService, type TestService } from '../harness.ts';

let service: TestService;
let secure: TestService;
let script: string;

beforeAll(async () => {
  service = await openService();
  secure = await openService({ config: { baseUrl: 'https://deals.example.com' } });
  const page = await (await fetch(`${service.origin}/`)).text();
  script = /src="(\/assets\/[^"]+\.js)"/.exec(page)?.[1] ?? '';
});
afterAll(async () => {
  await service?.close();
  await secure?.close();
});

interface Raw {
  status: number | undefined;
  headers: http.IncomingHttpHeaders;
  body: Buffer;
}

/** Sends a request without fetch, which decodes bodies and normalizes paths. */
function ask(
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
  origin = service.origin,
): Promise<Raw> {
  const { promise, resolve, reject } = Promise.withResolvers<Raw>();
  const { hostname, port } = new URL(origin);
  http
    .request({ hostname, port, path, method, headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () =>
        resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(parts) }),
      );
    })
    .on('error', reject)
    .end();
  return promise;
}

describe('pages', () => {
  test('respond with 503 if the application is not built, as HTML or JSON', async () => {
    const app = new Hono().use(publicOrigin(service.config.baseUrl)).route('/', staticRoutes('/nothing/is/built/here'));
    for (const path of ['/', '/sign-in', '/deals/0191/questions']) {
      const page = await app.request(path, { headers: { accept: 'text/html' } });
      expect([path, page.status, await page.text()]).toEqual([path, 503, expect.stringContaining('is not built')]);
      const answer = await app.request(path);
      expect([path, answer.status, await answer.json()]).toMatchObject([path, 503, { error: { code: 'not_built' } }]);
    }
    expect((await app.request('/assets/index.js')).status).toBe(404);
  });

  test.each(['/', '/deals', '/deals/0191', '/deals/0191/questions', '/contacts', '/settings', '/settings/profile'])(
    '%s is the application, revalidated on each request',
    async (path) => {
      const { status, headers, body } = await ask(path);
      expect(status).toBe(200);
      expect(headers['content-type']).toBe('text/html; charset=utf-8');
      expect(headers['cache-control']).toBe('no-cache');
      expect(body.toString()).toContain('<div id="root">');
    },
  );

  test('allow only scripts and styles of the service, and no framing', async () => {
    const { headers } = await ask('/deals');
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("style-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("object-src 'none'");
    expect(policy).not.toMatch(/unsafe|http:|https:|\*/);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'same-origin',
      'permissions-policy': expect.stringContaining('camera=()'),
    });
  });

  test('contain no inline script or style, and nothing from other origins', async () => {
    const page = (await ask('/')).body.toString();
    expect(page).not.toMatch(/<script(?![^>]*\ssrc="\/)[^>]*>|<style|\sstyle=|\son\w+=|https?:\/\//);
  });

  test('have a Strict-Transport-Security header only behind https', async () => {
    expect((await ask('/')).headers['strict-transport-security']).toBeUndefined();
    expect((await ask('/', {}, 'GET', secure.origin)).headers['strict-transport-security']).toMatch(
      /^max-age=31536000/,
    );
  });

  test.each([
    '/nowhere',
    '/deals/a/b/c',
    '/index.html',
    '/assets',
    '/api/web/nothing',
    '/.env',
    '/assets/../index.html',
  ])('%s does not serve the application', async (path) => {
    const { status, body } = await ask(path);
    expect([400, 401, 404]).toContain(status);
    expect(body.toString()).not.toContain('<div id="root">');
  });

  test('respond to HEAD without a body, and to POST with 404', async () => {
    expect((await ask('/deals', {}, 'POST')).status).toBe(404);
    const head = await ask('/deals', {}, 'HEAD');
    expect(head.status).toBe(200);
    expect(head.body).toHaveLength(0);
  });
});

describe('files', () => {
  test('with a hash in their name are cached permanently', async () => {
    expect((await ask(script)).headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect((await ask('/theme.js')).headers['cache-control']).toBe('no-cache');
  });

  test('of an older build are answered with 404, not with the page', async () => {
    const { status, headers } = await ask('/assets/index-gone.js');
    expect(status).toBe(404);
    expect(headers['cache-control'] ?? '').not.toContain('immutable');
  });

  test('are compressed as the browser accepts, with identical contents', async () => {
    const plain = await ask(script);
    const brotli = await ask(script, { 'accept-encoding': 'gzip, deflate, br, zstd' });
    const gzip = await ask(script, { 'accept-encoding': 'br;q=0, gzip;q=0.5' });
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(brotli.headers['content-encoding']).toBe('br');
    expect(gzip.headers['content-encoding']).toBe('gzip');
    // Strong tags: each is of one sequence of bytes.
    const tags = [plain, brotli, gzip].map(({ headers }) => headers['etag']!);
    expect(new Set(tags).size).toBe(3);
    for (const tag of tags) expect((await ask(script, { 'if-none-match': tag })).status).toBe(304);
    expect(brotliDecompressSync(brotli.body).equals(plain.body)).toBe(true);
    expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true);
    for (const { headers, body } of [plain, brotli, gzip]) {
      expect(headers['vary']).toBe('Accept-Encoding');
      expect(headers['content-length']).toBe(String(body.length));
      expect(headers['content-type']).toBe('text/javascript; charset=utf-8');
    }
  });

  test('that the browser has cached are answered with 304', async () => {
    const { headers } = await ask('/theme.js');
    const again = await ask('/theme.js', { 'if-none-match': `"other", W/${headers['etag']}` });
    expect(again.status).toBe(304);
    expect(again.body).toHaveLength(0);
    expect((await ask('/theme.js', { 'if-none-match': '"other"' })).status).toBe(200);
  });
});
