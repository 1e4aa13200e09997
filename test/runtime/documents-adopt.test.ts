/** The command `documents adopt`: a store of documents becomes the database's. */

import { readdirSync } from 'node:fs';
import { cp, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openBackups, type Backups } from './backups.ts';
import { newDataDir, run } from './program.ts';

vi.setConfig({ testTimeout: 240_000 });

let backups: Backups;

beforeAll(async () => {
  backups = await openBackups();
});
afterAll(() => backups?.close());

test('a store that lacks files of documents is adopted only with --incomplete', async () => {
  const copy = await backups.emptyPlace();
  const { place } = await backups.backedUpPlace();
  expect(await run(['restore', '--place', place], copy.env)).toMatchObject({ code: 0, stderr: '' });
  const elsewhere = await newDataDir();
  const there = { ...copy.env, DATA_DIR: elsewhere };
  const refused = await run(['documents', 'adopt'], there);
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^Nothing was changed: in .*\/documents \d+ of \d+ documents are missing or damaged: .* add: --incomplete$/m,
    ),
  });
  expect(readdirSync(path.dirname(elsewhere))).not.toContain(path.basename(elsewhere));
  // Moved as docs/operation.md says; the demo removed a document whose file does not exist.
  const sql = new pg.Client(copy.owner);
  await sql.connect();
  await sql.query('update documents set body_cleared_at = now() where removed_at is not null').finally(() => sql.end());
  await cp(path.join(copy.dataDir, 'documents'), path.join(elsewhere, 'documents'), { recursive: true });
  expect(await run(['documents', 'adopt'], there)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/The files of all \d+ documents are there\./),
  });
  expect(await run(['documents', 'adopt'], { ...copy.env, DATA_DIR: await newDataDir() })).toMatchObject({ code: 1 });
  // Files that cannot be read are not missing.
  const unreadable = await newDataDir();
  await cp(path.join(copy.dataDir, 'documents'), path.join(unreadable, 'documents'), { recursive: true });
  for (const part of readdirSync(path.join(unreadable, 'documents'))) {
    await rm(path.join(unreadable, 'documents', part), { recursive: true });
    await symlink(part, path.join(unreadable, 'documents', part));
  }
  expect(await run(['documents', 'adopt'], { ...copy.env, DATA_DIR: unreadable })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^Nothing was changed: in .* \d+ of \d+ documents cannot be read: .*ELOOP.* Check that the store can be reached/m,
    ),
  });
  const anyway = await run(['documents', 'adopt', '--incomplete'], { ...copy.env, DATA_DIR: await newDataDir() });
  expect(anyway).toMatchObject({ code: 0, stderr: '' });
});

test('a node may start while documents adopt looks for files, and then nothing is adopted', async () => {
  const { env: there, owner } = await backups.emptyPlace();
  const holder = new pg.Client(owner);
  await holder.connect();
  try {
    await holder.query('begin; lock table public.documents in access exclusive mode');
    const adopting = run(['documents', 'adopt'], there);
    const waiting = async () =>
      (
        await holder.query(
          `select from pg_locks l join pg_database d on d.oid = l.database where d.datname = current_database() and not l.granted`,
        )
      ).rowCount;
    await expect.poll(waiting, { timeout: 60_000 }).toBe(1);
    await holder.query(`select app.note_node(gen_random_uuid(), 'the node that started', '{}'); commit`);
    expect(await adopting).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^1 node is running, .*: the node that started\. Stop every node first\./),
    });
    expect((await holder.query('select from vault.document_store')).rowCount).toBe(0);
  } finally {
    await holder.end();
  }
});
