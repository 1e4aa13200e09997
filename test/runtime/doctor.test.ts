/** `dealkeep doctor`, with each of its findings provoked once. */

import { spawnSync } from 'node:child_process';
import { appendFile, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { urlOf } from '../../bench/cluster.ts';
import { freePort } from '../../bench/free-port.ts';
import { versionFinding } from '../../server/cli/doctor/database.ts';
import { findingsOf, type Finding } from '../../server/cli/doctor/finding.ts';
import { runningConnections } from '../../server/database/embedded.ts';
import { cleanUp, dealkeep, migratedDataDir, run } from './program.ts';

let DATA_DIR: string;
let owner: pg.Client;
beforeAll(async () => {
  DATA_DIR = await migratedDataDir();
  await dealkeep(['demo', '--json'], { DATA_DIR }).ready;
  owner = new pg.Client((await runningConnections(DATA_DIR))?.owner ?? {});
  await owner.connect();
});
afterAll(async () => {
  await owner.end();
  await cleanUp();
});

async function doctor(env: Record<string, string> = {}, ...args: string[]) {
  const { code, stdout, stderr } = await run(['doctor', '--json', ...args], { DATA_DIR, ...env });
  expect(stderr).toBe('');
  return { code, ...(JSON.parse(stdout) as { status: string; findings: Finding[] }) };
}

/** Findings that are not ok, as "check: message", except those of every installation of the tests. */
const usual = /CVE-2026-14680|SMTP_URL is not set|SECRETS_KEY|BACKUP_TO is not set/;
const wrong = (findings: readonly Finding[]): string[] =>
  findings
    .filter(({ level, message }) => level !== 'ok' && !usual.test(message))
    .map(({ check, message }) => `${check}: ${message}`);

test('doctor finds nothing wrong with a running service and its documents', async () => {
  const { code, status, findings } = await doctor({}, '--documents');
  expect(wrong(findings)).toEqual([]);
  // The embedded PostgreSQL has a vulnerability, and mails go to files.
  expect([code, status]).toEqual([1, 'warning']);
  for (const { level, remedy } of findings) expect(remedy !== undefined).toBe(level !== 'ok');
  const messages = findings.map(({ message }) => message).join('\n');
  expect(messages).toMatch(/The files of all \d+ documents have the right size and digest/);
  expect(messages).toContain('Row-level security is forced on every table.');

  const { stdout, code: words } = await run(['doctor'], { DATA_DIR });
  expect(words).toBe(1);
  expect(stdout).toMatch(/^ok {6} +configuration +Every variable has an allowed value\.$/m);
  expect(stdout).toMatch(/^warning +mail .*\n +Set SMTP_URL to your mail server/m);
});

test('doctor reports configuration errors, and checks nothing else', async () => {
  const { code, findings } = await doctor({ PORT: 'eighty', DATABSE_URL: 'postgres://a:hunter2@b/c' });
  expect(code).toBe(2);
  expect(wrong(findings)).toEqual([
    expect.stringMatching(/^configuration: DATABSE_URL is not a Dealkeep variable; DATABASE_URL/),
    expect.stringMatching(/^configuration: PORT holds "eighty"/),
  ]);
  expect(JSON.stringify(findings)).not.toContain('hunter2');
});

test('doctor reports unreadable client documents, which would prevent a start', async () => {
  const { code, findings } = await doctor({ CLIENT_METADATA: 'pinned', CLIENT_METADATA_FILE: '/nowhere/clients.json' });
  expect(code).toBe(2);
  expect(wrong(findings)).toEqual([
    expect.stringMatching(/^configuration: CLIENT_METADATA_FILE: \/nowhere\/clients\.json cannot be read/),
  ]);
});

test('an unknown option of doctor is an error with exit code 3', async () => {
  expect(await run(['doctor', '--jso'], { DATA_DIR })).toMatchObject({
    code: 3,
    stdout: '',
    stderr: expect.stringContaining("unknown option '--jso'"),
  });
  expect(await run(['doctor', '--help'], { DATA_DIR })).toMatchObject({ code: 0 });
});

test('doctor reports everything unreachable, without repeating passwords', async () => {
  const port = await freePort();
  const { code, findings } = await doctor({
    // Not a directory, so that even root cannot write there.
    DATA_DIR: '/dev/null/data',
    DATABASE_URL: `postgres://app:hunter2@127.0.0.1:${port}/deals`,
    SMTP_URL: `smtp://user:hunter2@127.0.0.1:${port}`,
    REDIS_URL: `redis://:hunter2@127.0.0.1:${port}`,
    BASE_URL: `https://127.0.0.1:${port}`,
  });
  expect(code).toBe(2);
  expect(wrong(findings)).toEqual([
    expect.stringMatching(/^database: No connection could be made/),
    expect.stringMatching(/^mail: 127\.0\.0\.1:\d+ does not accept mail from here/),
    expect.stringMatching(/^mail: MAIL_FROM is not set/),
    expect.stringMatching(/^disk: This user cannot write to DATA_DIR, \/dev\/null\/data\./),
    expect.stringMatching(/^certificates: https:\/\/127\.0\.0\.1:\d+ cannot be reached/),
    expect.stringMatching(/^limits: Redis at 127\.0\.0\.1:\d+ does not respond/),
  ]);
  expect(JSON.stringify(findings)).not.toContain('hunter2');
});

test('doctor connects to the mail server, and reports a rejected password or sender, and missing encryption', async () => {
  const senders: Record<string, string> = { 'Deals@example.com': '250 ok', 'busy@example.com': '450 4.7.1 later' };
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    socket.write('220 mail.example.com\r\n');
    socket.on('data', (chunk) => {
      const [verb = ''] = chunk.toString().split(/\s/);
      const answers: Record<string, string> = {
        EHLO: '250-mail.example.com\r\n250 AUTH PLAIN',
        AUTH: '535 no',
        MAIL: senders[/<(.*)>/.exec(chunk.toString())?.[1] ?? ''] ?? '550 5.7.1 not yours',
        RSET: '250 ok',
        QUIT: '221 bye',
      };
      socket.write(`${answers[verb] ?? '500 what'}\r\n`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const at = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const MAIL_FROM = 'Deals@example.com';
  const greeted = await doctor({ SMTP_URL: `smtp://${at}`, MAIL_FROM });
  expect(wrong(greeted.findings)).toEqual([]);
  const later = await doctor({ SMTP_URL: `smtp://${at}`, MAIL_FROM: 'busy@example.com' });
  expect(wrong(later.findings)).toEqual([]);
  const refused = await doctor({ SMTP_URL: `smtp://user:hunter2@${at}`, MAIL_FROM });
  expect(wrong(refused.findings)).toEqual([
    expect.stringContaining(`mail: ${at} does not accept mail from here: Invalid login`),
  ]);
  const stranger = await doctor({ SMTP_URL: `smtp://${at}`, MAIL_FROM: 'Deals <Other@example.com>' });
  expect(wrong(stranger.findings)).toEqual([
    `mail: ${at} does not accept mail from Other@example.com: 550 5.7.1 not yours.`,
  ]);
  const elsewhere = at.replace('127.0.0.1', '0.0.0.0');
  const unencrypted = await doctor({ SMTP_URL: `smtp://${elsewhere}`, MAIL_FROM });
  expect(wrong(unencrypted.findings)).toEqual([
    `mail: ${elsewhere} offers no encryption (STARTTLS), and nothing is sent to it without.`,
  ]);
  const allowed = await doctor({ SMTP_URL: `smtp://${elsewhere}?requireTLS=false`, MAIL_FROM });
  expect(wrong(allowed.findings)).toEqual([]);
});

test.skipIf(spawnSync('openssl', ['version']).status !== 0)(
  'doctor reports an untrusted certificate of the public address, and that it expires soon',
  async () => {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'dealkeep-test-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const [key, cert] = ['key.pem', 'cert.pem'].map((name) => path.join(directory, name)) as [string, string];
    const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '3', '-subj', '/CN=127.0.0.1'];
    spawnSync('openssl', [...made, '-keyout', key, '-out', cert, '-addext', 'subjectAltName=IP:127.0.0.1']);
    const server = https.createServer({ key: await readFile(key), cert: await readFile(cert) });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { findings } = await doctor({ BASE_URL: `https://127.0.0.1:${(server.address() as AddressInfo).port}` });
    expect(wrong(findings)).toEqual([
      expect.stringMatching(/^certificates: Browsers will not trust the certificate of .* DEPTH_ZERO_SELF_SIGNED_CERT/),
      expect.stringMatching(/^certificates: The certificate of .* expires on .*, in [23] days\./),
    ]);
  },
);

test('doctor reports settings that a login behind a pooler lacks, until its remedy is applied', async () => {
  const server = (await runningConnections(DATA_DIR))?.server ?? {};
  const pooled = { DATABASE_URL: urlOf(server), DATABASE_PREPARE: 'off' };
  // The database of the tests has it off for everybody, like the database that comes with the product.
  const database = pg.escapeIdentifier(server.database ?? '');
  await owner.query(`alter database ${database} set jit = on`);
  onTestFinished(async () => void (await owner.query(`alter database ${database} reset jit`)));
  const { findings } = await doctor(pooled);
  const found = findings.find(({ message }) => message.startsWith('The login does not set'));
  expect(found).toMatchObject({ level: 'warning', check: 'database' });
  expect(found?.message).toContain('statement_timeout, lock_timeout, idle_in_transaction_session_timeout, jit,');
  const client = new pg.Client(server);
  await client.connect();
  await client.query(found?.remedy?.replace(/^[^:]*: /, '') ?? '').finally(() => client.end());
  const after = await doctor(pooled);
  expect(wrong(after.findings).filter((line) => line.startsWith('database: The login'))).toEqual([]);
  expect(after.findings.map(({ message }) => message)).toContain(
    'The login has the settings that connections through a pooler need.',
  );
});

test('doctor does not mistake a database without free connections for a pooler', async () => {
  // One connection for the doctor, none for the two that detect a pooler.
  await owner.query(`create role narrow login password 'narrow' connection limit 1; grant dealkeep_server to narrow`);
  onTestFinished(async () => void (await owner.query('drop role narrow')));
  const server = (await runningConnections(DATA_DIR))?.server ?? {};
  const { findings } = await doctor({ DATABASE_URL: urlOf({ ...server, user: 'narrow', password: 'narrow' }) });
  const ofDatabase = wrong(findings).filter((line) => line.startsWith('database: '));
  expect(ofDatabase).toEqual([
    expect.stringMatching(
      /Could not check whether the database is reached directly: .* too many connections for role "narrow"/,
    ),
  ]);
});

test('doctor reports an outdated schema, unforced row-level security, clock skew and an owner login', async () => {
  const { rows } = await owner.query<{ name: string }>(
    'delete from app.migrations where name = (select max(name) from app.migrations) returning name, digest',
  );
  await owner.query('alter table public.contacts no force row level security');
  await owner.query(`
    create schema ahead;
    grant usage on schema ahead to public;
    create function ahead.clock_timestamp() returns timestamptz language sql as
      $$ select pg_catalog.clock_timestamp() + interval '1 minute' $$;
    grant execute on function ahead.clock_timestamp() to public;
    alter database dealkeep set search_path = ahead, pg_catalog, public`);
  const { code, findings } = await doctor();
  const connection = (await runningConnections(DATA_DIR))?.owner;
  const asOwner = await doctor({ DATABASE_URL: urlOf({ ...connection, database: 'dealkeep' }) });
  await owner.query('drop schema ahead cascade; alter database dealkeep reset search_path');
  await owner.query('alter table public.contacts force row level security');
  await owner.query('insert into app.migrations (name, digest) values ($1, $2)', Object.values(rows[0] ?? {}));

  expect(code).toBe(2);
  expect(wrong(findings)).toEqual([
    `database: The schema lacks ${rows[0]?.name}.`,
    expect.stringMatching(/^database: Row-level security is not forced on public\.contacts: /),
    expect.stringMatching(/^database: The clocks of this machine and of the database are 60\.\d s apart/),
  ]);
  expect(wrong(asOwner.findings)[0]).toMatch(/^database: dealkeep_owner owns .*, and an owner can switch/);
});

test('doctor reports a transaction that blocks changes, waiting deliveries and webhooks turned off', async () => {
  const { rows: keys } = await owner.query<{ id: string; brokerage_id: string }>(
    'select k.id, k.brokerage_id from api_keys k where app.is_key_in_force(k.id) limit 1',
  );
  const { id: key, brokerage_id: brokerage } = keys[0]!;
  const endpoint = `insert into webhook_endpoints (brokerage_id, key_id, url, place, history, state, off_reason, off_since)
    select $1, $2, 'https://hooks.example.com/', s.published, s.history, $3, $4, case when $4::text is not null then app.now() end
    from vault.change_stream s returning id`;
  const holding = await owner.query<{ id: string }>(endpoint, [brokerage, key, 'on', null]);
  await owner.query(endpoint, [brokerage, key, 'off', 'failing']);
  await owner.query(
    `insert into webhook_deliveries (endpoint_id, event_id, type, object_type, object_id, occurred_at, attempts, created_at, next_attempt_at)
     values ($1, gen_random_uuid(), 'contact.created', 'contact', gen_random_uuid(), app.now(), 2, app.now() - interval '3 hours', app.now() + interval '9 hours')`,
    [holding.rows[0]!.id],
  );
  const connection = (await runningConnections(DATA_DIR))?.owner;
  const open = new pg.Client({ ...connection, database: 'dealkeep' });
  await open.connect();
  try {
    await open.query('begin');
    await open.query('select pg_current_xact_id()');
    await owner.query(`update contacts set phone = phone where id = (select id from contacts limit 1)`);
    // The running service publishes once a second.
    await expect
      .poll(async () => (await owner.query('select from vault.change_stream where mark is not null')).rowCount, {
        timeout: 60_000,
      })
      .toBe(1);
    await owner.query(`update vault.change_stream set mark_at = mark_at - interval '2 hours'`);
    const { findings } = await doctor();
    expect(wrong(findings)).toEqual([
      expect.stringMatching(
        /^queues: Other systems have received no changes for 12\d minutes: a transaction that began earlier is still open\.$/,
      ),
      'queues: 1 webhook delivery is waiting (1 failed so far); the oldest has waited for 180 minutes.',
      'queues: 1 webhook was turned off because nothing was accepted for three days.',
    ]);
  } finally {
    await open.query('rollback');
    await open.end();
    await owner.query('delete from webhook_endpoints');
    // The following tests expect that the changes held back have been published.
    await expect
      .poll(async () => (await owner.query('select from vault.change_stream where mark is not null')).rowCount, {
        timeout: 60_000,
      })
      .toBe(0);
  }
});

test('doctor reports waiting and abandoned mails, and events without their notifications', async () => {
  // The running service takes what is due, so these are due later.
  const later = `app.now() + interval '9 hours'`;
  const mail = `insert into vault.outbox (kind, recipient, urgent, facts, created_at, next_attempt_at, given_up_at)
    values ('security_change', 'late@example.com', true, '{}', app.now() - interval '3 hours', ${later}, $1)`;
  try {
    await owner.query(mail, [null]);
    await owner.query(mail, [new Date()]);
    await owner.query(
      `insert into vault.events (kind, at, next_attempt_at) values ('new_device', app.now() - interval '2 hours', ${later})`,
    );
    const waiting = await doctor();
    await owner.query(`update vault.events set attempts = 3, last_error = 'relation "deals" does not exist'`);
    const failing = await doctor();
    const { stdout } = await run(['doctor'], { DATA_DIR });
    const mails = [
      expect.stringMatching(/^queues: The oldest e-mail has waited for 180 minutes\.$/),
      'queues: 1 e-mail was given up after the last attempt to send.',
    ];
    expect(wrong(waiting.findings)).toEqual([
      ...mails,
      expect.stringMatching(/^queues: The oldest event without notifications has waited for 12\d minutes\.$/),
    ]);
    expect(wrong(failing.findings)).toEqual([
      ...mails,
      'queues: Notifications for 1 event could not be created so far: relation "deals" does not exist.',
    ]);
    expect([waiting.code, failing.code]).toEqual([1, 1]);
    expect(stdout).toContain('dealkeep mail resend <id>');
  } finally {
    await owner.query('delete from vault.outbox; delete from vault.events');
  }
  expect(wrong((await doctor()).findings)).toEqual([]);
});

test('doctor reports a foreign document store, and missing or altered bodies', async () => {
  const documents = path.join(DATA_DIR, 'documents');
  await rename(documents, `${documents}.elsewhere`);
  const other = await doctor();
  await rename(`${documents}.elsewhere`, documents);
  expect(wrong(other.findings)).toEqual([
    expect.stringMatching(/^store: The documents of this database are not kept in .*\/documents\./),
  ]);

  const bodies = (await readdir(documents, { recursive: true })).filter((name) => name.includes('/demo-'));
  const [gone = '', longer = ''] = bodies.toSorted().map((name) => path.join(documents, name));
  await rename(gone, `${gone}.away`);
  const present = await doctor();
  await appendFile(longer, '!');
  // A legal hold keeps the file of a document that was removed long ago.
  const held = await owner.query(
    `with removed as (update public.documents set removed_at = now() - interval '10 days' where storage_key = $1 returning deal_id),
       produced as (update public.production_documents set removed_at = now() - interval '10 days' where storage_key = $1 returning deal_id)
     insert into vault.legal_holds (kind, subject_id) select 'deal', deal_id from (table removed union all table produced) r`,
    [path.basename(gone)],
  );
  expect(held.rowCount).toBe(1);
  const whole = await doctor({}, '--documents');
  await owner.query('delete from vault.legal_holds');
  const cleared = await doctor();
  await rename(`${gone}.away`, gone);
  expect(present.code).toBe(2);
  expect(wrong(present.findings)).toEqual([
    expect.stringMatching(
      /^store: 1 of \d+ documents is missing or damaged: the file of document [0-9a-f-]{36} is missing\.$/,
    ),
  ]);
  expect(wrong(whole.findings)).toEqual([
    expect.stringMatching(/^store: 2 of \d+ documents are missing or damaged: .* has \d+ bytes instead of \d+/),
  ]);
  expect(wrong(cleared.findings)).toEqual([]);
});

test.for([
  [180_005, 'warning'],
  [180_006, 'ok'],
  [170_010, 'warning'],
  [170_011, 'ok'],
  [160_014, 'warning'],
  [160_015, 'ok'],
  [150_018, 'warning'],
  [150_019, 'ok'],
  [190_000, 'ok'],
  [140_030, 'fault'],
] as const)('doctor reports PostgreSQL version %s as: %s', ([number, level]) => {
  const findings = findingsOf('database');
  versionFinding(number, false, findings);
  expect(findings.list.map((finding) => finding.level)).toEqual([level]);
});
