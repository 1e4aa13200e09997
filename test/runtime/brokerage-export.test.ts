/**
 * The export of a brokerage: from the command line everything, from the settings what the admin may see, and nothing of
 * other brokerages.
 */

import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { unzipSync } from 'fflate';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { urlOf } from '../../bench/cluster.ts';
import { createApp } from '../../server/app.ts';
import { keepDemoBodies } from '../../server/cli/demo.ts';
import { listen } from '../../server/cli/listen.ts';
import type { ExportManifest } from '../../server/export/brokerage.ts';
import { zipped, type FileToArchive } from '../../server/export/zip.ts';
import { openUnreadAnswers, usualUnreadLimits } from '../../server/http/unread-answers.ts';
import { newStorageKey } from '../../server/storage/storage.ts';
import { openService, type TestService } from '../harness.ts';
import { locksWaited } from '../locks.ts';
import { aPng } from '../pictures.ts';
import { signInAs, type SignedIn } from '../web/person.ts';
import { cleanUp, dealkeep, run } from './program.ts';

// Every command is a process of its own, and the machine may be busy.
vi.setConfig({ testTimeout: 240_000 });

let service: TestService;
let env: Record<string, string>;
let directory: string;
let brokerage: { id: string; name: string; slug: string };
let adminId: string;
let admin: SignedIn;

beforeAll(async () => {
  service = await openService({ demo: true });
  directory = await mkdtemp(path.join(os.tmpdir(), 'dealkeep-export-'));
  const { owner, server } = service.connections;
  env = { DATABASE_URL: urlOf(server), MIGRATE_DATABASE_URL: urlOf(owner), DATA_DIR: service.config.dataDir };
  const [found] = await service.sql<typeof brokerage>(
    `select id, name, slug from brokerages b order by (select count(*) from deals where organization_id = b.id) desc limit 1`,
  );
  brokerage = found!;
  const [person] = await service.sql<{ id: string }>(
    `insert into users (email, name) values ('ida@export.example', 'Ida Inspector') returning id`,
  );
  adminId = person!.id;
  await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [
    brokerage.id,
    adminId,
  ]);
  admin = await signInAs(service, adminId);
  await keepDemoBodies(service.services.storage);
});
afterAll(async () => {
  await cleanUp();
  await service?.close();
  await rm(directory, { recursive: true, force: true });
});

type Files = Readonly<Record<string, Uint8Array>>;
const text = (files: Files, name: string): string => Buffer.from(files[name] ?? []).toString();
const table = (files: Files, name: string) =>
  JSON.parse(text(files, `data/${name}.json`)) as Record<string, string | null>[];
const manifestOf = (files: Files) => JSON.parse(text(files, 'manifest.json')) as ExportManifest;

/** Checks the archive against its manifest: every file but the manifest itself, with its size and digest. */
function checkManifest(files: Files): ExportManifest {
  const manifest = manifestOf(files);
  expect(manifest.files.map((file) => file.path).toSorted()).toEqual(
    Object.keys(files)
      .filter((name) => name !== 'manifest.json')
      .toSorted(),
  );
  for (const { path: name, bytes, sha256 } of manifest.files) {
    expect([name, files[name]?.length]).toEqual([name, bytes]);
    expect(createHash('sha256').update(files[name]!).digest('hex')).toBe(sha256);
  }
  for (const { name, rows } of manifest.tables) expect([name, table(files, name).length]).toEqual([name, rows]);
  return manifest;
}

test('the operator exports every row and document of a brokerage, without secrets and foreign data', async () => {
  await service.sql(
    `insert into contacts (brokerage_id, type, display_name, phone) values ($1, 'person', '=HYPERLINK("http://evil.example")', '+1 555 0100')`,
    [brokerage.id],
  );
  const logo = aPng(12, 8);
  const { status } = await fetch(`${service.origin}/api/web/brokerages/${brokerage.id}/logo`, {
    method: 'POST',
    headers: admin.headers,
    body: new Uint8Array(logo),
  });
  expect(status).toBe(200);
  const file = path.join(directory, 'all.zip');
  const { code, stdout, stderr } = await run(['brokerages', 'export', brokerage.slug, '--to', file, '--json'], env);
  expect([code, stderr]).toEqual([0, '']);
  expect(JSON.parse(stdout)).toMatchObject({ file, missing: [], damaged: [] });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const archive = await readFile(file);
  const files = unzipSync(archive);
  const manifest = checkManifest(files);
  expect(Buffer.from(files['logo.png']!)).toEqual(logo);
  expect(table(files, 'brokerage_logos')).toEqual([
    { brokerage_id: brokerage.id, media_type: 'image/png', width: 12, height: 8, updated_at: expect.any(String) },
  ]);
  expect(manifest).toMatchObject({ format: 1, brokerage, deals_in_part: [], documents: { missing: [], damaged: [] } });

  const counted = await service.sql<{ name: string; condition: string }>(
    `select name, condition from app.rows_of_brokerage('any (array(select id from public.deals where organization_id = $1))', false)
     where name like 'public.%'`,
  );
  expect(counted.length).toBeGreaterThan(30);
  for (const { name, condition } of counted) {
    const [held] = await service.sql<{ rows: number }>(
      `select count(*)::int as rows from ${name} t where ${condition}`,
      [brokerage.id],
    );
    const short = name.replace('public.', '');
    // The audit record of the export is written when the export is complete.
    const rows = held!.rows - (short === 'audit_records' ? 1 : 0);
    expect([short, manifest.tables.find((one) => one.name === short)?.rows]).toEqual([short, rows]);
  }
  const bodies = await service.sql<{ sha256: string }>(
    `select encode(sha256, 'hex') as sha256 from documents d join deals l on l.id = d.deal_id where organization_id = $1 and removed_at is null
     union all select encode(sha256, 'hex') from production_documents d join deals l on l.id = d.deal_id where organization_id = $1 and removed_at is null`,
    [brokerage.id],
  );
  const archived = manifest.files.filter((one) => one.path.startsWith('documents/')).map(({ sha256 }) => sha256);
  expect(archived.toSorted()).toEqual(bodies.map(({ sha256 }) => sha256).toSorted());
  expect(table(files, 'people').map(({ email }) => email)).toContain('ida@export.example');

  // JSON has exact values, for programs; CSV has nothing that a spreadsheet would run as a formula, and numbers
  // unchanged.
  expect(table(files, 'contacts').map((row) => row['display_name'])).toContain('=HYPERLINK("http://evil.example")');
  expect(text(files, 'data/contacts.csv')).toContain(`"'=HYPERLINK(""http://evil.example"")"`);
  expect(text(files, 'data/contacts.csv')).not.toMatch(/^=|,[=+@-]/m);

  const everything = Object.entries(files)
    .filter(([name]) => name.startsWith('data/'))
    .map(([, content]) => Buffer.from(content).toString())
    .join('\n');
  const secrets = await service.sql<{ secret: string }>(
    `select encode(digest, 'hex') as secret from vault.api_key_digests union select encode(digest, 'hex') from vault.sessions
     union select phc from vault.passwords union select storage_key from documents`,
  );
  expect(secrets.length).toBeGreaterThan(5);
  for (const { secret } of secrets) expect(everything).not.toContain(secret);
  const others = await service.sql<{ word: string }>(
    `select title as word from deals where organization_id <> $1 union select slug from brokerages where id <> $1
     union select id::text from deals where organization_id <> $1`,
    [brokerage.id],
  );
  expect(others.length).toBeGreaterThan(2);
  for (const { word } of others) expect(everything).not.toContain(word);

  expect(await run(['brokerages', 'export', brokerage.slug, '--to', file], env)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('already exists'),
  });
  expect(await readFile(file)).toEqual(archive);
  expect(await service.sql(`select details from audit_records where action = 'brokerage.export'`)).toEqual([
    { details: { by: 'command line' } },
  ]);
});

test('an interrupted export leaves no file, and an unwritable path is reported', async () => {
  const place = await mkdtemp(path.join(directory, 'ended-'));
  const holder = new pg.Client(service.connections.owner);
  await holder.connect();
  onTestFinished(() => holder.end());
  // The export waits for this lock once a part of the archive has been written.
  await holder.query('begin');
  await holder.query('lock table public.deals');
  const program = dealkeep(['brokerages', 'export', brokerage.slug, '--to', path.join(place, 'all.zip')], env);
  await expect.poll(() => readdir(place), { timeout: 60_000 }).toEqual(['all.zip.unfinished']);
  program.child.kill('SIGINT');
  await program.ended;
  expect(await readdir(place)).toEqual([]);
  await holder.query('rollback');

  const nowhere = path.join(place, 'nowhere', 'all.zip');
  expect(await run(['brokerages', 'export', brokerage.slug, '--to', nowhere], env)).toMatchObject({
    code: 1,
    stdout: '',
    stderr: `--to: ${nowhere}.unfinished cannot be written (ENOENT).\n`,
  });
});

const interrupted = () => service.log.filter((line) => line.includes('was interrupted'));

async function download(who: SignedIn): Promise<{ status: number; content: Buffer }> {
  const before = interrupted();
  const response = await fetch(`${service.origin}/api/web/brokerages/${brokerage.id}/export`, { headers: who.headers });
  const content = await response.arrayBuffer().catch(() => new ArrayBuffer(0));
  expect(interrupted()).toEqual(before);
  return { status: response.status, content: Buffer.from(content) };
}

/** Returns how many portions of tables the service has read so far for archives of admins. */
async function portionsRead(): Promise<number> {
  const metrics = await (await fetch(`${service.origin}/metrics`)).text();
  return Number(/^dealkeep_statements_total\{statement="export_rows"\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
}

test('an admin exports what they may see, which is what viewers see on deals without participation', async () => {
  const inside = async () => {
    const { status, content } = await download(admin);
    expect(status).toBe(200);
    const files = unzipSync(content);
    expect(checkManifest(files).tables.map(({ name }) => name)).not.toContain('audit_records');
    return files;
  };
  const files = await inside();
  // Each table is read once for both of its files, and those of documents once more for the bodies.
  expect(await portionsRead()).toBe(manifestOf(files).tables.length - 1 + 2);
  const deals = await service.sql<{ id: string }>('select id from deals where organization_id = $1', [brokerage.id]);
  expect(
    table(files, 'deals')
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual(deals.map(({ id }) => id).toSorted());
  expect(manifestOf(files).deals_in_part).toEqual(deals.map(({ id }) => id).toSorted());
  for (const hidden of [
    'offers',
    'offer_decisions',
    'questions',
    'question_answers',
    'ndas',
    'findings',
    'normalizations',
    'pl_periods',
  ])
    expect([hidden, manifestOf(files).tables.find(({ name }) => name === hidden)?.rows ?? 0]).toEqual([hidden, 0]);
  const seen = [...table(files, 'documents'), ...table(files, 'production_documents')];
  expect(seen.length).toBeGreaterThan(0);
  expect(new Set(seen.map(({ confidentiality }) => confidentiality))).toEqual(new Set(['public']));
  expect(Object.keys(files).filter((name) => name.startsWith('documents/'))).toHaveLength(seen.length);
  // There are no account ids, so none of an account that has not joined.
  expect(text(files, 'data/participants.csv').split('\r\n')[0]).not.toContain('user_id');

  // On a deal in which they participate they see more, and on this deal only.
  const [deal] = await service.sql<{ id: string }>(
    `select d.id from deals d where organization_id = $1 and exists (select from offers o where o.deal_id = d.id)
       and exists (select from questions q where q.deal_id = d.id) limit 1`,
    [brokerage.id],
  );
  await service.sql(`insert into participants (deal_id, user_id, role, status) values ($1, $2, 'broker', 'active')`, [
    deal!.id,
    adminId,
  ]);
  const joined = await inside();
  for (const name of ['offers', 'questions'])
    expect(new Set(table(joined, name).map(({ deal_id }) => deal_id))).toEqual(new Set([deal!.id]));
  expect(manifestOf(joined).deals_in_part).toHaveLength(deals.length - 1);
  expect(manifestOf(joined).deals_in_part).not.toContain(deal!.id);
  expect(
    await service.sql(`select count(*)::int from audit_records where action = 'brokerage.export' and user_id = $1`, [
      adminId,
    ]),
  ).toEqual([{ count: 2 }]);
});

test('a node writes two archives at once and one per brokerage, and a HEAD request starts none', async () => {
  await service.sql(`insert into brokerages (slug, name) values ('third', 'Third')`);
  const others = await service.sql<{ id: string }>('select id from brokerages where id <> $1 and sandbox_of is null', [
    brokerage.id,
  ]);
  const ids = [brokerage.id, ...others.map(({ id }) => id)];
  expect(ids).toHaveLength(3);
  for (const { id } of others)
    await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [id, adminId]);
  const urlOfExport = (id: string) => `${service.origin}/api/web/brokerages/${id}/export`;
  const noted = async () =>
    (
      await service.sql<{ count: number }>(
        `select count(*)::int from audit_records where action = 'brokerage.export' and user_id = $1`,
        [adminId],
      )
    )[0]!.count;
  const before = await noted();
  for (const id of [...ids, ...ids]) {
    const head = await fetch(urlOfExport(id), { method: 'HEAD', headers: admin.headers });
    expect([head.status, head.headers.get('content-type')]).toEqual([200, 'application/zip']);
  }
  expect(await noted()).toBe(before);

  // Archives in progress wait for this lock, so that none is complete before the last one is requested.
  const holder = new pg.Client(service.connections.owner);
  await holder.connect();
  const stops = new Map<Response, AbortController>();
  const begin = async (id: string) => {
    const stop = new AbortController();
    const response = await fetch(urlOfExport(id), { headers: admin.headers, signal: stop.signal });
    if (response.status !== 200) await response.arrayBuffer();
    stops.set(response, stop);
    return response;
  };
  try {
    await holder.query('begin; lock table contacts in access exclusive mode');
    const answers = await Promise.all([...ids, ...ids].map(begin));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 503, 503, 503, 503]);
    const begun = answers.filter(({ status }) => status === 200);
    expect(new Set(begun.map(({ url }) => url)).size).toBe(2);
    expect(await noted()).toBe(before + 2);
    const third = ids.find((id) => begun.every(({ url }) => url !== urlOfExport(id)))!;
    expect((await begin(third)).status).toBe(503);
    expect(await admin.ask(`/brokerages/${third}/export`, {})).toMatchObject({
      status: 503,
      body: { error: { code: 'busy' } },
    });
    // A client that disconnects frees its place for another.
    stops.get(begun[0]!)!.abort();
    let next: Response | undefined;
    await expect.poll(async () => (next = await begin(third)).status, { timeout: 60_000, interval: 100 }).toBe(200);
    await holder.query('rollback');
    for (const response of [begun[1]!, next!]) checkManifest(unzipSync(new Uint8Array(await response.arrayBuffer())));
    await expect.poll(async () => (await download(admin)).status, { timeout: 60_000, interval: 100 }).toBe(200);
  } finally {
    await holder.end();
  }
});

test('an archive breaks off without a manifest when its admin loses the role', async () => {
  const setRole = (role: string) =>
    service.sql('update members set role = $3 where brokerage_id = $1 and user_id = $2', [brokerage.id, adminId, role]);
  const before = interrupted().length;
  const holder = new pg.Client(service.connections.owner);
  await holder.connect();
  onTestFinished(async () => {
    await holder.end();
    await setRole('admin');
  });
  await holder.query('begin; lock table contacts in access exclusive mode');
  const response = await fetch(`${service.origin}/api/web/brokerages/${brokerage.id}/export`, {
    headers: admin.headers,
  });
  expect(response.status).toBe(200);
  await expect.poll(() => locksWaited(service)).toBe(1);
  await setRole('staff');
  await holder.query('rollback');
  const parts: Uint8Array[] = [];
  const reading = async () => {
    for await (const part of response.body!) parts.push(part);
  };
  await expect(reading()).rejects.toThrow();
  const content = Buffer.concat(parts);
  expect(content.includes('README.txt')).toBe(true);
  expect(content.includes('manifest.json')).toBe(false);
  expect(interrupted()).toHaveLength(before + 1);
});

test('a client that reads nothing is disconnected, and an archive frees its place', async () => {
  const { services } = service;
  // More than the operating system buffers for a connection that is not read.
  const key = newStorageKey();
  await services.storage.write(key, Readable.from([randomBytes(32_000_000)]));
  const [document] = await service.sql<{ id: string }>(
    `update documents d set storage_key = $1, size_bytes = 32000000, sha256 = null
     where id = (select o.id from documents o join deals l on l.id = o.deal_id
       where l.organization_id = $2 and o.confidentiality = 'public' and o.removed_at is null limit 1) returning id`,
    [key, brokerage.id],
  );
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(1));
  const lookAfterAnswers = openUnreadAnswers({ ...usualUnreadLimits, patienceMillis: 300 }, services.log);
  listener.answerWith(createApp(services), { ...services, lookAfterAnswers });
  const ask = (what: string) => fetch(`http://127.0.0.1:${listener.port}/api/web${what}`, { headers: admin.headers });
  const ended = () => service.log.filter((line) => line.includes('the client read nothing of it')).length;
  const before = ended();

  const file = await ask(`/documents/simple/${document!.id}/content`);
  expect(file.status).toBe(200);
  await expect.poll(ended, { timeout: 60_000 }).toBe(before + 1);
  await expect(file.arrayBuffer()).rejects.toThrow();

  const archive = `/brokerages/${brokerage.id}/export`;
  const unread = await ask(archive);
  expect(unread.status).toBe(200);
  let next: Response | undefined;
  await expect.poll(async () => (next = await ask(archive)).status, { timeout: 60_000, interval: 100 }).toBe(200);
  expect(ended()).toBe(before + 2);
  await expect(unread.arrayBuffer()).rejects.toThrow();
  await next?.body?.cancel();
});

test('a client that reads too slowly is disconnected from an archive, but not from a document', async () => {
  const { services } = service;
  const key = newStorageKey();
  const size = 32_000_000;
  await services.storage.write(key, Readable.from([randomBytes(size)]));
  const [document] = await service.sql<{ id: string }>(
    `update documents d set storage_key = $1, size_bytes = ${size}, sha256 = null
     where id = (select o.id from documents o join deals l on l.id = o.deal_id
       where l.organization_id = $2 and o.confidentiality = 'public' and o.removed_at is null limit 1) returning id`,
    [key, brokerage.id],
  );
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(1));
  // Only responses that must keep a pace can be too slow, and at this pace every one that waits for its reader is.
  const limits = { ...usualUnreadLimits, pace: { bytes: 1_000_000_000, millis: 300 } };
  listener.answerWith(createApp(services), { ...services, lookAfterAnswers: openUnreadAnswers(limits, services.log) });
  const ask = (what: string) => fetch(`http://127.0.0.1:${listener.port}/api/web${what}`, { headers: admin.headers });
  const tooSlow = () => service.log.filter((line) => line.includes('read it too slowly')).length;
  const before = tooSlow();
  const file = await ask(`/documents/simple/${document!.id}/content`);
  const archive = await ask(`/brokerages/${brokerage.id}/export`);
  expect([file.status, archive.status]).toEqual([200, 200]);
  await expect.poll(tooSlow, { timeout: 60_000 }).toBe(before + 1);
  await expect(archive.arrayBuffer()).rejects.toThrow();
  await expect.poll(async () => (await download(admin)).status, { timeout: 60_000, interval: 100 }).toBe(200);
  expect((await file.arrayBuffer()).byteLength).toBe(size);
  expect(tooSlow()).toBe(before + 1);
});

test('non-admins, outsiders and admins without a recent sign-in cannot export', async () => {
  const check = async (who: SignedIn, status: number) => {
    expect((await download(who)).status).toBe(status);
    expect((await who.ask(`/brokerages/${brokerage.id}/export`, {})).status).toBe(status);
  };
  for (const [role, status] of [
    ['broker', 403],
    ['staff', 403],
  ] as const) {
    const [user] = await service.sql<{ id: string }>(
      `insert into users (email, name) values ($1, 'Member') returning id`,
      [`${role}@export.example`],
    );
    await service.sql('insert into members (brokerage_id, user_id, role) values ($1, $2, $3)', [
      brokerage.id,
      user!.id,
      role,
    ]);
    await check(await signInAs(service, user!.id), status);
  }
  const [outsider] = await service.sql<{ id: string }>(
    `select m.user_id as id from members m where m.brokerage_id <> $1 and m.role = 'admin' and m.status = 'active'
       and not exists (select from members o where o.user_id = m.user_id and o.brokerage_id = $1) limit 1`,
    [brokerage.id],
  );
  await check(await signInAs(service, outsider!.id), 404);
  service.clock.advance(11 * 60_000);
  const refused = await admin.ask(`/brokerages/${brokerage.id}/export`, {});
  expect(refused).toMatchObject({ body: { error: { code: 'recent_sign_in_required' } } });
  expect((await download(admin)).status).toBe(refused.status);
});

test('an archive with a 64-bit number of files has valid ZIP64 records', async () => {
  async function* files(): AsyncGenerator<FileToArchive> {
    for (let n = 0; n < 5; n += 1) yield { path: `${n}`, content: Readable.from([`${n}`]) };
  }
  const archive = await buffer(zipped(files(), new Date('2026-11-22T12:00:00Z'), 5));
  expect(archive.readUInt16LE(archive.length - 22 + 10)).toBe(0xffff);
  const large = archive.readBigUInt64LE(archive.length - 22 - 20 + 8);
  expect(archive.readUInt32LE(Number(large))).toBe(0x0606_4b50);
  expect(archive.readBigUInt64LE(Number(large) + 32)).toBe(5n);
  const read = unzipSync(archive);
  expect(Object.entries(read).map(([name, content]) => [name, Buffer.from(content).toString()])).toEqual(
    ['0', '1', '2', '3', '4'].map((name) => [name, name]),
  );
});

test('a document with a long name in any script gets a file name of at most 255 bytes', async () => {
  const names = [`${'案'.repeat(150)}.pdf`, `${'a'.repeat(99)}${'🙂'.repeat(40)}.pdf`];
  const documents = await service.sql<{ id: string; filename: string }>(
    `select d.id, d.filename from documents d join deals l on l.id = d.deal_id
     where organization_id = $1 and removed_at is null limit 2`,
    [brokerage.id],
  );
  const rename = (id: string, name: string) =>
    service.sql('update documents set filename = $2 where id = $1', [id, name]);
  onTestFinished(async () => {
    for (const { id, filename } of documents) await rename(id, filename);
  });
  for (const [at, { id }] of documents.entries()) await rename(id, names[at]!);
  const file = path.join(directory, 'long.zip');
  expect((await run(['brokerages', 'export', brokerage.slug, '--to', file], env)).code).toBe(0);
  const files = unzipSync(await readFile(file));
  checkManifest(files);
  const found = documents.map(({ id }) =>
    Object.keys(files)
      .find((name) => name.includes(id))!
      .split('/')
      .at(-1)!,
  );
  for (const name of found) expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
  expect(found).toEqual([expect.stringMatching(/ 案{40}\.pdf$/), expect.stringMatching(/ a{99}🙂{5}\.pdf$/u)]);
});
