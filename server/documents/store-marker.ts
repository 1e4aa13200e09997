/**
 * Ensures that all nodes of a database keep documents in the same store. The store is marked with an id that the
 * database knows; a node whose store lacks the mark uses another store, and does not start.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { withoutPassword } from '../lib/without-password.ts';
import type { Config } from '../config/config.ts';
import type { CoreServices } from '../services.ts';
import { documentStore, documentStoreMarked } from '../domain/documents/store.ts';
import type { Storage } from '../storage/storage.ts';

/** This node's store is not the one in which the database keeps its documents; the message says what to do. */
class OtherStore extends Error {
  override readonly name = 'OtherStore';
}

/** Prefix of a mark's key; keys of documents are hexadecimal. */
const mark = 'dealkeep-store-';
const markOf = (storeId: string): string => `${mark}${storeId}`;
/** The key that replaces the mark of a database after another database has taken over the store. */
const formerMarkOf = (storeId: string): string => `${mark}before-${storeId}`;

/** Returns whether this is the key of a store's mark. */
export const isMark = (storageKey: string): boolean => storageKey.startsWith(mark);

async function* words(storeId: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`The documents of the Dealkeep database with the store id ${storeId} are kept here.\n`);
}

/** Marks the store as belonging to the database with this id. */
export const markStore = (storage: Storage, storeId: string): Promise<void> =>
  storage.write(markOf(storeId), words(storeId));

async function has(storage: Storage, key: string): Promise<boolean> {
  const found = await storage.read(key);
  await found?.cancel();
  return found !== null;
}

/** Returns whether the store is marked as belonging to the database with this id. */
export const isMarked = (storage: Storage, storeId: string): Promise<boolean> => has(storage, markOf(storeId));

/**
 * Returns whether the database with this id keeps its documents in the store, or did before another one took it over.
 */
export const wasMarked = async (storage: Storage, storeId: string): Promise<boolean> =>
  (await isMarked(storage, storeId)) || has(storage, formerMarkOf(storeId));

/** Makes nodes of the database with this id refuse to start from now on: another database has taken over the store. */
export async function retireMark(storage: Storage, storeId: string): Promise<void> {
  if (!(await isMarked(storage, storeId))) return;
  // Older backups of that database also refer to the same contents.
  await storage.write(formerMarkOf(storeId), words(storeId));
  await storage.remove(markOf(storeId));
}

/** Describes in words where this node keeps documents. */
export const storeLocation = ({ s3, dataDir }: Pick<Config, 's3' | 'dataDir'>): string =>
  s3 ? `the bucket ${s3.bucket}${s3.endpoint ? ` at ${withoutPassword(s3.endpoint)}` : ''}` : `${dataDir}/documents`;

/** How often, and for how long, a node checks whether another has marked the store, in milliseconds. */
const looksEvery = 250;
const looksFor = 40_000;

/**
 * Marks the store at the very first start, and checks at every other start that it is the same. A store that does not
 * respond does not count as another store: it is only logged. Rejects with {@link OtherStore}.
 */
export async function checkStoreMarker(
  { config, database, storage, log }: CoreServices,
  signal: AbortSignal,
): Promise<void> {
  const candidate = randomUUID();
  for (const giveUp = Date.now() + looksFor; ; await pause(looksEvery, undefined, { signal })) {
    const found = await database.run(documentStore(candidate));
    if (found === null) return;
    const { store_id: storeId, is_marked: marked, is_mine: mine } = found;
    if (!marked && !mine && Date.now() < giveUp) continue;
    try {
      if (mine && !marked) {
        await markStore(storage, storeId);
        await database.run(documentStoreMarked(storeId));
        return;
      }
      if (await isMarked(storage, storeId)) return;
    } catch (error) {
      log.warn({ err: error }, 'the store of documents could not be checked; it may not be the right one');
      return;
    }
    throw new OtherStore(
      `The documents of this database are not kept in ${storeLocation(config)}: every node needs the same store. Set S3_BUCKET as on the other nodes, or DATA_DIR to a directory that all of them share. If the documents were moved or restored to this place, stop every node, then say so with: dealkeep documents adopt`,
    );
  }
}
