/**
 * Checks of the live catalogue: row-level security is on everywhere, and the server's role owns nothing and reaches no
 * more than it should.
 */

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type pg from 'pg';
import { dumpSchema, linesOf, schemaFile } from '../../database/dump-schema.ts';
import type { Check } from './scene.ts';

interface Catalogue {
  owner: pg.Client;
  /** The rows of a query, each with its columns joined into one string. */
  found(text: string): Promise<string[]>;
}

/** Schemas of Dealkeep. */
const ours = `(select oid from pg_namespace where nspname !~ '^pg_' and nspname not in ('information_schema', 'extensions'))`;

/** Functions that the checks add to those of the service (stage.ts). */
const helpers = ['attempts', 'enter_as', 'enter_through', 'enter_within', 'enter_as_key', 'token_of', 'as_owner'];

/** Functions that nodes of the previous release call; the next release drops them. */
const ofEarlierNodes = ['contacts_with_emails', 'deals_in_sight', 'listed_deals'];

/** Each rejects when the catalogue leaves something open. */
export const catalogueChecks: Check[] = [];

function check(title: string, run: (catalogue: Catalogue) => Promise<void>): void {
  catalogueChecks.push({
    title,
    run: ({ owner }) =>
      run({
        owner,
        found: async (text) => (await owner.query({ text, rowMode: 'array' })).rows.map((row) => row.join(' ')),
      }),
  });
}

check('every table has row-level security enabled and forced', async ({ owner, found }) => {
  const open = `select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and n.oid in ${ours} and not (c.relrowsecurity and c.relforcerowsecurity)`;
  assert.deepEqual(await found(open), []);
  await owner.query('create table left_open (id int)');
  assert.deepEqual(await found(open), ['public left_open']);
  await owner.query('drop table left_open');
});

check('the server neither owns anything nor can bypass security nor become somebody who can', async ({ found }) => {
  assert.deepEqual(
    await found(`select c.relname from pg_class c join pg_roles r on r.oid = c.relowner
      where pg_has_role('dealkeep_server', r.oid, 'member')`),
    [],
  );
  assert.deepEqual(
    await found(`select p.proname from pg_proc p join pg_roles r on r.oid = p.proowner
      where p.pronamespace in ${ours} and pg_has_role('dealkeep_server', r.oid, 'member')`),
    [],
  );
  assert.deepEqual(
    await found(`select r.rolname from pg_roles r where pg_has_role('dealkeep_server', r.oid, 'member')
      and (r.rolsuper or r.rolbypassrls or r.rolcreaterole or r.rolcreatedb or r.rolreplication)`),
    [],
  );
  assert.deepEqual(
    await found(
      `select n.nspname from pg_namespace n where n.oid in ${ours} and has_schema_privilege('dealkeep_server', n.oid, 'create')`,
    ),
    [],
  );
});

check('the vault is out of the reach of the server', async ({ found }) => {
  assert.deepEqual(
    await found(`select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'vault'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
        and (has_column_privilege('dealkeep_server', c.oid, a.attnum, 'select, insert, update, references')
          or has_table_privilege('dealkeep_server', c.oid, 'delete, truncate, trigger'))`),
    [],
  );
  assert.deepEqual(await found(`select 1 where has_schema_privilege('dealkeep_server', 'vault', 'usage')`), []);
});

check(
  'functions that run as the owner look nothing up by a search path, and none is for everybody',
  async ({ found }) => {
    assert.deepEqual(
      await found(`select p.proname from pg_proc p where p.pronamespace in ${ours} and p.prosecdef
      and not coalesce(p.proconfig, '{}') @> array['search_path=""']`),
      [],
    );
    assert.deepEqual(
      await found(`select p.proname from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
      where p.pronamespace in ${ours} and a.grantee = 0 and a.privilege_type = 'EXECUTE'`),
      [],
    );
  },
);

check('nothing that says whose a record is, or when it was made, can be chosen or moved', async ({ found }) => {
  const whose = `('id', 'created_at', 'created_by', 'asked_by', 'asked_at', 'submitted_at', 'uploaded_by', 'uploaded_at',
    'buyer_user_id', 'participant_id', 'organization_id', 'brokerage_id', 'deal_id', 'user_id', 'revision_number', 'is_current')`;
  // A connected client is shared with a brokerage and unshared by its creator: a policy checks which brokerage.
  assert.deepEqual(
    await found(`select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and a.attname in ${whose}
        and has_column_privilege('dealkeep_server', c.oid, a.attnum, 'update') order by 1, 2`),
    ['connected_clients brokerage_id'],
  );
  assert.deepEqual(
    await found(`select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
        and a.attname in ('id', 'created_at', 'created_by', 'asked_by', 'asked_at', 'submitted_at', 'uploaded_by', 'uploaded_at')
        and has_column_privilege('dealkeep_server', c.oid, a.attnum, 'insert') order by 1, 2`),
    [],
  );
});

/** All tables without a `brokerage_id` that is never null, each with the reason. */
const withoutTenant: Readonly<Record<string, string>> = {
  // Of the installation.
  'app.job_runs': 'of the installation',
  'app.migrations': 'of the installation',
  'app.moves': 'of the installation',
  'app.notification_kinds': 'of the installation',
  'limits.counters': 'of callers, for a minute',
  'vault.audit_months': 'of the installation',
  'vault.audit_retention': 'of the installation',
  'vault.change_stream': 'of the installation',
  'vault.cursor_secret': 'of the installation',
  'vault.document_store': 'of the installation',
  'vault.job_places': 'of the installation',
  'vault.legal_holds': 'of the operator: a person, a deal or a brokerage',
  'vault.nodes': 'of the installation',
  'vault.seal': 'of the installation',
  'vault.set_up_links': 'of the installation, which has no brokerage yet',
  'vault.unsubscribe_secret': 'of the installation',
  'vault.uploads': 'bodies that are coming, which no record names yet',
  'public.brokerages': 'the brokerage itself',
  'public.deals': 'called organization_id, as the specification has it',
  // Of people, who may take part in deals of several brokerages.
  'public.users': 'of a person',
  'public.tool_grants': 'of a person',
  'vault.access_tokens': 'of a person',
  'vault.addresses_to_clear': 'of a person',
  'vault.address_changes': 'of a person',
  'vault.authorization_codes': 'of a person',
  'vault.calendar_links': 'of a person',
  'vault.challenges': 'of a person',
  'vault.known_devices': 'of a person',
  'vault.mail_counts': 'of a person or an address',
  'vault.notification_choices': 'of a person',
  'vault.notification_settings': 'of a person',
  'vault.notifications': 'of a person, about deals of several brokerages or about none',
  'vault.passkeys': 'of a person',
  'vault.password_resets': 'of a person',
  'vault.passwords': 'of a person',
  'vault.recovery_codes': 'of a person',
  'vault.refresh_tokens': 'of a person',
  'vault.sessions': 'of a person',
  'vault.sign_in_steps': 'of a person',
  'vault.token_families': 'of a person',
  'vault.totp': 'of a person',
  // Tables whose rows may belong to no brokerage.
  'public.audit_records': 'null for what belongs to no brokerage',
  'public.connected_clients': 'null for those of one person',
  'vault.invitations': 'null where a deal is what they invite to',
  'vault.outbox': 'null for mails to a person',
  // Derived from other rows, or short-lived.
  'vault.own_activity': 'made of audit records, which carry it, with each of them',
  'vault.answers_of_people': 'made of participants and of questions, which carry it, with each of them',
  'vault.deals_of_people': 'made of participants and of deals, which carry it, with each of them',
  'vault.ndas_of_people': 'made of participants and of NDAs, which carry it, with each of them',
  'vault.lapsing_exclusivities': 'made of exclusivities, which carry it',
  'vault.reminders': 'made of records that carry it',
  'vault.events': 'gone in a moment, when people were told',
  'public.webhook_deliveries': 'of a webhook, which carries it',
  'vault.webhook_secrets': 'of a webhook, which carries it',
  'vault.idempotency_keys': 'gone after a day, and written with every new contact',
  'vault.tool_call_keys': 'gone after a day, and about whatever deals the tool is',
};

check('every row of a brokerage carries its id, which nobody can choose', async ({ owner, found }) => {
  const lacking = `select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and not c.relispartition and n.oid in ${ours}
      and not exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'brokerage_id' and a.attnotnull) order by 1`;
  const explained = Object.keys(withoutTenant).toSorted();
  const why =
    'give the table a brokerage_id that is never null, or say in the list why it has none (docs/architecture.md)';
  assert.deepEqual((await found(lacking)).toSorted(), explained, why);
  await owner.query('create table notes (deal_id uuid)');
  assert.deepEqual((await found(lacking)).toSorted(), [...explained, 'public.notes'].toSorted());
  await owner.query('drop table notes');

  // A row that depends on another takes the id from it by a trigger; a row that depends on no other has a foreign key.
  // `change_events` has neither: triggers write its rows, and a foreign key would lock the brokerage's row at every
  // write.
  assert.deepEqual(
    await found(`select c.oid::regclass from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'brokerage_id' and a.attnotnull
      where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace in ${ours} and c.oid <> 'change_events'::regclass
        and not exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgname = 'set_tenant' and t.tgenabled = 'O')
        and not exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'f' and k.conkey = array[a.attnum])`),
    [],
  );
  assert.deepEqual(
    await found(`select c.oid::regclass from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'brokerage_id'
      where exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgname = 'set_tenant')
        and has_column_privilege('dealkeep_server', c.oid, a.attnum, 'update')`),
    [],
  );
});

check(
  'the brokerage of a row is that of what it hangs on, whatever is said, and a deal stays with its own',
  async ({ owner, found }) => {
    const hanging = await found(
      `select t.tgrelid::regclass from pg_trigger t where t.tgname = 'set_tenant' order by 1`,
    );
    assert.equal(hanging.length, 33);
    await owner.query('begin');
    const [elsewhere] = await found(
      `insert into brokerages (slug, name) values ('elsewhere-tenant', 'Elsewhere') returning id`,
    );
    for (const table of hanging) {
      const columns = await found(
        `select attname from pg_attribute where attrelid = '${table}'::regclass and attnum > 0`,
      );
      const [parent, tenant] = columns.includes('deal_id')
        ? ['deals p on p.id = r.deal_id', 'p.organization_id']
        : columns.includes('finding_id')
          ? ['findings f on f.id = r.finding_id join deals p on p.id = f.deal_id', 'p.organization_id']
          : ['api_keys p on p.id = r.key_id', 'p.brokerage_id'];
      const wrong = `select r.brokerage_id from ${table} r join ${parent} where r.brokerage_id <> ${tenant}`;
      assert.deepEqual(await found(wrong), [], table);
      await owner.query(`alter table ${table} disable trigger user; alter table ${table} enable trigger set_tenant`);
      await owner.query(`update ${table} set brokerage_id = '${elsewhere}'`);
      assert.deepEqual(await found(wrong), [], table);
    }
    await owner.query('savepoint moved');
    await assert.rejects(owner.query(`update deals set organization_id = '${elsewhere}'`), { code: '23001' });
    await owner.query('rollback');
  },
);

check('there are no sequences to count by, and no views that see as their owner', async ({ found }) => {
  assert.deepEqual(
    await found(`select relname from pg_class where relkind in ('S', 'v', 'm') and relnamespace in ${ours}
      and has_schema_privilege('dealkeep_server', relnamespace, 'usage')`),
    [],
  );
});

check('every foreign key and every policy column of the big tables has an index to look by', async ({ found }) => {
  assert.deepEqual(
    await found(`select k.conrelid::regclass::text, a.attname from pg_constraint k
      join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[array_length(k.conkey, 1)]
      where k.contype = 'f' and k.connamespace = 'public'::regnamespace and a.attname = 'deal_id'
        and not exists (select from pg_index i where i.indrelid = k.conrelid and i.indkey[0] = a.attnum)
        and not exists (select from pg_index i where i.indrelid = k.conrelid and i.indkey[0] = k.conkey[1])`),
    [],
  );
});

check(
  'whoever or whatever deal is deleted is looked for by an index in each table that names it',
  async ({ found }) => {
    assert.deepEqual(
      await found(`select k.conrelid::regclass::text, k.conname from pg_constraint k
      where k.contype = 'f' and k.confrelid in ('public.users'::regclass, 'public.deals'::regclass)
        and not exists (select from pg_index i where i.indrelid = k.conrelid and i.indkey[0] = any (k.conkey))`),
      [],
    );
  },
);

check(
  'what the server may do with a table a policy narrows, and no policy speaks of what it may not do',
  async ({ found }) => {
    const right = `case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' end`;
    const given = (
      table: string,
      of: string,
    ) => `(case ${of} when 'delete' then has_table_privilege('dealkeep_server', ${table}, 'delete')
    else has_any_column_privilege('dealkeep_server', ${table}, ${of}) end)`;
    assert.deepEqual(
      await found(`select p.polrelid::regclass, p.polname from pg_policy p join pg_class c on c.oid = p.polrelid
      where c.relnamespace = 'public'::regnamespace and p.polname <> 'as_owner' and not ${given('p.polrelid', right)}`),
      [],
    );
    assert.deepEqual(
      await found(`select c.relname, r.name from pg_class c, unnest('{select,insert,update,delete}'::text[]) r (name)
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and ${given('c.oid', 'r.name')}
        and not exists (select from pg_policy p
          where p.polrelid = c.oid and p.polname <> 'as_owner' and ${right} = r.name)`),
      [],
    );
  },
);

/** The server's own source, as one text. */
function serverCode(): string {
  const folder = path.join(import.meta.dirname, '../../server');
  return globSync('**/*.ts', { cwd: folder })
    .map((file) => readFileSync(path.join(folder, file), 'utf8'))
    .join('\n');
}

check(
  'the server is given the functions that it or the release before calls, or that run with its rights, and no others',
  async ({ found }) => {
    const code = serverCode();
    const withItsRights = await found(`
    select pg_get_functiondef(p.oid) from pg_proc p where p.pronamespace = 'app'::regnamespace and not p.prosecdef
      and p.proname <> 'attempts'
    union all select concat(pg_get_expr(polqual, polrelid), ' ', pg_get_expr(polwithcheck, polrelid)) from pg_policy
    union all select pg_get_constraintdef(oid) from pg_constraint where contype = 'c'
    union all select pg_get_expr(adbin, adrelid) from pg_attrdef
    union all select pg_get_indexdef(indexrelid) from pg_index
    union all select pg_get_triggerdef(oid) from pg_trigger`);
    const given = await found(`select distinct p.proname from pg_proc p where p.pronamespace = 'app'::regnamespace
    and has_function_privilege('dealkeep_server', p.oid, 'execute') order by 1`);
    const uses = (text: string, name: string) => new RegExp(`\\bapp\\.${name}\\(`).test(text);
    // The function's own definition also names it, and does not count.
    const idle = given.filter(
      (name) =>
        !helpers.includes(name) &&
        !ofEarlierNodes.includes(name) &&
        !uses(code, name) &&
        !withItsRights.some((text) => uses(text.replace(`FUNCTION app.${name}(`, ''), name)),
    );
    assert.deepEqual(idle, []);
  },
);

check(
  'the server has the rights, and the tables the triggers, that schema.sql shows, and no others',
  async ({ owner }) => {
    const [there, kept] = [await dumpSchema(owner), readFileSync(schemaFile, 'utf8')];
    const ofHelpers = new RegExp(` app\\.(${helpers.join('|')})\\(`);
    assert.deepEqual(
      linesOf(there, 'GRANT').filter((line) => !ofHelpers.test(line)),
      linesOf(kept, 'GRANT'),
    );
    assert.deepEqual(linesOf(there, 'TRIGGER'), linesOf(kept, 'TRIGGER'));
  },
);

check('what belongs to a record of a deal is tied to it and to the deal at once', async ({ found }) => {
  // A record of an offer references the offer's participant, and the participant references the deal.
  assert.deepEqual(
    await found(`select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not a.attisdropped
        and a.attname in ('participant_id', 'advises', 'snapshot_id', 'question_id', 'offer_id')
        and exists (select from pg_attribute d where d.attrelid = c.oid and d.attname = 'deal_id')
        and not exists (select from pg_constraint k join pg_attribute d on d.attrelid = c.oid and d.attnum = any (k.conkey)
          where k.conrelid = c.oid and k.contype = 'f' and a.attnum = any (k.conkey)
            and (d.attname = 'deal_id' or d.attname = 'participant_id' and a.attname = 'offer_id'))`),
    [],
  );
});
