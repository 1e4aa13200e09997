import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { api } from './client.ts';
import { keys } from './keys.ts';
import type { Id, Instant, Items, Nda } from './types.ts';

export const ndasQuery = (dealId: Id) =>
  queryOptions({
    queryKey: keys.of(dealId, 'ndas'),
    queryFn: ({ signal }) => api.get<Items<Nda>>(`/web/deals/${dealId}/ndas`, { signal }),
  });

/** What the next NDA starts from; asked anew each time, since sending one changes it. */
export const ndaTemplateQuery = (dealId: Id) =>
  queryOptions({
    queryKey: keys.of(dealId, 'ndas', 'template'),
    queryFn: ({ signal }) => api.get<{ terms: string }>(`/web/deals/${dealId}/ndas/template`, { signal }),
    staleTime: 0,
  });

/** What is done with the NDAs of a deal. What they open or close is asked again. */
export function useNdaActions(dealId: Id) {
  const client = useQueryClient();
  const again = () => {
    void client.invalidateQueries({ queryKey: keys.home });
    return client.invalidateQueries({ queryKey: keys.deal(dealId) });
  };
  return {
    send: useMutation({
      mutationFn: (nda: { participant_id: Id; terms: string; expires_at: Instant | null }) =>
        api.post<Nda>(`/web/deals/${dealId}/ndas`, nda),
      onSuccess: again,
    }),
    sign: useMutation({
      mutationFn: ({ id, signed_name }: { id: Id; signed_name: string }) =>
        api.post<Nda>(`/web/ndas/${id}/sign`, { signed_name }),
      onSuccess: again,
    }),
    revoke: useMutation({
      mutationFn: (id: Id) => api.post<Nda>(`/web/ndas/${id}/revoke`, {}),
      onSuccess: again,
    }),
  };
}
