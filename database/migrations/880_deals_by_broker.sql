-- compatible: functions that old nodes do not call.
--
-- Nobody found the deals that somebody runs, nor those that nobody runs.

-- The open deals, of the brokerages that the caller administers, of which no active member of the brokerage is broker. A broker from outside does not count: the
-- brokerage cannot hold them to anything. Who runs which deal is read from the rows of lists, one range of an index for each member.
create function app.deals_without_broker() returns setof uuid
  language plpgsql stable security definer set search_path = ''
  set enable_nestloop = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
declare
  brokerage uuid;
  running uuid[];
begin
  if app.client_id() is not null then
    return;
  end if;
  foreach brokerage in array app.brokerages_as('admin') loop
    running := array(select m.user_id from public.members m where m.brokerage_id = brokerage and m.status = 'active');
    running := array(select u.id from public.users u where u.id = any (running) and u.suspended_at is null);
    return query
      select d.id from public.deals d
      where d.organization_id = brokerage and d.state not in ('closed', 'withdrawn')
        and not exists (select from vault.deals_of_people o
          where o.user_id = any (running) and o.organization_id = brokerage and o.role = 'broker' and o.deal_id = d.id);
  end loop;
end
$$;
grant execute on function app.deals_without_broker() to dealkeep_server;

-- Whether this deal is one of those.
create function app.is_without_broker(deal_id uuid) returns boolean
  language plpgsql stable security definer set search_path = ''
as $$
begin
  return exists (select from public.deals d
    where d.id = is_without_broker.deal_id and d.organization_id = any (app.brokerages_as('admin')) and d.state not in ('closed', 'withdrawn')
      and not exists (select from public.participants p
        join public.members m on m.brokerage_id = d.organization_id and m.user_id = p.user_id and m.status = 'active'
        join public.users u on u.id = p.user_id and u.suspended_at is null
        where p.deal_id = d.id and p.role = 'broker' and p.status = 'active'));
end
$$;
grant execute on function app.is_without_broker(uuid) to dealkeep_server;

-- The deals that this person runs, as far as the caller runs them too, or administers their brokerage; without a person, those without a broker.
create function app.deals_of_broker(broker uuid) returns setof uuid
  language plpgsql stable security definer set search_path = ''
  set enable_nestloop = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
declare
  me constant uuid := app.user_id();
  administered constant uuid[] := app.brokerages_as('admin');
begin
  if broker is null then
    return query select app.deals_without_broker();
    return;
  end if;
  return query
    select o.deal_id from vault.deals_of_people o
    where o.user_id = broker and o.role = 'broker' and app.client_id() is null
      and (o.organization_id = any (administered)
        or o.deal_id in (select m.deal_id from vault.deals_of_people m where m.user_id = me and m.role = 'broker'));
end
$$;
grant execute on function app.deals_of_broker(uuid) to dealkeep_server;
