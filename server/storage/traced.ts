/** A store for bodies whose calls are spans of the request that makes them. */

import type { Tracing } from '../telemetry/tracing.ts';
import type { Storage } from './storage.ts';

/** The same store. A span says what was asked for and how it ended, not of which body; that of a read ends where the body begins to come. */
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
