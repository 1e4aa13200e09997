import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { address, api, type Query } from './client.ts';
import { keys } from './keys.ts';
import type {
  ApiKey,
  ApiKeyCreated,
  ApiKeyInput,
  AuditRecord,
  Brokerage,
  Client,
  ClientInput,
  Clients,
  DealRunAlone,
  Delivery,
  Id,
  Instant,
  Items,
  Member,
  MemberInvited,
  MemberRemoved,
  MemberRole,
  ToolSettings,
} from './types.ts';

export const brokerageQuery = (id: Id) =>
  queryOptions({
    queryKey: keys.settings('brokerage', id),
    queryFn: ({ signal }) => api.get<Brokerage>(`/web/brokerages/${id}`, { signal }),
  });

export const membersQuery = (brokerageId: Id) =>
  queryOptions({
    queryKey: keys.settings('members', brokerageId),
    queryFn: ({ signal }) => api.get<Items<Member>>(`/web/brokerages/${brokerageId}/members`, { signal }),
  });

/** The deals that would have no broker without this member. */
export const dealsRunAloneQuery = (brokerageId: Id, userId: Id) =>
  queryOptions({
    queryKey: keys.settings('members', brokerageId, userId, 'deals'),
    queryFn: ({ signal }) =>
      api.get<Items<DealRunAlone>>(`/web/brokerages/${brokerageId}/members/${userId}/deals`, { signal }),
    staleTime: 0,
  });

export const apiKeysQuery = (brokerageId: Id) =>
  queryOptions({
    queryKey: keys.settings('keys', brokerageId),
    queryFn: ({ signal }) => api.get<Items<ApiKey>>(`/web/brokerages/${brokerageId}/keys`, { signal }),
  });

export const clientsQuery = queryOptions({
  queryKey: keys.settings('clients'),
  queryFn: ({ signal }) => api.get<Clients>('/web/clients', { signal }),
});

export const toolsQuery = queryOptions({
  queryKey: keys.settings('tools'),
  queryFn: ({ signal }) => api.get<ToolSettings>('/web/tools', { signal }),
});

export interface AuditFilter {
  brokerage_id?: Id | undefined;
  user_id?: Id | undefined;
  action?: string | undefined;
  outcome?: 'done' | 'refused' | undefined;
  from?: Instant | undefined;
  to?: Instant | undefined;
}

export const auditQuery = (filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: keys.settings('audit', filter),
    queryFn: ({ pageParam, signal }) =>
      api.get<Items<AuditRecord>>('/web/audit', { query: { ...filter, cursor: pageParam, limit: 100 }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor ?? null,
  });

/** Where the browser gets the records that fit as a file. */
export const auditExport = (filter: AuditFilter): string => address('/web/audit/export', { ...filter } as Query);

/** A change after which the page of the settings that it belongs to is asked again. */
function useChange<Input, Result>(part: string, send: (input: Input) => Promise<Result>, also: readonly string[] = []) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: send,
    onSuccess: () =>
      Promise.all([part, ...also, 'audit'].map((name) => client.invalidateQueries({ queryKey: keys.settings(name) }))),
  });
}

/** What admins do to their brokerage and its members. */
export function useMemberActions(brokerageId: Id) {
  const path = `/web/brokerages/${brokerageId}`;
  const client = useQueryClient();
  return {
    rename: useMutation({
      mutationFn: (name: string) => api.patch<Brokerage>(path, { name }),
      onSuccess: () =>
        Promise.all([
          client.invalidateQueries({ queryKey: keys.settings('brokerage') }),
          client.invalidateQueries({ queryKey: keys.me }),
        ]),
    }),
    requireFactor: useMutation({
      mutationFn: (required: boolean) => api.put<Brokerage>(`${path}/second-factor`, { required }),
      onSuccess: () => client.invalidateQueries(),
    }),
    endSessions: useChange('members', (userId: Id) =>
      api.post<{ ended: number }>(`${path}/members/${userId}/sessions/end`, {}),
    ),
    invite: useChange('members', (input: { email: string; name: string; role: MemberRole } & Delivery) =>
      api.post<MemberInvited>(`${path}/members`, input),
    ),
    renew: useChange('members', ({ user_id, ...input }: { user_id: Id } & Delivery) =>
      api.post<MemberInvited>(`${path}/members/${user_id}/invitation`, input),
    ),
    changeRole: useChange('members', ({ user_id, role }: { user_id: Id; role: MemberRole }) =>
      api.patch<Member>(`${path}/members/${user_id}`, { role }),
    ),
    remove: useChange('members', ({ user_id, successor_id }: { user_id: Id; successor_id: Id | null }) =>
      api.delete<MemberRemoved>(
        `${path}/members/${user_id}${successor_id === null ? '' : `?successor_id=${successor_id}`}`,
      ),
    ),
  };
}

/** What admins do to API keys; creating and rotating want a recent sign-in. */
export function useKeyActions(brokerageId: Id) {
  return {
    create: useChange('keys', (input: ApiKeyInput) =>
      api.post<ApiKeyCreated>(`/web/brokerages/${brokerageId}/keys`, input),
    ),
    rotate: useChange('keys', ({ id, overlap_seconds }: { id: Id; overlap_seconds: number }) =>
      api.post<ApiKeyCreated>(`/web/keys/${id}/rotate`, { overlap_seconds }),
    ),
    revoke: useChange('keys', (id: Id) => api.post<ApiKey>(`/web/keys/${id}/revoke`, {})),
  };
}

/** What is done about connected clients. */
export function useClientActions() {
  const tools = ['tools'];
  return {
    register: useChange('clients', (input: ClientInput) => api.post<Client>('/web/clients', input), tools),
    change: useChange(
      'clients',
      ({ id, ...input }: ClientInput & { id: Id }) => api.patch<Client>(`/web/clients/${id}`, input),
      tools,
    ),
    share: useChange('clients', ({ id, brokerage_id }: { id: Id; brokerage_id: Id | null }) =>
      api.post<Client>(`/web/clients/${id}/share`, { brokerage_id }),
    ),
    turn: useChange('clients', ({ id, disabled }: { id: Id; disabled: boolean }) =>
      api.post<Client>(`/web/clients/${id}/switch`, { disabled }),
    ),
    disconnect: useChange('clients', (id: Id) => api.post<Client>(`/web/clients/${id}/disconnect`, {}), tools),
    remove: useChange('clients', (id: Id) => api.delete(`/web/clients/${id}`), tools),
  };
}
