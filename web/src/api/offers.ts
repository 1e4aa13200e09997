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

/** Disables structural sharing for responses with payloads: raw JSON numbers in them cannot be copied. */
const structuralSharing = false;

/** Each buyer's current offer, and the agreed terms. */
export const offersQuery = (dealId: Id) =>
  infiniteQueryOptions({
    queryKey: keys.of(dealId, 'offers'),
    queryFn: ({ pageParam, signal }) =>
      api.get('/web/deals/:id/offers', { param: { id: dealId }, query: { cursor: pageParam }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor ?? null,
    structuralSharing,
  });

/**
 * The compared offers measured against the books, with terms typed in by the person; the previous data is kept while
 * these change.
 */
export const assessmentQuery = (dealId: Id, typed: TypedTerms) =>
  queryOptions({
    queryKey: keys.comparedOffers(dealId, typed),
    queryFn: ({ signal }) => api.get('/web/deals/:id/offers/worth', { param: { id: dealId }, query: typed, signal }),
    placeholderData: keepPreviousData,
    // The books can change without a change of the offers. Data that was requested with the page is still fresh when the
    // offers above it have arrived.
    staleTime: 5_000,
  });

/**
 * Two offers, or two revisions of one, side by side, with terms typed in by the person; the previous data is kept while
 * these change.
 */
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
    // The books can change without a change of the offers.
    staleTime: 0,
  });

/** All revisions of one buyer's offer, latest first. */
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

/**
 * Mutations: submitting an offer or its next revision; accepting one, which moves the deal; deciding on a change of
 * accepted terms.
 */
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
