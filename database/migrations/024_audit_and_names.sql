-- The audit trail of a brokerage for those who are no admins of it, and names of people and brokerages, at any size.

-- PostgreSQL asks the policies of a table that allow in the reverse order of their names, and stops at the first that does. So what is
-- known at once comes before what looks at deals: a member of a brokerage sees it, and colleagues, without.
alter policy people_of_its_deals_see_it on brokerages rename to by_a_deal_of_theirs;
alter policy people_of_ones_deals on users rename to by_a_deal_in_common;

-- The records of a brokerage that the caller sees and that fit, the latest first, those behind a place, at most so many: as the
-- policies of audit_records have it, and without calls on deals that the caller does not see, which are for admins.
-- Admins read the brokerage's records in their order. For others that would go through those of every deal: they read the last
-- of each of their own deals, and those of the deals with the latest.
create function app.audit_of_brokerage(brokerage uuid, by_user uuid, beginning text, done boolean, since timestamptz, before timestamptz,
  after_at timestamptz, after_id uuid, most int)
returns setof uuid
language plpgsql stable security definer set search_path = '' as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  brokered constant uuid[] := app.deals_acting_as('broker');
  seen constant uuid[] := app.deals_as('broker', 'seller', 'buyer', 'viewer');
  fits constant text := concat_ws(' and ', 'r.brokerage_id = $1',
    case when by_user is not null then 'r.user_id = $2' end,
    case when beginning is not null then 'starts_with(r.action, $3)' end,
    case when done is not null then '(r.outcome in (''done'', ''ok'')) = $4' end,
    case when since is not null then 'r.at >= $5' end,
    case when before is not null then 'r.at < $6' end,
    case when after_at is not null then '(r.at, r.id) < ($7, $8)' end);
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
grant execute on function app.audit_of_brokerage(uuid, uuid, text, boolean, timestamptz, timestamptz, timestamptz, uuid, int) to dealkeep_server;
