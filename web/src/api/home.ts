import { queryOptions } from '@tanstack/react-query';
import { api } from './client.ts';
import { keys } from './keys.ts';
import type { Home, Id } from './types.ts';

export const homeQuery = queryOptions({
  queryKey: keys.home,
  queryFn: ({ signal }) => api.get<Home>('/web/home', { signal }),
});

/** Takes up an invitation to a deal; the deal that it was for. */
export function acceptInvitation(participant: Id): Promise<{ deal_id: Id }> {
  return api.post(`/web/invitations/${participant}/accept`);
}

/** Says no to an invitation to a deal. */
export function declineInvitation(participant: Id): Promise<void> {
  return api.post(`/web/invitations/${participant}/decline`);
}
