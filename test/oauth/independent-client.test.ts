/** The whole flow with oauth4webapi, which checks every response; none of its checks is switched off. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as oauth from 'oauth4webapi';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBrowser, openTestPage } from '../browser.ts';
import { openService, type TestService } from '../harness.ts';
import { addClient, addPerson, type Person } from './scene.ts';

// The service uses plain http on this machine; everything else is checked.
const options = { [oauth.allowInsecureRequests]: true };

let service: TestService;
let ada: Person;
let browser: Browser;
let listener: Server;
let redirectUri: string;
const arrived: URL[] = [];

beforeAll(async () => {
  service = await openService();
  ada = await addPerson(service, 'Ada');
  browser = await openBrowser();
  listener = createServer((request, response) => {
    arrived.push(new URL(request.url ?? '/', redirectUri));
    response.end('You can close this window.');
  });
  await new Promise<void>((resolve) => void listener.listen(0, '127.0.0.1', resolve));
  redirectUri = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/callback`;
});
afterAll(async () => {
  await browser?.close();
  listener?.close();
  await service?.close();
});

/** Lets the person decide in their browser; returns the URL of the redirect to the client. */
async function decideInBrowser(url: URL, button: 'Allow' | 'Deny', untick = false): Promise<URL> {
  const cookie = { name: 'dealkeep', value: ada.session };
  const { page, close } = await openTestPage(browser, service.origin, { cookie });
  await page.goto(url.href);
  if (untick) await page.getByRole('checkbox', { name: /mcp:write/ }).uncheck();
  await page.getByRole('button', { name: button }).click();
  await page.waitForURL(`${redirectUri}?**`);
  await close();
  const last = arrived.filter(({ pathname }) => pathname === '/callback').at(-1);
  if (!last) throw new Error('nothing came back');
  return last;
}

async function discover(): Promise<{ resource: oauth.ResourceServer; server: oauth.AuthorizationServer }> {
  const url = new URL(`${service.mcpUrl}/api/mcp`);
  const resource = await oauth.processResourceDiscoveryResponse(
    url,
    await oauth.resourceDiscoveryRequest(url, options),
  );
  const issuer = new URL(resource.authorization_servers?.[0] ?? '');
  const answer = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...options });
  return { resource, server: await oauth.processDiscoveryResponse(issuer, answer) };
}

async function authorizationUrl(
  server: oauth.AuthorizationServer,
  clientId: string,
  state: string,
  verifier: string,
  resource: string,
): Promise<URL> {
  const url = new URL(server.authorization_endpoint ?? '');
  const parameters = {
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    scope: 'mcp:read mcp:write',
    state,
    resource,
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url;
}

test('oauth4webapi completes discovery, consent, code, call, refresh, replay and revocation', async () => {
  const client: oauth.Client = { client_id: await addClient(service, ada, { redirectUris: [redirectUri] }) };
  const { resource, server } = await discover();
  const [state, verifier] = [oauth.generateRandomState(), oauth.generateRandomCodeVerifier()];
  const url = await authorizationUrl(server, client.client_id, state, verifier, resource.resource);
  const back = await decideInBrowser(url, 'Allow');
  const parameters = oauth.validateAuthResponse(server, client, back, state);
  const additionalParameters = new URLSearchParams({ resource: resource.resource });
  const first = await oauth.processAuthorizationCodeResponse(
    server,
    client,
    await oauth.authorizationCodeGrantRequest(server, client, oauth.None(), parameters, redirectUri, verifier, {
      additionalParameters,
      ...options,
    }),
  );
  expect([first.token_type, first.expires_in, first.scope]).toEqual(['bearer', 3600, 'mcp:read mcp:write']);

  const call = async (token: string) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    const headers = new Headers({
      'content-type': 'application/json',
      accept: 'application/json',
      'mcp-protocol-version': '2025-06-18',
    });
    return oauth.protectedResourceRequest(token, 'POST', new URL(resource.resource), headers, body, options);
  };
  expect((await call(first.access_token)).status).toBe(200);

  const refreshed = async (token: string) =>
    oauth.processRefreshTokenResponse(
      server,
      client,
      await oauth.refreshTokenGrantRequest(server, client, oauth.None(), token, options),
    );
  const second = await refreshed(first.refresh_token ?? '');
  expect(second.refresh_token).not.toBe(first.refresh_token);
  expect((await call(second.access_token)).status).toBe(200);

  await oauth.processRevocationResponse(
    await oauth.revocationRequest(server, client, oauth.None(), second.access_token, options),
  );
  await expect(call(second.access_token)).rejects.toThrow(oauth.WWWAuthenticateChallengeError);

  await expect(refreshed(first.refresh_token ?? '')).rejects.toMatchObject({ error: 'invalid_grant', status: 400 });
  await expect(refreshed(second.refresh_token ?? '')).rejects.toMatchObject({ error: 'invalid_grant' });
});

test('oauth4webapi recognises a denial as an authorization error', async () => {
  const client: oauth.Client = { client_id: await addClient(service, ada, { redirectUris: [redirectUri] }) };
  const { resource, server } = await discover();
  const state = oauth.generateRandomState();
  const url = await authorizationUrl(
    server,
    client.client_id,
    state,
    oauth.generateRandomCodeVerifier(),
    resource.resource,
  );
  const back = await decideInBrowser(url, 'Deny');
  expect(() => oauth.validateAuthResponse(server, client, back, state)).toThrow(
    expect.objectContaining({ error: 'access_denied', name: 'AuthorizationResponseError' }),
  );
});

test('oauth4webapi receives the narrowed scope of a consent', async () => {
  const client: oauth.Client = { client_id: await addClient(service, ada, { redirectUris: [redirectUri] }) };
  const { resource, server } = await discover();
  const [state, verifier] = [oauth.generateRandomState(), oauth.generateRandomCodeVerifier()];
  const url = await authorizationUrl(server, client.client_id, state, verifier, resource.resource);
  const parameters = oauth.validateAuthResponse(server, client, await decideInBrowser(url, 'Allow', true), state);
  const answer = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.None(),
    parameters,
    redirectUri,
    verifier,
    options,
  );
  expect((await oauth.processAuthorizationCodeResponse(server, client, answer)).scope).toBe('mcp:read');
});
