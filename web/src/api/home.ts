import { queryOptions } from '@tanstack/react-query';
import { api } from './client.ts';
import { keys } from './query-keys.ts';
import type { Id } from './shapes.ts';

export const homeQuery = queryOptions({
  queryKey: keys.home,
  queryFn: ({ signal }) => api.get('/web/home', { signal }),
});

/** Asking prices and earnings of the deals that the person runs. */
export const pipelineQuery = queryOptions({
  queryKey: [...keys.home, 'pipeline'],
  queryFn: ({ signal }) => api.get('/web/home/pipeline', { signal }),
});

/** Accepts or declines an invitation to a brokerage. */
export function answerMembership(brokerage: Id, accepts: boolean): Promise<void> {
  const param = { id: brokerage };
  return accepts
    ? api.post('/web/brokerages/:id/invitation/accept', { param })
    : api.post('/web/brokerages/:id/invitation/decline', { param });
}

/** Accepts an invitation to a deal; resolves to that deal. */
export function acceptInvitation(participant: Id): Promise<{ deal_id: Id }> {
  return api.post('/web/invitations/:participant_id/accept', { param: { participant_id: participant } });
}

/** Declines an invitation to a deal. */
export function declineInvitation(participant: Id): Promise<void> {
  return api.post('/web/invitations/:participant_id/decline', { param: { participant_id: participant } });
}

/** Leaves a deal that an advisor does not see yet. */
export function leaveWaitingPlace(participant: Id): Promise<void> {
  return api.post('/web/invitations/:participant_id/leave', { param: { participant_id: participant } });
}
