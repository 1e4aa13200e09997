-- compatible: answers the same rows, those of deals in another order.
--
-- The export of a brokerage reads what belongs to deals by the deals. In the order of primary keys alone PostgreSQL sometimes looked for the rows of 200 deals among those of all.

create or replace function app.export_tables()
returns table(name text, columns text[], texts boolean[], by_deal boolean, query text)
language sql
stable
set search_path = ''
as $$
  select t.name, c.columns, c.texts, strpos(r.condition, '$1') = 0,
    format('%sselect to_jsonb(r)::text, array[%s], array[%s] from %s t cross join lateral (select %s) r
      where (%s) and ($3 is null or (%s) > (%s)) order by %s limit $4',
      case when o.key is not null then '/* in order */ ' end, c.cells, k.place, coalesce(o.source, format('public.%I', t.name)), c.taken,
      case when o.key is not null then 't.brokerage_id = $1' else r.condition end, k.key, k.beyond, k.key)
  from app.rows_of_brokerage('any ($2)', false) r
    cross join lateral (select split_part(r.name, '.', 2) as name, case when r.name like 'public.%' then r.name::regclass end as id) t
    -- Of what a brokerage may have very much, in the order of an index that begins with the brokerage: by their primary key it would be read through those of all.
    left join (values
      ('audit_records', null, '{at,id}'::name[]),
      -- Those that are archived have an index of their own.
      ('contacts', (
        select format('(%s)', string_agg(format('(select c.* from public.contacts c where c.brokerage_id = $1 and c.archived_at is %s null
          and ($3 is null or (c.created_at, c.id) > ($3[1]::timestamptz(3), $3[2]::uuid)) order by c.created_at, c.id limit $4)', isnt), ' union all '))
        from unnest('{"",not}'::text[]) isnt), '{created_at,id}')
      ) o (name, source, key) on o.name = t.name
    cross join lateral (
      select array_agg(a.attname::text order by a.attnum) as columns, array_agg(y.typcategory in ('S', 'U', 'A') order by a.attnum) as texts,
        string_agg(format('r.%I::text', a.attname), ', ' order by a.attnum) as cells,
        string_agg(
          case when exists (
            select from pg_catalog.pg_constraint k where k.contype = 'f' and k.conrelid = t.id and k.confrelid = 'public.users'::regclass
              and k.conkey = array[a.attnum])
          then format('case when %s then t.%I end as %I', case
              when t.name = 'deals' or exists (select from pg_catalog.pg_attribute d where d.attrelid = t.id and d.attname = 'deal_id') then 'app.user_id() is null'
              else format('exists (select from public.users u where u.id = t.%I)', a.attname) end, a.attname, a.attname)
          else format('t.%I', a.attname) end, ', ' order by a.attnum) as taken
      from pg_catalog.pg_attribute a join pg_catalog.pg_type y on y.oid = a.atttypid
      where a.attrelid = t.id and a.attnum > 0 and not a.attisdropped and a.attname not in ('storage_key', 'body_cleared_at', 'picture', 'noted')
        and not (a.attname = 'user_id' and t.name in ('members', 'participants')) and has_column_privilege(a.attrelid, a.attnum, 'select')) c
    cross join lateral (
      select string_agg(format('t.%I', p.attname), ', ' order by p.place) as key,
        string_agg(format('t.%I::text', p.attname), ', ' order by p.place) as place,
        string_agg(format('$3[%s]::%s', p.place, format_type(p.atttypid, p.atttypmod)), ', ' order by p.place) as beyond
      from (
        select p.attname, p.atttypid, p.atttypmod, row_number() over (order by p.place) as place
        from (
          select a.attname, a.atttypid, a.atttypmod, p.place
          from pg_catalog.pg_index i cross join lateral unnest(i.indkey) with ordinality p (attnum, place)
            join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = p.attnum
          where i.indrelid = t.id and i.indisprimary and o.key is null
          union all
          -- Deal by deal: by the primary key alone the rows of other brokerages would be read for it, too.
          select a.attname, a.atttypid, a.atttypmod, 0
          from pg_catalog.pg_attribute a
          where r.condition = 't.deal_id = any ($2)' and a.attrelid = t.id and a.attname = 'deal_id' and not exists (select from pg_catalog.pg_index i
            where i.indrelid = t.id and i.indisprimary and a.attnum = any (i.indkey))
          union all
          select a.attname, a.atttypid, a.atttypmod, p.place
          from unnest(o.key) with ordinality p (name, place) join pg_catalog.pg_attribute a on a.attrelid = t.id and a.attname = p.name) p) p) k
  where t.id is not null and c.columns is not null
  order by 1
$$;
