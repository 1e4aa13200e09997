import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { Conflict, Invalid } from '../../server/database/errors.ts';
import { row } from '../../server/database/statement.ts';
import { createLog } from '../../server/lib/log.ts';
import { openService, type TestService } from '../harness.ts';

let service: TestService;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service.close());

const random = (length: number) => randomBytes(length).toString('hex');

test('no credential in a request reaches the log, whichever part of the request carries it', async () => {
  const secrets = [
    `dk_live_${random(16)}`,
    `dka_${random(20)}`,
    `dkr_${random(20)}`,
    random(16),
    random(16),
    random(16),
  ];
  const [key = '', access = '', refresh = '', cookie = '', code = '', password = ''] = secrets;
  const before = service.log.length;
  await fetch(`${service.restUrl}/contacts`, { headers: { Authorization: `Bearer ${key}` } });
  await fetch(`${service.restUrl}/contacts?key=${key}`, { headers: { Cookie: `dealkeep=${cookie}` } });
  await fetch(`${service.mcpUrl}/api/mcp`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${access}` },
    body: '{}',
  });
  await fetch(`${service.mcpUrl}/api/mcp/token`, {
    method: 'POST',
    body: new URLSearchParams({ refresh_token: refresh, code }),
  });
  await fetch(`${service.origin}/api/auth/sign-in`, {
    method: 'POST',
    body: JSON.stringify({ email: 'a@b.example', password }),
  });
  await fetch(`${service.origin}/set-up?token=${code}`);
  await expect.poll(() => service.log.length - before).toBeGreaterThanOrEqual(6);
  const written = service.log.join('');
  for (const secret of secrets) expect(written).not.toContain(secret);
});

test('an external id in a path is not logged, whatever the method and the response', async () => {
  const before = service.log.length;
  for (const method of ['GET', 'PUT', 'DELETE'])
    await fetch(`${service.restUrl}/contacts/by-external-id/${encodeURIComponent('ann@people.example')}`, { method });
  await expect.poll(() => service.log.length - before).toBeGreaterThanOrEqual(3);
  const written = service.log.slice(before).join('');
  expect(written).toMatch(/"path":"\/(?:api\/v1\/)?contacts\/by-external-id\/\{externalId\}"/);
  expect(written).not.toContain('people.example');
});

function logged(write: (log: ReturnType<typeof createLog>) => void): string {
  let text = '';
  write(createLog('info', { write: (line) => void (text += line) }));
  return text;
}

test('credentials in a log line are redacted', () => {
  const [key, password] = [`dk_test_${random(16)}`, random(12)];
  const text = logged((log) => {
    log.info({ authorization: `Bearer ${key}`, cookie: 'a=b', nested: { password } }, `key ${key}`);
    log.warn(`cannot reach postgres://dealkeep:${password}@db.example/deals`);
    log.error({ err: new Error(`bad key ${key}`) }, 'failed');
  });
  expect(text).not.toContain(key);
  expect(text).not.toContain(password);
  expect(text).toContain('postgres://dealkeep:[redacted]@db.example/deals');
});

test('a database error is logged without the row values in its details', () => {
  const cause = Object.assign(new Error('duplicate key'), {
    code: '23505',
    detail: 'Key (email)=(ann@example.com)',
    table: 'users',
  });
  const text = logged((log) => log.error({ err: new Error('outer', { cause }) }, 'failed'));
  expect(text).toContain('23505');
  expect(text).not.toContain('ann@example.com');
});

test('a database error object contains no row values, and no column names unknown to callers', async () => {
  await service.sql('create schema aside');
  await service.sql('create table aside.notes (word text unique, hidden_name text not null)');
  await service.sql(`create function aside.note(word text, hidden_name text) returns void language sql security definer as
    'insert into aside.notes values ($1, $2)'`);
  await service.sql('grant usage on schema aside to dealkeep_server');
  await service.sql('grant execute on function aside.note to dealkeep_server');
  onTestFinished(() => void service.sql('drop schema aside cascade'));
  const note = row<Record<string, unknown>, [word: string, hidden: string | null]>(
    't_note',
    'select aside.note($1, $2) as noted',
  );
  await service.asServer(note('ann@example.com', 'x'));
  const twice: unknown = await service.asServer(note('ann@example.com', 'x')).catch((error: unknown) => error);
  expect(twice).toBeInstanceOf(Conflict);
  // The format in which an uncaught error is printed.
  expect(inspect(twice, { depth: null })).toContain('23505');
  expect(inspect(twice, { depth: null })).not.toContain('ann@example.com');

  const without: unknown = await service.asServer(note('other', null)).catch((error: unknown) => error);
  expect(without).toBeInstanceOf(Invalid);
  expect(without).toMatchObject({ message: 'A value is required.', field: null });
});

test('a request is logged in one line with its id, address, path and status, without the query string', async () => {
  const answer = await fetch(`${service.origin}/nowhere?token=abc`);
  const id = answer.headers.get('x-request-id');
  await expect.poll(() => service.log.filter((line) => line.includes(`"${id}"`))).toHaveLength(1);
  const line = service.log.find((candidate) => candidate.includes(`"${id}"`)) ?? '';
  expect(JSON.parse(line)).toMatchObject({
    level: 'info',
    msg: 'request',
    method: 'GET',
    path: '/nowhere',
    status: 404,
    address: '127.0.0.1',
  });
});

test('line breaks and control characters in a logged path are escaped', () => {
  const { isTTY } = process.stdout;
  let text = '';
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((line) => Boolean((text += String(line))));
  try {
    process.stdout.isTTY = true;
    createLog('info').info({ path: '/a\n12:00:00 error: forged\u001b]0;x\u0007\u009b2J\u202e' }, 'request');
  } finally {
    process.stdout.isTTY = isTTY;
    write.mockRestore();
  }
  expect(text.slice(8)).toBe(' request  path=/a\\n12:00:00 error: forged\\u{1b}]0;x\\u{7}\\u{9b}2J\\u{202e}\n');
});

test('metrics count requests by interface, and are open only to this machine or with the metrics token', async () => {
  await fetch(`${service.restUrl}/contacts`);
  const text = await (await fetch(`${service.origin}/metrics`)).text();
  expect(text).toMatch(/dealkeep_requests_total\{interface="rest",status="4xx"\} [1-9]/);
  expect(text).toMatch(/dealkeep_request_duration_seconds_bucket\{le="0.005",interface="rest"\}/);
  expect(text).toMatch(/dealkeep_database_connections\{state="idle"\} \d/);
  const forwarded = await fetch(`${service.origin}/metrics`, { headers: { 'X-Forwarded-For': '203.0.113.9' } });
  expect(forwarded.status).toBe(404);

  const metricsToken = random(16);
  const guarded = await openService({ config: { metricsToken } });
  expect((await fetch(`${guarded.origin}/metrics`)).status).toBe(404);
  const headers = { Authorization: `Bearer ${metricsToken}` };
  expect((await fetch(`${guarded.origin}/metrics`, { headers })).status).toBe(200);
  await guarded.close();
});

test('readiness reports a database that lacks a migration', async () => {
  const behind = await openService();
  await behind.sql(`delete from app.migrations where name = (select max(name) from app.migrations)`);
  const answer = await fetch(`${behind.origin}/readyz`);
  expect([answer.status, await answer.text()]).toEqual([
    503,
    'The database lacks 1 migrations: run dealkeep migrate.\n',
  ]);
  expect((await fetch(`${behind.origin}/healthz`)).status).toBe(200);
  await behind.close();
});
