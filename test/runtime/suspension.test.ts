/**
 * `dealkeep users suspend`, `restore` and `remove-factors`: what a person can still do immediately afterwards, in every
 * interface.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { urlOf } from '../../bench/cluster.ts';
import { mintApiKey } from '../../server/domain/clients/api-keys.ts';
import { openAccount, Visitor } from '../auth/scene.ts';
import { openService, type TestService } from '../harness.ts';
import { addBrokerage, addClient, connect, refresh } from '../oauth/scene.ts';
import { addProgramsPasskey } from '../passkeys.ts';
import { cleanUp, run } from './program.ts';

let service: TestService;
let env: Record<string, string>;

beforeAll(async () => {
  service = await openService();
  const { owner, server } = service.connections;
  env = { DATABASE_URL: urlOf(server), MIGRATE_DATABASE_URL: urlOf(owner) };
});
afterAll(async () => {
  await cleanUp();
  await service?.close();
});

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

test('suspension rejects a person at once on every interface, and a restored person must sign in again', async () => {
  const account = await openAccount(service);
  const other = await openAccount(service);
  const brokerage = await addBrokerage(service);
  await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [
    brokerage,
    account.id,
  ]);
  const { token: key, digest, lastFour } = mintApiKey('live');
  await service.sql(`select app.issue_api_key($1, $2, 'a key', 'live', '{contacts:read}', null, null, $3, $4)`, [
    brokerage,
    account.id,
    digest,
    lastFour,
  ]);

  const browser = new Visitor(service.origin);
  await browser.signIn(account);
  const bystander = new Visitor(service.origin);
  await bystander.signIn(other);
  const session = browser.cookies.get('dealkeep') ?? '';
  const person = { ...account, session, cookie: `dealkeep=${session}` };
  const grant = await connect(service, person, await addClient(service, person));

  const statuses = async () => {
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    const tools = await fetch(`${service.mcpUrl}/api/mcp`, {
      method: 'POST',
      headers: { ...bearer(grant.access), 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(list),
    });
    await tools.body?.cancel();
    const rest = await fetch(`${service.restUrl}/contacts`, { headers: bearer(key) });
    await rest.body?.cancel();
    return { web: (await browser.send('/api/web/me')).status, tools: tools.status, rest: rest.status };
  };
  expect(await statuses()).toEqual({ web: 200, tools: 200, rest: 200 });

  const suspended = await run(['users', 'suspend', account.email.toUpperCase()], env);
  expect(suspended).toMatchObject({ code: 0, stdout: expect.stringContaining(`${account.email} is suspended`) });
  expect(await statuses()).toEqual({ web: 401, tools: 401, rest: 401 });
  expect((await refresh(service, grant.clientId, grant.refresh)).body.error).toBe('invalid_grant');
  expect((await new Visitor(service.origin).signIn(account)).status).toBe(401);
  expect((await bystander.send('/api/web/me')).status).toBe(200);

  const restored = await run(['users', 'restore', account.email, '--json'], env);
  expect(JSON.parse(restored.stdout)).toEqual({
    id: account.id,
    email: account.email,
    name: account.name,
    suspended_at: null,
  });
  expect(await statuses()).toEqual({ web: 401, tools: 401, rest: 200 });
  expect((await refresh(service, grant.clientId, grant.refresh)).body.error).toBe('invalid_grant');
  expect((await browser.signIn(account)).status).toBe(200);

  const trail = await service.sql(
    `select action, details from audit_records where user_id = $1 and action like 'user.%' order by id`,
    [account.id],
  );
  expect(trail).toEqual([
    { action: 'user.suspend', details: { by: 'operator' } },
    { action: 'user.restore', details: { by: 'operator' } },
  ]);
});

test('after an operator removes a lost passkey, the person signs in by password and can set up another', async () => {
  const account = await openAccount(service);
  const brokerage = await addBrokerage(service);
  await service.sql('update brokerages set requires_second_factor = true where id = $1', [brokerage]);
  await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [
    brokerage,
    account.id,
  ]);
  await addProgramsPasskey(service, account.id);
  const browser = new Visitor(service.origin);
  await browser.signIn(account);
  expect((await browser.change('/api/auth/second-factor/begin')).status).toBe(403);

  const removed = await run(['users', 'remove-factors', account.email, '--json'], env);
  expect(JSON.parse(removed.stdout)).toEqual({
    id: account.id,
    email: account.email,
    name: account.name,
    passkeys: 1,
    authenticators: 0,
  });
  expect(await browser.session()).toBeNull();
  await browser.signIn(account);
  expect((await browser.change('/api/auth/second-factor/begin')).status).toBe(200);
  expect(
    await service.sql(`select details from audit_records where user_id = $1 and action = 'passkey.remove'`, [
      account.id,
    ]),
  ).toEqual([{ details: { by: 'operator', passkeys: 1 } }]);
  await service.deliver();
  const mails = service.mails.filter(({ to }) => to === account.email);
  expect(mails.map(({ text }) => text)).toEqual([expect.stringContaining('A passkey was removed from your account.')]);
  expect(await run(['users', 'remove-factors', account.email], env)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${account.email} has no passkey and no authenticator.`),
  });
});

test('an impossible suspension or restore is rejected with an explanation', async () => {
  const { email } = await openAccount(service);
  for (const [args, words] of [
    [['suspend', 'nobody@example.com'], 'Nobody has the e-mail address "nobody@example.com".'],
    [['restore', email], `${email} is not suspended.`],
    [['suspend', 'nobody'], 'an e-mail address'],
  ] as const) {
    const { code, stdout, stderr } = await run(['users', ...args], env);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(words);
    expect(stderr).not.toMatch(/\n\s+at /);
  }
  expect((await run(['users', 'suspend', email], env)).code).toBe(0);
  expect(await run(['users', 'suspend', email], env)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${email} is already suspended.`),
  });
});
