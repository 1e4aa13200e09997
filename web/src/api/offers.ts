import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { api } from './client.ts';
import { keys } from './keys.ts';
import type { DealPage, Id, Instant, Items, Offer, OfferPayload } from './types.ts';

export const offersQuery = (dealId: Id) =>
  queryOptions({
    queryKey: keys.of(dealId, 'offers'),
    queryFn: ({ signal }) => api.get<Items<Offer>>(`/web/deals/${dealId}/offers`, { signal }),
  });

/** Submitting an offer or its next revision, and accepting one, which moves the deal. */
export function useOfferActions(dealId: Id) {
  const client = useQueryClient();
  const again = () => {
    void client.invalidateQueries({ queryKey: keys.home });
    void client.invalidateQueries({ queryKey: keys.deals });
    return client.invalidateQueries({ queryKey: keys.deal(dealId) });
  };
  return {
    submit: useMutation({
      mutationFn: (payload: OfferPayload) => api.post<Offer>(`/web/deals/${dealId}/offers`, { payload }),
      onSuccess: again,
    }),
    accept: useMutation({
      mutationFn: ({ id, expires_at }: { id: Id; expires_at: Instant }) =>
        api.post<DealPage>(`/web/offers/${id}/accept`, { expires_at }),
      onSuccess: again,
    }),
  };
}
