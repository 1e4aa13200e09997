-- compatible: no release has called what goes.
-- How a table is read for an export is made of the catalogue once, and no more for every thousand rows; and lists that the first page and the
-- notifications have not read for long go.

drop function app.own_notifications(boolean, timestamptz, uuid, int);
drop function app.home_deals();
revoke execute on function app.activity_in_sight() from dealkeep_server;

drop function app.export_rows(text, uuid, uuid[], text[], int);
drop function app.export_tables();

-- The tables of a brokerage of which the caller may read columns, without those that only say where something is kept. texts: which columns are free text, that a
-- spreadsheet could take for a formula; by_deal: its rows are found by the deal; query: what app.export_rows runs for a portion, in the order of the primary
-- key. A query does not tell who did what on a deal, which the pages tell to some and not to others, and nowhere names anybody whom the caller may not
-- know. The owner of the database asks as nobody, and is told.
create function app.export_tables() returns table (name text, columns text[], texts boolean[], by_deal boolean, query text)
language sql stable set search_path = '' as $$
  select t.name, c.columns, c.texts, strpos(r.condition, '$1') = 0,
    format('select to_jsonb(r)::text, array[%s], array[%s] from public.%I t cross join lateral (select %s) r
      where (%s) and ($3 is null or (%s) > (%s)) order by %s limit $4',
      c.cells, k.place, t.name, c.taken, r.condition, k.key, k.beyond, k.key)
  from app.rows_of_brokerage('any ($2)', false) r
    cross join lateral (select split_part(r.name, '.', 2) as name, case when r.name like 'public.%' then r.name::regclass end as id) t
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
      where a.attrelid = t.id and a.attnum > 0 and not a.attisdropped and a.attname not in ('storage_key', 'body_cleared_at')
        and not (a.attname = 'user_id' and t.name in ('members', 'participants')) and has_column_privilege(a.attrelid, a.attnum, 'select')) c
    cross join lateral (
      select string_agg(format('t.%I', a.attname), ', ' order by p.place) as key,
        string_agg(format('t.%I::text', a.attname), ', ' order by p.place) as place,
        string_agg(format('$3[%s]::%s', p.place, format_type(a.atttypid, a.atttypmod)), ', ' order by p.place) as beyond
      from pg_catalog.pg_index i cross join lateral unnest(i.indkey) with ordinality p (attnum, place)
        join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = p.attnum
      where i.indrelid = t.id and i.indisprimary) k
  where t.id is not null and c.columns is not null
  order by 1
$$;
grant execute on function app.export_tables() to dealkeep_server;

-- The next rows of one of these tables by its query, after the place where the last portion ended: those of the brokerage, or of the deals. It runs
-- with the rights of whoever calls it, so that a query reads what they could read anyway. Planned anew each time: by the place, the key's index is read.
create function app.export_rows(query text, brokerage uuid, deals uuid[], after text[], most int)
returns table (content text, cells text[], place text[])
language plpgsql stable set search_path = '' as $$
begin
  return query execute export_rows.query using brokerage, deals, after, most;
end
$$;
grant execute on function app.export_rows(text, uuid, uuid[], text[], int) to dealkeep_server;
