-- compatible: new functions.
--
-- Who advises somebody who has not joined yet sees nothing of the deal, and so could not leave it, which everybody may do by themselves. They read the deal's name,
-- which they accepted an invitation to, and can leave it.

create function app.waiting_places()
 returns table(participant_id uuid, brokerage_name text, deal_title text, joined_at timestamp with time zone)
 language sql
 stable security definer
 set search_path to ''
as $function$
  select p.id, b.name, d.title, p.joined_at
  from public.participants p
  join public.participants a on a.id = p.advises and a.status <> 'active'
  join public.deals d on d.id = p.deal_id
  join public.brokerages b on b.id = d.organization_id
  where p.user_id = app.user_id() and p.status = 'active' and app.client_id() is null
    and not d.organization_id = any (app.barred_in((select app.identity())))
    and not exists (select from vault.deletions_begun g where g.brokerage_id = d.organization_id)
  order by p.joined_at desc, p.id desc limit 200
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
