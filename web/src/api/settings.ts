import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import type { RequestQuery } from '../../../server/contract.ts';
import { address, api, ApiError } from './client.ts';
import { refreshAll } from './query-client.ts';
import { keys } from './query-keys.ts';
import { upload } from './upload.ts';
import type {
  ApiKeyInput,
  ClientInput,
  Delivery,
  HandOver,
  Id,
  Member,
  MemberInput,
  MemberRole,
  Redelivery,
  SharedBounds,
  WebhookChange,
  WebhookDelivery,
  WebhookInput,
} from './shapes.ts';

/** A brokerage with its settings. */
export const brokerageQuery = (id: Id) =>
  queryOptions({
    queryKey: keys.settings('brokerage', id),
    queryFn: ({ signal }) => api.get('/web/brokerages/:id', { param: { id }, signal }),
  });

/** The largest logo of a brokerage: file size, and pixels per side. */
export const mostOfPicture: Omit<SharedBounds['mostOfPicture'], 'bytes'> = { words: '200 KB', side: 2000 };

/** At most this many are listed. */
export const mostMembers: SharedBounds['mostMembers'] = 2000;
export const mostClients: SharedBounds['mostClients'] = 500;
export const mostOptIns: SharedBounds['mostOptIns'] = 500;

/** The members of a brokerage. */
export const membersQuery = (brokerageId: Id) =>
  queryOptions({
    queryKey: keys.settings('members', brokerageId),
    queryFn: ({ signal }) => api.get('/web/brokerages/:id/members', { param: { id: brokerageId }, signal }),
  });

/** Those of these members who can run deals, but for one person. */
export const brokersAmong = (members: readonly Member[], except?: Id): Member[] =>
  members.filter(({ user_id, role, status }) => user_id !== except && status === 'active' && role !== 'staff');

/** The undelivered mails of a brokerage. */
export const undeliveredMailsQuery = (brokerageId: Id) =>
  queryOptions({
    queryKey: keys.settings('mails', brokerageId),
    queryFn: ({ signal }) => api.get('/web/brokerages/:id/mails', { param: { id: brokerageId }, signal }),
  });

/** The health of the service, for the admins of a brokerage. */
export const statusQuery = (brokerageId: Id) =>
  queryOptions({
    queryKey: keys.settings('status', brokerageId),
    queryFn: ({ signal }) => api.get('/web/brokerages/:id/status', { param: { id: brokerageId }, signal }),
    refetchInterval: 60_000,
  });

/** The deals on which this member is the brokerage's only broker, and what else they leave. */
export const dealsRunAloneQuery = (brokerageId: Id, userId: Id) =>
  queryOptions({
    queryKey: keys.settings('members', brokerageId, userId, 'deals'),
    queryFn: ({ signal }) =>
      api.get('/web/brokerages/:id/members/:user_id/deals', { param: { id: brokerageId, user_id: userId }, signal }),
    staleTime: 0,
  });

/** The open deals that this member runs. */
export const dealsRunQuery = (brokerageId: Id, userId: Id) =>
  queryOptions({
    queryKey: keys.settings('members', brokerageId, userId, 'run-deals'),
    queryFn: ({ signal }) =>
      api.get('/web/brokerages/:id/members/:user_id/run-deals', {
        param: { id: brokerageId, user_id: userId },
        signal,
      }),
    staleTime: 0,
  });

/** The API keys of a brokerage. */
export const apiKeysQuery = (brokerageId: Id) =>
  queryOptions({
    queryKey: keys.settings('keys', brokerageId),
    queryFn: ({ signal }) => api.get('/web/brokerages/:id/keys', { param: { id: brokerageId }, signal }),
  });

/** The sandbox of a brokerage. */
export const sandboxQuery = (brokerageId: Id) =>
  queryOptions({
    queryKey: keys.settings('sandbox', brokerageId),
    queryFn: ({ signal }) => api.get('/web/brokerages/:id/sandbox', { param: { id: brokerageId }, signal }),
  });

/** The webhooks of a brokerage. */
export const webhooksQuery = (brokerageId: Id) =>
  queryOptions({
    queryKey: keys.settings('webhooks', brokerageId),
    queryFn: ({ signal }) => api.get('/web/brokerages/:id/webhooks', { param: { id: brokerageId }, signal }),
  });

/** The log of a webhook, or its deliveries in one state; refetched every 10 seconds, since deliveries are added. */
export const webhookDeliveriesQuery = (id: Id, state: WebhookDelivery['state'] | null) =>
  infiniteQueryOptions({
    queryKey: keys.settings('webhooks', id, 'deliveries', state),
    queryFn: ({ pageParam, signal }) =>
      api.get('/web/webhooks/:id/deliveries', {
        param: { id },
        query: { state, cursor: pageParam, limit: 50 },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor ?? null,
    refetchInterval: 10_000,
  });

/** The person's connected clients. */
export const clientsQuery = queryOptions({
  queryKey: keys.settings('clients'),
  queryFn: ({ signal }) => api.get('/web/clients', { signal }),
});

/** The writing tools, with the person's permissions. */
export const toolsQuery = queryOptions({
  queryKey: keys.settings('tools'),
  queryFn: ({ signal }) => api.get('/web/tools', { signal }),
});

export type AuditFilter = RequestQuery<'get', '/web/audit/export'>;

/** The audit records that match the filter, in pages. */
export const auditQuery = (filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: keys.settings('audit', filter),
    queryFn: ({ pageParam, signal }) =>
      api.get('/web/audit', { query: { ...filter, cursor: pageParam, limit: 100 }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor ?? null,
  });

/** The present and former members of a brokerage, for its admins. */
export const auditPeopleQuery = (brokerageId: Id) =>
  queryOptions({
    queryKey: keys.settings('audit', 'people', brokerageId),
    queryFn: ({ signal }) => api.get('/web/audit/people', { query: { brokerage_id: brokerageId }, signal }),
  });

/** The URL of a file with the audit records that match the filter. */
export const auditExport = (filter: AuditFilter): string => address('/web/audit/export', { query: filter });

/** The URL of an archive of everything that an admin may see of a brokerage. */
export const brokerageExport = (id: Id): string => address('/web/brokerages/:id/export', { param: { id } });

/** The URL of the logo of a brokerage that was uploaded at the time `at`. */
export const brokerageLogo = (id: Id, at: string): string =>
  `${address('/web/brokerages/:id/logo', { param: { id } })}?${new URLSearchParams({ at }).toString()}`;

/** A mutation that refetches its part of the settings, those in `also`, and the audit trail. */
function useChange<Input, Result>(part: string, send: (input: Input) => Promise<Result>, also: readonly string[] = []) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: send,
    onSuccess: () =>
      Promise.all([part, ...also, 'audit'].map((name) => client.invalidateQueries({ queryKey: keys.settings(name) }))),
  });
}

/** At most this many people are invited at once. */
export const mostInvitedAtOnce = 50;

/** Runs a request, and again when the person has proven who they are. */
type Attempting = <T>(request: () => Promise<T>) => Promise<T>;

/** What came of inviting one of several people. */
export interface Attempt {
  person: Pick<MemberInput, 'name' | 'email'>;
  /** Why the person is not invited; null when they are. */
  fault: string | null;
  /** The link, if it is to be passed on by hand; null when it was mailed. */
  url: string | null;
}

/** Whether nobody else is invited after this error: no more mails may be sent now, or nothing works at all. */
const endsAll = ({ status, calledOff }: ApiError) => status === 0 || status === 429 || status >= 500 || calledOff;

/** Invites people in turn with `invite`, until an error that the next one would get, too. */
async function inviteInTurn(
  people: readonly Attempt['person'][],
  invite: (person: Attempt['person']) => Promise<{ invitation_url: string | null }>,
): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  let ended: string | null = null;
  for (const person of people) {
    let fault: string | null = ended;
    let url: string | null = null;
    if (fault === null)
      try {
        ({ invitation_url: url } = await invite(person));
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        fault = error.details[0]?.message ?? error.message;
        if (endsAll(error)) ended = fault;
      }
    attempts.push({ person, fault, url });
  }
  return attempts;
}

/** Mutations of a brokerage and its members, for admins; any member may leave. */
export function useMemberActions(brokerageId: Id) {
  const param = { id: brokerageId };
  const client = useQueryClient();
  // Keys and webhooks depend on members.
  const integrations = ['keys', 'webhooks'];
  return {
    rename: useMutation({
      mutationFn: (name: string) => api.patch('/web/brokerages/:id', { param, json: { name } }),
      onSuccess: () =>
        Promise.all([
          client.invalidateQueries({ queryKey: keys.settings('brokerage') }),
          client.invalidateQueries({ queryKey: keys.me }),
        ]),
    }),
    requireFactor: useMutation({
      mutationFn: (required: boolean) => api.put('/web/brokerages/:id/second-factor', { param, json: { required } }),
      onSuccess: () => refreshAll(client),
    }),
    uploadLogo: useChange('brokerage', (file: File) => upload('/web/brokerages/:id/logo', file, { param })),
    removeLogo: useChange('brokerage', () => api.delete('/web/brokerages/:id/logo', { param })),
    askExport: useMutation({ mutationFn: () => api.post('/web/brokerages/:id/export', { param }) }),
    askDeletion: useChange('brokerage', (confirmation: string) =>
      api.post('/web/brokerages/:id/deletion', { param, json: { confirmation } }),
    ),
    cancelDeletion: useChange('brokerage', () => api.delete('/web/brokerages/:id/deletion', { param })),
    endSessions: useChange('members', (userId: Id) =>
      api.post('/web/brokerages/:id/members/:user_id/sessions/end', { param: { ...param, user_id: userId } }),
    ),
    invite: useChange(
      'members',
      (input: MemberInput) => api.post('/web/brokerages/:id/members', { param, json: input }),
      ['mails'],
    ),
    inviteEach: useChange(
      'members',
      ({ people, role, attempt }: { people: readonly Attempt['person'][]; role: MemberRole; attempt: Attempting }) =>
        inviteInTurn(people, (person) =>
          attempt(() => api.post('/web/brokerages/:id/members', { param, json: { ...person, role } })),
        ),
      ['mails'],
    ),
    resendMail: useChange(
      'mails',
      (mailId: Id) => api.post('/web/brokerages/:id/mails/:mail_id/resend', { param: { ...param, mail_id: mailId } }),
      ['members'],
    ),
    renew: useChange('members', ({ user_id, ...input }: { user_id: Id } & Delivery) =>
      api.post('/web/brokerages/:id/members/:user_id/invitation', { param: { ...param, user_id }, json: input }),
    ),
    changeRole: useChange(
      'members',
      ({ user_id, ...json }: { user_id: Id; role: MemberRole; successor_id?: Id | null }) =>
        api.patch('/web/brokerages/:id/members/:user_id', { param: { ...param, user_id }, json }),
      integrations,
    ),
    handOver: useChange('members', ({ user_id, ...json }: { user_id: Id } & HandOver) =>
      api.post('/web/brokerages/:id/members/:user_id/hand-over', { param: { ...param, user_id }, json }),
    ),
    /** The person's own leaving: what they see afterwards is read first, as the rest is closed to them. */
    leave: useMutation({
      mutationFn: ({ user_id, successor_id }: { user_id: Id; successor_id: Id | null }) =>
        api.delete('/web/brokerages/:id/members/:user_id', { param: { ...param, user_id }, query: { successor_id } }),
      onSuccess: async () => {
        await client.refetchQueries({ queryKey: keys.me });
        await refreshAll(client);
      },
    }),
    remove: useChange(
      'members',
      ({ user_id, successor_id }: { user_id: Id; successor_id: Id | null }) =>
        api.delete('/web/brokerages/:id/members/:user_id', { param: { ...param, user_id }, query: { successor_id } }),
      integrations,
    ),
  };
}

/** Mutations of API keys, for admins; creating and rotating one require a recent sign-in. */
export function useKeyActions(brokerageId: Id) {
  return {
    create: useChange('keys', (input: ApiKeyInput) =>
      api.post('/web/brokerages/:id/keys', { param: { id: brokerageId }, json: input }),
    ),
    rotate: useChange('keys', ({ id, overlap_seconds }: { id: Id; overlap_seconds: number }) =>
      api.post('/web/keys/:id/rotate', { param: { id }, json: { overlap_seconds } }),
    ),
    admitByDefault: useChange('brokerage', (admitted: boolean) =>
      api.put('/web/brokerages/:id/key-admission', { param: { id: brokerageId }, json: { admitted } }),
    ),
    resetSandbox: useChange('sandbox', () =>
      api.post('/web/brokerages/:id/sandbox/reset', { param: { id: brokerageId } }),
    ),
    revoke: useChange('keys', (id: Id) => api.post('/web/keys/:id/revoke', { param: { id } })),
  };
}

/** Mutations of webhooks, for admins; adding one, changing its URL and rotating its secret require a recent sign-in. */
export function useWebhookActions() {
  return {
    add: useChange('webhooks', ({ key_id, ...input }: WebhookInput & { key_id: Id }) =>
      api.post('/web/keys/:id/webhooks', { param: { id: key_id }, json: input }),
    ),
    change: useChange('webhooks', ({ id, ...change }: WebhookChange & { id: Id }) =>
      api.patch('/web/webhooks/:id', { param: { id }, json: change }),
    ),
    rotate: useChange('webhooks', ({ id, overlap_seconds }: { id: Id; overlap_seconds: number }) =>
      api.post('/web/webhooks/:id/rotate', { param: { id }, json: { overlap_seconds } }),
    ),
    remove: useChange('webhooks', (id: Id) => api.delete('/web/webhooks/:id', { param: { id } })),
    test: useChange('webhooks', (id: Id) => api.post('/web/webhooks/:id/test', { param: { id } })),
    redeliver: useChange('webhooks', ({ id, delivery_id }: { id: Id; delivery_id: Id }) =>
      api.post('/web/webhooks/:id/deliveries/:delivery_id/redeliver', { param: { id, delivery_id } }),
    ),
    redeliverRange: useChange('webhooks', ({ id, ...range }: Redelivery & { id: Id }) =>
      api.post('/web/webhooks/:id/redeliver', { param: { id }, json: range }),
    ),
  };
}

/** Mutations of connected clients. */
export function useClientActions() {
  const tools = ['tools'];
  return {
    register: useChange('clients', (input: ClientInput) => api.post('/web/clients', { json: input }), tools),
    change: useChange(
      'clients',
      ({ id, ...input }: Partial<ClientInput> & { id: Id }) =>
        api.patch('/web/clients/:id', { param: { id }, json: input }),
      tools,
    ),
    share: useChange('clients', ({ id, brokerage_id }: { id: Id; brokerage_id: Id | null }) =>
      api.post('/web/clients/:id/share', { param: { id }, json: { brokerage_id } }),
    ),
    turn: useChange('clients', ({ id, disabled }: { id: Id; disabled: boolean }) =>
      api.post('/web/clients/:id/switch', { param: { id }, json: { disabled } }),
    ),
    disconnect: useChange('clients', (id: Id) => api.post('/web/clients/:id/disconnect', { param: { id } }), tools),
    remove: useChange('clients', (id: Id) => api.delete('/web/clients/:id', { param: { id } }), tools),
  };
}
