/**
 * A world: every row of a database, with fixed ids and times, and for each row and column whether a given person may see
 * it. `otherwise` makes a second world of it that differs in nothing but what that person may not see.
 */

import { createHash } from 'node:crypto';
import { apiKeyDigest } from '../../server/domain/clients/api-keys.ts';
import { keyScopes } from '../../server/domain/clients/key-scopes.ts';
import { tokenDigest } from '../../server/domain/accounts/secret-tokens.ts';
import { digestOf } from '../../server/domain/clients/tokens.ts';
import {
  contradictions,
  type Contradiction,
  type ContradictionKind,
} from '../../server/domain/diligence/contradictions.ts';
import { decimal } from '../../server/domain/diligence/decimals.ts';
import { plAmounts, type PlAmount } from '../../server/domain/diligence/snapshots.ts';
import { callers } from '../policies/scene.ts';
import { sightOf, type DealRole, type Model, type ModelDeal, type Part, type Sight } from './model.ts';

export interface WorldRow {
  readonly table: string;
  readonly values: Record<string, unknown>;
  readonly hidden: boolean;
  /** Columns that name a person of whom the caller may not know, or a fact that they may not read, of a row that they see. */
  readonly hiddenColumns: readonly string[];
}

export interface World {
  readonly rows: readonly WorldRow[];
  readonly model: Model;
  /** Those who may not see what is hidden. */
  readonly callers: readonly string[];
}

/** When the worlds begin; everything in them was before. */
export const beginning = new Date('2026-09-01T12:00:00.000Z');

/** Numbers from 0 to 1 that follow from a seed. */
export function randomFrom(seed: string): () => number {
  let at = 0;
  return () =>
    createHash('sha256')
      .update(`${seed}/${(at += 1)}`)
      .digest()
      .readUInt32BE(0) /
    2 ** 32;
}
const pick = <T>(random: () => number, from: readonly T[]): T => from[Math.floor(random() * from.length)]!;

const idsOfNames = new Map<string, string>();

/** The id of what has this name. */
export function idOf(name: string): string {
  const known = idsOfNames.get(name);
  if (known !== undefined) return known;
  const hex = createHash('sha256').update(name).digest('hex');
  const id = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  idsOfNames.set(name, id);
  return id;
}

// A moment of the months before the beginning, no two alike.
const momentOf = (name: string) =>
  new Date(beginning.getTime() - 86_400_000 - (createHash('sha256').update(name).digest().readUIntBE(0, 6) % 7e9));

/** The secrets of the callers: the same in every world, made once. */
export const secretsOf = (caller: string) => {
  const random = (what: string) => createHash('sha256').update(`${what} of ${caller}`).digest();
  return {
    session: random('session').toString('base64url'),
    access: `dka_${random('access').toString('base64url')}`,
    key: `dk_test_${random('key').toString('hex').slice(0, 32)}`,
  };
};

const people = callers.filter((caller) => caller !== 'API key' && caller !== 'nobody');
const strangers = ['stranger', 'stranger seller', 'stranger buyer'];
const sellers = ['kiosk seller', 'harbour seller', 'quiet seller'];
export const everybody = [...people, ...strangers, ...sellers];

const joins = (person: string, role: DealRole, more: Partial<Part> = {}): Part => ({
  person,
  role,
  status: 'active',
  ...more,
});
const plain = { needsNda: true, ndas: {}, exclusive: null, places: {} } as const;

/** The scene of docs/visibility.md, and deals beside it; with a seed also random ones, in which anybody can be anything. */
function modelOf(seed: string | null): Model {
  const scene: ModelDeal[] = [
    {
      ...plain,
      name: 'Corner bakery',
      brokerage: 'scene',
      admitted: true,
      state: 'diligence',
      parts: [
        joins('broker', 'broker'),
        joins('seller', 'seller'),
        joins('exclusive buyer', 'buyer'),
        joins('other buyer', 'buyer'),
        joins('new buyer', 'buyer'),
        ...['broker', 'seller', 'exclusive buyer', 'other buyer'].map((advises) =>
          joins(`${advises}'s advisor`, 'advisor', { advises }),
        ),
        joins('viewer', 'viewer'),
        joins('invited', 'buyer', { status: 'invited' }),
        joins('removed', 'broker', { status: 'removed' }),
      ],
      ndas: { 'exclusive buyer': 'active', 'other buyer': 'active' },
      exclusive: 'exclusive buyer',
      places: { 'exclusive buyer': 'editor' },
    },
    {
      ...plain,
      name: 'Print shop',
      brokerage: 'scene',
      state: 'listed',
      parts: [
        joins('broker', 'broker'),
        joins('seller', 'seller'),
        joins('viewer', 'viewer'),
        joins('exclusive buyer', 'buyer'),
        joins('other buyer', 'buyer'),
        joins('new buyer', 'buyer'),
      ],
      ndas: { 'exclusive buyer': 'sent', 'other buyer': 'revoked', 'new buyer': 'expired' },
    },
    { ...plain, name: 'Colleague draft', brokerage: 'scene', state: 'draft', parts: [joins('colleague', 'broker')] },
    {
      ...plain,
      name: 'Ferry kiosk',
      brokerage: 'scene',
      state: 'under_offer',
      needsNda: false,
      parts: [joins('colleague', 'broker'), joins('kiosk seller', 'seller'), joins('new buyer', 'buyer')],
    },
    {
      ...plain,
      name: 'Harbour draft',
      brokerage: 'scene',
      state: 'draft',
      parts: [joins('colleague', 'broker'), joins('harbour seller', 'seller'), joins('new buyer', 'buyer')],
    },
    {
      ...plain,
      name: 'Quiet sale',
      brokerage: 'scene',
      state: 'closing',
      parts: [
        joins('broker', 'broker'),
        joins('quiet seller', 'seller'),
        joins('other buyer', 'buyer'),
        joins('new buyer', 'buyer'),
        joins('exclusive buyer', 'buyer', { status: 'removed' }),
      ],
      ndas: { 'other buyer': 'active', 'new buyer': 'active', 'exclusive buyer': 'active' },
      exclusive: 'other buyer',
      places: { 'other buyer': 'reader', 'new buyer': 'editor' },
    },
    {
      ...plain,
      name: 'Elsewhere',
      brokerage: 'elsewhere',
      state: 'diligence',
      parts: [joins('stranger', 'broker'), joins('stranger seller', 'seller'), joins('stranger buyer', 'buyer')],
      ndas: { 'stranger buyer': 'active' },
      exclusive: 'stranger buyer',
      places: { 'stranger buyer': 'editor' },
    },
  ];
  const members = {
    scene: { admin: 'admin', broker: 'broker', colleague: 'broker' },
    elsewhere: { stranger: 'admin' },
  } as const;
  return { members, deals: [...scene, ...(seed === null ? [] : randomDeals(seed))] };
}

function randomDeals(seed: string): ModelDeal[] {
  const random = randomFrom(`deals ${seed}`);
  return Array.from({ length: 3 }, (_, at): ModelDeal => {
    const shuffled = everybody.map((person) => ({ person, key: random() })).toSorted((a, b) => a.key - b.key);
    const [broker, seller, ...rest] = shuffled.map(({ person }) => person);
    const parts = [joins(broker!, 'broker'), joins(seller!, 'seller')];
    for (const person of rest.slice(0, 9)) {
      const role = pick(random, ['buyer', 'buyer', 'buyer', 'advisor', 'viewer', 'seller', 'broker'] as const);
      const status = pick(random, ['active', 'active', 'active', 'active', 'invited', 'removed'] as const);
      const advised = parts.filter((one) => one.role !== 'advisor');
      parts.push(joins(person, role, { status, ...(role === 'advisor' && { advises: pick(random, advised).person }) }));
    }
    const buyers = parts.filter(({ role, status }) => role === 'buyer' && status === 'active');
    const state = pick(random, [
      'draft',
      'listed',
      'under_offer',
      'exclusivity',
      'diligence',
      'closing',
      'withdrawn',
    ] as const);
    const selects = ['exclusivity', 'diligence', 'closing'].includes(state) && buyers.length > 0;
    const ndas = Object.fromEntries(
      buyers
        .filter(() => random() < 0.8)
        .map(({ person }) => [person, pick(random, ['active', 'active', 'sent', 'expired', 'revoked'] as const)]),
    );
    return {
      name: `Random ${at}`,
      brokerage: random() < 0.7 ? 'scene' : 'elsewhere',
      state: !selects && ['exclusivity', 'diligence', 'closing'].includes(state) ? 'under_offer' : state,
      needsNda: random() < 0.7,
      admitted: random() < 0.5,
      parts,
      ndas,
      exclusive: selects ? pick(random, buyers).person : null,
      places: Object.fromEntries(
        parts
          .filter(({ role }) => !['broker', 'seller'].includes(role) && random() < 0.4)
          .map(({ person }) => [person, pick(random, ['reader', 'editor'] as const)]),
      ),
    };
  });
}

const staged = ['exclusivity', 'diligence', 'closing'];
const principalOf = (deal: ModelDeal, person: string) =>
  deal.parts.find((part) => part.person === person)?.advises ?? person;

/** Every row; hidden is what none of the callers may see. */
export function worldOf(callersOfIt: readonly string[], seed: string | null = null): World {
  const worlds = callersOfIt.map((caller) => worldFor(caller, seed));
  const rows = worlds[0]!.rows.map((row, at): WorldRow => {
    const seen = worlds.map((one) => one.rows[at]!).filter(({ hidden }) => !hidden);
    const columns = (seen.length > 0 ? seen : [row]).map(({ hiddenColumns }) => hiddenColumns);
    return {
      ...row,
      hidden: seen.length === 0,
      hiddenColumns: columns[0]!.filter((column) => columns.every((one) => one.includes(column))),
    };
  });
  return { rows, model: worlds[0]!.model, callers: callersOfIt };
}

const sightFor = (model: Model, caller: string) =>
  caller === 'API key'
    ? sightOf(model, null, 'scene')
    : sightOf(model, people.includes(caller as never) ? caller : null);

/** What the books of a deal of the world contradict themselves in, of one kind: its key and figures. */
function contradictionOfWorld(kind: ContradictionKind, normalizations: number): Contradiction {
  const row = { snapshot_id: 'it', first: '2026-01-01', last: '2026-01-31', currency: 'USD' };
  const nothing = Object.fromEntries(plAmounts.map((name) => [name, null])) as Record<PlAmount, null>;
  const amounts = {
    ...nothing,
    revenue: decimal('100000.0000'),
    net_income: decimal('9000.0000'),
    ebitda: decimal('20000.0000'),
  };
  const found = contradictions({
    currency: 'USD',
    uploads: [{ id: 'it', completed_at: '2026-01-01T00:00:00.000000Z', source_name: null }],
    periods: [{ id: 'month', label: '2026-01', amounts, ...row }],
    customers: ['1', '2'].map((id) => ({ id, name: id, revenue: decimal(`${id}0000.0000`), ...row })),
    adjustments: Array.from({ length: normalizations }, (_, at) => ({
      id: `${at}`,
      period_label: 'FY2026',
      category: 'one_time',
      amount: decimal('1234.5000'),
      rationale: null,
    })),
  }).find((one) => one.kind === kind);
  if (!found) throw new Error(`The books of the world hold no ${kind}.`);
  return found;
}

function worldFor(caller: string, seed: string | null): { rows: WorldRow[]; model: Model } {
  const model = modelOf(seed);
  const sight: Sight = sightFor(model, caller);
  const rows: WorldRow[] = [];
  const isKey = caller === 'API key';
  const add = (
    table: string,
    name: string,
    seen: boolean,
    values: Record<string, unknown>,
    hiddenColumns: readonly (string | false)[] = [],
  ): string => {
    const id = idOf(`${table}/${name}`);
    const keyed = ['members', 'qoe_workspace_members', 'question_answers', 'tool_grants', 'deal_opt_ins'];
    const withId = [
      ...keyed,
      'deal_stages',
      'deal_tool_stops',
      'answer_readings',
      'vault.access_tokens',
      'vault.api_key_digests',
      'vault.passwords',
    ];
    rows.push({
      table,
      values: { ...(withId.includes(table) ? {} : { id }), ...values },
      hidden: !seen,
      hiddenColumns: hiddenColumns.filter((column) => column !== false),
    });
    return id;
  };
  const at = (name: string) => momentOf(name).toISOString();
  const user = (person: string) => idOf(`users/${person}`);
  const brokerage = (name: string) => idOf(`brokerages/${name}`);
  // Whoever is invited reads the names of the deal and its brokerage.
  const invitedTo = (deal: ModelDeal) => deal.parts.some((one) => one.person === caller && one.status === 'invited');

  for (const name of Object.keys(model.members))
    add(
      'brokerages',
      name,
      sight.brokerage(name) || model.deals.some((deal) => deal.brokerage === name && invitedTo(deal)),
      { slug: name, name: `${name} brokers`, created_at: at(`${name} b`), updated_at: at(`${name} b`) },
    );
  for (const person of everybody)
    add('users', person, sight.user(person), {
      email: `${person.replaceAll(/[^a-z]+/g, '-')}@people.test`,
      name: person,
      created_at: at(`${person} u`),
      updated_at: at(`${person} u`),
    });
  for (const [name, all] of Object.entries(model.members))
    for (const [person, role] of Object.entries(all))
      add('members', `${name} ${person}`, sight.member(name), {
        brokerage_id: brokerage(name),
        user_id: user(person),
        role,
        status: 'active',
        invitation_id: idOf(`invitations/${name} ${person}`),
        joined_at: at(`${name} ${person} m`),
        created_at: at(`${name} ${person} m`),
        updated_at: at(`${name} ${person} m`),
      });

  for (const deal of model.deals) dealRows(deal);

  function dealRows(deal: ModelDeal) {
    const { name } = deal;
    const deal_id = idOf(`deals/${name}`);
    const org = brokerage(deal.brokerage);
    const sees = sight.deal(deal);
    const titled = sees || invitedTo(deal);
    add(
      'deals',
      name,
      titled,
      {
        organization_id: org,
        title: name,
        state: staged.includes(deal.state) ? 'under_offer' : deal.state,
        industry: 'Trade',
        location: `Town of ${name}`,
        summary: `About ${name}.`,
        asking_price: '1000000.0000',
        currency: 'USD',
        needs_nda: deal.needsNda,
        keys_admitted: deal.admitted === true,
        created_by: user(deal.parts[0]!.person),
        created_at: at(`${name} c`),
        updated_at: at(`${name} u`),
      },
      [
        !sees && titled && 'industry',
        !sees && titled && 'summary',
        'created_by',
        // Its brokers and the admins are told, and a key by what it sees.
        !sight.broker(deal) && !sight.admin(deal.brokerage) && !isKey && 'keys_admitted',
      ],
    );
    if (staged.includes(deal.state))
      add('deal_stages', name, sight.stage(deal), { deal_id, state: deal.state, updated_at: at(`${name} stage`) });
    const part = (person: string) => idOf(`participants/${name} ${person}`);
    for (const one of deal.parts)
      add(
        'participants',
        `${name} ${one.person}`,
        sight.part(deal, one) || (one.person === caller && one.status === 'invited'),
        {
          deal_id,
          user_id: user(one.person),
          role: one.role,
          status: one.status,
          advises: one.advises === undefined ? null : part(one.advises),
          invited_name: one.person,
          invited_email: `${one.person.replaceAll(/[^a-z]+/g, '-')}@people.test`,
          joined_at: one.status === 'invited' ? null : at(`${name} ${one.person} p`),
          created_at: at(`${name} ${one.person} p`),
          updated_at: at(`${name} ${one.person} p`),
        },
      );
    const active = (role: DealRole) =>
      (deal.parts.find((one) => one.role === role && one.status === 'active') ?? deal.parts[0]!).person;
    const [broker, seller] = [active('broker'), active('seller')];
    const unknown = (column: string, person: string) => !sight.known(deal, person) && column;
    for (const [buyer, status] of Object.entries(deal.ndas))
      add(
        'ndas',
        `${name} ${buyer}`,
        sight.ofSide(deal, buyer),
        {
          deal_id,
          participant_id: part(buyer),
          status,
          terms: `What ${buyer} promises about ${name}.`,
          sent_by: user(broker),
          sent_at: at(`${name} ${buyer} n`),
          signed_at: status === 'sent' ? null : at(`${name} ${buyer} ns`),
          signed_name: status === 'sent' ? null : buyer,
          signed_address: '192.0.2.7',
          expires_at: status === 'expired' ? at(`${name} ${buyer} nx`) : '2030-01-01T00:00:00.000Z',
        },
        [unknown('sent_by', broker)],
      );
    const offerers = deal.parts.filter(({ role, status }) => role === 'buyer' && status !== 'invited');
    for (const { person } of offerers)
      for (const revision of [1, 2])
        add('offers', `${name} ${person} ${revision}`, sight.ofSide(deal, person), {
          deal_id,
          participant_id: part(person),
          buyer_user_id: user(person),
          revision_number: revision,
          is_current: revision === 2,
          submitted_at: at(`${name} ${person} o${revision}`),
          payload: { currency: 'USD', purchase_price: `${900_000 + revision}.50`, terms: `Terms of ${person}` },
        });
    if (deal.exclusive !== null)
      add(
        'exclusivities',
        name,
        sight.stage(deal),
        {
          deal_id,
          participant_id: part(deal.exclusive),
          buyer_user_id: user(deal.exclusive),
          granted_by: user(broker),
          granted_at: at(`${name} x`),
          expires_at: '2026-11-01T00:00:00.000Z',
          ended_at: null,
          offer_id: idOf(`offers/${name} ${deal.exclusive} 2`),
        },
        ['granted_by'],
      );
    for (const [person, role] of Object.entries(deal.places))
      add(
        'qoe_workspace_members',
        `${name} ${person}`,
        sight.ofSide(deal, principalOf(deal, person)) || person === caller,
        {
          deal_id,
          participant_id: part(person),
          role,
          added_by: user(broker),
          added_at: at(`${name} ${person} q`),
        },
        ['added_by'],
      );

    const qoe = sight.qoe(deal);
    for (const row of [1, 2, 3])
      add('qoe_checklist', `${name} ${row}`, qoe, {
        deal_id,
        category: row === 1 ? 'payroll' : 'tax',
        title: `Row ${row} of ${name}`,
        status: row === 2 ? 'completed' : 'not_started',
        completed_at: row === 2 ? at(`${name} ${row} cc`) : null,
        position: row,
        created_at: at(`${name} ${row} c`),
        updated_at: at(`${name} ${row} c`),
      });
    const period = {
      period_label: '2026-01',
      period_start_date: '2026-01-01',
      period_end_date: '2026-01-31',
      currency: 'USD',
    };
    const snapshot_id = add('accounting_snapshots', name, qoe, {
      deal_id,
      snapshot_type: 'full',
      status: 'completed',
      source_name: `Books of ${name}.xlsx`,
      requested_by: user(seller),
      requested_at: at(`${name} s`),
      completed_at: at(`${name} sc`),
    });
    add('pl_periods', name, qoe, {
      deal_id,
      snapshot_id,
      ...period,
      revenue: '100000.0000',
      net_income: '9000.0000',
      ebitda: '20000.0000',
    });
    for (const customer of [1, 2])
      add('customer_revenues', `${name} ${customer}`, qoe, {
        deal_id,
        snapshot_id,
        customer_name: `Customer ${customer} of ${name}`,
        period_start_date: '2026-01-01',
        period_end_date: '2026-01-31',
        currency: 'USD',
        revenue_total: `${customer}0000.0000`,
      });
    const normalizers = [
      seller,
      ...deal.parts.filter(({ role, status }) => role === 'buyer' && status === 'active').map(({ person }) => person),
    ];
    for (const person of normalizers)
      add(
        'normalizations',
        `${name} ${person}`,
        qoe,
        {
          deal_id,
          period_label: 'FY2026',
          adjustment_category: 'one_time',
          adjustment_amount: '1234.5000',
          rationale: `Once in ${name}`,
          created_by: user(person),
          created_at: at(`${name} ${person} no`),
        },
        [unknown('created_by', person)],
      );
    for (const kind of ['customers_total', 'period_unmatched'] as const) {
      const released = kind === 'period_unmatched';
      const { key, figures } = contradictionOfWorld(kind, normalizers.length);
      add(
        'contradiction_answers',
        `${name} ${kind}`,
        (sight.dealSide(deal) || (released && qoe)) && !isKey,
        {
          deal_id,
          contradiction: key,
          figures,
          status: released ? 'explained' : 'to_correct',
          why: `The broker of ${name} on ${kind}`,
          answered_by: user(broker),
          answered_at: at(`${name} ${kind} ca`),
          released_by: released ? user(broker) : null,
          released_at: released ? at(`${name} ${kind} cr`) : null,
        },
        [unknown('answered_by', broker), released && unknown('released_by', broker)],
      );
    }

    for (const { person } of offerers)
      for (const status of [
        'pending_broker_review',
        'with_seller',
        'answered',
        'distributed',
        'rejected',
        'withdrawn',
      ]) {
        const seen = sight.question(deal, person, status);
        const question_id = add(
          'questions',
          `${name} ${person} ${status}`,
          seen,
          {
            deal_id,
            category: 'tax',
            status,
            question_text: `${person} on ${name}: ${status}?`,
            asked_by: user(person),
            participant_id: part(person),
            asked_at: at(`${name} ${person} ${status}`),
            rejection_reason: status === 'rejected' ? 'See the data room.' : null,
            distributed_response: status === 'distributed' ? `To ${person}.` : null,
            distributed_at: status === 'distributed' ? at(`${name} ${person} ${status} d`) : null,
            updated_at: at(`${name} ${person} ${status} u`),
          },
          [unknown('asked_by', person)],
        );
        if (['answered', 'distributed'].includes(status))
          add(
            'question_answers',
            `${name} ${person} ${status}`,
            seen && sight.dealSide(deal),
            {
              question_id,
              deal_id,
              answer_text: `The seller of ${name} to ${person}.`,
              answered_by: user(seller),
              answered_at: at(`${name} ${person} ${status} a`),
            },
            ['answered_by'],
          );
      }
    for (const table of ['documents', 'production_documents'])
      for (const confidentiality of ['public', 'nda_gated', 'selected_buyer_only']) {
        const seen = sight.document(deal, confidentiality);
        const document_id = add(
          table,
          `${name} ${confidentiality}`,
          seen,
          {
            deal_id,
            filename: `${name} ${confidentiality}.pdf`,
            category: 'financials',
            confidentiality,
            size_bytes: 11,
            media_type: 'application/pdf',
            sha256: `\\x${createHash('sha256').update('Some bytes.').digest('hex')}`,
            storage_key: createHash('sha256').update(`${table} ${name} ${confidentiality}`).digest('hex').slice(0, 40),
            uploaded_by: user(seller),
            uploaded_at: at(`${table} ${name} ${confidentiality}`),
            ...(table === 'documents' ? {} : { diligence_request: `Request on ${name}` }),
          },
          [unknown('uploaded_by', seller)],
        );
        for (const { person } of deal.parts.filter(({ status, role }) => status === 'active' && role === 'buyer'))
          add(
            'document_openings',
            `${table} ${name} ${confidentiality} ${person}`,
            (sight.dealSide(deal) && !isKey) || person === caller,
            {
              deal_id,
              document_id,
              source: table === 'documents' ? 'simple' : 'production',
              user_id: user(person),
              opened_at: at(`${table} ${name} ${confidentiality} ${person} op`),
            },
          );
      }
    const owners = deal.parts
      .filter(({ status, role }) => status === 'active' && role !== 'viewer')
      .map(({ person }) => person);
    for (const owner of owners)
      add(
        'closing_conditions',
        `${name} ${owner}`,
        sight.stage(deal),
        {
          deal_id,
          name: `Condition ${owners.indexOf(owner)} of ${name}`,
          status: 'open',
          owner_user_id: user(owner),
          deadline: '2026-09-03',
          created_at: at(`${name} ${owner} co`),
          updated_at: at(`${name} ${owner} co`),
        },
        [unknown('owner_user_id', owner)],
      );
    const finders = [broker, ...offerers.map(({ person }) => person)];
    for (const finder of finders) {
      const seen = sight.ofSide(deal, finder) && (finder !== broker || sight.dealSide(deal));
      const finding_id = add(
        'findings',
        `${name} ${finder}`,
        seen,
        {
          deal_id,
          participant_id: part(finder),
          category: 'tax',
          title: `Finding of ${finder} on ${name}`,
          description: `What ${finder} found.`,
          severity: 'major',
          status: 'open',
          owner_user_id: user(seller),
          created_by: user(finder),
          created_at: at(`${name} ${finder} f`),
          updated_at: at(`${name} ${finder} f`),
        },
        [unknown('owner_user_id', seller), unknown('created_by', finder)],
      );
      for (const author of new Set([broker, seller, finder]))
        add(
          'finding_comments',
          `${name} ${finder} ${author}`,
          seen,
          {
            finding_id,
            body: `A comment on ${finder}`,
            created_by: user(author),
            created_at: at(`${name} ${finder} ${author} fc`),
          },
          [unknown('created_by', author)],
        );
      add(
        'finding_changes',
        `${name} ${finder}`,
        seen,
        {
          finding_id,
          from_status: null,
          to_status: 'open',
          notes: 'At first.',
          changed_by: user(seller),
          changed_at: at(`${name} ${finder} fh`),
        },
        [unknown('changed_by', seller)],
      );
      add(
        'financing_sources',
        `${name} ${finder}`,
        seen,
        {
          deal_id,
          participant_id: part(finder),
          source_type: 'sba_7a',
          source_name: `Bank of ${finder}`,
          commitment_amount: '500000',
          currency: 'USD',
          commitment_status: 'identified',
          created_by: user(finder),
          created_at: at(`${name} ${finder} fs`),
          updated_at: at(`${name} ${finder} fs`),
        },
        [unknown('created_by', finder)],
      );
    }
    add('deal_tool_stops', name, sees, { deal_id, stopped_by: user(broker), stopped_at: at(`${name} stop`) }, [
      unknown('stopped_by', broker),
    ]);
    for (const { person } of deal.parts) {
      add('deal_opt_ins', `${name} ${person}`, person === caller && sees, {
        user_id: user(person),
        deal_id,
        opted_in_at: at(`${name} ${person} oi`),
      });
      // A person's own records stay theirs when they leave, and then name the deal by its id alone.
      add(
        'audit_records',
        `${name} ${person}`,
        person === caller || sight.broker(deal) || sight.admin(deal.brokerage),
        {
          at: at(`${name} ${person} au`),
          brokerage_id: org,
          deal_id,
          user_id: user(person),
          action: 'question.ask',
          subject_id: idOf(`subject/${name} ${person}`),
          outcome: 'done',
          details: {},
          address: '192.0.2.8',
          request_id: `request-${idOf(`${name} ${person}`)}`,
        },
      );
      add('answer_readings', `${name} ${person}`, person === caller, {
        deal_id,
        user_id: user(person),
        read_until: at(`${name} ${person} ar`),
      });
    }
  }

  for (const name of Object.keys(model.members)) {
    const seen = sight.member(name) || (isKey && name === 'scene');
    for (const contact of [1, 2, 3, 4])
      add('contacts', `${name} ${contact}`, seen, {
        brokerage_id: brokerage(name),
        type: contact % 2 ? 'person' : 'company',
        display_name: `Contact ${contact} of ${name}`,
        email: `contact-${contact}@${name}.test`,
        phone: null,
        created_at: at(`${name} ${contact} ct`),
        updated_at: at(`${name} ${contact} ct`),
      });
    const issuer = Object.entries(model.members[name]!).find(([, role]) => role === 'admin')![0];
    for (const which of ['first', 'second']) {
      // A key is told its own name and last four characters (GET /me).
      const own = isKey && name === 'scene' && which === 'first';
      // The brokers of its deals read which keys there are.
      const named = model.deals.some((deal) => deal.brokerage === name && sight.broker(deal));
      const key_id = add(
        'api_keys',
        `${name} ${which}`,
        sight.admin(name) || own || named,
        {
          brokerage_id: brokerage(name),
          name: `The ${which} key`,
          environment: 'live',
          scopes: keyScopes,
          last_four: '0000',
          created_by: user(issuer),
          created_at: at(`${name} ${which} k`),
        },
        [!sight.admin(name) && !own && 'last_four'],
      );
      const token =
        name === 'scene' && which === 'first' ? secretsOf('API key').key : secretsOf(`${name} ${which}`).key;
      add('vault.api_key_digests', `${name} ${which}`, true, {
        digest: `\\x${apiKeyDigest(token)!.toString('hex')}`,
        key_id,
        issued_by: user(issuer),
        issued_at: at(`${name} ${which} k`),
      });
    }
    add('audit_records', `${name} settings`, sight.admin(name), {
      at: at(`${name} settings`),
      brokerage_id: brokerage(name),
      deal_id: null,
      user_id: user(issuer),
      action: 'brokerage.rename',
      subject_id: null,
      outcome: 'done',
      details: {},
      address: '192.0.2.9',
      request_id: `request-${idOf(`${name} settings`)}`,
    });
  }
  const memberOf = (person: string) => Object.keys(model.members).find((name) => person in model.members[name]!);
  for (const person of everybody) {
    const self = person === caller;
    const secrets = secretsOf(person);
    add('vault.sessions', person, self, {
      user_id: user(person),
      digest: `\\x${tokenDigest(secrets.session).toString('hex')}`,
      method: 'password',
      created_at: new Date(beginning.getTime() - 1000).toISOString(),
      authenticated_at: new Date(beginning.getTime() - 1000).toISOString(),
      last_seen_at: new Date(beginning.getTime() - 1000).toISOString(),
      address: '192.0.2.5',
      user_agent: 'A browser',
    });
    const shared = memberOf(person);
    for (const kind of ['own', ...(shared ? ['shared'] : [])]) {
      const seen = self || (kind === 'shared' && sight.member(shared!));
      const client_id = add('connected_clients', `${person} ${kind}`, seen, {
        created_by: user(person),
        brokerage_id: kind === 'shared' ? brokerage(shared!) : null,
        name: `Assistant of ${person}`,
        redirect_uris: ['https://client.example/callback'],
        disabled: false,
        created_at: at(`${person} ${kind} cl`),
        updated_at: at(`${person} ${kind} cl`),
      });
      add('tool_grants', `${person} ${kind}`, self, {
        user_id: user(person),
        client_id,
        tool: 'svc_questions_create',
        granted_at: at(`${person} ${kind} tg`),
      });
      if (kind !== 'own') continue;
      const family_id = add('vault.token_families', person, self, {
        user_id: user(person),
        client_id,
        scopes: ['mcp:read', 'mcp:write'],
        resource: '{resource}',
        consented_at: at(`${person} tf`),
        ends_at: '2030-01-01T00:00:00.000Z',
        last_used_at: at(`${person} tfu`),
      });
      add('vault.access_tokens', person, self, {
        digest: `\\x${digestOf(secrets.access).toString('hex')}`,
        family_id,
        scopes: ['mcp:read', 'mcp:write'],
        expires_at: '2030-01-01T00:00:00.000Z',
      });
    }
  }
  return { rows, model };
}

// Text that can be anything, numbers, moments: what is altered of a row that the caller does not see.
const texts = new Set([
  'title',
  'name',
  'industry',
  'location',
  'summary',
  'terms',
  'signed_name',
  'question_text',
  'answer_text',
  'filename',
  'source_name',
  'body',
  'description',
  'display_name',
  'rationale',
  'notes',
  'customer_name',
  'rejection_reason',
  'diligence_request',
]);
const unique = new Set(['email', 'slug', 'storage_key', 'subject_id', 'request_id']);
const numbers = new Set([
  'asking_price',
  'adjustment_amount',
  'revenue',
  'ebitda',
  'revenue_total',
  'commitment_amount',
]);
const moments = new Set([
  'created_at',
  'updated_at',
  'joined_at',
  'sent_at',
  'asked_at',
  'uploaded_at',
  'opened_at',
  'submitted_at',
  'granted_at',
  'at',
  'requested_at',
  'changed_at',
  'answered_at',
  'released_at',
  'stopped_at',
  'added_at',
  'read_until',
  'opted_in_at',
  'last_used_at',
]);
const credentials = new Set(['vault.sessions', 'vault.access_tokens', 'vault.api_key_digests', 'vault.token_families']);
/** What may be left out, or be there twice, by itself. */
const leaves = new Set([
  'contradiction_answers',
  'offers',
  'ndas',
  'qoe_checklist',
  'customer_revenues',
  'normalizations',
  'questions',
  'question_answers',
  'documents',
  'production_documents',
  'document_openings',
  'closing_conditions',
  'findings',
  'finding_comments',
  'financing_sources',
  'contacts',
  'audit_records',
  'answer_readings',
  'tool_grants',
  'deal_opt_ins',
  'deal_tool_stops',
  'qoe_workspace_members',
  'api_keys',
  'deals',
  'participants',
  'users',
  'connected_clients',
  'finding_changes',
  'pl_periods',
]);
const doubled = new Set([
  'qoe_checklist',
  'normalizations',
  'documents',
  'production_documents',
  'closing_conditions',
  'contacts',
  'deals',
  'audit_records',
  'finding_comments',
  'findings',
  'financing_sources',
  'offers',
  'ndas',
  'questions',
  'document_openings',
  'connected_clients',
]);

/** Another world, in which everything that the caller may see is the same, and of the rest as much as can be differs. */
export function otherwise({ rows, model, callers: blind }: World, seed: string): World {
  const random = randomFrom(`${blind.join()} otherwise ${seed}`);
  const ids = (row: WorldRow, which: 'seen' | 'all') =>
    Object.entries(row.values)
      .filter(
        ([column, value]) =>
          typeof value === 'string' &&
          /^[0-9a-f-]{36}$/.test(value) &&
          (which === 'all' || (!row.hidden && !row.hiddenColumns.includes(column))),
      )
      .map(([, value]) => value as string);
  // What a row that is seen names keeps its id, seen or not.
  const named = new Set(rows.flatMap((row) => ids(row, 'seen')));
  const secret = (row: WorldRow) => row.hidden && !named.has(row.values['id'] as string);

  // Some of it is not there at all, nor what hangs on it.
  const gone = new Set<WorldRow>();
  const goneIds = new Set<string>();
  const needed = new Set(rows.filter((row) => !row.hidden).flatMap((row) => ids(row, 'all')));
  for (let before = -1; before !== needed.size;) {
    before = needed.size;
    for (const row of rows)
      if (needed.has(row.values['id'] as string)) for (const id of ids(row, 'all')) needed.add(id);
  }
  const take = (row: WorldRow) => {
    gone.add(row);
    if (row.values['id'] !== undefined) goneIds.add(row.values['id'] as string);
  };
  for (const row of rows)
    if (
      secret(row) &&
      leaves.has(row.table) &&
      !needed.has(row.values['id'] as string) &&
      random() < (row.table === 'users' ? 0.1 : 0.25)
    )
      take(row);
  for (let before = -1; before !== gone.size;) {
    before = gone.size;
    for (const row of rows)
      if (!gone.has(row) && ids(row, 'all').some((id) => goneIds.has(id)) && row.hidden) take(row);
  }
  const stays = rows.filter((row) => !gone.has(row));
  const lost = new Set(goneIds);

  const renamed = new Map<string, string>();
  for (const row of stays) {
    const id = row.values['id'] as string | undefined;
    if (id !== undefined && secret(row)) renamed.set(id, idOf(`otherwise ${seed} ${id}`));
  }
  const other = (column: string, value: unknown): unknown => {
    if (value === null) return value;
    if (texts.has(column)) return `${pick(random, ['Azure', 'Umber', 'Ochre'])} ${Math.floor(random() * 1e6)}`;
    if (unique.has(column))
      return `${String(value).split('@')[0]!.slice(0, 20)}${Math.floor(random() * 1e9)}${column === 'email' ? '@others.test' : ''}`;
    // What is open to a key it sees.
    if (column === 'keys_admitted') return blind.includes('API key') ? value : random() < 0.5;
    if (numbers.has(column)) return `${Math.floor(random() * 1e6)}`;
    if (moments.has(column)) return new Date(beginning.getTime() - Math.floor(random() * 7e9) - 1000).toISOString();
    if (column === 'payload')
      return { currency: 'USD', purchase_price: `${Math.floor(random() * 1e6)}`, terms: 'Otherwise' };
    return value;
  };
  const altered = (row: WorldRow): Record<string, unknown> => {
    const values: Record<string, unknown> = {};
    for (const [column, value] of Object.entries(row.values)) {
      const kept = typeof value === 'string' && renamed.has(value) ? renamed.get(value) : value;
      const own = row.hidden && !credentials.has(row.table);
      values[column] = own || row.hiddenColumns.includes(column) ? other(column, kept) : kept;
    }
    return values;
  };
  // Whom a column names of whom the caller may not know: somebody else of whom they may not know.
  const dealOf = new Map(
    rows.filter(({ table }) => table === 'findings').map(({ values }) => [values['id'], values['deal_id']]),
  );
  const unknownOn = (deal: unknown): string[] => {
    const on = model.deals.find(({ name }) => idOf(`deals/${name}`) === deal);
    const sights = blind.map((caller) => sightFor(model, caller));
    return everybody
      .filter((person) => !blind.includes(person) && (!on || sights.every((sight) => !sight.known(on, person))))
      .map((person) => idOf(`users/${person}`))
      .filter((id) => !lost.has(id));
  };
  const made: WorldRow[] = stays.map((row) => {
    const values = altered(row);
    for (const column of row.hiddenColumns)
      if (/(_by|owner_user_id)$/.test(column)) {
        const [first, ...rest] = unknownOn(
          row.values['deal_id'] ?? dealOf.get(row.values['finding_id']) ?? row.values['id'],
        );
        if (first === undefined) continue;
        const id = pick(random, [first, ...rest]);
        values[column] = renamed.get(id) ?? id;
      }
    if (row.table === 'deal_stages' && row.hidden && values['state'] !== 'exclusivity')
      values['state'] = pick(random, ['diligence', 'closing']);
    return { ...row, values };
  });
  // And some is there that is not in the first world.
  const more = made
    .filter((row) => row.hidden && doubled.has(row.table) && random() < 0.3)
    .map((row, at): WorldRow => {
      const values = Object.fromEntries(
        Object.entries(row.values).map(([column, value]) => [column, other(column, value)]),
      );
      values['id'] = idOf(`more ${seed} ${at}`);
      if (row.table === 'offers') Object.assign(values, { revision_number: 100 + at, is_current: false });
      return { ...row, values };
    });
  return { rows: [...made, ...more, ...rival(model, blind, seed, renamed, lost)], model, callers: blind };
}

/** Where the caller may see no other buyers, one more buyer with an NDA, an offer and a question. */
function rival(
  model: Model,
  blind: readonly string[],
  seed: string,
  renamed: ReadonlyMap<string, string>,
  lost: ReadonlySet<string>,
): WorldRow[] {
  const sights = blind.map((caller) => sightFor(model, caller));
  const user_id = idOf(`rival ${seed}`);
  const hidden = (table: string, values: Record<string, unknown>): WorldRow => ({
    table,
    values,
    hidden: true,
    hiddenColumns: [],
  });
  const when = momentOf(`rival ${seed}`).toISOString();
  const rows: WorldRow[] = [];
  for (const deal of model.deals) {
    const original = idOf(`deals/${deal.name}`);
    if (lost.has(original) || sights.some((sight) => sight.part(deal, joins('somebody new', 'buyer')))) continue;
    const deal_id = renamed.get(original) ?? original;
    const participant_id = idOf(`rival ${seed} ${deal.name}`);
    const its = { deal_id, participant_id };
    rows.push(
      hidden('participants', {
        id: participant_id,
        deal_id,
        user_id,
        role: 'buyer',
        status: 'active',
        created_at: when,
        updated_at: when,
      }),
      hidden('ndas', {
        id: idOf(`rival nda ${seed} ${deal.name}`),
        ...its,
        status: 'active',
        terms: 'Mum.',
        sent_at: when,
        signed_at: when,
        signed_name: 'Rival',
      }),
      hidden('offers', {
        id: idOf(`rival offer ${seed} ${deal.name}`),
        ...its,
        buyer_user_id: user_id,
        revision_number: 1,
        is_current: true,
        submitted_at: when,
        payload: { purchase_price: '7777777' },
      }),
    );
    if (sights.every((sight) => !sight.question(deal, 'somebody new', 'with_seller')))
      rows.push(
        hidden('questions', {
          id: idOf(`rival question ${seed} ${deal.name}`),
          ...its,
          category: 'tax',
          status: 'with_seller',
          question_text: 'And now?',
          asked_by: user_id,
          asked_at: when,
          updated_at: when,
        }),
      );
  }
  if (rows.length > 0)
    rows.unshift(
      hidden('users', {
        id: user_id,
        email: `rival-${seed}@others.test`,
        name: 'Rival',
        created_at: when,
        updated_at: when,
      }),
    );
  return rows;
}
