import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { toast, toastError } from '../components/toast.tsx';
import { api } from './client.ts';
import { keys } from './query-keys.ts';
import type { Id, Remindable } from './shapes.ts';

/** The subjects for which reminders were sent on a deal within the last 24 hours; for its brokers. */
export const remindersQuery = (dealId: Id) =>
  queryOptions({
    queryKey: keys.of(dealId, 'reminders'),
    queryFn: ({ signal }) => api.get('/web/deals/:id/reminders', { param: { id: dealId }, signal }),
  });

/** Reminds the people whom an item of a deal waits for. */
export function useRemind(dealId: Id) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (json: { subject: Remindable; subject_id: Id }) =>
      api.post('/web/deals/:id/reminders', { param: { id: dealId }, json }),
    onSuccess: ({ reminded }) =>
      toast(reminded === 1 ? 'The reminder is on its way' : `${reminded} reminders are on their way`),
    onSettled: () => client.invalidateQueries({ queryKey: keys.of(dealId, 'reminders') }),
    onError: toastError,
  });
}
