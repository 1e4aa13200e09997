/** A store for bodies that traces each call as a span of its request. */

import type { Tracing } from '../telemetry/tracing.ts';
import type { Storage } from './storage.ts';

/**
 * Wraps a store. A span records the operation and its outcome, not the body's key; the span of a read ends when the
 * body begins to arrive.
 */
export function tracedStorage(storage: Storage, tracing: Tracing): Storage {
  const asked = <T>(name: string, work: () => Promise<T>): Promise<T> =>
    tracing.span({ name: `store ${name}`, kind: 'client', below: 'open' }, work);
  return {
    write: (key, body) => asked('write', () => storage.write(key, body)),
    read: (key, span) => asked('read', () => storage.read(key, span)),
    remove: (key) => asked('remove', () => storage.remove(key)),
    tidy: (before) => asked('tidy', () => storage.tidy(before)),
    close: () => storage.close(),
  };
}
