import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { api } from './client.ts';
import { keys } from './query-keys.ts';
import type { Id, Instant } from './shapes.ts';

/** The NDAs of a deal: first those waiting for a signature, then active ones, then all others. */
export const ndasQuery = (dealId: Id) =>
  infiniteQueryOptions({
    queryKey: keys.of(dealId, 'ndas'),
    queryFn: ({ pageParam, signal }) =>
      api.get('/web/deals/:id/ndas', { param: { id: dealId }, query: { cursor: pageParam }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });

/** The terms that the next NDA starts from; always refetched, since sending an NDA changes them. */
export const ndaTemplateQuery = (dealId: Id) =>
  queryOptions({
    queryKey: keys.of(dealId, 'ndas', 'template'),
    queryFn: ({ signal }) => api.get('/web/deals/:id/ndas/template', { param: { id: dealId }, signal }),
    staleTime: 0,
  });

/** Mutations of a deal's NDAs. The deal is refetched, since an NDA opens or closes parts of it. */
export function useNdaActions(dealId: Id) {
  const client = useQueryClient();
  const again = () => {
    void client.invalidateQueries({ queryKey: keys.home });
    return client.invalidateQueries({ queryKey: keys.deal(dealId) });
  };
  return {
    send: useMutation({
      mutationFn: (nda: { participant_id: Id; terms: string; expires_at: Instant | null }) =>
        api.post('/web/deals/:id/ndas', { param: { id: dealId }, json: nda }),
      onSuccess: again,
    }),
    sign: useMutation({
      mutationFn: ({ id, signed_name }: { id: Id; signed_name: string }) =>
        api.post('/web/ndas/:id/sign', { param: { id }, json: { signed_name } }),
      onSuccess: again,
    }),
    revoke: useMutation({
      mutationFn: (id: Id) => api.post('/web/ndas/:id/revoke', { param: { id } }),
      onSuccess: again,
      onError: () => void again(),
    }),
  };
}
