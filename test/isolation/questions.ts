/**
 * Every request that is sent to two worlds: each GET of the live app, each tool, each REST operation, and changes that
 * must fail.
 */

import { catalog } from '../../server/tools/catalog/index.ts';
import { documentUri } from '../../server/tools/document-links.ts';
import { leastInput } from '../tools/inputs.ts';
import { idOf, randomFrom } from './names.ts';
import type { Ask, Pair } from './pair.ts';
import type { World, WorldRow } from './world.ts';

/** The tables to which an id in a path can belong, by the path segment before the id or the parameter's name. */
const tablesOf: Readonly<Record<string, readonly string[]>> = {
  deals: ['deals'],
  ndas: ['ndas'],
  offers: ['offers'],
  against: ['offers'],
  conditions: ['closing_conditions'],
  questions: ['questions'],
  findings: ['findings'],
  financing: ['financing_sources'],
  checklist: ['qoe_checklist'],
  normalizations: ['normalizations'],
  contacts: ['contacts'],
  'by-external-id': ['contacts'],
  brokerages: ['brokerages'],
  clients: ['connected_clients'],
  grants: ['connected_clients'],
  keys: ['api_keys'],
  webhooks: ['webhook_endpoints'],
  deliveries: ['webhook_deliveries'],
  simple: ['documents'],
  production: ['production_documents'],
  documents: ['documents', 'production_documents'],
  invitations: ['participants'],
  participants: ['participants'],
  participant_id: ['participants'],
  user_id: ['users'],
  client_id: ['connected_clients'],
  sessions: ['vault.sessions'],
  mail_id: ['vault.outbox'],
};

/**
 * Routes whose response by nature is the same for everybody, and the event stream, which never ends and is compared
 * separately.
 */
const apart = [/^\/assets\//, /\*/, /^\/metrics$/, /^\/api\/web\/events$/];

export interface Ids {
  /**
   * Some ids of a table: of rows that the caller sees, of rows that exist in only one world, and one that does not
   * exist.
   */
  of(table: string): { readonly seen: readonly string[]; readonly unseen: readonly string[] };
  /** At most eight ids of a table's rows that belong to a deal, in either world. */
  on(deal: string, table: string): readonly string[];
  /** Keys of a deal's contradictions whose answers are hidden from the callers, in either world. */
  answeredOn(deal: string): readonly string[];
}

/** Returns some ids of each table: one or two of each kind, or more if `thorough`. */
export function idsOf(first: World, second: World, thorough: boolean): Ids {
  const random = randomFrom(`ids ${first.callers.join()}`);
  const some = (ids: readonly string[], most: number) =>
    ids
      .map((id) => ({ id, key: random() }))
      .toSorted((a, b) => a.key - b.key)
      .slice(0, most)
      .map(({ id }) => id);
  const idsIn = (rows: readonly WorldRow[], table: string, hidden: boolean) =>
    rows
      .filter((row) => row.table === table && row.hidden === hidden)
      .flatMap(({ values }) => (values['id'] as string) ?? []);
  const found = new Map<string, { seen: readonly string[]; unseen: readonly string[] }>();
  const find = (table: string) => {
    const [inFirst, inSecond] = [idsIn(first.rows, table, true), idsIn(second.rows, table, true)];
    const onlyIn = (ids: string[], others: string[]) =>
      some(
        ids.filter((id) => !others.includes(id)),
        1,
      );
    const seen = idsIn(first.rows, table, false);
    const inBoth = inFirst.filter((id) => inSecond.includes(id));
    return {
      // For deals: the first of the scene, on which most happens, and another.
      seen:
        table === 'deals'
          ? thorough
            ? some(seen, 5)
            : [...seen.slice(0, 1), ...some(seen.slice(1), 1)]
          : some(seen, 1),
      unseen: thorough
        ? [...onlyIn(inFirst, inSecond), ...onlyIn(inSecond, inFirst), ...some(inBoth, 1), idOf(`nothing ${table}`)]
        : [...onlyIn(inFirst, inSecond), ...(inFirst.length === 0 ? [idOf(`nothing ${table}`)] : [])].slice(0, 1),
    };
  };
  return {
    of(table) {
      const known = found.get(table) ?? find(table);
      found.set(table, known);
      return known;
    },
    on(deal, table) {
      const its = [...first.rows, ...second.rows].filter(
        (row) => row.table === table && row.values['deal_id'] === deal,
      );
      return [...new Set(its.map(({ values }) => values['id'] as string))].slice(0, 8);
    },
    answeredOn(deal) {
      const its = [...first.rows, ...second.rows].filter(
        ({ table, hidden, values }) => table === 'contradiction_answers' && hidden && values['deal_id'] === deal,
      );
      return [...new Set(its.map(({ values }) => values['contradiction'] as string))].slice(0, 2);
    },
  };
}

/** The key of a contradiction that may have been answered. */
const keyOfAnswer = 'a'.repeat(32);

/**
 * Fills in a route pattern in every way: with ids that the caller sees, with ids that they do not see, or with both.
 */
function paths(
  pattern: string,
  ids: Ids,
  which: 'seen' | 'unseen' | 'all',
  otherIds: 'seen' | 'all' = 'all',
): string[] {
  const parts = pattern.split('/');
  let filled: string[][] = [[]];
  parts.forEach((part, at) => {
    const name = /^:([a-z_]+)/i.exec(part)?.[1];
    let values: readonly string[] = [part];
    if (name === 'source') values = ['simple', 'production'];
    else if (name === 'page') values = ['security'];
    else if (name === 'tab') values = ['documents'];
    else if (name === 'kind') values = ['question_asked'];
    else if (name === 'key') values = [keyOfAnswer];
    else if (name === 'tool') values = ['svc_questions_create'];
    else if (name !== undefined) {
      const before = parts[at - 1] ?? '';
      const tables =
        tablesOf[name] ??
        tablesOf[before] ??
        (before === ':source' ? ['documents', 'production_documents'] : undefined) ??
        (before === 'qoe' ? ['qoe_checklist'] : undefined);
      if (!tables) throw new Error(`Say in tablesOf which records ${pattern} is about.`);
      const first = !parts.slice(0, at).some((one) => /^:(?!source|page|tab)/.test(one));
      const kind = first ? which : otherIds;
      values = tables.flatMap((table) => {
        const { seen, unseen } = ids.of(table);
        return kind === 'seen' ? seen : kind === 'unseen' ? unseen : [...seen, ...unseen];
      });
      // For the second id of a path, a few of each kind are enough.
      if (!first) values = [...values.slice(0, 1), ...values.slice(-2)];
    }
    filled = filled.flatMap((earlier) => values.map((value) => [...earlier, value]));
  });
  return [...new Set(filled.map((one) => one.join('/')))];
}

/** Query strings worth testing; any other GET is sent without one. */
const queries: Readonly<Record<string, readonly string[]>> = {
  '/api/web/deals': [
    '?limit=2',
    '?sort=title',
    '?sort=-state',
    '?sort=state&limit=3',
    '?sort=-updated_at&limit=200',
    '?state=under_offer',
    '?state=diligence&state=closing&state=exclusivity',
    '?state=listed',
    '?search=shop',
    '?search=bakery',
    '?search=elsewhere',
    '?search=azure',
    '?role=participant',
    '?role=exclusive_buyer',
    '?role=viewer',
  ],
  '/api/web/deals/:id/documents': [
    '?confidentiality=nda_gated',
    '?confidentiality=selected_buyer_only',
    '?category=financials',
    '?search=public',
  ],
  '/api/web/deals/:id/qoe/periods': ['?start_date=2026-01-01'],
  '/api/web/deals/:id/qoe/bridge': ['?period_label=FY2026'],
  '/api/web/deals/:id/offers/worth': ['?period_label=FY2026&rate=10&years=10&note_standby=10&equity=1000'],
  '/api/web/deals/:id/qoe/customers': ['?start_date=2026-01-01&end_date=2026-01-31'],
  '/api/web/deals/:id/activity': ['?limit=1'],
  '/api/web/qoe/template': ['?snapshot_type=profit_and_loss'],
  '/api/v1/contacts': [
    '?limit=2',
    '?limit=200',
    '?archived=true&expand=record',
    '?search=contact&sort=updatedAt&type=company',
    '?email=contact-1@elsewhere.test&archived=true',
  ],
  '/api/v1/contacts/:contactId': ['?archived=true&expand=record'],
  '/api/v1/deals': [
    '?limit=2',
    '?state=under_offer',
    '?state=diligence',
    '?search=shop',
    '?updatedSince=2026-01-01T00:00:00Z',
  ],
  '/api/v1/deals/:dealId/questions': ['?status=distributed', '?limit=1'],
  '/api/v1/deals/:dealId/documents': ['?confidentiality=nda_gated', '?category=financials'],
  '/api/v1/deals/:dealId/qoe/periods': ['?startDate=2026-01-01'],
  '/api/v1/deals/:dealId/qoe/customers': ['?asOf=2026-01-15'],
};
const scoped = [
  '/api/web/contacts',
  '/api/web/contacts/export',
  '/api/web/audit',
  '/api/web/audit/people',
  '/api/web/audit/export',
];

/** Files, documents and forms that do not depend on the caller; requested only in the thorough run. */
const knowsNobody =
  /^\/(healthz|readyz|plain|plain\.css|api\/v1\/(docs|openapi)|\.well-known|sign-in|reset|set-up|accept-invitation|confirm-address|deals|contacts|passkeys\.js|icon|manifest|theme|re-authenticate|sign-out)(\b|\/|$)/;

/** Returns the requests that only read. */
export function readings(pair: Pair, ids: Ids, thorough: boolean): Ask[] {
  const { caller } = pair;
  const ask = (path: string): Ask => ({
    method: 'GET',
    path,
    as: path.startsWith('/api/v1')
      ? caller === 'API key'
        ? 'key'
        : 'nobody'
      : ['API key', 'nobody'].includes(caller)
        ? 'nobody'
        : 'session',
  });
  const gets = [...new Set(pair.routes.filter(({ method }) => method === 'GET').map(({ path }) => path))].filter(
    (path) => !apart.some((one) => one.test(path)) && (thorough || !knowsNobody.test(path)),
  );
  const asked = gets.flatMap((pattern) => {
    const filled = paths(pattern, ids, 'all');
    const queried = thorough || !pattern.includes(':') ? filled : paths(pattern, ids, 'seen');
    const more = (queries[pattern] ?? []).flatMap((query) => queried.map((path) => path + query));
    const { seen, unseen } = ids.of('brokerages');
    const its = scoped.includes(pattern) ? [...seen, ...unseen].flatMap((id) => [`${pattern}?brokerage_id=${id}`]) : [];
    return [...filled, ...more, ...its].map(ask);
  });
  return [...asked, ...toolCalls(pair, ids, 'mcp:read', thorough)];
}

/** Inputs of tools that are worth calling in several ways; any other tool is called with its smallest valid input. */
const details: Readonly<Record<string, readonly Record<string, unknown>[]>> = {
  svc_deals_list: [{}, ...['listed', 'under_offer', 'diligence', 'closing'].map((state) => ({ state }))],
  svc_documents_list: [{}, { confidentiality_level: 'nda_gated' }, { category: 'financials' }],
  svc_questions_list: [{}, { status: 'distributed' }],
  svc_findings_list: [{}, { severity: 'major' }, { category: 'tax' }],
  svc_qoe_get: [{}, { category: 'tax' }],
};
const named: Readonly<Record<string, string>> = {
  deal_id: 'deals',
  finding_id: 'findings',
  source_id: 'financing_sources',
};

const withoutIds = (input: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(input).filter(([name]) => !(name in named)));

function toolCalls({ caller }: Pair, ids: Ids, scope: 'mcp:read' | 'mcp:write', thorough: boolean): Ask[] {
  const as = ['API key', 'nobody'].includes(caller) ? 'nobody' : 'client';
  const rpc = (method: string, params: unknown): Ask => ({
    method: 'POST',
    path: '/api/mcp',
    as,
    body: { jsonrpc: '2.0', id: 7, method, params },
  });
  const calls = catalog
    .filter((tool) => tool.scope === scope)
    .flatMap(({ name, listed }) => {
      const inputs = (details[name] ?? [withoutIds(leastInput(name))]).slice(0, thorough ? undefined : 1);
      const key = Object.keys(named).find((one) => one in (listed.inputSchema.properties ?? {}));
      if (name === 'svc_deals_list') {
        const { seen, unseen } = ids.of('brokerages');
        return [
          ...inputs,
          ...[...seen, ...unseen, 'scene', 'elsewhere', 'nowhere'].map((brokerage_id) => ({ brokerage_id })),
        ].map((input) => rpc('tools/call', { name, arguments: input }));
      }
      if (key === undefined) {
        if (Object.keys(listed.inputSchema.properties ?? {}).some((one) => one.endsWith('_id')))
          throw new Error(`Say in named which records ${name} is about.`);
        return inputs.map((input) => rpc('tools/call', { name, arguments: input }));
      }
      const { seen, unseen } = ids.of(named[key]!);
      const about = scope === 'mcp:write' ? unseen : [...seen, ...unseen];
      return about.flatMap((id) =>
        inputs.map((input) => rpc('tools/call', { name, arguments: { [key]: id, ...input } })),
      );
    });
  if (scope === 'mcp:write') return calls;
  // Requests about documents and deals that are not tool calls.
  const title = { ref: { type: 'ref/prompt', name: 'compare_offers' }, argument: { name: 'deal', value: '' } };
  const { seen, unseen } = ids.of('deals');
  const reads = [...seen, ...unseen].flatMap((deal) =>
    ['documents', 'production_documents'].flatMap((table) =>
      ids.on(deal, table).map((document) => rpc('resources/read', { uri: documentUri(deal, document) })),
    ),
  );
  return [rpc('tools/list', {}), rpc('resources/list', {}), rpc('completion/complete', title), ...reads, ...calls];
}

const later = '2027-01-01T00:00:00.000Z';
/** Bodies that would be valid if the caller saw the record; other changes are sent with an empty body. */
const bodies: Readonly<Record<string, (ids: Ids) => unknown>> = {
  'PATCH /api/web/deals/:id': () => ({ title: 'Mine' }),
  'POST /api/web/deals/:id/moves': () => ({ to: 'withdrawn' }),
  'POST /api/web/deals/:id/exclusivity': (ids) => ({
    participant_id: ids.of('participants').unseen[0],
    expires_at: later,
  }),
  'PATCH /api/web/deals/:id/exclusivity': () => ({ expires_at: later }),
  'POST /api/web/deals/:id/participants': () => ({ email: 'rival@people.test', name: 'Rival', role: 'buyer' }),
  'POST /api/web/deals/:id/ndas': (ids) => ({
    participant_id: ids.of('participants').unseen[0],
    terms: 'T',
    expires_at: null,
  }),
  'POST /api/web/ndas/:id/sign': () => ({ signed_name: 'Me' }),
  'POST /api/web/deals/:id/offers': () => ({ payload: { currency: 'USD', purchase_price: '1' } }),
  'POST /api/web/offers/:id/accept': () => ({ expires_at: later }),
  'POST /api/web/deals/:id/conditions': () => ({ name: 'C' }),
  'PATCH /api/web/conditions/:id': () => ({ status: 'satisfied' }),
  'POST /api/web/deals/:id/questions': () => ({ category: 'tax', question_text: 'Q?' }),
  'POST /api/web/questions/:id/answer': () => ({ answer_text: 'A' }),
  'POST /api/web/questions/:id/distribute': () => ({ distributed_response: 'A' }),
  'POST /api/web/deals/:id/findings': () => ({ category: 'tax', title: 'F', severity: 'minor', description: null }),
  'POST /api/web/findings/:id/status': () => ({ status: 'resolved', status_notes: null }),
  'POST /api/web/findings/:id/owner': () => ({ owner_user_id: null }),
  'POST /api/web/findings/:id/comments': () => ({ body: 'B' }),
  'POST /api/web/deals/:id/financing': () => ({
    source_type: 'other',
    source_name: 'S',
    commitment_amount: '1',
    commitment_status: 'identified',
  }),
  'POST /api/web/financing/:id/status': () => ({ commitment_status: 'applied' }),
  'POST /api/web/deals/:id/qoe/checklist': () => ({ category: 'tax', title: 'R' }),
  'PATCH /api/web/qoe/checklist/:id': () => ({ status: 'completed' }),
  'POST /api/web/deals/:id/qoe/normalizations': () => ({
    period_label: 'FY2026',
    adjustment_category: 'other',
    adjustment_amount: '1',
    rationale: null,
  }),
  'PUT /api/web/deals/:id/qoe/contradictions/:key/answer': () => ({
    status: 'explained',
    why: 'W',
    figures: keyOfAnswer,
  }),
  'PUT /api/web/deals/:id/qoe/contradictions/:key/release': () => ({ answered_at: later }),
  'PUT /api/web/deals/:id/qoe/members/:participant_id': () => ({ role: 'reader' }),
  'PATCH /api/web/documents/:source/:id': () => ({ category: 'tax' }),
  'PUT /api/web/deals/:id/tools/opt-in': () => ({ expires_at: null }),
  'PATCH /api/web/contacts/:id': () => ({ displayName: 'X' }),
  'PATCH /api/web/brokerages/:id': () => ({ name: 'X' }),
  'PATCH /api/web/brokerages/:id/members/:user_id': () => ({ role: 'admin' }),
  'POST /api/web/brokerages/:id/members/:user_id/hand-over': (ids) => ({
    successor_id: ids.of('users').unseen[0],
    leaves: false,
  }),
  'POST /api/web/clients/:id/switch': () => ({ disabled: true }),
  'PATCH /api/web/clients/:id': () => ({ name: 'X', redirect_uris: ['https://client.example/callback'] }),
};

/** Returns changes to records that the caller does not see: each must fail, and in the same way in both worlds. */
export function failingChanges(pair: Pair, ids: Ids): Ask[] {
  const { caller } = pair;
  const as = ['API key', 'nobody'].includes(caller) ? 'nobody' : 'session';
  const about = pair.routes.filter(
    ({ method, path }) => method !== 'GET' && path.startsWith('/api/web/') && path.includes(':') && !path.includes('*'),
  );
  const unique = new Map(about.map((route) => [`${route.method} ${route.path}`, route]));
  const changes = [...unique].flatMap(([key, { method, path }]): Ask[] =>
    paths(path, ids, 'unseen').map((filled) => ({ method, path: filled, as, body: bodies[key]?.(ids) ?? {} })),
  );
  return [...changes, ...toolCalls(pair, ids, 'mcp:write', true)];
}

/**
 * Returns changes to deals that the caller sees, which name a person or record that they do not see: each must fail,
 * and in the same way in both worlds.
 */
export function failingMentions(pair: Pair, ids: Ids): Ask[] {
  if (['API key', 'nobody'].includes(pair.caller)) return [];
  const [users, participants] = [ids.of('users').unseen, ids.of('participants').unseen];
  const post = (path: string, body: unknown): Ask => ({ method: 'POST', path, as: 'session', body });
  return ids.of('deals').seen.flatMap((deal) => [
    ...users.flatMap((owner_user_id) => [
      post(`/api/web/deals/${deal}/conditions`, { name: 'C', owner_user_id }),
      post(`/api/web/deals/${deal}/findings`, {
        category: 'tax',
        title: 'F',
        severity: 'minor',
        description: null,
        owner_user_id,
      }),
      ...ids.on(deal, 'findings').map((finding) => post(`/api/web/findings/${finding}/owner`, { owner_user_id })),
    ]),
    ...ids.answeredOn(deal).flatMap((key): Ask[] => {
      const at = `/api/web/deals/${deal}/qoe/contradictions/${key}`;
      const answer = { status: 'explained', why: 'W', figures: keyOfAnswer };
      return [
        { method: 'PUT', path: `${at}/answer`, as: 'session', body: answer },
        { method: 'PUT', path: `${at}/release`, as: 'session', body: { answered_at: later } },
        { method: 'DELETE', path: `${at}/release`, as: 'session' },
        { method: 'DELETE', path: `${at}/answer`, as: 'session' },
      ];
    }),
    ...participants.flatMap((participant_id) => [
      post(`/api/web/deals/${deal}/ndas`, { participant_id, terms: 'T', expires_at: null }),
      post(`/api/web/deals/${deal}/exclusivity`, { participant_id, expires_at: later }),
      post(`/api/web/deals/${deal}/participants`, {
        email: 'x@people.test',
        name: 'X',
        role: 'advisor',
        advises: participant_id,
      }),
      { ...post(`/api/web/deals/${deal}/qoe/members/${participant_id}`, { role: 'reader' }), method: 'PUT' },
      { ...post(`/api/web/deals/${deal}/participants/${participant_id}`, undefined), method: 'DELETE' },
    ]),
  ]);
}

/** Email addresses of people of whom the callers may not know: of each world up to two that the other does not have. */
export function addressesOfOne(first: World, second: World): string[] {
  const [one, other] = [first, second].map(
    ({ rows }) =>
      new Set(rows.filter(({ table, hidden }) => table === 'users' && hidden).map(({ values }) => values['email'])),
  ) as [Set<string>, Set<string>];
  const only = (these: Set<string>, those: Set<string>) => [...these].filter((email) => !those.has(email)).slice(0, 2);
  return [...only(one, other), ...only(other, one)];
}

/** Returns a signed-out person's attempts with email addresses that exist in only one world. */
export function signedOutAttempts(first: World, second: World): Ask[] {
  return [...addressesOfOne(first, second), 'nobody@nowhere.test'].flatMap((email): Ask[] => [
    { method: 'POST', path: '/api/auth/sign-in', as: 'nobody', body: { email, password: 'not the password at all' } },
    { method: 'POST', path: '/api/auth/reset', as: 'nobody', body: { email } },
  ]);
}

/**
 * Returns an API key's changes to contacts: additions with an email address that only another brokerage of one world
 * has, changes to such a contact, and requests that are rejected.
 */
export function contactsAdded(first: World, second: World): Ask[] {
  const emails = [first, second].flatMap(({ rows }) =>
    rows
      .filter(({ table, hidden }) => table === 'contacts' && hidden)
      .slice(0, 1)
      .map(({ values }) => values['email'] as string),
  );
  const [own] = first.rows.filter(({ table, hidden }) => table === 'contacts' && !hidden);
  const post = (body: unknown, as: 'key' | 'nobody' = 'key'): Ask => ({
    method: 'POST',
    path: '/api/v1/contacts',
    as,
    body,
  });
  const person = { type: 'person', displayName: 'As added' };
  const ids = [first, second].flatMap(({ rows }) =>
    rows
      .filter(({ table, hidden }) => table === 'contacts' && hidden)
      .slice(0, 1)
      .map(({ values }) => values['id'] as string),
  );
  const about = (id: string): Ask[] => {
    const path = `/api/v1/contacts/${id}`;
    const items = [{ action: 'update', id, contact: { phone: '1' } }];
    return [
      { method: 'PATCH', path, as: 'key', body: { phone: '1' } },
      { method: 'POST', path: path.replace('contacts', 'contacts/archive'), as: 'key' },
      { method: 'POST', path: path.replace('contacts', 'contacts/restore'), as: 'key' },
      {
        method: 'POST',
        path: path.replace('contacts', 'contacts/merge'),
        as: 'key',
        body: { from: own!.values['id'] },
      },
      { method: 'POST', path: `/api/v1/contacts/merge/${own!.values['id'] as string}`, as: 'key', body: { from: id } },
      { method: 'POST', path: '/api/v1/contacts/batch', as: 'key', body: { items } },
    ];
  };
  return [
    ...ids.flatMap(about),
    ...[...emails, own!.values['email'] as string].map((email) => post({ ...person, email })),
    post(person, 'nobody'),
    post({}),
    post({ ...person, type: 'nobody' }),
    post({ ...person, email: 'none' }),
    post([person]),
    { method: 'GET', path: '/api/v1/contacts?limit=200', as: 'key' },
  ];
}
