/** Secrets in the database encrypted with SECRETS_KEY, and with another key after a rotation. */

import { generate } from 'otplib';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createApp } from '../../server/app.ts';
import { listen } from '../../server/cli/listen.ts';
import { queueNotificationMails, createNotifications } from '../../server/domain/notifications/events.ts';
import { requireKeysOfSecrets, rotateSecrets } from '../../server/domain/accounts/sealed-secrets.ts';
import { openSecrets, UnknownKey } from '../../server/lib/secrets.ts';
import { openService, type TestService } from '../harness.ts';
import { as, brokerage, codeOf } from '../rest/scene.ts';
import { openAccount, signedInVisitor, Visitor, type Account } from './scene.ts';

const [first, second, third] = ['first', 'second', 'third'].map((name) => `${name} key `.repeat(4)) as [
  string,
  string,
  string,
];

let service: TestService;
beforeAll(async () => {
  service = await openService({ config: { secretsKeys: [second, first] } });
});
afterAll(() => service.close());

interface WithFactor extends Account {
  readonly secret: string;
}

const code = (secret: string) => generate({ secret, epoch: Math.floor(service.clock.now().getTime() / 1000) });

async function withFactor(): Promise<WithFactor> {
  const account = await openAccount(service);
  const visitor = await signedInVisitor(service, account);
  const { secret } = (await visitor.change<{ secret: string }>('/api/auth/second-factor/begin')).body;
  const { status } = await visitor.change('/api/auth/second-factor/confirm', { code: await code(secret) });
  expect(status).toBe(200);
  return { ...account, secret };
}

/** The status of a sign-in with password and code. */
async function signIn(account: WithFactor): Promise<number> {
  service.clock.advance(60_000);
  return (await new Visitor(service.origin).signIn(account, { code: await code(account.secret) })).status;
}

const idOf = async (email: string) =>
  (await service.sql<{ id: string }>('select id from users where email = $1', [email]))[0]?.id;
const storedFor = async (email: string) =>
  (await service.sql<{ secret: string }>('select secret from vault.totp where user_id = $1', [await idOf(email)]))[0]
    ?.secret ?? '';
const store = async (email: string, secret: string) =>
  service.sql('update vault.totp set secret = $2 where user_id = $1', [await idOf(email), secret]);

test('the encryption keys in use are found even if no row policy applies to the owner of the tables', async () => {
  const owner = new pg.Client(service.connections.owner);
  await owner.connect();
  try {
    await owner.query('begin; alter table vault.cursor_secret disable row level security');
    for (const [secret, ids] of [
      [Buffer.alloc(32, 0x95), []],
      [Buffer.from('dk1.0123abcd.sealed'), ['0123abcd']],
    ] as const) {
      await owner.query('update vault.cursor_secret set secret = $1', [secret]);
      const { rows } = await owner.query<{ ids: string[] }>('select app.keys_of_secrets() as ids');
      expect(rows[0]?.ids).toEqual(ids);
    }
  } finally {
    await owner.query('rollback');
    await owner.end();
  }
});

test("an authenticator's secret is encrypted for its own row, and its codes are accepted", async () => {
  const [one, other] = [await withFactor(), await withFactor()];
  const [storedOne, storedOther] = [await storedFor(one.email), await storedFor(other.email)];
  expect(storedOne).toMatch(/^dk1\.[0-9a-f]{8}\.[A-Za-z0-9_-]+$/);
  expect(storedOne).not.toContain(one.secret);
  expect(await signIn(one)).toBe(200);

  // Somebody who can write to the database cannot give one person the authenticator of another.
  await store(other.email, storedOne);
  expect(await signIn({ ...other, secret: one.secret })).toBe(500);
  await store(other.email, storedOther);
  expect(await signIn(other)).toBe(200);

  // Secrets from before there was a key are still accepted.
  await store(other.email, other.secret);
  expect(await signIn(other)).toBe(200);
});

test('the link in a queued mail is encrypted, and readable in the delivered mail', async () => {
  const { email } = await openAccount(service);
  await new Visitor(service.origin).json('/api/auth/reset', { email });
  const waiting = () =>
    service.sql<{ secret: string }>('select secret from vault.outbox where recipient = $1', [email]);
  await expect.poll(async () => (await waiting())[0]?.secret).toMatch(/^dk1\./);
  const mail = (await service.deliver()).find(({ to }) => to === email);
  const token = /#token=([A-Za-z0-9_-]{43})/.exec(mail?.text ?? '')?.[1] ?? '';
  const found = await service.sql(`select from vault.password_resets where digest = sha256(convert_to($1, 'UTF8'))`, [
    token,
  ]);
  expect(found).toHaveLength(1);
});

test('a rotation encrypts all secrets with the first key, and changes nothing without the right key', async () => {
  const account = await withFactor();
  const plain = await withFactor();
  await store(plain.email, plain.secret);
  const before = await storedFor(account.email);
  const seals = () =>
    service.sql<{ seal: string; cursors: string }>(
      `select encode(s.secret, 'hex') as seal, convert_from(c.secret, 'UTF8') as cursors from vault.seal s, vault.cursor_secret c`,
    );
  const client = new pg.Client(service.connections.owner);
  await client.connect();
  try {
    await expect(rotateSecrets(client, openSecrets([third]))).rejects.toBeInstanceOf(UnknownKey);
    expect(await storedFor(account.email)).toBe(before);

    const old = await service.sql<{ seal: string }>(`select encode(secret, 'hex') as seal from vault.seal`);
    const keys = openSecrets([first, second]);
    expect(await rotateSecrets(client, keys)).toMatchObject({ key: keys.firstKey, authenticators: expect.any(Number) });
    const [sealed] = await seals();
    expect(sealed?.seal).not.toBe(old[0]?.seal);
    expect(sealed?.cursors).toMatch(`dk1.${keys.firstKey}.`);
  } finally {
    await client.end();
  }
  const keyOfFirst = openSecrets([first]).firstKey;
  for (const { email } of [account, plain]) expect(await storedFor(email)).toMatch(`dk1.${keyOfFirst}.`);
  // The service has both keys.
  expect(await signIn(account)).toBe(200);
  expect(await signIn(plain)).toBe(200);
  const { database } = service;
  await requireKeysOfSecrets({ database, secrets: openSecrets([first]) });
  await expect(requireKeysOfSecrets({ database, secrets: openSecrets([second]) })).rejects.toThrow(
    `encrypted with a key that SECRETS_KEY does not contain (${keyOfFirst})`,
  );
});

test('after a rotation, idempotent requests are replayed without the old key, and event cursors expire', async () => {
  const own = await openService({ config: { secretsKeys: [second] } });
  onTestFinished(() => own.close());
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(1));
  const rotated = { ...own.services, secrets: openSecrets([first]) };
  listener.answerWith(createApp(rotated), rotated);
  const key = await (await brokerage(own)).key({ scopes: ['webhooks:read', 'webhooks:write', 'events:read'] });
  const { token } = key;
  const webhook = async (origin: string) => {
    const answer = await fetch(`${origin}/api/v1/webhooks`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${token}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': 'a-webhook',
      },
      body: JSON.stringify({ url: 'https://hooks.example.com/' }),
    });
    return { status: answer.status, again: answer.headers.get('idempotent-replayed'), body: await answer.json() };
  };
  const made = await webhook(own.origin);
  expect(made).toMatchObject({ status: 201, again: null, body: { secret: expect.stringMatching(/^whsec_/) } });
  const [kept] = await own.sql<{ answer: string }>('select answer from vault.idempotency_keys');
  const { body: events } = await as(key, own.restUrl)('GET', '/events?after=latest');

  const client = new pg.Client(own.connections.owner);
  await client.connect();
  onTestFinished(() => client.end());
  await rotateSecrets(client, openSecrets([first, second]));
  const address = `http://127.0.0.1:${listener.port}`;
  expect(await webhook(address)).toEqual({ ...made, again: 'true' });
  // Readers of events are told to start again.
  const after = `/events?after=${events!.pagination.nextCursor}`;
  expect(codeOf(await as(key, `${address}/api/v1`)('GET', after))).toEqual([410, 'cursor_expired']);
  const checked = () => requireKeysOfSecrets({ database: own.database, secrets: openSecrets([first]) });
  await checked();

  // As if the rotation had left this response out. Its key is needed for as long as the response can be replayed.
  await own.sql('update vault.idempotency_keys set answer = $1', [kept?.answer]);
  await expect(checked()).rejects.toBeInstanceOf(UnknownKey);
  own.clock.advance(25 * 3_600_000);
  await checked();
  // The connection of a command uses the time of the machine, not of the test clock.
  await own.sql(`update vault.idempotency_keys set made_at = now() - interval '25 hours'`);
  expect(await rotateSecrets(client, openSecrets([third, first]))).toMatchObject({ remembered_answers: 0 });
});

test('unsubscribe links work for 60 days after a rotation, even with another rotation in between', async () => {
  const day = 86_400_000;
  const account = await openAccount(service);
  /** Returns the link in the mail about a sign-in from a new browser. */
  const newLink = async (): Promise<string> => {
    service.clock.advance(3_600_000);
    for (let browsers = 0; browsers < 2; browsers += 1) await signedInVisitor(service, account);
    await service.database.run(createNotifications(100));
    await service.database.run(queueNotificationMails(100));
    const mail = (await service.deliver()).findLast(({ to }) => to === account.email);
    return /^<(.+)>$/.exec(mail?.headers?.['List-Unsubscribe'] ?? '')?.[1] ?? '';
  };
  const works = async (link: string) => (await fetch(link, { headers: { accept: 'text/html' } })).status === 200;
  const client = new pg.Client(service.connections.owner);
  await client.connect();
  const rotate = async () => {
    await client.query(`select set_config('dealkeep.now', $1, false)`, [service.clock.now().toISOString()]);
    return (await rotateSecrets(client, openSecrets([first, second]))).unsubscribe_links;
  };
  try {
    // Ends the links that another rotation in this file has left.
    service.clock.advance(61 * day);
    const old = await newLink();
    expect(await works(old)).toBe(true);
    expect(await rotate()).toBe(true);
    const later = await newLink();
    expect(new URL(later).searchParams.get('token')).not.toBe(new URL(old).searchParams.get('token'));
    service.clock.advance(50 * day);
    // The key is not renewed again, because links sent before the first rotation would stop working.
    expect(await rotate()).toBe(false);
    expect([await works(old), await works(later)]).toEqual([true, true]);
    service.clock.advance(11 * day);
    expect([await works(old), await works(later)]).toEqual([false, true]);
    expect(await rotate()).toBe(true);
    expect([await works(old), await works(later)]).toEqual([false, true]);
  } finally {
    await client.end();
  }
});
