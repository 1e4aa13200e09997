/**
 * The functions that read past the policies (022_lists_at_size.sql and later migrations) list exactly what the policies
 * show.
 */

import assert from 'node:assert/strict';
import {
  callerRole,
  callerSide,
  dealColumns,
  dealState,
  dealTables,
  dealUpdatedAt,
} from '../../server/domain/deals/deals.ts';
import { listedCounts } from '../../server/domain/deals/page.ts';
import { ndaStatusNow } from '../../server/domain/deals/participants.ts';
import { callers, type Check, type Stage } from './scene.ts';
import { enter, enterAsKey } from './stage.ts';

/**
 * SQL: the status of the NDA of participant `p` (the active one, otherwise the latest), if row-level security shows it
 * to the caller.
 */
const ndaTold = `case when p.role = 'buyer' and (p.deal_id = any ((select app.deals_as('broker', 'seller'))::uuid[])
    or p.id = any ((select app.principals())::uuid[]))
  then coalesce((select ${ndaStatusNow} from ndas n where n.participant_id = p.id
    order by n.status = 'active' desc, n.sent_at desc, n.id desc limit 1), 'none') end`;
/** SQL: the role of the person whom an advisor `p` advises, if row-level security shows that person. */
const sideAdvised = `case when p.role = 'advisor' then (select a.role from participants a where a.id = p.advises) end`;

/** Each rejects when a list has more or fewer rows or values than the caller could select. */
export const listChecks: Check[] = [];

/** Changes of the scene, keyed by a phrase for the scene after them. */
type Changes = Readonly<Record<string, readonly string[]>>;

/** Key of the changes after which a deal's participants are also administrators of an unrelated brokerage. */
const withAdministrators = 'when everything has an end, and participants administer another brokerage';

/**
 * No changes, and changes that add cases that the scene lacks; the owner makes them in the transaction of the
 * comparison.
 */
const changesOfScene: Changes = {
  'as it is': [],
  'with exclusivities and offers that have lapsed': [
    `update deal_stages set state = 'exclusivity'`,
    `update exclusivities set granted_at = app.now() - interval '9 days', expires_at = app.now() - interval '1 hour' where ended_at is null`,
    `update offers o set payload = payload || '{"expires_at": "2020-01-31T12:00:00Z"}' from users u where u.id = o.buyer_user_id and u.name = 'other buyer'`,
  ],
  'with exclusivities that run': [
    `update deal_stages set state = 'exclusivity'`,
    `update exclusivities set expires_at = app.now() + interval '9 days' where ended_at is null`,
  ],
  'when every condition is due, every NDA sent, and every contact has the same address': [
    `update contacts set email = 'Info@example.test'`,
    `update closing_conditions set deadline = (app.now() + interval '2 days')::date where status in ('open', 'in_progress')`,
    `update ndas set status = 'revoked', revoked_at = app.now() where status = 'active'`,
    `insert into ndas (deal_id, participant_id, terms, sent_at)
       select deal_id, participant_id, terms, app.now() - interval '1 hour' from ndas where revoked_at = app.now()`,
  ],
  'when buyers who signed and offered were removed and take part as viewers': [
    `update participants set role = 'viewer' where role = 'buyer'`,
  ],
  'when buyers who signed and offered were removed and take part as sellers': [
    `update participants set role = 'seller' where role = 'buyer'`,
  ],
  'when sellers were removed and take part as buyers': [`update participants set role = 'buyer' where role = 'seller'`],
  [withAdministrators]: [
    `insert into members (brokerage_id, user_id, role)
       select b.id, u.id, 'admin' from brokerages b, users u where b.slug = 'elsewhere' and u.name in ('broker', 'exclusive buyer', 'viewer')`,
    `update ndas set expires_at = app.now() + interval '3 days' where status = 'active'`,
    `update offers set payload = payload || jsonb_build_object('expires_at', to_char(app.now() at time zone 'UTC' + interval '4 days', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))`,
    `update closing_conditions set deadline = (app.now() - interval '2 days')::date where status in ('open', 'in_progress')`,
  ],
};

/** A further change for functions that tell what others did. */
const acted: Changes = {
  'when others have just asked, uploaded and found': [
    ['question.ask', 'questions'],
    ['document.upload', 'documents'],
    ['finding.add', 'findings'],
  ].map(
    ([action, table]) => `insert into audit_records (deal_id, action, subject_id, outcome, details)
        select r.deal_id, '${action}', r.id, 'done', '{}' from ${table} r`,
  ),
};

/**
 * What a function lists, what the caller selects of the same records, and changes of the scene for this comparison
 * only.
 */
interface Asked {
  readonly title: string;
  readonly listed: string;
  readonly selected: string;
  readonly more: Changes;
}

/** A way to enter, whichever caller entered before, and the parameters of the statements. */
interface Place {
  readonly enters: (caller: string) => Promise<unknown>;
  readonly values: readonly unknown[];
  /** The key of the only changes after which this way is used; optional, defaults to all. */
  readonly at?: string;
}

const rowsOf = (statement: string): string => `array(select to_jsonb(t)::text from (${statement}) t)`;

/**
 * Compares, for every caller, after all changes and for each of the places, what functions list with what the caller
 * selects.
 */
function compare(title: string, asked: readonly Asked[], places: (stage: Stage) => Promise<readonly Place[]>): void {
  const nth = listChecks.length;
  const every: Changes = Object.assign({}, changesOfScene, ...asked.map(({ more }) => more));
  const run = async (stage: Stage): Promise<void> => {
    const { server } = stage;
    const found = new Map(asked.map((one) => [one.title, 0]));
    const everywhere = await places(stage);
    for (const [after, statements] of Object.entries(every)) {
      const its = asked.filter(({ more }) => after in changesOfScene || after in more);
      // One statement, planned once for all changes with the same comparisons: planning and running many would take
      // most of the time.
      const text = `select ${its.flatMap(({ listed, selected }) => [rowsOf(listed), rowsOf(selected)]).join(', ')}`;
      const name = `list ${nth} ${asked.map((one) => Number(its.includes(one))).join('')}`;
      await server.query('begin');
      try {
        // A change that a rule of the deal forbids throws here: otherwise the scene would not be what the key says.
        for (const statement of statements) await server.query('select app.as_owner($1, null)', [statement]);
        for (const caller of callers) {
          // Each caller finds what the changes made, and nothing that earlier callers left.
          await server.query('savepoint caller');
          for (const { enters, values, at: only = after } of everywhere) {
            if (only !== after) continue;
            await enters(caller);
            const { rows } = await server.query<string[][]>({ name, text, values: [...values], rowMode: 'array' });
            for (const [at, { title: what }] of its.entries()) {
              const [one = [], other = []] = rows[0]!.slice(2 * at);
              assert.deepEqual(one, other, `${what}: ${caller}`);
              found.set(what, found.get(what)! + one.length);
            }
          }
          await server.query('rollback to caller');
        }
      } catch (error) {
        throw new Error(`${after}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
      } finally {
        await server.query('rollback');
      }
    }
    for (const [what, rows] of found) assert.ok(rows > 0, `${what}: nothing was listed for anybody`);
  };
  listChecks.push({ title, run });
}

/** Drops the identity with which an earlier caller entered. */
const leaves = `set_config('dealkeep.identity', '', true), set_config('search_path', 'public', true)`;

/** Compares what a function lists with everything that the caller sees, not narrowed to a deal. */
function check(
  title: string,
  listed: string,
  selected: string,
  values: (stage: Stage) => unknown[] = () => [],
  more: Changes = {},
): void {
  compare(title, [{ title, listed, selected, more }], async (stage) => {
    const { server, scene } = stage;
    const enters = async (caller: string) => {
      await server.query(`select ${leaves}`);
      // Contacts are the only list for keys.
      await (caller === 'API key' ? enterAsKey(stage, ['contacts:read']) : enter(stage, caller));
    };
    /** The same while the brokerage keeps the caller out until they show a second factor. */
    const entersKeptOut = async (caller: string) => {
      await enters(caller);
      const person = scene.people[caller];
      if (person !== undefined)
        await server.query('select app.enter_through($1, null, null, $2)', [person, [scene.brokerage]]);
    };
    return [
      { enters, values: values(stage) },
      { enters: entersKeptOut, values: values(stage), at: withAdministrators },
    ];
  });
}

/** Comparisons of functions that take a deal, made while narrowed to that deal. */
const narrowed: Asked[] = [];

/** Compares what a function tells people about the deal that it is given, narrowed to each deal in turn. */
function checkNarrowed(title: string, listed: string, selected: string, more: Changes): void {
  narrowed.push({ title, listed, selected, more });
}

const isActivity = `a.outcome = 'done' and a.action not like 'tool:%'`;

check(
  'app.deal_keys lists the deals that row-level security shows, with what the list is filtered and sorted by',
  `select k.id, k.title, k.asking_price, k.state, k.caller_role, k.created_at, k.active_at from app.deal_keys(null, true) k order by k.id`,
  `select d.id, d.title, d.asking_price, ${dealState} as state, ${callerRole} as caller_role, d.created_at, greatest(${dealUpdatedAt}, (
     select max(a.at) from audit_records a where a.deal_id = d.id and ${isActivity})) as active_at
   from ${dealTables} order by d.id`,
);

const withTheirBuyer = `(select array[u.id::text, coalesce(p.left_name, u.name), p.role] from participants p join users u on u.id = p.user_id
   where p.deal_id = d.id and p.user_id = x.buyer_user_id and p.joined_at is not null)`;

/** Changes of the records from which the tables behind lists are derived, made by the owner one after the other. */
const changesOfDeals: readonly string[] = [
  `update deals set title = 'Another title', industry = null, location = 'Elsewhere', asking_price = 7 where state <> 'closed'`,
  `update deals set summary = 'Changed' where state <> 'closed'`,
  `update deal_stages set state = 'closing', updated_at = app.now() + interval '1 minute'`,
  `update exclusivities set expires_at = expires_at + interval '1 day' where ended_at is null`,
  `update exclusivities set ended_at = app.now() where ended_at is null`,
  `delete from deal_stages`,
  `insert into participants (deal_id, user_id, role, status)
     select d.id, u.id, 'viewer', 'active' from deals d, (select id from users order by id limit 3) u where d.state <> 'closed' on conflict (deal_id, user_id) do nothing`,
  `insert into participants (deal_id, user_id, role, status)
     select d.id, u.id, 'viewer', 'invited' from deals d, (select id from users order by id desc limit 3) u where d.state <> 'closed' on conflict (deal_id, user_id) do nothing`,
  `update participants set status = 'active' where status = 'invited'`,
  `update questions set distributed_at = app.now() + interval '1 minute' where status = 'distributed'`,
  `update ndas set expires_at = app.now() + interval '3 days' where status = 'active'`,
  `insert into ndas (deal_id, participant_id, status, terms, sent_at, signed_at, signed_name, expires_at)
     select n.deal_id, n.participant_id, 'active', n.terms, n.sent_at, n.signed_at, n.signed_name, n.expires_at from ndas n where n.status = 'active'`,
  `delete from ndas n where n.status = 'active' and exists (select from ndas o where o.participant_id = n.participant_id and o.status = 'active' and o.id > n.id)`,
  // Advisors take part only while the people whom they advise do, leave with them, and may be back before them.
  ...[
    ['p.role <>', 'active', 'removed'],
    ['p.role <>', 'removed', 'invited'],
    ['p.role =', 'removed', 'invited'],
    ['p.role =', 'invited', 'active'],
    ['p.role <>', 'invited', 'active'],
    ['p.role <>', 'active', 'removed'],
  ].map(
    ([which, from, to]) => `update participants p set status = '${to}'
       where p.status = '${from}' and ${which} 'advisor' and (p.advises is not null or exists (select from participants a where a.advises = p.id))
         and p.deal_id in (select id from deals where state <> 'closed')`,
  ),
  `update participants set status = 'removed' where role in ('seller', 'advisor') and status = 'active'`,
  `update ndas set status = 'revoked', revoked_at = app.now() where status = 'active'`,
  `update deals set state = 'withdrawn' where state not in ('closed', 'withdrawn')`,
];

listChecks.push({
  title: 'what lists are read from is what participants, deals, stages and exclusivities say, after each change',
  run: async ({ owner }) => {
    // The range kept for answers may be wider than necessary, but must not miss any.
    const wrong = `select 'kept' as what, k.user_id, k.deal_id from (table vault.deals_of_people except table vault.deals_of_parts) k
      union all select 'there', t.user_id, t.deal_id from (table vault.deals_of_parts except table vault.deals_of_people) t
      union all (select 'part', p.user_id, p.deal_id from (
        select user_id, deal_id, participant_id, role, principal_id, principal_role from vault.parts
        except select user_id, deal_id, participant_id, role, principal_id, side from vault.deals_of_people) p)
      union all (select 'no part', p.user_id, p.deal_id from (
        select user_id, deal_id, participant_id, role, principal_id, side from vault.deals_of_people
        except select user_id, deal_id, participant_id, role, principal_id, principal_role from vault.parts) p)
      union all select 'answers', t.user_id, t.deal_id from vault.answers_of_parts t left join vault.answers_of_people k using (user_id, deal_id)
        where (k.at >= t.at and k.first_at <= t.first_at) is not true
      union all (select 'nda kept', k.user_id, k.deal_id from (table vault.ndas_of_people except table vault.ndas_of_parts) k)
      union all (select 'nda there', t.user_id, t.deal_id from (table vault.ndas_of_parts except table vault.ndas_of_people) t)
      union all select 'of nobody', k.user_id, k.deal_id from vault.answers_of_people k
        where not exists (select from participants p where p.user_id = k.user_id and p.deal_id = k.deal_id and p.status = 'active')`;
    await owner.query('begin');
    try {
      assert.deepEqual((await owner.query(wrong)).rows, [], 'as it is');
      for (const change of changesOfDeals) {
        const { rowCount } = await owner.query(change);
        assert.ok(rowCount, change);
        assert.deepEqual((await owner.query(wrong)).rows, [], change);
      }
    } finally {
      await owner.query('rollback');
    }
  },
});

for (const state of [null, 'listed', 'under_offer', 'exclusivity', 'diligence'])
  check(
    `app.latest_deals lists the latest deals that row-level security shows${state === null ? '' : ` as ${state}`}`,
    `select l.* from app.latest_deals($1, $2, 3) l`,
    `select d.id, d.title, ${dealState} as state, d.organization_id, x.buyer_user_id as exclusive_buyer_user_id,
       x.granted_at as exclusivity_granted_at, x.expires_at as exclusivity_expires_at, d.closed_at, d.created_at, ${dealUpdatedAt} as updated_at,
       ${callerRole} as caller_role, ${withTheirBuyer} as exclusive_buyer_person
     from ${dealTables} where ($1::text is null or ${dealState} = $1) and d.organization_id::text = $2 order by d.created_at desc, d.id desc limit 3`,
    ({ scene }) => [state, scene.brokerage],
  );

for (const pattern of [null, '%draft%'])
  check(
    `app.titles_in_sight lists the titles of deals that row-level security shows${pattern === null ? '' : ' which are like this'}`,
    'select s.title, s.total from app.titles_in_sight($1, 2) s',
    `select d.title, (count(*) over ())::int as total from deals d where $1::text is null or lower(d.title) like $1
     group by d.title order by max(d.created_at) desc, d.title limit 2`,
    () => [pattern],
  );

const documentsShown = ['simple', 'production'].map(
  (
    source,
  ) => `select t.id, t.filename, t.category, t.confidentiality, t.size_bytes::float8 as size_bytes, t.uploaded_at, '${source}' as source, t.media_type,
     d.id as deal_id, d.title as deal_title, d.created_at as deal_created_at from ${source === 'simple' ? 'documents' : 'production_documents'} t join deals d on d.id = t.deal_id`,
);
const documentsInOrder = `(${documentsShown.join(' union all ')}) f`;

check(
  'app.documents_in_sight lists the documents that row-level security shows, of one deal after the other',
  `select s.* from app.documents_in_sight(null, null, null, null, 500) s`,
  `select f.* from ${documentsInOrder} order by f.deal_created_at desc, f.deal_id desc, f.uploaded_at desc, f.id desc`,
);

check(
  'app.documents_in_sight goes on behind the document that it is given',
  `select s.* from (select f.* from ${documentsInOrder} order by f.deal_created_at desc, f.deal_id desc, f.uploaded_at desc, f.id desc offset 1 limit 1) l
   cross join lateral app.documents_in_sight(l.deal_created_at, l.deal_id, l.uploaded_at, l.id, 2) s`,
  `select f.* from ${documentsInOrder} order by f.deal_created_at desc, f.deal_id desc, f.uploaded_at desc, f.id desc offset 2 limit 2`,
);

check(
  'app.deal_rows says of each deal what row-level security shows of it, and how it stands as far as that shows it',
  `select r.* from app.deal_rows($1) r order by r.id`,
  `select d.id, d.organization_id, b.name as organization_name, d.title, d.industry, d.location, d.summary, d.asking_price, d.currency, d.needs_nda,
     ${dealState} as state, ${callerRole} as caller_role, ${callerSide} as side, x.buyer_user_id as exclusive_buyer_user_id,
     x.granted_at as exclusivity_granted_at, x.expires_at as exclusivity_expires_at, d.closed_at, d.created_at, ${dealUpdatedAt} as updated_at,${listedCounts('d.id')}
   from ${dealTables} join brokerages b on b.id = d.organization_id where d.id = any ($1) order by d.id`,
  ({ scene }) => [
    [scene.deal, ...Object.entries(scene.records).flatMap(([name, id]) => (name.startsWith('deals/') ? id : []))],
  ],
);

check(
  'nodes of the release before are told the same of the list of deals, by app.deals_in_sight and app.listed_deals',
  `select s.id, s.industry, s.state, s.side, s.exclusive_buyer_user_id, s.active_at, l.organization_name, l.questions_waiting, l.offers
   from app.deals_in_sight(null, true) s join app.listed_deals(array(select d.id from deals d)) l on l.id = s.id order by s.id`,
  `select r.id, r.industry, r.state, r.side, r.exclusive_buyer_user_id, k.active_at, r.organization_name, r.questions_waiting, r.offers
   from app.deal_keys(null, true) k join app.deal_rows(array(select d.id from deals d)) r on r.id = k.id order by r.id`,
);

check(
  'app.last_activity says when the last record was made that row-level security shows',
  `select l.deal_id, l.at from app.last_activity(array(select d.id from deals d)) l order by l.deal_id`,
  `select a.deal_id, max(a.at) as at from audit_records a join deals d on d.id = a.deal_id where ${isActivity} group by a.deal_id order by a.deal_id`,
);

/** Condition on audit records `r`: of the brokerage $1, and not of a deal that is hidden from the caller. */
const shownOfBrokerage = `r.brokerage_id = $1 and (r.deal_id is null or r.brokerage_id = any ((select app.brokerages_as('admin'))::uuid[])
  or exists (select from deals seen where seen.id = r.deal_id))`;
const manyDealsOfOthers: Changes = {
  'in a brokerage with many deals of others': [
    `insert into deals (organization_id, title) select d.organization_id, 'Of others ' || n
       from (select distinct organization_id from deals) d, generate_series(1, 40) n`,
  ],
};

check(
  'app.audit_of_brokerage lists the records that row-level security shows, and none of hidden deals',
  `select l.id from app.audit_of_brokerage($1, null, null, null, null, null, null, null, 500) l (id)`,
  `select r.id from audit_records r where ${shownOfBrokerage} order by r.at desc, r.id desc limit 500`,
  ({ scene }) => [scene.brokerage],
  manyDealsOfOthers,
);

/**
 * Prefixes of actions, each with whether the act was done: they match one kind of action, several, tool calls, or both.
 */
const auditFilters = `(values (1, 'question.', null::boolean), (2, 'd', true), (3, 'd', null), (4, 'tool:', true), (5, 't', null), (6, '', true),
  (7, null, true), (8, null, false), (9, 'd', false), (10, 'nothing.', null)) f (n, beginning, done)`;
check(
  'app.audit_of_brokerage finds the latest of each kind, and what was refused, among these',
  `select f.n, l.id from ${auditFilters} cross join lateral app.audit_of_brokerage($1, null, f.beginning, f.done, null, null, null, null, 7)
     with ordinality l (id, place) order by f.n, l.place`,
  `select f.n, l.id from ${auditFilters} cross join lateral (
     select r.at, r.id from audit_records r where ${shownOfBrokerage} and (f.beginning is null or starts_with(r.action, f.beginning))
       and (f.done is null or (r.outcome in ('done', 'ok', 'repeated')) = f.done)
     order by r.at desc, r.id desc limit 7) l order by f.n, l.at desc, l.id desc`,
  ({ scene }) => [scene.brokerage],
  {
    ...manyDealsOfOthers,
    'in a brokerage with many deals of others, on which one thing was done often': [
      ...Object.values(manyDealsOfOthers).flat(),
      `insert into audit_records (brokerage_id, deal_id, action, outcome)
         select d.organization_id, d.id, 'question.ask', 'done' from deals d, generate_series(1, 2000) where d.title = 'Of others 1'`,
    ],
    'when much was tried that was refused, and much repeated': [
      `insert into audit_records (brokerage_id, deal_id, user_id, action, outcome)
         select r.brokerage_id, r.deal_id, r.user_id, r.action, o.outcome from audit_records r, unnest('{refused,repeated}'::text[]) o (outcome)`,
    ],
  },
);

check(
  'app.contact_list lists the contacts that row-level security shows',
  `select c.id, c.display_name, c.email, c.phone, c.created_at from app.contact_list($1, false, '{}', 'created_at', null, null, 500) c`,
  `select c.id, c.display_name, c.email, c.phone, c.created_at::timestamptz as created_at from contacts c
   where c.brokerage_id = $1 and c.archived_at is null order by c.created_at, c.id`,
  ({ scene }) => [scene.brokerage],
);

check(
  'app.contact_list lists the archived contacts that row-level security shows people, by their names',
  `select c.id, c.display_name from app.contact_list($1, true, '{}', '-display_name', null, null, 500) c`,
  `select c.id, c.display_name from contacts c where c.brokerage_id = $1 and c.archived_at is not null
     and (select app.key_id()) is null order by app.folded("left"(c.display_name, 100)) desc, c.id desc`,
  ({ scene }) => [scene.brokerage],
);

for (const [how, pattern] of [
  ['frequent', '%number%'],
  ['seldom', '%number 999%'],
] as const)
  check(
    `app.contact_list finds the contacts that row-level security shows people by what is ${how}`,
    `select c.id, c.display_name from app.contact_list($1, false, array[$2], 'display_name', null, null, 30) c`,
    `select c.id, c.display_name from contacts c where c.brokerage_id = $1 and c.archived_at is null
       and app.contact_words(c.display_name, c.email, c.phone) like $2 order by app.folded("left"(c.display_name, 100)), c.id limit 30`,
    ({ scene }) => [scene.brokerage, pattern],
    {
      'among many': [
        `insert into contacts (brokerage_id, type, display_name) select b.id, 'person', 'Number ' || n from brokerages b, generate_series(1, 1100) n`,
      ],
    },
  );

for (const [which, condition, sort, order] of [
  ['false', 'c.archived_at is null', '-createdAt', 'c.created_at desc, c.id desc'],
  ['only', 'c.archived_at is not null', 'displayName', 'app.folded("left"(c.display_name, 100)), c.id'],
  ['true', 'true', 'updatedAt', 'c.updated_at, c.id'],
] as const)
  check(
    `app.contacts_that_fit lists the contacts that row-level security shows an API key (archived: ${which}, by ${sort})`,
    `select c.id, c.display_name, c.external_id, c.archived_at from app.contacts_that_fit('${which}', null, null, '{}', null, '${sort}', null, null, 500) c`,
    `select c.id, c.display_name, c.external_id, c.archived_at::timestamptz as archived_at from contacts c
     where ${condition} and (select app.key_id()) is not null order by ${order}`,
  );

check(
  'app.contacts_that_fit finds by address, words, type and time what row-level security shows an API key',
  `select c.id from app.contacts_that_fit('true', 'person', 'INFO@example.test', '{%contact%,%a.%}', '2000-01-01', 'updatedAt', null, null, 500) c`,
  `select c.id from contacts c where (select app.key_id()) is not null and c.type = 'person' and lower(c.email) = 'info@example.test'
     and lower(c.display_name) like '%contact%' and lower(c.display_name) like '%a.%' order by c.updated_at, c.id`,
);

check(
  'app.contacts_with_emails finds the contacts that row-level security shows',
  `select c.email, c.id from app.contacts_with_emails($1, '{info@example.test}') c`,
  `select distinct on (lower(c.email)) lower(c.email) as email, c.id from contacts c
   where c.brokerage_id = $1 and c.archived_at is null and c.email is not null order by lower(c.email), c.id`,
  ({ scene }) => [scene.brokerage],
);

check(
  'app.known_contacts finds by address, or by type, name and phone number, the contacts that row-level security shows',
  `select k.place, k.id, k.archived from app.known_contacts($1, (
     select jsonb_agg(jsonb_build_object('place', n, 'type', g.type, 'display_name', upper(g.display_name), 'email', upper(g.email), 'phone', g.phone))
     from (values (1, 'person', 'Anyone', 'info@example.test', null), (2, 'person', 'Known Twice', null, '+1 (614) 555-0142'),
       (3, 'company', 'Known Twice', null, '16145550142'), (4, 'person', 'Known Twice', null, null), (5, 'person', 'Put Away', null, null)) g (n, type, display_name, email, phone))) k
   order by k.place`,
  `select case when c.email is not null then 1 when c.display_name = 'Known Twice' then 2 else 5 end as place, c.id, c.archived_at is not null as archived
   from contacts c where c.brokerage_id = $1
     and c.id = any (array[
       (select e.id from contacts e where e.brokerage_id = $1 and lower(e.email) = 'info@example.test' order by e.archived_at is not null, e.id limit 1),
       (select e.id from contacts e where e.brokerage_id = $1 and e.display_name = 'Known Twice' order by e.id limit 1),
       (select e.id from contacts e where e.brokerage_id = $1 and e.display_name = 'Put Away')])
   order by 1`,
  ({ scene }) => [scene.brokerage],
  {
    'among those by name': [
      `insert into contacts (brokerage_id, type, display_name, phone, archived_at)
       select b.id, 'person', v.name, v.phone, v.archived_at
       from brokerages b, (values ('Known Twice', '1 614 555 0142', null), ('Put Away', null, app.now())) v (name, phone, archived_at)`,
    ],
  },
);

const as = (role: string): string => `any ((select app.deals_acting_as('${role}'))::uuid[])`;
const unsigned = `t.status = 'sent' and (t.expires_at is null or t.expires_at > app.now())`;
const awaited = `exists (select from participants p where p.id = t.participant_id and p.role = 'buyer' and p.status <> 'removed')`;
const waiting = (kind: string, since: string, what: string): string =>
  `select '${kind}' as kind, t.deal_id, count(*)::int as count, null::timestamptz as due_at, min(${since}) as waiting_since
   from ${what} group by t.deal_id`;
const changes = `exclusivities x join offers t on t.participant_id = x.participant_id and t.is_current
  where x.ended_at is null and not exists (select from offer_decisions c where c.offer_id = t.id) and app.accepted_offer(t.deal_id) is not null`;

const queued = `select w.kind, w.deal_id, d.title as deal_title, w.count, w.due_at, w.waiting_since
   from (${[
     waiting(
       'questions_to_review',
       't.asked_at',
       `questions t where ${awaited} and t.status = 'pending_broker_review' and t.deal_id = ${as('broker')}`,
     ),
     waiting(
       'questions_to_answer',
       't.updated_at',
       `questions t where ${awaited} and t.status = 'with_seller' and t.deal_id = ${as('seller')}`,
     ),
     waiting(
       'answers_to_distribute',
       't.updated_at',
       `questions t where ${awaited} and t.status = 'answered' and t.deal_id = ${as('broker')}`,
     ),
     waiting(
       'answers_to_read',
       't.distributed_at',
       // Only a buyer's side can mark answers as read.
       `questions t where t.status = 'distributed' and t.participant_id = any ((select app.principals())::uuid[])
          and t.deal_id = any ((select app.deals_as('buyer'))::uuid[]) and app.is_unread(t.deal_id, t.participant_id, t.distributed_at)`,
     ),
     waiting(
       'ndas_to_sign',
       't.sent_at',
       `ndas t join participants p on p.id = t.participant_id
        where p.user_id = (select app.user_id()) and p.status = 'active' and ${unsigned}`,
     ),
     waiting('ndas_unsigned', 't.sent_at', `ndas t where t.deal_id = ${as('broker')} and ${unsigned}`),
     waiting(
       'offers_to_consider',
       't.submitted_at',
       `offers t join deals d on d.id = t.deal_id left join deal_stages g on g.deal_id = d.id
        where t.is_current and (t.deal_id = ${as('broker')} or t.deal_id = ${as('seller')}) and ${dealState} in ('listed', 'under_offer')
          and (t.payload ->> 'expires_at' is null or (t.payload ->> 'expires_at')::timestamptz > app.now())
          and not exists (select from offer_decisions c where c.offer_id = t.id and c.decision = 'declined')`,
     ),
     waiting('offer_changes_to_decide', 't.submitted_at', `${changes} and t.deal_id = ${as('broker')}`),
     waiting(
       'offer_changes_with_broker',
       't.submitted_at',
       `${changes} and (t.deal_id = any ((select app.deals_as('seller'))::uuid[]) or t.participant_id = any ((select app.principals())::uuid[]))`,
     ),
     `select 'conditions_due', t.deal_id, count(*)::int, min(app.end_of(t.deadline)), null
      from closing_conditions t
      where t.status in ('open', 'in_progress') and app.end_of(t.deadline) <= app.now() + interval '7 days'
        and (t.owner_user_id = (select app.user_id())
          or (t.deal_id = ${as('broker')} and (t.owner_user_id is null or app.end_of(t.deadline) <= app.now()
            or exists (select from participants p where p.deal_id = t.deal_id and p.user_id = t.owner_user_id and p.status <> 'active'))))
      group by t.deal_id`,
     waiting(
       'findings_open',
       't.created_at',
       `findings t where t.status = 'open' and t.owner_user_id = (select app.user_id())`,
     ),
   ].join('\n union all ')}) w
   join deals d on d.id = w.deal_id and d.state not in ('closed', 'withdrawn')
   order by coalesce(w.due_at, w.waiting_since), w.deal_id, w.kind`;
check(
  'app.home counts what waits among the records that row-level security shows',
  `select q.kind, q.deal_id, q.deal_title, q.count, q.due_at, q.waiting_since from app.home(true) q where q.part = 'queue'`,
  queued,
);

const states = `select ${dealState} as state, count(*)::int as count from ${dealTables} group by 1 order by 1`;
const running = `select d.id as deal_id, d.title as deal_title, x.expires_at from ${dealTables}
  where x.expires_at > app.now() and ${dealState} in ('exclusivity', 'diligence', 'closing') order by x.expires_at, d.id limit 20`;
const runs = `select d.* from deals d where d.state not in ('closed', 'withdrawn') and exists (
  select from participants p where p.deal_id = d.id and p.user_id = app.user_id() and p.role = 'broker' and p.status = 'active')`;
check(
  'app.books_of_deals_run tells the books that row-level security shows of the deals that the caller runs',
  `select b.deal_id, b.books from app.books_of_deals_run($1, 3, 20, 3) b order by b.deal_id`,
  `select d.id as deal_id, app.written_books(d.id, 3, 20, 0, 3) as books from deals d
   where d.id = any ($1) and d.id = any (app.deals_acting_as('broker')) and (select app.user_id()) is not null order by d.id`,
  ({ scene }) => [Object.entries(scene.records).flatMap(([name, id]) => (name.startsWith('deals/') ? id : []))],
);

check(
  'app.pipeline tells of the deals that the caller runs what row-level security shows of them',
  `select * from app.pipeline(50)`,
  `(select 'total' as part, null::uuid as id, null::text as title, sum(r.asking_price) as asking_price, r.currency, count(*)::int as deals,
      count(r.asking_price)::int as priced from (${runs}) r group by r.currency order by count(*) desc, r.currency)
   union all (select 'deal', r.id, r.title, r.asking_price, r.currency, null, null from (${runs}) r order by r.asking_price desc nulls last, r.id)`,
);
check(
  'app.home counts the deals that row-level security shows in the states that it shows',
  `select h.kind as state, h.count from app.home(true) h where h.part = 'state'`,
  states,
);
check(
  'app.home lists the exclusivities that row-level security shows',
  `select h.deal_id, h.deal_title, h.due_at as expires_at from app.home(true) h where h.part = 'exclusivity'`,
  running,
);

const inSight = `'select coalesce(jsonb_agg(to_jsonb(a)), ''[]'') from app.activity_in_sight() a'`;
const act = 'a.id, a.at, a.user_id, a.client_id, a.deal_id, a.action, a.subject_id, a.outcome, a.details';
check(
  'app.home lists the last records that row-level security shows, and what others did to records that the caller could open',
  `select ${act}, a.deal_title, a.is_own from app.home(true) a where a.part = 'activity'`,
  `with own as (select ${act}, d.title as deal_title, true as is_own from audit_records a join deals d on d.id = a.deal_id
     where ${isActivity} order by a.at desc, a.id desc limit 8)
   select * from (select * from own
     union all
     select ${act}, d.title, false from jsonb_to_recordset(app.as_owner(${inSight}, app.user_id())) a (id uuid, at timestamptz, user_id uuid,
       client_id uuid, deal_id uuid, action text, subject_id text, outcome text, details jsonb)
       join deals d on d.id = a.deal_id where app.user_id() is not null and a.id not in (select id from own)) a
   order by a.at desc, a.id desc limit 8`,
  () => [],
  acted,
);

const ownDeals = `select p.deal_id from participants p join deals d on d.id = p.deal_id
  where p.user_id = (select app.user_id()) and p.status = 'active' and d.state not in ('closed', 'withdrawn')`;
const ofOwnSide = `coalesce(t.participant_id = any ((select app.principals())::uuid[]), false)`;
const coming = (due: string): string => `${due} > app.now() and ${due} <= app.now() + interval '2 years'`;

check(
  'app.deadlines lists what ends or is due among the records that row-level security shows',
  `select l.subject, l.subject_id, l.deal_id, l.deal_title, l.due_at, l.due_on, l.own, l.begun_at, l.changed_at from app.deadlines() l`,
  `select w.subject, w.subject_id, w.deal_id, d.title as deal_title, w.due_at, w.due_on, w.own, w.begun_at, w.changed_at
   from (
     select 'offers' as subject, t.id as subject_id, t.deal_id, (t.payload ->> 'expires_at')::timestamptz as due_at, null::date as due_on,
       ${ofOwnSide} as own, t.submitted_at as begun_at, t.submitted_at as changed_at
     from offers t where t.is_current and ${coming(`(t.payload ->> 'expires_at')::timestamptz`)}
       and not exists (select from offer_decisions c where c.offer_id = t.id)
       and exists (select from participants p where p.id = t.participant_id and p.role = 'buyer' and p.status = 'active')
     union all
     select 'exclusivities', t.id, t.deal_id, t.expires_at, null, ${ofOwnSide}, t.granted_at, coalesce(t.changed_at, t.granted_at)
     from exclusivities t where t.ended_at is null and ${coming('t.expires_at')}
     union all
     select 'ndas', t.id, t.deal_id, t.expires_at, null, ${ofOwnSide}, t.signed_at, t.signed_at
     from ndas t where t.status = 'active' and ${coming('t.expires_at')}
     union all
     select 'closing_conditions', t.id, t.deal_id, app.end_of(t.deadline), t.deadline,
       t.owner_user_id is not distinct from (select app.user_id()), t.created_at, t.updated_at
     from closing_conditions t where t.status in ('open', 'in_progress')
       and t.deadline between (app.now() - interval '60 days')::date and (app.now() + interval '2 years')::date) w
   join deals d on d.id = w.deal_id
   where (select app.user_id()) is not null and w.deal_id in (${ownDeals})
   order by w.due_at, w.subject_id`,
);

check(
  'app.person_in_sight names the people of a deal whom row-level security shows there',
  `select x.person, app.person_in_sight(x.person, $1) as name from unnest($2::uuid[]) x (person) order by x.person`,
  `select x.person, (select coalesce(p.left_name, u.name) from participants p join users u on u.id = p.user_id
     where p.deal_id = $1 and p.user_id = x.person and p.joined_at is not null) as name
   from unnest($2::uuid[]) x (person) order by x.person`,
  ({ scene }) => [scene.deal, Object.values(scene.people)],
);

check(
  'app.people_on_deal names the people of a deal whom row-level security shows there',
  `select x.person, app.people_on_deal($1) -> x.person::text as known from unnest($2::uuid[]) x (person) order by x.person`,
  `select x.person, (select jsonb_build_array(u.id, coalesce(p.left_name, u.name), p.role, ${sideAdvised}) from participants p join users u on u.id = p.user_id
     where p.deal_id = $1 and p.user_id = x.person and p.joined_at is not null) as known
   from unnest($2::uuid[]) x (person) order by x.person`,
  ({ scene }) => [scene.deal, Object.values(scene.people)],
);

const narrowedChanges: Changes = {
  'when what needed an NDA needs none': ['update deals set needs_nda = not needs_nda'],
  'when deals are closed after their exclusivity has lapsed': [
    `update deal_stages set state = 'closing'`,
    `update exclusivities set granted_at = app.now() - interval '9 days', expires_at = app.now() - interval '1 hour' where ended_at is null`,
    `update deals set state = 'closed' where id in (select deal_id from deal_stages)`,
  ],
  'when the stage changed last, in an exclusivity that has lapsed': [
    `update exclusivities set granted_at = app.now() - interval '9 days', expires_at = app.now() - interval '1 hour' where ended_at is null`,
    `update deal_stages set state = 'exclusivity', updated_at = app.now() + interval '1 minute'`,
  ],
  'when exclusivities lapse in diligence': [
    `update deal_stages set state = 'diligence'`,
    `update exclusivities set granted_at = app.now() - interval '9 days', expires_at = app.now() - interval '1 hour' where ended_at is null`,
  ],
  'when exclusivities lapse on deals without a stage': [
    'delete from deal_stages',
    `update exclusivities set granted_at = app.now() - interval '9 days', expires_at = app.now() - interval '1 hour' where ended_at is null`,
  ],
  'when everybody on a deal is an admin of its brokerage': [
    `insert into members (brokerage_id, user_id, role, status, joined_at)
       select distinct d.organization_id, p.user_id, 'admin', 'active', app.now() from participants p join deals d on d.id = p.deal_id
       where p.status = 'active' on conflict (brokerage_id, user_id) do update set role = 'admin', status = 'active'`,
  ],
  'when admins advise a buyer with an offer who was removed': [
    `insert into participants (deal_id, user_id, role, status, advises)
       select distinct on (o.deal_id, m.user_id) o.deal_id, m.user_id, 'advisor', 'active', o.participant_id
       from offers o join deals d on d.id = o.deal_id join members m on m.brokerage_id = d.organization_id and m.role = 'admin'
       where o.is_current on conflict do nothing`,
    `update participants set status = 'removed' where role = 'buyer' and id in (select a.advises from participants a join members m
       on m.user_id = a.user_id and m.role = 'admin')`,
  ],
};
checkNarrowed(
  'narrowed to each deal, app.people_on_deal names the people of it whom row-level security shows there',
  `select k.named from app.people_on_deal($1) k (named) where k.named is not null`,
  `select k.named from (select jsonb_object_agg(u.id, jsonb_build_array(u.id, coalesce(p.left_name, u.name), p.role, ${sideAdvised})) as named
      from participants p join users u on u.id = p.user_id where p.deal_id = $1 and p.joined_at is not null) k
   where k.named is not null`,
  narrowedChanges,
);

const nameInSight = (
  person: string,
): string => `(select coalesce(p.left_name, u.name) from participants p join users u on u.id = p.user_id
   where p.deal_id = d.id and p.user_id = ${person} and p.joined_at is not null)`;
const instant = (column: string): string => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const offerChanges: Changes = {
  ...narrowedChanges,
  'when sources of financing were recorded, and some have ended': [
    `insert into financing_sources (deal_id, participant_id, source_type, source_name, commitment_amount, currency, commitment_status)
       select o.deal_id, o.participant_id, t.type, 'One more', 7, 'USD', t.status
       from offers o, (values ('seller_note', 'identified'), ('mezzanine', 'withdrawn')) t (type, status) where o.is_current`,
  ],
  'when a buyer has revised more often than are listed': [
    `insert into offers (deal_id, participant_id, buyer_user_id, revision_number, is_current, submitted_at, payload)
       select o.deal_id, o.participant_id, o.buyer_user_id, o.revision_number + r, false, o.submitted_at + r * interval '1 minute', o.payload
       from offers o, generate_series(1, 60) r where o.is_current`,
  ],
  'when what is agreed was proposed to be changed more often than are listed, and declined at last': [
    `create temporary table revised on commit drop as select * from offers where is_current`,
    `update offers set is_current = false where is_current`,
    `insert into offers (deal_id, participant_id, buyer_user_id, revision_number, is_current, submitted_at, payload)
       select o.deal_id, o.participant_id, o.buyer_user_id, o.revision_number + r, r = 60, o.submitted_at + r * interval '1 minute', o.payload
       from revised o, generate_series(1, 60) r`,
    `insert into offer_decisions (offer_id, deal_id, participant_id, decision)
       select o.id, o.deal_id, o.participant_id, 'declined' from offers o where o.is_current`,
  ],
};
checkNarrowed(
  'narrowed to each deal, app.offers_in_sight lists the offers that row-level security shows there, with whom it shows',
  `select s.* from app.offers_in_sight($1) s`,
  `select o.id, o.buyer_user_id, o.revision_number, o.is_current, o.submitted_at, o.payload::text as payload,
     (select jsonb_build_array(u.id, coalesce(p.left_name, u.name), p.role) from participants p join users u on u.id = p.user_id
        where p.deal_id = o.deal_id and p.user_id = o.buyer_user_id and p.joined_at is not null) as buyer, app.now() as told_at
   from (select * from offers where deal_id = $1
     order by is_current desc, (id = (select app.accepted_offer($1))) is true desc, submitted_at desc, id desc limit 51) o
   order by o.submitted_at desc, o.id desc`,
  offerChanges,
);

checkNarrowed(
  'narrowed to each deal, app.books_in_sight settles the books that row-level security shows there',
  `select s.digest, s.partial from app.books_in_sight($1, 3, 2) s`,
  `select encode(sha256(concat_ws(' ', d.id, d.currency,
       (select string_agg(concat_ws(' ', u.id, u.completed_at), ' ') from (
          select s.id, s.completed_at from accounting_snapshots s where s.deal_id = d.id and s.status = 'completed'
          order by s.completed_at desc, s.id desc limit 3) u), 'adjusted by',
       (select string_agg(n.id::text, ' ') from (
          select n.id from normalizations n where n.deal_id = d.id order by n.created_at desc, n.id desc limit 2) n))::bytea), 'hex') as digest,
     exists (select from pl_periods p join accounting_snapshots s on s.id = p.snapshot_id
       where p.deal_id = d.id and s.status <> 'completed') as partial
   from deals d where d.id = $1`,
  {
    ...narrowedChanges,
    'when uploads with periods have not completed': [
      `update accounting_snapshots set status = 'failed', completed_at = null where id in (select snapshot_id from pl_periods)`,
    ],
  },
);

checkNarrowed(
  'narrowed to each deal, app.contradictions_in_sight tells the answers that row-level security shows there',
  `select s.told_all, s.may_answer, s.answers::text as answers from app.contradictions_in_sight($1) s`,
  `select d.id = any ((select app.deals_as('broker', 'seller'))::uuid[]) as told_all,
     d.state <> 'closed' and d.id = any ((select app.deals_acting_as('broker'))::uuid[]) as may_answer,
     (select coalesce(json_agg(json_build_object('contradiction', a.contradiction, 'figures', a.figures, 'status', a.status, 'why', a.why,
        'answered_by_name', ${nameInSight('a.answered_by')}, 'answered_at', ${instant('a.answered_at')},
        'released_by_name', ${nameInSight('a.released_by')}, 'released_at', ${instant('a.released_at')})), '[]')
      from (select * from contradiction_answers where deal_id = d.id limit 500) a)::text as answers
   from deals d where d.id = $1`,
  {
    ...narrowedChanges,
    'when answers are released': [
      `update contradiction_answers set released_at = app.now(), released_by = answered_by`,
    ],
  },
);

/** What the statement that enters with the caller's token tells; the caller has entered with it from then on. */
const told = (what: string): string => `(select t.entered -> 8 as told from (select app.enter_with_token(
     decode(nullif(current_setting('dealkeep.token', true), ''), 'hex'), 'https://tools.example', 'deals', $1, tells => ${what}) as entered offset 0) t
   where t.entered ->> 8 is not null)`;

checkNarrowed(
  'who enters with a token is told of the deal what row-level security shows of it',
  `select t.told::jsonb as told from ${told(`'deal'`)} t`,
  `select jsonb_build_array(s.id, s.title, s.state, s.organization_id, s.exclusive_buyer_user_id, s.exclusivity_granted_at::text,
     s.exclusivity_expires_at::text, s.closed_at::text, s.created_at::text, s.updated_at::text, s.people, s.listing) as told
   from (select ${dealColumns}, ${dealUpdatedAt} as updated_at,
       (select jsonb_agg(jsonb_build_array(p.person_id, p.role, p.status, case when p.joined_at is null then p.invited_name else coalesce(p.left_name, u.name) end, ${sideAdvised},
           ${ndaTold}, (select a.person_id from participants a where p.role = 'advisor' and a.id = p.advises))
          order by p.created_at, p.id)
        from participants p left join users u on u.id = p.user_id where p.deal_id = d.id) as people,
       (select jsonb_build_array(trim_scale(l.asking_price)::text, l.currency, l.industry, l.location, l.needs_nda, b.name)
        from deals l join brokerages b on b.id = l.organization_id where l.id = d.id) as listing
     from ${dealTables} where d.id = $1) s`,
  narrowedChanges,
);

checkNarrowed(
  'who enters with a token is told of the offers and the books what app.offers_in_sight, the decisions and app.books_in_sight tell',
  `select (t.told -> 0)::jsonb as offers, t.told ->> 1 as digest from ${told(`'offers', most_uploads => 3, most_adjustments => 2`)} t`,
  `select coalesce((select jsonb_agg(jsonb_build_array(s.id, s.buyer_user_id, s.revision_number, s.is_current, s.submitted_at::text, s.payload,
       case when s.is_current then s.buyer end, (select jsonb_build_array(c.decision, c.decided_at::text) from offer_decisions c where c.offer_id = s.id),
       (s.id = (select app.accepted_offer($1))) is true,
       s.is_current and not exists (select from participants p
         where p.deal_id = $1 and p.user_id = s.buyer_user_id and p.role = 'buyer' and p.status = 'active'), o.participant_id,
       case when s.is_current or s.id = (select app.accepted_offer($1)) then (
         select jsonb_agg(jsonb_build_array(t.source_type, t.currency, t.total) order by t.source_type, t.currency) from (
           select f.source_type, f.currency, sum(f.commitment_amount)::text as total from financing_sources f
           where f.deal_id = $1 and f.participant_id = o.participant_id and f.commitment_status <> all ('{expired,withdrawn}')
           group by f.source_type, f.currency) t) end)
       order by s.submitted_at desc, s.id desc) from app.offers_in_sight($1) s join offers o on o.id = s.id), 'null') as offers, b.digest
   from app.books_in_sight($1, 3, 2) b`,
  offerChanges,
);

checkNarrowed(
  'narrowed to each deal, app.brokerages_of_deals has its brokerage for whoever takes part in it as far as row-level security shows',
  `select unnest(app.brokerages_of_deals()) as id`,
  `select d.organization_id as id from deals d where d.id = $1
     and exists (select from participants p where p.deal_id = d.id and p.user_id = (select app.user_id()) and p.status = 'active'
       and (p.advises is null or exists (select from participants a where a.id = p.advises and a.status = 'active')))`,
  {
    ...narrowedChanges,
    'when those who are advised have left': [
      `update participants set status = 'removed' where status = 'active' and id in (select advises from participants)`,
    ],
  },
);

// All functions are compared at once for each deal, as entering would otherwise take most of the time.
compare(
  'narrowed to each deal, what functions tell of it is what row-level security shows',
  narrowed,
  async (stage) => {
    const { server, scene } = stage;
    const isPerson = (caller: string) => caller !== 'API key' && caller !== 'nobody';
    const { rows } = await stage.owner.query<{ id: string }>('select id from deals order by id');
    return rows.map(({ id }, at) => ({
      enters: async (caller: string) => {
        if (!isPerson(caller)) return server.query(`select ${leaves}`);
        const values = [scene.people[caller], id];
        await server.query({
          name: 'enter within',
          text: `select ${leaves}, app.enter_within($1, $2)`,
          values,
        });
        // One token serves for all deals.
        if (at > 0) return;
        await server.query(
          `select set_config('dealkeep.token', encode(app.token_of($1), 'hex'), true)`,
          values.slice(0, 1),
        );
      },
      values: [id],
    }));
  },
);
