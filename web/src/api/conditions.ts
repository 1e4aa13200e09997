import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { api } from './client.ts';
import { keys } from './query-keys.ts';
import { useOptimistic } from './optimistic.ts';
import type { ClosingCondition, ConditionInput, ConditionStatus, Id, Items } from './shapes.ts';

/** The closing conditions of a deal. */
export const conditionsQuery = (dealId: Id) =>
  queryOptions({
    queryKey: keys.of(dealId, 'conditions'),
    queryFn: ({ signal }) => api.get('/web/deals/:id/conditions', { param: { id: dealId }, signal }),
  });

/**
 * Mutations of a deal's closing conditions. `onStatus` is called after each change of a status that the server has
 * saved.
 */
export function useConditionActions(dealId: Id, onStatus: (condition: ClosingCondition) => void = () => {}) {
  const client = useQueryClient();
  const again = () => {
    void client.invalidateQueries({ queryKey: keys.home });
    return client.invalidateQueries({ queryKey: keys.deal(dealId) });
  };
  return {
    add: useMutation({
      mutationFn: (input: ConditionInput) =>
        api.post('/web/deals/:id/conditions', { param: { id: dealId }, json: input }),
      onSuccess: again,
    }),
    edit: useMutation({
      mutationFn: ({ id, ...input }: Partial<ConditionInput> & { id: Id }) =>
        api.patch('/web/conditions/:id', { param: { id }, json: input }),
      onSuccess: again,
    }),
    remove: useMutation({
      mutationFn: (id: Id) => api.delete('/web/conditions/:id', { param: { id } }),
      onSuccess: again,
    }),
    setStatus: useOptimistic<Items<ClosingCondition>, { id: Id; status: ConditionStatus }, ClosingCondition>({
      queryKey: keys.of(dealId, 'conditions'),
      also: [keys.deal(dealId), keys.home],
      update: ({ items }, { id, status }) => ({
        items: items.map((one) => (one.id === id ? { ...one, status, overdue: false } : one)),
      }),
      send: ({ id, status }) => api.patch('/web/conditions/:id', { param: { id }, json: { status } }),
      onDone: onStatus,
    }),
  };
}
