-- compatible: new functions.
--
-- Who advises somebody who has not joined yet sees nothing of the deal, and so could not leave it, which everybody may do by themselves. They read the deal's name,
-- which they accepted an invitation to, and can leave it.

create function app.waiting_places()
 returns table(participant_id uuid, brokerage_name text, deal_title text, joined_at timestamp with time zone)
 language plpgsql
 stable security definer
 set search_path to ''
as $function$
declare
  me constant uuid := app.user_id();
  -- Where they see the deal, it is among those of their lists.
  unseen constant uuid[] := array(select p.id from public.participants p
    where p.user_id = me and p.status = 'active' and p.advises is not null
      and not exists (select from vault.deals_of_people o where o.user_id = me and o.deal_id = p.deal_id));
begin
  if app.client_id() is not null then
    return;
  end if;
  return query
    select p.id, b.name, d.title, p.joined_at
    from public.participants p
    join public.participants a on a.id = p.advises and a.status <> 'active'
    join public.deals d on d.id = p.deal_id
    join public.brokerages b on b.id = d.organization_id
    where p.id = any (unseen)
      and not d.organization_id = any (app.barred_in((select app.identity())))
      and not exists (select from vault.deletions_begun g where g.brokerage_id = d.organization_id)
    order by p.joined_at desc, p.id desc limit 200;
end
$function$;
revoke all on function app.waiting_places() from public;
grant execute on function app.waiting_places() to dealkeep_server;

create function app.leave_waiting_place(participation uuid, address inet, request_id text)
 returns boolean
 language plpgsql
 security definer
 set search_path to ''
as $function$
declare
  deal uuid;
begin
  -- One that they see by now is left on its page.
  update public.participants p set status = 'removed'
    where p.id = (select w.participant_id from app.waiting_places() w where w.participant_id = participation) and p.status = 'active'
    returning p.deal_id into deal;
  if not found then
    return false;
  end if;
  perform app.audit('participant.remove', participation::text, 'done', null, deal, address, request_id, '{"left": true}');
  return true;
end
$function$;
revoke all on function app.leave_waiting_place(uuid, inet, text) from public;
grant execute on function app.leave_waiting_place(uuid, inet, text) to dealkeep_server;
