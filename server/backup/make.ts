/** Makes a backup while the service runs: one snapshot of the database, and the bodies of the documents in it. */

import { createHash } from 'node:crypto';
import pg from 'pg';
import { appliedMigrations } from '../database/migrate.ts';
import { inTransaction, snapshot } from '../database/transaction.ts';
import { isMark, isMarked } from '../documents/store-marker.ts';
import type { BackupKey } from '../lib/backup-key.ts';
import { reasonOf } from '../lib/reason.ts';
import type { Storage } from '../storage/storage.ts';
import {
  backupsIn,
  bodiesOf,
  checked,
  compressed,
  keyIdOf,
  readManifest,
  wholeByAge,
  writeFileTo,
  writeManifest,
  type Body,
  type Manifest,
} from './backups.ts';
import { byBytes, type BackupDestination, type StoredFile } from './destination.ts';
import {
  backupName,
  bodiesFolder,
  bodyName,
  fileOf,
  isFromFuture,
  keyIdOfFolder,
  keyOfBody,
  madeAt,
  seriesOf,
} from './names.ts';
import { copied, partsOf, quoted, rowsOf, sequencesOf, tablesOf, textSettings, type Table } from './rows.ts';
import { Damaged, sealedSize } from './encryption.ts';

/** The backup cannot be made as requested; the message says why. */
class NoBackupMade extends Error {
  override readonly name = 'NoBackupMade';
}

/** The latest backup is recent enough, but it could not be checked whether it is of this database. */
export class NotChecked extends Error {
  override readonly name = 'NotChecked';
}

interface BackupTask {
  /** A connection as the owner, for the backup alone. */
  readonly client: pg.Client;
  readonly storage: Storage;
  /** The location of `storage`, in words. */
  readonly storeLocation: string;
  readonly destination: BackupDestination;
  readonly key: BackupKey | null;
  /** The number of complete backups to keep; undefined keeps all. */
  readonly keep?: number | undefined;
  /** Age in milliseconds; no backup is made when a younger one exists. */
  readonly unlessYounger?: number | undefined;
  /** Whether to continue with the backups of a database that this one was restored from, or vice versa. */
  readonly takesOver: boolean;
  /** Called when the backup is complete, before others are deleted, with the number of documents that it lacks. */
  readonly onWhole: (missing: number) => Promise<void>;
  readonly release: string;
  readonly now?: Date;
}

export interface Made {
  readonly manifest: Manifest;
  /** The number of bodies that were new. */
  readonly copied: number;
  /** Names of deleted backups: older than those kept, or incomplete. */
  readonly dropped: readonly string[];
  /** Which file could not be deleted, and why; null when everything was. */
  readonly undeleted: string | null;
}

/** Identifies the database; the same after it is restored. The server's login may ask, too. */
export async function seriesIn(client: pg.ClientBase): Promise<string> {
  const { rows } = await client.query<{ first: string }>(
    `select min(extract(epoch from applied_at))::text as first from app.migrations`,
  );
  return createHash('sha256')
    .update(rows[0]?.first ?? '')
    .digest('hex')
    .slice(0, 8);
}

/**
 * The id of the store in which this database keeps its documents; null before a store was marked, and in releases
 * before store markers.
 */
async function storeIn(client: pg.ClientBase): Promise<string | null> {
  const { rows: known } = await client.query<{ there: boolean }>(
    `select to_regclass('vault.document_store') is not null as there`,
  );
  if (known[0]?.there !== true) return null;
  const { rows } = await client.query<{ id: string }>(
    'select id from vault.document_store where marked_at is not null',
  );
  return rows[0]?.id ?? null;
}

/** SQL condition for a legal hold on a row's deal, its brokerage or its uploader, as in `app.bodies_to_clear`. */
const isHeld = `exists (select from vault.legal_holds h join public.deals l on l.id = deal_id
  where (h.kind = 'deal' and h.subject_id = l.id) or (h.kind = 'brokerage' and h.subject_id = l.organization_id)
    or (h.kind = 'person' and h.subject_id = uploaded_by))`;

/** SQL condition for documents that were not removed, or within six days: the bodies of the others are about to be cleared. */
const notLongRemoved = `(removed_at is null or removed_at > now() - interval '6 days')`;

/**
 * SQL's `where` for the bodies of existing documents, of documents removed within six days, and of removed documents on
 * legal hold, in a table or query with these columns. Bodies about to be cleared are left out.
 */
export const needed = (columns: readonly string[], hasHolds: boolean): string => {
  const conditions = [];
  if (columns.includes('body_cleared_at')) conditions.push('body_cleared_at is null');
  if (columns.includes('removed_at')) {
    const held =
      hasHolds && ['deal_id', 'uploaded_by'].every((column) => columns.includes(column)) ? ` or ${isHeld}` : '';
    conditions.push(`(${notLongRemoved}${held})`);
  }
  return conditions.length > 0 ? ` where ${conditions.join(' and ')}` : '';
};

/**
 * SQL for the bodies that rows name, from every table with the columns of a body, in the order in which destinations
 * list files.
 */
function bodiesQuery(tables: readonly Table[]): string {
  const withBodies = tables.filter(({ columns }) =>
    ['storage_key', 'size_bytes', 'sha256'].every((column) => columns.includes(column)),
  );
  // Releases before legal holds do not have this table.
  const hasHolds = tables.some(({ name }) => name === 'vault.legal_holds');
  const parts = withBodies.map(
    ({ name, columns }) =>
      `select storage_key, size_bytes, coalesce(encode(sha256, 'hex'), '') as sha256 from ${quoted(name)}${needed(columns, hasHolds)}`,
  );
  return `select storage_key, max(size_bytes), max(sha256) from (${parts.join(' union all ')}) bodies
    group by storage_key order by right(storage_key, 2) collate "C", storage_key collate "C"`;
}

/** Copies everything that comes from the database, from one snapshot. */
async function copyDatabase(
  { client, destination, key, release }: BackupTask,
  name: string,
  at: Date,
): Promise<Manifest> {
  const copy = async (): Promise<Manifest> => {
    const tables = await tablesOf(client);
    // Prevents schema changes; reads and writes continue.
    await client.query(`lock table ${tables.map((table) => quoted(table.name)).join(', ')} in access share mode`);
    const migrations = (await appliedMigrations(client)).map((applied) => ({
      name: applied.name,
      digest: applied.digest,
    }));
    const parts = await partsOf(client);
    const { rows: server } = await client.query<{ version: string }>(
      `select current_setting('server_version') as version`,
    );
    const held: Manifest['tables'] = [];
    const rows = rowsOf(client, tables, ({ name: table, columns }, found) => {
      held.push({ name: table, columns: [...columns], ...found });
    });
    const written = await writeFileTo(destination, fileOf(name, 'rows'), compressed(rows), key);
    // Read last: sequences are not part of the snapshot, and their values must not be behind the rows.
    const sequences = await sequencesOf(client);
    const list = compressed(copied(client, bodiesQuery(tables)));
    const documents = await writeFileTo(destination, fileOf(name, 'documents'), list, key);
    return {
      format: 1,
      name,
      made_at: at.toISOString(),
      release,
      postgres: server[0]?.version ?? '',
      migrations,
      tables: held,
      parts,
      sequences,
      rows: written,
      documents: { ...documents, count: 0, body_bytes: 0, missing: [] },
    };
  };
  return inTransaction(client, copy, snapshot);
}

/** Age at which an unfinished file counts as abandoned, in milliseconds. */
const unfinishedMillis = 24 * 3_600_000;

/** The maximum number of missing bodies; with more, the backup fails. */
const mostMissing = 1_000;

async function keepBody({ storage, destination, key }: BackupTask, body: Body): Promise<boolean> {
  const source = await storage.read(body.storageKey);
  if (source === null) return false;
  try {
    await writeFileTo(destination, bodyName(key, body.storageKey), checked(source, body), key);
    return true;
  } catch (error) {
    if (error instanceof Damaged) return false;
    throw error;
  }
}

/** Copies the bodies that the destination lacks. Both lists have the same order, so neither is held in memory. */
async function copyBodies(task: BackupTask, manifest: Manifest): Promise<{ manifest: Manifest; copied: number }> {
  const { destination, key } = task;
  const there = destination.list(bodiesFolder(key))[Symbol.asyncIterator]();
  let next: IteratorResult<StoredFile, unknown> = await there.next();
  let count = 0;
  let copiedNow = 0;
  let bytes = 0;
  const missing: string[] = [];
  for await (const body of bodiesOf(destination, manifest.name, key, manifest.documents)) {
    const name = bodyName(key, body.storageKey);
    while (!next.done && byBytes(next.value.name, name) < 0) next = await there.next();
    const size = key ? sealedSize(body.size) : body.size;
    const has = !next.done && next.value.name === name && next.value.size === size;
    count += 1;
    bytes += body.size;
    if (has) continue;
    if (await keepBody(task, body)) copiedNow += 1;
    else if (missing.push(body.storageKey) > mostMissing)
      throw new NoBackupMade(
        `The files of more than ${mostMissing} documents are missing from the store: check that it is the right one.`,
      );
  }
  await there.return?.(undefined);
  const documents = { ...manifest.documents, count, body_bytes: bytes, missing };
  return { manifest: { ...manifest, documents }, copied: copiedNow };
}

/** Deletes a file; an error names it. */
async function remove(destination: BackupDestination, name: string): Promise<void> {
  await destination.remove(name).catch((error: unknown) => {
    throw new Error(`${name}: ${reasonOf(error)}`, { cause: error });
  });
}

async function removeBackup(destination: BackupDestination, backup: string): Promise<void> {
  // The manifest first, as it marks the backup as complete.
  await remove(destination, fileOf(backup, 'manifest'));
  const inner: string[] = [];
  for await (const { name } of destination.list(backup)) inner.push(name);
  for (const name of inner) await remove(destination, name);
}

/**
 * The storage keys of the bodies that these backups need; all of them must be encrypted with `key`. Throws
 * {@link Damaged}.
 */
async function bodiesInUse(
  destination: BackupDestination,
  backups: readonly string[],
  key: BackupKey | null,
): Promise<ReadonlySet<string>> {
  const inUse = new Set<string>();
  for (const name of backups) {
    const { documents } = await readManifest(destination, name, key);
    for await (const { storageKey } of bodiesOf(destination, name, key, documents)) inUse.add(storageKey);
  }
  return inUse;
}

/** Deletes the bodies in a folder that are not in use, and no other files. */
async function clearBodies(destination: BackupDestination, folder: string, inUse: ReadonlySet<string>): Promise<void> {
  const unused: string[] = [];
  for await (const { name } of destination.list(folder)) {
    const storageKey = keyOfBody(name);
    if (storageKey === null) continue;
    // The service keeps its documents in folders of the same shape.
    if (isMark(storageKey))
      throw new Error(`${folder} is a store of documents, as ${name} shows: nothing in it was deleted`);
    if (!inUse.has(storageKey)) unused.push(name);
  }
  for (const name of unused) await remove(destination, name);
}

/** Deletes the bodies that no kept backup needs, including those encrypted with earlier keys. */
async function clearAllBodies({ destination, key }: BackupTask, kept: readonly string[]): Promise<void> {
  const keyIds = new Map<string, string | null>();
  for (const name of kept) keyIds.set(name, await keyIdOf(destination, name));
  for (const folder of await destination.folders()) {
    const id = keyIdOfFolder(folder);
    if (id === undefined) continue;
    const users = kept.filter((name) => keyIds.get(name) === id);
    // Without its key, a backup's list of bodies cannot be read.
    if (users.length > 0 && id !== null && id !== key?.id) continue;
    await clearBodies(destination, folder, await bodiesInUse(destination, users, id === null ? null : key));
  }
}

/**
 * Deletes incomplete backups, complete ones except the latest `keep`, of which `made` is the last, and then bodies;
 * appends the names of deleted backups to `dropped`. While one is dated in the future, no complete backup is deleted.
 */
async function prune(task: BackupTask, made: string, dropped: string[]): Promise<void> {
  const { destination, now } = task;
  const found = await backupsIn(destination);
  // The backup just made is the latest, although another may be dated some minutes ahead.
  const whole = [...wholeByAge(found, now).filter((name) => name !== made), made];
  // A clock was wrong, or is wrong on this machine, to which the newest backups then look like those of the future.
  const keep = whole.some((name) => isFromFuture(name, now)) ? Infinity : (task.keep ?? Infinity);
  const kept = whole.slice(Math.max(0, whole.length - keep));
  for (const { name } of found) {
    if (kept.includes(name)) continue;
    await removeBackup(destination, name);
    dropped.push(name);
  }
  if (dropped.length > 0) await clearAllBodies(task, kept);
}

/** The name of a backup of another database in this destination. */
export const foreignBackup = async (destination: BackupDestination, series: string): Promise<string | undefined> =>
  (await destination.folders()).find((name) => ![null, series].includes(seriesOf(name)));

/** Throws if the destination holds backups of another database: each would delete bodies that the other needs. */
async function checkSeries(destination: BackupDestination, series: string): Promise<void> {
  const other = await foreignBackup(destination, series);
  if (other !== undefined)
    throw new NoBackupMade(
      `${destination.label} has backups of another database, such as ${other}: give each database its own destination.`,
    );
}

/**
 * Throws if the latest backup is of a copy of this database. Copies share a series, and each would delete bodies that
 * the other needs.
 */
async function checkCopy({ destination, key }: BackupTask, latest: string, store: string): Promise<void> {
  const keyId = await keyIdOf(destination, latest);
  // Without its key, the manifest cannot be read.
  if (keyId !== null && keyId !== key?.id) return;
  const manifest = await readManifest(destination, latest, keyId === null ? null : key).catch((error: unknown) => {
    if (error instanceof Damaged) return null;
    throw error;
  });
  if (manifest?.store === undefined || manifest.store === store) return;
  throw new NoBackupMade(
    `${latest} in ${destination.label} was made from a copy of this database, or before its documents were adopted. Each copy needs its own place. If this database replaces that one, back up once with: dealkeep backup --continue`,
  );
}

/**
 * Makes a backup; null when a recent enough one exists or, with `unlessYounger`, another process makes one. Rejects with {@link NoBackupMade} or {@link NotChecked}, or with the errors of
 * database, store and destination.
 */
export async function makeBackup(task: BackupTask): Promise<Made | null> {
  const { client, destination, unlessYounger, now = new Date() } = task;
  await client.query(textSettings);
  const { rows } = await client.query<{ taken: boolean }>(
    `select pg_try_advisory_lock(hashtext('dealkeep backup')) as taken`,
  );
  const isLocked = rows[0]?.taken === true;
  if (!isLocked && unlessYounger === undefined)
    throw new NoBackupMade('Another backup of this database is being made. Wait until it has finished.');
  try {
    const series = await seriesIn(client);
    await checkSeries(destination, series);
    const store = await storeIn(client);
    const found = await backupsIn(destination);
    const latest = wholeByAge(found, now).at(-1);
    if (latest !== undefined) {
      const isRecent =
        unlessYounger !== undefined &&
        !isFromFuture(latest, now) &&
        now.getTime() - madeAt(latest).getTime() < unlessYounger;
      if (store !== null && !task.takesOver)
        await checkCopy(task, latest, store).catch((error: unknown) => {
          throw isRecent && !(error instanceof NoBackupMade)
            ? new NotChecked(`${latest} in ${destination.label} could not be checked: ${reasonOf(error)}`, {
                cause: error,
              })
            : error;
        });
      if (isRecent) return null;
    }
    // Another process makes one, in a place that was checked above.
    if (!isLocked) return null;
    if (store !== null && !(await isMarked(task.storage, store)))
      throw new NoBackupMade(
        `The documents of this database are not kept in ${task.storeLocation}: set S3_BUCKET or DATA_DIR as for the service. If they were moved or restored here, run dealkeep documents adopt.`,
      );
    // A name has the time in seconds: if it is taken, the backup gets the next free second.
    const taken = new Set(found.map(({ name }) => name));
    let at = now;
    while (taken.has(backupName(at, series))) at = new Date(at.getTime() + 1_000);
    const database = await copyDatabase(task, backupName(at, series), at);
    const { manifest, copied: copiedNow } = await copyBodies(task, { ...database, ...(store && { store }) });
    await writeManifest(destination, manifest, task.key);
    await task.onWhole(manifest.documents.missing.length);
    const dropped: string[] = [];
    const undeleted = await prune(task, manifest.name, dropped).then(() => null, reasonOf);
    // A login without the permission to list unfinished files only leaves them taking up space.
    await destination.tidy(new Date(now.getTime() - unfinishedMillis)).catch(() => {});
    return { manifest, copied: copiedNow, dropped, undeleted };
  } finally {
    if (isLocked) await client.query(`select pg_advisory_unlock(hashtext('dealkeep backup'))`).catch(() => {});
  }
}
