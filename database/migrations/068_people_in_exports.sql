-- compatible: a function is replaced.
-- What an admin exports does not tell who did what on a deal, which the pages tell to some and not to others, and nowhere names anybody whom the admin may not
-- know. The owner of the database asks as nobody, and is told.
create or replace function app.export_rows(of_table text, brokerage uuid, deals uuid[], after text[], most int)
returns table (content text, cells text[], place text[])
language plpgsql stable set search_path = '' as $$
declare
  condition text;
  columns text[];
  taken text;
  key text[];
  beyond text;
begin
  select r.condition into condition from app.rows_of_brokerage('any ($2)', false) r where r.name = 'public.' || of_table;
  select t.columns into columns from app.export_tables() t where t.name = of_table;
  if condition is null or columns is null then
    raise exception 'There is no table % to export.', of_table;
  end if;
  select string_agg(
      case when exists (
        select from pg_catalog.pg_constraint k join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
        where k.contype = 'f' and array_length(k.conkey, 1) = 1 and k.conrelid = ('public.' || of_table)::regclass
          and k.confrelid = 'public.users'::regclass and a.attname = c.name)
      then format('case when %s then t.%I end as %I', case
          when of_table = 'deals' or 'deal_id' = any (columns) then 'app.user_id() is null'
          else format('exists (select from public.users u where u.id = t.%I)', c.name) end, c.name, c.name)
      else format('t.%I', c.name) end, ', ' order by c.nth) into taken
    from unnest(columns) with ordinality c (name, nth);
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
    of_table, taken, condition, array_to_string(key, ', '), beyond, array_to_string(key, ', '))
    using brokerage, deals, after, most;
end
$$;
