-- compatible: people on a deal beyond so many are refused, and of invitations that wait not all are told.
-- A page of the deal tells all of its people, and links cost no mail: somebody who invites all day would make it as large as they like.
create trigger limit_of_deal before insert on public.participants
  for each row execute function app.limit_of_deal('2000', 'people');

-- The first page tells the invitations of everybody: those of one brokerage must not crowd out the others.
create or replace function app.deal_invitations()
 returns table(participant_id uuid, role text, brokerage_name text, deal_title text, invited_at timestamp with time zone)
 language sql
 stable security definer
 set search_path to ''
as $function$
  select i.id, i.role, i.name, i.title, i.updated_at
  from (
    select p.id, p.role, b.name, d.title, p.updated_at, row_number() over (partition by d.organization_id order by p.updated_at desc, p.id desc) as nth
    from public.participants p
    join public.deals d on d.id = p.deal_id
    join public.brokerages b on b.id = d.organization_id
    where p.user_id = app.user_id() and p.status = 'invited' and not app.address_in_doubt(d.organization_id)) i
  where i.nth <= 20
  order by i.updated_at desc, i.id desc limit 200
$function$;
