import { queryOptions, useQuery } from '@tanstack/react-query';
import { api } from './client.ts';
import { keys } from './query-keys.ts';
import type { Id, Instant, VisitedTab } from './shapes.ts';

// However often this is sent, the server begins a new visit at most every half hour.
const visitQuery = (id: Id, tab: VisitedTab) =>
  queryOptions({
    queryKey: keys.visits(id, tab),
    queryFn: ({ signal }) => api.post('/web/deals/:id/visits', { param: { id }, json: { tab }, signal }),
    staleTime: 60_000,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    retry: false,
  });

/** Notes that the person looks at this tab of a deal. Use once, in the tab's component. */
export function useVisit(id: Id, tab: VisitedTab): void {
  useQuery(visitQuery(id, tab));
}

/**
 * Returns a function that says whether an item of this tab is new to the person: by somebody else, and since the
 * person's previous visit began.
 */
export function useIsNew(id: Id, tab: VisitedTab): (at: Instant | null, mine: boolean) => boolean {
  const since = useQuery({ ...visitQuery(id, tab), enabled: false }).data?.since ?? null;
  return (at, mine) => since !== null && at !== null && !mine && Date.parse(at) > Date.parse(since);
}
