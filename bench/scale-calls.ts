/**
 * The calls of one person on a platform: each GET of the web application, each tool, and a few others. docs/scale.md
 * lists what is left out.
 */

import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { Database } from '../server/database/database.ts';
import { deliveryStates } from '../server/domain/webhooks/deliveries.ts';
import { ownData } from '../server/domain/accounts/own-data.ts';
import { deadlines, enterWithCalendarLink } from '../server/domain/notifications/calendar.ts';
import { enterWithSession } from '../server/domain/accounts/sessions.ts';
import { csrfToken } from '../server/http/csrf.ts';
import { catalog, writingTools } from '../server/tools/catalog/index.ts';
import { documentUri } from '../server/tools/document-links.ts';
import { leastInput } from '../test/tools/inputs.ts';
import type { ScalePerson } from './scale-data.ts';
import { undone } from './scale-undone.ts';

/** One request as a client sends it. */
export interface Call {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /** Whether it is sent to the application that rolls back its changes, so that the next run finds the same data. */
  readonly isUndone?: boolean;
  /** Queries the database directly, where a rate limit prevents HTTP requests; resolves with the outcome. Optional. */
  readonly ask?: () => Promise<string>;
}

/** A route of the application as Hono lists it. */
export interface Route {
  readonly method: string;
  readonly path: string;
}

/** Ids for the placeholders of paths and for the inputs of tools, by name. */
export type Ids = Readonly<Record<string, string>>;

// The first record of each kind that a person sees on the deal, so that every size is asked about the same.
const idsOnDeal = `
  select coalesce($3, d.organization_id) as brokerage_id,
    (select x.user_id from members x where x.brokerage_id = coalesce($3, d.organization_id) and x.role = 'broker' order by x.user_id desc limit 1) as user_id,
    (select x.id from documents x where x.deal_id = d.id and x.removed_at is null and x.confidentiality = 'public' order by x.id limit 1) as simple_id,
    (select x.id from production_documents x where x.deal_id = d.id and x.removed_at is null order by x.id limit 1) as production_id,
    (select x.id from findings x where x.deal_id = d.id order by x.created_by = $2 desc, x.id limit 1) as finding_id,
    (select x.id from financing_sources x where x.deal_id = d.id order by x.created_by = $2 desc, x.id limit 1) as source_id,
    (select x.buyer_user_id from offers x where x.deal_id = d.id order by x.buyer_user_id = $2 desc, x.id limit 1) as buyer_user_id,
    (select x.id from offers x where x.deal_id = d.id order by x.buyer_user_id = $2 desc, x.id limit 1) as offer_id,
    (select x.id from offers x where x.deal_id = d.id order by x.buyer_user_id = $2 desc, x.id desc limit 1) as other_offer_id,
    (select x.id from webhook_endpoints x where x.brokerage_id = coalesce($3, d.organization_id) order by x.id limit 1) as webhook_id,
    (select x.id from contacts x where x.brokerage_id = coalesce($3, d.organization_id) and x.archived_at is null
      order by x.created_at desc, x.id desc limit 1) as contact_id
  from (select) one left join deals d on d.id = $1`;

// The records that the calls of an API key are about: two contacts of its brokerage that can be merged, and records of
// one of its deals that has an offer. A deal in diligence is preferred: it has the most records, and more can be
// written to it.
const idsForKey = `
  select c.id as contact_id,
    (select o.id from contacts o where o.brokerage_id = $1 and o.archived_at is null and o.type = c.type and o.id > c.id order by o.id limit 1) as other_contact_id,
    d.id as deal_id, (select o.id from offers o where o.deal_id = d.id order by o.id limit 1) as offer_id,
    (select x.id from documents x where x.deal_id = d.id and x.removed_at is null order by x.id limit 1) as document_id,
    (select x.id from closing_conditions x where x.deal_id = d.id order by x.id limit 1) as condition_id,
    (select x.id from webhook_endpoints x where x.brokerage_id = $1 order by x.id limit 1) as webhook_id,
    (select x.id from webhook_deliveries x join webhook_endpoints e on e.id = x.endpoint_id where e.brokerage_id = $1 order by x.id limit 1) as delivery_id
  from deals d left join deal_stages g on g.deal_id = d.id
  left join lateral (select c.id, c.type from contacts c where c.brokerage_id = $1 and c.archived_at is null order by c.id limit 1) c on true
  where d.organization_id = $1 and ($2::uuid is null or d.id = $2) and exists (select from offers o where o.deal_id = d.id)
  order by g.state = 'diligence' desc nulls last, d.id limit 1`;

/** An id that no record has. */
export const nothing = '018cc251-0000-7000-8000-000000000000';

/** Returns the ids that a query finds, by column name; `nothing` for each that is missing. */
export async function idsBy(client: pg.Client, query: string, values: readonly unknown[]): Promise<Ids> {
  const { rows } = await client.query<Record<string, string | null>>(query, [...values]);
  return Object.fromEntries(Object.entries(rows[0] ?? {}).map(([name, value]) => [name, value ?? nothing]));
}

/** Returns the ids that a person's calls are about. */
export async function idsOf(client: pg.Client, { deal_id, user_id, brokerage_id }: ScalePerson): Promise<Ids> {
  const found = await idsBy(client, idsOnDeal, [deal_id, user_id, brokerage_id]);
  return { ...found, deal_id: deal_id ?? nothing, own_id: user_id };
}

/** Returns the ids that the calls of the brokerage's API key are about, on this deal if one is given. */
export const idsOfKey = (client: pg.Client, brokerageId: string | null, dealId: string | null = null): Promise<Ids> =>
  idsBy(client, idsForKey, [brokerageId, dealId]);

/** Returns the id for a placeholder, for `:id` by the preceding segment of the path; undefined when there is none. */
function idIn(parts: readonly string[], at: number, ids: Ids): string | undefined {
  const name = (parts[at] ?? '').slice(1).replace(/\{.*/, '');
  if (name !== 'id') return ids[name];
  const before = parts[at - 1] ?? '';
  return {
    deals: ids['deal_id'],
    brokerages: ids['brokerage_id'],
    contacts: ids['contact_id'],
    findings: ids['finding_id'],
    webhooks: ids['webhook_id'],
  }[before];
}

/** Returns the path of a route with the person's ids; throws when a placeholder has no known id. */
function filled({ path }: Route, ids: Ids, source: string): string {
  const parts = path.split('/');
  const values = parts.map((part, at) => {
    if (!part.startsWith(':')) return part;
    if (part === ':source') return source;
    const value = parts[at - 1] === ':source' ? ids[`${source}_id`] : idIn(parts, at, ids);
    if (value === undefined) throw new Error(`Say in scale-calls.ts what stands for ${part} in ${path}.`);
    return value;
  });
  return values.join('/');
}

/** Query strings of a route, one call for each; a route that is not listed is called without one. */
const queries: Readonly<Record<string, (ids: Ids) => readonly string[]>> = {
  '/api/web/deals': ({ user_id, own_id }) => [
    '',
    ...['updated_at', 'created_at', 'title', 'asking_price', 'state'].flatMap((sort) => [
      ...(sort === 'updated_at' ? [] : [`?sort=-${sort}`]),
      `?sort=${sort}`,
    ]),
    '?search=bakery%20number%201',
    '?state=diligence',
    '?role=broker_assigned',
    '?role=participant',
    `?broker=${user_id}`,
    `?broker=${own_id}`,
    '?broker=none',
    '?limit=200',
    '?cursor={next}',
    '?sort=title&cursor={next}',
    '?sort=-asking_price&cursor={next}',
  ],
  '/api/web/contacts': ({ brokerage_id }) =>
    [
      '',
      '&sort=display_name',
      '&sort=-display_name',
      '&sort=created_at',
      '&archived=true',
      '&archived=true&sort=display_name',
      '&cursor={next}',
      '&sort=display_name&cursor={next}',
      '&search=miller%20maria',
      '&search=zzzz',
      '&search=miller&sort=display_name',
    ].map((more) => `?brokerage_id=${brokerage_id}${more}`),
  '/api/web/contacts/export': ({ brokerage_id }) => [
    `?brokerage_id=${brokerage_id}`,
    `?brokerage_id=${brokerage_id}&search=miller%20maria`,
  ],
  '/api/web/audit': ({ brokerage_id, own_id, user_id, deal_id }) => [
    '',
    '?action=deal.',
    '?outcome=refused',
    '?outcome=done',
    '?action=tool:',
    '?action=tool:svc_offers_list',
    `?user_id=${own_id}`,
    '?from=2026-01-01T00:00:00Z&to=2026-06-01T00:00:00Z',
    '?action=offer.&outcome=done&from=2025-06-01T00:00:00Z',
    '?cursor={next}',
    `?brokerage_id=${brokerage_id}`,
    `?brokerage_id=${brokerage_id}&cursor={next}`,
    `?brokerage_id=${brokerage_id}&user_id=${user_id}`,
    `?brokerage_id=${brokerage_id}&outcome=done`,
    `?brokerage_id=${brokerage_id}&action=tool:`,
    `?brokerage_id=${brokerage_id}&from=2026-01-01T00:00:00Z&to=2026-06-01T00:00:00Z`,
    `?brokerage_id=${brokerage_id}&action=offer.`,
    `?brokerage_id=${brokerage_id}&action=webhook.`,
    `?brokerage_id=${brokerage_id}&outcome=refused`,
    ...(deal_id === undefined ? [] : [`?deal_id=${deal_id}`, `?brokerage_id=${brokerage_id}&deal_id=${deal_id}`]),
  ],
  '/api/web/audit/people': ({ brokerage_id }) => [`?brokerage_id=${brokerage_id}`],
  '/api/web/audit/export': ({ brokerage_id }) => ['', `?brokerage_id=${brokerage_id}`],
  '/api/web/notifications': () => ['', '?cursor={next}'],
  '/api/web/webhooks/:id/deliveries': () => ['', ...deliveryStates.map((state) => `?state=${state}`), '?cursor={next}'],
  '/api/web/deals/:id/documents': () => ['', '?category=legal', '?confidentiality=nda_gated', '?search=document'],
  '/api/web/deals/:id/activity': () => ['', '?cursor={next}'],
  '/api/web/deals/:id/qoe/periods': () => ['', '?start_date=2023-01-01&end_date=2024-12-31'],
  '/api/web/qoe/template': () => ['?snapshot_type=profit_and_loss'],
  '/api/web/deals/:id/qoe/bridge': () => ['?period_label=FY2025'],
  '/api/web/deals/:id/offers/worth': () => ['?rate=10.5&years=10&note_rate=6&note_years=5&note_standby=2'],
};

/** The stream of changes never ends, and has its own bench. */
const apart = new Set(['/api/web/events']);

/** Paths whose requests are each recorded, as an opening of a document. */
const opensDocument = /\/documents\/.*\/(content|preview)$/;
/**
 * Requests one byte of a body, which is enough: an opening costs the database the same, and bodies are not in the
 * database.
 */
export const firstByte = { Range: 'bytes=0-0' };

/**
 * Returns every GET of the web application as this person; throws when a route has a placeholder without a known id.
 */
export function webCalls(routes: readonly Route[], person: ScalePerson, ids: Ids): Call[] {
  const gets = routes.filter(({ method, path }) => method === 'GET' && /^\/api\/(web|auth)\//.test(path));
  const cookie = { Cookie: `dealkeep=${person.session_token}` };
  return [...new Map(gets.map((route) => [route.path, route])).values()]
    .filter(({ path }) => !apart.has(path) && !path.includes('*'))
    .flatMap((route) =>
      (queries[route.path]?.(ids) ?? ['']).flatMap((query) =>
        (route.path.includes(':source') ? ['simple', 'production'] : ['']).map((source) => {
          const shown = query.replaceAll(/(brokerage|user)_id=[0-9a-f-]+/g, '$1_id=…').replace('{next}', '…');
          const name = `GET ${route.path.replace('/api/web', '').replace(':source', source)}${shown}`;
          const isUndone = opensDocument.test(route.path);
          const headers = { ...cookie, ...(isUndone && firstByte) };
          return { name, method: 'GET', path: filled(route, ids, source) + query, headers, isUndone };
        }),
      ),
    );
}

/** Inputs of tools beyond the required ones, where these change the database query. */
const inputs: Readonly<Record<string, (ids: Ids) => readonly Record<string, unknown>[]>> = {
  svc_deals_list: ({ brokerage_id }) => [
    {},
    { state: 'diligence' },
    { state: 'draft' },
    { brokerage_id },
    // An unknown brokerage is answered with the existing ones.
    { brokerage_id: 'no-such-brokerage' },
  ],
  svc_documents_list: ({ deal_id }) => [
    { deal_id },
    { deal_id, category: 'financials' },
    { deal_id, category: 'nothing' },
  ],
  svc_findings_list: ({ deal_id }) => [
    { deal_id },
    { deal_id, category: 'financials' },
    { deal_id, category: 'nothing' },
  ],
};

/**
 * Returns a call of every tool as this person, on a deal where they may write for the tools that write, and the other
 * MCP requests for documents and deals.
 */
export function toolCalls(person: ScalePerson, ids: Ids): Call[] {
  const headers = {
    Authorization: `Bearer ${person.access_token}`,
    Accept: 'application/json, text/event-stream',
    'Content-Type': 'application/json',
    'MCP-Protocol-Version': '2025-11-25',
  };
  const asked = (name: string, method: string, params: object): Call => ({
    name,
    method: 'POST',
    path: '/api/mcp',
    headers,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const { deal_id = nothing, simple_id = nothing } = ids;
  const besideTools = [
    asked('resources/list', 'resources/list', {}),
    asked('resources/read', 'resources/read', { uri: documentUri(deal_id, simple_id) }),
    asked('completion/complete', 'completion/complete', {
      ref: { type: 'ref/prompt', name: 'compare_offers' },
      argument: { name: 'deal', value: '' },
    }),
  ];
  const ofTools = catalog.flatMap(({ name }) =>
    (inputs[name]?.(ids) ?? [leastInput(name, ids)]).map((input) => {
      const filters = Object.entries(input).filter(([filter]) => name in inputs && filter !== 'deal_id');
      const shown = filters.map(([filter, value]) =>
        value === ids['brokerage_id'] ? 'brokerage_id' : `${filter} ${String(value)}`,
      );
      const title = `${name}${shown.length > 0 ? ` (${shown.join(', ')})` : ''}`;
      return {
        ...asked(title, 'tools/call', { name, arguments: input }),
        isUndone: writingTools.includes(name),
      };
    }),
  );
  return [...ofTools, ...besideTools];
}

/** Returns the digest by which the database knows a token. */
export const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest();

/** Origin of the bench's calls. */
export const from = { address: null, requestId: null };

/**
 * Returns a person's calls that are neither a GET nor a tool: the export of their own data, a visit to a deal, and the
 * calendar feed without its limit.
 */
export function otherCalls(person: ScalePerson, ids: Ids, database: Database): Call[] {
  const digest = digestOf(person.session_token);
  const askForDeadlines = () => database.together(enterWithCalendarLink(digest), deadlines()).then(() => '200');
  const askForData = async () => {
    const [, data] = await undone(database, enterWithSession(digest), ownData(digest, from));
    return data === null ? '401' : '200';
  };
  const headers = {
    Cookie: `dealkeep=${person.session_token}`,
    'Content-Type': 'application/json',
    'X-CSRF-Token': csrfToken(person.session_token),
  };
  return [
    { name: 'POST /api/auth/export', method: 'POST', path: '/api/auth/export', headers, ask: askForData },
    {
      name: 'POST /deals/:id/visits',
      method: 'POST',
      path: `/api/web/deals/${ids['deal_id']}/visits`,
      headers,
      body: JSON.stringify({ tab: 'questions' }),
    },
    { name: 'calendar.ics', method: 'GET', path: '/calendar.ics', headers: {}, ask: askForDeadlines },
  ];
}
