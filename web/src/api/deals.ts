import {
  infiniteQueryOptions,
  queryOptions,
  useMutation,
  useQueryClient,
  type QueryClient,
} from '@tanstack/react-query';
import type { RequestQuery } from '../../../server/contract.ts';
import { api } from './client.ts';
import { acceptInvitation } from './home.ts';
import { keys } from './query-keys.ts';
import { refreshHead } from './paged.ts';
import { restartRequest } from './refresh.ts';
import type { DealInput, DealPage, DealState, Delivery, Id, Instant, Me, ParticipantInput } from './shapes.ts';

export type DealFilter = Omit<RequestQuery<'get', '/web/deals'>, 'cursor'>;

/** The deals that match the filter, in pages. */
export const dealsQuery = (filter: DealFilter) =>
  infiniteQueryOptions({
    queryKey: [...keys.deals, filter],
    queryFn: ({ pageParam, signal }) =>
      api.get('/web/deals', { query: { limit: 100, ...filter, cursor: pageParam }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor ?? null,
  });

/** The page of one deal. */
export const dealQuery = (id: Id) =>
  queryOptions({
    queryKey: keys.deal(id),
    queryFn: ({ signal }) => api.get('/web/deals/:id', { param: { id }, signal }),
  });

/** What is missing for closing a deal, one sentence each; for its brokers only. */
export const closingWarnings = async (id: Id): Promise<string[]> =>
  (await api.get('/web/deals/:id/closing-warnings', { param: { id } })).items;

const activityOf = (id: Id, cursor: string | null, signal?: AbortSignal) =>
  api.get('/web/deals/:id/activity', { param: { id }, query: { cursor }, ...(signal && { signal }) });

/** The activity of a deal, in pages. */
export const dealActivityQuery = (id: Id) =>
  infiniteQueryOptions({
    queryKey: keys.of(id, 'activity'),
    queryFn: ({ pageParam, signal }) => activityOf(id, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor ?? null,
  });

/** Adds what has happened since to the activity of a deal. */
export const refreshActivity = (client: QueryClient, id: Id): Promise<void> =>
  refreshHead(client, keys.of(id, 'activity'), () => activityOf(id, null));

/** The person's assistants (connected clients) on a deal. */
export const dealToolsQuery = (id: Id) =>
  queryOptions({
    queryKey: keys.of(id, 'tools'),
    queryFn: ({ signal }) => api.get('/web/deals/:id/tools', { param: { id }, signal }),
  });

/** Whether the person's assistants may write on a deal, and until when: null for no end. */
export interface OptIn {
  on: boolean;
  expires_at: Instant | null;
}

/** Sets or removes the opt-in of a deal. */
export const sendOptIn = (id: Id, { on, expires_at }: OptIn) =>
  on
    ? api.put('/web/deals/:id/tools/opt-in', { param: { id }, json: { expires_at } })
    : api.delete('/web/deals/:id/tools/opt-in', { param: { id } });

/** The API keys that reach a deal. */
export const dealKeysQuery = (id: Id) =>
  queryOptions({
    queryKey: keys.of(id, 'keys'),
    queryFn: ({ signal }) => api.get('/web/deals/:id/keys', { param: { id }, signal }),
  });

/** Mutations of a deal and its participants. Responses that contain the deal's page replace the cached one. */
export function useDealActions(id: Id) {
  const client = useQueryClient();
  const show = (page: DealPage | undefined) => {
    if (page) {
      client.setQueryData(keys.deal(id), page);
      restartRequest(client, keys.deal(id));
    }
    void client.invalidateQueries({ queryKey: keys.deals });
    void client.invalidateQueries({ queryKey: keys.home });
  };
  const again = () => client.invalidateQueries({ queryKey: keys.deal(id) });
  return {
    edit: useMutation({
      mutationFn: (input: Partial<DealInput>) => api.patch('/web/deals/:id', { param: { id }, json: input }),
      onSuccess: again,
    }),
    move: useMutation({
      mutationFn: ({ to, confirm = false }: { to: DealState; confirm?: boolean }) =>
        api.post('/web/deals/:id/moves', { param: { id }, json: { to, confirm } }),
      onSuccess: show,
      // The move may have been offered because the page was out of date.
      onError: () => void again(),
    }),
    grantExclusivity: useMutation({
      mutationFn: (grant: { participant_id: Id; expires_at: Instant }) =>
        api.post('/web/deals/:id/exclusivity', { param: { id }, json: grant }),
      onSuccess: show,
    }),
    extendExclusivity: useMutation({
      mutationFn: (expires_at: Instant) =>
        api.patch('/web/deals/:id/exclusivity', { param: { id }, json: { expires_at } }),
      onSuccess: show,
    }),
    releaseExclusivity: useMutation({
      mutationFn: () => api.delete('/web/deals/:id/exclusivity', { param: { id } }),
      onSuccess: show,
    }),
    invite: useMutation({
      mutationFn: (input: ParticipantInput) => api.post('/web/deals/:id/participants', { param: { id }, json: input }),
      onSuccess: again,
    }),
    inviteAgain: useMutation({
      mutationFn: ({ participant, deliver }: { participant: Id } & Delivery) =>
        api.post('/web/deals/:id/participants/:participant_id/invitation', {
          param: { id, participant_id: participant },
          json: { deliver },
        }),
      onSuccess: again,
    }),
    /** Adds an admin of the brokerage who is no participant as a broker: invites and accepts in one step. */
    join: useMutation({
      mutationFn: async ({ name, email }: Me['user']) => {
        const self: ParticipantInput & Delivery = { name, email, role: 'broker', advises: null, deliver: 'link' };
        const { participant } = await api.post('/web/deals/:id/participants', { param: { id }, json: self });
        await acceptInvitation(participant.id);
      },
      onSuccess: () => {
        void client.invalidateQueries({ queryKey: keys.deals });
        void client.invalidateQueries({ queryKey: keys.home });
        return again();
      },
    }),
    /**
     * Resolves to the deal's page afterwards; to nothing when the caller removed themself and no longer sees the deal.
     */
    remove: useMutation({
      mutationFn: (participant: Id) =>
        api.delete('/web/deals/:id/participants/:participant_id', { param: { id, participant_id: participant } }),
      onSuccess: show,
    }),
    /** Removes the deal from the cache, once the caller has left the deal and its pages. */
    forget: () => client.removeQueries({ queryKey: keys.deal(id) }),
  };
}

/** Opens a deal in draft for a brokerage, with the caller as its broker. */
export function useOpenDeal() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (input: DealInput & { organization_id: Id }) => api.post('/web/deals', { json: input }),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: keys.deals });
      void client.invalidateQueries({ queryKey: keys.home });
    },
  });
}
