/** Refetches what has changed elsewhere: at once, but not more often than the server and the browser can follow. */
import type { Query, QueryClient, QueryFilters, QueryKey } from '@tanstack/react-query';

/**
 * Milliseconds from the end of a refetch of a query until its next one: at first, and at most. After a change during
 * one of these pauses the next is twice as long. After a refetch that took longer, as long as it took, up to `slow`: a
 * computer that slept meanwhile is not kept waiting for the time that it slept.
 */
const pauses = { first: 1_000, most: 4_000, slow: 10_000 } as const;

/** Refetches one query. */
type Refetch = (query: Query) => Promise<unknown>;

/** Queries that are being refetched or were just now, and whether their data has changed again since that began. */
const resting = new Map<Query, { changedAgain: boolean }>();

async function refetch(query: Query, once: Refetch, pause: number): Promise<void> {
  const rest = { changedAgain: false };
  resting.set(query, rest);
  // A request that is under way may have read the state before the change, and marks the query as up to date.
  if (query.state.fetchStatus !== 'idle') await query.fetch().catch(() => {});
  query.invalidate();
  rest.changedAgain = false;
  const began = performance.now();
  const isShown = query.isActive() && !document.hidden;
  if (isShown) await once(query).catch(() => {});
  setTimeout(
    () => {
      resting.delete(query);
      if (rest.changedAgain) void refetch(query, once, Math.min(2 * pause, pauses.most));
    },
    isShown ? Math.max(pause, Math.min(performance.now() - began, pauses.slow)) : 0,
  );
}

/**
 * Refetches those of the queries that are shown, and marks the others as out of date, in a hidden tab all of them. A
 * request that is under way is followed by another one, never restarted, and changes in quick succession share one.
 */
export async function refresh(
  client: QueryClient,
  filters: QueryFilters,
  once: Refetch = (query) => query.fetch(),
): Promise<void> {
  const begun = client
    .getQueryCache()
    .findAll(filters)
    .map((query) => {
      query.invalidate();
      const rest = resting.get(query);
      if (rest === undefined) return refetch(query, once, pauses.first);
      rest.changedAgain = true;
      return undefined;
    });
  await Promise.all(begun);
}

/**
 * Restarts the request of a query that is under way, if one is: it may be answered from the state before a change whose
 * result is shown already.
 */
export function restartRequest(client: QueryClient, queryKey: QueryKey): void {
  const exact = { queryKey, exact: true };
  if (client.isFetching(exact) > 0) void client.invalidateQueries(exact);
}
