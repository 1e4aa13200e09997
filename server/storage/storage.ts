/** The interface of all stores for the bodies of documents. */

import { randomBytes } from 'node:crypto';

/** A range of a body: the offsets of its first and last byte, counted from 0. */
export interface Span {
  readonly first: number;
  readonly last: number;
}

export interface Storage {
  /**
   * Stores a body under `key`. Once this resolves, the body is complete and durable; when it rejects, nothing of it
   * remains.
   */
  write(key: string, body: AsyncIterable<Uint8Array>): Promise<void>;
  /** The body, or a range of it, read as the stream is consumed; null when there is none. */
  read(key: string, span?: Span): Promise<ReadableStream<Uint8Array> | null>;
  /** Removes a body; a missing body is not an error. */
  remove(key: string): Promise<void>;
  /** Removes writes that were started before `before` and never finished because a process died. */
  tidy(before: Date): Promise<void>;
  close(): Promise<void>;
}

/** A key for a new body: random, so that no name chosen by a person is part of a path. */
export const newStorageKey = (): string => randomBytes(20).toString('hex');

const shape = /^[a-z0-9-]{16,64}$/;

/** Whether `key` is a valid storage key. */
export const isStorageKey = (key: string): boolean => shape.test(key);

/** Returns `key`. Throws unless it is a valid storage key, since it becomes part of a path. */
export function checkedKey(key: string): string {
  if (!isStorageKey(key)) throw new Error('This is not a storage key.');
  return key;
}
