/** How queries behave: kept for a while, retried when that can help, shown from the cache while they are asked again. */
import { QueryClient } from '@tanstack/react-query';
import { ApiError } from './client.ts';
import { keys } from './query-keys.ts';
import { keepPendingChanges } from './optimistic.ts';
import { noteWait } from './retry-state.ts';

/** A failure that may pass by itself: no connection, a fault on the server's side, or too much at once. Only reads are ever retried. */
function mayPass(error: Error): boolean {
  return error instanceof ApiError && (error.status === 0 || error.status >= 500 || error.code === 'rate_limited');
}

/** When to ask again, in milliseconds: as the server says, where it does, and not all at the same moment. */
function delayOf(attempt: number, error: Error): number {
  if (!(error instanceof ApiError) || error.retryAfter === null) return Math.min(500 * 2 ** attempt, 4_000);
  const millis = (error.retryAfter + Math.random()) * 1_000;
  noteWait(millis, error.status >= 500 ? 'down' : 'limited');
  return millis;
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      gcTime: 10 * 60_000,
      retry: (failures, error) => failures < 2 && mayPass(error),
      retryDelay: delayOf,
      refetchOnWindowFocus: true,
    },
    mutations: {
      retry: false,
      // A change is sent now or not at all. By default one that is made offline waits and is sent on reconnecting, also
      // when the person has closed its form since.
      networkMode: 'always',
    },
  },
});

keepPendingChanges(queryClient);

const [visits] = keys.visits();

/** Asks again for everything that is shown. A visit is nothing of that: it begins when the person comes, not when something has changed. */
export const refreshAll = (client: QueryClient): Promise<void> =>
  client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== visits });
