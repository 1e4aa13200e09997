-- compatible: a function answers the same, with less work where a transaction looks at one deal.
--
-- A request about one deal that tells whose deal it is asked for the brokerages of all of the caller's deals: it knows since it was entered whether
-- the caller takes part in this one.

create or replace function app.brokerages_of_deals() returns uuid[]
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
declare
  identity constant text := app.identity();
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(identity);
  narrowed constant uuid := app.narrowed_to();
begin
  if current_setting('dealkeep.identity', true) like ',%' then
    return array_remove(array[nullif(split_part(identity, ',', 4), '')::uuid], null);
  elsif narrowed is not null then
    return array(select d.organization_id from public.deals d where d.id = narrowed and split_part(identity, ',', 12) <> '');
  end if;
  return array(
    select distinct d.organization_id from app.own_parts(me, barred, narrowed) p
    join (select d.deal_id, d.organization_id from vault.deals_of_people d where d.user_id = me) d on d.deal_id = p.deal_id);
end
$$;
