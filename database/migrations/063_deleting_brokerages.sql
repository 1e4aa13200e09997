-- compatible: a table and functions are added; those that change do as before while no brokerage is deleted.
-- A brokerage is deleted with everything that is its own, some time after it was asked for; until then it can be taken back.

-- The brokerages that are to be deleted. asked_by: null for the operator. begun_at: from then on nothing is taken back.
create table vault.brokerage_deletions (
  brokerage_id uuid primary key references public.brokerages (id),
  asked_at timestamptz not null default app.now(),
  asked_by uuid references public.users (id),
  due_at timestamptz not null,
  begun_at timestamptz,
  deals int not null default 0,
  documents int not null default 0,
  people int not null default 0
);
select app.protect('vault.brokerage_deletions');
create index brokerage_deletions_by_time on vault.brokerage_deletions (due_at);
create index brokerage_deletions_by_asker on vault.brokerage_deletions (asked_by);

-- What belongs to a brokerage: its tables, from those that nothing refers to onwards, each with the condition by which its rows are
-- found. In it $1 is the brokerage, and its deals are `deals`, such as any($2). Read from the catalogue, so that a table that is added
-- belongs to it by its columns: brokerage_id, organization_id or deal_id, or else by a foreign key to one that does. `parts`: the parts of a table
-- that is divided instead of the whole.
create function app.rows_of_brokerage(deals text, parts boolean) returns table (name text, condition text)
language plpgsql stable set search_path = '' as $$
declare
  conditions jsonb := '{}';
  found record;
  added int;
begin
  for found in
    select c.oid, string_agg(case a.attname when 'deal_id' then 't.deal_id = ' || deals else 't.' || a.attname || ' = $1' end,
        ' or ' order by a.attname) as condition
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      join pg_catalog.pg_attribute a on a.attrelid = c.oid and not a.attisdropped and a.atttypid = 'uuid'::regtype
        and a.attname in ('brokerage_id', 'organization_id', 'deal_id')
    where n.nspname in ('public', 'vault') and c.relpersistence = 'p' and c.oid <> 'vault.brokerage_deletions'::regclass
      and (c.relkind = 'r' and (parts or not c.relispartition) or c.relkind = 'p' and not parts)
    group by c.oid
  loop
    conditions := conditions || jsonb_build_object(found.oid::text, found.condition);
  end loop;
  conditions := conditions || jsonb_build_object('public.brokerages'::regclass::oid::text, 't.id = $1');
  -- What refers to these and has no such column, or one that may be empty.
  loop
    added := 0;
    for found in
      select k.conrelid as oid, string_agg(format('t.%I in (select t.%I from %s t where %s)',
          a.attname, f.attname, k.confrelid::regclass, conditions ->> k.confrelid::text), ' or ' order by k.conname) as condition
      from pg_catalog.pg_constraint k
        join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
        join pg_catalog.pg_attribute f on f.attrelid = k.confrelid and f.attnum = k.confkey[1]
      where k.contype = 'f' and array_length(k.conkey, 1) = 1 and k.conrelid <> k.confrelid
        and conditions ? k.confrelid::text and not k.confrelid in ('public.brokerages'::regclass, 'public.deals'::regclass)
        and k.conrelid <> 'vault.brokerage_deletions'::regclass and strpos(coalesce(conditions ->> k.conrelid::text, ''), ' in (select ') = 0
        and not exists (select from pg_catalog.pg_attribute o where o.attrelid = k.conrelid and not o.attisdropped
          and (o.attname in ('deal_id', 'organization_id') or (o.attname = 'brokerage_id' and o.attnotnull)))
      group by k.conrelid
    loop
      conditions := conditions || jsonb_build_object(found.oid::text,
        concat_ws(' or ', conditions ->> found.oid::text, found.condition));
      added := added + 1;
    end loop;
    exit when added = 0;
  end loop;
  -- Those to which nothing that is left refers come first.
  while conditions <> '{}' loop
    added := 0;
    for found in
      select o.key, o.key::oid::regclass::text as name, o.value as condition from jsonb_each_text(conditions) o
      where not exists (select from pg_catalog.pg_constraint k
        where k.contype = 'f' and k.confrelid = o.key::oid and k.conrelid <> k.confrelid and conditions ? k.conrelid::text)
      order by 2
    loop
      name := case when strpos(found.name, '.') = 0 then 'public.' || found.name else found.name end;
      condition := found.condition;
      return next;
      conditions := conditions - found.key;
      added := added + 1;
    end loop;
    if added = 0 then
      raise exception 'Tables refer to one another in a circle: %', conditions;
    end if;
  end loop;
end
$$;

-- The first legal hold that stops the deletion of a brokerage: on it, on a deal of it, or on somebody who is or was with it.
create function app.hold_on_brokerage(brokerage uuid) returns table (kind text, subject_id uuid)
language sql stable security definer set search_path = '' as $$
  select h.kind, h.subject_id from vault.legal_holds h
  where case h.kind
    when 'brokerage' then h.subject_id = brokerage
    when 'deal' then exists (select from public.deals d where d.id = h.subject_id and d.organization_id = brokerage)
    else exists (select from public.members m where m.user_id = h.subject_id and m.brokerage_id = brokerage)
      or exists (select from public.participants p join public.deals d on d.id = p.deal_id
        where p.user_id = h.subject_id and d.organization_id = brokerage)
      or exists (select from public.contacts c join public.users u on u.id = h.subject_id and lower(c.email) = u.email
        where c.brokerage_id = brokerage)
    end
  order by h.kind, h.subject_id limit 1
$$;

-- Marks a brokerage to be deleted after so many days, and tells its admins by mail. Null: there is no such brokerage. For the functions of those
-- who may; `by_whom`: null for the operator.
create function app.mark_brokerage(brokerage uuid, days int, by_whom uuid) returns timestamptz
language plpgsql security definer set search_path = '' as $$
declare
  known public.brokerages;
  due timestamptz := app.now() + make_interval(days => days);
begin
  select b.* into known from public.brokerages b where b.id = brokerage for update;
  if not found then
    return null;
  end if;
  if days is null or days not between 7 and 365 then
    perform app.refuse('days_out_of_bounds', 'A brokerage is deleted after 7 to 365 days.');
  end if;
  if exists (select from app.hold_on_brokerage(brokerage)) then
    perform app.refuse('legal_hold', case when by_whom is null
      then (select format('A legal hold on the %s %s stops this: when it has ended, dealkeep hold off %s %s.', h.kind, h.subject_id, h.kind, h.subject_id)
        from app.hold_on_brokerage(brokerage) h)
      else 'What the brokerage has must be kept for now because of a legal hold: whoever runs this service can tell you more.' end);
  end if;
  insert into vault.brokerage_deletions (brokerage_id, asked_by, due_at) values (brokerage, by_whom, due) on conflict do nothing;
  if not found then
    perform app.refuse('deletion_asked', 'This brokerage is going to be deleted already.');
  end if;
  perform app.queue_mail('brokerage_deletion', u.email, u.id, brokerage, null, false, jsonb_build_object('name', u.name,
      'brokerage', known.name, 'by', (select w.name from public.users w where w.id = by_whom), 'due_at', due, 'cancelled', false), null, null)
    from public.members m join public.users u on u.id = m.user_id
    where m.brokerage_id = brokerage and m.role = 'admin' and m.status = 'active' and u.suspended_at is null order by u.id;
  return due;
end
$$;

-- Takes that back; false: there was nothing to take back.
create function app.unmark_brokerage(brokerage uuid, by_whom uuid) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  marked vault.brokerage_deletions;
begin
  select d.* into marked from vault.brokerage_deletions d where d.brokerage_id = brokerage for update;
  if not found then
    return false;
  end if;
  if marked.begun_at is not null then
    perform app.refuse('deletion_begun', 'The deletion has begun and cannot be taken back.');
  end if;
  delete from vault.brokerage_deletions d where d.brokerage_id = brokerage;
  perform app.queue_mail('brokerage_deletion', u.email, u.id, brokerage, null, false, jsonb_build_object('name', u.name,
      'brokerage', b.name, 'by', (select w.name from public.users w where w.id = by_whom), 'due_at', marked.due_at, 'cancelled', true), null, null)
    from public.members m join public.users u on u.id = m.user_id join public.brokerages b on b.id = m.brokerage_id
    where m.brokerage_id = brokerage and m.role = 'admin' and m.status = 'active' and u.suspended_at is null order by u.id;
  return true;
end
$$;

-- The same for an admin of it, with a recent sign-in and not through an assistant. Null: they are none.
create function app.ask_brokerage_deletion(brokerage uuid, days int, address inet, request_id text) returns timestamptz
language plpgsql security definer set search_path = '' as $$
declare
  due timestamptz;
begin
  if brokerage is null or not brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return null;
  end if;
  perform app.check_recent_sign_in();
  due := app.mark_brokerage(brokerage, days, app.user_id());
  perform app.audit('brokerage.ask_deletion', brokerage::text, 'done', brokerage, null, address, request_id, jsonb_build_object('due_at', due));
  return due;
end
$$;
grant execute on function app.ask_brokerage_deletion(uuid, int, inet, text) to dealkeep_server;

-- False: they are no admin of it; null: nothing was to be taken back.
create function app.cancel_brokerage_deletion(brokerage uuid, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  if brokerage is null or not brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return false;
  end if;
  if not app.unmark_brokerage(brokerage, app.user_id()) then
    return null;
  end if;
  perform app.audit('brokerage.cancel_deletion', brokerage::text, 'done', brokerage, null, address, request_id, '{}');
  return true;
end
$$;
grant execute on function app.cancel_brokerage_deletion(uuid, inet, text) to dealkeep_server;

-- For its members: when their brokerage is deleted, and who asked for it (null: the operator).
create function app.brokerage_deletion(brokerage uuid) returns table (due_at timestamptz, asked_at timestamptz, asked_by text)
language sql stable security definer set search_path = '' as $$
  select d.due_at, d.asked_at, u.name from vault.brokerage_deletions d left join public.users u on u.id = d.asked_by
  where d.brokerage_id = brokerage and brokerage = any (app.brokerages_as('admin', 'broker', 'staff'))
$$;
grant execute on function app.brokerage_deletion(uuid) to dealkeep_server;

-- Empties the accounts of those of these people who belong to nothing any more: no brokerage and no deal, not even one that they left. What is left
-- is a row without a name, to which records elsewhere may refer. How many they were.
create function app.forget_unattached(people uuid[]) returns int
language plpgsql security definer set search_path = '' as $$
declare
  gone uuid[];
  clients uuid[];
  of_person text;
begin
  select coalesce(array_agg(u.id), '{}') into gone from public.users u
    where u.id = any (people) and u.erased_at is null
      and not exists (select from public.members m where m.user_id = u.id)
      and not exists (select from public.participants p where p.user_id = u.id);
  if gone = '{}' then
    return 0;
  end if;
  perform app.end_sessions_of(g.id) from unnest(gone) g (id);
  select coalesce(array_agg(c.id), '{}') into clients from public.connected_clients c where c.created_by = any (gone) and c.brokerage_id is null;
  delete from vault.mail_counts m using public.users u
    where u.id = any (gone) and (m.subject like 'from ' || u.id || '%' or right(m.subject, length(u.email) + 4) = ' to ' || u.email);
  delete from vault.authorization_codes c where c.client_id = any (clients);
  delete from vault.token_families f where f.client_id = any (clients);
  delete from public.tool_grants g where g.user_id = any (gone) or g.client_id = any (clients);
  delete from public.connected_clients c where c.id = any (clients);
  delete from vault.outbox o where o.recipient_id = any (gone);
  delete from vault.events e where e.person_id = any (gone);
  delete from public.audit_records a where a.user_id = any (gone) and a.brokerage_id is null and a.deal_id is null;
  -- Everything that they sign in with, and what is theirs alone: each table of the vault that names its person.
  for of_person in
    select a.attrelid::regclass::text from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
    where c.relnamespace = 'vault'::regnamespace and c.relkind = 'r' and not c.relispartition and a.attname = 'user_id' and not a.attisdropped
    order by c.relname <> 'authorization_codes', c.relname
  loop
    execute format('delete from %s t where t.user_id = any ($1)', of_person) using gone;
  end loop;
  update public.users u set email = 'erased-' || gen_random_uuid() || '@erased.invalid',
      name = 'Former participant ' || upper(substr(replace(gen_random_uuid()::text, '-', ''), 1, 12)),
      erased_at = app.now(), suspended_at = coalesce(u.suspended_at, app.now())
    where u.id = any (gone);
  return cardinality(gone);
end
$$;

-- Deletes a part of a brokerage whose time has come: about `most` rows at once, so that nobody waits. Called again until it gives
-- no row. Each call is a transaction that leaves nothing for the next to remember but what is still there, so that it goes on after a
-- crash; two at a time work on two brokerages. A deal goes with all of its rows in one call unless it has more than `most`.
-- finished: with the line in the audit trail that it was done, which names nobody.
create function app.delete_brokerage_part(most int) returns table (brokerage uuid, name text, finished boolean)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_variable
declare
  this vault.brokerage_deletions;
  chosen uuid[];
  people uuid[];
  part record;
  bodies text[];
  counted int;
  room int := most;
begin
  select d.* into this from vault.brokerage_deletions d
    where d.due_at <= app.now() and not exists (select from app.hold_on_brokerage(d.brokerage_id))
    order by d.begun_at, d.due_at limit 1 for update skip locked;
  if not found then
    return;
  end if;
  brokerage := this.brokerage_id;
  finished := false;
  select b.name into name from public.brokerages b where b.id = brokerage;
  -- Nobody is told of each row: app.announce.
  perform set_config('dealkeep.deleting', 'on', true);

  -- First nobody gets in any more, as a member or by a key, so that nothing is added.
  if this.begun_at is null then
    select coalesce(array_agg(m.user_id), '{}') into people from public.members m where m.brokerage_id = brokerage;
    update vault.brokerage_deletions d set begun_at = app.now(), asked_by = null where d.brokerage_id = brokerage;
    update public.api_keys k set revoked_at = app.now() where k.brokerage_id = brokerage and k.revoked_at is null;
    delete from public.members m where m.brokerage_id = brokerage;
    counted := app.forget_unattached(people);
    update vault.brokerage_deletions d set people = d.people + counted where d.brokerage_id = brokerage;
    return next;
    return;
  end if;

  -- Then its deals, the first twenty at once, and when there are none any more what the brokerage itself has.
  select coalesce(array_agg(d.id), '{}') into chosen
    from (select l.id from public.deals l where l.organization_id = brokerage order by l.id limit 20) d;
  select coalesce(array_agg(distinct p.user_id), '{}') into people from public.participants p where p.deal_id = any (chosen);
  for part in
    select r.name, r.condition,
      exists (select from pg_catalog.pg_attribute a where a.attrelid = r.name::regclass and a.attname = 'storage_key') as has_bodies,
      exists (select from pg_catalog.pg_constraint k where k.conrelid = r.name::regclass and k.confrelid = k.conrelid) as refers_to_itself
    from app.rows_of_brokerage('any ($2)', true) r where r.name <> 'public.brokerages'
  loop
    if part.has_bodies then
      -- The bodies are cleared out of the store like those of uploads that failed.
      execute format('with gone as (delete from %1$s t where t.ctid = any (array(select t.ctid from %1$s t where %2$s limit $3))
          returning t.storage_key, t.body_cleared_at)
        select coalesce(array_agg(g.storage_key) filter (where g.body_cleared_at is null), ''{}''), count(*) from gone g', part.name, part.condition)
        into bodies, counted using case when chosen = '{}' then brokerage end, chosen, room;
      insert into vault.uploads (storage_key, begun_at) select b.key, app.now() - interval '3 days' from unnest(bodies) b (key)
        on conflict (storage_key) do update set begun_at = excluded.begun_at;
      update vault.brokerage_deletions d set documents = d.documents + counted where d.brokerage_id = brokerage;
    else
      execute format('delete from %1$s t where t.ctid = any (array(select t.ctid from %1$s t where %2$s limit $3))', part.name, part.condition)
        using case when chosen = '{}' then brokerage end, chosen, case when not part.refers_to_itself then room end;
      get diagnostics counted = row_count;
    end if;
    room := room - counted;
    exit when room <= 0;
  end loop;
  if room > 0 and chosen <> '{}' then
    delete from public.deals l where l.id = any (chosen);
    get diagnostics counted = row_count;
    update vault.brokerage_deletions d set deals = d.deals + counted where d.brokerage_id = brokerage;
  end if;
  if room <= 0 or chosen <> '{}' then
    counted := app.forget_unattached(people);
    update vault.brokerage_deletions d set people = d.people + counted where d.brokerage_id = brokerage;
    return next;
    return;
  end if;

  delete from vault.mail_counts m where m.subject = 'for ' || brokerage or m.subject like 'from ' || brokerage || ' to %';
  delete from vault.brokerage_deletions d where d.brokerage_id = brokerage returning d.* into this;
  delete from public.brokerages b where b.id = brokerage;
  insert into public.audit_records (action, subject_id, outcome, details) values ('brokerage.delete', brokerage::text, 'done',
    jsonb_build_object('deals', this.deals, 'documents', this.documents, 'people', this.people, 'asked_at', this.asked_at));
  finished := true;
  return next;
end
$$;
grant execute on function app.delete_brokerage_part(int) to dealkeep_server;

-- Rows that go with their brokerage are announced to nobody: whoever could see them is told nothing by each of them.
create or replace function app.announce() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  changed jsonb;
  deal text;
begin
  if tg_op = 'DELETE' and current_setting('dealkeep.deleting', true) = 'on' then
    return null;
  end if;
  changed := to_jsonb(case when tg_op = 'DELETE' then old else new end);
  deal := changed ->> case when tg_table_name = 'deals' then 'id' else 'deal_id' end;
  if tg_table_name = 'finding_comments' then
    select f.deal_id into deal from public.findings f where f.id = (changed ->> 'finding_id')::uuid;
  end if;
  perform pg_notify('dealkeep_changes', json_build_object(
    'topic', tg_argv[0], 'table', tg_table_name, 'record', changed ->> tg_argv[1], 'deal_id', deal,
    'gone', tg_op = 'DELETE' or changed ->> 'removed_at' is not null)::text);
  return null;
end
$$;
