/** Entering with an access token: who may, and that nodes of this release and of the one before find, tell and record the same. */

import assert from 'node:assert/strict';
import type { Check, Stage } from './scene.ts';

/** Statements that switch the triggers of a table off around one. */
const alone = (table: string, statement: string): readonly string[] => [
  `alter table ${table} disable trigger user`,
  statement,
  `alter table ${table} enable trigger user`,
];

/** When nobody may enter. */
const shut: Readonly<Record<string, readonly string[]>> = {
  'when tokens expire': ['update vault.access_tokens set expires_at = app.now()'],
  'when tokens are revoked': ['update vault.access_tokens set revoked_at = app.now()'],
  'when sign-ins of clients are revoked': ['update vault.token_families set revoked_at = app.now()'],
  'when sign-ins of clients end': ['update vault.token_families set ends_at = app.now()'],
  'when tokens are for another resource': [`update vault.token_families set resource = 'https://elsewhere.example'`],
  'when clients are removed': alone('connected_clients', 'update connected_clients set deleted_at = app.now()'),
  'when clients are turned off': alone('connected_clients', 'update connected_clients set disabled = true'),
  'when clients are of somebody else': alone(
    'connected_clients',
    `update connected_clients set created_by = (select k.id from users k where k.name = 'a stranger')`,
  ),
  'when people are suspended': alone('users', 'update users set suspended_at = app.now()'),
  'when clients are of a brokerage that nobody is a member of any more': [
    ...alone(
      'connected_clients',
      `update connected_clients set brokerage_id = (select id from brokerages where slug = 'scene')`,
    ),
    ...alone('members', `update members set status = 'removed'`),
  ],
};

const asksForSecondFactor = 'update brokerages set requires_second_factor = true';

/** When some may, or all. */
const open: typeof shut = {
  'as it is': [],
  'when tokens hold a moment longer': [
    `update vault.access_tokens set expires_at = app.now() + interval '1 microsecond'`,
    `update vault.token_families set ends_at = app.now() + interval '1 microsecond'`,
  ],
  'when clients are of a brokerage': alone(
    'connected_clients',
    `update connected_clients set brokerage_id = (select id from brokerages where slug = 'scene')`,
  ),
  'when brokerages ask for a second factor': [asksForSecondFactor],
  'when they do, and everybody has one': [
    asksForSecondFactor,
    `insert into vault.totp (user_id, secret, confirmed_at) select id, 'none', app.now() from users on conflict do nothing`,
  ],
  'when they do, and nobody has finished setting one up': [
    asksForSecondFactor,
    `insert into vault.totp (user_id, secret) select id, 'none' from users on conflict do nothing`,
  ],
  'when everybody is removed from deals': [`update participants set status = 'removed' where status = 'active'`],
  'when those who are advised are removed': [
    `update participants set status = 'removed' where id in (select advises from participants)`,
  ],
  'when members are removed': alone('members', `update members set status = 'removed'`),
};

const here = `'https://tools.example', case when a.deal is not null then 'deals' end, a.deal`;
const record = `a.tool, 'subject', case when a.of_deal then a.deal end, '192.0.2.7', 'request'`;
const given = `(select $1 as digest, $2 as deal, $3 as tool, $4 as tells, $5 as of_deal, $6 as held) a`;
const recordId = `'0192f0c1-2345-7000-8000-000000000001'`;

const byThisRelease = `select app.enter_with_token(a.digest, ${here}, ${record}, ${recordId}, a.tells, 3, 2, a.held)::jsonb from ${given}`;
// Which named the role of an advisor also after those whom they advise had left, when they take no part any more.
const roleBefore = `case when exists (select from vault.deals_of_parts p where p.user_id = t.user_id and p.deal_id = a.deal) then t.deal_role end`;
const byTheOneBefore = `select jsonb_build_array(t.user_id, t.client_id, t.client_name, t.family_id, t.scopes, t.expires_at::text, t.user_name, ${roleBefore},
    case when t.told::text = 'null' then 'false' else t.told::jsonb end)
  from ${given} cross join lateral app.enter_with_access_token(a.digest, ${here}, ${record}, a.tells, 3, 2, a.held, ${recordId}) t`;

/** Functions that enter in one of the two ways, say what came of it and take it back: planned once, not at each of some thousand calls. */
const ways = [
  ['now', byThisRelease],
  ['before', byTheOneBefore],
] as const;
const entering = ways.map(
  ([name, text]) => `create function pg_temp.outcome_${name}(bytea, uuid, text, text, boolean, text[]) returns jsonb
  language plpgsql as $$
  declare
    answer jsonb;
  begin
    perform set_config('dealkeep.identity', '', true), set_config('dealkeep.seal', '', true);
    answer := (${text});
    raise exception using errcode = 'DK999', message = jsonb_build_object('answer', answer, 'identity', current_setting('dealkeep.identity'),
      'sealed', app.identity(), 'waits', current_setting('synchronous_commit'),
      'records', (select jsonb_agg(r) from audit_records r where r.request_id = 'request'));
  exception
    when sqlstate 'DK999' then return sqlerrm;
    when others then return jsonb_build_object('failure', sqlstate || ' ' || sqlerrm);
  end
  $$`,
);

/** With every person's token, about some deals, each way of asking: what a tool tells, whose record is of that deal or of none, and which books the node holds. */
const outcomes = `select p.name as who, v.what, d.deal, n.outcome as now, b.outcome as before
  from unnest($1::text[], $2::bytea[]) p (name, digest)
  cross join unnest($3::uuid[]) d (deal)
  cross join lateral (values
    ('tells of the deal', 'svc_deals_get', 'deal', true, null::text[]),
    ('tells of the deal, with a record of none', 'svc_deals_get', 'deal', false, null),
    ('tells of the offers', 'svc_offers_list', 'offers', true, null),
    ('tells of offers whose books are not held', 'svc_offers_list', 'offers', true, '{}'),
    ('tells of offers whose books are held', 'svc_offers_list', 'offers', true, array[vault.digest_of_books(d.deal, true, 3, 2), 'another']),
    ('tells nothing', 'svc_documents_list', null, true, null),
    ('tells of the deal, without a record', null, 'deal', true, null),
    ('leaves no record', null, null, true, null)) v (what, tool, tells, of_deal, held)
  cross join lateral (select pg_temp.outcome_now(p.digest, d.deal, v.tool, v.tells, v.of_deal, v.held) as outcome offset 0) n
  cross join lateral (select pg_temp.outcome_before(p.digest, d.deal, v.tool, v.tells, v.of_deal, v.held) as outcome offset 0) b`;

interface Outcome {
  readonly answer?: unknown[] | null;
  readonly records?: unknown[] | null;
  readonly waits?: string;
}

async function outcomesOf(
  { owner, scene }: Stage,
  who: readonly string[],
  changes: readonly string[],
  deals: readonly (string | null)[],
) {
  await owner.query('begin');
  try {
    await owner.query(entering.join(';'));
    await owner.query('set local synchronous_commit = on');
    const { rows: tokens } = await owner.query<{ digest: Buffer }>(
      'select app.token_of(person) as digest from unnest($1::uuid[]) with ordinality p (person, place) order by place',
      [who.map((name) => scene.people[name])],
    );
    for (const change of changes) await owner.query(change);
    const values = [who, tokens.map(({ digest }) => digest), deals];
    return (await owner.query<{ who: string; what: string; now: Outcome; before: Outcome }>(outcomes, values)).rows;
  } finally {
    await owner.query('rollback');
  }
}

export const enteringChecks: Check[] = [
  {
    title: 'who may not enter with a token is nobody, and leaves no record',
    run: async (stage) => {
      const nobody = { answer: null, identity: '', sealed: null, records: null };
      for (const [moment, changes] of Object.entries(shut))
        for (const { who, what, now, before } of await outcomesOf(stage, ['admin', 'broker', 'other buyer'], changes, [
          stage.scene.deal,
        ])) {
          const { waits: _, ...found } = now;
          assert.deepEqual(found, nobody, `${who} ${what} ${moment}`);
          assert.equal(before.answer, null, `${who} ${what} ${moment}, before`);
        }
    },
  },
  {
    title: 'who enters with a token is found, told and recorded as by nodes of the release before',
    run: async (stage) => {
      const everybody = Object.keys(stage.scene.people);
      const { deal } = stage.scene;
      const nowhere = '00000000-0000-0000-0000-000000000000';
      for (const [moment, changes] of Object.entries(open)) {
        const found = await outcomesOf(stage, everybody, changes, [deal, nowhere, null]);
        for (const { who, what, now, before } of found) assert.deepEqual(now, before, `${who} ${what} ${moment}`);
        assert.ok(
          found.some(({ now }) => now.records),
          `nobody enters ${moment}`,
        );
      }
    },
  },
];
