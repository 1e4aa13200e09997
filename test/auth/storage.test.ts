import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import { mailedToken, newPassword, openAccount, signedInVisitor, Visitor } from './scene.ts';

let service: TestService;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service.close());

/** Every row of every table, as text. */
async function dump(): Promise<string> {
  const tables = await service.sql<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  const texts = await Promise.all(
    tables.map(async ({ name }) =>
      (await service.sql<{ text: string }>(`select t::text as text from ${name} t`)).map(({ text }) => text).join('\n'),
    ),
  );
  return texts.join('\n');
}

it('113. no token or password is stored in a table or logged', async () => {
  const account = await openAccount(service);
  const secrets: string[] = [account.password];
  const visitor = await signedInVisitor(service, account);
  secrets.push(visitor.cookies.get('dealkeep') ?? '');

  const wrong = newPassword();
  await visitor.signIn({ ...account, password: wrong });
  secrets.push(wrong);
  await new Visitor(service.origin).signIn({ ...account, password: wrong });
  const csrf = (await visitor.session())?.csrf_token ?? '';
  secrets.push(csrf);
  const password = newPassword();
  await visitor.change('/api/auth/password', { current_password: account.password, password });
  secrets.push(password, visitor.cookies.get('dealkeep') ?? '');

  await visitor.change('/api/auth/address', { email: 'elsewhere@example.com' });
  await expect.poll(() => mailedToken(service, 'Confirm your new e-mail address')).not.toBe('');
  const address = await mailedToken(service, 'Confirm your new e-mail address');
  await visitor.json('/api/auth/reset', { email: account.email });
  await expect.poll(() => mailedToken(service, 'Choose a new password')).not.toBe('');
  const reset = await mailedToken(service, 'Choose a new password');
  await visitor.json('/api/auth/reset/confirm', { token: reset, password: 'short' });

  const factor = await visitor.change<{ secret: string }>('/api/auth/second-factor/begin');
  const { generate } = await import('otplib');
  const code = await generate({ secret: factor.body.secret, epoch: Math.floor(service.clock.now().getTime() / 1000) });
  const confirmed = await visitor.change<{ recovery_codes: string[] }>('/api/auth/second-factor/confirm', { code });
  secrets.push(
    ...confirmed.body.recovery_codes,
    ...confirmed.body.recovery_codes.map((one) => one.replaceAll('-', '')),
  );
  await visitor.signIn({ ...account, password });
  secrets.push(visitor.cookies.get('dealkeep-step') ?? '');

  expect(secrets.every((secret) => secret.length >= 16)).toBe(true);
  const stored = await dump();
  const log = service.log.join('\n');
  expect(stored).toContain(account.email);
  for (const secret of [...secrets, reset, address]) {
    expect(stored).not.toContain(secret);
    expect(stored).not.toContain(Buffer.from(secret).toString('hex'));
    expect(stored).not.toContain(Buffer.from(secret, 'base64url').toString('hex'));
  }
  for (const secret of [...secrets, reset, address, factor.body.secret]) expect(log).not.toContain(secret);
});

it('the server role has no privileges on the vault schema', async () => {
  const client = new pg.Client(service.connections.server);
  await client.connect();
  try {
    const tables = await service.sql<{ name: string }>(
      `select format('%I.%I', schemaname, relname) as name from (
         select schemaname, tablename as relname from pg_tables union all select schemaname, viewname from pg_views) r
       where schemaname = 'vault'`,
    );
    expect(tables.length).toBeGreaterThan(10);
    for (const { name } of tables)
      await expect(client.query(`select * from ${name}`)).rejects.toMatchObject({ code: '42501' });
    const inside = [
      'record',
      'open_session',
      'renew_session',
      'end_sessions_of',
      'revoke_families',
      'recent_session',
      'take_code',
      'use_invitation',
    ];
    const open = await service.sql(
      `select p.proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace
       where n.nspname = 'app' and p.proname = any ($1) and has_function_privilege('dealkeep_server', p.oid, 'execute')`,
      [inside],
    );
    expect(open).toEqual([]);
  } finally {
    await client.end();
  }
});

it('the purge deletes ended sessions and expired links and challenges, and keeps a live session', async () => {
  const account = await openAccount(service);
  const visitor = await signedInVisitor(service, account);
  await visitor.json('/api/auth/reset', { email: account.email });
  await new Visitor(service.origin).json('/api/auth/passkey/options');
  const gone = await signedInVisitor(service, account);
  await gone.change('/api/auth/sign-out');
  for (let round = 0; round < 3; round += 1) {
    service.clock.advance(11 * 3_600_000);
    await visitor.session();
  }
  await service.sql('select app.purge_sign_in()');
  const [left] = await service.sql(
    `select (select count(*)::int from vault.sessions where user_id = $1) as sessions,
       (select count(*)::int from vault.password_resets) as resets, (select count(*)::int from vault.challenges) as challenges`,
    [account.id],
  );
  expect(left).toEqual({ sessions: 1, resets: 0, challenges: 0 });
  expect(await visitor.session()).not.toBeNull();
});
