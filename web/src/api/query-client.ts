/** Defaults of queries: how long data is cached, when queries are retried, and when they are refetched. */
import { QueryClient, type QueryFilters } from '@tanstack/react-query';
import { ApiError } from './client.ts';
import { keys } from './query-keys.ts';
import { keepPendingChanges } from './optimistic.ts';
import { noteWait } from './retry-state.ts';

/**
 * A failure that may be temporary: no connection, an error of the server, or a rate limit. Only reads are ever retried.
 */
function mayPass(error: Error): boolean {
  return error instanceof ApiError && (error.status === 0 || error.status >= 500 || error.code === 'rate_limited');
}

/**
 * Milliseconds until the next retry: as the server says, if it does, plus a random part so that clients do not retry
 * all at once.
 */
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
      // A change is sent now or never. By default, TanStack Query would queue a change made offline and send it on
      // reconnecting, even if the person has closed its form since.
      networkMode: 'always',
    },
  },
});

keepPendingChanges(queryClient);

const [visits] = keys.visits();

/** Every query except visits: a visit begins when the person comes, not when something has changed. */
export const allButVisits: QueryFilters = { predicate: ({ queryKey }) => queryKey[0] !== visits };

/** Refetches everything that is shown, and restarts requests that are under way. */
export const refreshAll = (client: QueryClient): Promise<void> => client.invalidateQueries(allButVisits);
