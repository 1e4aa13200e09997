-- compatible: tables, functions and triggers more.
--
-- What changes is written down for other systems that follow (GET /api/v1/events): a narrow row for each changed record, in the transaction of the
-- change, by triggers of statements, so that ten thousand imported contacts are one statement more.
--
-- The order is that of a sequence, taken while the row that changed is locked: changes of one record have the order in which they were
-- committed. What may be told is bounded by a horizon. Whoever publishes reads the sequence, and only then takes a transaction id: all who took
-- a number up to there have a lower one. When no transaction with a lower id is under way any more, each of these numbers is committed or gone
-- for ever, and nothing can appear before them. Neither the time nor the id of a transaction is such an order: both are of its beginning.

create sequence vault.change_order;

create table public.change_events (
  seq bigint not null default nextval('vault.change_order'),
  id uuid not null default gen_random_uuid(),
  -- No foreign key, which would lock the brokerage's row with every write: it is taken from the row that changed.
  brokerage_id uuid not null,
  -- The deal of the record. Not called deal_id: rows are deleted with their brokerage, and there is no index by deal.
  about_deal uuid,
  object_type text not null,
  object_id uuid not null,
  change text not null check (change in ('created', 'updated', 'admitted', 'archived', 'restored', 'removed')),
  at timestamptz(3) not null default app.now(),
  primary key (brokerage_id, seq)
);
select app.protect('public.change_events');

-- Up to which number changes are told, and the number that waits until the transactions below `mark_xid` have ended.
create table vault.change_stream (
  only_one boolean primary key default true check (only_one),
  published bigint not null default 0,
  mark bigint,
  mark_xid xid8,
  mark_at timestamptz,
  -- The database in which it was published last, and a number for its history, which a restored database begins anew.
  origin text,
  history uuid not null default gen_random_uuid(),
  check ((mark is null) = (mark_xid is null) and (mark is null) = (mark_at is null))
);
select app.protect('vault.change_stream');
insert into vault.change_stream default values;

-- Whether no transaction of this database with a lower id is under way. Those of other databases in the cluster write nothing here; whose each is,
-- is asked twice, as a connection that ends may leave its place to another in between.
create function app.none_under_way(below xid8) returns boolean
language plpgsql volatile set search_path = '' as $$
declare
  now constant pg_snapshot := pg_catalog.pg_current_snapshot();
  under_way xid8[];
begin
  if pg_catalog.pg_snapshot_xmin(now) >= below then
    return true;
  elsif pg_catalog.pg_snapshot_xmax(now) < below then
    return false;
  end if;
  under_way := array(select x from pg_catalog.pg_snapshot_xip(now) x where x < below);
  for look in 1..2 loop
    perform pg_catalog.pg_stat_clear_snapshot();
    if exists (select from unnest(under_way) x where not exists (
        select from pg_catalog.pg_stat_activity a join pg_catalog.pg_database d on d.oid = a.datid
        where a.backend_xid = x::xid and d.datname <> pg_catalog.current_database())) then
      return false;
    end if;
  end loop;
  return true;
end
$$;

-- Moves the horizon on: whether it did, and whether there is more that must wait for transactions to end. Takes no transaction id while nothing
-- changes. Two that come at once do no harm: what either finds is true, and the later one changes nothing.
create function app.publish_changes(out moved boolean, out waits boolean)
language plpgsql security definer set search_path = '' as $$
declare
  stream vault.change_stream;
  here text;
  is_fresh boolean;
  last bigint;
  told bigint;
  waiting bigint;
  below xid8;
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Changes are published by the worker.');
  end if;
  moved := false;
  waits := false;
  select s.* into stream from vault.change_stream s;
  select case when o.is_called then o.last_value else o.last_value - 1 end into last from vault.change_order o;
  if stream.mark is null and stream.published = last and stream.origin is not null then
    return;
  end if;
  here := concat_ws('/', (select c.system_identifier from pg_catalog.pg_control_system() c),
    (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database()));
  -- In a restored database, the transaction ids of the one before mean nothing.
  is_fresh := stream.origin is distinct from here;
  told := least(stream.published, last);
  if stream.mark is not null and not is_fresh then
    if app.none_under_way(stream.mark_xid) then
      told := stream.mark;
    else
      waiting := stream.mark;
      below := stream.mark_xid;
    end if;
  end if;
  if waiting is null and last > told then
    -- After the sequence was read, so that it is above that of whoever took a number.
    below := pg_current_xact_id();
    if app.none_under_way(below) then
      told := last;
    else
      waiting := last;
    end if;
  end if;
  waits := waiting is not null;
  if is_fresh or told <> stream.published or waiting is distinct from stream.mark then
    update vault.change_stream s
      set published = told, mark = waiting, mark_xid = case when waits then below end,
        mark_at = case when waits then coalesce(case when waiting = stream.mark then stream.mark_at end, app.now()) end,
        origin = here, history = case when is_fresh and stream.origin is not null then gen_random_uuid() else s.history end
      where s.published = stream.published and s.mark is not distinct from stream.mark and s.origin is not distinct from stream.origin;
    moved := found and told > stream.published;
  end if;
end
$$;

-- Where the stream stands: up to which number it is told, of which history, and since when something waits; for readers and the metrics.
create function app.change_stream() returns table (published bigint, history uuid, waits_since timestamptz)
language sql stable security definer set search_path = '' as $$
  select s.published, s.history, s.mark_at from vault.change_stream s
$$;

-- Writing them down ---------------------------------------------------------------------------------------------------------

-- Of rows with a deal. Argument: what such a record is called.
create function app.note_changes() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if tg_op = 'DELETE' and current_setting('dealkeep.deleting', true) = 'on' then
    return null;
  end if;
  insert into public.change_events (brokerage_id, about_deal, object_type, object_id, change)
    select n.brokerage_id, n.deal_id, tg_argv[0], n.id, case tg_op when 'INSERT' then 'created' when 'UPDATE' then 'updated' else 'removed' end
    from changed n;
  return null;
end
$$;

-- Of rows that are part of a record, in a table of their own. Arguments: what the record is called, and the column that names it.
create function app.note_changes_of_parts() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if tg_op = 'DELETE' and current_setting('dealkeep.deleting', true) = 'on' then
    return null;
  end if;
  insert into public.change_events (brokerage_id, about_deal, object_type, object_id, change)
    select distinct (r.part ->> 'brokerage_id')::uuid,
      coalesce((r.part ->> 'deal_id')::uuid, (select f.deal_id from public.findings f where f.id = (r.part ->> tg_argv[1])::uuid)),
      tg_argv[0], (r.part ->> tg_argv[1])::uuid, 'updated'
    from (select to_jsonb(n) as part from changed n) r;
  return null;
end
$$;

create function app.note_contacts() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if tg_op = 'DELETE' and current_setting('dealkeep.deleting', true) = 'on' then
    return null;
  elsif tg_op = 'UPDATE' then
    insert into public.change_events (brokerage_id, object_type, object_id, change)
      select n.brokerage_id, 'contact', n.id, case when (o.archived_at is null) = (n.archived_at is null) then 'updated'
          when n.archived_at is null then 'restored' else 'archived' end
      from changed n join before o on o.id = n.id;
  else
    insert into public.change_events (brokerage_id, object_type, object_id, change)
      select n.brokerage_id, 'contact', n.id, case tg_op when 'INSERT' then 'created' else 'removed' end from changed n;
  end if;
  return null;
end
$$;

create function app.note_deals() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if tg_op = 'UPDATE' then
    insert into public.change_events (brokerage_id, about_deal, object_type, object_id, change)
      select n.organization_id, n.id, 'deal', n.id, 'updated' from changed n join before o on o.id = n.id
      where n is distinct from o;
  else
    insert into public.change_events (brokerage_id, about_deal, object_type, object_id, change)
      select n.organization_id, n.id, 'deal', n.id, 'created' from changed n;
  end if;
  return null;
end
$$;

-- A document that is taken out stays as a row, of which the body is cleared later.
create function app.note_documents() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into public.change_events (brokerage_id, about_deal, object_type, object_id, change)
    select n.brokerage_id, n.deal_id, tg_argv[0], n.id, case when n.removed_at is null then 'updated' else 'removed' end
    from changed n join before o on o.id = n.id
    where o.removed_at is null and n is distinct from o;
  return null;
end
$$;

do $$
declare
  noted record;
begin
  for noted in
    select * from (values
      ('contacts', 'note_contacts()', 'insert,delete', 'note_contacts()'),
      ('deals', 'note_deals()', 'insert', 'note_deals()'),
      ('documents', 'note_changes(''document'')', 'insert,delete', 'note_documents(''document'')'),
      ('production_documents', 'note_changes(''production_document'')', 'insert,delete', 'note_documents(''production_document'')'),
      ('participants', 'note_changes(''participant'')', 'insert,update,delete', null),
      ('ndas', 'note_changes(''nda'')', 'insert,update,delete', null),
      ('questions', 'note_changes(''question'')', 'insert,update,delete', null),
      ('qoe_checklist', 'note_changes(''qoe_checklist_item'')', 'insert,update,delete', null),
      ('accounting_snapshots', 'note_changes(''accounting_snapshot'')', 'insert,update,delete', null),
      ('normalizations', 'note_changes(''normalization'')', 'insert,update,delete', null),
      ('offers', 'note_changes(''offer'')', 'insert,update,delete', null),
      ('closing_conditions', 'note_changes(''closing_condition'')', 'insert,update,delete', null),
      ('findings', 'note_changes(''finding'')', 'insert,update,delete', null),
      ('financing_sources', 'note_changes(''financing_source'')', 'insert,update,delete', null),
      ('deal_stages', 'note_changes_of_parts(''deal'', ''deal_id'')', 'insert,update,delete', null),
      ('exclusivities', 'note_changes_of_parts(''deal'', ''deal_id'')', 'insert,update,delete', null),
      ('question_answers', 'note_changes_of_parts(''question'', ''question_id'')', 'insert,update,delete', null),
      ('offer_decisions', 'note_changes_of_parts(''offer'', ''offer_id'')', 'insert,update,delete', null),
      ('finding_comments', 'note_changes_of_parts(''finding'', ''finding_id'')', 'insert,update,delete', null)
    ) t (of_table, calls, events, compares)
  loop
    if noted.events like '%insert%' then
      execute format('create trigger note_new after insert on public.%I referencing new table as changed for each statement execute function app.%s',
        noted.of_table, noted.calls);
    end if;
    if noted.events like '%update%' then
      execute format('create trigger note_changed after update on public.%I referencing new table as changed for each statement execute function app.%s',
        noted.of_table, noted.calls);
    elsif noted.compares is not null then
      execute format('create trigger note_changed after update on public.%I referencing old table as before new table as changed '
        'for each statement execute function app.%s', noted.of_table, noted.compares);
    end if;
    if noted.events like '%delete%' then
      execute format('create trigger note_removed after delete on public.%I referencing old table as changed for each statement execute function app.%s',
        noted.of_table, noted.calls);
    end if;
  end loop;
end
$$;

-- Reading them --------------------------------------------------------------------------------------------------------------

-- A scope of a key, or null: the brokerage that it is for.
grant execute on function app.key_brokerage(text) to dealkeep_server;

-- Decided when they are read: who has lost a right is told nothing any more of what was changed before either. What is gone is told to those who could see
-- it: to keys, a deal's records are there whole or not at all.
create policy keys_with_the_scope on public.change_events for select to dealkeep_server
  using (case object_type
    when 'contact' then brokerage_id = (select app.key_brokerage('contacts:read'))
    when 'deal' then about_deal = any ((select app.deals_as('deals:read'))::uuid[])
    when 'participant' then about_deal = any ((select app.deals_as('participants:read'))::uuid[])
    when 'nda' then about_deal = any ((select app.deals_as('ndas:read'))::uuid[])
    when 'offer' then about_deal = any ((select app.deals_as('offers:read'))::uuid[])
    when 'question' then about_deal = any ((select app.deals_as('questions:read'))::uuid[])
    when 'document' then about_deal = any ((select app.deals_as('documents:read'))::uuid[])
    when 'production_document' then about_deal = any ((select app.deals_as('documents:read'))::uuid[])
    when 'qoe_checklist_item' then about_deal = any ((select app.deals_as('qoe:read'))::uuid[])
    when 'accounting_snapshot' then about_deal = any ((select app.deals_as('qoe:read'))::uuid[])
    when 'normalization' then about_deal = any ((select app.deals_as('qoe:read'))::uuid[])
    when 'closing_condition' then about_deal = any ((select app.deals_as('conditions:read'))::uuid[])
    when 'finding' then about_deal = any ((select app.deals_as('findings:read'))::uuid[])
    when 'financing_source' then about_deal = any ((select app.deals_as('financing:read'))::uuid[])
    else false end);
grant select on public.change_events to dealkeep_server;

-- The number of the row that is so many places behind another in the caller's brokerage, or the last that is told: how far one look goes.
create function app.reach_of_look(after bigint, rows int, last bigint) returns bigint
language plpgsql stable security definer set search_path = '' as $$
begin
  return coalesce((select e.seq from public.change_events e where e.brokerage_id = app.identity_part(4)::uuid and e.seq > after and e.seq <= last
    order by e.seq offset greatest(rows, 1) - 1 limit 1), last);
end
$$;

-- What the caller sees of what changed behind a number (null: what is told by now), in order, so many at most and of these types alone, if some are named. The
-- last row is no change: it has the number to go on from, the time, the history of which the numbers are, and whether there may be more. It looks at
-- 200,000 rows of the brokerage at most. Runs as the caller, so that policies decide.
create function app.changes_after(after bigint, most int, types text[])
returns table (seq bigint, id uuid, type text, object_type text, object_id uuid, deal_id uuid, at timestamptz, history uuid, more boolean)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  brokerage constant uuid := app.identity_part(4)::uuid;
  place bigint;
  last bigint;
  reach bigint;
  room int := most;
begin
  select s.published, s.history into last, history from app.change_stream() s;
  place := coalesce(after, last);
  for look in 1..20 loop
    exit when brokerage is null or room <= 0 or place >= last;
    reach := app.reach_of_look(place, 10000, last);
    for seq, id, type, object_type, object_id, deal_id, at in
      select e.seq, e.id, e.object_type || '.' || e.change, e.object_type, e.object_id, e.about_deal, e.at from public.change_events e
      where e.brokerage_id = brokerage and e.seq > place and e.seq <= reach
        and (types is null or e.object_type || '.' || e.change = any (types))
      order by e.seq limit room
    loop
      room := room - 1;
      place := seq;
      return next;
    end loop;
    if room > 0 then
      place := reach;
    end if;
  end loop;
  seq := place;
  at := app.now();
  more := place < last;
  id := null;
  type := null;
  object_type := null;
  object_id := null;
  deal_id := null;
  return next;
end
$$;

-- Deletes what changed more than 31 days ago, 10,000 of a brokerage at most at a time; how many. For the scheduled jobs. Places in the stream are good for
-- 30 days: the day between is for changes whose transaction began long before it ended.
create function app.purge_changes() returns int
language plpgsql security definer set search_path = '' as $$
declare
  of_brokerage uuid;
  purged int := 0;
  part int;
begin
  for of_brokerage in select b.id from public.brokerages b loop
    delete from public.change_events e
      where e.brokerage_id = of_brokerage and e.at < app.now() - interval '31 days'
        and e.seq <= (select max(o.seq) from (
          select f.seq from public.change_events f where f.brokerage_id = of_brokerage order by f.seq limit 10000) o);
    get diagnostics part = row_count;
    purged := purged + part;
  end loop;
  return purged;
end
$$;

grant execute on function app.publish_changes(), app.change_stream(), app.changes_after(bigint, int, text[]), app.reach_of_look(bigint, int, bigint),
  app.purge_changes() to dealkeep_server;
