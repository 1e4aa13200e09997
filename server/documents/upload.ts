/**
 * Writes a body to the store as it arrives: measured, its kind recognized, and with only a few parts in memory at a
 * time.
 */

import { createHash } from 'node:crypto';
import type { Storage } from '../storage/storage.ts';
import { headBytes, kindOf, NotTaken } from './kinds.ts';
import { inUploadPlace, type TransferredFor } from './transfer-places.ts';

const largestInWords = '2 GB';

/** The largest document in bytes and in words, and the error for a larger one. The pages state all of it too. */
export const largestDocument = {
  bytes: 2_147_483_648,
  words: largestInWords,
  exceeded: `The file is larger than ${largestInWords}. Split it, or compress it.`,
} as const;

/** The file is larger than {@link largestDocument}. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge';
}

/** The body ended before it was complete. */
export class UploadAborted extends Error {
  override readonly name = 'UploadAborted';
}

/** A body that has been stored. */
export interface StoredBody {
  readonly mediaType: string;
  readonly size: number;
  readonly sha256: Buffer;
}

const tooLarge = () => new TooLarge(largestDocument.exceeded);

/** Throws {@link TooLarge} when Content-Length says that the body is too large, before any of it is read. */
export function checkContentLength(contentLength: string | undefined): void {
  if (Number(contentLength ?? 0) > largestDocument.bytes) throw tooLarge();
}

interface Beginning {
  readonly parts: readonly Uint8Array[];
  /** Whether these parts are the whole body. */
  readonly whole: boolean;
}

function nextOf(source: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array, unknown>> {
  return source.next().catch((cause: unknown) => {
    throw new UploadAborted('The upload was interrupted before the whole file had arrived. Send it again.', { cause });
  });
}

async function readBeginning(source: AsyncIterator<Uint8Array>): Promise<Beginning> {
  const parts: Uint8Array[] = [];
  for (let size = 0; size < headBytes;) {
    const next = await nextOf(source);
    if (next.done) return { parts, whole: true };
    parts.push(next.value);
    size += next.value.byteLength;
  }
  return { parts, whole: false };
}

async function* rest(source: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let next = await nextOf(source); !next.done; next = await nextOf(source)) yield next.value;
}

/** Reads and discards the rest of the body: a browser that is still sending would not read why its file is rejected. */
async function discard(source: AsyncIterator<Uint8Array>): Promise<void> {
  let size = 0;
  for await (const part of rest(source)) if ((size += part.byteLength) > largestDocument.bytes) return;
}

/**
 * Stores a body under `key`. Rejects with {@link NotTaken}, {@link TooLarge} or {@link UploadAborted}, or with the
 * store's error; nothing is then left in the store. Rejects with NoRoom of server/lib/fair-queue.ts before anything is
 * read.
 */
export const storeUpload = (
  storage: Storage,
  key: string,
  filename: string,
  body: AsyncIterable<Uint8Array>,
  whose: TransferredFor,
): Promise<StoredBody> => inUploadPlace(whose, () => store(storage, key, filename, body));

async function store(
  storage: Storage,
  key: string,
  filename: string,
  body: AsyncIterable<Uint8Array>,
): Promise<StoredBody> {
  const source = body[Symbol.asyncIterator]();
  const hash = createHash('sha256');
  let size = 0;
  try {
    const { parts, whole } = await readBeginning(source);
    const mediaType = await kindOf(filename, Buffer.concat(parts).subarray(0, headBytes), whole);
    async function* measured(): AsyncGenerator<Uint8Array> {
      for (const part of parts) yield* weigh(part);
      for await (const part of rest(source)) yield* weigh(part);
    }
    function* weigh(part: Uint8Array): Generator<Uint8Array> {
      size += part.byteLength;
      if (size > largestDocument.bytes) throw tooLarge();
      hash.update(part);
      yield part;
    }
    await storage.write(key, measured());
    return { mediaType, size, sha256: hash.digest() };
  } catch (error) {
    if (error instanceof NotTaken) await discard(source);
    throw error;
  } finally {
    await source.return?.();
  }
}
