/**
 * What the specification fixes of the tools (sections 2.2 and 4.3) has not changed: names, their order, inputs, and the
 * keys and fields that it names in results. Other fields of results are free to change.
 */

import { format } from 'prettier';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { catalog } from '../../server/tools/catalog/index.ts';
import { openService, type TestService } from '../harness.ts';
import { asking } from './ask.ts';
import { addFullDeal, allow, insert, type FullDeal } from './scene.ts';

let service: TestService;
let scene: FullDeal;

/** The tools of section 4.3, in its order; the catalog may have others among or after them. */
const specified = [
  'svc_deals_list',
  'svc_deals_get',
  'svc_qoe_get',
  'svc_qoe_pl_periods',
  'svc_qoe_customer_concentration',
  'svc_findings_list',
  'svc_findings_get',
  'svc_questions_list',
  'svc_documents_list',
  'svc_offers_list',
  'svc_financing_stack_get',
  'svc_closing_conditions_list',
  'svc_findings_create',
  'svc_findings_update_status',
  'svc_findings_comment',
  'svc_questions_create',
  'svc_qoe_normalization_create',
  'svc_financing_source_create',
  'svc_financing_source_update_status',
];

const moment = (at: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, at)).toISOString();

async function addRecords({ deal, people, participants }: FullDeal): Promise<void> {
  const buyer = 'exclusive buyer';
  await insert(service, 'qoe_checklist', {
    deal_id: deal,
    category: 'tax',
    title: 'Returns filed',
    status: 'completed',
    position: 1,
  });
  const snapshot_id = await insert(service, 'accounting_snapshots', {
    deal_id: deal,
    snapshot_type: 'full',
    status: 'completed',
    requested_at: moment(1),
    completed_at: moment(2),
  });
  const books = { deal_id: deal, snapshot_id, currency: 'USD' };
  for (const month of ['2026-01', '2026-02']) {
    const period = { period_start_date: `${month}-01`, period_end_date: `${month}-28` };
    await insert(service, 'pl_periods', {
      ...books,
      ...period,
      period_label: month,
      revenue: '1250.5',
      net_income: '-3.25',
    });
    for (const [customer_name, revenue_total] of [
      ['Acme', '750.25'],
      ['Bolt', '500.25'],
    ])
      await insert(service, 'customer_revenues', { ...books, ...period, customer_name, revenue_total });
  }
  await insert(service, 'questions', {
    deal_id: deal,
    category: 'tax',
    question_text: 'Why?',
    asked_by: people[buyer].userId,
    participant_id: participants[buyer],
    status: 'distributed',
    distributed_response: 'Because.',
    asked_at: moment(3),
  });
  const file = { deal_id: deal, category: 'tax', size_bytes: 7, media_type: 'application/pdf' };
  await insert(service, 'documents', {
    ...file,
    filename: 'Returns.pdf',
    confidentiality: 'nda_gated',
    storage_key: crypto.randomUUID(),
    uploaded_at: moment(4),
  });
  await insert(service, 'production_documents', {
    ...file,
    filename: 'Bank.pdf',
    confidentiality: 'public',
    diligence_request: 'Bank statements',
    storage_key: crypto.randomUUID(),
    uploaded_at: moment(5),
  });
  for (const revision_number of [1, 2])
    await insert(service, 'offers', {
      deal_id: deal,
      participant_id: participants[buyer],
      buyer_user_id: people[buyer].userId,
      revision_number,
      is_current: revision_number === 2,
      submitted_at: moment(6 + revision_number),
      payload: JSON.stringify({ currency: 'USD', purchase_price: '90000.50', note: { multiple: 4 } }),
    });
  await insert(service, 'closing_conditions', {
    deal_id: deal,
    name: 'Lease assigned',
    status: 'open',
    deadline: '2026-09-30',
    owner_user_id: people.seller.userId,
    created_at: moment(9),
  });
}

beforeAll(async () => {
  service = await openService();
  scene = await addFullDeal(service);
  await addRecords(scene);
});
afterAll(() => service.close());

const dealFields =
  'id title state organization_id exclusive_buyer_user_id exclusivity_granted_at exclusivity_expires_at closed_at created_at updated_at';

/** The fields that the specification names, by tool and by list or record in the result. */
const fields: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  svc_deals_list: { deals: `${dealFields} caller_role` },
  svc_deals_get: { deal: dealFields, participants: 'user_id role status' },
  svc_qoe_get: {
    progress: 'id status completed_at category title',
    recent_accounting_snapshots: 'id snapshot_type status requested_at completed_at',
  },
  svc_qoe_pl_periods: { periods: 'period_start_date' },
  svc_qoe_customer_concentration: { customers: 'revenue_total' },
  svc_questions_list: { questions: 'id category status asked_at question_text distributed_response' },
  svc_documents_list: { documents: 'id filename confidentiality size_bytes uploaded_at source' },
  svc_offers_list: { offers: 'id buyer_user_id revision_number is_current submitted_at payload' },
  svc_closing_conditions_list: { closing_conditions: 'id name status owner_user_id deadline completed_at' },
  svc_questions_create: { id: '' },
  svc_qoe_normalization_create: { id: '' },
};

/**
 * A value without differences between runs: ids are numbered by first appearance, times are replaced, and trailing
 * zeros of decimals removed.
 */
function steady(value: unknown, ids: string[]): unknown {
  if (typeof value === 'string') {
    if (/^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(value)) {
      if (!ids.includes(value)) ids.push(value);
      return `id ${ids.indexOf(value) + 1}`;
    }
    if (/^-?\d+\.\d+$/.test(value)) return value.replace(/\.?0+$/, '');
    return /^20\d\d-.*T/.test(value) && !value.startsWith('2026-01-01T00:00:') ? 'a time' : value;
  }
  if (Array.isArray(value)) return value.map((one) => steady(one, ids));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, steady(one, ids)]));
}

function chosen(value: unknown, names: string): unknown {
  if (Array.isArray(value)) return value.map((one) => chosen(one, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(names.split(' ').map((name) => [name, (value as Record<string, unknown>)[name]]));
}

const readable = (value: unknown) => format(JSON.stringify(value), { parser: 'json', printWidth: 120 });

/** A schema without its descriptions. */
const bare = (schema: unknown): unknown =>
  JSON.parse(
    JSON.stringify(schema, (name, value: unknown) =>
      name === 'description' && typeof value === 'string' ? undefined : value,
    ),
  );

const found = catalog.filter((tool) => specified.includes(tool.name));

test('the 19 tools of the specification exist in its order, 12 to read and 7 to write', () => {
  expect(found.map((tool) => tool.name)).toEqual(specified);
  expect(found.map((tool) => tool.scope)).toEqual(specified.map((_, at) => (at < 12 ? 'mcp:read' : 'mcp:write')));
});

test('the inputs of the specified tools match their snapshot', async () => {
  const inputs = found.map(({ name, scope, listed }) => ({ name, scope, inputSchema: bare(listed.inputSchema) }));
  await expect(await readable(inputs)).toMatchFileSnapshot('specified/inputs.json');
});

test('the specified fields of results match their snapshot', async () => {
  const { broker, 'exclusive buyer': buyer } = scene.people;
  const writing = ['svc_questions_create', 'svc_qoe_normalization_create'];
  await allow(service, buyer, writing, [scene.deal]);
  const deal_id = scene.deal;
  const inputs: Record<string, Record<string, unknown>> = {
    svc_deals_list: {},
    svc_questions_create: { deal_id, category: 'tax', question_text: 'And why?' },
    svc_qoe_normalization_create: {
      deal_id,
      period_label: '2026-01',
      adjustment_category: 'other',
      adjustment_amount: '5',
    },
  };
  const ids: string[] = [];
  const results: Record<string, unknown> = {};
  for (const [name, named] of Object.entries(fields)) {
    const answer = await asking(service, writing.includes(name) ? buyer : broker).ok(name, inputs[name] ?? { deal_id });
    const told = Object.entries(named).map(([key, of]) => [key, chosen(answer[key], of)] as const);
    results[name] = steady(Object.fromEntries(told), ids);
  }
  await expect(await readable(results)).toMatchFileSnapshot('specified/results.json');
});

test('an unknown deal gets the specified empty results, without other fields', async () => {
  const deal_id = crypto.randomUUID();
  const empty: Record<string, unknown> = {
    svc_deals_get: { deal: null, participants: [] },
    svc_qoe_get: { progress: [], recent_accounting_snapshots: [] },
    svc_qoe_pl_periods: { periods: [] },
    svc_qoe_customer_concentration: { customers: [] },
    svc_questions_list: { questions: [] },
    svc_documents_list: { documents: [] },
    svc_offers_list: { offers: [] },
    svc_closing_conditions_list: { closing_conditions: [] },
  };
  for (const [name, answer] of Object.entries(empty))
    expect(await asking(service, scene.people.broker).ok(name, { deal_id })).toEqual(answer);
});
