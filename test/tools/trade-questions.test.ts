/**
 * Ten questions of the trade, answered from the demo by a program that knows the tools by their descriptions alone:
 * figures agree with the database to the cent, and no question takes many calls or tokens.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import { check } from './ask.ts';
import { addToken, caller } from './scene.ts';
import { tokensIn } from './tokens.ts';

type Row = Record<string, unknown>;
type Rows = Row[];

let service: TestService & { readonly demo: NonNullable<TestService['demo']> };
let title: string;

beforeAll(async () => {
  service = (await openService({ demo: true })) as typeof service;
  const [deal] = await service.sql<{ title: string }>('select title from deals where id = $1', [everything()]);
  title = deal!.title;
});
afterAll(() => service?.close());

const everything = () => service.demo.deals.with_everything;

/** A decimal of at most four places as an integer of ten-thousandths, so that sums are exact. */
function units(decimal: unknown): bigint {
  const [whole = '', places = ''] = String(decimal).split('.');
  return BigInt(whole + places.padEnd(4, '0'));
}
const sum = (amounts: readonly unknown[]): bigint => amounts.reduce<bigint>((all, one) => all + units(one), 0n);

/** Calls tools as the broker does through an assistant, and counts calls and tokens. */
async function openAssistant() {
  const call = caller(service, await addToken(service, service.demo.people.broker.user_id));
  const used = { calls: 0, tokens: 0 };
  async function ask(tool: string, input: Row = {}): Promise<Record<string, Rows> & { people?: Rows }> {
    const answer = await call(tool, input);
    check(tool, answer);
    used.calls += 1;
    used.tokens += tokensIn(answer.content[0]!.text);
    return answer.structuredContent as Record<string, Rows>;
  }
  return {
    used,
    ask,
    /** The id of the deal that is called `title`. */
    async deal(): Promise<string> {
      const { deals = [] } = await ask('svc_deals_list');
      return String(deals.find((one) => one['title'] === title)?.['id']);
    },
    /** The column `name` of the latest months, read as the tool's description says. */
    async months(deal_id: string, name: string, count: number, more: Row = {}): Promise<unknown[]> {
      const { columns = [], periods = [] } = await ask('svc_qoe_pl_periods', { deal_id, ...more });
      const at = (columns as unknown as string[]).indexOf(name);
      const calendar = periods.filter((one) => one['period_end_date'] === undefined && one['snapshot'] === undefined);
      return calendar.slice(0, count).map(({ amounts }) => (amounts as unknown[])[at]);
    },
  };
}
type Assistant = Awaited<ReturnType<typeof openAssistant>>;

const latestYear = (column: string, skip = 0) =>
  `select sum(${column})::text as answer from (select ${column} from pl_periods where deal_id = $1
   order by period_start_date desc limit 12 offset ${skip}) months`;

/** Each question, how the tools answer it, and the database's answer (`$1`: the deal with everything in it). */
const questions: readonly (readonly [string, (assistant: Assistant) => Promise<unknown>, string])[] = [
  [
    'Which deals are in my pipeline, and in which state is this one?',
    async ({ ask }) => (await ask('svc_deals_list'))['deals']!.find((one) => one['title'] === title)!['state'],
    `select coalesce(g.state, d.state) as answer from deals d left join deal_stages g on g.deal_id = d.id where d.id = $1`,
  ],
  [
    'What was TTM revenue?',
    async ({ deal, months }) => sum(await months(await deal(), 'revenue', 12)),
    latestYear('revenue'),
  ],
  [
    'What was TTM EBITDA?',
    async ({ deal, months }) => sum(await months(await deal(), 'ebitda', 12)),
    latestYear('ebitda'),
  ],
  [
    'By how much did gross profit of the last twelve months change over the twelve before?',
    async ({ deal, months }) => {
      const profits = await months(await deal(), 'gross_profit', 24);
      return sum(profits.slice(0, 12)) - sum(profits.slice(12));
    },
    `select ((${latestYear('gross_profit').replace('::text', '')}) - (${latestYear('gross_profit', 12).replace('::text', '')}))::text as answer`,
  ],
  [
    'What would be added back if the owner took nothing in the last twelve months?',
    async ({ deal, months }) => sum(await months(await deal(), 'owner_compensation', 12)),
    latestYear('owner_compensation'),
  ],
  [
    'What revenue hangs on the five largest customers?',
    async ({ deal, ask }) => {
      const { customers = [] } = await ask('svc_qoe_customer_concentration', { deal_id: await deal() });
      return sum(customers.slice(0, 5).map((one) => one['revenue_total']));
    },
    `select sum(revenue_total)::text as answer from (
       select c.revenue_total from customer_revenues c join accounting_snapshots s on s.id = c.snapshot_id
       where c.deal_id = $1 and s.status = 'completed'
       order by s.completed_at desc, c.period_start_date desc, c.revenue_total desc limit 5) five`,
  ],
  [
    'What is the highest bid, and whose is it?',
    async ({ deal, ask }) => {
      const { offers = [], people = [] } = await ask('svc_offers_list', { deal_id: await deal() });
      const price = ({ payload }: Row) => units((payload as Row)['purchase_price']);
      const best = offers.filter((one) => one['is_current']).reduce((a, b) => (price(b) > price(a) ? b : a));
      return `${people.find((one) => one['user_id'] === best['buyer_user_id'])?.['name']} ${price(best)}`;
    },
    `select u.name || ' ' || trunc((o.payload ->> 'purchase_price')::numeric * 10000) as answer from offers o
     join users u on u.id = o.buyer_user_id where o.deal_id = $1 and o.is_current
     order by (o.payload ->> 'purchase_price')::numeric desc limit 1`,
  ],
  [
    'Who has to do what before closing?',
    async ({ deal, ask }) => {
      const { closing_conditions: all = [], people = [] } = await ask('svc_closing_conditions_list', {
        deal_id: await deal(),
      });
      const open = all.filter(({ status }) => status === 'open' || status === 'in_progress');
      const owner = (id: unknown) => people.find((one) => one['user_id'] === id)?.['name'] ?? 'nobody';
      return open
        .map((one) => `${String(one['name'])}: ${String(owner(one['owner_user_id']))}`)
        .toSorted()
        .join('; ');
    },
    `select string_agg(c.name || ': ' || coalesce(u.name, 'nobody'), '; ' order by c.name collate "C") as answer
     from closing_conditions c left join users u on u.id = c.owner_user_id
     where c.deal_id = $1 and c.status in ('open', 'in_progress')`,
  ],
  [
    'How many questions wait for my review?',
    async ({ deal, ask }) => {
      const input = { deal_id: await deal(), status: 'pending_broker_review' };
      return (await ask('svc_questions_list', input))['questions']!.length;
    },
    `select count(*)::int as answer from questions where deal_id = $1 and status = 'pending_broker_review'`,
  ],
  [
    'How large is what a buyer sees under an NDA alone?',
    async ({ deal, ask }) => {
      const input = { deal_id: await deal(), confidentiality_level: 'nda_gated' };
      const { documents = [] } = await ask('svc_documents_list', input);
      return documents.reduce((all, one) => all + Number(one['size_bytes']), 0);
    },
    `select sum(size_bytes)::float8 as answer from (
       select deal_id, size_bytes, confidentiality, removed_at from documents
       union all select deal_id, size_bytes, confidentiality, removed_at from production_documents) d
     where deal_id = $1 and confidentiality = 'nda_gated' and removed_at is null`,
  ],
];

test.each(questions)('%s', async (_question, answer, expected) => {
  const assistant = await openAssistant();
  const found = await answer(assistant);
  const [row] = await service.sql<{ answer: unknown }>(expected, [everything()]);
  const stored = row!.answer;
  expect(found).toEqual(typeof found === 'bigint' ? units(stored) : stored);
  expect(found).not.toBeFalsy();
  expect(assistant.used.calls).toBeLessThanOrEqual(2);
  expect(assistant.used.tokens).toBeLessThanOrEqual(4_000);
});

test('the two best offers are compared correctly in two calls and under 3,000 tokens', async () => {
  const { ask, deal, used } = await openAssistant();
  const { summary, offers = [] } = (await ask('svc_offers_list', { deal_id: await deal() })) as unknown as {
    summary: { basis: Row; offers: Row[]; two_best: { first: string; second: string; higher_by: Row } };
    offers: Rows;
  };
  expect(used.calls).toBeLessThanOrEqual(2);
  expect(used.tokens).toBeLessThan(3_000);
  const two = await service.sql<{ id: string; price: string; cash: string | null }>(
    `select o.id, o.payload ->> 'purchase_price' as price, o.payload ->> 'cash_at_close' as cash from offers o
     where o.deal_id = $1 and o.is_current
     order by coalesce(app.time_in(o.payload ->> 'expires_at') <= app.now(), false), (o.payload ->> 'purchase_price')::numeric desc limit 2`,
    [everything()],
  );
  expect([summary.two_best.first, summary.two_best.second]).toEqual(two.map(({ id }) => id));
  const [first, second] = two;
  const higher = summary.two_best.higher_by;
  expect(units(higher['purchase_price'])).toBe(units(first!.price) - units(second!.price));
  expect(units(higher['cash_at_close'] ?? '0')).toBe(units(first!.cash ?? '0') - units(second!.cash ?? '0'));
  const ebitda = summary.basis['adjusted_ebitda'];
  const best = summary.offers.find(({ offer_id }) => offer_id === first!.id)!;
  const multiple = units((best['multiples'] as Row)['adjusted_ebitda']);
  // The multiple has two decimal places: price = multiple × EBITDA, within half a hundredth of EBITDA.
  const off = units(first!.price) * 10_000n - multiple * units(ebitda);
  expect((off < 0n ? -off : off) <= 50n * units(ebitda)).toBe(true);
  expect(String(best['coverage'])).toMatch(
    /^With all cash borrowed, debt of USD [\d,.]+ is covered 1\.15 times if annual debt service is at most [\d.]+% of the debt/,
  );
  expect(Object.values(best['money'] as Row).reduce<bigint>((all, one) => all + units(one), 0n)).toBe(10_000n);
  expect(offers.some(({ id }) => id === first!.id)).toBe(true);
});

test('36 months of profit and loss of the demo take at most 2,600 tokens with their summary', async () => {
  const { ask, used } = await openAssistant();
  const { periods } = await ask('svc_qoe_pl_periods', { deal_id: everything() });
  expect(periods).toHaveLength(36);
  expect(used.tokens).toBeLessThanOrEqual(2_600);
});

test('the customers behind half of revenue, and the trend of EBITDA, take one call and under 3,000 tokens', async () => {
  const { ask, used } = await openAssistant();
  const told = (await ask('svc_qoe_customer_concentration', { deal_id: everything() })) as unknown as {
    customers: { cumulative_share: string }[];
    summary: Record<string, unknown> & { half_of_it_from_largest: number; ebitda_trend: Record<string, string>[] };
  };
  const half = told.summary.half_of_it_from_largest;
  expect([half - 2, half - 1].map((at) => Number(told.customers[at]?.cumulative_share) >= 0.5)).toEqual([false, true]);
  expect(told.summary).toMatchObject({ customers_in_all: 40, lost: { customers: 1 }, new: { customers: 1 } });
  const trend = told.summary.ebitda_trend;
  expect(trend.map(({ period }) => period)).toEqual(['TTM', 'FY2025', 'FY2024']);
  expect(units(trend[0]?.['ebitda']) > units(trend[1]?.['ebitda'])).toBe(true);
  expect(used).toMatchObject({ calls: 1 });
  expect(used.tokens).toBeLessThan(3_000);
});

test('the contradictions in the books take under 3,000 tokens, and the demo has none', async () => {
  const { ask, used } = await openAssistant();
  const told = (await ask('svc_qoe_pl_periods', { deal_id: everything() })) as unknown as {
    summary: { columns: string[]; earnings: string[][]; contradictions?: string[] };
  };
  expect(told.summary.earnings.map((row) => row[0])).toEqual([
    'TTM',
    'FY2025',
    'FY2024',
    expect.stringMatching(/^2026, /),
  ]);
  expect(told.summary.contradictions).toBeUndefined();
  expect(used.tokens).toBeLessThan(3_000);
});
