/**
 * A world: every row of a database, with fixed ids and times, and whether a given person may see each row and column.
 */

import { createHash } from 'node:crypto';
import { apiKeyDigest } from '../../server/domain/clients/api-keys.ts';
import { keyScopes } from '../../server/domain/clients/key-scopes.ts';
import { tokenDigest } from '../../server/domain/accounts/secret-tokens.ts';
import { digestOf } from '../../server/domain/clients/tokens.ts';
import { contradictions } from '../../server/domain/diligence/contradictions.ts';
import type { Contradiction, ContradictionKind } from '../../server/domain/diligence/contradictions/contradiction.ts';
import { decimal } from '../../server/domain/diligence/decimals.ts';
import { plAmounts, type PlAmount } from '../../server/domain/diligence/snapshots.ts';
import { everybody, modelOf, people } from './deals.ts';
import { sightOf, type DealRole, type Model, type ModelDeal, type Sight } from './model.ts';
import { beginning, idOf, momentOf, secretsOf } from './names.ts';

export interface WorldRow {
  readonly table: string;
  readonly values: Record<string, unknown>;
  readonly hidden: boolean;
  /**
   * Columns of a visible row that name a person of whom the caller may not know, or hold a fact that they may not read.
   */
  readonly hiddenColumns: readonly string[];
}

export interface World {
  readonly rows: readonly WorldRow[];
  readonly model: Model;
  /** The callers who may not see the hidden rows and columns. */
  readonly callers: readonly string[];
}

const staged = ['exclusivity', 'diligence', 'closing'];
const principalOf = (deal: ModelDeal, person: string) =>
  deal.parts.find((part) => part.person === person)?.advises ?? person;

/** Returns every row of the world; a row is hidden if none of the callers may see it. */
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

/** What a caller sees in the world. */
export const sightFor = (model: Model, caller: string) =>
  caller === 'API key'
    ? sightOf(model, null, 'scene')
    : sightOf(model, people.includes(caller as never) ? caller : null);

/** The contradiction of one kind in the books of a deal of the world: its key and figures. */
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
  // An invited person reads the names of the deal and its brokerage.
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
        // The deal's brokers and the admins are notified of changes, and a key knows the value from what it sees.
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
      // After leaving a deal, people still see their own records, which then name the deal by id alone.
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
      // A key reads its own name and last four characters (GET /me).
      const own = isKey && name === 'scene' && which === 'first';
      // The brokers of a brokerage's deals see which keys it has.
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
