-- compatible: functions are added.
-- What a brokerage has, given out table by table: all of it to the owner of the database, and to everybody else what the policies let them read. These functions
-- run with the rights of whoever calls them.

-- As before, and for everybody: it tells what the catalogue tells.
create or replace function app.rows_of_brokerage(deals text, parts boolean) returns table (name text, condition text)
language plpgsql stable set search_path = '' as $$
declare
  -- By its name in the catalogue: not everybody who asks may look a name of the vault up.
  deletions constant oid := (select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'vault' and c.relname = 'brokerage_deletions');
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
    where n.nspname in ('public', 'vault') and c.relpersistence = 'p' and c.oid <> deletions
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
        and k.conrelid <> deletions and strpos(coalesce(conditions ->> k.conrelid::text, ''), ' in (select ') = 0
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
grant execute on function app.rows_of_brokerage(text, boolean) to dealkeep_server;

-- The tables of a brokerage of which the caller may read columns, without those that only say where something is kept. texts: which columns are free text, that a spreadsheet could take for a formula; by_deal: its rows are found by the deal.
create function app.export_tables() returns table (name text, columns text[], texts boolean[], by_deal boolean)
language sql stable set search_path = '' as $$
  select split_part(r.name, '.', 2), a.columns, a.texts, strpos(r.condition, '$1') = 0
  from app.rows_of_brokerage('any ($2)', false) r
    cross join lateral (
      select array_agg(a.attname::text order by a.attnum) as columns, array_agg(t.typcategory in ('S', 'U', 'A') order by a.attnum) as texts
      from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
      where a.attrelid = case when r.name like 'public.%' then r.name::regclass end and a.attnum > 0 and not a.attisdropped and a.attname not in ('storage_key', 'body_cleared_at') and not (a.attname = 'user_id' and r.name in ('public.members', 'public.participants'))
        and has_column_privilege(a.attrelid, a.attnum, 'select')) a
  where r.name like 'public.%' and a.columns is not null
  order by 1
$$;
grant execute on function app.export_tables() to dealkeep_server;

-- Rows of one of these tables in the order of its primary key, after the place where the last portion ended: those of the brokerage, or of the deals.
create function app.export_rows(of_table text, brokerage uuid, deals uuid[], after text[], most int)
returns table (content text, cells text[], place text[])
language plpgsql stable set search_path = '' as $$
declare
  condition text;
  columns text[];
  key text[];
  beyond text;
begin
  select r.condition into condition from app.rows_of_brokerage('any ($2)', false) r where r.name = 'public.' || of_table;
  select t.columns into columns from app.export_tables() t where t.name = of_table;
  if condition is null or columns is null then
    raise exception 'There is no table % to export.', of_table;
  end if;
  select array_agg(format('t.%I', a.attname) order by k.place),
      string_agg(format('$3[%s]::%s', k.place, format_type(a.atttypid, a.atttypmod)), ', ' order by k.place) into key, beyond
    from pg_catalog.pg_index i cross join lateral unnest(i.indkey) with ordinality k (attnum, place)
      join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
    where i.indrelid = ('public.' || of_table)::regclass and i.indisprimary;
  return query execute format(
    'select to_jsonb(r)::text, array[%s], array[%s] from public.%I t cross join lateral (select %s) r
      where (%s) and ($3 is null or (%s) > (%s)) order by %s limit $4',
    (select string_agg(format('r.%I::text', c), ', ') from unnest(columns) c),
    (select string_agg(k || '::text', ', ') from unnest(key) k),
    of_table, (select string_agg(format('t.%I', c), ', ') from unnest(columns) c),
    condition, array_to_string(key, ', '), beyond, array_to_string(key, ', '))
    using brokerage, deals, after, most;
end
$$;
grant execute on function app.export_rows(text, uuid, uuid[], text[], int) to dealkeep_server;

-- The people of a brokerage, or of deals, whom records name by their id.
create function app.export_people(brokerage uuid, deals uuid[]) returns table (content text, cells text[])
language sql stable set search_path = '' as $$
  select jsonb_build_object('id', u.id, 'name', u.name, 'email', u.email)::text, array[u.id::text, u.name, u.email]
  from public.users u
  where u.id in (select m.person_id from public.members m where m.brokerage_id = export_people.brokerage
    union select p.person_id from public.participants p where p.deal_id = any (export_people.deals))
  order by u.id
$$;
grant execute on function app.export_people(uuid, uuid[]) to dealkeep_server;

-- Whether the caller is an admin of a brokerage, who signed in a moment ago, and not through an assistant: they take along at once what they see piece by piece.
create function app.may_export(brokerage uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  if brokerage is null or not brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return false;
  end if;
  perform app.check_recent_sign_in();
  return true;
end
$$;
grant execute on function app.may_export(uuid) to dealkeep_server;
