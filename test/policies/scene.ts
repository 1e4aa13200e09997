/** The scene of docs/visibility.md: one deal in diligence, and everybody who might want to see it. */

import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { keyScopes } from '../../server/domain/clients/key-scopes.ts';

export const callers = [
  'admin',
  'broker',
  'colleague',
  'seller',
  'exclusive buyer',
  'other buyer',
  'new buyer',
  "broker's advisor",
  "seller's advisor",
  "exclusive buyer's advisor",
  "other buyer's advisor",
  'viewer',
  'invited',
  'removed',
  'outsider',
  'API key',
  'nobody',
] as const;

export interface Scene {
  brokerage: string;
  deal: string;
  /** User ids; the API key and nobody have no user id. */
  people: Record<string, string>;
  participants: Record<string, string>;
  /** Records by "table/record", as in the first column of docs/visibility.md. */
  records: Record<string, string>;
  /** Further ids that insertions need. */
  unanswered: string;
  idle: string;
  idleBuyer: string;
  key: string;
}

export interface Stage {
  readonly owner: pg.Client;
  readonly server: pg.Client;
  readonly scene: Scene;
  /** Ids of the records that particulars-scene.ts adds to the scene. */
  readonly particulars: Record<string, string>;
}

/** One thing that must hold; `run` rejects otherwise. The test suite and `npm run mutate` run the same checks. */
export interface Check {
  readonly title: string;
  run(stage: Stage): Promise<void>;
}

type Insert = (table: string, values: Record<string, unknown>) => Promise<string>;

/** Opens a connection for the test, as the owner or as the server. */
export async function connect(connection: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(connection);
  await client.connect();
  return client;
}

/** Puts the scene into an empty database, as its owner; returns the ids of its records. */
export async function setScene(owner: pg.ClientBase): Promise<Scene> {
  const insert: Insert = async (table, values) => {
    const columns = Object.keys(values);
    const { rows } = await owner.query(
      `insert into ${table} (${columns.join(', ')}) values (${columns.map((_, i) => `$${i + 1}`).join(', ')}) returning *`,
      Object.values(values),
    );
    return rows[0].id as string;
  };
  const person = (name: string) => insert('users', { email: `${name.replace(/[^a-z]+/g, '-')}@example.test`, name });

  const brokerage = await insert('brokerages', { slug: 'scene', name: 'Scene Brokers' });
  const elsewhere = await insert('brokerages', { slug: 'elsewhere', name: 'Elsewhere Brokers' });
  const logo = { media_type: 'image/png', width: 1, height: 1, picture: Buffer.of(0) };
  await insert('brokerage_logos', { brokerage_id: brokerage, ...logo });
  const people: Record<string, string> = {};
  for (const caller of callers) if (caller !== 'API key' && caller !== 'nobody') people[caller] = await person(caller);
  const stranger = await person('a stranger');
  for (const [name, role] of [
    ['admin', 'admin'],
    ['broker', 'broker'],
    ['colleague', 'broker'],
  ] as const)
    await insert('members', { brokerage_id: brokerage, user_id: people[name], role });
  await insert('members', { brokerage_id: elsewhere, user_id: stranger, role: 'admin' });

  const records: Record<string, string> = {};
  const deal = await insert('deals', { organization_id: brokerage, title: 'Corner bakery', state: 'diligence' });
  const idle = await insert('deals', { organization_id: brokerage, title: 'Print shop', state: 'listed' });
  const draft = await insert('deals', { organization_id: brokerage, title: "The colleague's draft" });
  const foreign = await insert('deals', { organization_id: elsewhere, title: 'A deal elsewhere', state: 'listed' });
  await insert('participants', { deal_id: draft, user_id: people['colleague'], role: 'broker', status: 'active' });
  await insert('participants', { deal_id: foreign, user_id: stranger, role: 'broker', status: 'active' });
  // Deals of the colleague on which the new buyer takes part: one that needs no NDA, and one that is still a draft.
  const sellerOf = async (name: string, values: Record<string, unknown>) => {
    const deal_id = await insert('deals', { organization_id: brokerage, ...values });
    const sells = { deal_id, user_id: await person(`the seller of ${name}`), role: 'seller', status: 'active' };
    await insert('participants', { deal_id, user_id: people['colleague'], role: 'broker', status: 'active' });
    await insert('participants', { deal_id, user_id: people['new buyer'], role: 'buyer', status: 'active' });
    records[`users/the seller of ${name}`] = sells.user_id;
    records[`participants/the seller of ${name}`] = await insert('participants', sells);
  };
  await sellerOf('a deal that needs no NDA', { title: 'Ferry kiosk', state: 'listed', needs_nda: false });
  await sellerOf('a draft with a buyer', { title: 'Harbour draft' });

  const participants: Record<string, string> = {};
  const joins = async (name: string, role: string, more: Record<string, unknown> = {}) => {
    participants[name] = await insert('participants', {
      deal_id: deal,
      user_id: people[name],
      role,
      status: 'active',
      ...more,
    });
  };
  await joins('broker', 'broker');
  await joins('seller', 'seller');
  await joins('exclusive buyer', 'buyer');
  await joins('other buyer', 'buyer');
  await joins('new buyer', 'buyer');
  for (const advised of ['broker', 'seller', 'exclusive buyer', 'other buyer'])
    await joins(`${advised}'s advisor`, 'advisor', { advises: participants[advised] });
  await joins('viewer', 'viewer');
  await joins('invited', 'buyer', { status: 'invited' });
  await joins('removed', 'broker', { status: 'removed' });
  // The deal without a current exclusivity, on which one can be granted.
  for (const role of ['broker', 'seller', 'viewer'])
    records[`participants/the ${role} of a deal with nobody under an NDA`] = await insert('participants', {
      deal_id: idle,
      user_id: people[role],
      role,
      status: 'active',
    });
  for (const buyer of ['exclusive buyer', 'other buyer'])
    await insert('participants', { deal_id: idle, user_id: people[buyer], role: 'buyer', status: 'active' });
  const idleBuyer = await insert('participants', {
    deal_id: idle,
    user_id: people['new buyer'],
    role: 'buyer',
    status: 'active',
  });

  const keep = async (table: string, record: string, values: Record<string, unknown>) => {
    const id = await insert(table, values);
    records[`${table}/${record}`] = id;
    return id;
  };
  records['brokerages/the brokerage'] = brokerage;
  records['brokerage_logos/the logo'] = brokerage;
  records['brokerages/another brokerage'] = elsewhere;
  records['members/a member of the brokerage'] = people['colleague']!;
  records['users/the broker'] = people['broker']!;
  records['users/the seller'] = people['seller']!;
  records['users/the exclusive buyer'] = people['exclusive buyer']!;
  records['users/the other buyer'] = people['other buyer']!;
  records["users/the seller's advisor"] = people["seller's advisor"]!;
  records['users/the invited'] = people['invited']!;
  records['deals/the deal'] = deal;
  records['deal_stages/the stage diligence'] = deal;
  records["deals/a colleague's draft"] = draft;
  records['deals/a deal of another brokerage'] = foreign;
  for (const [name, id] of Object.entries(participants)) records[`participants/the ${name}`] = id;

  for (const buyer of ['exclusive buyer', 'other buyer'])
    await keep('ndas', `the ${buyer}'s`, {
      deal_id: deal,
      participant_id: participants[buyer],
      status: 'active',
      terms: 'Keep it to yourself.',
      signed_at: new Date(),
      signed_name: buyer,
    });
  await keep('exclusivities', 'the current one', {
    deal_id: deal,
    participant_id: participants['exclusive buyer'],
    buyer_user_id: people['exclusive buyer'],
    expires_at: new Date(Date.now() + 30 * 86_400_000),
  });
  await insert('qoe_workspace_members', {
    deal_id: deal,
    participant_id: participants['exclusive buyer'],
    role: 'editor',
  });
  records["qoe_workspace_members/the exclusive buyer's place (editor)"] = participants['exclusive buyer']!;
  await keep('qoe_checklist', 'a row of the checklist', { deal_id: deal, category: 'revenue', title: 'Proof of cash' });
  const snapshot = await keep('accounting_snapshots', 'a snapshot', { deal_id: deal, snapshot_type: 'full' });
  const month = { period_start_date: '2026-01-01', period_end_date: '2026-01-31', currency: 'USD' };
  await keep('pl_periods', 'a month', {
    deal_id: deal,
    snapshot_id: snapshot,
    period_label: '2026-01',
    ...month,
    revenue: '1',
  });
  await keep('customer_revenues', 'a customer', {
    deal_id: deal,
    snapshot_id: snapshot,
    customer_name: 'Diner',
    ...month,
    revenue_total: '1',
  });
  await keep('normalizations', 'an add-back', {
    deal_id: deal,
    period_label: 'FY2025',
    adjustment_category: 'owner_comp',
    adjustment_amount: '1',
  });
  for (const [record, digest, released_at] of [
    ['an answer, not released', 'a', null],
    ['an answer, released', 'b', new Date()],
  ] as const)
    await keep('contradiction_answers', record, {
      deal_id: deal,
      contradiction: digest.repeat(32),
      figures: digest.repeat(32),
      status: 'explained',
      why: 'The rent was prepaid.',
      released_at,
    });

  const question = (asker: string, status: string, more: Record<string, unknown> = {}) => ({
    deal_id: deal,
    category: 'financials',
    question_text: 'Why?',
    asked_by: people[asker],
    participant_id: participants[asker],
    status,
    ...more,
  });
  await keep(
    'questions',
    "the exclusive buyer's, pending review",
    question('exclusive buyer', 'pending_broker_review'),
  );
  const released = await keep(
    'questions',
    "the exclusive buyer's, with the seller",
    question('exclusive buyer', 'with_seller'),
  );
  const unanswered = await keep(
    'questions',
    "the other buyer's, with the seller",
    question('other buyer', 'with_seller'),
  );
  await keep(
    'questions',
    "the other buyer's, distributed",
    question('other buyer', 'distributed', { distributed_response: 'Because.', distributed_at: new Date() }),
  );
  await owner.query('insert into question_answers (question_id, deal_id, answer_text) values ($1, $2, $3)', [
    released,
    deal,
    'Because of the lease.',
  ]);
  records["question_answers/the seller's answer, not distributed"] = released;

  for (const table of ['documents', 'production_documents'])
    for (const confidentiality of ['public', 'nda_gated', 'selected_buyer_only'])
      await keep(table, confidentiality, {
        deal_id: deal,
        filename: `${confidentiality}.pdf`,
        category: 'financials',
        confidentiality,
        size_bytes: 1,
        media_type: 'application/pdf',
        storage_key: `${table}-${confidentiality}`,
        ...(table === 'documents' ? {} : { diligence_request: 'Bank statements' }),
      });
  await keep('document_openings', 'an opening by the other buyer', {
    deal_id: deal,
    document_id: records['documents/nda_gated'],
    source: 'simple',
    user_id: people['other buyer'],
  });
  for (const buyer of ['exclusive buyer', 'other buyer'])
    await keep('offers', `the ${buyer}'s`, {
      deal_id: deal,
      participant_id: participants[buyer],
      buyer_user_id: people[buyer],
      revision_number: 1,
      payload: '{}',
    });
  records["offer_decisions/on the exclusive buyer's offer"] = records["offers/the exclusive buyer's"]!;
  await insert('offer_decisions', {
    offer_id: records["offers/the exclusive buyer's"],
    deal_id: deal,
    participant_id: participants['exclusive buyer'],
    decision: 'accepted',
  });
  await keep('closing_conditions', "the exclusive buyer's to meet", {
    deal_id: deal,
    name: 'Lease assigned',
    owner_user_id: people['exclusive buyer'],
  });
  for (const finder of ['exclusive buyer', 'broker'])
    await keep('findings', `the ${finder}'s`, {
      deal_id: deal,
      participant_id: participants[finder],
      category: 'tax',
      title: 'Sales tax',
      severity: 'minor',
    });
  const finding = records["findings/the exclusive buyer's"];
  await keep('finding_comments', "on the exclusive buyer's finding", { finding_id: finding, body: 'Look again.' });
  const change = await owner.query('select id from finding_changes where finding_id = $1', [finding]);
  records["finding_changes/of the exclusive buyer's finding"] = change.rows[0].id;
  await keep('financing_sources', "the exclusive buyer's", {
    deal_id: deal,
    participant_id: participants['exclusive buyer'],
    source_type: 'sba_7a',
    source_name: 'First Bank',
    commitment_amount: '1',
    currency: 'USD',
  });

  await keep('contacts', 'a contact of the brokerage', {
    brokerage_id: brokerage,
    type: 'person',
    display_name: 'A. Contact',
  });
  await keep('contacts', 'a contact that is archived', {
    brokerage_id: brokerage,
    type: 'person',
    display_name: 'A former contact',
    archived_at: new Date(),
  });
  await keep('contacts', 'a contact of another brokerage', {
    brokerage_id: elsewhere,
    type: 'person',
    display_name: 'B. Contact',
  });
  for (const [of, record] of [
    ['a contact of the brokerage', records['contacts/a contact of the brokerage']],
    ['a contact of another brokerage', records['contacts/a contact of another brokerage']],
    ['the deal', deal],
    ['an offer on the deal', records["offers/the exclusive buyer's"]],
  ] as const) {
    const events = await owner.query('select id from change_events where object_id = $1 order by seq limit 1', [
      record,
    ]);
    records[`change_events/of ${of}`] = events.rows[0].id;
  }
  const key = await keep('api_keys', 'a key of the brokerage', {
    brokerage_id: brokerage,
    name: 'Website form',
    environment: 'live',
    scopes: keyScopes,
    last_four: '0000',
    created_by: people['admin'],
  });
  const endpoint = await keep('webhook_endpoints', 'of the key', {
    key_id: key,
    url: 'https://hooks.example.com/',
    place: 0,
    history: randomUUID(),
  });
  await keep('webhook_deliveries', 'of the webhook of the key', {
    endpoint_id: endpoint,
    event_id: randomUUID(),
    type: 'contact.created',
    object_type: 'contact',
    object_id: records['contacts/a contact of the brokerage'],
    occurred_at: '2026-01-01',
  });
  const client = await keep('connected_clients', "the broker's own", {
    created_by: people['broker'],
    name: 'An assistant',
    redirect_uris: ['https://client.example/callback'],
  });
  await owner.query('insert into tool_grants (user_id, client_id, tool) values ($1, $2, $3)', [
    people['broker'],
    client,
    'svc_questions_create',
  ]);
  records["tool_grants/the broker's own"] = client;
  await owner.query('insert into deal_opt_ins (user_id, deal_id) values ($1, $2)', [people['broker'], deal]);
  records["deal_opt_ins/the broker's own"] = deal;
  await owner.query(`insert into answer_readings (deal_id, user_id, read_until) values ($1, $2, '2020-01-01')`, [
    deal,
    people['other buyer'],
  ]);
  records["answer_readings/the other buyer's own"] = deal;
  await owner.query('insert into deal_tool_stops (deal_id, stopped_by) values ($1, $2)', [deal, people['broker']]);
  records['deal_tool_stops/on the deal'] = deal;
  await keep('audit_records', 'what the broker did on the deal', {
    brokerage_id: brokerage,
    deal_id: deal,
    user_id: people['broker'],
    action: 'tool:svc_deals_get',
    noted: false,
    outcome: 'ok',
  });
  await keep('audit_records', 'what the seller did on the deal', {
    brokerage_id: brokerage,
    deal_id: deal,
    user_id: people['seller'],
    action: 'question.answer',
    outcome: 'done',
  });
  // The broker has opened this deal to the brokerage's keys, and none of the others.
  await owner.query('update deals set keys_admitted = true where id = $1', [deal]);
  return { brokerage, deal, people, participants, records, unanswered, idle, idleBuyer, key };
}
