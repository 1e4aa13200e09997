import {
  infiniteQueryOptions,
  keepPreviousData,
  queryOptions,
  useMutation,
  useQueryClient,
} from '@tanstack/react-query';
import { api } from './client.ts';
import { keys } from './query-keys.ts';
import type { Id, Instant, OfferInput, TypedTerms } from './shapes.ts';

/** Of an answer with payloads nothing is taken over into the next: the numbers in them that stay as they were sent cannot be copied. */
const structuralSharing = false;

/** Each buyer's current offer, and the terms that are agreed. */
export const offersQuery = (dealId: Id) =>
  infiniteQueryOptions({
    queryKey: keys.of(dealId, 'offers'),
    queryFn: ({ pageParam, signal }) =>
      api.get('/web/deals/:id/offers', { param: { id: dealId }, query: { cursor: pageParam }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor ?? null,
    structuralSharing,
  });

/** What the offers that are compared come to against the books, with what a person typed in; while that changes, what was there before. */
export const assessmentQuery = (dealId: Id, typed: TypedTerms) =>
  queryOptions({
    queryKey: keys.comparedOffers(dealId, typed),
    queryFn: ({ signal }) => api.get('/web/deals/:id/offers/worth', { param: { id: dealId }, query: typed, signal }),
    placeholderData: keepPreviousData,
    // The books change elsewhere, without a change of the offers.
    staleTime: 0,
  });

/** Two offers, or two revisions of one, side by side, with what a person typed in; while these change, what was there before. */
export const againstQuery = (dealId: Id, offer: Id, other: Id, typed: TypedTerms) =>
  queryOptions({
    queryKey: keys.comparedOffers(dealId, offer, other, typed),
    queryFn: ({ signal }) =>
      api.get('/web/deals/:id/offers/:offer_id/against/:other_offer_id', {
        param: { id: dealId, offer_id: offer, other_offer_id: other },
        query: typed,
        signal,
      }),
    placeholderData: keepPreviousData,
    // The books change elsewhere, without a change of the offers.
    staleTime: 0,
  });

/** Every revision of one buyer's offer, the latest first. */
export const revisionsQuery = (dealId: Id, buyer: Id) =>
  infiniteQueryOptions({
    queryKey: [...keys.of(dealId, 'offers'), buyer],
    queryFn: ({ pageParam, signal }) =>
      api.get('/web/deals/:id/offers/:buyer_user_id/revisions', {
        param: { id: dealId, buyer_user_id: buyer },
        query: { cursor: pageParam, limit: 20 },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor ?? null,
    structuralSharing,
  });

/** Submitting an offer or its next revision; accepting one, which moves the deal; deciding on a change of accepted terms. */
export function useOfferActions(dealId: Id) {
  const client = useQueryClient();
  const again = () => {
    void client.invalidateQueries({ queryKey: keys.home });
    void client.invalidateQueries({ queryKey: keys.deals });
    return client.invalidateQueries({ queryKey: keys.deal(dealId) });
  };
  return {
    submit: useMutation({
      mutationFn: (payload: OfferInput) =>
        api.post('/web/deals/:id/offers', { param: { id: dealId }, json: { payload } }),
      onSuccess: again,
    }),
    accept: useMutation({
      mutationFn: ({ id, expires_at }: { id: Id; expires_at: Instant }) =>
        api.post('/web/offers/:id/accept', { param: { id }, json: { expires_at } }),
      onSuccess: again,
    }),
    decide: useMutation({
      mutationFn: ({ id, decision }: { id: Id; decision: 'accepted' | 'declined' }) =>
        api.post('/web/offers/:id/decision', { param: { id }, json: { decision } }),
      onSuccess: again,
    }),
  };
}
