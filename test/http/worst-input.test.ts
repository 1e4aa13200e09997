/**
 * Processing the input of a stranger or a member takes time in proportion to its length: no body is read without a
 * valid credential, and nothing takes quadratic time.
 */

import http from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { csrfToken } from '../../server/http/csrf.ts';
import { mintToken } from '../../server/domain/accounts/secret-tokens.ts';
import { answersSoon } from '../processor-time.ts';
import { brokerage } from '../rest/scene.ts';
import { upload } from '../web/uploads.ts';
import type { SignedIn } from '../web/person.ts';
import { asksForNoSession, beforeSession, changing, openWalk, type Walk } from './routes.ts';

let walk: Walk;
let broker: SignedIn;
beforeAll(async () => {
  walk = await openWalk();
  broker = await walk.as('broker');
});
afterAll(() => walk?.close());

/**
 * The status of a request that announces a body of 60 kB and sends nothing of it; undefined when the service waits for
 * the body.
 */
function announce(method: string, path: string, headers: Record<string, string>): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const request = http.request(walk.service.origin + path, {
    method,
    headers: { ...headers, 'content-length': '60000' },
  });
  request.on('error', reject).on('response', (response) => {
    resolve(response.statusCode);
    request.destroy();
  });
  request.flushHeaders();
  const waited = setTimeout(() => {
    resolve(undefined);
    request.destroy();
  }, 10_000);
  return promise.finally(() => clearTimeout(waited));
}

/** Signing out clears the cookie of any session; the decision on a client redirects to where it was requested. */
const anySession = new Set(['/api/auth/sign-out', '/api/mcp/authorize']);

test('no request body is read before the session, API key or token is verified', async () => {
  const madeUp = mintToken();
  const cookie = { cookie: `dealkeep=${madeUp}`, origin: walk.service.origin };
  const json = { ...cookie, 'x-csrf-token': csrfToken(madeUp), 'content-type': 'application/json' };
  const form = { ...cookie, 'content-type': 'application/x-www-form-urlencoded' };
  const routes = walk.routes.filter(({ method, pattern }) => changing.includes(method) && !anySession.has(pattern));
  const bySession = routes.filter(({ pattern }) => !asksForNoSession(pattern) && !(pattern in beforeSession));
  expect(bySession.length).toBeGreaterThan(80);
  for (const { method, path } of bySession) {
    expect([method, path, await announce(method, path, json)]).toEqual([method, path, 401]);
    // A form cannot send the header with the token.
    expect([method, path, await announce(method, path, form)]).toEqual([method, path, 403]);
  }
  const authorization = 'Bearer dk_live_0123456789abcdef0123456789abcdef';
  const type = { 'content-type': 'application/json' };
  for (const path of ['/api/v1/contacts', '/api/mcp', '/mcp']) {
    expect([path, await announce('POST', path, type)]).toEqual([path, 401]);
    expect([path, await announce('POST', path, { ...type, authorization })]).toEqual([path, 401]);
  }
});

const send = (path: string, body: string, headers: Record<string, string>) =>
  fetch(walk.service.origin + path, { method: 'POST', redirect: 'manual', headers, body }).then(async (response) => {
    await response.arrayBuffer();
    return response;
  });
const json = { 'content-type': 'application/json' };
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const csv = { 'content-type': 'text/csv' };

test.each([
  ['a text without an end', `{"a":"${'\\"'.repeat(131_000)}`],
  ['texts that end in a backslash', `"${'\\"'.repeat(130_000)}\\`],
  ['quotation marks alone', '"'.repeat(262_143)],
])('invalid JSON is rejected quickly by the web application: %s', async (_, body) => {
  expect(await answersSoon(() => send('/api/web/deals', body, { ...broker.headers, ...json }))).toBe(400);
});

test('an unterminated string in JSON is rejected quickly by the REST API, also six at once', async () => {
  const { token } = await (await brokerage(walk.service)).key();
  const headers = { ...json, authorization: `Bearer ${token}` };
  const body = `{"a":"${'\\"'.repeat(32_000)}`;
  const six = () => Promise.all(Array.from({ length: 6 }, () => send('/api/v1/contacts', body, headers)));
  expect(await answersSoon(async () => (await six())[0]!)).toBe(400);
});

test.each([
  ['49,000 columns', `name${','.repeat(49_000)}\n${'a\n'.repeat(9_000)}`, /at most 200 columns/],
  ['a line of quotation marks', `name\n"${'""'.repeat(49_000)}"\n`, null],
])('a contact list with %s is processed quickly', async (_, body, refusal) => {
  const path = `/api/web/contacts/import/preview?brokerage_id=${walk.scene.brokerage}`;
  let answer: Response | undefined;
  const preview = async () => {
    answer = await fetch(walk.service.origin + path, { method: 'POST', headers: { ...broker.headers, ...csv }, body });
    return answer;
  };
  expect(await answersSoon(preview)).toBe(refusal === null ? 200 : 400);
  if (refusal !== null) expect(await answer?.text()).toMatch(refusal);
});

test('a contact list of more than 500,000 cells is rejected', async () => {
  const path = `/api/web/contacts/import/preview?brokerage_id=${walk.scene.brokerage}`;
  const body = `name\n${`${'a,'.repeat(190)}a\n`.repeat(2_700)}`;
  const answer = await fetch(walk.service.origin + path, {
    method: 'POST',
    headers: { ...broker.headers, ...csv },
    body,
  });
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringMatching(/at most 500000 cells/)]);
});

test('an amount of 90,000 zeros is processed quickly', async () => {
  const path = `/api/web/deals/${walk.scene.deal}/qoe/snapshots/preview?snapshot_type=profit_and_loss`;
  const body = `month,revenue\n2025-01,0.${'0'.repeat(90_000)}1\n`;
  const { status } = await fetch(walk.service.origin + path, { method: 'POST', headers: broker.headers, body: 'x' });
  expect(status).toBe(400);
  expect(await answersSoon(() => send(path, body, { ...broker.headers, ...csv }))).toBe(200);
});

test.each([
  ['many parts', '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n'.repeat(95_000)],
  ['a part with many headers', `--b\r\n${'X-A: b\r\n'.repeat(650_000)}\r\n`],
  ['a name of percent signs', `--b\r\nContent-Disposition: form-data; name="${'%0'.repeat(2_500_000)}"\r\n\r\n\r\n`],
])('an upload of books with a form of %s is rejected quickly', async (_, parts) => {
  const path = `/api/web/deals/${walk.scene.deal}/qoe/snapshots/preview?snapshot_type=profit_and_loss`;
  const headers = { ...broker.headers, 'content-type': 'multipart/form-data; boundary=b' };
  expect(await answersSoon(() => send(path, `${parts}--b--`, headers))).toBe(400);
});

test('an accounting export with the most accounts, months and errors that are read is processed quickly', async () => {
  const path = `/api/web/deals/${walk.scene.deal}/qoe/snapshots/preview?snapshot_type=profit_and_loss`;
  const heading = `Account,${Array.from({ length: 120 }, (__, at) => `${2010 + Math.floor(at / 12)}-${(at % 12) + 1}`).join(',')}`;
  const wide = Array.from({ length: 1_000 }, (__, at) => `Sales ${at}${',1.01'.repeat(120)}`);
  expect(await answersSoon(() => send(path, [heading, ...wide].join('\n'), { ...broker.headers, ...csv }))).toBe(200);
  const name = 'x'.repeat(150);
  const nested = Array.from({ length: 600 }, (__, at) => `A${at} ${name}`);
  const sales = Array.from({ length: 600 }, (__, at) => `Sales ${at}${',1.01'.repeat(60)}`);
  const totals = nested.toReversed().map((one) => `Total ${one}${',1'.repeat(60)}`);
  const deep = [heading, ...nested, ...sales, ...totals].join('\n');
  expect(await answersSoon(() => send(path, deep, { ...broker.headers, ...csv }))).toBe(200);
});

test('an accounting export of many totals is processed quickly, and rejected above 200,000 amounts', async () => {
  const path = `/api/web/deals/${walk.scene.deal}/qoe/snapshots/preview?snapshot_type=profit_and_loss`;
  const heading = `Account,${Array.from({ length: 120 }, (__, at) => `${2010 + Math.floor(at / 12)}-${(at % 12) + 1}`).join(',')}`;
  const total = `Total income${',12345678901.25'.repeat(120)}`;
  const exported = (totals: number) =>
    [heading, `Sales${',1'.repeat(120)}`, ...Array.from({ length: totals }, () => total)].join('\n');
  const ofMany = exported(1_600);
  expect(await answersSoon(() => send(path, ofMany, { ...broker.headers, ...csv }))).toBe(200);
  const body = exported(2_500);
  const answer = await fetch(walk.service.origin + path, {
    method: 'POST',
    headers: { ...broker.headers, ...csv },
    body,
  });
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringMatching(/at most 200000 amounts/)]);
});

test('a sign-in password of combining marks is rejected quickly', async () => {
  const password = `a${'\u0301'.repeat(16_000)}${'\u0316'.repeat(16_000)}`;
  const body = JSON.stringify({ email: 'nobody@example.test', password });
  expect(await answersSoon(() => send('/api/auth/sign-in', body, json))).toBe(400);
});

test('a form of undecodable parameters is rejected quickly by the consent page and the token endpoint', async () => {
  const own = { ...broker.headers, ...form };
  expect(await answersSoon(() => send('/api/mcp/authorize', '%&'.repeat(16_000), own))).toBe(403);
  expect(await answersSoon(() => send('/api/mcp/token', '%&'.repeat(8_000), form))).toBe(400);
});

test('a document that is all ZIP headers with the longest names is rejected quickly', async () => {
  const head = Buffer.alloc(262_144);
  for (let at = 0; at + 30 < head.length; at += 30) {
    head.write('PK\u0003\u0004', at, 'latin1');
    head.writeUInt16LE(65_535, at + 26);
  }
  const sent = () => upload(walk.service, broker, walk.scene.deal, head, { filename: 'x.docx' });
  expect(await answersSoon(sent)).toBe(415);
});
