/**
 * A store whose failures have an error class of their own, to distinguish them from failures of the sender of a body.
 */

import { isWithoutRoom } from '../lib/full-disk.ts';
import { checkedKey, type Storage } from './storage.ts';

/** The store does not respond, or reports an error. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

async function asStoreFailure<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    // A full store still counts as available.
    throw isWithoutRoom(cause) ? cause : new StoreUnavailable('The document store failed.', { cause });
  }
}

/**
 * Wraps a store so that its failures throw {@link StoreUnavailable}; when the body breaks off while it is written, the
 * sender's error is thrown.
 */
export function withStoreFailures(storage: Storage): Storage {
  return {
    async write(key, body) {
      let brokenOff: { readonly error: unknown } | undefined;
      async function* watched(): AsyncGenerator<Uint8Array> {
        try {
          yield* body;
        } catch (error) {
          brokenOff = { error };
          throw error;
        }
      }
      await asStoreFailure(storage.write(checkedKey(key), watched())).catch((error: unknown) => {
        throw brokenOff ? brokenOff.error : error;
      });
    },
    read: async (key, span) => asStoreFailure(storage.read(checkedKey(key), span)),
    remove: async (key) => asStoreFailure(storage.remove(checkedKey(key))),
    tidy: async (before) => asStoreFailure(storage.tidy(before)),
    close: () => storage.close(),
  };
}
