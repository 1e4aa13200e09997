import {
  infiniteQueryOptions,
  queryOptions,
  useMutation,
  useQueryClient,
  type QueryClient,
} from '@tanstack/react-query';
import { api } from './client.ts';
import { acceptInvitation } from './home.ts';
import { keys } from './keys.ts';
import { refreshHead } from './paged.ts';
import type {
  Activity,
  CallerRole,
  Deal,
  DealInput,
  DealPage,
  DealRow,
  DealSort,
  DealState,
  DealTools,
  Delivery,
  Id,
  Instant,
  Invited,
  Items,
  Me,
  ParticipantInput,
} from './types.ts';

export interface DealFilter {
  search?: string | undefined;
  state?: readonly DealState[] | undefined;
  role?: CallerRole | undefined;
  sort?: DealSort | undefined;
}

export const dealsQuery = (filter: DealFilter) =>
  infiniteQueryOptions({
    queryKey: [...keys.deals, filter],
    queryFn: ({ pageParam, signal }) =>
      api.get<Items<DealRow>>('/web/deals', { query: { ...filter, cursor: pageParam, limit: 100 }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor ?? null,
  });

export const dealQuery = (id: Id) =>
  queryOptions({
    queryKey: keys.deal(id),
    queryFn: ({ signal }) => api.get<DealPage>(`/web/deals/${id}`, { signal }),
  });

/** What is missing for closing a deal, a sentence each; to its brokers. */
export const closingWarnings = async (id: Id): Promise<string[]> =>
  (await api.get<Items<string>>(`/web/deals/${id}/closing-warnings`)).items;

const activityOf = (id: Id, cursor: string | null, signal?: AbortSignal) =>
  api.get<Items<Activity>>(`/web/deals/${id}/activity`, { query: { cursor }, ...(signal && { signal }) });

export const dealActivityQuery = (id: Id) =>
  infiniteQueryOptions({
    queryKey: keys.of(id, 'activity'),
    queryFn: ({ pageParam, signal }) => activityOf(id, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor ?? null,
  });

/** Joins what happened since to the activity of a deal. */
export const refreshActivity = (client: QueryClient, id: Id): Promise<void> =>
  refreshHead(client, keys.of(id, 'activity'), () => activityOf(id, null));

export const dealToolsQuery = (id: Id) =>
  queryOptions({
    queryKey: keys.of(id, 'tools'),
    queryFn: ({ signal }) => api.get<DealTools>(`/web/deals/${id}/tools`, { signal }),
  });

/** What is done to a deal as a whole. Each answer that is the deal's page is put in place of the one shown. */
export function useDealActions(id: Id) {
  const client = useQueryClient();
  const show = (page: DealPage) => {
    client.setQueryData(keys.deal(id), page);
    void client.invalidateQueries({ queryKey: keys.deals });
    void client.invalidateQueries({ queryKey: keys.home });
  };
  const again = () => client.invalidateQueries({ queryKey: keys.deal(id) });
  return {
    edit: useMutation({
      mutationFn: (input: Partial<DealInput>) => api.patch<Deal>(`/web/deals/${id}`, input),
      onSuccess: again,
    }),
    move: useMutation({
      mutationFn: ({ to, confirm = false }: { to: DealState; confirm?: boolean }) =>
        api.post<DealPage>(`/web/deals/${id}/moves`, { to, confirm }),
      onSuccess: show,
    }),
    grantExclusivity: useMutation({
      mutationFn: (grant: { participant_id: Id; expires_at: Instant }) =>
        api.post<DealPage>(`/web/deals/${id}/exclusivity`, grant),
      onSuccess: show,
    }),
    extendExclusivity: useMutation({
      mutationFn: (expires_at: Instant) => api.patch<DealPage>(`/web/deals/${id}/exclusivity`, { expires_at }),
      onSuccess: show,
    }),
    releaseExclusivity: useMutation({
      mutationFn: () => api.delete<DealPage>(`/web/deals/${id}/exclusivity`),
      onSuccess: show,
    }),
    invite: useMutation({
      mutationFn: (input: ParticipantInput) => api.post<Invited>(`/web/deals/${id}/participants`, input),
      onSuccess: again,
    }),
    inviteAgain: useMutation({
      mutationFn: ({ participant, deliver }: { participant: Id } & Delivery) =>
        api.post<Invited>(`/web/deals/${id}/participants/${participant}/invitation`, { deliver }),
      onSuccess: again,
    }),
    /** An admin of the brokerage who takes no part joins as a broker: invites themself and accepts at once. */
    join: useMutation({
      mutationFn: async ({ name, email }: Me['user']) => {
        const self: ParticipantInput & Delivery = { name, email, role: 'broker', advises: null, deliver: 'link' };
        const { participant } = await api.post<Invited>(`/web/deals/${id}/participants`, self);
        await acceptInvitation(participant.id);
      },
      onSuccess: () => {
        void client.invalidateQueries({ queryKey: keys.deals });
        void client.invalidateQueries({ queryKey: keys.home });
        return again();
      },
    }),
    /** The page as it is then; nothing when the caller removed themself and does not see it any more. */
    remove: useMutation({
      mutationFn: (participant: Id) => api.delete<DealPage | undefined>(`/web/deals/${id}/participants/${participant}`),
      onSuccess: (page) => page && show(page),
    }),
  };
}

/** Opens a deal in draft for a brokerage, with the caller as its broker. */
export function useOpenDeal() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (input: DealInput & { organization_id: Id }) => api.post<Deal>('/web/deals', input),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: keys.deals });
      void client.invalidateQueries({ queryKey: keys.home });
    },
  });
}
