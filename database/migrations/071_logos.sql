-- compatible: a table and a function more; an export leaves the new table's pictures to files of their own.

-- The logo of a brokerage, as its mails and pages show it. The server has taken it apart and put it together again (server/documents/pictures.ts).
create table brokerage_logos (
  brokerage_id uuid primary key references brokerages,
  media_type text not null check (media_type in ('image/png', 'image/jpeg', 'image/webp')),
  width int not null check (width between 1 and 2000),
  height int not null check (height between 1 and 2000),
  picture bytea not null check (length(picture) between 1 and 200000),
  updated_at timestamptz not null default app.now()
);
select app.protect('brokerage_logos');
create policy with_the_brokerage on brokerage_logos for select to dealkeep_server
  using (exists (select from brokerages b where b.id = brokerage_id));
create policy admins_add_it on brokerage_logos for insert to dealkeep_server
  with check (brokerage_id = any ((select app.brokerages_as('admin'))::uuid[]));
create policy admins_change_it on brokerage_logos for update to dealkeep_server
  using (brokerage_id = any ((select app.brokerages_as('admin'))::uuid[]));
create policy admins_remove_it on brokerage_logos for delete to dealkeep_server
  using (brokerage_id = any ((select app.brokerages_as('admin'))::uuid[]));
create trigger touch before update on brokerage_logos for each row execute function app.touch();
grant select, insert (brokerage_id, media_type, width, height, picture), update (media_type, width, height, picture), delete
  on brokerage_logos to dealkeep_server;

-- The logo that a mail carries: that of the brokerage in whose name it is sent.
create function app.logo_of_mail(mail uuid) returns table (media_type text, width int, height int, picture bytea)
language plpgsql stable security definer set search_path = '' as $$
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Mails are made by those who deliver them.');
  end if;
  return query
    select l.media_type, l.width, l.height, l.picture from vault.outbox o join public.brokerage_logos l on l.brokerage_id = o.brokerage_id
    where o.id = logo_of_mail.mail and o.sent_at is null;
end
$$;
grant execute on function app.logo_of_mail(uuid) to dealkeep_server;

-- As before, but for the pictures.
create or replace function app.export_tables() returns table (name text, columns text[], texts boolean[], by_deal boolean, query text)
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
      where a.attrelid = t.id and a.attnum > 0 and not a.attisdropped and a.attname not in ('storage_key', 'body_cleared_at', 'picture')
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
