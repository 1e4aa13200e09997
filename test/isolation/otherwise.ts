/** Derives from a world a second world that differs only in what given callers may not see. */

import { everybody, joins } from './deals.ts';
import type { Model } from './model.ts';
import { beginning, idOf, momentOf, pick, randomFrom } from './names.ts';
import { sightFor, type World, type WorldRow } from './world.ts';

// Columns with free text, numbers or times, which are altered in rows that the caller does not see.
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
const times = new Set([
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
/** Tables of which single rows may be removed (`leaves`) or duplicated (`doubled`). */
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

/**
 * Returns another world in which everything that the callers may see is the same and everything else differs as much as
 * possible.
 */
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
  // A record to which a visible row refers keeps its id, even when the record itself is hidden.
  const named = new Set(rows.flatMap((row) => ids(row, 'seen')));
  const secret = (row: WorldRow) => row.hidden && !named.has(row.values['id'] as string);

  // Remove some hidden rows, with the hidden rows that refer to them.
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
    // An API key knows this value from what it can read.
    if (column === 'keys_admitted') return blind.includes('API key') ? value : random() < 0.5;
    if (numbers.has(column)) return `${Math.floor(random() * 1e6)}`;
    if (times.has(column)) return new Date(beginning.getTime() - Math.floor(random() * 7e9) - 1000).toISOString();
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
  // A column that names a person of whom the callers may not know names another such person instead.
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
  // Add rows that the first world does not have.
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

/**
 * One more buyer, with an NDA, an offer and a question, on each deal where the callers may not see other buyers. The
 * question is left out where a caller could see it.
 */
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
