/** What keeps the bodies of documents, whatever it is. */

import { randomBytes } from 'node:crypto';

/** A part of a body: the places of its first and last byte, counted from 0. */
export interface Span {
  readonly first: number;
  readonly last: number;
}

export interface Storage {
  /** Keeps a body under `key`. It is there, whole and durable, once this resolves; when it rejects, nothing is left. */
  write(key: string, body: AsyncIterable<Uint8Array>): Promise<void>;
  /** The body, or a part of it, read as it is taken; null when there is none. */
  read(key: string, span?: Span): Promise<ReadableStream<Uint8Array> | null>;
  /** Takes a body away; one that is not there is no error. */
  remove(key: string): Promise<void>;
  /** Clears away what was begun before `before` and never finished: a process died over it. */
  tidy(before: Date): Promise<void>;
  close(): Promise<void>;
}

/** A key for a new body: random, so that nothing of a name that a person chose is ever part of a path. */
export const newStorageKey = (): string => randomBytes(20).toString('hex');

const shape = /^[a-z0-9-]{16,64}$/;

/** Whether `key` is one under which a body can be. */
export const isStorageKey = (key: string): boolean => shape.test(key);

/** `key` itself. Throws when it is none of ours: it becomes part of a path. */
export function checkedKey(key: string): string {
  if (!isStorageKey(key)) throw new Error('This is no storage key.');
  return key;
}
