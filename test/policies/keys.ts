/**
 * A key sees and changes what its scopes allow (docs/visibility.md), on deals of its brokerage that are open to keys.
 */

import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { keyScopes } from '../../server/domain/clients/key-scopes.ts';
import { readExpectations, type Expectation } from './expectations.ts';
import type { Check, Stage } from './scene.ts';
import { enter, enterAsKey } from './stage.ts';
import { measureEntered } from './visibility.ts';

const page = readExpectations(new URL('../../docs/visibility.md', import.meta.url));
const needed = new Map(page.scopes.map((one) => [one.table, one.needed]));
const cells = page.records.filter((cell) => cell.caller === 'API key');
/** The table that each addition is made to. */
const tableOf: Readonly<Record<string, string>> = {
  'a contact': 'contacts',
  'an accounting snapshot': 'accounting_snapshots',
  'a month of profit and loss': 'pl_periods',
  'a customer and its revenue': 'customer_revenues',
  'a document': 'documents',
  'a produced document': 'production_documents',
  'a closing condition': 'closing_conditions',
};
const additions = page.additions.filter((cell) => cell.caller === 'API key' && cell.may.length > 0);

/** Each rejects when a key sees or does more, or less, than its scopes allow. */
export const keyChecks: Check[] = [];

function check(title: string, run: (stage: Stage) => Promise<void>): void {
  keyChecks.push({ title, run });
}

/** The part of a cell that a key with these scopes may do. */
function expected({ table, record, may }: Expectation, scopes: readonly string[]): string[] {
  return may.filter((what) => {
    // A row for one record takes precedence over the row for its table.
    const ofRecord = needed.get(`${table}: ${record}`) ?? needed.get(table);
    const scopesFor = table === '' ? needed.get(tableOf[record] ?? '')?.['adds'] : ofRecord?.[what];
    assert.ok(scopesFor, `the page says of no scope by which a key ${what} ${table} ${record}`);
    return scopesFor[0] === 'any' || scopesFor.every((scope) => scopes.includes(scope));
  });
}

/** Compares what a key that enters this way may do in every cell with what is expected. */
async function compare(
  stage: Stage,
  about: string,
  entering: () => Promise<void>,
  expecting: (cell: Expectation) => string[],
): Promise<void> {
  const all = [...cells, ...additions];
  const measured = await measureEntered(stage, 'API key', all, entering);
  all.forEach((cell, index) =>
    assert.deepEqual(measured[index], expecting(cell), `${about}: ${cell.table}: ${cell.record}`),
  );
}

check('each scope shows and changes what the page says, and no other does', async (stage) => {
  const tries = keyScopes.flatMap((scope) => [
    { about: `${scope} alone`, scopes: [scope], deal: null },
    { about: `all but ${scope}`, scopes: keyScopes.filter((one) => one !== scope), deal: null },
  ]);
  for (const { about, scopes, deal } of [
    ...tries,
    { about: 'all, narrowed', scopes: keyScopes, deal: stage.scene.deal },
    { about: 'one, narrowed', scopes: ['offers:read'], deal: stage.scene.deal },
    { about: 'none of deals, narrowed', scopes: ['contacts:read', 'events:read'], deal: stage.scene.deal },
  ])
    await compare(
      stage,
      about,
      () => enterAsKey(stage, scopes, { deal }),
      (cell) => expected(cell, scopes),
    );
});

check('the page names a scope for whatever a key may do, every scope of records, and no others', async () => {
  for (const cell of [...cells, ...additions]) assert.deepEqual(expected(cell, keyScopes), cell.may);
  const named = new Set(page.scopes.flatMap((one) => Object.values(one.needed).flatMap((scopes) => scopes ?? [])));
  // What these scopes allow is done by functions, or concerns no record of a deal.
  const byFunctions = ['participants:write', 'documents:content', 'events:read', 'webhooks:write'];
  assert.deepEqual([...named].toSorted(), ['any', ...keyScopes.filter((one) => !byFunctions.includes(one))].toSorted());
});

check('the database knows the same scopes', async ({ owner }) => {
  const { rows } = await owner.query<{ allowed: string; deals: string[] }>(
    `select pg_get_constraintdef(oid) as allowed, app.deal_scopes() as deals from pg_constraint where conname = 'api_keys_scopes_check'`,
  );
  const allowed = /'\{(.*)\}'/.exec(rows[0]!.allowed)![1]!.split(',');
  assert.deepEqual(allowed.toSorted(), keyScopes.toSorted());
  // Contacts and webhooks belong to the brokerage; a key gets the events of those records that its other scopes show.
  const onDeals = keyScopes.filter((scope) => !/^(contacts|events|webhooks):/.test(scope));
  assert.deepEqual(rows[0]!.deals.toSorted(), onDeals.toSorted());
});

/** What a key may do in a cell while no deal is open to it: only with records that belong to the brokerage. */
const onNoDeal = ({ table, record, may }: Expectation): string[] =>
  needed.get(table)?.['sees']?.[0] === 'any' || /\ba contact\b/.test(record) || table.startsWith('webhook_') ? may : [];

check('on a deal that is not open to keys, a key with every scope sees and changes nothing', async (stage) => {
  const { server, scene } = stage;
  for (const deal of [null, scene.deal])
    await compare(
      stage,
      `not let in${deal === null ? '' : ', narrowed'}`,
      async () => {
        await server.query('select app.as_owner($1, null)', [
          `update deals set keys_admitted = false where id = '${scene.deal}'`,
        ]);
        await enterAsKey(stage, keyScopes, { deal });
      },
      onNoDeal,
    );
});

check('a key of another brokerage sees and changes nothing of this one', async (stage) => {
  const { server, scene } = stage;
  const brokerage = scene.records['brokerages/another brokerage']!;
  for (const deal of [null, scene.deal])
    await compare(
      stage,
      'of another brokerage',
      async () => {
        await server.query('select app.as_owner($1, null)', ['update deals set keys_admitted = true']);
        await enterAsKey(stage, keyScopes, { brokerage, deal });
      },
      ({ table, record }) =>
        (table === 'brokerages' && record === 'another brokerage') ||
        (table === 'change_events' && /\ba contact of another\b/.test(record))
          ? ['sees']
          : table === 'contacts' && record === 'a contact of another brokerage'
            ? ['sees', 'changes']
            : table === 'deals' && record === 'a deal of another brokerage' && deal === null
              ? ['sees', 'changes']
              : [],
    );
});

check('a key that looks at one deal sees of it what it sees anyway, and of others nothing', async (stage) => {
  const { server, scene } = stage;
  const seen = async (deal: string | null) => {
    await server.query('begin');
    try {
      await server.query('select app.as_owner($1, null)', [
        `update deals set keys_admitted = true where id in ('${scene.deal}', '${scene.idle}')`,
      ]);
      await server.query(`select set_config('search_path', 'public', true)`);
      await enterAsKey(stage, keyScopes, { deal });
      const { rows } = await server.query<{ deal_id: string; parts: number; found: boolean }>(
        `select d.id as deal_id, (select count(*)::int from participants p where p.deal_id = d.id) as parts,
           app.seen_deal(d.id) is not null as found from deals d order by d.id`,
      );
      return rows;
    } finally {
      await server.query('rollback');
    }
  };
  const both = await seen(null);
  assert.equal(both.length, 2);
  for (const one of both) assert.deepEqual(await seen(one.deal_id), [one]);
  assert.deepEqual(await seen(scene.records["deals/a colleague's draft"]!), []);
  assert.deepEqual(await seen('01900000-0000-7000-8000-000000000000'), []);
});

check('a key that names deals sees of them what it sees anyway, and of others nothing', async (stage) => {
  const { server, scene } = stage;
  const naming = (deals: readonly string[], deal: string | null) => async () => {
    await enterAsKey(stage, keyScopes, { deal });
    await server.query(`select set_config('dealkeep.among_deals', $1::uuid[]::text, true)`, [deals]);
  };
  const nowhere = '01900000-0000-7000-8000-000000000000';
  for (const deal of [null, scene.deal]) {
    const all = (cell: Expectation) => expected(cell, keyScopes);
    await compare(stage, 'named', naming([scene.idle, scene.deal, nowhere], deal), all);
    await compare(stage, 'another is named', naming([scene.idle], deal), onNoDeal);
    await compare(stage, 'none is named', naming([], deal), onNoDeal);
  }
  // Naming a deal does not open it: neither a deal that is closed to keys nor one of another brokerage.
  await server.query('begin');
  await naming([scene.idle, scene.records['deals/a deal of another brokerage']!], null)();
  assert.equal((await server.query('select id from deals')).rowCount, 0);
  await server.query('rollback');
});

check(
  'a page of events tells what the key sees of the stream, and leaves what follows as wide as it was',
  async (stage) => {
    const { owner, server } = stage;
    // While a transaction that began earlier is open, in another database too, publishing has to be repeated until all
    // is published.
    const isPublished = async () => {
      await server.query('select app.publish_changes()');
      const { rows } = await owner.query<{ yes: boolean }>(
        'select (select max(seq) from change_events) <= (select published from vault.change_stream) as yes',
      );
      return rows[0]!.yes;
    };
    for (let tries = 0; !(await isPublished()); tries += 1) {
      assert.ok(tries < 600, 'events are not published');
      await setTimeout(50);
    }
    for (const scopes of [keyScopes, ...keyScopes.map((scope) => keyScopes.filter((one) => one !== scope))]) {
      await server.query('begin');
      await enterAsKey(stage, scopes, { deal: null });
      const seen = async () =>
        (
          await server.query<{ id: string; type: string }>(
            `select e.id, e.object_type || '.' || e.change as type from change_events e, app.change_stream() s where e.seq <= s.published order by e.seq`,
          )
        ).rows;
      const all = await seen();
      const told = async (types: readonly string[] | null) =>
        (
          await server.query<{ id: string; type: string }>(
            'select id, type from app.changes_after(0, 1000, $1) where id is not null',
            [types],
          )
        ).rows;
      assert.deepEqual(await told(null), all);
      for (const types of [['deal.updated'], ['contact.updated', 'deal.created'], ['offer.created', 'nda.created']])
        assert.deepEqual(
          await told(types),
          all.filter(({ type }) => types.includes(type)),
        );
      assert.deepEqual(await seen(), all);
      await server.query('rollback');
      if (scopes === keyScopes) assert.ok(all.length > 10, `${all.length} events`);
    }
  },
);

check('a broker of the deal lets keys in, and nobody else; buyers are told nothing of it', async (stage) => {
  const { server, scene } = stage;
  await server.query('begin');
  try {
    const switched = async (who: string, admitted: boolean) => {
      await server.query(`select set_config('dealkeep.identity', '', true)`);
      await enter(stage, who);
      const { rows } = await server.query<{ done: boolean }>('select app.admit_keys($1, $2, null, null) as done', [
        scene.deal,
        admitted,
      ]);
      return rows[0]!.done;
    };
    const deal = async () =>
      (
        await server.query<{ row: string }>(`select app.as_owner($1, null)::text as row`, [
          `select jsonb_build_array(d.keys_admitted, d.updated_at) from deals d where d.id = '${scene.deal}'`,
        ])
      ).rows[0]!.row;
    const before = await deal();
    for (const who of [
      'admin',
      'colleague',
      'seller',
      'exclusive buyer',
      "broker's advisor",
      'viewer',
      'API key',
      'nobody',
    ])
      assert.equal(await switched(who, false), false, who);
    assert.equal(await deal(), before);
    assert.equal(await switched('broker', false), true);
    assert.equal(await deal(), before.replace('true', 'false'));
    // A broker can close a closed deal to keys, too.
    for (const change of [`keys_admitted = true`, `state = 'closing'`, `state = 'closed'`])
      await server.query('select app.as_owner($1, null)', [`update deals set ${change} where id = '${scene.deal}'`]);
    assert.equal(await switched('broker', false), true);
    assert.match(await deal(), /^\[false/);
  } finally {
    await server.query('rollback');
  }
});

check('deals that people make begin as their brokerage says', async (stage) => {
  const { server, scene } = stage;
  await server.query('begin');
  try {
    const opened = async () => {
      await enter(stage, 'broker');
      const made = await server.query<{ id: string }>(
        `select app.open_deal($1, 'New', null, null, null, null, null) as id`,
        [scene.brokerage],
      );
      const { rows } = await server.query<{ admitted: boolean }>(
        'select keys_admitted as admitted from deals where id = $1',
        [made.rows[0]!.id],
      );
      return rows[0]!.admitted;
    };
    assert.equal(await opened(), false);
    await enter(stage, 'admin');
    await server.query('select app.admit_keys_by_default($1, true, null, null)', [scene.brokerage]);
    assert.equal(await opened(), true);
  } finally {
    await server.query('rollback');
  }
});

check('what a key writes is held to the rules that hold for people', async (stage) => {
  const { server, scene } = stage;
  const refusal = async (text: string, values: unknown[], ...before: string[]) => {
    await server.query('begin');
    try {
      for (const one of before) await server.query('select app.as_owner($1, null)', [one]);
      await server.query(`select set_config('search_path', 'public', true)`);
      await enterAsKey(stage, keyScopes);
      await server.query(text, values);
      return null;
    } catch (error) {
      return (error as { hint?: string; code: string }).hint ?? (error as { code: string }).code;
    } finally {
      await server.query('rollback');
    }
  };
  const condition = 'insert into closing_conditions (deal_id, name, owner_user_id) values ($1, $2, $3)';
  const given = (owner: string | null) => [scene.deal, 'Lease', owner];
  assert.equal(await refusal(condition, given(null)), null);
  assert.equal(await refusal(condition, given(scene.people['exclusive buyer']!)), null);
  // The buyer who reads the condition does not know of the other buyer.
  assert.equal(await refusal(condition, given(scene.people['other buyer']!)), 'owner_not_known_to_buyer');
  const close = ['closing', 'closed'].map((state) => `update deals set state = '${state}' where id = '${scene.deal}'`);
  assert.equal(await refusal(condition, given(null), ...close), 'deal_closed');
  assert.equal(
    await refusal(
      'insert into accounting_snapshots (deal_id, snapshot_type) values ($1, $2)',
      [scene.deal, 'full'],
      ...close,
    ),
    'deal_closed',
  );
  const many = (rows: number) =>
    `insert into closing_conditions (deal_id, name) select '${scene.deal}', 'c' from generate_series(1, ${rows})`;
  assert.equal(await refusal(condition, given(null), many(500)), 'deal_full');
  const today = `insert into accounting_snapshots (deal_id, snapshot_type, requested_at) select '${scene.deal}', 'full', app.now() from generate_series(1, 100)`;
  assert.equal(
    await refusal(
      'insert into accounting_snapshots (deal_id, snapshot_type) values ($1, $2)',
      [scene.deal, 'full'],
      today,
    ),
    'too_many_today',
  );
});

/**
 * Makes a test key of the scene's brokerage in the open transaction; returns the ids of the key, its sandbox and the
 * sandbox's deals.
 */
async function makeTestKey({ server, scene }: Stage): Promise<{ key: string; sandbox: string; deals: string[] }> {
  const asOwner = async <T = string>(statement: string) =>
    (await server.query<{ made: T }>(`select app.as_owner($1, null) as made`, [statement])).rows[0]!.made;
  const key = await asOwner(
    `insert into api_keys (brokerage_id, name, environment, scopes, last_four, created_by)
     values ('${scene.brokerage}', 'Trial', 'test', '{contacts:read}', '1111', '${scene.people['admin']}') returning to_jsonb(id)`,
  );
  const sandbox = await asOwner(`select to_jsonb(id) from brokerages where sandbox_of = '${scene.brokerage}'`);
  const deals = await asOwner<string[]>(`select jsonb_agg(id) from deals where organization_id = '${sandbox}'`);
  return { key, sandbox, deals };
}

/**
 * How many rows of a brokerage the caller sees, in each table that keys read and whose rows name their brokerage or
 * deal.
 */
async function seenOf({ server }: Stage, brokerage: string, deals: readonly string[]): Promise<Record<string, number>> {
  const own: Readonly<Record<string, string>> = {
    brokerages: 'id = $1',
    contacts: 'brokerage_id = $1',
    deals: 'organization_id = $1',
  };
  const others = [
    'participants',
    'ndas',
    'offers',
    'offer_decisions',
    'exclusivities',
    'questions',
    'question_answers',
    'documents',
  ];
  const more = [
    'production_documents',
    'qoe_checklist',
    'accounting_snapshots',
    'pl_periods',
    'customer_revenues',
    'normalizations',
  ];
  const last = ['closing_conditions', 'findings', 'financing_sources'];
  const conditions = {
    ...own,
    ...Object.fromEntries([...others, ...more, ...last].map((table) => [table, 'deal_id = any ($2)'])),
  };
  const { rows } = await server.query<{ name: string; seen: number }>(
    Object.entries(conditions)
      .map(
        ([table, condition]) =>
          `select '${table}' as name, count(*)::int as seen from public.${table} where ${condition} and $2::uuid[] is not null`,
      )
      .join(' union all '),
    [brokerage, deals],
  );
  return Object.fromEntries(rows.map(({ name, seen }) => [name, seen]));
}

check('a test key reads the sandbox of its brokerage, and sees and changes nothing of the brokerage', async (stage) => {
  const { server, scene } = stage;
  await compare(
    stage,
    'a test key',
    async () => {
      const { key } = await makeTestKey(stage);
      await server.query('select app.enter_as_key($1, $2, $3, $4)', [key, scene.brokerage, keyScopes, null]);
    },
    () => [],
  );
  await server.query('begin');
  try {
    const { key, sandbox, deals } = await makeTestKey(stage);
    await server.query(`select set_config('search_path', 'public', true)`);
    await enterAsKey(stage, keyScopes);
    const ofLive = await seenOf(stage, sandbox, deals);
    assert.deepEqual(
      Object.entries(ofLive).filter(([, seen]) => seen > 0),
      [],
    );
    for (const who of ['admin', 'broker', 'nobody']) {
      await server.query(`select set_config('dealkeep.identity', '', true)`);
      await enter(stage, who);
      const seen = await seenOf(stage, sandbox, deals);
      assert.deepEqual(
        Object.entries(seen).filter(([, rows]) => rows > 0),
        [],
        who,
      );
    }
    await server.query('select app.enter_as_key($1, $2, $3, null)', [key, scene.brokerage, keyScopes]);
    const seen = await seenOf(stage, sandbox, deals);
    assert.deepEqual(
      Object.entries(seen)
        .filter(([, rows]) => rows === 0)
        .map(([name]) => name),
      [],
    );
    assert.equal(
      Object.values(await seenOf(stage, scene.brokerage, [scene.deal])).reduce((all, one) => all + one),
      0,
    );
  } finally {
    await server.query('rollback');
  }
});
