/** How queries behave: kept for a while, retried when that can help, shown from the cache while they are asked again. */
import { QueryClient } from '@tanstack/react-query';
import { ApiError } from './client.ts';

/** A failure that may pass by itself: no connection, or a fault on the server's side. Only reads are ever retried. */
function mayPass(error: Error): boolean {
  return error instanceof ApiError && (error.status === 0 || error.status >= 500);
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      gcTime: 10 * 60_000,
      retry: (failures, error) => failures < 2 && mayPass(error),
      retryDelay: (attempt) => Math.min(500 * 2 ** attempt, 4_000),
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
