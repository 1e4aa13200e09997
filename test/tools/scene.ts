/** People, deals and tokens for the tests of the tool server; created as the owner, requested over HTTP. */

import { readConfig } from '../../server/config/config.ts';
import { mint } from '../../server/domain/clients/tokens.ts';
import { canonicalResource } from '../../server/http/resource-metadata.ts';
import { writingTools } from '../../server/tools/catalog/index.ts';
import type { TestService, TestNode } from '../harness.ts';

/** Configuration with every tool enabled, and a limit of more calls per minute than a test makes. */
export const everyTool = {
  features: { findings: true, financing: true },
  rateLimits: { ...readConfig({}).rateLimits, tools: 100_000 },
} as const;

let count = 0;

/** Inserts a row and returns its id. */
export async function insert(service: TestService, table: string, values: Record<string, unknown>): Promise<string> {
  const columns = Object.keys(values);
  const [made] = await service.sql<{ id: string }>(
    `insert into ${table} (${columns.join(', ')}) values (${columns.map((_, at) => `$${at + 1}`).join(', ')}) returning *`,
    Object.values(values),
  );
  return made?.id ?? '';
}

/** Inserts a brokerage and returns its id. */
export function addBrokerage(service: TestService, name = 'Harbor Brokers'): Promise<string> {
  count += 1;
  return insert(service, 'brokerages', { slug: `brokerage-${count}`, name });
}

/** Inserts a person without any role yet and returns their id. */
export function addPerson(service: TestService, name: string): Promise<string> {
  count += 1;
  return insert(service, 'users', {
    email: `${name.replaceAll(/[^a-z]/gi, '-').toLowerCase()}.${count}@people.test`,
    name,
  });
}

/** An access token, and to whom it was issued. */
export interface Access {
  readonly token: string;
  readonly userId: string;
  readonly clientId: string;
  readonly familyId: string;
}

/** Issues an access token to a person, through a client of theirs. */
export async function addToken(
  service: TestService,
  userId: string,
  { scopes = ['mcp:read', 'mcp:write'], clientId }: { scopes?: readonly string[]; clientId?: string } = {},
): Promise<Access> {
  const client =
    clientId ??
    (await insert(service, 'connected_clients', {
      created_by: userId,
      name: 'An assistant',
      redirect_uris: ['https://client.example/callback'],
    }));
  const now = service.clock.now();
  const familyId = await insert(service, 'vault.token_families', {
    user_id: userId,
    client_id: client,
    scopes,
    resource: canonicalResource(service.config.baseUrl),
    consented_at: now,
    ends_at: new Date(now.getTime() + 180 * 86_400_000),
  });
  const { token, digest } = mint('access');
  await insert(service, 'vault.access_tokens', {
    digest,
    family_id: familyId,
    scopes,
    expires_at: new Date(now.getTime() + 3_600_000),
  });
  return { token, userId, clientId: client, familyId };
}

/** Grants tools to a token's client, and opts its person in to writing through tools on these deals. */
export async function allow(
  service: TestService,
  { userId, clientId }: Access,
  tools: readonly string[],
  deals: readonly string[],
) {
  for (const tool of tools) {
    await service.sql('insert into tool_grants (user_id, client_id, tool) values ($1, $2, $3) on conflict do nothing', [
      userId,
      clientId,
      tool,
    ]);
  }
  for (const deal of deals) {
    await service.sql('insert into deal_opt_ins (user_id, deal_id) values ($1, $2) on conflict do nothing', [
      userId,
      deal,
    ]);
  }
}

/** Sends a message as a client of 2025 does, without anything optional. */
export async function send(
  node: Pick<TestNode, 'mcpUrl'>,
  token: string | null,
  body: unknown,
  {
    path = '/api/mcp',
    method = 'POST',
    headers = {},
  }: { path?: string; method?: string; headers?: Record<string, string> } = {},
) {
  const response = await fetch(node.mcpUrl + path, {
    method,
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(body === undefined || method === 'GET' ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const json = (response.headers.get('content-type') ?? '').startsWith('application/json') ? JSON.parse(text) : null;
  return { status: response.status, headers: response.headers, text, body: json as Answer | null };
}

/** The parts of a response that the tests look at. */
export interface Answer {
  readonly id: string | number | null;
  readonly result: ToolAnswer & Record<string, unknown>;
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface ToolAnswer {
  readonly content: { readonly type: string; readonly text: string }[];
  readonly structuredContent: Record<string, unknown>;
  readonly isError?: boolean;
}

/** Calls tools with an access token; returns the result unchanged. */
export function caller(node: Pick<TestNode, 'mcpUrl'>, access: Pick<Access, 'token'>) {
  return async (name: string, input: Record<string, unknown> = {}): Promise<ToolAnswer> => {
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } };
    const { status, body, text } = await send(node, access.token, call);
    if (status !== 200 || !body?.result) throw new Error(`no result: ${status} ${text}`);
    return body.result;
  };
}

/** Inserts many rows in one statement. */
export async function insertAll(
  service: TestService,
  table: string,
  rows: readonly Record<string, unknown>[],
): Promise<void> {
  const [first = {}] = rows;
  await service.sql(
    `insert into ${table} (${Object.keys(first).join(', ')})
     select ${Object.keys(first)
       .map((name) => `r.${name}`)
       .join(', ')} from jsonb_populate_recordset(null::${table}, $1) r`,
    [JSON.stringify(rows)],
  );
}

/** A deal with everyone who could want to see it, each with a token. */
export interface FullDeal {
  readonly brokerage: string;
  readonly slug: string;
  readonly deal: string;
  readonly people: Record<Role, Access>;
  readonly participants: Record<Role, string>;
}

export const roles = [
  'broker',
  'seller',
  'exclusive buyer',
  'other buyer',
  'new buyer',
  "exclusive buyer's advisor",
  'viewer',
  'admin',
  'outsider',
] as const;
export type Role = (typeof roles)[number];

const roleOf: Partial<Record<Role, string>> = {
  broker: 'broker',
  seller: 'seller',
  'exclusive buyer': 'buyer',
  'other buyer': 'buyer',
  'new buyer': 'buyer',
  viewer: 'viewer',
};

/**
 * Inserts a deal with participants. Both established buyers have an NDA; the exclusive buyer has the exclusivity and is
 * an editor of the QoE workspace.
 */
export async function addFullDeal(service: TestService, { state = 'diligence' } = {}): Promise<FullDeal> {
  const brokerage = await addBrokerage(service);
  const [{ slug } = { slug: '' }] = await service.sql<{ slug: string }>('select slug from brokerages where id = $1', [
    brokerage,
  ]);
  const deal = await insert(service, 'deals', { organization_id: brokerage, title: 'Corner bakery', state });
  const people = {} as Record<Role, Access>;
  const participants = {} as Record<Role, string>;
  for (const role of roles) people[role] = await addToken(service, await addPerson(service, role));
  const join = async (who: Role, role: string, more: Record<string, unknown> = {}) => {
    // Distinct creation times, even on a fast machine.
    const created_at = new Date(service.clock.now().getTime() + Object.keys(participants).length);
    const values = { deal_id: deal, user_id: people[who].userId, role, status: 'active', created_at, ...more };
    participants[who] = await insert(service, 'participants', values);
  };
  for (const [who, role] of Object.entries(roleOf)) await join(who as Role, role);
  await join("exclusive buyer's advisor", 'advisor', { advises: participants['exclusive buyer'] });
  await insert(service, 'members', { brokerage_id: brokerage, user_id: people.admin.userId, role: 'admin' });
  await insert(service, 'members', { brokerage_id: brokerage, user_id: people.broker.userId, role: 'broker' });
  for (const who of ['exclusive buyer', 'other buyer'] as const) {
    await insert(service, 'ndas', {
      deal_id: deal,
      participant_id: participants[who],
      status: 'active',
      terms: 'Keep it to yourself.',
      signed_at: service.clock.now(),
      signed_name: who,
    });
  }
  await insert(service, 'exclusivities', {
    deal_id: deal,
    participant_id: participants['exclusive buyer'],
    buyer_user_id: people['exclusive buyer'].userId,
    expires_at: new Date(service.clock.now().getTime() + 30 * 86_400_000),
  });
  const place = { deal_id: deal, participant_id: participants['exclusive buyer'], role: 'editor' };
  await insert(service, 'qoe_workspace_members', place);
  return { brokerage, slug, deal, people, participants };
}

/** Allows everyone on a deal to write there through every tool. */
export async function allowAll(service: TestService, { deal, people }: FullDeal): Promise<void> {
  for (const role of roles) await allow(service, people[role], writingTools, [deal]);
}
