-- compatible: the release before shows people what is refused here as any refusal.
--
-- Advisors leave a deal with whom they advise, but could be invited to advise somebody who had been removed: accepted, they were on the deal for nobody, and saw it again as soon as
-- that person was back. Who is to be advised is on the deal, or invited to it, and cannot be removed while their advisor is being invited.

create or replace function app.check_advised() returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  if new.advises = new.id
    or exists (select from public.participants p
      where p.id = new.advises and p.deal_id = new.deal_id and p.role = 'advisor')
    or exists (select from public.participants p where p.advises = new.id and p.status <> 'removed')
  then
    perform app.refuse('advisor_of_advisor', 'An advisor advises a broker, seller, buyer or viewer, not another advisor.');
  end if;
  if new.status = 'invited' and exists (select from public.participants p where p.id = new.advises and p.status = 'removed') then
    perform app.refuse('advised_removed', 'Whom they would advise is no longer on this deal: invite that person first.');
  end if;
  return new;
end
$$;

create or replace function app.invite_to_deal(deal_id uuid, email text, name text, role text, advises uuid)
returns table(participant_id uuid)
language plpgsql
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  sandbox uuid;
  address text := lower(invite_to_deal.email);
  invited uuid;
  part record;
begin
  select b.id into sandbox from public.deals d join public.brokerages b on b.id = d.organization_id and b.sandbox_of is not null where d.id = invite_to_deal.deal_id;
  if not exists (select from public.deals d where d.id = invite_to_deal.deal_id
    and (d.id = any (app.deals_acting_as('broker')) or d.organization_id = any (app.brokerages_as('admin'))))
  then
    raise insufficient_privilege using message = 'not a broker of this deal';
  end if;
  if sandbox is not null then
    address := coalesce((select u.email from public.users u where u.email = address and u.sandbox_id = sandbox), app.sandbox_address(sandbox, md5(address)));
  elsif address like '%.sandbox.invalid' then
    perform app.refuse('address_not_taken', 'Nobody can be written to at this address.');
  end if;
  invited := app.account_at(address, invite_to_deal.name, sandbox);
  -- Before the deal, as whoever answers an invitation takes it; with whom they advise, who may be leaving.
  perform from public.participants p where p.deal_id = invite_to_deal.deal_id and (p.user_id = invited or p.id = invite_to_deal.advises)
    order by p.advises is not null, p.id for no key update;
  select p.id, p.role, p.status into part from public.participants p where p.deal_id = invite_to_deal.deal_id and p.user_id = invited;
  if part.status = 'active' then
    perform app.refuse('already_participant', 'This person already takes part in the deal.');
  end if;
  if part.role <> invite_to_deal.role then
    perform from public.participants p where p.advises = part.id order by p.id for no key update;
  end if;
  return query
    insert into public.participants as p (deal_id, user_id, role, advises, invited_name, invited_email)
    values (invite_to_deal.deal_id, invited, invite_to_deal.role, invite_to_deal.advises, invite_to_deal.name,
      lower(invite_to_deal.email))
    on conflict (deal_id, user_id) do update
      set status = 'invited', role = excluded.role, advises = excluded.advises, invited_name = excluded.invited_name,
        invited_email = excluded.invited_email
      where p.status <> 'active'
    returning p.id;
  if not found then
    perform app.refuse('already_participant', 'This person already takes part in the deal.');
  end if;
end
$$;
