/** The calls on a platform with an API key: each operation of the REST API. */

import { deliveryStates } from '../server/domain/webhooks/deliveries.ts';
import type { Platform } from './scale-data.ts';
import { firstByte, nothing, type Call, type Ids, type Route } from './scale-calls.ts';

interface RestSample {
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}
type RestSamples = Readonly<Record<string, (ids: Ids) => readonly RestSample[]>>;

/** A GET of a resource of the key's deal, with each of these queries. */
const ofDeal = (path: string, asked: readonly string[]): RestSamples => ({
  [`GET /api/v1/deals/:dealId${path}`]: ({ deal_id = nothing, offer_id = nothing, document_id = nothing }) => {
    const rest = path.replace(':offerId', offer_id).replace(':documentId', document_id);
    return asked.map((query) => ({ path: `/api/v1/deals/${deal_id}${rest}${query}` }));
  },
});

/** A change of a resource of the key's deal. */
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

/** How each operation of the REST API is called. Each create adds one contact. */
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
    // Once with a new key, once with a key that the first of these requests used.
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
  // Every open deal can be withdrawn.
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

/** Calls that succeed for no measured person and are measured all the same: they cost what the refusal costs. */
export const refusedToAll: ReadonlySet<string> = new Set([
  // No deal has enough changes for a second page.
  'GET /deals/:id/activity?cursor=…',
]);

/** Only for test keys: it is among the jobs. */
const restApart = new Set(['POST /api/v1/sandbox/reset']);

/** Operations that would add to what the next run measures, or change the state in which it is measured. */
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

/** Documentation of the REST API, which does not use the database. */
const restDocuments = /^\/api\/v1\/(docs|openapi)/;

/** Returns a call of every operation of the REST API with this key; throws when an operation has no sample. */
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
    if (!samples) throw new Error(`Say in scale-rest.ts how ${operation} is called.`);
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
