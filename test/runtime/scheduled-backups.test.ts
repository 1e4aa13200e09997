/** Backups that the service makes on its own, and what doctor says of them. */

import { readdirSync } from 'node:fs';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { checkBackups } from '../../server/cli/doctor/backups.ts';
import { findingsOf, type Finding } from '../../server/cli/doctor/finding.ts';
import { readConfig } from '../../server/config/config.ts';
import { openS3Server } from '../documents/s3-server.ts';
import {
  bodiesIn,
  bucketVariables,
  openBackups,
  secondAfter,
  timeOf,
  type BackupLine,
  type Backups,
} from './backups.ts';
import { newDataDir, run, serve, type Program } from './program.ts';

vi.setConfig({ testTimeout: 240_000 });

let backups: Backups;

beforeAll(async () => {
  backups = await openBackups();
});
afterAll(() => backups?.close());

/** What `dealkeep doctor` finds about backups, without a process of its own. */
async function foundAboutBackups(variables: Record<string, string>): Promise<string[]> {
  const findings = findingsOf('backups');
  const client = new pg.Client(variables['DATABASE_URL']);
  await client.connect();
  await checkBackups(client, readConfig(variables), findings).finally(() => client.end());
  return findings.list.map(worded);
}

/** Returns a function that gives everything that a program has written so far. */
function logOf({ written }: Program): () => string {
  return () => Object.values(written()).join('');
}

const worded = ({ level, message }: Finding) => `${level}: ${message}`;

test('the service makes a backup when the latest is too old, and doctor reports its age and failures', async () => {
  const place = await newDataDir();
  const store = path.join(backups.service.config.dataDir, 'documents');
  const [body = ''] = Object.keys(await bodiesIn(store));
  await rename(path.join(store, body), path.join(store, 'aside'));
  const program = serve({
    ...backups.env,
    DATA_DIR: backups.service.config.dataDir,
    BACKUP_TO: place,
    BACKUP_EVERY: '1d',
    BACKUP_KEEP: '2',
  });
  const log = logOf(program);
  await expect.poll(log, { timeout: 60_000 }).toContain('"msg":"made a backup that lacks documents"');
  expect((await readdir(place, { recursive: true })).filter((name) => name.endsWith('/manifest'))).toHaveLength(1);
  program.child.kill('SIGTERM');
  await program.ended;
  const runs = () =>
    backups.service.sql<{ made: boolean; failed: boolean }>(
      `select last_success_at is not null as made, coalesce(last_failure_at > last_success_at, false) as failed
       from app.job_runs where job = 'backup'`,
    );
  expect(await runs()).toEqual([{ made: true, failed: false }]);
  expect(await backups.service.sql('select last_backup_missing as lacks from app.service_state()')).toEqual([
    { lacks: 1 },
  ]);
  // The latest backup is recent enough.
  const again = await run(['backup', '--scheduled', '--json', '--place', place], {
    ...backups.env,
    BACKUP_EVERY: '1d',
  });
  expect(again).toMatchObject({ code: 0, stdout: 'null\n' });
  const doctor = (more: Record<string, string>) => foundAboutBackups({ ...backups.env, ...more });
  const { stdout } = await run(['doctor', '--json'], { ...backups.env, BACKUP_TO: place, BACKUP_EVERY: '1d' });
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  expect(findings.filter(({ check }) => check === 'backups').map(worded)).toEqual([
    expect.stringMatching(/^warning: The latest backup in .* old, and lacks 1 of \d+ documents\.$/),
  ]);
  await rename(path.join(store, 'aside'), path.join(store, body));
  await backups.backUp(place);
  expect(await doctor({ BACKUP_TO: place, BACKUP_EVERY: '1d' })).toEqual([
    expect.stringMatching(/^ok: The latest backup in .* is \d+ minutes old\.$/),
  ]);

  // A place that cannot be written to: a file is in its path.
  const taken = path.join(place, 'taken');
  await writeFile(taken, '');
  const failing = serve({
    ...backups.env,
    DATA_DIR: backups.service.config.dataDir,
    BACKUP_TO: path.join(taken, 'below'),
    BACKUP_EVERY: '1d',
  });
  await expect.poll(runs, { timeout: 60_000 }).toEqual([{ made: true, failed: true }]);
  failing.child.kill('SIGTERM');
  await failing.ended;
  expect(await doctor({ BACKUP_TO: place, BACKUP_EVERY: '1d' })).toEqual([
    expect.stringMatching(/^warning: The latest backup in .* old; the last attempt failed\.$/),
  ]);
  expect(await doctor({ BACKUP_TO: await newDataDir() })).toEqual([
    expect.stringMatching(/^fault: There is no backup in /),
  ]);
  expect(await doctor({})).toEqual([expect.stringMatching(/^ok: BACKUP_TO is not set/)]);
  expect(await doctor({ BACKUP_TO: backups.service.config.dataDir })).toEqual([
    expect.stringMatching(/^fault: .* is where documents are kept/),
  ]);
});

test('a service that cannot check a recent backup has not failed to make one', async () => {
  const s3 = await openS3Server();
  const bucket = { ...bucketVariables(s3.config), BACKUP_TO: `s3://${s3.config.bucket}/kept` };
  try {
    await backups.backUp(bucket.BACKUP_TO, bucket);
    const before = await backups.noted();
    s3.failOn(/^GET .*manifest/);
    const program = serve({
      ...backups.env,
      ...bucket,
      DATA_DIR: backups.service.config.dataDir,
      BACKUP_EVERY: '1d',
    });
    const log = logOf(program);
    await expect.poll(log, { timeout: 60_000 }).toContain('no backup was made');
    expect(log()).toContain('could not be checked');
    program.child.kill('SIGTERM');
    await program.ended;
    expect(await backups.noted()).toEqual(before);
  } finally {
    await s3.close();
  }
});

/** Renames a plain backup as if the clock had been wrong; returns its new name. */
async function redated(place: string, name: string, at: Date): Promise<string> {
  const stamp = at.toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const early = name.replace(/\d{8}T\d{6}Z/, stamp);
  await rename(path.join(place, name), path.join(place, early));
  const manifest = path.join(place, early, 'manifest');
  await writeFile(manifest, (await readFile(manifest, 'utf8')).replace(name, early));
  return early;
}

test('a backup is made although the clock of the latest was a minute fast, and is not the one deleted', async () => {
  const { place, made } = await backups.backedUpPlace();
  const { name } = made;
  const ahead = await redated(place, name, new Date(Date.now() + 60_000));
  const { code, stdout } = await run(['backup', '--json', '--place', place, '--keep', '1'], backups.env);
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { deleted: [ahead] }]);
});

test('a backup that a wrong clock dated in the future does not stop others, and is never taken for the latest', async () => {
  const { place, made: first } = await backups.backedUpPlace();
  const early = await redated(place, first.name, new Date(Date.parse(timeOf(first.name)) + 4 * 365 * 86_400_000));

  const doctor = () => foundAboutBackups({ ...backups.env, BACKUP_TO: place, BACKUP_EVERY: '1d' });
  const fault = `fault: ${early} in ${place} is dated in the future: the clock was wrong when it was made, or is wrong on this machine.`;
  expect(await doctor()).toEqual([fault]);
  const scheduled = () =>
    run(['backup', '--scheduled', '--json', '--place', place], { ...backups.env, BACKUP_EVERY: '1d' });
  const made = JSON.parse((await scheduled()).stdout) as BackupLine;
  expect(made).toMatchObject({ new_documents: 0, deleted: [] });
  expect((await scheduled()).stdout).toBe('null\n');
  expect(await doctor()).toEqual([fault, expect.stringMatching(/^ok: The latest backup in .* is \d+ minutes old/)]);

  const target = await backups.emptyPlace();
  const unnamed = await run(['restore', '--place', place], target.env);
  expect(unnamed).toMatchObject({ code: 1, stderr: expect.stringContaining(`${early} in ${place} is dated in the`) });
  expect(unnamed.stderr).toContain(`Give the name of the backup. The others are: ${made.name}.`);
  const named = await run(['restore', made.name, '--place', place], target.env);
  expect(named).toMatchObject({ code: 0, stderr: '' });

  await secondAfter(made.name);
  const next = await backups.backUp(place, {}, ['--keep', '1']);
  expect(next.deleted).toEqual([]);
  expect(readdirSync(place)).toEqual(expect.arrayContaining([early, made.name, next.name]));
  await rm(path.join(place, early), { recursive: true });
  await secondAfter(next.name);
  expect((await backups.backUp(place, {}, ['--keep', '1'])).deleted).toEqual([made.name, next.name]);
});

test('a place with backups of another database or of a copy is reported by doctor and by the service', async () => {
  const { place, made } = await backups.backedUpPlace();
  const copy = await backups.emptyPlace();
  expect(await run(['restore', '--place', place], copy.env)).toMatchObject({ code: 0, stderr: '' });
  const doctor = () => foundAboutBackups({ ...copy.env, BACKUP_TO: place, BACKUP_EVERY: '1d' });
  expect(await doctor()).toEqual([
    `fault: ${made.name}, the latest backup in ${place}, was made from a copy of this database, or before its documents were adopted: none of this one are made there.`,
  ]);
  const node = serve({ ...copy.env, BACKUP_TO: place, BACKUP_EVERY: '1d' });
  const log = logOf(node);
  await expect.poll(log, { timeout: 60_000 }).toContain('no backup was made');
  expect(log()).toContain('dealkeep backup --continue');
  node.child.kill('SIGTERM');
  await node.ended;

  // While another process makes a backup elsewhere, the place is not taken for one of this database either.
  const holder = new pg.Client(copy.owner);
  await holder.connect();
  await holder.query(`select pg_advisory_lock(hashtext('dealkeep backup'))`);
  const scheduled = await run(['backup', '--scheduled', '--json', '--place', place], {
    ...copy.env,
    BACKUP_EVERY: '1d',
  }).finally(() => holder.end());
  expect([scheduled.code, scheduled.stderr]).toEqual([1, expect.stringContaining('was made from a copy')]);

  const taken = await backups.backUp(place, copy.env, ['--continue']);
  expect(await doctor()).toEqual([expect.stringMatching(/^ok: The latest backup in .* is \d+ minutes old/)]);
  const foreign = taken.name.replace(/[0-9a-f]{8}$/, (series) => (series === '0'.repeat(8) ? '1' : '0').repeat(8));
  await rename(path.join(place, taken.name), path.join(place, foreign));
  expect(await doctor()).toEqual([
    `fault: ${place} has backups of another database, such as ${foreign}: none of this one are made there.`,
  ]);
});
