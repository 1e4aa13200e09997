/** The fate of a body that is larger than any endpoint accepts, and of the connection on which it was sent. */

import http from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openWalk, type Walk } from './routes.ts';

let walk: Walk;
beforeAll(async () => {
  walk = await openWalk();
});
afterAll(() => walk?.close());

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const json = { 'content-type': 'application/json' };
const large = 'x'.repeat(300_000);

/** Sends a request on a kept-alive connection; the local port tells whether it is the same connection. */
function ask(agent: http.Agent, method: string, path: string, headers = {}, body = '') {
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number | undefined;
    port: number | undefined;
    text: string;
  }>();
  const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const request = http.request(walk.service.origin + path, { method, agent, headers: { ...headers, ...length } });
  request.on('error', reject).on('response', (response) => {
    const port = request.socket?.localPort;
    let text = '';
    response
      .setEncoding('utf8')
      .on('data', (part: string) => (text += part))
      .on('end', () => resolve({ status: response.statusCode, port, text }));
  });
  request.end(body);
  return promise;
}

test.each([
  ['a sign-in', '/api/auth/sign-in', json],
  ['a program that changes an account', '/api/auth/profile', json],
  ['a deal', '/api/web/deals', json],
  ['the decision on a client', '/api/mcp/authorize', form],
])('%s that is too large gets 413, and the connection stays usable', async (_, path, type) => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const own = { ...(await walk.signedIn()), ...type };
  const refused = await ask(agent, 'POST', path, own, large);
  expect(refused.status).toBe(413);
  if (type === json) expect(JSON.parse(refused.text)).toMatchObject({ error: { code: 'validation_error' } });
  // The rest of a body is discarded for half a second; a client that is still sending would then be disconnected.
  const since = performance.now();
  for (let late = 0; late < 3; late += performance.now() - since > 600 ? 1 : 0) {
    expect(await ask(agent, 'GET', '/healthz')).toMatchObject({ status: 200, port: refused.port });
    await pause(50);
  }
  agent.destroy();
});
