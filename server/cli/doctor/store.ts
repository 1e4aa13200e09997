/** Checks the store of documents: its mark, and the body of each document. */

import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import type { Config } from '../../config/config.ts';
import { isMarked, storeLocation } from '../../documents/store-marker.ts';
import { needed } from '../../backup/make.ts';
import type { Storage } from '../../storage/storage.ts';
import { reasonOf } from '../../lib/reason.ts';
import type { Findings } from './finding.ts';

interface KnownStore {
  readonly store_id: string;
  readonly is_marked: boolean;
}

/** Returns the id of the store that the database knows, without changing anything. */
export async function storeOf(server: pg.Client): Promise<KnownStore> {
  await server.query('begin');
  const { rows } = await server
    .query<KnownStore>('select store_id, is_marked from app.document_store($1)', [randomUUID()])
    .finally(() => server.query('rollback'));
  return rows[0] ?? { store_id: '', is_marked: false };
}

/**
 * Checks that the store belongs to this database, without changing anything. Returns whether documents can be checked.
 */
export async function checkMark(
  server: pg.Client,
  config: Config,
  storage: Storage,
  findings: Findings,
): Promise<boolean> {
  const known = await storeOf(server);
  if (!known.is_marked) {
    findings.ok(`The first start will mark ${storeLocation(config)} as the store of this database.`);
    return true;
  }
  if (await isMarked(storage, known.store_id)) {
    findings.ok(`${storeLocation(config)} is the store of this database.`);
    return true;
  }
  findings.fault(
    `The documents of this database are not kept in ${storeLocation(config)}.`,
    'Set S3_BUCKET or DATA_DIR to where they are. If they were moved or restored here, run dealkeep documents adopt.',
  );
  return false;
}

interface Kept {
  readonly id: string;
  readonly storage_key: string;
  readonly size_bytes: string;
  readonly sha256: Buffer | null;
}

const removal = ['body_cleared_at', 'removed_at', 'deal_id', 'uploaded_by'];
const columns = ['id', 'storage_key', 'size_bytes', 'sha256', ...removal].join(', ');

/**
 * SQL for the documents whose bodies must exist, as in a backup, newest first, in portions. Those of documents removed
 * earlier are about to be cleared, and no backup has them, unless a legal hold keeps them.
 */
const portion = `
  select id, storage_key, size_bytes, sha256 from (
    select ${columns} from public.documents
    union all
    select ${columns} from public.production_documents
  ) d
  ${needed(removal, true)}
    and ($1::uuid is null or id < $1) order by id desc limit 500`;

/** Returns what is wrong with a body; null when it is intact. */
async function wrongWith(storage: Storage, document: Kept, isWhole: boolean): Promise<string | null> {
  const body = await storage.read(document.storage_key);
  if (body === null) return 'is missing';
  if (!isWhole) {
    await body.cancel();
    return null;
  }
  const digest = createHash('sha256');
  let size = 0;
  for await (const part of body) {
    digest.update(part);
    size += part.byteLength;
  }
  if (size !== Number(document.size_bytes)) return `has ${size} bytes instead of ${document.size_bytes}`;
  if (document.sha256 !== null && !digest.digest().equals(document.sha256))
    return 'is a different one: its digest differs';
  return null;
}

/** How many bodies are checked concurrently, and how long checking their presence may take in all, in milliseconds. */
const atOnce = 8;
const presenceMillis = 20_000;
/** At most this many documents are named. */
const named = 5;

/**
 * Checks the body of each document: its presence or, when `isWhole`, its size and digest, without a time limit. Returns
 * whether some could not be read.
 */
export async function checkBodies(
  owner: pg.Client,
  storage: Storage,
  isWhole: boolean,
  findings: Findings,
): Promise<{ unreadable: boolean }> {
  const giveUp = isWhole ? Infinity : Date.now() + presenceMillis;
  const wrong: string[] = [];
  let unreadable = 0;
  let looked = 0;
  let isComplete = false;
  for (let last: string | null = null; Date.now() < giveUp; await pause(0)) {
    const { rows }: { rows: Kept[] } = await owner.query<Kept>(portion, [last]);
    if (rows.length === 0) {
      isComplete = true;
      break;
    }
    last = rows.at(-1)?.id ?? null;
    for (let at = 0; at < rows.length && Date.now() < giveUp; at += atOnce) {
      const batch = rows.slice(at, at + atOnce);
      const found = await Promise.all(
        batch.map((document) =>
          wrongWith(storage, document, isWhole).catch((error: unknown) => {
            unreadable += 1;
            return `cannot be read (${reasonOf(error)})`;
          }),
        ),
      );
      looked += batch.length;
      for (const [index, what] of found.entries())
        if (what !== null) wrong.push(`the file of document ${batch[index]?.id} ${what}`);
    }
  }
  if (wrong.length > 0) {
    const more = wrong.length > named ? `; and ${wrong.length - named} more` : '';
    const verb = wrong.length === 1 ? 'is' : 'are';
    const what =
      unreadable === 0
        ? `${verb} missing or damaged`
        : unreadable === wrong.length
          ? 'cannot be read'
          : `${verb} missing or damaged, or cannot be read`;
    findings.fault(
      `${wrong.length} of ${looked} documents ${what}: ${wrong.slice(0, named).join('; ')}${more}.`,
      unreadable === 0
        ? 'Restore them from a backup of the store, under the same names.'
        : 'Check that the store can be reached and that this user may read its files. Restore what is missing from a backup of the store, under the same names.',
    );
  } else if (isComplete) {
    findings.ok(
      isWhole
        ? `The files of all ${looked} documents have the right size and digest.`
        : `The files of all ${looked} documents are there.`,
    );
  } else {
    findings.warning(
      `The files of the newest ${looked} documents are there; there was no time to check more.`,
      'Run dealkeep doctor --documents, which checks all of them.',
    );
  }
  return { unreadable: unreadable > 0 };
}
