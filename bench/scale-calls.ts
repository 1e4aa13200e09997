/**
 * Everything that is measured on a platform: each GET of the web application, each tool, each operation of the REST API, the jobs and what the
 * workers do. What is left out is named in docs/scale.md.
 */

import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { Database } from '../server/database/database.ts';
import { row, rows as several } from '../server/database/statement.ts';
import { amongDealsOf, recordsOf } from '../server/domain/changed-records.ts';
import { callingApiKey, enterWithApiKey } from '../server/domain/clients/api-keys.ts';
import {
  callersDocument,
  refuseClientByDocument,
  clientOfGrant,
  documentClient,
} from '../server/domain/clients/authorization.ts';
import { recordLastUses } from '../server/domain/clients/last-used.ts';
import { resetOwnSandbox } from '../server/domain/clients/sandboxes.ts';
import { objectTypes, publishChanges, type ChangeEvent } from '../server/domain/events/changes.ts';
import {
  claimDeliveries,
  deliveryStates,
  enterForDeliveries,
  noteDeliveries,
  queueWebhooks,
  seesChanges,
} from '../server/domain/webhooks/deliveries.ts';
import { isRefreshable } from '../server/domain/clients/tokens.ts';
import { mailsOfOneself, ownData } from '../server/domain/accounts/own-data.ts';
import { claimMail, mailNotNeeded } from '../server/domain/outbox/mails.ts';
import { bodiesToClear } from '../server/domain/documents/documents.ts';
import { rememberedLines } from '../server/domain/diligence/account-lines.ts';
import {
  answerContradiction,
  closedToAnswers,
  releaseContradiction,
  unanswerContradiction,
  withdrawContradiction,
} from '../server/domain/diligence/contradiction-answers.ts';
import { completeSnapshot, processSnapshot, requestSnapshot } from '../server/domain/diligence/snapshots.ts';
import { deadlines, enterWithCalendarLink } from '../server/domain/notifications/calendar.ts';
import { queueNotificationMails, createNotifications } from '../server/domain/notifications/events.ts';
import { upgradePassword } from '../server/domain/accounts/passwords.ts';
import { remind } from '../server/domain/notifications/reminders.ts';
import { brokerageToDelete, mailsOfDeletedBrokerage } from '../server/domain/people/brokerage-deletion.ts';
import { exportDeals, exportRows, exportTables } from '../server/domain/people/brokerage-export.ts';
import { renameOneself } from '../server/domain/people/people.ts';
import { enterWithSession, sessionsAlive } from '../server/domain/accounts/sessions.ts';
import { withinDeal } from '../server/domain/visibility/deal-scope.ts';
import { mailCounts, noteJobRun, serviceState } from '../server/domain/service/status.ts';
import { csrfToken } from '../server/http/csrf.ts';
import { scheduledJobs } from '../server/scheduled-jobs.ts';
import { catalog, writingTools } from '../server/tools/catalog/index.ts';
import { documentUri } from '../server/tools/document-links.ts';
import { leastInput } from '../test/tools/inputs.ts';
import type { Platform, ScalePerson } from './scale-data.ts';
import { undone } from './scale-undone.ts';

/** One request as a client sends it. */
export interface Call {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /** Asked of the application that takes back what it does: the next run finds the same. */
  readonly isUndone?: boolean;
  /** Asks the database past HTTP, where a limit is in the way; resolves with how it went. */
  readonly ask?: () => Promise<string>;
}

/** Work that nobody waits for. */
export interface Job {
  readonly name: string;
  /** Writes so much that telling its plans takes minutes: a smaller one of its kind is looked at. */
  readonly isLarge?: boolean;
  /** What there has to be before each run, as SQL of the superuser. */
  readonly before?: string;
  readonly run: () => Promise<string>;
}

/** A route of the application as Hono lists it. */
export interface Route {
  readonly method: string;
  readonly path: string;
}

/** The ids that stand for the placeholders of paths and for what tools ask for, by the names of both. */
export type Ids = Readonly<Record<string, string>>;

// What a person on the deal sees there: the first of each, so that every size is asked about the same.
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
    (select x.id from webhook_endpoints x where x.brokerage_id = coalesce($3, d.organization_id) order by x.id limit 1) as webhook_id
  from (select) one left join deals d on d.id = $1`;

// What the calls of an API key are about: two contacts of its brokerage that may be one, and what there is on one of its deals that has an offer.
// Most is on one in diligence, into which more can be written, too.
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

/** An id that nothing has. */
export const nothing = '018cc251-0000-7000-8000-000000000000';

/** The ids that a query finds, by the names of its columns; an id that nothing has where it finds none. */
export async function idsBy(client: pg.Client, query: string, values: readonly unknown[]): Promise<Ids> {
  const { rows } = await client.query<Record<string, string | null>>(query, [...values]);
  return Object.fromEntries(Object.entries(rows[0] ?? {}).map(([name, value]) => [name, value ?? nothing]));
}

/** The ids that a person's calls are about. */
export async function idsOf(client: pg.Client, { deal_id, user_id, brokerage_id }: ScalePerson): Promise<Ids> {
  const found = await idsBy(client, idsOnDeal, [deal_id, user_id, brokerage_id]);
  return { ...found, deal_id: deal_id ?? nothing, own_id: user_id };
}

/** The ids that the calls of the brokerage's API key are about, on this deal where one is given. */
export const idsOfKey = (client: pg.Client, brokerageId: string | null, dealId: string | null = null): Promise<Ids> =>
  idsBy(client, idsForKey, [brokerageId, dealId]);

/** Which id stands for `:id` and its like, by what is before it in the path; null where there is none. */
function idIn(parts: readonly string[], at: number, ids: Ids): string | undefined {
  const name = (parts[at] ?? '').slice(1).replace(/\{.*/, '');
  if (name !== 'id') return ids[name];
  const before = parts[at - 1] ?? '';
  return {
    deals: ids['deal_id'],
    brokerages: ids['brokerage_id'],
    findings: ids['finding_id'],
    webhooks: ids['webhook_id'],
  }[before];
}

/** The path of a route with the person's ids; throws where it asks for something that is not known here. */
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

/** What stands behind the path of a route, one call for each; where nothing is said, the route is called as it is. */
const queries: Readonly<Record<string, (ids: Ids) => readonly string[]>> = {
  '/api/web/deals': () => [
    '',
    ...['updated_at', 'created_at', 'title', 'asking_price', 'state'].flatMap((sort) => [
      ...(sort === 'updated_at' ? [] : [`?sort=-${sort}`]),
      `?sort=${sort}`,
    ]),
    '?search=bakery%20number%201',
    '?state=diligence',
    '?role=broker_assigned',
    '?role=participant',
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
  '/api/web/contacts/export': ({ brokerage_id }) => [`?brokerage_id=${brokerage_id}`],
  '/api/web/audit': ({ brokerage_id, own_id, user_id }) => [
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
  ],
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

/** The stream of changes, which never ends, has a bench of its own. */
const apart = new Set(['/api/web/events']);

/** What leaves a record of each time it is asked. */
const opensDocument = /\/documents\/.*\/(content|preview)$/;
/** A byte of a body is enough: what an opening costs the database is the same, and no body is in the database. */
const firstByte = { Range: 'bytes=0-0' };

/** Every GET of the web application as this person. Throws when a route has a placeholder that nothing is known for. */
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

/** More than the least that a tool takes, where that asks the database for something else. */
const inputs: Readonly<Record<string, (ids: Ids) => readonly Record<string, unknown>[]>> = {
  svc_deals_list: ({ brokerage_id }) => [
    {},
    { state: 'diligence' },
    { state: 'draft' },
    { brokerage_id },
    // What names nothing is answered with what there is.
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

/** Every tool as this person: those that write, on a deal where they may; and what asks for documents and deals without a tool. */
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

interface RestSample {
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}
type RestSamples = Readonly<Record<string, (ids: Ids) => readonly RestSample[]>>;

/** A GET of what belongs to the key's deal, with each of these queries. */
const ofDeal = (path: string, asked: readonly string[]): RestSamples => ({
  [`GET /api/v1/deals/:dealId${path}`]: ({ deal_id = nothing, offer_id = nothing, document_id = nothing }) => {
    const rest = path.replace(':offerId', offer_id).replace(':documentId', document_id);
    return asked.map((query) => ({ path: `/api/v1/deals/${deal_id}${rest}${query}` }));
  },
});

/** A change of what belongs to the key's deal. */
const changing = (method: string, path: string, body: (ids: Ids) => object): RestSamples => ({
  [`${method} /api/v1/deals/:dealId${path}`]: (ids) => {
    const { deal_id = nothing, condition_id = nothing } = ids;
    return [
      {
        path: `/api/v1/deals/${deal_id}${path.replace(':conditionId', condition_id)}`,
        body: JSON.stringify(body(ids)),
      },
    ];
  },
});

/** A request about the key's webhook, with each of these queries. */
const ofWebhook = (method: string, path: string, asked: readonly string[], body?: object): RestSamples => ({
  [`${method} /api/v1/webhooks/:webhookId${path}`]: ({ webhook_id = nothing, delivery_id = nothing }) =>
    asked.map((query) => ({
      path: `/api/v1/webhooks/${webhook_id}${path.replace(':deliveryId', delivery_id)}${query}`,
      ...(body && { body: JSON.stringify(body) }),
    })),
});

/** How each operation of the REST API is called; a contact more is added with each create. */
const restSamples: RestSamples = {
  'GET /api/v1/contacts': ({ cursor }) => [
    { path: '/api/v1/contacts' },
    { path: '/api/v1/contacts?limit=200' },
    ...[
      'archived=true&expand=record',
      'archived=only',
      'sort=displayName',
      'sort=updatedAt&archived=true',
      'updatedSince=2026-11-01T00:00:00Z&archived=true',
      'type=company',
      'type=company&sort=displayName',
      'email=somebody@example.com&archived=true',
      'search=miller%20maria',
      'search=miller&sort=displayName',
      'search=zzzz&archived=true',
    ].map((query) => ({ path: `/api/v1/contacts?${query}` })),
    ...(cursor ? [{ path: `/api/v1/contacts?cursor=${cursor}` }] : []),
  ],
  'GET /api/v1/contacts/:contactId': ({ contact_id = nothing }) => [{ path: `/api/v1/contacts/${contact_id}` }],
  'PATCH /api/v1/contacts/:contactId': ({ contact_id = nothing }) => [
    { path: `/api/v1/contacts/${contact_id}`, body: JSON.stringify({ phone: null }) },
  ],
  'POST /api/v1/contacts/archive/:contactId': ({ contact_id = nothing }) => [
    { path: `/api/v1/contacts/archive/${contact_id}` },
  ],
  'POST /api/v1/contacts/restore/:contactId': ({ contact_id = nothing }) => [
    { path: `/api/v1/contacts/restore/${contact_id}` },
  ],
  'POST /api/v1/contacts/merge/:contactId': ({ contact_id = nothing, other_contact_id = nothing }) => [
    { path: `/api/v1/contacts/merge/${contact_id}`, body: JSON.stringify({ from: other_contact_id }) },
  ],
  'POST /api/v1/contacts/batch': () => [
    {
      path: '/api/v1/contacts/batch',
      body: JSON.stringify({
        items: Array.from({ length: 20 }, (_, n) => ({
          action: 'upsert',
          externalId: `scale-${n}`,
          contact: { type: 'person', displayName: `Number ${n}` },
        })),
      }),
    },
  ],
  'GET /api/v1/contacts/by-external-id/:externalId': () => [{ path: '/api/v1/contacts/by-external-id/scale-1' }],
  'PUT /api/v1/contacts/by-external-id/:externalId': () => [
    {
      path: '/api/v1/contacts/by-external-id/scale-1',
      body: JSON.stringify({ type: 'person', displayName: 'Number 1' }),
    },
  ],
  'GET /api/v1/me': () => [{ path: '/api/v1/me' }],
  'POST /api/v1/contacts': () => [
    { path: '/api/v1/contacts', body: JSON.stringify({ type: 'person', displayName: 'Somebody New' }) },
    // Once a new key, once one that the first of these requests was answered with.
    ...['{new}', 'of-the-bench'].map((key) => ({
      path: '/api/v1/contacts',
      body: JSON.stringify({ type: 'person', displayName: 'Somebody New' }),
      headers: { 'Idempotency-Key': key },
    })),
  ],
  'GET /api/v1/deals': () =>
    ['', '?limit=200', '?state=diligence', '?search=bakery%20number%201', '?updatedSince=2026-01-01T00:00:00Z'].map(
      (query) => ({ path: `/api/v1/deals${query}` }),
    ),
  ...ofDeal('', ['']),
  ...ofDeal('/participants', ['']),
  ...ofDeal('/offers', ['']),
  ...ofDeal('/offers/:offerId', ['']),
  ...ofDeal('/offers/:offerId/revisions', ['']),
  ...ofDeal('/questions', ['', '?status=distributed']),
  ...ofDeal('/ndas', ['']),
  ...ofDeal('/findings', ['']),
  ...ofDeal('/financing-sources', ['']),
  ...ofDeal('/documents', ['', '?category=financials']),
  ...ofDeal('/documents/:documentId', ['']),
  ...ofDeal('/qoe/checklist', ['']),
  ...ofDeal('/qoe/snapshots', ['']),
  ...ofDeal('/qoe/periods', ['']),
  ...ofDeal('/qoe/customers', ['']),
  ...ofDeal('/qoe/normalizations', ['']),
  ...ofDeal('/conditions', ['']),
  'GET /api/v1/events': () =>
    ['', '?after=latest', '?limit=200', '?types=finding.created', '?limit=200&expand=data'].map((query) => ({
      path: `/api/v1/events${query}`,
    })),
  'GET /api/v1/webhooks': () => [{ path: '/api/v1/webhooks' }],
  ...ofWebhook('GET', '', ['']),
  ...ofWebhook('PATCH', '', [''], { description: 'The CRM' }),
  ...ofWebhook('GET', '/deliveries', ['', '?limit=200', ...deliveryStates.map((state) => `?state=${state}`)]),
  ...ofWebhook('GET', '/deliveries/:deliveryId', ['']),
  ...ofWebhook('POST', '/redeliver', [''], { since: '2026-01-01T00:00:00Z', until: '2026-01-02T00:00:00Z' }),
  'POST /api/v1/webhooks': () => [
    { path: '/api/v1/webhooks', body: JSON.stringify({ url: 'https://other.example.com/dealkeep' }) },
  ],
  ...ofWebhook('DELETE', '', ['']),
  ...ofWebhook('POST', '/rotate-secret', [''], {}),
  ...ofWebhook('POST', '/test', ['']),
  ...ofWebhook('POST', '/deliveries/:deliveryId/redeliver', ['']),
  'POST /api/v1/deals': () => [{ path: '/api/v1/deals', body: JSON.stringify({ title: 'A new deal' }) }],
  ...changing('PATCH', '', () => ({ summary: 'A business with regular customers.', location: 'Asheville, NC' })),
  // Every deal that is open can be withdrawn.
  ...changing('POST', '/state', () => ({ to: 'withdrawn' })),
  ...changing('POST', '/invitations', () => ({ email: 'new@people.example', name: 'Somebody New', role: 'viewer' })),
  ...changing('POST', '/conditions', () => ({ name: 'One more' })),
  ...changing('PATCH', '/conditions/:conditionId', () => ({ name: 'The lease' })),
  ...changing('POST', '/qoe/snapshots', () => ({
    customers: [
      { customerName: 'Diner', periodStartDate: '2026-02-01', periodEndDate: '2026-02-28', revenueTotal: '10' },
    ],
  })),
  'POST /api/v1/deals/:dealId/documents': ({ deal_id = nothing }) => [
    {
      path: `/api/v1/deals/${deal_id}/documents?filename=Lease.pdf&category=legal&confidentiality=nda_gated`,
      body: '%PDF-1.7\n%%EOF\n',
      headers: { 'Content-Type': 'application/octet-stream' },
    },
  ],
  'GET /api/v1/documents/:documentId/content': ({ document_id = nothing }) => [
    { path: `/api/v1/documents/${document_id}/content`, headers: firstByte },
  ],
};

/** Calls that nobody who is measured is answered with success, although they are measured: what they cost is that of the refusal. */
export const refusedToAll: ReadonlySet<string> = new Set([
  // No deal has so many changes.
  'GET /deals/:id/activity?cursor=…',
]);

/** For test keys: it is among the jobs. */
const restApart = new Set(['POST /api/v1/sandbox/reset']);

/** Operations each of which would add what the next run measures, or take something out of the state in which it is measured. */
const restUndone = new Set([
  'POST /api/v1/contacts/archive/:contactId',
  'POST /api/v1/contacts/merge/:contactId',
  'POST /api/v1/deals',
  'POST /api/v1/deals/:dealId/state',
  'POST /api/v1/deals/:dealId/invitations',
  'POST /api/v1/deals/:dealId/qoe/snapshots',
  'POST /api/v1/deals/:dealId/conditions',
  'PATCH /api/v1/deals/:dealId/conditions/:conditionId',
  'POST /api/v1/deals/:dealId/documents',
  'GET /api/v1/documents/:documentId/content',
  'POST /api/v1/webhooks',
  'DELETE /api/v1/webhooks/:webhookId',
  'POST /api/v1/webhooks/:webhookId/rotate-secret',
  'POST /api/v1/webhooks/:webhookId/test',
  'POST /api/v1/webhooks/:webhookId/deliveries/:deliveryId/redeliver',
]);

/** Documents of the REST API, which ask the database for nothing. */
const restDocuments = /^\/api\/v1\/(docs|openapi)/;

/** Every operation of the REST API with this key. Throws when there is one that has no sample. */
export function restCalls(routes: readonly Route[], { apiKeys }: Platform, which: number, ids: Ids): Call[] {
  const ofKey = { Authorization: `Bearer ${apiKeys[which]?.token}`, 'Content-Type': 'application/json' };
  const operations = routes.filter(
    ({ method, path }) =>
      /^(GET|POST|PUT|PATCH|DELETE)$/.test(method) &&
      path.startsWith('/api/v1/') &&
      !path.includes('*') &&
      !restDocuments.test(path),
  );
  const named = new Set(operations.map(({ method, path }) => `${method} ${path.replace(/\{.*?\}/, '')}`));
  return [...named].flatMap((operation) => {
    if (restApart.has(operation)) return [];
    const samples = restSamples[operation];
    if (!samples) throw new Error(`Say in scale-calls.ts how ${operation} is called.`);
    const [method = ''] = operation.split(' ');
    return samples(ids).map(({ path, body, headers }) => ({
      name: `${method} ${path.replace(/cursor=.*/, 'cursor=…').replaceAll(/[0-9a-f-]{36}/g, ':id')}${headers?.['Idempotency-Key'] === undefined ? '' : ` (Idempotency-Key ${headers['Idempotency-Key']})`}`,
      method,
      path,
      headers: { ...ofKey, ...headers },
      isUndone: restUndone.has(operation),
      ...(body !== undefined && { body }),
    }));
  });
}

/** What a person does that is neither a GET nor a tool: everything about them, a look at a deal, and their calendar program, as often as it asks. */
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

const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest();

/** Twenty questions that were asked just now, each of which concerns everybody on its deal who may see it. */
const twentyEvents = `insert into vault.events (kind, deal_id, subject, subject_id, actor_id)
  select 'question_asked', q.deal_id, 'questions', q.id, q.asked_by from questions q order by q.id desc limit 20`;

/** Twenty people to whom a mail of the day is due. */
const twentyDue = `update vault.notifications set mail = 'daily', mail_due_at = now() - interval '1 minute', mailed_at = null
  where id in (select distinct on (n.user_id) n.id from (select * from vault.notifications order by id desc limit 200) n order by n.user_id limit 20)`;

/** A mail that is due. */
export const oneDue = `update vault.outbox set next_attempt_at = now() - interval '1 minute', claimed_until = null, sent_at = null, given_up_at = null,
  give_up_at = now() + interval '1 day' where id = (select id from vault.outbox order by id desc limit 1)`;

/** An NDA that waits for its signature, on a deal of the broker of a thousand. */
export interface Unsigned {
  readonly id: string;
  readonly deal_id: string;
}

/** Finds one; null where there is none. */
export async function unsignedNda(client: pg.Client, people: readonly ScalePerson[]): Promise<Unsigned | null> {
  const broker = people.find(({ name }) => name === 'broker of 1000');
  const { rows } = await client.query<Unsigned>(
    `select n.id, n.deal_id from participants b
     join deals d on d.id = b.deal_id and d.state not in ('closed', 'withdrawn')
     join ndas n on n.deal_id = b.deal_id and n.status = 'sent' and (n.expires_at is null or n.expires_at > now())
     join participants p on p.id = n.participant_id and p.status = 'active'
     where b.user_id = $1 and b.role = 'broker' and b.status = 'active' order by n.id limit 1`,
    [broker?.user_id],
  );
  return rows[0] ?? null;
}

/** A portion of each table, as the archive of an admin reads it, of the first two hundred deals. */
async function exportPortion(database: Database, { session_token, brokerage_id }: ScalePerson): Promise<void> {
  const enter = enterWithSession(digestOf(session_token));
  const [, tables, deals] = await database.together(enter, exportTables(), exportDeals(brokerage_id ?? '', null));
  const ids = deals.map(({ id }) => id);
  for (const { query, by_deal } of tables) {
    const [of, on] = by_deal ? [null, ids] : [brokerage_id, []];
    const [, first] = await database.together(enter, exportRows(query, of, on, null, 1_000));
    const last = first.length < 1_000 ? undefined : first.at(-1);
    if (last) await database.together(enter, exportRows(query, of, on, [...last.place], 1_000));
  }
}

const from = { address: null, requestId: null };

/** What is asked about clients that say who they are by a document, of whom the platform has none: what every other client costs by it. */
function clientsByDocument(database: Database, broker: ScalePerson | undefined): Job[] {
  const url = 'https://client.example.com/oauth/client.json';
  if (!broker) return [];
  const asked: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['document_client', () => database.together(enterWithSession(digestOf(broker.session_token)), documentClient(url))],
    ['client_of_grant', () => database.run(clientOfGrant(url, digestOf(broker.access_token)))],
    ['refuse_client_by_document', () => database.run(refuseClientByDocument(nothing))],
    [
      'document_of_caller',
      () => database.together(enterWithSession(digestOf(broker.session_token)), callersDocument()),
    ],
  ];
  return asked.map(([name, ask]) => ({ name, run: () => ask().then(() => 'done') }));
}

/** What the accounts of an export counted to when the last one was stored, as its preview and its upload ask. */
const rememberedOf = (database: Database, token: string, dealId: string): Job => ({
  name: 'remembered_account_lines',
  run: () =>
    database
      .together(enterWithSession(digestOf(token), true, withinDeal(dealId)), rememberedLines(dealId))
      .then(() => 'done'),
});

/** A contradiction that is answered, and of which nothing is left. */
const answered = (database: Database, token: string, dealId: string): Job => ({
  name: 'closed_to_answers, answer_contradiction, release_contradiction, withdraw_contradiction, unanswer_contradiction',
  async run() {
    const key = '0'.repeat(32);
    const answer = { status: 'explained', why: 'The rent was prepaid.' } as const;
    await database.together(
      enterWithSession(digestOf(token), true, withinDeal(dealId)),
      closedToAnswers(dealId),
      answerContradiction(dealId, { key, figures: key }, answer, undefined, from),
      // When it was answered is known to nobody yet: it is looked for, and nothing is released.
      releaseContradiction(dealId, { key, figures: key }, '2026-01-01T00:00:00Z', from),
      withdrawContradiction(dealId, key, from),
      unanswerContradiction(dealId, key, null, from),
    );
    return 'done';
  },
});

/** An upload with as many customers as a large one has; that of the run before goes. */
function uploaded(database: Database, token: string, dealId: string): Job {
  const customers = Array.from({ length: 5_000 }, (_, nth) => ({
    customer_name: `Customer ${nth}`,
    period_start_date: '2026-02-01',
    period_end_date: '2026-02-28',
    currency: 'USD',
    revenue_total: '1000',
  }));
  const ofBench = `select id from accounting_snapshots where deal_id = '${dealId}' and source_name = 'bench'`;
  return {
    name: 'complete_snapshot: 5000 customers',
    before: `delete from customer_revenues where snapshot_id in (${ofBench}); delete from accounting_snapshots where id in (${ofBench})`,
    async run() {
      const enter = enterWithSession(digestOf(token), true, withinDeal(dealId));
      const [, id] = await database.together(enter, requestSnapshot(dealId, 'customer_revenue', 'bench', null, from));
      await database.together(enter, processSnapshot(id));
      await database.together(enter, ...completeSnapshot(dealId, id, { periods: [], customers }, from));
      return 'done';
    },
  };
}

/** Deliveries: of which webhooks something has changed among those of all brokerages; of one they are written for it, taken of many that were queued at once, noted, and none left. */
function deliveries(database: Database, brokerageId: string | undefined): Job[] {
  if (brokerageId === undefined) return [];
  const endpoint = `(select id from webhook_endpoints where brokerage_id = '${brokerageId}' order by id limit 1)`;
  // Nobody else's is due, or has news.
  const alone = `update webhook_endpoints set queue_at = case when freed is not null then now() + interval '1 hour' end where queue_at <= now() + interval '1 minute'`;
  return [
    {
      name: 'queue_webhooks: which have some of 2,000 changes',
      before: `${alone}; update vault.change_stream set webhooks_marked = published - 2000`,
      run: () => database.run(queueWebhooks()).then((moved) => (moved ? 'done' : 'none')),
    },
    {
      name: 'queue_webhooks: 100 changes',
      before: `
        ${alone};
        update vault.change_stream set webhooks_marked = published;
        update webhook_endpoints set place = (select c.seq from change_events c where c.brokerage_id = '${brokerageId}' order by c.seq desc offset 100 limit 1), queue_at = now()
          where id = ${endpoint}`,
      run: () => database.run(queueWebhooks()).then((moved) => (moved ? 'done' : 'none')),
    },
    {
      name: 'claim_deliveries, enter_for_deliveries, sees_changes, note_deliveries: 50 of 500',
      before: `
        update webhook_deliveries set state = 'waiting', ended_at = null, attempts = 0, next_attempt_at = now() - interval '1 minute'
          where id in (select d.id from webhook_deliveries d where d.endpoint_id = ${endpoint} order by d.created_at desc, d.nr desc limit 500);
        update webhook_endpoints set claim = null, claimed_until = null, rests_until = null, send_at = now() - interval '1 minute' where id = ${endpoint}`,
      async run() {
        const [lot] = await database.run(claimDeliveries(1));
        if (!lot) return 'none';
        const sent = { outcome: 'delivered', url: lot.url, bytes: 512, digest: '0'.repeat(64), status: 204 } as const;
        const attempts = lot.deliveries.map(({ id }) => ({
          ...sent,
          id,
          nth: 1,
          error: null,
          answer: null,
          answer_type: null,
          millis: 80,
        }));
        const { endpoint_id, claim } = lot;
        await database.together(enterForDeliveries(lot), seesChanges(lot.deliveries.flatMap(({ seq }) => seq ?? [])));
        await database.run(
          noteDeliveries([{ endpoint: endpoint_id, claim, is_over: false, more: 50, held: [], attempts }]),
        );
        return 'done';
      },
    },
    {
      name: 'claim_deliveries: none is due',
      before: `update webhook_deliveries set state = 'delivered', ended_at = now(), next_attempt_at = null where state = 'waiting' and endpoint_id = ${endpoint}`,
      run: () => database.run(claimDeliveries(32)).then(() => 'done'),
    },
  ];
}

const done = (work: Promise<unknown>): Promise<string> => work.then(() => 'done');

/** The token of a test key that is made beside the keys of the platform. */
const testToken = 'dk_test_of_the_bench';

/** The sandbox of a brokerage, made before it is measured and reset anew each time. */
function sandboxJobs(database: Database, brokerageId: string | undefined): Job[] {
  if (brokerageId === undefined) return [];
  const before = `
    with made as (
      insert into api_keys (brokerage_id, name, environment, scopes, last_four, created_by)
        select brokerage_id, 'Bench', 'test', scopes, '0000', created_by from api_keys k where brokerage_id = '${brokerageId}'
          and not exists (select from vault.api_key_digests where digest = '\\x${digestOf(testToken).toString('hex')}')
        limit 1 returning id, created_by)
    insert into vault.api_key_digests (digest, key_id, issued_by) select '\\x${digestOf(testToken).toString('hex')}', id, created_by from made;
    update brokerages set reset_at = created_at where sandbox_of = '${brokerageId}'`;
  const enter = enterWithApiKey(digestOf(testToken));
  return [
    { name: 'calling_key: of a test key', before, run: () => done(database.together(enter, callingApiKey())) },
    { name: 'reset_sandbox_with_key', before, run: () => done(database.together(enter, resetOwnSandbox(from))) },
  ];
}

/** The records of 50 changes of a kind, as a reader of events or a webhook gets them. */
function expansions(database: Database, token: string | undefined): Job[] {
  if (token === undefined) return [];
  const enter = enterWithApiKey(digestOf(token));
  return objectTypes.map((objectType) => {
    let changes: ChangeEvent[] | undefined;
    return {
      name: `expand=data: 50 of ${objectType}`,
      async run() {
        if (changes === undefined) {
          const [, found] = await database.together(enter, changedOf(objectType));
          changes = found.map(({ id, deal }) => ({
            id,
            type: '',
            objectType,
            objectId: id,
            dealId: deal,
            occurredAt: '',
          }));
        }
        const records = recordsOf(changes, { findings: true, financing: true });
        const [, , found] = await database.together(enter, amongDealsOf(changes), ...records);
        // What was removed since has no record any more.
        return found?.length ? 'done' : 'none';
      },
    };
  });
}

const changedOf = several<{ id: string; deal: string | null }, [type: string]>(
  'bench_changed',
  `select distinct on (c.object_id) c.object_id as id, c.about_deal as deal
   from (select object_id, object_type, about_deal from change_events where brokerage_id = app.identity_part(4)::uuid order by seq limit 20000) c
   where c.object_type = $1 order by c.object_id limit 50`,
);

const deletionDue = row<object, [brokerage: string]>(
  'bench_deletion_due',
  'insert into vault.brokerage_deletions (brokerage_id, due_at) values ($1, now())',
);
const someMails = several<{ id: string }>(
  'bench_some_mails',
  'select id from vault.outbox order by id desc limit 1000',
);

/** Which mails are somebody's, or of a brokerage, whether a refresh token is known, and a mail that is not sent. */
function mailsAndTokens(database: Database, asOwner: Database, people: readonly ScalePerson[]): Job[] {
  const buyer = people.find(({ name }) => name === 'buyer of 1000');
  const brokerage = people.find(({ role, deals }) => role === 'admin' && deals > 1_000)?.brokerage_id;
  return [
    ...(buyer
      ? [
          {
            name: 'mails_of_oneself: buyer of 1000',
            before: `update vault.sessions set authenticated_at = now() where user_id = '${buyer.user_id}'`,
            run: () => done(database.run(mailsOfOneself(digestOf(buyer.session_token)))),
          },
          {
            name: 'is_refreshable: a token that is made up',
            run: () => done(database.run(isRefreshable(buyer.client_id, digestOf('made up')))),
          },
        ]
      : []),
    ...(brokerage
      ? [
          {
            name: 'mails_of_deleted_brokerage: among 1000',
            async run() {
              const among = (await asOwner.run(someMails())).map(({ id }) => id);
              return done(undone(asOwner, deletionDue(brokerage), mailsOfDeletedBrokerage(brokerage, among)));
            },
          },
        ]
      : []),
    {
      name: 'mail_not_needed',
      before: oneDue,
      async run() {
        const mail = await database.run(claimMail());
        return mail ? done(undone(database, mailNotNeeded(mail))) : 'none';
      },
    },
  ];
}

const erase = row<object, [person: string]>('bench_erase', `select app.erase_person($1, 'operator', null)`);
// A broker of some two hundred deals, alone on most of the last two thousand.
const removeBroker = row<object, [brokerage: string]>(
  'bench_remove_member',
  'select app.remove_member($1, bench.broker_of(12000), bench.broker_of(11999), null, null)',
);

/** Whoever leaves: the platform, by the owner's connection, or the large brokerage. */
function leaving(database: Database, asOwner: Database, people: readonly ScalePerson[]): Job[] {
  const admin = people.find(({ role, deals }) => role === 'admin' && deals > 1_000);
  return [
    ...[
      'buyer of 1',
      'buyer of 1000',
      'seller of 1000',
      'buyer of 10000',
      'broker of 10000',
      'advisor of 10000',
    ].flatMap((name) =>
      people
        .filter((person) => person.name === name)
        .map(({ user_id, deals }) => ({
          name: `erase_person: ${name}`,
          isLarge: deals > 1_000,
          run: () => done(undone(asOwner, erase(user_id))),
        })),
    ),
    ...(admin?.brokerage_id
      ? [
          {
            name: 'remove_member: with a successor',
            run: () =>
              done(
                undone(
                  database,
                  enterWithSession(digestOf(admin.session_token)),
                  removeBroker(admin.brokerage_id ?? ''),
                ),
              ),
          },
        ]
      : []),
    {
      name: 'upgrade_password',
      run: () => database.run(upgradePassword('$argon2id$of$nobody', '$argon2id$of$nobody')).then(() => 'done'),
    },
  ];
}

const someSessions = several<{ id: string }>(
  'bench_some_sessions',
  'select id from vault.sessions order by created_at desc, id limit 1000',
);

/** What each node asks by the clock for the sessions of its open pages, and writes down of credentials that were used. */
function usesAndStreams(
  database: Database,
  asOwner: Database,
  people: readonly ScalePerson[],
  apiKeys: Platform['apiKeys'],
): Job[] {
  const used = people.flatMap(({ session_token, access_token }) => [session_token, access_token]);
  const uses = [...used, ...apiKeys.map(({ token }) => token)].map((token) => ({ digest: digestOf(token), age: 0 }));
  let sessions: readonly string[] | undefined;
  return [
    {
      name: 'note_uses: of everybody who is measured',
      // At most one use in a minute is written down.
      before: `update vault.sessions set last_seen_at = now() - interval '2 minutes' where last_seen_at > now() - interval '2 minutes'`,
      run: () => done(undone(database, recordLastUses(uses))),
    },
    {
      name: 'sessions_alive: of 1000 open pages',
      async run() {
        sessions ??= (await asOwner.run(someSessions())).map(({ id }) => id);
        return done(database.run(sessionsAlive(sessions)));
      },
    },
  ];
}

/** Every scheduled job, what the workers do when something has happened, and what is done too seldom for a person to be measured. */
export function jobsOf(
  database: Database,
  { people, apiKeys }: Pick<Platform, 'people' | 'apiKeys'>,
  unsigned: Unsigned | null,
  asOwner: Database,
): Job[] {
  const broker = people.find(({ name }) => name === 'broker of 1000');
  const admin = people.find(({ name }) => name === 'admin of 12000');
  return [
    ...scheduledJobs.map(({ job }) => {
      const statement = job();
      return { name: statement.name, run: () => done(database.run(statement)) };
    }),
    { name: 'clear_store: bodies to clear', run: () => done(database.run(bodiesToClear())) },
    { name: 'delete_brokerages: none is due', run: () => done(database.run(brokerageToDelete([]))) },
    { name: 'tell_events: 20 events', before: twentyEvents, run: () => done(database.run(createNotifications(100))) },
    { name: 'tell_events: none', run: () => done(database.run(createNotifications(100))) },
    {
      name: 'queue_notification_mails: 20 people',
      before: twentyDue,
      run: () => done(database.run(queueNotificationMails(100))),
    },
    { name: 'claim_mail: one is due', before: oneDue, run: () => done(database.run(claimMail())) },
    { name: 'publish_changes: none is new', run: () => done(database.run(publishChanges())) },
    { name: 'queue_webhooks: nothing is new', run: () => done(database.run(queueWebhooks())) },
    ...deliveries(database, apiKeys[0]?.brokerage_id),
    { name: 'claim_mail: none is due', run: () => done(database.run(claimMail())) },
    ...clientsByDocument(database, broker),
    ...(broker?.deal_id
      ? [rememberedOf, answered, uploaded].map((job) => job(database, broker.session_token, broker.deal_id ?? ''))
      : []),
    ...sandboxJobs(database, apiKeys[0]?.brokerage_id),
    ...expansions(database, apiKeys[0]?.token),
    ...leaving(database, asOwner, people),
    ...mailsAndTokens(database, asOwner, people),
    ...(broker
      ? [
          {
            name: 'rename_oneself: broker of 1000',
            run: () =>
              done(undone(database, enterWithSession(digestOf(broker.session_token)), renameOneself('Renamed'))),
          },
        ]
      : []),
    ...usesAndStreams(database, asOwner, people, apiKeys),
    { name: 'note_job_run', run: () => done(undone(database, noteJobRun('sweep', true))) },
    {
      name: 'mail_counts, service_state: for the metrics',
      run: () => done(database.together(mailCounts(), serviceState())),
    },
    ...(broker && unsigned
      ? [
          {
            name: 'remind: of an NDA',
            before: `delete from vault.sent_reminders where subject_id = '${unsigned.id}'`,
            run: () =>
              done(
                database.together(
                  enterWithSession(digestOf(broker.session_token), true, withinDeal(unsigned.deal_id)),
                  remind('ndas', unsigned.id, { address: null, requestId: null }),
                ),
              ),
          },
        ]
      : []),
    ...(admin
      ? [
          {
            name: 'export_rows: two portions of each table, of 200 deals of 12000 and of their brokerage',
            run: () => done(exportPortion(database, admin)),
          },
        ]
      : []),
  ];
}
