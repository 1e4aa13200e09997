/** Attempts to get around the policies, by a person who can send any SQL as the server's role. */

import assert from 'node:assert/strict';
import pg from 'pg';
import { keyScopes } from '../../server/domain/clients/key-scopes.ts';
import type { Check, Stage } from './scene.ts';
import { enterAsKey } from './stage.ts';

type Sent = [text: string, values?: unknown[]];

interface Attempts extends Stage {
  /** Runs the statements as the caller in one transaction that is rolled back; returns the rows of the last one. */
  as(caller: string, ...statements: Sent[]): Promise<unknown[]>;
  /** How many deals the entered caller sees. */
  deals(): Promise<number | null>;
}

function toolsOf(stage: Stage): Attempts {
  const { server, scene } = stage;
  return {
    ...stage,
    async as(caller, ...statements) {
      await server.query('begin');
      try {
        await server.query('select app.enter_as($1)', [scene.people[caller]]);
        let rows: unknown[] = [];
        for (const [text, values] of statements) rows = (await server.query(text, values)).rows;
        return rows;
      } finally {
        await server.query('rollback');
      }
    },
    deals: async () => (await server.query('select id from deals')).rowCount,
  };
}

/** What a client could tell apart: the code of the error and its message. */
async function refusal(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt;
    return 'passed';
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    return `${error.code} ${error.message}`;
  }
}

const nowhere = '01900000-0000-7000-8000-000000000000';

/** Each rejects when a person got around the policies. */
export const circumventions: Check[] = [];

function check(title: string, run: (tools: Attempts) => Promise<void>): void {
  circumventions.push({ title, run: (stage) => run(toolsOf(stage)) });
}

check('an identity ends with its transaction', async ({ server, scene, as, deals }) => {
  assert.ok(Number((await as('broker', ['select id from deals'])).length) > 0);
  assert.equal(await deals(), 0);
  await server.query('begin');
  await server.query('select app.enter_as($1)', [scene.people['broker']]);
  await server.query('commit');
  assert.equal(await deals(), 0);
});

check('an identity made up by hand, with or without a seal, is nobody', async ({ server, scene, deals }) => {
  for (const seal of ['', '0'.repeat(64)]) {
    await server.query(`select set_config('dealkeep.identity', $1, false), set_config('dealkeep.seal', $2, false)`, [
      `${scene.people['broker']},,,,`,
      seal,
    ]);
    assert.equal(await deals(), 0);
  }
});

check(
  'an identity and seal kept from an earlier transaction are nobody in the next',
  async ({ server, scene, as, deals }) => {
    await server.query('begin');
    await server.query('select app.enter_as($1)', [scene.people['broker']]);
    const { rows } = await server.query(
      `select current_setting('dealkeep.identity') as identity, current_setting('dealkeep.seal') as seal`,
    );
    assert.ok(Number(await deals()) > 0);
    await server.query('commit');
    await server.query(`select set_config('dealkeep.identity', $1, false), set_config('dealkeep.seal', $2, false)`, [
      rows[0].identity,
      rows[0].seal,
    ]);
    assert.equal(await deals(), 0);
    // What is left on the session does not affect the next caller who enters either.
    assert.deepEqual(await as('outsider', ['select id from deals']), []);
    assert.ok(Number((await as('broker', ['select id from deals'])).length) > 0);
    await server.query(`select set_config('dealkeep.identity', '', false), set_config('dealkeep.seal', '', false)`);
  },
);

check('the server cannot seal an identity, read the secret, or enter as whom it likes', async ({ server, scene }) => {
  for (const text of [
    `select app.seal_of('x', '')`,
    'select * from vault.seal',
    `select app.enter('${scene.people['broker']}', null, null, null, null)`,
  ])
    assert.match(await refusal(server.query(text)), /^42501 /);
});

check('a connection after an error carries nobody', async ({ server, scene, deals }) => {
  await server.query('begin');
  await server.query('select app.enter_as($1)', [scene.people['broker']]);
  assert.match(await refusal(server.query('select 1 / 0')), /^22012 /);
  await server.query('rollback');
  assert.equal(await deals(), 0);
});

check('tables and functions put in the way by a search path change nothing', async ({ server, scene, as }) => {
  await server.query('create temporary table participants (like public.participants)');
  await server.query(
    `insert into pg_temp.participants (id, deal_id, user_id, role, status, created_at, updated_at, brokerage_id)
      values ($1, $1, $2, 'broker', 'active', now(), now(), $1)`,
    [scene.deal, scene.people['outsider']],
  );
  assert.deepEqual(await as('outsider', ['select id from public.deals']), []);
  await server.query('drop table pg_temp.participants');
  assert.match(
    await refusal(server.query('create function public.now() returns timestamptz language sql as $$ select null $$')),
    /^42501 /,
  );
  await server.query('set search_path = pg_catalog');
  assert.ok(Number((await as('broker', ['select id from public.deals'])).length) > 0);
  assert.deepEqual(await as('outsider', ['select id from public.deals']), []);
  await server.query('reset search_path');
});

check('the server cannot switch security off or become the owner', async ({ owner, server }) => {
  await server.query('set row_security = off');
  assert.match(await refusal(server.query('select * from deals')), /^42501 /);
  await server.query('reset row_security');
  const { rows } = await owner.query('select current_user as owner');
  assert.match(await refusal(server.query(`set role ${rows[0].owner}`)), /^42501 /);
  assert.match(await refusal(server.query('alter table deals disable row level security')), /^42501 /);
});

check('nobody is made a member or a participant without accepting', async ({ owner, scene, as }) => {
  const { outsider, removed } = scene.people;
  await owner.query(
    `insert into members (brokerage_id, user_id, role, status) values ($1, $2, 'admin', 'invited'), ($1, $3, 'staff', 'removed')`,
    [scene.brokerage, outsider, removed],
  );
  const join = (caller: string, id: string | undefined) =>
    refusal(as(caller, [`update members set status = 'active' where user_id = $1 returning 1`, [id]]));
  for (const id of [outsider, removed])
    assert.equal(await join('admin', id), 'DK001 Only the person invited can accept an invitation.');
  // The invited person is no admin yet, so they cannot change the row either, only accept by the link.
  assert.deepEqual(await as('outsider', [`update members set status = 'active' returning 1`]), []);
  assert.deepEqual(
    await as('admin', [`update members set status = 'removed' where user_id = $1 returning status`, [outsider]]),
    [{ status: 'removed' }],
  );
  await owner.query('delete from members where user_id = any ($1)', [[outsider, removed]]);
  assert.equal(
    await refusal(
      as('broker', [`update participants set status = 'active' where id = $1`, [scene.participants['invited']]]),
    ),
    'DK001 Only the person invited can accept an invitation.',
  );
});

check('no row is moved into another tenant or deal', async ({ scene, as }) => {
  const elsewhere = scene.records['brokerages/another brokerage'];
  for (const text of [
    `update contacts set brokerage_id = '${elsewhere}'`,
    `update deals set organization_id = '${elsewhere}'`,
    `update documents set deal_id = '${scene.idle}'`,
    `update questions set deal_id = '${scene.idle}'`,
    `update participants set deal_id = '${scene.idle}'`,
    `update members set brokerage_id = '${elsewhere}'`,
  ])
    assert.match(await refusal(as('broker', [text])), /^42501 /, text);
  assert.match(
    await refusal(
      as('admin', [`insert into contacts (brokerage_id, type, display_name) values ('${elsewhere}', 'person', 'X')`]),
    ),
    /^42501 /,
  );
});

check('what exists elsewhere is refused in the words of what does not exist', async ({ scene, as }) => {
  const foreign = scene.records['deals/a deal of another brokerage'];
  const attempts: ((deal: string) => [string, unknown[]])[] = [
    (deal) => [`insert into questions (deal_id, category, question_text) values ($1, 'tax', 'Which?')`, [deal]],
    (deal) => [`insert into offers (deal_id, payload) values ($1, '{}')`, [deal]],
    (deal) => [
      `insert into normalizations (deal_id, period_label, adjustment_category, adjustment_amount)
      values ($1, 'FY', 'other', 1)`,
      [deal],
    ],
    (deal) => [`insert into findings (deal_id, category, title, severity) values ($1, 'tax', 'T', 'minor')`, [deal]],
    (deal) => [
      `insert into financing_sources (deal_id, source_type, source_name, commitment_amount)
      values ($1, 'sba_7a', 'B', 1)`,
      [deal],
    ],
    (deal) => [`insert into closing_conditions (deal_id, name) values ($1, 'C')`, [deal]],
    (deal) => [
      `insert into ndas (deal_id, participant_id, terms) values ($1, $2, 'T')`,
      [deal, scene.participants['new buyer']],
    ],
    (deal) => [
      `insert into exclusivities (deal_id, participant_id, expires_at) values ($1, $2, now() + interval '1 day')`,
      [deal, scene.participants['new buyer']],
    ],
    (deal) => [
      `insert into documents (deal_id, filename, category, confidentiality, size_bytes, media_type, storage_key)
      values ($1, 'f', 'c', 'public', 1, 't', 'k')`,
      [deal],
    ],
    (deal) => [`select * from app.invite_to_deal($1, 'x@example.test', 'X', 'buyer', null)`, [deal]],
    (deal) => [`select app.audit('a', null, 'ok', null, $1, null, null, null)`, [deal]],
  ];
  for (const caller of ['broker', 'exclusive buyer', 'outsider'])
    for (const attempt of attempts)
      assert.equal(await refusal(as(caller, attempt(foreign!))), await refusal(as(caller, attempt(nowhere))));
});

check('references to records that one cannot see are refused like references to none', async ({ owner, scene, as }) => {
  const hiddenFinding = scene.records["findings/the broker's"];
  for (const finding of [hiddenFinding, nowhere])
    assert.match(
      await refusal(
        as('exclusive buyer', ['insert into finding_comments (finding_id, body) values ($1, $2)', [finding, 'X']]),
      ),
      /^42501 .*finding_comments/,
    );
  const stranger = (await owner.query(`select id from users where name = 'a stranger'`)).rows[0].id as string;
  const own = async (id: string) =>
    refusal(
      as('broker', [
        'insert into closing_conditions (deal_id, name, owner_user_id) values ($1, $2, $3)',
        [scene.deal, 'C', id],
      ]),
    );
  assert.match(await own(stranger), /^DK001 /);
  assert.equal(await own(stranger), await own(nowhere));
  const elsewhere = (
    await owner.query(
      `select p.id from participants p join deals d on d.id = p.deal_id where d.title = 'A deal elsewhere'`,
    )
  ).rows[0].id as string;
  const send = async (id: string) =>
    refusal(
      as('broker', ['insert into ndas (deal_id, participant_id, terms) values ($1, $2, $3)', [scene.deal, id, 'T']]),
    );
  assert.equal(await send(elsewhere), await send(nowhere));
});

check('a condition that fails on a hidden row is never tried on it', async ({ scene, as }) => {
  const hidden = scene.records["offers/the other buyer's"];
  assert.equal(
    (
      await as('exclusive buyer', [
        `select id from offers where 1 / (case when id = '${hidden}' then 0 else 1 end) = 1`,
      ])
    ).length,
    1,
  );
  assert.deepEqual(await as('exclusive buyer', [`select count(*)::int as n from offers`]), [{ n: 1 }]);
  assert.deepEqual(
    await as('exclusive buyer', [`select max(revision_number) as n from offers where deal_id = '${nowhere}'`]),
    [{ n: null }],
  );
});

check('statistics of the tables tell the server nothing', async ({ owner, server }) => {
  await owner.query('analyze users');
  assert.deepEqual((await server.query(`select * from pg_stats where schemaname = 'public'`)).rows, []);
});

check('an audit record is in the name of whoever entered, and stays as it was written', async ({ scene, as }) => {
  await as('seller', [`select app.audit('tried', null, 'ok', null, $1, null, null, null)`, [scene.deal]]);
  for (const text of [
    'update audit_records set outcome = $$x$$',
    'delete from audit_records',
    `insert into audit_records (action, outcome) values ('a', 'b')`,
  ])
    assert.match(await refusal(as('admin', [text])), /^42501 /);
});

check('an identity sealed with everything but the secret is nobody', async ({ server, scene, deals }) => {
  const parts = `convert_to($1, 'UTF8') || int4send(pg_backend_pid()) || timestamptz_send(transaction_timestamp())`;
  for (const seal of [`sha256(${parts})`, `sha256(${parts} || '\\x00')`, `sha256(convert_to($1, 'UTF8'))`]) {
    await server.query('begin');
    await server.query(
      `select set_config('dealkeep.identity', $1, true), set_config('dealkeep.seal', encode(${seal}, 'hex'), true)`,
      [`${scene.people['broker']},,,,`],
    );
    assert.equal(await deals(), 0);
    await server.query('rollback');
  }
});

check('a change that reads no column reaches no more than one that reads', async (stage) => {
  const { owner, server, scene } = stage;
  // A change that reads a column is held to the policies of SELECT, too.
  const { rows: changes } = await owner.query<{ change: string; column: string }>(
    `select format(case p.cmd when 'DELETE' then 'delete from %I' else 'update %1$I set %I = default' end, p.tablename, a.attname) as change,
       (select k.attname from pg_attribute k where k.attrelid = a.attrelid and k.attnum = 1) as column
     from (select distinct cmd, tablename from pg_policies
       where schemaname = 'public' and cmd in ('UPDATE', 'DELETE') and 'dealkeep_server' = any (roles)) p
     join pg_attribute a on a.attrelid = format('public.%I', p.tablename)::regclass and a.attnum > 0 and not a.attisdropped
     where case p.cmd when 'DELETE' then a.attnum = 1 else has_column_privilege('dealkeep_server', a.attrelid, a.attnum, 'UPDATE') end
     order by 1`,
  );
  assert.ok(changes.length > 30);
  const entering: [string, () => Promise<unknown>][] = [
    ...Object.entries(scene.people).map(([caller, id]): [string, () => Promise<unknown>] => [
      caller,
      () => server.query('select app.enter_as($1)', [id]),
    ]),
    ...keyScopes
      .filter((scope) => scope.endsWith(':write'))
      .map((scope): [string, () => Promise<unknown>] => [`a key for ${scope}`, () => enterAsKey(stage, [scope])]),
  ];
  // Records that somebody who no longer sees them asked or owns.
  const { rows: left } = await owner.query<{ id: string }>(
    `insert into questions (deal_id, participant_id, asked_by, category, question_text) values ($1, $2, $3, 'tax', 'Which?') returning id`,
    [scene.deal, scene.participants['removed'], scene.people['removed']],
  );
  const { rows: owned } = await owner.query<{ id: string }>(
    `insert into closing_conditions (deal_id, name, owner_user_id) values ($1, 'C', $2) returning id`,
    [scene.deal, scene.people['other buyer']],
  );
  const further: string[] = [];
  try {
    for (const [caller, enter] of entering) {
      await server.query('begin');
      try {
        await enter();
        const { rows: tried } = await server.query<{ reached: string }>(
          `select concat_ws(' ', touched, failure) as reached from app.attempts($1)`,
          [changes.flatMap(({ change, column }) => [change, `${change} where true or ${column} is null`])],
        );
        changes.forEach(({ change }, nth) => {
          const [blind, reading] = tried.slice(2 * nth, 2 * nth + 2).map(({ reached }) => reached);
          if (blind !== reading) further.push(`${caller}: ${change}: ${blind} instead of ${reading}`);
        });
      } finally {
        await server.query('rollback');
      }
    }
  } finally {
    await owner.query('delete from questions where id = $1', [left[0]?.id]);
    await owner.query('delete from closing_conditions where id = $1', [owned[0]?.id]);
  }
  assert.deepEqual(further, []);
});
