-- compatible: counts fewer people; old nodes list more deals to hand over.

-- A broker who is no member of the brokerage stays on the deal, but the brokerage had nobody on it any more, and was not told: the deal was not handed over.
CREATE OR REPLACE FUNCTION app.deals_run_alone(by_brokerage uuid, by_member uuid)
 RETURNS TABLE(id uuid, title text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query
    select d.id, d.title from public.deals d
    join public.participants own on own.deal_id = d.id and own.user_id = by_member and own.role = 'broker' and own.status = 'active'
    where d.organization_id = by_brokerage and d.state not in ('closed', 'withdrawn')
      and by_brokerage = any (app.brokerages_as('admin')) and app.client_id() is null
      and not exists (select from public.participants p
        join public.users u on u.id = p.user_id and u.suspended_at is null
        join public.members m on m.brokerage_id = d.organization_id and m.user_id = p.user_id and m.status = 'active'
        where p.deal_id = d.id and p.user_id <> by_member and p.role = 'broker' and p.status = 'active')
    order by d.created_at desc, d.id desc;
end
$function$;

CREATE OR REPLACE FUNCTION app.open_deals_alone(of_brokerage uuid, of_member uuid)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
    select d.id from public.deals d
    join public.participants own on own.deal_id = d.id and own.user_id = of_member and own.role = 'broker' and own.status = 'active'
    where d.organization_id = of_brokerage and d.state not in ('closed', 'withdrawn')
      and not exists (select from public.participants p
        join public.users u on u.id = p.user_id and u.suspended_at is null
        join public.members m on m.brokerage_id = d.organization_id and m.user_id = p.user_id and m.status = 'active'
        where p.deal_id = d.id and p.user_id <> of_member and p.role = 'broker' and p.status = 'active');
end
$function$;
