/** What the tables of docs/visibility.md are too coarse for: people between two roles, and records between two states. */

import assert from 'node:assert/strict';
import pg from 'pg';
import type { Scene } from './scene.ts';
import type { Check, Stage } from './stage.ts';

/** Adds to the scene what the checks below look at, as its owner; the ids, by name. */
export async function setParticulars(owner: pg.ClientBase, scene: Scene): Promise<Record<string, string>> {
  const ids: Record<string, string> = {};
  const add = async (name: string, table: string, values: Record<string, unknown>): Promise<string> => {
    const columns = Object.keys(values);
    const { rows } = await owner.query(
      `insert into ${table} (${columns.join(', ')}) values (${columns.map((_, index) => `$${index + 1}`).join(', ')}) returning *`,
      Object.values(values),
    );
    return (ids[name] = (rows[0].id ?? '') as string);
  };
  const { brokerage, deal, people, participants, records } = scene;

  // A brokerage without a deal, with one member of each role, a client shared with it, and a contact.
  await add('quiet', 'brokerages', { slug: 'quiet', name: 'Quiet Brokers' });
  for (const role of ['admin', 'broker', 'staff']) {
    await add(`quiet ${role}`, 'users', { email: `quiet-${role}@example.test`, name: `The quiet ${role}` });
    await add('', 'members', { brokerage_id: ids['quiet'], user_id: ids[`quiet ${role}`], role });
  }
  await add('shared client', 'connected_clients', {
    created_by: ids['quiet admin'],
    brokerage_id: ids['quiet'],
    name: 'Shared',
    redirect_uris: ['https://client.example/callback'],
  });
  await add('deleted client', 'connected_clients', {
    created_by: ids['quiet admin'],
    name: 'Deleted',
    redirect_uris: ['https://client.example/callback'],
    deleted_at: new Date(),
  });
  await add('quiet contact', 'contacts', { brokerage_id: ids['quiet'], type: 'person', display_name: 'Quiet' });
  await add('archived', 'contacts', {
    brokerage_id: brokerage,
    type: 'person',
    display_name: 'Gone',
    archived_at: new Date(),
  });

  // A member of the brokerage who is a buyer on the deal.
  await add('buying member', 'users', { email: 'buying-member@example.test', name: 'A buying member' });
  await add('', 'members', { brokerage_id: brokerage, user_id: ids['buying member'], role: 'staff' });
  await add("the buying member's part", 'participants', {
    deal_id: deal,
    user_id: ids['buying member'],
    role: 'buyer',
    status: 'active',
  });

  // A deal whose selected buyer has no NDA, and an advisor of somebody who has left it.
  const bare = await add('bare', 'deals', { organization_id: brokerage, title: 'Chandlery', state: 'diligence' });
  await add('', 'participants', { deal_id: bare, user_id: people['colleague'], role: 'broker', status: 'active' });
  await add('bare buyer', 'participants', {
    deal_id: bare,
    user_id: people['new buyer'],
    role: 'buyer',
    status: 'active',
  });
  await add('', 'exclusivities', {
    deal_id: bare,
    participant_id: ids['bare buyer'],
    buyer_user_id: people['new buyer'],
    expires_at: new Date(Date.now() + 86_400_000),
  });
  await add('departed', 'participants', {
    deal_id: bare,
    user_id: people['removed'],
    role: 'broker',
    status: 'removed',
  });
  await add('', 'participants', {
    deal_id: bare,
    user_id: people["broker's advisor"],
    role: 'advisor',
    status: 'active',
    advises: ids['departed'],
  });
  const body = { size_bytes: 1, media_type: 'application/pdf', category: 'tax' };
  for (const table of ['documents', 'production_documents']) {
    const more = table === 'documents' ? {} : { diligence_request: 'Returns' };
    for (const confidentiality of ['nda_gated', 'selected_buyer_only'])
      await add(`bare ${table} ${confidentiality}`, table, {
        deal_id: bare,
        filename: 'a.pdf',
        confidentiality,
        storage_key: `bare-${table}-${confidentiality}`,
        ...body,
        ...more,
      });
    await add(`removed ${table}`, table, {
      deal_id: deal,
      filename: 'a.pdf',
      confidentiality: 'public',
      storage_key: `removed-${table}`,
      removed_at: new Date(),
      ...body,
      ...more,
    });
  }

  // What somebody holds of a deal that is none of theirs any more.
  await add('', 'deal_opt_ins', { user_id: people['colleague'], deal_id: deal });
  await add('', 'answer_readings', { user_id: people['removed'], deal_id: bare, read_until: new Date(0) });
  const finding = records["findings/the broker's"];
  await add('comment', 'finding_comments', { finding_id: finding, body: 'Between us.' });
  ids['change'] = (await owner.query('select id from finding_changes where finding_id = $1', [finding])).rows[0].id;

  const distributed = records["questions/the other buyer's, distributed"];
  await add('', 'question_answers', { question_id: distributed, deal_id: deal, answer_text: 'Because.' });
  await add('rejected', 'questions', {
    deal_id: deal,
    category: 'tax',
    question_text: 'Why?',
    asked_by: people['other buyer'],
    participant_id: participants['other buyer'],
    status: 'rejected',
  });
  ids['stranger'] = (await owner.query(`select id from users where name = 'a stranger'`)).rows[0].id;
  return ids;
}

/** What is asked as somebody, by their user id or their name in the scene. */
type Ask = (who: string, text: string, ...values: unknown[]) => Promise<number>;

interface Given {
  readonly ids: Record<string, string>;
  readonly scene: Scene;
  /** How many rows a statement touches, taken back afterwards; 0 when it is refused. */
  readonly count: Ask;
}

function given({ server, scene, particulars: ids }: Stage): Given {
  const count: Ask = async (who, text, ...values) => {
    await server.query('begin');
    try {
      if (who === 'API key') await server.query('select app.enter_as(null, $1, $2)', [scene.key, scene.brokerage]);
      else await server.query('select app.enter_as($1)', [scene.people[who] ?? ids[who]]);
      return (await server.query(text, values)).rowCount ?? 0;
    } catch (error) {
      if (error instanceof pg.DatabaseError && (error.code === '42501' || error.code === 'DK001')) return 0;
      throw error;
    } finally {
      await server.query('rollback');
    }
  };
  return { ids, scene, count };
}

/** Each rejects when somebody sees or changes more, or less, than they should. */
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

check('an API key adds and reads contacts of one brokerage, not those that are archived', async ({ ids, count }) => {
  assert.equal(await count('API key', withId('contacts'), ids['archived']), 0);
  assert.equal(await count('admin', withId('contacts'), ids['archived']), 1);
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
