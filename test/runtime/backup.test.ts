/** The command `backup`: what a backup holds, its name, its place, and which older ones it deletes. */

import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { mkdir, readdir, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openFileStorage } from '../../server/storage/files.ts';
import { openS3Server } from '../documents/s3-server.ts';
import { bodiesIn, bucketVariables, openBackups, secondAfter, type Backups } from './backups.ts';
import { newDataDir, run } from './program.ts';

vi.setConfig({ testTimeout: 240_000 });

let backups: Backups;

beforeAll(async () => {
  backups = await openBackups();
});
afterAll(() => backups?.close());

test('a backup contains the body of a removed document while a legal hold applies', async () => {
  const documentsIn = async () => (await backups.backUp(await newDataDir())).documents;
  // The demo removed a document whose body does not exist; count this body as cleared.
  await backups.service.sql('update documents set body_cleared_at = now() where removed_at is not null');
  const all = await documentsIn();
  // One document for each kind of hold, which the other two holds do not concern.
  const documents = await backups.service.sql<{ id: string; deal: string; brokerage: string; person: string }>(
    `select d.id, d.deal_id as deal, l.organization_id as brokerage, d.uploaded_by as person
     from documents d join deals l on l.id = d.deal_id join brokerages b on b.id = d.brokerage_id
     where d.removed_at is null and d.uploaded_by is not null and b.sandbox_of is null order by d.id`,
  );
  const ofDeal = documents[0]!;
  const ofPerson = documents.find(
    ({ deal, brokerage, person }) => brokerage === ofDeal.brokerage && deal !== ofDeal.deal && person !== ofDeal.person,
  )!;
  const ofBrokerage = documents.find(
    ({ brokerage, person }) => brokerage !== ofDeal.brokerage && person !== ofPerson.person,
  )!;
  const ids = [ofDeal.id, ofPerson.id, ofBrokerage.id];
  await backups.service.sql(`update documents set removed_at = now() - interval '8 days' where id = any ($1)`, [ids]);
  expect(await documentsIn()).toBe(all - 3);
  const holds = [ofDeal.deal, ofPerson.person, ofBrokerage.brokerage];
  await backups.service.sql(
    `insert into vault.legal_holds (kind, subject_id) select * from unnest('{deal,person,brokerage}'::text[], $1::uuid[])`,
    [holds],
  );
  expect(await documentsIn()).toBe(all);
  await backups.service.sql('delete from vault.legal_holds where subject_id = any ($1)', [holds]);
  await backups.service.sql('update documents set removed_at = null where id = any ($1)', [ids]);
});

test('a backup in a bucket is restored and cleaned up like one in a folder', async () => {
  const s3 = await openS3Server();
  const bucket = bucketVariables(s3.config);
  const place = 's3://sales/kept/here';
  try {
    const made = await backups.backUp(place, bucket);
    expect([...s3.objects.keys()]).toContain(`kept/here/${made.name}/manifest`);
    const target = await backups.emptyPlace();
    expect(await run(['restore', '--place', place], { ...target.env, ...bucket })).toMatchObject({
      code: 0,
      stderr: '',
    });
    await secondAfter(made.name);
    // Two uploads left by killed backups, and one that is not Dealkeep's.
    s3.beginUpload(`kept/here/${made.name}/rows`);
    s3.beginUpload('kept/here/documents/ab/0123456789abcdef01ab');
    s3.beginUpload('kept/here/film');
    const before = await backups.noted();
    s3.failOn(/^DELETE/);
    const first = await backups.backUpWithout(place, bucket, ['--keep', '1']);
    s3.failOn(null);
    expect(first.deleted).toEqual([]);
    expect(first.not_deleted).toContain(`${made.name}/manifest`);
    const after = await backups.noted();
    expect(after.succeeded?.getTime()).toBeGreaterThan(before.succeeded?.getTime() ?? 0);
    expect(after.failed).toEqual(before.failed);
    expect([...s3.objects.keys()]).toContain(`kept/here/${made.name}/manifest`);

    await secondAfter(first.name);
    const next = await backups.backUp(place, bucket, ['--keep', '1']);
    expect(next).toMatchObject({ new_documents: 0, deleted: [made.name, first.name], not_deleted: null });
    expect([...s3.unfinished.keys()]).toHaveLength(1);
    expect([...s3.objects.keys()].filter((key) => key.startsWith('kept/here/documents/'))).toHaveLength(next.documents);
  } finally {
    await s3.close();
  }
});

describe('deleting old backups', () => {
  test('never deletes from a document store', async () => {
    const s3 = await openS3Server();
    try {
      const bucket = bucketVariables(s3.config);
      const keys = Array.from({ length: 3 }, () => `documents/${randomBytes(20).toString('hex')}`);
      for (const key of keys) s3.objects.set(key, Buffer.from('a document'));
      const refused = expect.stringContaining('where documents are kept');
      const args = ['backup', '--keep', '1', '--place'];
      const named = { ...backups.env, ...bucket, S3_BUCKET: 'sales' };
      expect(await run([...args, 's3://sales'], named)).toMatchObject({ code: 2, stderr: refused });
      expect(await run([...args, backups.service.config.dataDir], backups.env)).toMatchObject({
        code: 2,
        stderr: refused,
      });
      const link = await newDataDir();
      await symlink(backups.service.config.dataDir, link);
      expect(await run([...args, link], backups.env)).toMatchObject({ code: 2, stderr: refused });
      // The variables do not say that a service keeps its documents in this bucket.
      const one = await backups.backUp('s3://sales', bucket);
      await secondAfter(one.name);
      expect(await backups.backUp('s3://sales', bucket, ['--keep', '1'])).toMatchObject({ deleted: [one.name] });
      expect([...s3.objects.keys()]).toEqual(expect.arrayContaining(keys));
    } finally {
      await s3.close();
    }
  });

  test('deletes bodies of keys that no backup uses any more, and no foreign files', async () => {
    const place = await newDataDir();
    const BACKUP_KEY = randomBytes(32).toString('hex');
    const plain = await backups.backUp(place);
    const bodies = Object.keys(await bodiesIn(path.join(place, 'documents')));
    expect(bodies).toHaveLength(plain.documents);
    await writeFile(path.join(place, 'documents/notes.txt'), 'mine');
    // Files left by a killed backup, one that is not Dealkeep's (film.mp4), and one that is still being written
    // (manifest).
    const daysAgo = new Date(Date.now() - 2 * 86_400_000);
    const incoming = (name: string) => path.join(place, 'incoming', name);
    const old = ['rows.0123456789ab', '0123456789abcdef01ab.0123456789ab', 'film.mp4'];
    for (const name of [...old, 'manifest.0123456789ab']) await writeFile(incoming(name), 'half');
    for (const name of old) await utimes(incoming(name), daysAgo, daysAgo);
    const broken = plain.name.replace(/\d{8}T/, '20200101T');
    await mkdir(path.join(place, broken));
    await secondAfter(plain.name);

    const sealed = await backups.backUp(place, { BACKUP_KEY });
    expect(sealed).toMatchObject({ deleted: [broken], new_documents: plain.documents });
    expect(Object.keys(await bodiesIn(path.join(place, 'documents')))).toEqual([...bodies, 'notes.txt'].toSorted());
    expect((await readdir(path.join(place, 'incoming'))).toSorted()).toEqual(['film.mp4', 'manifest.0123456789ab']);

    await secondAfter(sealed.name);
    const next = await backups.backUp(place, { BACKUP_KEY }, ['--keep', '1']);
    expect(next).toMatchObject({ deleted: [plain.name, sealed.name], new_documents: 0 });
    expect(Object.keys(await bodiesIn(path.join(place, 'documents')))).toEqual(['notes.txt']);

    // The documents folder of the place has become a service's document store, for whatever reason.
    const store = openFileStorage(path.join(place, 'documents'));
    const key = randomBytes(20).toString('hex');
    const body = async function* () {
      yield Buffer.from('a document');
    };
    await store.write(key, body());
    await store.write('dealkeep-store-6f0d3d0e-1f4c-4d36-9c6e-0a52d5a0c9b1', body());
    await secondAfter(next.name);
    const last = await backups.backUpWithout(place, { BACKUP_KEY }, ['--keep', '1']);
    expect(last.deleted).toEqual([next.name]);
    expect(last.not_deleted).toContain('documents is a store of documents');
    expect(Object.keys(await bodiesIn(path.join(place, 'documents')))).toContain(`${key.slice(-2)}/${key}`);
  });
});

test('a backup to an unwritable folder fails with one line that names it', async () => {
  const file = await newDataDir();
  await writeFile(file, '');
  const { code, stderr } = await run(['backup', '--place', path.join(file, 'backups')], backups.env);
  expect([code, stderr.trim().split('\n')]).toEqual([1, [expect.stringMatching(/^ENOTDIR: .*\/backups/)]]);
});

/** Mounts a file system of 64 kB, which only root may do; returns whether it could. */
const mounted = (directory: string) =>
  spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', directory]).status === 0;

test('a full disk is reported in one sentence that names the place', async ({ skip }) => {
  const place = await newDataDir();
  await mkdir(place);
  if (!mounted(place)) return skip('only root may mount a small file system');
  try {
    const { code, stderr } = await run(['backup', '--place', place], backups.env);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(new RegExp(`^There is no room left in ${place}/.*\\.\n$`)),
    ]);
    await writeFile(path.join(place, 'fill'), Buffer.alloc(65_536)).catch(() => {});
    const { stdout } = await run(['doctor', '--json'], { DATA_DIR: place });
    expect(stdout).not.toContain('check host, port');
    const started = await run(['migrate'], { DATA_DIR: place });
    expect([started.code, started.stderr]).toEqual([1, `There is no room left in ${place}.\n`]);
    const full = { code: 1, stderr: `There is no room left in ${place}.\n` };
    const [someone] = await backups.service.sql<{ email: string }>('select email from users limit 1');
    const exporting = ['people', 'export', someone!.email, '--output', path.join(place, 'person.json')];
    expect(await run(exporting, backups.env)).toMatchObject(full);
    expect(readdirSync(place)).not.toContain('person.json');
    // Room for the lock, and none for the passwords of a new database.
    await truncate(path.join(place, 'fill'), 0);
    await writeFile(path.join(place, 'dealkeep.pid'), '1\n');
    await writeFile(path.join(place, 'fill'), Buffer.alloc(65_536)).catch(() => {});
    expect(await run(['migrate'], { DATA_DIR: place })).toMatchObject(full);
    expect(readdirSync(place)).not.toContain('postgres-passwords.json');
  } finally {
    spawnSync('umount', [place]);
  }
});

test('a backup fails when the document store does not belong to the database', async () => {
  const place = await newDataDir();
  const before = await backups.noted();
  const { code, stderr } = await run(['backup', '--place', place], { ...backups.env, DATA_DIR: await newDataDir() });
  expect(stderr).toContain('The documents of this database are not kept in');
  expect(code).toBe(1);
  expect(await readdir(place).catch(() => [])).toEqual([]);
  expect((await backups.noted()).succeeded).toEqual(before.succeeded);
});

test('a backup is named after the next second that no other backup uses', async () => {
  const { place, made } = await backups.backedUpPlace();
  const { name } = made;
  const [, series = ''] = /Z(-.*)$/.exec(name) ?? [];
  const stamp = (second: number) => new Date(second * 1_000).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const begin = Math.floor(Date.now() / 1_000);
  // Each looks like an interrupted backup.
  const others = Array.from({ length: 300 }, (_, at) => `backup-${stamp(begin + at)}${series}`).filter(
    (other) => other !== name,
  );
  for (const other of others) {
    await mkdir(path.join(place, other));
    await writeFile(path.join(place, other, 'documents'), '');
  }
  const next = await backups.backUp(place);
  expect(next.name).toBe(`backup-${stamp(begin + 300)}${series}`);
  expect(next.deleted).toEqual(others);
});
