import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { Command } from 'commander';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addCommands } from '../../server/cli/commands.ts';
import { runningOwner } from '../../server/database/embedded.ts';
import { cleanUp, dealkeep, migratedDataDir, newDataDir, run, serve, type Addresses } from './program.ts';

let env: { DATA_DIR: string };
let addresses: Addresses;
beforeAll(async () => {
  env = { DATA_DIR: await migratedDataDir() };
  addresses = await serve(env).ready;
});
afterAll(cleanUp);

async function json<T = Record<string, string>>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await run([...args, '--json'], env);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as T;
}

async function sql(text: string): Promise<pg.QueryResultRow[]> {
  const client = new pg.Client((await runningOwner(env.DATA_DIR)) ?? {});
  await client.connect();
  return (await client.query(text).finally(() => client.end())).rows;
}

test.for([
  [[], ['serve', 'demo', 'migrate', 'doctor', 'secrets', 'keys', 'users', 'documents', 'brokerages']],
  [['serve'], ['--json']],
  [['demo'], ['--json']],
  [['migrate'], ['--json']],
  [
    ['keys', 'create'],
    ['--brokerage', '--scopes', '--ceiling', '--expires', '--environment', '--json'],
  ],
])('dealkeep %s --help prints the usage', async ([args = [], words = []]) => {
  const { code, stdout } = await run([...args, '--help'], {});
  expect(code).toBe(0);
  expect(stdout).toMatch(['Usage: dealkeep', ...args].join(' '));
  for (const word of words) expect(stdout).toContain(word);
});

test.for([
  [['keys'], ['create', 'list', 'revoke']],
  [
    ['keys', 'list'],
    ['--brokerage', '--json'],
  ],
  [
    ['keys', 'revoke'],
    ['<id>', '--json'],
  ],
  [
    ['users', 'create'],
    ['--email', '--name', '--brokerage', '--role', '--json'],
  ],
  [
    ['users', 'suspend'],
    ['<email>', '--json'],
  ],
  [
    ['users', 'restore'],
    ['<email>', '--json'],
  ],
  [
    ['users', 'remove-factors'],
    ['<email>', '--json'],
  ],
  [
    ['brokerages', 'create'],
    ['--name', '--slug', '--json'],
  ],
  [
    ['documents', 'adopt'],
    ['--json', 'moved or restored'],
  ],
])('the usage of dealkeep %s names what it takes', ([args = [], words = []]) => {
  const program = new Command('dealkeep');
  addCommands(program);
  const find = (within: Command, name: string) => within.commands.find((one) => one.name() === name)!;
  const usage = args.reduce(find, program).helpInformation();
  expect(usage).toMatch(['Usage: dealkeep', ...args].join(' '));
  for (const word of words) expect(usage).toContain(word);
});

test('a brokerage, an admin and a key are created beside the running service, and the key is revoked', async () => {
  const brokerage = await json('brokerages', 'create', '--name', ' Harbor & Pine ', '--slug', 'harbor-pine');
  expect(brokerage).toMatchObject({ slug: 'harbor-pine', name: 'Harbor & Pine' });

  const early = await run(['keys', 'create', '--brokerage', 'harbor-pine', '--name', 'early'], env);
  expect(early).toMatchObject({ code: 1, stderr: expect.stringContaining('no active one') });

  const person = ['--email', 'Ann@Harbor-Pine.example', '--name', 'Ann Bell', '--role', 'admin'];
  const user = await json('users', 'create', '--brokerage', brokerage['id'] ?? '', ...person);
  expect(user).toMatchObject({ email: 'ann@harbor-pine.example', role: 'admin' });
  expect(user).not.toHaveProperty('token');
  const link = new URL(user['invitation_url'] ?? '');
  const kept = await sql(`select encode(digest, 'hex') as digest from vault.invitations`);
  const digest = await crypto.subtle.digest(
    'SHA-256',
    new TextEncoder().encode(new URLSearchParams(link.hash.slice(1)).get('token') ?? ''),
  );
  expect(kept).toEqual([{ digest: Buffer.from(digest).toString('hex') }]);
  await sql(`update public.members set status = 'active'`);

  const again = await run(['users', 'create', '--brokerage', 'harbor-pine', ...person], env);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('is already a member of this brokerage') });

  const key = await json(
    'keys',
    'create',
    '--brokerage',
    'harbor-pine',
    '--name',
    'import',
    '--scopes',
    'contacts:read',
    '--ceiling',
    '20',
  );
  const token = key['token'] ?? '';
  expect(token).toMatch(/^dk_live_[0-9a-f]{32}$/);
  const ask = () => fetch(`${addresses.rest_url}/contacts`, { headers: { Authorization: `Bearer ${token}` } });
  const answer = await ask();
  expect([answer.status, answer.headers.get('x-ratelimit-limit')]).toEqual([200, '20']);

  const [listed] = await json<Record<string, unknown>[]>('keys', 'list', '--brokerage', 'harbor-pine');
  expect(listed).toMatchObject({
    id: key['id'],
    state: 'active',
    scopes: ['contacts:read'],
    ceiling: 20,
    last_four: token.slice(-4),
  });
  expect(JSON.stringify(listed)).not.toContain(token);

  const more = ['keys', 'create', '--brokerage', 'harbor-pine', '--name', 'more'];
  await sql(`update public.brokerages set requires_second_factor = true where slug = 'harbor-pine'`);
  const without = await run(more, env);
  expect(without).toMatchObject({ code: 1, stderr: expect.stringContaining('none of its admins has one') });
  expect(await json('keys', 'list', '--brokerage', 'harbor-pine')).toMatchObject([{ state: 'stopped' }]);
  await sql(`update public.brokerages set requires_second_factor = false where slug = 'harbor-pine'`);
  await sql(`insert into public.api_keys (brokerage_id, name, environment, scopes, last_four, created_by)
    select brokerage_id, 'filler', environment, scopes, last_four, created_by from public.api_keys, generate_series(1, 199)`);
  expect(await run(more, env)).toMatchObject({ code: 1, stderr: expect.stringContaining('has 200 API keys') });
  await sql(`delete from public.api_keys where name = 'filler'`);

  expect(await json('keys', 'revoke', key['id'] ?? '')).toMatchObject({ id: key['id'] });
  expect((await ask()).status).toBe(401);
  const twice = await run(['keys', 'revoke', key['id'] ?? ''], env);
  expect(twice).toMatchObject({ code: 1, stderr: expect.stringContaining('could still be revoked') });

  const trail = await sql(`select action, details->>'by' as by from public.audit_records order by at, id`);
  expect(trail.filter(({ by }) => by === 'command line').map(({ action }) => action)).toEqual([
    'brokerage.create',
    'member.invite',
    'api_key.create',
    'api_key.revoke',
  ]);
});

test.for([
  [['brokerages', 'create', '--name', 'X', '--slug', 'Not A Slug'], 'up to 64 of a-z'],
  [['brokerages', 'create', '--name', 'A\u202eB', '--slug', 'a-b'], 'characters that change the direction of writing'],
  [
    ['users', 'create', '--email', 'a@b.example', '--name', ' ', '--brokerage', 'x', '--role', 'admin'],
    'Enter a name.',
  ],
  [['keys', 'create', '--brokerage', 'x', '--name', 'a\u200bb'], 'It must be 1 to 100 visible characters.'],
  [['brokerages', 'create', '--name', 'X'], "required option '--slug"],
  [['users', 'create', '--email', 'nobody', '--name', 'N', '--brokerage', 'x', '--role', 'admin'], 'an e-mail address'],
  [
    ['users', 'create', '--email', 'a@b.example', '--name', 'N', '--brokerage', 'x', '--role', 'king'],
    'admin, broker, staff',
  ],
  [['keys', 'create', '--brokerage', 'x', '--name', 'n', '--scopes', 'deals:all'], 'contacts:read, contacts:write'],
  [['keys', 'create', '--brokerage', 'x', '--name', 'n', '--ceiling', '0'], 'from 1 to 100000'],
  [['keys', 'create', '--brokerage', 'x', '--name', 'n', '--expires', '2001-01-01'], 'in the future'],
  [['keys', 'create', '--brokerage', 'x', '--name', 'n', '--expires', 'soon'], '2030-12-31'],
  [['keys', 'list', '--brokerage', 'nobody-here'], 'no brokerage with the id or slug "nobody-here"'],
  [['keys', 'revoke', 'nonsense'], 'no key with the id "nonsense"'],
  [['keys', 'create', '--brokerage', 'x', '--name', 'n', '--expires', '2030-02-31'], 'It must be a date'],
  [['keys', 'create', '--brokerage', 'x', '--name', 'n', '--expires', '2030-02-31T12:00:00Z'], 'It must be a date'],
  [['brokerages', 'delete', 'x', '--cancel', '--days', '9'], "'--cancel' cannot be used with option '--days"],
  [['people', 'export', 'ann@harbor-pine.example', '--output', import.meta.filename], 'already exists'],
  [
    ['people', 'export', 'ann@harbor-pine.example', '--output', '/nowhere/x.json'],
    '--output: /nowhere/x.json cannot be written (ENOENT)',
  ],
  [['backup', '--place', '/nowhere', '--key-file', '/'], '--key-file: / cannot be read (EISDIR)'],
  [['dance'], "unknown command 'dance'"],
])('%j is rejected with a helpful message', async ([args = [], words = '']) => {
  const { code, stdout, stderr } = await run(args as string[], env);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain(words);
  expect(stderr).not.toMatch(/\n\s+at /);
});

test('--version prints the release', async () => {
  const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
  expect(await run(['--version'], {})).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
});

test.for([
  [['serve'], { DATA_DIR: import.meta.filename }, 'DATA_DIR holds "', 2],
  [['serve'], { DATA_DIR: path.join(import.meta.filename, 'below') }, 'DATA_DIR: ', 1],
  [['backup', '--place', 's3://Not A Bucket'], {}, '--place holds "s3://Not A Bucket"', 2],
  [['backup', '--scheduled', '--place', '/dev/null/backups'], {}, '--scheduled needs BACKUP_EVERY', 2],
] as const)('%j with %j is a configuration error', async ([args, variables, words, expected]) => {
  const { code, stdout, stderr } = await run(args, { ...env, LOG_LEVEL: 'silent', ...variables });
  expect([code, stdout]).toEqual([expected, '']);
  expect(stderr).toContain(words);
  expect(stderr).not.toMatch(/\n\s+at /);
});

test.for(['backup', 'restore'])('%s names the reason when the database is unreachable', async (command) => {
  // Where localhost has two addresses, the error that combines both errors has no message.
  const away = 'postgres://keeper@localhost:9/deals';
  const made = path.join(import.meta.dirname, '../../database/releases/030');
  const place = command === 'restore' ? made : await newDataDir();
  const variables = { DATABASE_URL: away, MIGRATE_DATABASE_URL: away, DATA_DIR: await newDataDir() };
  const { code, stdout, stderr } = await run([command, '--place', place], variables);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^Cannot connect to \S.*: .*ECONNREFUSED.*\. Check host, port, user and password\.\n$/);
});

test.for([
  ['hold', 'list'],
  ['keys', 'list', '--brokerage', 'harbor-pine'],
  ['mail', 'list'],
  ['people', 'erase', 'ann@harbor-pine.example'],
  ['brokerages', 'create', '--name', 'X', '--slug', 'x'],
])('%j without a database fails with a message, and creates none', async (args) => {
  const DATA_DIR = await newDataDir();
  const { code, stdout, stderr } = await run(args, { DATA_DIR });
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toBe(`There is no database in ${DATA_DIR}: set DATA_DIR to where it is.\n`);
  await expect(stat(DATA_DIR)).rejects.toThrow('ENOENT');
});

test('a command works without a running service, and leaves nothing running', async () => {
  const alone = { DATA_DIR: await migratedDataDir() };
  const made = await run(['brokerages', 'create', '--name', 'Alone', '--slug', 'alone', '--json'], alone);
  expect(made).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse((await run(['migrate', '--json'], alone)).stdout)).toEqual({ applied: [] });
  await expect(stat(path.join(alone.DATA_DIR, 'postgres/cluster/postmaster.pid'))).rejects.toThrow('ENOENT');
});

test('the demo is loaded once, and described in a file that only its owner can read', async () => {
  const demo = { DATA_DIR: await newDataDir() };
  const program = dealkeep(['demo', '--json'], demo);
  const { rest_url, mcp_url } = await program.ready;
  const file = path.join(demo.DATA_DIR, 'demo.json');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const described = JSON.parse(await readFile(file, 'utf8')) as { keys: Record<string, string>; people: object };
  expect(described).toMatchObject({ rest_url, mcp_url });
  const answer = await fetch(`${rest_url}/contacts`, {
    headers: { Authorization: `Bearer ${described.keys['full']}` },
  });
  expect(answer.status).toBe(200);
  // Somebody who tries webhooks has their receiver on the same machine.
  const webhook = await fetch(`${rest_url}/webhooks`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${described.keys['full']}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ url: 'http://127.0.0.1:9/' }),
  });
  expect(webhook.status).toBe(201);
  program.child.kill('SIGTERM');
  const { code, stdout } = await program.ended;
  expect(code).toBe(0);
  for (const token of Object.values(described.keys)) expect(stdout).not.toContain(token);

  const next = dealkeep(['demo', '--json'], demo);
  const again = await next.ready;
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({
    ...described,
    rest_url: again.rest_url,
    mcp_url: again.mcp_url,
  });
});

test('the demo is not loaded into a database with other brokerages', async () => {
  const own = { DATA_DIR: await migratedDataDir() };
  await run(['brokerages', 'create', '--name', 'Own', '--slug', 'own'], own);
  const { code, stderr } = await run(['demo'], own);
  expect(code).toBe(1);
  expect(stderr).toContain('brokerages that are not part of the demo');
});
