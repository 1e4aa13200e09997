/** Entering with an access token: who may enter, who is told about a deal, and which audit record is left. */

import assert from 'node:assert/strict';
import type { Check, Stage } from './scene.ts';

/** Wraps a statement so that it runs while the triggers of a table are disabled. */
const alone = (table: string, statement: string): readonly string[] => [
  `alter table ${table} disable trigger user`,
  statement,
  `alter table ${table} enable trigger user`,
];

/** Changes after which nobody may enter. */
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

/** Changes after which some people, or all, may enter. */
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
const record = `a.tool, a.subject, case when a.of_deal then a.deal end, '192.0.2.7', 'request'`;
const given = `(select $1 as digest, $2 as deal, $3 as tool, $4 as tells, $5 as of_deal, $6 as held, $7 as subject) a`;
const recordId = '0192f0c1-2345-7000-8000-000000000001';

const enters = `app.enter_with_token(a.digest, ${here}, ${record}, '${recordId}', a.tells, 3, 2, a.held)::jsonb`;

/**
 * Functions that enter, return the outcome and roll it back. As functions they are planned once, not at each of several
 * thousand calls.
 */
const functions = [
  `create function pg_temp.outcome(bytea, uuid, text, text, boolean, text[], text) returns jsonb language plpgsql as $$
  declare
    answer jsonb;
  begin
    perform set_config('dealkeep.identity', '', true), set_config('dealkeep.seal', '', true);
    answer := (select ${enters} from ${given});
    raise exception using errcode = 'DK999', message = jsonb_build_object('answer', answer, 'identity', current_setting('dealkeep.identity'),
      'sealed', app.identity(), 'waits', current_setting('synchronous_commit'),
      'records', (select jsonb_agg(r) from audit_records r where r.request_id = 'request'));
  exception
    when sqlstate 'DK999' then return sqlerrm;
    when others then return jsonb_build_object('failure', sqlstate || ' ' || sqlerrm);
  end
  $$`,
  // A caller who enters only for the deal is not asked for a second factor, but does not see the deals of a brokerage
  // that requires one.
  `create function pg_temp.in_sight(bytea, uuid) returns jsonb language plpgsql as $$
  begin
    perform set_config('dealkeep.identity', '', true), set_config('dealkeep.seal', '', true);
    perform app.enter_with_token($1, 'https://tools.example', 'deals', $2);
    raise exception using errcode = 'DK999', message = jsonb_build_object('sees', app.seen_deal($2) is not null,
      'books', (select b.digest from app.books_in_sight($2, 3, 2) b));
  exception when sqlstate 'DK999' then return sqlerrm;
  end
  $$`,
];

/**
 * The outcome for every person's token, each deal and each way of asking: what a tool tells, whether its record is of
 * that deal or of none, and which books the node holds.
 */
const outcomes = `select p.name as who, v.what, v.tool, v.subject, v.tells, v.of_deal as "ofDeal", v.held, d.deal, n.outcome as now, s.known
  from unnest($1::text[], $2::bytea[]) p (name, digest)
  cross join unnest($3::uuid[]) d (deal)
  left join lateral (
    select to_jsonb(k) as known from (
      select f.user_id, f.client_id, w.name as client_name, f.id as family_id, t.scopes, t.expires_at::text, u.name as user_name,
        (select o.role from vault.deals_of_parts o where o.user_id = f.user_id and o.deal_id = d.deal) as role,
        (select o.organization_id from deals o where o.id = d.deal) as tenant, app.now() as at,
        exists (select from members m join brokerages b on b.id = m.brokerage_id
          where m.user_id = f.user_id and m.status = 'active' and b.requires_second_factor) and not app.has_second_factor(f.user_id) as "owesFactor",
        i.sight ->> 'books' as books, (i.sight -> 'sees')::boolean as sees
      from vault.access_tokens t
      join vault.token_families f on f.id = t.family_id
      join vault.working_clients w on w.client_id = f.client_id and w.user_id = f.user_id
      join users u on u.id = f.user_id
      cross join lateral (select pg_temp.in_sight(p.digest, d.deal) as sight offset 0) i
      where t.digest = p.digest) k) s on true
  cross join lateral (values
    ('tells of the deal', 'svc_deals_get', 'subject', 'deal', true, null::text[]),
    ('tells of the deal, with a record of none', 'svc_deals_get', 'subject', 'deal', false, null),
    ('tells of the offers', 'svc_offers_list', null, 'offers', true, null),
    ('tells of offers whose books are not held', 'svc_offers_list', null, 'offers', true, '{}'),
    ('tells of offers whose books are held', 'svc_offers_list', null, 'offers', true, array[vault.digest_of_books(d.deal, true, 3, 2), 'another']),
    ('tells nothing', 'svc_documents_list', null, null, true, null),
    ('tells of the deal, without a record', null, null, 'deal', true, null),
    ('leaves no record', null, null, null, true, null)) v (what, tool, subject, tells, of_deal, held)
  cross join lateral (select pg_temp.outcome(p.digest, d.deal, v.tool, v.tells, v.of_deal, v.held, v.subject) as outcome offset 0) n`;

/** What the tables say about the caller and the deal. */
interface Known {
  readonly user_id: string;
  readonly client_id: string;
  readonly client_name: string;
  readonly family_id: string;
  readonly scopes: readonly string[];
  readonly expires_at: string;
  readonly user_name: string;
  readonly role: string | null;
  readonly tenant: string | null;
  readonly at: string;
  readonly owesFactor: boolean;
  readonly books: string | null;
  readonly sees: boolean;
}

interface Asked {
  readonly who: string;
  readonly what: string;
  readonly tool: string | null;
  readonly subject: string | null;
  readonly tells: 'deal' | 'offers' | null;
  readonly ofDeal: boolean;
  readonly held: readonly string[] | null;
  readonly deal: string | null;
  readonly now: Outcome;
  /** Null if the person may not enter. */
  readonly known: Known | null;
}

interface Outcome {
  readonly answer?: unknown[] | null;
  readonly identity?: string;
  readonly sealed?: string | null;
  readonly records?: unknown[] | null;
  readonly waits?: string;
  readonly failure?: string;
}

const nobody = { answer: null, identity: '', sealed: null, records: null };

/**
 * The expected outcome for a caller who owes no second factor. Only the kind of answer is compared here; `lists.ts`
 * compares its values.
 */
function expected({ tool, subject, tells, ofDeal, held, deal }: Asked, known: Known) {
  const isUnheld = tells === 'offers' && known.sees && held !== null && !held.includes(known.books ?? '');
  const isOnDeal = ofDeal && known.sees;
  const left = {
    id: recordId,
    at: known.at,
    brokerage_id: isOnDeal ? known.tenant : null,
    deal_id: isOnDeal ? deal : null,
    user_id: known.user_id,
    client_id: known.client_id,
    key_id: null,
    address: '192.0.2.7',
    request_id: 'request',
    action: `tool:${tool}`,
    subject_id: subject ?? (ofDeal && !isOnDeal ? deal : null),
    outcome: 'ok',
    details: {},
    noted: false,
  };
  const { user_id, client_id, client_name, family_id, scopes, expires_at, user_name, role } = known;
  return {
    found: [user_id, client_id, client_name, family_id, scopes, expires_at, user_name, role],
    told: tells === null || !known.sees ? 'nothing' : isUnheld ? 'which books are not held' : tells,
    records: tool === null || isUnheld ? null : [left],
    waits: tool === null ? 'on' : 'off',
  };
}

/** The actual outcome, in the same form. */
function outcomeOf({ now: { answer, records, waits } }: Asked) {
  const [told] = answer?.slice(8) ?? [];
  const isOfDeal = Array.isArray(told) && told.length === 12;
  return {
    found: answer?.slice(0, 8),
    told: told === null ? 'nothing' : told === false ? 'which books are not held' : isOfDeal ? 'deal' : 'offers',
    records,
    waits,
  };
}

async function outcomesOf(
  { owner, scene }: Stage,
  who: readonly string[],
  changes: readonly string[],
  deals: readonly (string | null)[],
) {
  await owner.query('begin');
  try {
    await owner.query(functions.join(';'));
    await owner.query('set local synchronous_commit = on');
    const { rows: tokens } = await owner.query<{ digest: Buffer }>(
      'select app.token_of(person) as digest from unnest($1::uuid[]) with ordinality p (person, place) order by place',
      [who.map((name) => scene.people[name])],
    );
    for (const change of changes) await owner.query(change);
    const values = [who, tokens.map(({ digest }) => digest), deals];
    return (await owner.query<Asked>(outcomes, values)).rows;
  } finally {
    await owner.query('rollback');
  }
}

export const enteringChecks: Check[] = [
  {
    title: 'who may not enter with a token is nobody, and leaves no record',
    run: async (stage) => {
      for (const [moment, changes] of Object.entries(shut))
        for (const { who, what, now } of await outcomesOf(stage, ['admin', 'broker', 'other buyer'], changes, [
          stage.scene.deal,
        ])) {
          const { waits: _, ...found } = now;
          assert.deepEqual(found, nobody, `${who} ${what} ${moment}`);
        }
    },
  },
  {
    title: 'who enters with a token is known by it, told of what they see, and leaves one record of a call',
    run: async (stage) => {
      const everybody = Object.keys(stage.scene.people);
      const { deal } = stage.scene;
      const nowhere = '00000000-0000-0000-0000-000000000000';
      for (const [moment, changes] of Object.entries(open)) {
        const found = await outcomesOf(stage, everybody, changes, [deal, nowhere, null]);
        for (const asked of found) {
          const { now, known } = asked;
          const about = `${asked.who} ${asked.what} of ${asked.deal} ${moment}`;
          if (!known) assert.deepEqual({ ...now, waits: undefined }, { ...nobody, waits: undefined }, about);
          else if (known.owesFactor && asked.tool)
            assert.match(now.failure ?? '', /^DK001 A second factor is required by: \S/, about);
          else {
            assert.deepEqual(outcomeOf(asked), expected(asked, known), about);
            // A caller who is answered everything by that statement has no identity in the statements after it.
            if (now.sealed) assert.ok(now.sealed.startsWith(`${known.user_id},${known.client_id},,,`), about);
          }
        }
        assert.ok(
          found.some(({ now }) => now.records),
          `nobody enters ${moment}`,
        );
      }
    },
  },
];
