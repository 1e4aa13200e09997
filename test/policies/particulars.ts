/**
 * Checks for which the tables of docs/visibility.md are too coarse: people between two roles, and records between two
 * states.
 */

import assert from 'node:assert/strict';
import pg from 'pg';
import { withoutTriggers } from '../triggers.ts';
import type { Check, Scene, Stage } from './scene.ts';

/** Asks as a person, who is given by their user id or their name in the scene. */
type Ask = (who: string, text: string, ...values: unknown[]) => Promise<number>;

interface Given {
  readonly ids: Record<string, string>;
  readonly scene: Scene;
  /** How many rows a statement touches; 0 when it is refused. It is rolled back afterwards. */
  readonly count: Ask;
  /** The same through a connected client of the person. */
  readonly throughClient: Ask;
  /** The same in a session that has just begun. */
  readonly justSignedIn: Ask;
  /** The same for a person whom the brokerage with this id keeps out until they show a second factor. */
  readonly barred: (brokerage: string) => Ask;
  readonly owner: pg.Client;
}

function given({ owner, server, scene, particulars: ids }: Stage): Given {
  const idOf = (who: string) => scene.people[who] ?? ids[who];
  const asking =
    (enter: (who: string) => Promise<unknown>): Ask =>
    async (who, text, ...values) => {
      await server.query('begin');
      try {
        await enter(who);
        return (await server.query(text, values)).rowCount ?? 0;
      } catch (error) {
        if (error instanceof pg.DatabaseError && (error.code === '42501' || error.code === 'DK001')) return 0;
        throw error;
      } finally {
        await server.query('rollback');
      }
    };
  return {
    ids,
    scene,
    owner,
    count: asking((who) =>
      who === 'API key'
        ? server.query('select app.enter_as(null, $1, $2)', [scene.key, scene.brokerage])
        : server.query('select app.enter_as($1)', [idOf(who)]),
    ),
    throughClient: asking((who) =>
      server.query('select app.enter_through($1, $2, null, $3)', [idOf(who), ids["the coast admin's client"], []]),
    ),
    barred: (brokerage) =>
      asking((who) => server.query('select app.enter_through($1, null, null, $2)', [idOf(who), [brokerage]])),
    justSignedIn: asking((who) =>
      server.query('select app.enter_through($1, null, $2, $3)', [idOf(who), ids[`session of ${who}`], []]),
    ),
  };
}

/** Each rejects when a person sees or changes more, or less, than they should. */
export const particulars: Check[] = [];

function check(title: string, run: (stage: Given) => Promise<void>): void {
  particulars.push({ title, run: (stage) => run(given(stage)) });
}

const withId = (table: string) => `select 1 from ${table} where id = $1`;

check(
  'every member sees the brokerage, its members, its clients and its contacts, whatever their role',
  async (stage) => {
    const { ids, count } = stage;
    for (const who of ['quiet admin', 'quiet broker', 'quiet staff']) {
      assert.equal(await count(who, withId('brokerages'), ids['quiet']), 1, who);
      assert.equal(await count(who, 'select 1 from members where brokerage_id = $1', ids['quiet']), 3, who);
      assert.equal(await count(who, withId('users'), ids['quiet admin']), 1, who);
      assert.equal(await count(who, withId('connected_clients'), ids['shared client']), 1, who);
      assert.equal(await count(who, 'update contacts set phone = null where id = $1', ids['quiet contact']), 1, who);
    }
  },
);

check('everybody sees themself', async ({ scene, count }) => {
  assert.equal(await count('outsider', withId('users'), scene.people['outsider']), 1);
});

check(
  'an API key reads and changes the contacts of one brokerage, also those that are archived',
  async ({ ids, count }) => {
    for (const who of ['API key', 'admin'] as const) {
      assert.equal(await count(who, withId('contacts'), ids['archived']), 1, who);
      for (const change of ['phone = null', `external_id = 'x'`, 'archived_at = null'])
        assert.equal(await count(who, `update contacts set ${change} where id = $1`, ids['archived']), 1, who);
      for (const change of ['merged_into = null', 'version = 1', 'created_by_key = null', 'updated_at = app.now()'])
        assert.equal(await count(who, `update contacts set ${change} where id = $1`, ids['archived']), 0, who);
      assert.equal(await count(who, 'delete from contacts where id = $1', ids['archived']), 0, who);
    }
    assert.equal(await count('API key', 'update contacts set phone = null where id = $1', ids['quiet contact']), 0);
  },
);

check('a contact and the kind of a change are held to what they may be, also by the owner', async ({ ids, owner }) => {
  const set = (change: string) => owner.query(`update contacts set ${change} where id = $1`, [ids['quiet contact']]);
  await owner.query('begin');
  try {
    await set(`type = 'company', email = null, phone = repeat('1', 65536), external_id = 'x', archived_at = app.now(),
      merged_into = app.uuid_v7(), display_name = repeat('n', 65536)`);
    await owner.query('savepoint held');
    for (const change of [
      `type = 'deal'`,
      `display_name = ' '`,
      `display_name = repeat('n', 65537)`,
      `email = 'nobody'`,
      `phone = repeat('1', 65537)`,
      `external_id = 'a b'`,
      `external_id = '..'`,
      `external_id = repeat('x', 256)`,
      'merged_into = id',
    ]) {
      await assert.rejects(set(change), { code: '23514', column: change.split(' ', 1)[0] }, change);
      await owner.query('rollback to held');
    }
    const unknown = `insert into change_events (brokerage_id, object_type, object_id, change) values ($1, 'contact', $2, 'seen')`;
    await assert.rejects(owner.query(unknown, [ids['quiet'], ids['quiet contact']]), { code: '23514' });
  } finally {
    await owner.query('rollback');
  }
});

check('whoever is an admin of one brokerage is nobody on the deals of another', async ({ scene, count }) => {
  for (const table of [
    'deals where id',
    'deal_stages where deal_id',
    'participants where deal_id',
    'exclusivities where deal_id',
    'closing_conditions where deal_id',
    'documents where deal_id',
    'audit_records where deal_id',
  ])
    assert.equal(await count('stranger', `select 1 from ${table} = $1`, scene.deal), 0, table);
  assert.equal(await count('stranger', 'update participants set status = status where deal_id = $1', scene.deal), 0);
});

check('a member of the brokerage who buys on one of its deals is a buyer there', async ({ ids, scene, count }) => {
  for (const table of ['deal_stages', 'exclusivities', 'closing_conditions', 'findings', 'offers'])
    assert.equal(await count('buying member', `select 1 from ${table} where deal_id = $1`, scene.deal), 0, table);
  assert.equal(await count('buying member', withId('participants'), scene.participants['exclusive buyer']), 0);
  assert.equal(
    await count(
      'buying member',
      'update participants set status = status where id = $1',
      ids["the buying member's part"],
    ),
    0,
  );
});

check('exclusivity opens what is for the selected buyer, and nothing that waits for an NDA', async ({ ids, count }) => {
  for (const table of ['documents', 'production_documents']) {
    assert.equal(await count('new buyer', withId(table), ids[`bare ${table} selected_buyer_only`]), 1, table);
    assert.equal(await count('new buyer', withId(table), ids[`bare ${table} nda_gated`]), 0, table);
  }
});

check('a document that was taken out is there for nobody', async ({ ids, count }) => {
  for (const table of ['documents', 'production_documents'])
    for (const who of ['broker', 'seller', 'exclusive buyer']) {
      assert.equal(await count(who, withId(table), ids[`removed ${table}`]), 0, `${who}: ${table}`);
      assert.equal(
        await count(who, `update ${table} set category = 'x' where id = $1`, ids[`removed ${table}`]),
        0,
        who,
      );
    }
});

check('comments on a finding and its history are seen with that very finding', async ({ ids, count }) => {
  for (const [who, sees] of [
    ['broker', 1],
    ['exclusive buyer', 0],
  ] as const) {
    assert.equal(await count(who, withId('finding_comments'), ids['comment']), sees, who);
    assert.equal(await count(who, withId('finding_changes'), ids['change']), sees, who);
  }
});

check(
  'an opt-in for a deal that its person does not see is not shown, and nothing is noted as read there',
  async (stage) => {
    const { ids, scene, count } = stage;
    assert.equal(await count('colleague', 'select 1 from deal_opt_ins where deal_id = $1', scene.deal), 0);
    assert.equal(
      await count('removed', 'update answer_readings set read_until = now() where deal_id = $1', ids['bare']),
      0,
    );
  },
);

check('the seller answers what waits for an answer, and nothing else', async ({ ids, scene, count }) => {
  const answer = (question: string | undefined) =>
    count(
      'seller',
      `insert into question_answers (question_id, deal_id, answer_text) values ($1, $2, 'So.')`,
      question,
      scene.deal,
    );
  assert.equal(await answer(scene.unanswered), 1);
  for (const question of [scene.records["questions/the exclusive buyer's, pending review"], ids['rejected']])
    assert.equal(await answer(question), 0);
  assert.equal(
    await count(
      'seller',
      `update question_answers set answer_text = 'Otherwise.' where question_id = $1`,
      scene.records["questions/the other buyer's, distributed"],
    ),
    0,
  );
});

check('with whom somebody advises they lose the deal', async ({ ids, count }) => {
  for (const text of [
    withId('deals'),
    'select 1 from participants where deal_id = $1',
    'select 1 from documents where deal_id = $1',
  ])
    assert.equal(await count("broker's advisor", text, ids['bare']), 0, text);
});

check('a client belongs to who made it, and shared, to the admins of the brokerage', async ({ ids, scene, count }) => {
  const shared = ids['shared client'];
  const own = scene.records["connected_clients/the broker's own"];
  assert.equal(await count('quiet admin', withId('connected_clients'), ids['deleted client']), 0);
  for (const who of ['quiet broker', 'quiet staff'])
    assert.equal(await count(who, `update connected_clients set name = 'X' where id = $1`, shared), 0, who);
  assert.equal(await count('quiet admin', `update connected_clients set name = 'X' where id = $1`, shared), 1);
  const share = (who: string, client: string | undefined, brokerage: string | null | undefined) =>
    count(who, 'update connected_clients set brokerage_id = $2 where id = $1', client, brokerage);
  assert.equal(await share('quiet admin', shared, scene.brokerage), 0);
  assert.equal(await share('quiet admin', shared, null), 1);
  assert.equal(await share('broker', own, scene.brokerage), 0);
  assert.equal(
    await count(
      'broker',
      `insert into connected_clients (name, redirect_uris) values ('X', '{https://client.example/x}')`,
    ),
    1,
  );
});

check(
  'an NDA is sent, an exclusivity granted and a question asked in the state in which each begins',
  async (stage) => {
    const { scene, count } = stage;
    for (const [text, ...values] of [
      [
        `insert into ndas (deal_id, participant_id, terms, status) values ($1, $2, 'T', 'revoked')`,
        scene.deal,
        scene.participants['new buyer'],
      ],
      [
        `insert into exclusivities (deal_id, participant_id, expires_at, ended_at) values ($1, $2, now() + interval '1 day', now())`,
        scene.idle,
        scene.idleBuyer,
      ],
    ] as const)
      assert.equal(await count('broker', text, ...values), 0, text);
    assert.equal(
      await count(
        'other buyer',
        `insert into questions (deal_id, category, question_text, status) values ($1, 'tax', 'Q', 'with_seller')`,
        scene.deal,
      ),
      0,
    );
  },
);

check('a client is not managed through a client, and its brokerage is for admins to choose', async (stage) => {
  const { ids, scene, count, throughClient, justSignedIn } = stage;
  const own = ids["the coast admin's client"];
  const rename = `update connected_clients set name = 'X' where id = $1`;
  for (const client of [own, ids['shared by the coast admin']]) {
    assert.equal(await count('coast admin', rename, client), 1);
    assert.equal(await throughClient('coast admin', rename, client), 0);
  }
  const make = `insert into connected_clients (name, redirect_uris) values ('X', '{https://client.example/x}')`;
  assert.equal(await count('coast admin', make), 1);
  assert.equal(await throughClient('coast admin', make), 0);
  const share = 'update connected_clients set brokerage_id = $2 where id = $1';
  assert.equal(await justSignedIn('coast admin', share, own, ids['coast']), 1);
  assert.equal(await justSignedIn('coast admin', share, own, scene.brokerage), 0);
  assert.equal(
    await justSignedIn('broker', share, scene.records["connected_clients/the broker's own"], scene.brokerage),
    0,
  );
  // An admin can neither move a shared client to another brokerage nor return it to its creator, nor share clients of
  // others.
  const ofBroker = ids['shared by the coast broker'];
  assert.equal(await justSignedIn('coast admin', share, ofBroker, ids['coast']), 1);
  assert.equal(await justSignedIn('coast admin', share, ofBroker, scene.brokerage), 0);
  assert.equal(await justSignedIn('coast admin', share, ofBroker, null), 0);
  assert.equal(await justSignedIn('coast admin', 'update connected_clients set brokerage_id = null'), 0);
  assert.equal(await justSignedIn('coast admin', 'update connected_clients set brokerage_id = $1', ids['coast']), 4);
  // A member who shared a client and is no admin cannot take it back, and somebody who left the brokerage does not see
  // it.
  assert.equal(
    await count(
      'coast broker',
      'update connected_clients set brokerage_id = null where id = $1',
      ids['shared by the coast broker'],
    ),
    0,
  );
  assert.equal(await count('coast left', withId('connected_clients'), ids['shared by the coast left']), 0);
});

check('a condition is changed by whose it is, while they act for a side of the deal', async ({ ids, count }) => {
  for (const [who, may] of [
    ['coast seller', 1],
    ["coast seller's advisor", 1],
    ['coast viewer', 0],
    ['coast admin', 0],
  ] as const)
    assert.equal(
      await count(
        who,
        `update closing_conditions set status = 'in_progress' where id = $1`,
        ids[`condition of ${who}`],
      ),
      may,
      who,
    );
  // Without a condition on the row, the select policy does not restrict an update.
  for (const who of ['buyer who left', 'advisor of who left'])
    assert.equal(await count(who, `update closing_conditions set status = 'in_progress'`), 0, who);
});

check('an admin of another brokerage who takes part here changes no participant', async ({ ids, count }) => {
  assert.ok((await count('coast admin', 'select 1 from participants where deal_id = $1', ids['bare'])) > 1);
  assert.equal(
    await count('coast admin', 'update participants set status = status where deal_id = $1', ids['bare']),
    0,
  );
});

check('who was invited to the brokerage is seen by what was typed, until they accept', async ({ ids, count }) => {
  assert.equal(await count('coast admin', 'select 1 from members where brokerage_id = $1', ids['coast']), 4);
  assert.equal(await count('coast admin', withId('users'), ids['coast invited']), 0);
});

check('nothing is noted as read by who buys no more, and nobody else moves a question', async ({ ids, count }) => {
  assert.equal(
    await count('coast viewer', 'update answer_readings set read_until = now() where deal_id = $1', ids['coast deal']),
    0,
  );
  const move = 'update questions set status = status where id = $1';
  assert.equal(await count('buyer until 2999', withId('questions'), ids["the advisor's question"]), 1);
  assert.equal(await count('buyer until 2999', move, ids["the advisor's question"]), 0);
  assert.equal(await count("buyer's advisor", move, ids["the advisor's question"]), 1);
  assert.equal(
    await count(
      'coast seller',
      `insert into question_answers (question_id, deal_id, answer_text) values ($1, $2, 'So.')`,
      ids['distributed question'],
      ids['coast deal'],
    ),
    0,
  );
});

check(
  'an NDA opens a deal until it ends or is revoked, to a buyer and whom they have to advise them',
  async (stage) => {
    const { ids, count } = stage;
    const finding = `insert into findings (deal_id, category, title, severity) values ($1, 'tax', 'T', 'minor')`;
    for (const [who, may] of [
      ['buyer until 2999', 1],
      ["buyer's advisor", 1],
      ['buyer whose NDA lapsed', 0],
      ['buyer whose NDA was revoked', 0],
      ["buyer's former advisor", 0],
      ['buyer who left', 0],
      ['advisor of who left', 0],
    ] as const) {
      assert.equal(await count(who, withId('documents'), ids['coast nda_gated']), may, `${who}: document`);
      assert.equal(await count(who, withId('participants'), ids['part of coast seller']), may, `${who}: seller`);
      assert.equal(await count(who, withId('qoe_checklist'), ids['coast checklist']), may, `${who}: checklist`);
      assert.equal(await count(who, finding, ids['coast deal']), may, `${who}: finding`);
    }
    assert.equal(await count('buyer until 2999', withId('participants'), ids['part of former seller']), 0);
  },
);

check('the QoE workspace is changed by its editors, and needs an NDA of buyers alone', async ({ ids, count }) => {
  const change = 'update qoe_checklist set title = title where id = $1';
  assert.equal(await count('coast viewer', withId('qoe_checklist'), ids['coast checklist']), 1);
  for (const [who, may] of [
    ['coast viewer', 1],
    ["buyer's advisor", 1],
    ['buyer until 2999', 0],
    ['buyer whose NDA lapsed', 0],
    ['buyer whose NDA was revoked', 0],
  ] as const)
    assert.equal(await count(who, change, ids['coast checklist']), may, who);
});

check('a place of an advisor in the QoE workspace is shown to them, to their side and to the deal’s', async (stage) => {
  const { ids, count } = stage;
  const place = 'select 1 from qoe_workspace_members where participant_id = $1';
  for (const [who, sees] of [
    ['coast broker', 1],
    ["coast seller's advisor", 1],
    ["buyer's advisor", 1],
    ['buyer until 2999', 1],
    ["buyer's former advisor", 0],
    ['buyer whose NDA lapsed', 0],
    ['coast viewer', 0],
    ['coast admin', 0],
  ] as const)
    assert.equal(await count(who, place, ids["part of buyer's advisor"]), sees, who);
});

check(
  'a released answer to a contradiction is for who is in the workspace, and another one for the deal’s side',
  async ({ ids, count }) => {
    for (const [who, released, kept] of [
      ['coast broker', 1, 1],
      ['coast seller', 1, 1],
      ["coast seller's advisor", 1, 1],
      ['coast viewer', 1, 0],
      ['buyer until 2999', 1, 0],
      ["buyer's advisor", 1, 0],
      ['buyer whose NDA lapsed', 0, 0],
      ['buyer whose NDA was revoked', 0, 0],
      ["buyer's former advisor", 0, 0],
      ['buyer who left', 0, 0],
      ['coast admin', 0, 0],
    ] as const) {
      assert.equal(await count(who, withId('contradiction_answers'), ids['released answer']), released, who);
      assert.equal(await count(who, withId('contradiction_answers'), ids['kept answer']), kept, who);
    }
    // Without a condition on the row, the select policy does not restrict an update.
    for (const [who, may] of [
      ['coast broker', 2],
      ['coast seller', 0],
      ["coast seller's advisor", 0],
      ['coast viewer', 0],
      ['buyer until 2999', 0],
    ] as const) {
      assert.equal(await count(who, 'update contradiction_answers set released_at = now()'), may, who);
      assert.equal(await count(who, 'delete from contradiction_answers'), may, who);
    }
  },
);

check('exclusivity ends with its time, but not for who is in diligence already', async ({ ids, count }) => {
  for (const [who, deal, may] of [
    ['buyer until 2999', 'coast deal', 1],
    ['buyer until 2999', 'held deal', 1],
    ['buyer until 2999', 'lapsed deal', 0],
    ['buyer whose NDA lapsed', 'coast deal', 0],
  ] as const)
    assert.equal(await count(who, 'select 1 from deal_stages where deal_id = $1', ids[deal]), may, `${who}: ${deal}`);
  for (const who of ['buyer until 2999', 'buyer whose NDA lapsed'])
    assert.equal(await count(who, withId('documents'), ids['coast selected_buyer_only']), 0, who);
});

check('that an exclusivity has lapsed is told to whoever sees the deal, and to nobody else', async ({ ids, count }) => {
  const lapsed = (who: string, deal: string) => count(who, 'select 1 where app.exclusivity_lapsed($1)', ids[deal]);
  for (const who of ['coast broker', 'coast seller', 'coast viewer', 'buyer until 2999', 'coast admin']) {
    assert.equal(await lapsed(who, 'lapsed deal'), 1, who);
    for (const deal of ['held deal', 'coast deal']) assert.equal(await lapsed(who, deal), 0, `${who}: ${deal}`);
  }
  for (const who of ['coast second', 'quiet admin', 'outsider']) assert.equal(await lapsed(who, 'lapsed deal'), 0, who);
});

check('everybody may leave a deal by themselves, and do nothing else to their own part', async (stage) => {
  const { scene, count, throughClient } = stage;
  const set = (status: string) => `update participants set status = '${status}' where id = $1`;
  for (const who of ['seller', 'exclusive buyer', 'new buyer', "exclusive buyer's advisor", 'viewer']) {
    const own = scene.participants[who];
    assert.equal(await count(who, set('removed'), own), 1, who);
    assert.equal(await throughClient(who, set('removed'), own), 0, who);
    for (const status of ['active', 'invited'])
      assert.equal(await count(who, set(status), own), 0, `${who}: ${status}`);
    const others = scene.participants[who === 'viewer' ? 'seller' : 'viewer'];
    assert.equal(await count(who, set('removed'), others), 0, who);
  }
  // An invitation is declined, and one who was removed is left as they are.
  for (const who of ['invited', 'removed'])
    assert.equal(await count(who, set('removed'), scene.participants[who]), 0, who);
});

check('an admin learns which deals one broker runs alone, and nobody else does', async (stage) => {
  const { ids, count, throughClient } = stage;
  const alone = 'select 1 from app.deals_run_alone($1, $2)';
  const asked = [ids['coast'], ids['coast second']];
  assert.equal(await count('coast admin', alone, ...asked), 4);
  for (const title of ['alone', 'with a suspended one', 'with one who left', 'with one from elsewhere'])
    assert.equal(await count('coast admin', `${alone} where title = $3`, ...asked, title), 1, title);
  assert.equal(await throughClient('coast admin', alone, ...asked), 0);
  for (const who of ['coast broker', 'coast second', 'quiet admin', 'outsider'])
    assert.equal(await count(who, alone, ...asked), 0, who);
});

check('what a table says of its own rows holds for the owner too', async ({ ids, scene, owner }) => {
  const violated = async (table: string, text: string, ...values: unknown[]): Promise<string> => {
    await owner.query('begin');
    try {
      await withoutTriggers(owner, [table]);
      await owner.query(text, values);
      return 'nothing';
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) throw error;
      return `${error.code} ${error.constraint}`;
    } finally {
      await owner.query('rollback');
    }
  };
  const copy = (table: string, columns: string, record: string): [string, string, unknown] => [
    table,
    `insert into ${table} (${columns}) select ${columns} from ${table} where id = $1`,
    scene.records[`${table}/${record}`],
  ];
  const month = 'deal_id, snapshot_id, period_start_date, period_end_date, currency';
  for (const [expected, table, text, ...values] of [
    ['23514 ndas_check', 'ndas', 'update ndas set signed_at = null where id = $1', ids['NDA of buyer until 2999']],
    [
      '23514 participants_check',
      'participants',
      `update participants set role = 'viewer' where id = $1`,
      ids["part of buyer's advisor"],
    ],
    [
      '23514 questions_check',
      'questions',
      'update questions set distributed_response = null where id = $1',
      ids['distributed question'],
    ],
    [
      '23514 exclusivities_check',
      'exclusivities',
      'update exclusivities set expires_at = granted_at where deal_id = $1',
      scene.deal,
    ],
    [
      '23514 pl_periods_check',
      'pl_periods',
      `update pl_periods set period_end_date = '2000-01-01' where deal_id = $1`,
      scene.deal,
    ],
    [
      '23514 customer_revenues_check',
      'customer_revenues',
      `update customer_revenues set period_end_date = '2000-01-01' where deal_id = $1`,
      scene.deal,
    ],
    [
      '23514 webhook_deliveries_check',
      'webhook_deliveries',
      'update webhook_deliveries set ended_at = now() where id = $1',
      scene.records['webhook_deliveries/of the webhook of the key'],
    ],
    [
      '23514 webhook_endpoints_check',
      'webhook_endpoints',
      `update webhook_endpoints set off_reason = 'asked' where id = $1`,
      scene.records['webhook_endpoints/of the key'],
    ],
    [
      '23514 webhook_endpoints_check',
      'webhook_endpoints',
      `update webhook_endpoints set state = 'off', off_reason = 'asked' where id = $1`,
      scene.records['webhook_endpoints/of the key'],
    ],
    [
      '23514 webhook_endpoints_claim_check',
      'webhook_endpoints',
      'update webhook_endpoints set claim = gen_random_uuid() where id = $1',
      scene.records['webhook_endpoints/of the key'],
    ],
    [
      '23505 pl_periods_snapshot_id_period_start_date_period_end_date_key',
      ...copy('pl_periods', `${month}, period_label, revenue`, 'a month'),
    ],
    [
      '23505 customer_revenues_snapshot_id_period_start_date_period_end__key',
      ...copy('customer_revenues', `${month}, customer_name, revenue_total`, 'a customer'),
    ],
    [
      '23505 offers_deal_id_buyer_user_id_revision_number_key',
      'offers',
      `insert into offers (deal_id, participant_id, buyer_user_id, revision_number, payload, is_current)
        select deal_id, participant_id, buyer_user_id, revision_number, payload, false from offers where id = $1`,
      scene.records["offers/the other buyer's"],
    ],
    [
      '23505 one_current_offer_a_buyer',
      'offers',
      `insert into offers (deal_id, participant_id, buyer_user_id, revision_number, payload)
        select deal_id, participant_id, buyer_user_id, 99, payload from offers where id = $1`,
      scene.records["offers/the other buyer's"],
    ],
  ] as [string, string, string, ...unknown[]][])
    assert.equal(await violated(table, text, ...values), expected);
});

check(
  'who is kept out of a brokerage sees none of its deals, and still those of others',
  async ({ ids, scene, barred }) => {
    const deal = ids['coast deal'];
    for (const [from, brokerage, may] of [
      ['coast', ids['coast']!, 0],
      ['a brokerage without deals', ids['quiet']!, 1],
      ['a brokerage with other deals', scene.brokerage, 1],
    ] as const) {
      const count = barred(brokerage);
      const sees = async (who: string, text: string, ...values: unknown[]) =>
        assert.equal(Math.min(1, await count(who, text, ...values)), may, `${who} kept out of ${from}: ${text}`);
      for (const who of ['coast admin', 'coast broker']) await sees(who, withId('brokerages'), ids['coast']);
      for (const who of ['coast broker', 'buyer until 2999', "buyer's advisor"]) {
        await sees(who, withId('deals'), deal);
        await sees(who, withId('documents'), ids['coast nda_gated']);
        await sees(
          who,
          `insert into findings (deal_id, category, title, severity) values ($1, 'tax', 'T', 'minor')`,
          deal,
        );
      }
      for (const who of ['buyer until 2999', "buyer's advisor"])
        await sees(who, withId('participants'), ids['part of buyer until 2999']);
      await sees('coast broker', `update closing_conditions set status = 'in_progress'`);
    }
  },
);

check('a brokerage that asks for a second factor keeps out who has shown none', async ({ ids, owner }) => {
  for (const [who, shown, barring] of [
    ['strict member', true, []],
    ['strict member', false, [ids['strict']]],
    ['strict member without', true, [ids['strict']]],
    ['strict member without', false, [ids['strict']]],
    ['strict former', false, []],
    ['coast broker', false, []],
  ] as const) {
    await owner.query('begin');
    await owner.query(
      `select app.enter_as_person($1, null, null, null, $2, m.asking, m.administered, null, null)
       from app.memberships_of($1) m`,
      [ids[who], shown],
    );
    const { rows } = await owner.query('select app.barred_in(app.identity()) as barring');
    await owner.query('rollback');
    assert.deepEqual(rows[0].barring, barring, `${who}, ${shown ? 'shown' : 'not shown'}`);
  }
});
