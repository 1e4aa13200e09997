/**
 * Everybody who is notified of something could open it: the decision made for people who are absent matches what the
 * policies show them.
 */

import assert from 'node:assert/strict';
import type pg from 'pg';
import { knownPerson, participantName } from '../../server/domain/deals/participants.ts';
import { ownNotifications } from '../../server/domain/notifications/notifications.ts';
import { callers, type Check, type Scene } from './scene.ts';
import { enter } from './stage.ts';

/** The tables that notifications are about, each with how a record is selected by its id. */
const tables: Readonly<Record<string, string>> = {
  deals: 'deals where id',
  deal_stages: 'deal_stages where deal_id',
  questions: 'questions where id',
  question_answers: 'question_answers where question_id',
  ndas: 'ndas where id',
  documents: 'documents where id',
  production_documents: 'production_documents where id',
  offers: 'offers where id',
  exclusivities: 'exclusivities where id',
  closing_conditions: 'closing_conditions where id',
  findings: 'findings where id',
  participants: 'participants where id',
  api_keys: 'api_keys where id',
};

/** The column by whose value a notification names a record of the table. */
const keyOf = (table: string): string => /where (\w+)$/.exec(tables[table] ?? '')?.[1] ?? 'id';

/** The ids of the scene's records of a table; a stage is named by its deal. */
const idsOf = (scene: Scene, table: string): string[] =>
  table === 'deal_stages'
    ? [scene.deal]
    : Object.entries(scene.records).flatMap(([name, id]) => (name.startsWith(`${table}/`) ? [id] : []));

/** The deal of a record, read as the owner; an API key has none. */
const dealOfRecord = `case t.of_table
    ${Object.entries(tables)
      .filter(([table]) => table !== 'api_keys')
      .map(
        ([table, where]) =>
          `when '${table}' then (select ${table === 'deals' ? 'id' : 'deal_id'} from ${where} = t.id limit 1)`,
      )
      .join('\n    ')}
  end`;

/** By name: no change, and changes of the scene after which other people see other things. */
const changes: Readonly<Record<string, string>> = {
  'as it is': '',
  'with an exclusivity that has lapsed': `update exclusivities set granted_at = app.now() - interval '9 days',
    expires_at = app.now() - interval '1 hour' where ended_at is null`,
  'with an exclusivity that was ended': `update exclusivities set ended_at = app.now() where ended_at is null`,
  'with NDAs that are over': `update ndas set expires_at = app.now() - interval '1 hour' where status = 'active'`,
  'with the documents taken out': 'update documents set removed_at = app.now()',
  'with the buyers removed': `update participants set status = 'removed' where role = 'buyer'`,
  'with questions that are rejected': `update questions set status = 'rejected' where status = 'pending_broker_review'`,
};

// Statements have names here so that each is planned once: planning would take most of the time.

/** For each record of a jsonb array, whether the caller selects it. */
const selected = `select jsonb_object_agg(t.name, case t.of_table
    ${Object.entries(tables)
      .map(([table, where]) => `when '${table}' then exists (select from ${where} = t.id)`)
      .join('\n    ')}
  end) as seen from jsonb_to_recordset($1) t (name text, of_table text, id uuid)`;

/** Acts on records, by table; the scene has no more records of each table than are listed. */
const acts: readonly (readonly [table: string, action: string, source: string])[] = [
  ['questions', 'question.ask', ''],
  ['question_answers', 'question.answer', ''],
  ['ndas', 'nda.sign', ''],
  ['documents', 'document.upload', 'simple'],
  ['production_documents', 'document.upload', 'production'],
  ['offers', 'offer.submit', ''],
  ['closing_conditions', 'condition.add', ''],
  ['findings', 'finding.add', ''],
];

/**
 * The notifications kept for a person, about deals in which they take part or about none, and those for admins: read as
 * the owner.
 */
const kept = `select coalesce(jsonb_agg(jsonb_build_object('id', n.id, 'kind', n.kind, 'deal_id', n.deal_id, 'subject', n.subject,
    'subject_id', n.subject_id, 'actor_id', n.actor_id, 'at', n.at, 'read_at', n.read_at)), '[]')
  from vault.notifications n
  where n.user_id = app.user_id() and (n.deal_id is null or n.deal_id = any (app.deals_as('broker', 'seller', 'buyer', 'viewer'))
    or n.kind = 'outside_broker' and n.deal_id in (select d.id from public.deals d where d.organization_id = any (app.brokerages_as('admin'))))`;

/**
 * A person's notifications, each record looked up through the policies: records that the person cannot open are not
 * listed.
 */
const lookedUp = `
  select n.id, n.kind, n.deal_id, d.title as deal_title, n.subject_id, n.at, n.read_at, n.at::text as place,
    coalesce(document.filename, production.filename, condition.name, finding.title, ${participantName}, key.name) as subject_name,
     actor.name as actor_name, brokerage.id as brokerage_id, brokerage.name as brokerage_name,
    (select jsonb_build_object('name', c.name, 'urls', coalesce(nullif(array[c.metadata_url], '{null}'), c.redirect_uris))
      from connected_clients c where n.deal_id is null and c.id = n.subject_id) as client,
    (select p.role from participants p where p.deal_id = n.deal_id and p.user_id = app.user_id() and p.status = 'active') as role
  from jsonb_to_recordset($1) n (id uuid, kind text, deal_id uuid, subject text, subject_id uuid, actor_id uuid, at timestamptz, read_at timestamptz)
  left join deals d on d.id = n.deal_id
  left join questions question on n.subject = 'questions' and question.id = n.subject_id
  left join question_answers answer on n.subject = 'question_answers' and answer.question_id = n.subject_id
  left join ndas nda on n.subject = 'ndas' and nda.id = n.subject_id
  left join documents document on n.subject = 'documents' and document.id = n.subject_id
  left join production_documents production on n.subject = 'production_documents' and production.id = n.subject_id
  left join offers offer on n.subject = 'offers' and offer.id = n.subject_id
  left join exclusivities exclusivity on n.subject = 'exclusivities' and exclusivity.id = n.subject_id
  left join deal_stages stage on n.subject = 'deal_stages' and stage.deal_id = n.subject_id
  left join closing_conditions condition on n.subject = 'closing_conditions' and condition.id = n.subject_id
  left join findings finding on n.subject = 'findings' and finding.id = n.subject_id
  left join (participants p left join users u on u.id = p.user_id)
    on p.id = case when n.subject = 'participants' then n.subject_id else nda.participant_id end
  left join api_keys key on n.subject = 'api_keys' and key.id = n.subject_id
  left join brokerages brokerage on brokerage.id = key.brokerage_id
  ${knownPerson('actor', 'n.actor_id', 'n.deal_id')}
  where (n.deal_id is null or d.id is not null) and (n.subject is null or n.subject = 'deals'
    or coalesce(question.id, answer.question_id, nda.id, document.id, production.id, offer.id, exclusivity.id, stage.deal_id, condition.id, finding.id,
      case when n.subject = 'participants' then p.id end, key.id) is not null)
  order by n.at desc, n.id desc`;

export const notifiedChecks: Check[] = [
  {
    title: 'nobody is told of what they could not open, at several moments of a sale',
    async run(stage) {
      const { server, scene } = stage;
      const records = Object.entries(scene.records).flatMap(([name, id]) => {
        const table = name.split('/')[0]!;
        return table in tables ? [{ name: name.replaceAll("'", '’'), of_table: table, id }] : [];
      });
      records.push({ name: 'deal_stages/the stage', of_table: 'deal_stages', id: scene.deal });
      assert.deepEqual([...new Set(records.map((one) => one.of_table))].toSorted(), Object.keys(tables).toSorted());
      const asJson = JSON.stringify(records);
      const decided = (
        person: string,
      ) => `select jsonb_object_agg(t.name, app.person_could_open('${person}', t.of_table, t.id, ${dealOfRecord}))
        from jsonb_to_recordset('${asJson}') t (name text, of_table text, id uuid)`;
      for (const [name, change] of Object.entries(changes))
        for (const caller of callers) {
          const person = scene.people[caller];
          if (person === undefined) continue;
          await server.query('begin');
          try {
            if (change) await server.query('select app.as_owner($1, null)', [change]);
            const told = await server.query('select app.as_owner($1, null) as told', [decided(person)]);
            await server.query(
              `select set_config('dealkeep.identity', '', true), set_config('search_path', 'public', true)`,
            );
            await enter(stage, caller);
            const seen = await server.query({ name: 'selected', text: selected, values: [asJson] });
            assert.deepEqual(told.rows[0].told, seen.rows[0].seen, `${caller}, ${name}`);
          } finally {
            await server.query('rollback');
          }
        }
    },
  },
  {
    title: 'what others did is shown of records that one could open, on deals that one does not run',
    async run({ server, scene }) {
      let shown = 0;
      const staged = acts.flatMap((act) =>
        Object.entries(changes)
          .filter(([name]) => name === 'as it is' || (act[1] === 'document.upload' && name.includes('exclusivity')))
          .map(([name, change]) => [...act, name, change] as const),
      );
      for (const [table, action, source, changed, change] of staged) {
        const ids = idsOf(scene, table);
        const key = keyOf(table);
        // An act that counts, and two that do not: one from 31 days ago, and a refused one.
        const add = (
          who: string,
          whens: string,
        ) => `insert into audit_records (deal_id, user_id, action, subject_id, outcome, at, details, noted)
          select r.deal_id, ${who}, '${action}', r.${key}, w.outcome, w.at, '{"source": "${source}"}', w.outcome = 'done' from ${table} r, (values ${whens}) w (outcome, at)
          where r.${key} = any ('{${ids.join(',')}}')`;
        await server.query('begin');
        try {
          await server.query('select app.as_owner($1, null)', [
            add('null', `('done', app.now()), ('done', app.now() - interval '31 days'), ('refused', app.now())`),
          ]);
          if (change) await server.query('select app.as_owner($1, null)', [change]);
          for (const caller of callers) {
            if (scene.people[caller] === undefined) continue;
            await server.query('savepoint caller');
            await server.query(
              `select set_config('dealkeep.identity', '', true), set_config('search_path', 'public', true)`,
            );
            await server.query('select app.as_owner($1, null)', [
              add(`'${scene.people[caller]}'`, `('done', app.now())`),
            ]);
            const listed = await server.query<{ id: string }>(
              'select x.id from jsonb_array_elements_text(app.as_owner($1, $2)) x (id)',
              [
                `select coalesce(jsonb_agg(subject_id), '[]') from app.activity_in_sight() where action = '${action}'`,
                scene.people[caller],
              ],
            );
            await server.query(
              `select set_config('dealkeep.identity', '', true), set_config('search_path', 'public', true)`,
            );
            await server.query('select app.enter_as($1, null, null)', [scene.people[caller]]);
            const seen = await server.query({
              name: `seen of ${table}`,
              text: `select r.${key} as id from ${table} r where r.${key} = any ($1) and r.deal_id in (
                 select p.deal_id from participants p
                 where p.user_id = app.user_id() and p.status = 'active' and p.role <> 'broker')`,
              values: [ids],
            });
            const sorted = (found: pg.QueryResult) => found.rows.map(({ id }) => String(id)).toSorted();
            assert.deepEqual(sorted(listed), sorted(seen), `${caller}, ${changed}: ${table}`);
            shown += listed.rows.length;
            await server.query('rollback to caller');
            for (const deal of [scene.deal, scene.idle]) {
              await server.query('select app.enter_within($1, $2)', [scene.people[caller], deal]);
              const ofOthers = await server.query({
                name: 'of others',
                text: `select h.id from app.home(true) h where h.part = 'activity' and not h.is_own`,
              });
              assert.deepEqual(ofOthers.rows, [], `${caller}, within a deal: what others did on all of theirs`);
              const onDeal = await server.query({
                name: 'on the deal',
                text: `select subject_id as id from app.deal_activity_in_sight($1, null, null, 200)
                 where action = $2 and at > app.now() - interval '30 days'`,
                values: [deal, action],
              });
              const seenThere = await server.query({
                name: `seen there of ${table}`,
                text: `select r.${key} as id from ${table} r where r.${key} = any ($1) and r.deal_id = $2
                   and r.deal_id <> all (app.deals_acting_as('broker'))
                   and not exists (select from deals d where d.id = r.deal_id and d.organization_id = any (app.brokerages_as('admin')))`,
                values: [ids, deal],
              });
              assert.deepEqual(sorted(onDeal), sorted(seenThere), `${caller}, within the deal: ${table}`);
              shown += onDeal.rows.length;
              await server.query('rollback to caller');
            }
          }
        } finally {
          await server.query('rollback');
        }
      }
      assert.ok(shown > 20, 'next to nothing was shown to anybody');
    },
  },
  {
    title: 'the list of notifications shows what row-level security shows of them, and the bell counts it',
    async run({ server, scene }) {
      let counted = 0;
      let named = 0;
      let keptOut = 0;
      await server.query('begin');
      try {
        for (const table of Object.keys(tables)) {
          const ids = idsOf(scene, table);
          const key = keyOf(table);
          const deal = table === 'api_keys' ? 'null' : table === 'deals' ? 'r.id' : 'r.deal_id';
          await server.query('select app.as_owner($1, null)', [
            `insert into vault.notifications (event_id, user_id, kind, deal_id, subject, subject_id, actor_id, at)
             select gen_random_uuid(), u.id, '${table === 'api_keys' ? 'api_key_made' : 'question_asked'}', ${deal}, '${table}', r.${key},
               (select p.user_id from participants p where p.deal_id = ${deal} order by md5(p.id || r.${key}::text) limit 1), app.now()
             from users u, ${table} r
             where r.${key} = any ('{${ids.slice(0, 7).join(',')}}')`,
          ]);
        }
        await server.query('select app.as_owner($1, null)', [
          `insert into vault.notifications (event_id, user_id, kind, deal_id, subject, subject_id, actor_id, at)
           select gen_random_uuid(), u.id, 'outside_broker', p.deal_id, 'participants', p.id, p.user_id, app.now()
           from users u, participants p where p.role = 'broker'`,
        ]);
        // Also for callers whom the brokerage keeps out until they show a second factor.
        for (const barred of [[], [scene.brokerage]])
          for (const caller of callers) {
            if (scene.people[caller] === undefined) continue;
            await server.query('savepoint caller');
            await server.query(
              `select set_config('dealkeep.identity', '', true), set_config('search_path', 'public, app', true)`,
            );
            const person = scene.people[caller];
            const rows = await server.query('select app.as_owner($1, $2) as kept', [kept, person]);
            await server.query('select app.enter_through($1, null, null, $2)', [person, barred]);
            const list = ownNotifications(null, 100);
            const shown = await server.query({ name: 'listed', text: list.text, values: [...list.values] });
            const byPolicies = await server.query({
              name: 'looked up',
              text: lookedUp,
              values: [JSON.stringify(rows.rows[0].kept)],
            });
            const told = `${caller}${barred.length > 0 ? ', kept out' : ''}`;
            assert.deepEqual(shown.rows, byPolicies.rows, told);
            named += byPolicies.rows.filter((row) => row.subject_name !== null && row.actor_name !== null).length;
            const bell = await server.query('select app.unread_notifications() as count');
            assert.equal(bell.rows[0].count, shown.rows.length, told);
            if (barred.length === 0) counted += shown.rows.length;
            else if (byPolicies.rows.length < rows.rows[0].kept.length) keptOut += 1;
            await server.query('rollback to caller');
          }
      } finally {
        await server.query('rollback');
      }
      assert.ok(keptOut > 3, 'next to nobody was kept out of anything');
      assert.ok(counted > 20 && named > 5, 'next to nothing was shown to anybody');
    },
  },
];
