-- compatible: a function more; another answers the same.
--
-- The audit trail of a brokerage asked for all deals of the caller twice, where only those of the brokerage matter. And titles of deals, which is all that completing words asks for,
-- came with everything else that lists tell of ten thousand.

create or replace function app.audit_of_brokerage(brokerage uuid, by_user uuid, beginning text, done boolean, since timestamptz, before timestamptz, after_at timestamptz, after_id uuid, most integer)
returns SETOF uuid
language plpgsql stable security definer set search_path = '' set enable_sort = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  brokered uuid[];
  seen uuid[];
  fivefold int;
  within constant text := concat_ws(' and ', 'r.brokerage_id = $1',
    case when since is not null then 'r.at >= $5' end,
    case when before is not null then 'r.at < $6' end,
    case when after_at is not null then '(r.at, r.id) < ($7, $8)' end);
  asked constant text := concat_ws(' and ', 'true',
    case when by_user is not null then 'r.user_id = $2' end,
    case when beginning is not null then 'starts_with(r.action, $3)' end,
    case when done is not null then '(r.outcome in (''done'', ''ok'')) = $4' end);
  fits constant text := concat_ws(' and ', within, asked);
  -- Looked up in a table that is made once: of an array the planner would estimate each element.
  theirs constant text := '(r.deal_id in (select b.id from unnest($10) b (id))
    or r.user_id = $11 and (r.deal_id is null or r.deal_id in (select s.id from unnest($12) s (id))))';
  latest constant text := 'order by r.at desc, r.id desc limit ';
begin
  if me is null then
    return;
  end if;
  if brokerage = any (app.brokerages_as('admin')) then
    return query execute format('select r.id from public.audit_records r where %s %s $9', fits, latest)
      using brokerage, by_user, beginning, done, since, before, after_at, after_id, most;
    return;
  end if;
  -- Those of the brokerage that the caller runs, and all in which they take part.
  select coalesce(array_agg(o.deal_id) filter (where o.role = 'broker'), '{}'), coalesce(array_agg(o.deal_id), '{}') into brokered, seen
    from vault.deals_of_people o
    where o.user_id = me and o.organization_id = brokerage and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed);
  fivefold := 5 * cardinality(brokered);
  if (select count(*) from (select from public.deals d where d.organization_id = brokerage limit fivefold) d) < fivefold then
    return query execute format('select r.id from (select r.* from public.audit_records r where %s order by r.at desc, r.id desc offset 0) r
        where %s and %s %s $9', within, asked, theirs, latest)
      using brokerage, by_user, beginning, done, since, before, after_at, after_id, most, brokered, me, seen;
    return;
  end if;
  return query execute format(
    'with latest as materialized (
       select d.id, r.at, r.id as record
       from public.deals d cross join lateral (select r.at, r.id from public.audit_records r where r.deal_id = d.id and %1$s %2$s 1) r
       where d.id = any ($10) and d.organization_id = $1),
     busiest as materialized (select l.id from latest l order by l.at desc, l.record desc limit $9)
     select f.id from (
       select r.id, r.at from busiest b cross join lateral (
         select r.id, r.at from public.audit_records r where r.deal_id = b.id and %1$s %2$s $9) r
       union
       (select r.id, r.at from public.audit_records r
         where r.user_id = $11 and (r.deal_id is null or r.deal_id = any ($12)) and %1$s %2$s $9)) f
     order by f.at desc, f.id desc limit $9', fits, latest)
    using brokerage, by_user, beginning, done, since, before, after_at, after_id, most, brokered, me, seen;
end
$$;

-- The titles, each once, of the deals that the caller sees that are like this, those of the latest deals first; and how many titles there are.
create function app.titles_in_sight(pattern text, at_most integer) returns table (title text, total integer)
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  administered constant uuid[] := app.brokerages_as('admin');
begin
  return query
    select s.title, (count(*) over ())::int
    from (
      select o.title, o.created_at from vault.deals_of_people o
      where o.user_id = me and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed)
        and (pattern is null or lower(o.title) like pattern)
      union all
      select d.title, d.created_at from public.deals d
      where d.organization_id = any (administered) and (pattern is null or lower(d.title) like pattern)) s
    group by s.title order by max(s.created_at) desc, s.title limit at_most;
end
$$;
grant execute on function app.titles_in_sight(text, integer) to dealkeep_server;
