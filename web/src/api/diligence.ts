/** Findings and financing of a deal, when these features are on. */
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { api } from './client.ts';
import { keys } from './query-keys.ts';
import type { CommitmentStatus, FindingInput, FindingStatus, FinancingInput, Id, SharedBounds } from './shapes.ts';

export const mostFindings: SharedBounds['mostFindings'] = 500;
export const mostSources: SharedBounds['mostSources'] = 500;

/** The findings of a deal. */
export const findingsQuery = (dealId: Id) =>
  queryOptions({
    queryKey: keys.of(dealId, 'findings'),
    queryFn: ({ signal }) => api.get('/web/deals/:id/findings', { param: { id: dealId }, signal }),
  });

/** One finding, with its comments and its history. */
export const findingQuery = (dealId: Id, id: Id) =>
  queryOptions({
    queryKey: keys.of(dealId, 'findings', id),
    queryFn: ({ signal }) => api.get('/web/findings/:id', { param: { id }, signal }),
  });

/** The financing sources of a deal, and their totals. */
export const financingQuery = (dealId: Id) =>
  queryOptions({
    queryKey: keys.of(dealId, 'financing'),
    queryFn: ({ signal }) => api.get('/web/deals/:id/financing', { param: { id: dealId }, signal }),
  });

/** Mutations of findings; the list, the findings shown and the deal's counts are refetched. */
export function useFindingActions(dealId: Id) {
  const client = useQueryClient();
  const onSuccess = () =>
    Promise.all([
      client.invalidateQueries({ queryKey: keys.of(dealId, 'findings') }),
      ...[keys.deal(dealId), keys.home].map((queryKey) => client.invalidateQueries({ queryKey, exact: true })),
    ]);
  return {
    add: useMutation({
      mutationFn: (input: FindingInput) => api.post('/web/deals/:id/findings', { param: { id: dealId }, json: input }),
      onSuccess,
    }),
    setStatus: useMutation({
      mutationFn: ({ id, ...input }: { id: Id; status: FindingStatus; status_notes: string | null }) =>
        api.post('/web/findings/:id/status', { param: { id }, json: input }),
      onSuccess,
    }),
    assign: useMutation({
      mutationFn: ({ id, owner_user_id }: { id: Id; owner_user_id: Id | null }) =>
        api.post('/web/findings/:id/owner', { param: { id }, json: { owner_user_id } }),
      onSuccess,
    }),
    comment: useMutation({
      mutationFn: ({ id, body }: { id: Id; body: string }) =>
        api.post('/web/findings/:id/comments', { param: { id }, json: { body } }),
      onSuccess,
    }),
  };
}

/** Mutations of financing sources; the stack is refetched. */
export function useFinancingActions(dealId: Id) {
  const client = useQueryClient();
  const onSuccess = () => client.invalidateQueries({ queryKey: keys.of(dealId, 'financing') });
  return {
    add: useMutation({
      mutationFn: (input: FinancingInput) =>
        api.post('/web/deals/:id/financing', { param: { id: dealId }, json: input }),
      onSuccess,
    }),
    move: useMutation({
      mutationFn: ({ id, commitment_status }: { id: Id; commitment_status: CommitmentStatus }) =>
        api.post('/web/financing/:id/status', { param: { id }, json: { commitment_status } }),
      onSuccess,
      // The move may have been offered because the page was out of date.
      onError: () => void onSuccess(),
    }),
  };
}
