import http from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openService, type TestService } from '../harness.ts';

let service: TestService;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

type Document = Record<string, unknown>;
const get = async (path: string): Promise<Document> => (await fetch(service.origin + path)).json() as Promise<Document>;

const serverPaths = ['', '/', '/api/mcp', '/api/mcp/', '/mcp', '/mcp/'].map(
  (path) => `/.well-known/oauth-authorization-server${path}`,
);

test.each(serverPaths)('1. %s names the configured origin as issuer, in JSON', async (path) => {
  const response = await fetch(service.origin + path);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toMatch(/^application\/json/);
  expect(((await response.json()) as Document)['issuer']).toBe(service.config.baseUrl);
});

test('2. endpoints, response types, grants, PKCE, authentication, scopes and iss are as specified', async () => {
  expect(await get('/.well-known/oauth-authorization-server')).toMatchObject({
    authorization_endpoint: `${service.config.baseUrl}/api/mcp/authorize`,
    token_endpoint: `${service.config.baseUrl}/api/mcp/token`,
    revocation_endpoint: `${service.config.baseUrl}/api/mcp/revoke`,
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    scopes_supported: ['mcp:read', 'mcp:write'],
    authorization_response_iss_parameter_supported: true,
  });
});

test('3. features that OAuth 2.1 has removed are not advertised', async () => {
  const metadata = await get('/.well-known/oauth-authorization-server');
  expect(JSON.stringify(metadata)).not.toMatch(
    /implicit|password|client_credentials|plain|client_secret|offline_access/,
  );
  expect(metadata).not.toHaveProperty('registration_endpoint');
});

test.each([
  '/.well-known/openid-configuration',
  '/.well-known/openid-configuration/api/mcp',
  '/.well-known/oauth-protected-resource/api/other',
])('4. %s is a 404 in JSON, also for a browser', async (path) => {
  const response = await fetch(service.origin + path, { headers: { accept: 'text/html' } });
  expect(response.status).toBe(404);
  expect(response.headers.get('content-type')).toMatch(/^application\/json/);
});

test.each([
  ['/.well-known/oauth-protected-resource', ''],
  ['/.well-known/oauth-protected-resource/api/mcp', '/api/mcp'],
  ['/.well-known/oauth-protected-resource/mcp', '/mcp'],
  ['/.well-known/oauth-protected-resource/', ''],
  ['/.well-known/oauth-protected-resource/api/mcp/', '/api/mcp/'],
  ['/.well-known/oauth-protected-resource/mcp/', '/mcp/'],
])('5. %s describes the resource at %s', async (path, resource) => {
  expect(await get(path)).toMatchObject({
    resource: service.config.baseUrl + resource,
    authorization_servers: [service.config.baseUrl],
    scopes_supported: ['mcp:read', 'mcp:write'],
    bearer_methods_supported: ['header'],
    resource_name: 'Dealkeep',
  });
});

test('6. metadata, token and revocation responses have CORS headers, also errors; authorize has none', async () => {
  const origin = { origin: 'https://elsewhere.example' };
  const open = [
    fetch(`${service.origin}/.well-known/oauth-authorization-server`, { headers: origin }),
    fetch(`${service.origin}/.well-known/oauth-protected-resource/mcp`, { headers: origin }),
    fetch(`${service.origin}/.well-known/openid-configuration`, { headers: origin }),
    fetch(`${service.origin}/api/mcp/token`, {
      method: 'POST',
      headers: origin,
      body: new URLSearchParams({ grant_type: 'x' }),
    }),
    fetch(`${service.origin}/api/mcp/token`, { headers: origin }),
    fetch(`${service.origin}/api/mcp/revoke`, { method: 'POST', headers: origin, body: '{' }),
  ];
  for (const response of await Promise.all(open)) {
    expect([response.url, response.headers.get('access-control-allow-origin')]).toEqual([response.url, '*']);
    expect(response.headers.get('access-control-allow-credentials')).toBeNull();
  }
  for (const path of ['/api/mcp/token', '/api/mcp/revoke', '/.well-known/oauth-authorization-server']) {
    const preflight = await fetch(service.origin + path, {
      method: 'OPTIONS',
      headers: {
        ...origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,mcp-protocol-version',
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    expect(preflight.headers.get('access-control-allow-headers')?.toLowerCase()).toContain('mcp-protocol-version');
  }
  for (const method of ['GET', 'POST', 'OPTIONS']) {
    const response = await fetch(`${service.origin}/api/mcp/authorize`, { method, headers: origin });
    expect([method, response.headers.get('access-control-allow-origin')]).toEqual([method, null]);
  }
});

test('7. a spoofed Host or X-Forwarded-Host does not change the metadata', async () => {
  const expected = await get('/.well-known/oauth-authorization-server');
  const headers = {
    host: 'evil.example',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
    forwarded: 'host=evil.example',
  };
  const text = await new Promise<string>((resolve, reject) => {
    http
      .get(`${service.origin}/.well-known/oauth-authorization-server`, { headers }, (response) => {
        let body = '';
        response.on('data', (part: Buffer) => (body += part.toString()));
        response.on('end', () => resolve(body));
      })
      .on('error', reject);
  });
  expect(JSON.parse(text)).toEqual(expected);
});
