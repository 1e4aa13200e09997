/**
 * The writes of pages: each POST, PUT, PATCH and DELETE of the web application, sent to the application that rolls back
 * its changes. Each is about a record of the person's own that allows the change, on any of their deals. `apart` lists
 * the routes that are left out, with the reason.
 */

import { hash } from 'node:crypto';
import type pg from 'pg';
import { csrfToken } from '../server/http/csrf.ts';
import { idsBy, nothing, type Call, type Ids, type Route } from './scale-calls.ts';
import type { ScalePerson } from './scale-data.ts';

/** The query and body of a request, and the values of the path's placeholders. */
interface Sent {
  /** Distinguishes several requests to the same route; optional. */
  readonly of?: string;
  readonly at?: Readonly<Record<string, string | undefined>>;
  readonly query?: string;
  /** Sent as JSON; a string is sent unchanged. */
  readonly body?: object | string;
  readonly type?: string;
}

// The first record of each kind that allows the change in its name, on any deal of the person or on the one they are
// measured on ($1).
const idsToWrite = `
  with mine as materialized (
    select p.deal_id, p.id as participant_id, p.role from participants p where p.user_id = $2 and p.status = 'active'
    union all select d.id, null, 'broker' from deals d join members m on m.brokerage_id = d.organization_id and m.user_id = $2 and m.role = 'admin'),
  sold as materialized (select m.deal_id, m.role, coalesce(g.state, d.state) as state from mine m join deals d on d.id = m.deal_id left join deal_stages g on g.deal_id = d.id
    where m.role in ('broker', 'seller')),
  bought as materialized (select m.deal_id, m.participant_id, coalesce(g.state, d.state) as state from mine m join deals d on d.id = m.deal_id left join deal_stages g on g.deal_id = d.id
    where m.role = 'buyer')
  select
    (select m.participant_id from mine m where m.deal_id = $1 limit 1) as own_part,
    (select p.id from participants p where p.deal_id = $1 and p.role = 'buyer' and p.status = 'active' and p.user_id <> $2 order by p.id desc limit 1) as other_part,
    (select p.id from participants p where p.deal_id = $1 and p.status = 'invited' and p.user_id <> $2 limit 1) as invited_part,
    (select p.id from participants p where p.user_id = $2 and p.status = 'invited' limit 1) as own_invitation,
    (select w.participant_id from qoe_workspace_members w where w.deal_id = $1 order by w.participant_id limit 1) as reader_part,
    (select s.deal_id from sold s where s.state = 'exclusivity' order by s.deal_id limit 1) as exclusive_deal,
    (select s.deal_id from sold s where s.state = 'under_offer' order by s.deal_id limit 1) as offered_deal,
    (select p.id from participants p where p.role = 'buyer' and p.status = 'active'
      and p.deal_id = (select s.deal_id from sold s where s.state = 'under_offer' order by s.deal_id limit 1) order by p.id limit 1) as offered_part,
    (select o.id from offers o join sold s on s.deal_id = o.deal_id where s.state in ('listed', 'under_offer') and o.is_current order by o.id limit 1) as open_offer,
    (select b.deal_id from bought b where b.state in ('listed', 'under_offer') order by b.deal_id limit 1) as bidden_deal,
    (select n.deal_id from ndas n join sold s on s.deal_id = n.deal_id where n.status = 'expired' order by n.id limit 1) as unbound_deal,
    (select n.participant_id from ndas n join sold s on s.deal_id = n.deal_id where n.status = 'expired' order by n.id limit 1) as unbound_part,
    (select n.id from ndas n join bought b on b.participant_id = n.participant_id where n.status = 'sent' order by n.id limit 1) as unsigned_nda,
    (select n.id from ndas n join sold s on s.deal_id = n.deal_id where n.status = 'active' order by n.id limit 1) as signed_nda,
    (select q.id from questions q join sold s on s.deal_id = q.deal_id where q.status = 'pending_broker_review' and s.state not in ('closed', 'withdrawn') order by q.id limit 1) as new_question,
    (select q.id from questions q join sold s on s.deal_id = q.deal_id where q.status = 'with_seller' and s.state not in ('closed', 'withdrawn') order by q.id limit 1) as released_question,
    (select q.id from questions q join sold s on s.deal_id = q.deal_id where q.status = 'answered' and s.state not in ('closed', 'withdrawn') order by q.id limit 1) as answered_question,
    (select q.id from questions q join bought b on b.participant_id = q.participant_id where q.status = 'pending_broker_review' order by q.id limit 1) as own_question,
    (select f.id from findings f join bought b on b.participant_id = f.participant_id where f.status = 'open' order by f.id limit 1) as open_finding,
    (select x.id from financing_sources x join bought b on b.participant_id = x.participant_id order by x.id limit 1) as own_source,
    (select x.id from documents x where x.deal_id = $1 and x.removed_at is null order by x.id limit 1) as simple_id,
    (select x.id from production_documents x where x.deal_id = $1 and x.removed_at is null order by x.id limit 1) as production_id,
    (select x.id from closing_conditions x where x.deal_id = $1 and x.status = 'open' order by x.id limit 1) as condition_id,
    (select x.id from qoe_checklist x where x.deal_id = $1 order by x.id limit 1) as check_id,
    (select x.id from normalizations x where x.deal_id = $1 order by x.id limit 1) as normalization_id,
    (select n.id from ndas n join sold s on s.deal_id = n.deal_id where s.state not in ('closed', 'withdrawn') and n.status = 'sent' order by n.id limit 1) as waiting_nda,
    (select n.deal_id from ndas n join sold s on s.deal_id = n.deal_id where s.state not in ('closed', 'withdrawn') and n.status = 'sent' order by n.id limit 1) as waiting_deal,
    (select m.user_id from members m where m.brokerage_id = $3 and m.status = 'invited' limit 1) as invited_id,
    (select m.user_id from members m where m.brokerage_id = $3 and m.role = 'broker' and m.status = 'active' and m.user_id <> $2 order by m.user_id limit 1) as broker_id,
    (select m.user_id from members m where m.brokerage_id = $3 and m.role = 'broker' and m.status = 'active' and m.user_id <> $2 order by m.user_id desc limit 1) as successor_id,
    (select b.slug from brokerages b where b.id = $3) as slug,
    (select o.id from vault.outbox o where o.brokerage_id = $3 and o.given_up_at is not null order by o.created_at desc limit 1) as lost_mail,
    (select k.id from api_keys k where k.brokerage_id = $3 and k.environment = 'live' order by k.id limit 1) as key_id,
    (select e.id from webhook_endpoints e where e.brokerage_id = $3 order by e.id limit 1) as webhook_id,
    (select d.id from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id where e.brokerage_id = $3 order by d.created_at desc limit 1) as delivery_id,
    (select c.id from contacts c where c.brokerage_id = $3 and c.archived_at is null order by c.id limit 1) as contact_id,
    (select c.id from contacts c where c.brokerage_id = $3 and c.archived_at is not null order by c.id limit 1) as archived_id,
    (select c.id from connected_clients c where c.created_by = $2 order by c.id limit 1) as client_id`;

const later = '2030-01-01T00:00:00.000Z';
const offer = { currency: 'USD', purchase_price: '950000.00', cash_at_close: '600000.00' };
const csv = 'text/csv';
const json = 'application/json';
const none: Sent = {};
const rowsOf = (row: (n: number) => string) => Array.from({ length: 200 }, (_, n) => `${row(n)}\n`).join('');
const customers = `customer,month,revenue\n${rowsOf((n) => `Customer ${n},2026-02,1000`)}`;
const contacts = `name,email\n${rowsOf((n) => `Miller ${n},import-${n}@example.com`)}`;
const pixel: Uint8Array<ArrayBuffer> = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
/**
 * A contradiction that nobody has answered, and those of scale-rows.ts: one whose answer is not released, and one whose
 * answer is.
 */
const [unanswered, answered, released] = ['b0', 'a0', 'a1'].map((of) => hash('md5', of)) as [string, string, string];

/** The requests to each route. */
const writes: Readonly<Record<string, (ids: Ids, person: ScalePerson) => Sent | readonly Sent[]>> = {
  'POST /api/web/clients': () => ({
    body: { name: 'Another assistant', redirect_uris: ['https://client.example/callback'] },
  }),
  'PATCH /api/web/clients/:id': ({ client_id }) => ({ at: { id: client_id }, body: { name: 'Assistant' } }),
  'POST /api/web/clients/:id/share': ({ client_id }, { brokerage_id }) => ({
    at: { id: client_id },
    body: { brokerage_id },
  }),
  'POST /api/web/clients/:id/switch': ({ client_id }) => ({ at: { id: client_id }, body: { disabled: true } }),
  'DELETE /api/web/clients/:id': ({ client_id }) => ({ at: { id: client_id } }),
  'POST /api/web/clients/:id/disconnect': ({ client_id }) => ({ at: { id: client_id } }),
  'POST /api/web/deals/:id/qoe/snapshots/preview': () => ({
    query: '?snapshot_type=customer_revenue',
    body: customers,
    type: csv,
  }),
  'POST /api/web/deals/:id/qoe/snapshots': () => ({
    query: '?snapshot_type=customer_revenue',
    body: customers,
    type: csv,
  }),
  'POST /api/web/deals/:id/offers': ({ bidden_deal }) => ({ at: { id: bidden_deal }, body: { payload: offer } }),
  'POST /api/web/offers/:id/accept': ({ open_offer }) => ({ at: { id: open_offer }, body: { expires_at: later } }),
  'POST /api/web/offers/:id/decision': ({ open_offer }) => ({ at: { id: open_offer }, body: { decision: 'declined' } }),
  'POST /api/web/deals/:id/reminders': ({ waiting_deal, waiting_nda }) => ({
    at: { id: waiting_deal },
    body: { subject: 'ndas', subject_id: waiting_nda },
  }),
  'POST /api/web/deals/:id/conditions': () => ({ body: { name: 'One more' } }),
  'PATCH /api/web/conditions/:id': ({ condition_id }) => ({ at: { id: condition_id }, body: { status: 'satisfied' } }),
  'DELETE /api/web/conditions/:id': ({ condition_id }) => ({ at: { id: condition_id } }),
  'PATCH /api/web/brokerages/:id': () => ({ body: { name: 'Another name' } }),
  'POST /api/web/brokerages/:id/members': () => ({
    body: { email: 'new@people.example', name: 'Somebody New', role: 'broker' },
  }),
  'POST /api/web/brokerages/:id/members/:user_id/invitation': ({ invited_id }) => ({
    at: { user_id: invited_id },
    body: {},
  }),
  'PATCH /api/web/brokerages/:id/members/:user_id': ({ broker_id }) => ({
    at: { user_id: broker_id },
    body: { role: 'staff' },
  }),
  'POST /api/web/brokerages/:id/members/:user_id/hand-over': ({ broker_id, successor_id }) => ({
    at: { user_id: broker_id },
    body: { successor_id, leaves: true },
  }),
  'POST /api/web/brokerages/:id/mails/:mail_id/resend': ({ lost_mail }) => ({ at: { mail_id: lost_mail } }),
  'PUT /api/web/brokerages/:id/second-factor': () => ({ body: { required: false } }),
  'PUT /api/web/brokerages/:id/key-admission': () => ({ body: { admitted: false } }),
  'POST /api/web/brokerages/:id/deletion': ({ slug }) => ({ body: { confirmation: slug } }),
  'DELETE /api/web/brokerages/:id/deletion': () => none,
  'POST /api/web/brokerages/:id/members/:user_id/sessions/end': ({ broker_id }) => ({ at: { user_id: broker_id } }),
  'DELETE /api/web/brokerages/:id/members/:user_id': ({ broker_id, successor_id }) => ({
    at: { user_id: broker_id },
    query: `?successor_id=${successor_id}`,
  }),
  'POST /api/web/brokerages/:id/keys': () => ({
    body: { name: 'Another', environment: 'live', scopes: ['contacts:read'] },
  }),
  'POST /api/web/keys/:id/rotate': ({ key_id }) => ({ at: { id: key_id }, body: { overlap_seconds: 3600 } }),
  'POST /api/web/keys/:id/revoke': ({ key_id }) => ({ at: { id: key_id } }),
  'POST /api/web/deals/:id/questions': ({ bidden_deal }) => ({
    at: { id: bidden_deal },
    body: { category: 'tax', question_text: 'What was paid for the last year?' },
  }),
  'POST /api/web/deals/:id/questions/read': () => none,
  'POST /api/web/questions/:id/release': ({ new_question }) => ({ at: { id: new_question } }),
  'POST /api/web/questions/:id/withdraw': ({ own_question }) => ({ at: { id: own_question } }),
  'POST /api/web/questions/:id/reject': ({ new_question }) => ({
    at: { id: new_question },
    body: { rejection_reason: 'It has been asked before.' },
  }),
  'POST /api/web/questions/:id/answer': ({ released_question }) => ({
    at: { id: released_question },
    body: { answer_text: 'Steady.' },
  }),
  'POST /api/web/questions/:id/distribute': ({ answered_question }) => ({
    at: { id: answered_question },
    body: { distributed_response: 'Steady.' },
  }),
  'POST /api/web/deals/:id/financing': () => ({
    body: { source_type: 'sba_7a', source_name: 'A bank', commitment_amount: '500000' },
  }),
  'POST /api/web/financing/:id/status': ({ own_source }) => ({
    at: { id: own_source },
    body: { commitment_status: 'term_sheet' },
  }),
  'PUT /api/web/deals/:id/keys': () => ({ body: { admitted: false } }),
  'POST /api/web/deals/:id/documents': () =>
    ['', '&diligence_request=Leases'].map((request) => ({
      ...(request !== '' && { of: 'for a request' }),
      query: `?filename=Lease.pdf&category=legal&confidentiality=nda_gated${request}`,
      body: '%PDF-1.7\n%%EOF\n',
      type: 'application/octet-stream',
    })),
  'PATCH /api/web/documents/:source/:id': ({ simple_id, production_id }) => [
    { of: 'simple', at: { id: simple_id }, body: { category: 'tax' } },
    { of: 'production', at: { source: 'production', id: production_id }, body: { category: 'tax' } },
  ],
  'DELETE /api/web/documents/:source/:id': ({ simple_id, production_id }) => [
    { of: 'simple', at: { id: simple_id } },
    { of: 'production', at: { source: 'production', id: production_id } },
  ],
  'POST /api/web/documents/:source/:id/restore': ({ simple_id }) => ({ at: { id: simple_id } }),
  'POST /api/web/deals/:id/ndas': ({ unbound_deal, unbound_part }) => ({
    at: { id: unbound_deal },
    body: { participant_id: unbound_part, terms: 'The parties keep to themselves what they learn.' },
  }),
  'POST /api/web/ndas/:id/sign': ({ unsigned_nda }, { name }) => ({
    at: { id: unsigned_nda },
    body: { signed_name: name },
  }),
  'POST /api/web/ndas/:id/revoke': ({ signed_nda }) => ({ at: { id: signed_nda } }),
  'PUT /api/web/tools/grants': ({ client_id }) => ({ body: { client_id, tool: 'svc_questions_create' } }),
  'DELETE /api/web/tools/grants/:client_id/:tool': ({ client_id }) => ({
    at: { client_id, tool: 'svc_questions_create' },
  }),
  'POST /api/web/notifications/read': () => [{ body: {} }, { of: 'one', body: { ids: [nothing] } }],
  'PUT /api/web/notifications/choices/:kind': () => ({ at: { kind: 'question_asked' }, body: { delivery: 'app' } }),
  'PUT /api/web/notifications/settings': () => ({ body: { time_zone: 'America/Denver', digest_hour: 7 } }),
  'POST /api/web/notifications/calendar': () => none,
  'DELETE /api/web/notifications/calendar': () => none,
  'POST /api/web/deals/:id/notifications/read': () => ({ body: { place: 'offers' } }),
  'PUT /api/web/deals/:id/notifications': () => ({ body: { delivery: 'daily' } }),
  'POST /api/web/brokerages/:id/logo': () => ({ body: pixel, type: 'image/png' }),
  'DELETE /api/web/brokerages/:id/logo': () => none,
  'PUT /api/web/deals/:id/tools/opt-in': () => ({ body: {} }),
  'DELETE /api/web/deals/:id/tools/opt-in': () => none,
  'PUT /api/web/deals/:id/tools/shut-off': () => none,
  'DELETE /api/web/deals/:id/tools/shut-off': () => none,
  'POST /api/web/brokerages/:id/export': () => none,
  'POST /api/web/deals/:id/findings': () => ({
    body: { category: 'tax', title: 'A finding', severity: 'minor' },
  }),
  'POST /api/web/findings/:id/status': ({ open_finding }) => ({
    at: { id: open_finding },
    body: { status: 'resolved' },
  }),
  'POST /api/web/findings/:id/owner': ({ open_finding }) => ({
    at: { id: open_finding },
    body: { owner_user_id: null },
  }),
  'POST /api/web/findings/:id/comments': ({ open_finding }) => ({
    at: { id: open_finding },
    body: { body: 'We ask for the contracts.' },
  }),
  'POST /api/web/deals/:id/participants': () => ({
    body: { email: 'new@people.example', name: 'Somebody New', role: 'viewer' },
  }),
  'POST /api/web/deals/:id/participants/:participant_id/invitation': ({ invited_part }) => ({
    at: { participant_id: invited_part },
    body: {},
  }),
  'DELETE /api/web/deals/:id/participants/:participant_id': ({ other_part }) => ({
    at: { participant_id: other_part },
  }),
  'POST /api/web/invitations/:participant_id/accept': ({ own_invitation }) => ({
    at: { participant_id: own_invitation },
  }),
  'POST /api/web/invitations/:participant_id/decline': ({ own_invitation }) => ({
    at: { participant_id: own_invitation },
  }),
  'POST /api/web/deals/:id/qoe/checklist': () => ({ body: { category: 'Revenue', title: 'One more' } }),
  'PATCH /api/web/qoe/checklist/:id': ({ check_id }) => ({ at: { id: check_id }, body: { status: 'completed' } }),
  'POST /api/web/deals/:id/qoe/normalizations': () => ({
    body: { period_label: 'FY2025', adjustment_category: 'one_time', adjustment_amount: '1000' },
  }),
  'DELETE /api/web/qoe/normalizations/:id': ({ normalization_id }) => ({ at: { id: normalization_id } }),
  'PUT /api/web/deals/:id/qoe/members/:participant_id': ({ other_part }) => ({
    at: { participant_id: other_part },
    body: { role: 'reader' },
  }),
  'DELETE /api/web/deals/:id/qoe/members/:participant_id': ({ reader_part }) => ({
    at: { participant_id: reader_part },
  }),
  'PUT /api/web/deals/:id/qoe/contradictions/:key/answer': () => ({
    at: { key: unanswered },
    body: { status: 'explained', why: 'The rent was prepaid.', figures: unanswered },
  }),
  'DELETE /api/web/deals/:id/qoe/contradictions/:key/answer': () => ({ at: { key: answered } }),
  'PUT /api/web/deals/:id/qoe/contradictions/:key/release': () => ({
    at: { key: answered },
    body: { answered_at: later },
  }),
  'DELETE /api/web/deals/:id/qoe/contradictions/:key/release': () => ({ at: { key: released } }),
  'POST /api/web/deals': (_ids, { brokerage_id }) => ({
    body: { organization_id: brokerage_id ?? nothing, title: 'A new deal', currency: 'USD' },
  }),
  'PATCH /api/web/deals/:id': () => ({ body: { title: 'Another title' } }),
  'POST /api/web/deals/:id/moves': () => ({ body: { to: 'withdrawn', confirm: true } }),
  'POST /api/web/deals/:id/exclusivity': ({ offered_deal, offered_part }) => ({
    at: { id: offered_deal },
    body: { participant_id: offered_part, expires_at: later },
  }),
  'PATCH /api/web/deals/:id/exclusivity': ({ exclusive_deal }) => ({
    at: { id: exclusive_deal },
    body: { expires_at: later },
  }),
  'DELETE /api/web/deals/:id/exclusivity': ({ exclusive_deal }) => ({ at: { id: exclusive_deal } }),
  'PATCH /api/web/me': () => ({ body: { name: 'Another name' } }),
  'POST /api/web/contacts': (_ids, { brokerage_id }) => ({
    body: { brokerage_id: brokerage_id ?? nothing, type: 'person', display_name: 'Somebody New' },
  }),
  'PATCH /api/web/contacts/:id': ({ contact_id }) => ({ at: { id: contact_id }, body: { phone: null } }),
  'POST /api/web/contacts/archived': ({ contact_id }, { brokerage_id }) => ({
    body: { brokerage_id, ids: [contact_id], archived: true },
  }),
  'POST /api/web/contacts/:id/archive': ({ contact_id }) => ({ at: { id: contact_id } }),
  'POST /api/web/contacts/:id/restore': ({ archived_id }) => ({ at: { id: archived_id } }),
  'POST /api/web/contacts/:id/erase': ({ archived_id }) => ({ at: { id: archived_id } }),
  'POST /api/web/contacts/import/preview': (_ids, { brokerage_id }) => ({
    query: `?brokerage_id=${brokerage_id ?? nothing}`,
    body: contacts,
    type: csv,
  }),
  'POST /api/web/contacts/import': (_ids, { brokerage_id }) => ({
    query: `?brokerage_id=${brokerage_id ?? nothing}`,
    body: contacts,
    type: csv,
  }),
  'POST /api/web/keys/:id/webhooks': ({ key_id }) => ({
    at: { id: key_id },
    body: { url: 'https://other.example.com/dealkeep', types: null },
  }),
  'PATCH /api/web/webhooks/:id': ({ webhook_id }) => ({ at: { id: webhook_id }, body: { description: 'The CRM' } }),
  'DELETE /api/web/webhooks/:id': ({ webhook_id }) => ({ at: { id: webhook_id } }),
  'POST /api/web/webhooks/:id/rotate': ({ webhook_id }) => ({
    at: { id: webhook_id },
    body: { overlap_seconds: 3600 },
  }),
  'POST /api/web/webhooks/:id/test': ({ webhook_id }) => ({ at: { id: webhook_id } }),
  'POST /api/web/webhooks/:id/deliveries/:delivery_id/redeliver': ({ webhook_id, delivery_id }) => ({
    at: { id: webhook_id, delivery_id },
  }),
  'POST /api/web/webhooks/:id/redeliver': ({ webhook_id }) => ({
    at: { id: webhook_id },
    body: { since: '2026-01-01T00:00:00Z', until: '2026-01-02T00:00:00Z' },
  }),
  'POST /api/auth/sign-out': () => ({ body: {} }),
  'POST /api/auth/sign-out-everywhere': () => ({ body: {} }),
  'POST /api/auth/sessions/end': () => ({ body: { id: 'others' } }),
  'POST /api/auth/profile': () => ({ body: { name: 'Another name' } }),
  'POST /api/auth/address': () => ({ body: { email: 'another@people.example' } }),
  'POST /api/auth/erase': (_ids, { email }) => ({ body: { confirmation: email } }),
  'POST /api/auth/reset': (_ids, { email }) => ({ body: { email } }),
  'POST /api/auth/second-factor/begin': () => ({ body: {} }),
  'POST /api/auth/second-factor/remove': () => ({ body: {} }),
  'POST /api/auth/passkey/options': () => ({ body: {} }),
  'POST /api/auth/passkey/registration': () => ({ body: {} }),
};

/** Routes that are called elsewhere or not at all, with the reason. */
const apart: Readonly<Record<string, string>> = {
  'POST /api/web/deals/:id/visits': 'asked of the service itself, in otherCalls',
  'POST /api/auth/export': 'asked of the database, in otherCalls',
  'POST /api/web/brokerages/:id/sandbox/reset': 'no brokerage has a sandbox before the jobs make one, and reset it',
  'POST /api/web/brokerages/:id/invitation/accept':
    'wants an invitation; does what its link does, which is among the jobs',
  'POST /api/web/brokerages/:id/invitation/decline': 'wants an invitation; does less than accepting it',
  'POST /api/web/invitations/:participant_id/leave': 'wants an advisor of somebody who has not joined',
  'POST /api/auth/set-up': 'only a database without a brokerage is set up',
  'POST /api/auth/password': 'waits for hashes; its statements are among the jobs',
  'POST /api/auth/sign-in': 'waits for hashes; its statements are among the jobs',
  'POST /api/auth/re-authenticate': 'waits for hashes; its statements are among the jobs',
  'POST /api/auth/second-factor': 'wants a code; its statements are among the jobs',
  'POST /api/auth/second-factor/confirm': 'wants a code; its statements are among the jobs',
  'POST /api/auth/recovery-codes': 'wants an authenticator; its statement is among the jobs',
  'POST /api/auth/address/link': 'wants the token of a mail; its statement is among the jobs',
  'POST /api/auth/address/confirm': 'wants the token of a mail; its statement is among the jobs',
  'POST /api/auth/reset/confirm': 'wants the token of a mail; its statements are among the jobs',
  'POST /api/auth/invitation': 'wants the token of a mail; its statement is among the jobs',
  'POST /api/auth/invitation/join': 'wants the token of a mail; its statement is among the jobs',
  'POST /api/auth/invitation/accept': 'wants the token of a mail; its statement is among the jobs',
  'POST /api/auth/passkey/sign-in': 'wants a signature; its statements are among the jobs',
  'POST /api/auth/passkey/add': 'wants a signature; its statement is among the jobs',
  'POST /api/auth/passkey/rename': 'wants a passkey; its statement is among the jobs',
  'POST /api/auth/passkey/remove': 'wants a passkey; its statement is among the jobs',
};

const seldom = new Set([
  // Their cost grows with the deals that the person is on, or with the unread notifications.
  'PATCH /me',
  'POST /api/auth/profile',
  'POST /notifications/read',
  'POST /api/auth/erase',
  'DELETE /brokerages/:id/members/:user_id',
  'POST /brokerages/:id/members/:user_id/hand-over',
  'POST /brokerages/:id/deletion',
]);

/**
 * Whether no bound holds for the call of this name: it happens once for a person or a brokerage, and its cost grows
 * with their data.
 */
export const isSeldom = (name: string): boolean => seldom.has(name);

/**
 * Calls that write a record, then look it up for the response in another transaction, which does not find it after the
 * rollback. They are refused for everybody, and cost what the change costs. Contradictions are derived from books, and
 * documents are cleared some time after their removal, so the platform has no contradiction to answer and no document
 * to restore.
 */
export const notFoundAgain: ReadonlySet<string> = new Set([
  'POST /clients',
  'POST /deals/:id/documents',
  'POST /deals/:id/documents (for a request)',
  'POST /deals/:id/financing',
  'POST /deals/:id/findings',
  'POST /deals/:id/questions',
  'POST /deals/:id/qoe/normalizations',
  'POST /deals/:id/qoe/snapshots',
  'POST /brokerages/:id/keys',
  'POST /brokerages/:id/members/:user_id/invitation',
  'PUT /deals/:id/qoe/contradictions/:key/answer',
  'PUT /deals/:id/qoe/contradictions/:key/release',
  'POST /documents/:source/:id/restore',
]);

/** Returns the ids that a person's writes are about. */
export const idsOfWrites = (client: pg.Client, { deal_id, user_id, brokerage_id }: ScalePerson): Promise<Ids> =>
  idsBy(client, idsToWrite, [deal_id, user_id, brokerage_id]);

/** Returns a call for every route by which the person's pages write; throws when no request to a route is known. */
export function writeCalls(routes: readonly Route[], person: ScalePerson, ids: Ids): Call[] {
  const writing = routes.filter(
    ({ method, path }) =>
      /^(POST|PUT|PATCH|DELETE)$/.test(method) && /^\/api\/(web|auth)\//.test(path) && !path.includes('*'),
  );
  const named = new Set(writing.map(({ method, path }) => `${method} ${path.replaceAll(/\{[^}]*\}/g, '')}`));
  return [...named].flatMap((route): Call[] => {
    if (route in apart) return [];
    const ask = writes[route];
    if (!ask) throw new Error(`Say in scale-writes.ts how ${route} is asked.`);
    const asked = ask(ids, person);
    return (Array.isArray(asked) ? (asked as readonly Sent[]) : [asked as Sent]).map((sent) =>
      callOf(route, person, sent),
    );
  });
}

function callOf(route: string, person: ScalePerson, { of, at = {}, query = '', body, type = json }: Sent): Call {
  const [method = '', path = ''] = route.split(' ');
  const standing: Readonly<Record<string, string | undefined>> = {
    source: 'simple',
    id: path.startsWith('/api/web/brokerages/') ? (person.brokerage_id ?? nothing) : (person.deal_id ?? nothing),
    ...at,
  };
  const filled = path.replaceAll(/:(\w+)/g, (found, name: string) => {
    const value = standing[name];
    if (value === undefined) throw new Error(`Say in scale-writes.ts what stands for ${found} in ${path}.`);
    return value;
  });
  const sent = body === pixel ? pixel : typeof body === 'object' ? JSON.stringify(body) : body;
  return {
    name: `${method} ${path.replace('/api/web', '')}${of === undefined ? '' : ` (${of})`}`,
    method,
    path: filled + query,
    headers: {
      Cookie: `dealkeep=${person.session_token}`,
      'X-CSRF-Token': csrfToken(person.session_token),
      ...(sent !== undefined && { 'Content-Type': type }),
    },
    isUndone: true,
    ...(sent !== undefined && { body: sent }),
  };
}
