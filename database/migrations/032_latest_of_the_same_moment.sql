-- Of records of the same moment on different deals the first page shows those that come last in the activity.

-- The last eight things that were done on deals that the caller sees, as far as they may see them: as the policies of audit_records
-- have it. Brokers see what is done on their deals, admins what is done in their brokerages, and everybody what they did.
create or replace function app.latest_activity() returns setof uuid
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  administered constant uuid[] := app.brokerages_as('admin');
  brokered constant uuid[] := app.deals_acting_as('broker');
  other constant uuid[] := array(select unnest(app.deals_as('broker', 'seller', 'buyer', 'viewer')) except select unnest(brokered));
  busiest uuid[];
begin
  if me is null then
    return;
  end if;
  -- The last eight records are on the eight deals with the last ones.
  busiest := array(
    select b.id from unnest(brokered) b (id) cross join lateral (
      select a.at, a.id as record from public.audit_records a
      where a.deal_id = b.id and a.outcome = 'done' and a.action not like 'tool:%' order by a.at desc, a.id desc limit 1) a
    order by a.at desc, a.record desc limit 8);
  return query
    select found.id from (
      select a.id, a.at from unnest(busiest) b (id) cross join lateral (
        select a.id, a.at from public.audit_records a
        where a.deal_id = b.id and a.outcome = 'done' and a.action not like 'tool:%' order by a.at desc, a.id desc limit 8) a
      union
      select a.id, a.at from unnest(administered) b (id) cross join lateral (
        select a.id, a.at from public.audit_records a
        where a.brokerage_id = b.id and a.outcome = 'done' and a.action not like 'tool:%' and a.deal_id is not null
        order by a.at desc, a.id desc limit 8) a
      union
      (select a.id, a.at from public.audit_records a
        where a.user_id = me and a.outcome = 'done' and a.action not like 'tool:%' and a.deal_id = any (other)
        order by a.at desc, a.id desc limit 8)) found
    order by found.at desc, found.id desc limit 8;
end
$$;
