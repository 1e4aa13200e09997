/** How long rows are kept: docs/operation.md mentions every table, and expired rows are gone once their job has run. */

import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deleteUnusedBodies } from '../../server/documents/deletion.ts';
import { queueNotificationMails, createNotifications } from '../../server/domain/notifications/events.ts';
import { clearMailFiles, scheduledJobs, startScheduledJobs } from '../../server/scheduled-jobs.ts';
import { mailDirectory } from '../../server/mail/files.ts';
import { openService, type TestService } from '../harness.ts';

const page = readFileSync(new URL('../../docs/operation.md', import.meta.url), 'utf8');
const section = page.slice(page.indexOf('## How long rows live'), page.indexOf('## People, and legal holds'));

interface Kept {
  readonly tables: readonly string[];
  readonly clearedBy: string;
}
/** The rows of the table in the documentation. */
const kept: readonly Kept[] = section
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .slice(2)
  .map((line) => {
    const [, , tables = '', , clearedBy = ''] = line.split('|').map((cell) => cell.trim());
    return { tables: [...tables.matchAll(/`([a-z_.]+)`/g)].map(([, name = '']) => name), clearedBy };
  });

/**
 * Matches a table that is cleared on a schedule: the job, if it has a name, and its interval; null for other tables.
 */
const clockOf = ({ clearedBy }: Kept) =>
  /^(?:`([a-z_]+)`|every node), every (?:(\d+) )?(minute|minutes|seconds)$/.exec(clearedBy);
const byClock = kept.filter((row) => clockOf(row) !== null);

let service: TestService;
beforeAll(async () => {
  service = await openService({ demo: true });
});
afterAll(() => service?.close());

test('docs/operation.md lists every table exactly once, and no others', async () => {
  const tables = await service.sql<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('public', 'app', 'vault', 'limits') and c.relkind in ('r', 'p') and not c.relispartition`,
  );
  const named = ({ name }: { name: string }) => (name.includes('.') ? name : `public.${name}`);
  expect(kept.flatMap((row) => row.tables).toSorted()).toEqual(tables.map(named).toSorted());
});

test('docs/operation.md names existing jobs with their actual intervals', () => {
  const jobs = new Map(scheduledJobs.map(({ every, name }): [string, number] => [name, every / 60_000]));
  // The jobs that have no statement of their own.
  jobs.set('clear_store', 60);
  jobs.set('clear_mail_files', 60);
  for (const row of byClock) {
    const [, job, count = '1'] = clockOf(row) ?? [];
    if (job !== undefined) expect([job, jobs.get(job)]).toEqual([job, Number(count)]);
  }
  expect(byClock.length).toBeGreaterThan(15);
});

/**
 * For each table that is cleared on a schedule, SQL that inserts a row which will expire, in addition to the demo's
 * rows.
 */
const digest = (name: string) => `sha256(convert_to('${name}', 'UTF8'))`;
const person = `(select id from users order by id limit 1)`;
const deal = `(select id from deals order by id limit 1)`;
const client = `(select id from connected_clients order by id limit 1)`;
const seeds: Readonly<Record<string, string>> = {
  'vault.sessions': `insert into vault.sessions (user_id, digest, method) select id, ${digest('session')}, 'password' from users order by id limit 1`,
  'vault.known_devices': `insert into vault.known_devices (digest, user_id) values (${digest('device')}, ${person})`,
  'vault.sign_in_steps': `insert into vault.sign_in_steps (digest, user_id) values (${digest('step')}, ${person})`,
  'vault.challenges': `insert into vault.challenges (digest, user_id) values (${digest('challenge')}, ${person})`,
  'vault.password_resets': `insert into vault.password_resets (digest, user_id) values (${digest('reset')}, ${person})`,
  'vault.address_changes': `insert into vault.address_changes (digest, user_id, new_email) values (${digest('change')}, ${person}, 'new@example.test')`,
  'vault.set_up_links': `insert into vault.set_up_links (digest) values (${digest('set-up')})`,
  // The trigger counts the mails of the caller, and there is no caller here.
  'vault.invitations': `alter table vault.invitations disable trigger count_invitation;
    insert into vault.invitations (digest, user_id, brokerage_id, mailed)
      values (${digest('invitation')}, ${person}, (select id from brokerages order by id limit 1), true);
    alter table vault.invitations enable trigger count_invitation`,
  'vault.addresses_to_clear': `insert into vault.addresses_to_clear (user_id, before) values (${person}, app.now())`,
  'vault.mail_counts': `select app.count_mail('from somebody', 'hour', 1)`,
  'vault.authorization_codes': `insert into vault.authorization_codes (digest, consent, user_id, client_id, redirect_uri, challenge, scopes, resource, expires_at, used_at)
    values (${digest('code')}, ${digest('consent')}, ${person}, ${client}, 'https://client.example/', repeat('c', 43), '{mcp:read}', 'x',
      app.now() + interval '1 minute', app.now())`,
  'vault.token_families': `insert into vault.token_families (user_id, client_id, scopes, resource, consented_at, ends_at)
    values (${person}, ${client}, '{mcp:read}', 'x', app.now(), app.now() + interval '180 days')`,
  'vault.access_tokens': `insert into vault.access_tokens (digest, family_id, scopes, expires_at)
    select ${digest('access')}, id, scopes, app.now() + interval '1 hour' from vault.token_families order by id desc limit 1`,
  'vault.refresh_tokens': `insert into vault.refresh_tokens (digest, family_id, expires_at)
    select ${digest('refresh')}, id, app.now() + interval '30 days' from vault.token_families order by id desc limit 1`,
  'vault.outbox': `select app.queue_mail('security_change', 'gone@example.test', null, null, null, true, '{"name": "A", "what": "password_changed"}', null, null)`,
  'vault.events': `insert into vault.events (kind) values ('new_device')`,
  'vault.reminders': `insert into vault.reminders (subject, subject_id, kind, remind_at, due_at, deal_id)
    values ('offers', app.uuid_v7(), 'offer_expiring', app.now() + interval '1 day', app.now() + interval '3 days', ${deal})`,
  'vault.notifications': `insert into vault.notifications (event_id, user_id, kind, at) values (app.uuid_v7(), ${person}, 'new_device', app.now())`,
  // The demo has inserted rows already.
  'public.change_events': `select from change_events`,
  'public.webhook_deliveries': `insert into webhook_endpoints (key_id, url, place, history)
      select id, 'https://hooks.example.com/', 0, gen_random_uuid() from api_keys order by id limit 1;
    insert into webhook_deliveries (endpoint_id, event_id, type, object_type, object_id, occurred_at, state, ended_at)
      select id, gen_random_uuid(), 'contact.created', 'contact', gen_random_uuid(), app.now(), 'delivered', app.now() from webhook_endpoints`,
  'vault.webhook_secrets': `insert into vault.webhook_secrets (id, endpoint_id, secret, ends_at)
    select gen_random_uuid(), id, 'whsec_', app.now() from webhook_endpoints`,
  'vault.sent_reminders': `insert into vault.sent_reminders (subject, subject_id, recipient_id, deal_id, sent_by)
    values ('ndas', app.uuid_v7(), ${person}, ${deal}, ${person})`,
  'vault.visits': `insert into vault.visits (user_id, deal_id, tab) values (${person}, ${deal}, 'documents')`,
  // Expires by the clock of the machine.
  'limits.counters': `insert into limits.counters (key, points, expire) values ('old', 1, 1)`,
  'vault.idempotency_keys': `insert into vault.idempotency_keys (key_id, idempotency_key, body_digest, contact_id, made_at)
    values ((select id from api_keys order by id limit 1), 'once', ${digest('body')}, app.uuid_v7(), app.now())`,
  'vault.tool_call_keys': `insert into vault.tool_call_keys (user_id, client_id, tool, idempotency_key, input_digest, made_at)
    values (${person}, app.uuid_v7(), 'svc_questions_create', 'once', ${digest('input')}, app.now())`,
  'vault.uploads': `insert into vault.uploads (storage_key) values ('broken-off-upload-0001')`,
  'vault.lapsing_exclusivities': `select from vault.lapsing_exclusivities`,
  'public.audit_records': `select from audit_records`,
};

/** The rows that must be gone in the end, for tables in which others are kept. */
const old: Readonly<Record<string, string>> = { 'public.audit_records': `at < app.now() - interval '14 months'` };

test('scheduled jobs delete the expired rows of every table that is cleared on a schedule', async () => {
  const tables = byClock.flatMap((row) => row.tables);
  expect(Object.keys(seeds).toSorted()).toEqual(tables.toSorted());
  await service.sql('update vault.audit_retention set months = 12');
  for (const text of Object.values(seeds)) await service.sql(text);
  const counts = async (where: Readonly<Record<string, string>>) => {
    const parts = tables.map(
      (name) => `select '${name}' as name, count(*)::int as rows from ${name} where ${where[name] ?? 'true'}`,
    );
    const found = await service.sql<{ name: string; rows: number }>(parts.join(' union all '));
    return found.filter(({ rows }) => rows > 0).map(({ name }) => name);
  };
  expect((await counts({})).toSorted()).toEqual(tables.toSorted());

  const { database } = service;
  for (let years = 0; years < 4; years += 1) {
    service.clock.advance(366 * 86_400_000);
    for (const { job } of scheduledJobs) for (let lot = 0; lot < 3; lot += 1) await database.run(job());
    await deleteUnusedBodies(service.services);
    // Events that became due meanwhile cause notifications once more; in the last years no such events are left.
    for (let batch = 0; batch < 50 && (await database.run(createNotifications(100))) > 0; batch += 1);
    await database.run(queueNotificationMails(200));
    await service.deliver();
  }
  service.clock.advance(366 * 86_400_000);
  for (const { job } of scheduledJobs) await database.run(job());
  expect(await counts(old)).toEqual([]);
});

test('a job that processes a part per run resumes where it stopped, and starts over at the end', async () => {
  const { database, sql, clock } = service;
  await sql(seeds['vault.sessions']!);
  const [made] = await sql<{ id: string }>('select id from vault.sessions order by id limit 1');
  clock.advance(366 * 86_400_000);
  const run = async (name: string) => {
    for (const { name: one, job } of scheduledJobs) if (one === name) await database.run(job());
  };
  const left = async (table: string) =>
    (await sql<{ rows: number }>(`select count(*)::int as rows from ${table}`))[0]!.rows;
  await sql(`update vault.job_places set place = $1`, [made!.id]);
  await run('purge_sign_in');
  expect(await left('vault.sessions')).toBe(1);
  await run('purge_sign_in');
  expect(await left('vault.sessions')).toBe(0);

  const [brokerage] = await sql<{ id: string }>('select id from brokerages order by id desc limit 1');
  await sql(
    `insert into change_events (brokerage_id, object_type, object_id, change) select $1, 'contact', app.uuid_v7(), 'created' from generate_series(1, 3)`,
    [brokerage!.id],
  );
  clock.advance(32 * 86_400_000);
  await sql(`update vault.job_places set place = $1`, [brokerage!.id]);
  await run('purge_changes');
  expect(await left('change_events')).toBe(3);
  await run('purge_changes');
  expect(await left('change_events')).toBe(0);

  // While rows of one brokerage are left, the job reports that it must run again at once.
  await sql(
    `insert into change_events (brokerage_id, object_type, object_id, change) select $1, 'contact', app.uuid_v7(), 'created' from generate_series(1, 100001)`,
    [brokerage!.id],
  );
  clock.advance(32 * 86_400_000);
  const purge = scheduledJobs.find(({ name }) => name === 'purge_changes')!;
  expect(Number(await database.run(purge.job()))).toBeGreaterThanOrEqual(purge.most!);
  expect(await left('change_events')).toBe(1);
});

test('jobs process a limited number of rows per run, and run again at once until none are left', async () => {
  const { database, sql } = service;
  /** For each job: SQL that inserts one row more than two runs handle, and the condition that selects these rows. */
  const parts: readonly (readonly [job: string, seed: string, where: string])[] = [
    [
      'queue_reminders',
      `insert into vault.reminders (subject, subject_id, kind, remind_at, due_at, deal_id)
       select 'offers', app.uuid_v7(), 'offer_expiring', app.now(), app.now() + interval '2 days', ${deal} from generate_series(1, $1::int)`,
      'vault.reminders where remind_at <= app.now()',
    ],
    [
      'purge_idempotency_keys',
      `insert into vault.tool_call_keys (user_id, client_id, tool, idempotency_key, input_digest, made_at)
       select ${person}, app.uuid_v7(), 'many', 'once', ${digest('input')}, app.now() - interval '25 hours' from generate_series(1, $1::int)`,
      `vault.tool_call_keys where tool = 'many'`,
    ],
    [
      'purge_authorization',
      `with family as (
         insert into vault.token_families (user_id, client_id, scopes, resource, consented_at, ends_at)
         values (${person}, ${client}, '{mcp:read}', 'many', app.now() - interval '180 days', app.now()) returning id)
       insert into vault.refresh_tokens (digest, family_id, expires_at, consumed_at)
         select sha256(int8send(i)), f.id, app.now(), app.now() from family f, generate_series(1, $1::int) i`,
      `vault.refresh_tokens where family_id = (select id from vault.token_families where resource = 'many')`,
    ],
    [
      'purge_mails',
      `insert into vault.outbox (kind, recipient, urgent, sent_at)
       select 'security_change', 'many@example.test', true, app.now() - interval '31 days' from generate_series(1, $1::int)`,
      `vault.outbox where recipient = 'many@example.test'`,
    ],
    [
      'purge_sign_in',
      `insert into vault.known_devices (digest, user_id, used_at)
       select sha256(int8send(i)), ${person}, app.now() - interval '181 days' from generate_series(1, $1::int) i`,
      `vault.known_devices where used_at < app.now() - interval '180 days'`,
    ],
    [
      'purge_limits',
      `insert into limits.counters (key, points, expire) select 'many ' || i, 1, 1 from generate_series(1, $1::int) i`,
      `limits.counters where key like 'many %'`,
    ],
  ];
  const rowsOf = async (where: string) =>
    (await sql<{ rows: number }>(`select count(*)::int as rows from ${where}`))[0]!.rows;
  for (const [name, seed, where] of parts) {
    const { job, most = 0 } = scheduledJobs.find((one) => one.name === name)!;
    await sql(seed, [2 * most + 1]);
    expect([name, Number(await database.run(job()))]).toEqual([name, most]);
    expect([name, await rowsOf(where)]).toEqual([name, most + 1]);
  }
  const stop = startScheduledJobs(service.services);
  try {
    for (const [, , where] of parts) await expect.poll(() => rowsOf(where)).toBe(0);
    // The grant is deleted after its tokens.
    await expect.poll(() => rowsOf(`vault.token_families where resource = 'many'`)).toBe(0);
  } finally {
    stop();
  }
});

test('mails in files are deleted after thirty days, in portions, and no other files', async () => {
  const directory = mailDirectory(service.config.dataDir);
  mkdirSync(directory, { recursive: true });
  const write = (name: string, days: number) => {
    const file = path.join(directory, name);
    const written = new Date(service.clock.now().getTime() - days * 86_400_000);
    writeFileSync(file, 'To: ann@people.example');
    utimesSync(file, written, written);
  };
  const [past, young] = ['01a22d95-ead1-7000-af4d-160f628b8872', '01a22d95-ead1-7000-af4d-160f628b8873'];
  for (const end of ['eml', 'txt', 'txt.unfinished']) write(`${past}.${end}`, 31);
  for (const end of ['eml', 'txt']) write(`${young}.${end}`, 29);
  write('notes.txt', 400);
  await clearMailFiles(service.services, 2);
  expect(readdirSync(directory).toSorted()).toEqual([`${young}.eml`, `${young}.txt`, 'notes.txt']);
  // Run by the service itself, too, every hour.
  write(`${past}.eml`, 31);
  const stop = startScheduledJobs(service.services);
  try {
    await expect.poll(() => readdirSync(directory)).not.toContain(`${past}.eml`);
  } finally {
    stop();
  }
});
