import { queryOptions, useQuery } from '@tanstack/react-query';
import { api } from './client.ts';
import { keys } from './query-keys.ts';
import type { Id, Instant, VisitedTab } from './shapes.ts';

// What the server notes begins a visit at most once in half an hour, however often it is sent.
const visitQuery = (id: Id, tab: VisitedTab) =>
  queryOptions({
    queryKey: keys.visits(id, tab),
    queryFn: ({ signal }) => api.post('/web/deals/:id/visits', { param: { id }, json: { tab }, signal }),
    staleTime: 60_000,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    retry: false,
  });

/** Notes that the person looks at this tab of a deal; once, where the tab is. */
export function useVisit(id: Id, tab: VisitedTab): void {
  useQuery(visitQuery(id, tab));
}

/** Whether something of this tab is new to the person: by another person, since their visit before this one began. */
export function useIsNew(id: Id, tab: VisitedTab): (at: Instant | null, mine: boolean) => boolean {
  const since = useQuery({ ...visitQuery(id, tab), enabled: false }).data?.since ?? null;
  return (at, mine) => since !== null && at !== null && !mine && Date.parse(at) > Date.parse(since);
}
