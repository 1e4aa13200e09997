/**
 * A transaction narrowed to a deal shows the same of that deal as one that is not narrowed, and less of other deals.
 */

import assert from 'node:assert/strict';
import type pg from 'pg';
import { activityOfDeal } from '../../server/domain/audit/activity.ts';
import { dealTables } from '../../server/domain/visibility/deal-scope.ts';
import { readExpectations, type Expectation } from './expectations.ts';
import { callers, type Check, type Stage } from './scene.ts';
import { enter, enterWithin } from './stage.ts';
import { measure } from './visibility.ts';

const page = readExpectations(new URL('../../docs/visibility.md', import.meta.url));

/** Each rejects when narrowing adds something, or takes away more than it should. */
export const narrowingChecks: Check[] = [];

function check(title: string, run: (stage: Stage) => Promise<void>): void {
  narrowingChecks.push({ title, run });
}

/** Tables whose rows name their deal, in the column `of`, and the columns that people may read. */
async function tablesOfDeals(owner: pg.Client): Promise<{ table: string; of: string; columns: string }[]> {
  const { rows } = await owner.query<{ table: string; of: string; columns: string }>(`
    select c.relname as "table", case when c.relname = 'deals' then 'id' else 'deal_id' end as of,
      string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and has_column_privilege('dealkeep_server', c.oid, a.attnum, 'select')
    group by c.relname having bool_or(a.attname = case when c.relname = 'deals' then 'id' else 'deal_id' end)
    order by 1`);
  return rows;
}

/**
 * The rows that the entered caller sees, by table and deal. The statement has a name so that it is planned once:
 * planning would take most of the time.
 */
async function seen({ server }: Stage, text: string): Promise<Map<string, string>> {
  const { rows } = await server.query<{ place: string; rows: string }>({ name: 'rows by deal', text });
  return new Map(rows.map(({ place, rows: found }) => [place, found]));
}

async function taken<T>({ server }: Stage, run: () => Promise<T>): Promise<T> {
  await server.query('begin');
  try {
    return await run();
  } finally {
    await server.query('rollback');
  }
}

check('narrowed to each deal, each person sees the rows of it that they see anyway', async (stage) => {
  const { owner } = stage;
  const tables = await tablesOfDeals(owner);
  assert.ok(tables.length > 20);
  const text = tables
    .map(
      ({ table, of, columns }) =>
        `select '${table} ' || t.${of} as place, string_agg(md5(t::text), ' ' order by md5(t::text)) as rows
         from (select ${columns} from ${table}) t where t.${of} is not null group by t.${of}`,
    )
    .join(' union all ');
  const deals = (await owner.query<{ id: string }>('select id from deals order by id')).rows.map(({ id }) => id);
  assert.ok(deals.length > 2);
  for (const caller of callers) {
    const whole = await taken(stage, async () => {
      await enter(stage, caller);
      return seen(stage, text);
    });
    if (caller === 'nobody') continue;
    for (const deal of deals) {
      const narrowed = await taken(stage, async () => {
        await enterWithin(stage, caller, deal);
        return seen(stage, text);
      });
      for (const { table } of tables) {
        const place = `${table} ${deal}`;
        assert.equal(narrowed.get(place), whole.get(place), `${caller}: ${place}`);
      }
      for (const [place, rows] of narrowed) {
        const anyway = whole.get(place)?.split(' ') ?? [];
        for (const row of rows.split(' ')) assert.ok(anyway.includes(row), `${caller}: a row more of ${place}`);
      }
      // People see their own records (audit records, opt-ins) of every deal, and an admin sees the brokerage's deals.
      if (caller !== 'admin')
        for (const place of narrowed.keys())
          if (!/^(audit_records|deal_opt_ins|answer_readings|document_openings) /.test(place))
            assert.ok(place.endsWith(deal), `${caller} sees ${place} while narrowed to ${deal}`);
    }
  }
});

check(
  'narrowed to a deal, people and places in a list are looked for by an index, not among all that there is',
  async (stage) => {
    const { server, scene } = stage;
    await taken(stage, async () => {
      await enterWithin(stage, 'broker', scene.deal);
      await server.query('set local enable_seqscan = off; set local enable_bitmapscan = off');
      const planOf = async (text: string) => {
        const { rows } = await server.query<{ 'QUERY PLAN': string }>(`explain (generic_plan, costs off) ${text}`);
        return rows.map((row) => row['QUERY PLAN']).join('\n');
      };
      // A person may take part in ten thousand deals, but takes part in this one once.
      const person = await planOf('select name from users where id = $1');
      assert.match(person, /on participants p\n *Index Cond: .*\bdeal_id >= /);
      // Ten pages on, the index skips the rows of the first ten.
      const { text } = activityOfDeal(scene.deal, null, 50);
      assert.match(await planOf(text), /Index Cond: \(\(deal_id = \$1\) AND \(ROW\(at, id\) < /);
    });
  },
);

check('narrowed to each deal, an API key is told no names by app.people_on_deal', async (stage) => {
  const { owner, server } = stage;
  const { rows: deals } = await owner.query<{ id: string }>('select id from deals order by id');
  let sees = 0;
  for (const { id: deal } of deals)
    await taken(stage, async () => {
      await enterWithin(stage, 'API key', deal);
      // `lists.ts` compares what people are told.
      const told = `select app.people_on_deal($1) as told, (select count(*)::int from participants where deal_id = $1) as people`;
      const { rows } = await server.query<{ told: object | null; people: number }>(told, [deal]);
      assert.equal(rows[0]?.told, null, deal);
      sees += rows[0]!.people;
    });
  assert.ok(sees > 0, 'the key saw nobody');
});

check('narrowed to the deal of a record, each may do with the record what the page says', async (stage) => {
  const { owner, scene } = stage;
  for (const caller of callers) {
    if (caller === 'nobody') continue;
    const cells = page.records.filter((cell) => cell.caller === caller);
    const byDeal = new Map<string, Expectation[]>();
    for (const cell of cells) {
      const id = scene.records[`${cell.table}/${cell.record}`]!;
      const known = (dealTables as readonly string[]).includes(cell.table);
      const { rows } = known
        ? await owner.query<{ deal: string }>('select app.deal_of($1, $2) as deal', [cell.table, id])
        : { rows: [{ deal: scene.deal }] };
      const deal = rows[0]!.deal;
      // A narrowed transaction shows only the deal's brokerage and those of which the caller is a member.
      if (cell.table === 'brokerages' && id !== scene.brokerage) continue;
      byDeal.set(deal, [...(byDeal.get(deal) ?? []), cell]);
    }
    for (const [deal, own] of byDeal) {
      const measured = await measure(stage, caller, own, deal);
      own.forEach(({ table, record, may }, index) =>
        assert.deepEqual(measured[index], may, `${caller}, narrowed: ${table}: ${record}`),
      );
    }
    const additions = page.additions.filter((cell) => cell.caller === caller);
    const measured = await measure(stage, caller, additions, scene.deal);
    const whole = await measure(stage, caller, additions);
    additions.forEach(({ record }, index) => {
      // Narrowing never lets anybody add what they could not add anyway.
      for (const may of measured[index]!) assert.ok(whole[index]!.includes(may), `${caller}, narrowed: ${record}`);
    });
  }
});

check(
  'a deal that is not seen, none and one that is not there are narrowed to alike: nothing is seen',
  async (stage) => {
    const { server, scene } = stage;
    const hidden = scene.records['deals/a deal of another brokerage']!;
    for (const deal of [hidden, '01900000-0000-7000-8000-000000000000', null])
      await taken(stage, async () => {
        await enterWithin(stage, 'broker', deal);
        const { rows } = await server.query(
          `select app.narrowed_to() as narrowed, app.seen_deal($1) as found,
           (select count(*)::int from deals) as deals, (select count(*)::int from participants) as people`,
          [hidden],
        );
        const nowhere = '00000000-0000-0000-0000-000000000000';
        assert.deepEqual(rows, [{ narrowed: nowhere, found: null, deals: 0, people: 0 }]);
      });
  },
);

check('an identity that names another deal or part than was sealed is nobody', async (stage) => {
  const { server, scene } = stage;
  const change = (from: string, to: string) =>
    taken(stage, async () => {
      await enterWithin(stage, 'viewer', scene.deal);
      const seal = `select set_config('dealkeep.identity', replace(current_setting('dealkeep.identity'), $1, $2), true) as identity`;
      const { rows } = await server.query<{ identity: string }>(seal, [from, to]);
      return [(await server.query('select id from deals')).rowCount, rows[0]!.identity.includes(to)];
    });
  assert.deepEqual(await change(',viewer', ',viewer'), [1, true]);
  assert.deepEqual(await change(',viewer', ',broker'), [0, true]);
  assert.deepEqual(await change(scene.deal, scene.idle), [0, true]);
  assert.deepEqual(await change(`,${scene.deal}`, ',no id'), [0, true]);
  // The deal left out, as if the transaction were not narrowed.
  assert.deepEqual(await change(`,${scene.deal},`, ',,'), [0, true]);
  // What an earlier transaction was narrowed to has no effect on the next.
  await server.query(`select set_config('dealkeep.identity', 'x,,,,,,,' || $1, false)`, [scene.deal]);
  await taken(stage, async () => {
    await enter(stage, 'broker');
    assert.ok(Number((await server.query('select id from deals')).rowCount) > 1);
  });
  await server.query(`select set_config('dealkeep.identity', '', false)`);
});

check('who takes themself off the deal to which they are narrowed sees it no more', async (stage) => {
  const { server, scene } = stage;
  await taken(stage, async () => {
    await enterWithin(stage, 'broker', scene.deal);
    const leave = `update participants set status = 'removed' where id = $1 returning 1`;
    const ofDeals = async () => (await server.query(`select app.brokerages_of_deals() as found`)).rows[0]?.found;
    assert.deepEqual(await ofDeals(), [scene.brokerage]);
    assert.equal((await server.query(leave, [scene.participants['broker']])).rowCount, 1);
    assert.deepEqual(await ofDeals(), []);
    assert.equal((await server.query('select id from deals')).rowCount, 0);
    assert.equal((await server.query('select id from participants')).rowCount, 0);
    assert.equal((await server.query('select id from deals where id = app.seen_deal($1)', [scene.deal])).rowCount, 0);
  });
  // An admin still sees the deal of their brokerage.
  await taken(stage, async () => {
    await enterWithin(stage, 'admin', scene.deal);
    const remove = `update participants set status = 'removed' where id = $1 returning 1`;
    assert.equal((await server.query(remove, [scene.participants['viewer']])).rowCount, 1);
    assert.equal((await server.query('select id from deals where id = app.seen_deal($1)', [scene.deal])).rowCount, 1);
  });
});

check('somebody known from another deal has a name in a narrowed transaction too', async (stage) => {
  const { owner, server, scene } = stage;
  const put = async (text: string, values: unknown[]) => (await owner.query<{ id: string }>(text, values)).rows[0]!.id;
  const person = await put(`insert into users (email, name) values ('elsewhere@example.test', 'E') returning id`, []);
  const part = await put(
    `insert into participants (deal_id, user_id, role, status) values ($1, $2, 'seller', 'active') returning id`,
    [scene.idle, person],
  );
  try {
    const known = 'select id from users order by 1';
    const whole = await taken(stage, async () => {
      await enter(stage, 'broker');
      return (await server.query<{ id: string }>(known)).rows;
    });
    assert.ok(whole.some(({ id }) => id === person));
    await taken(stage, async () => {
      await enterWithin(stage, 'broker', scene.deal);
      assert.deepEqual((await server.query(known)).rows, whole);
      assert.deepEqual((await server.query('select id from deals')).rows, [{ id: scene.deal }]);
      await server.query('select app.widen()');
      assert.ok(Number((await server.query('select id from deals')).rowCount) > 1);
    });
  } finally {
    await owner.query('delete from participants where id = $1', [part]);
    await owner.query('delete from users where id = $1', [person]);
  }
});
