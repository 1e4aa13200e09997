-- compatible: a function does the same, and refuses more.
--
-- An admin could invite themself to a deal of the brokerage while another admin removed them: neither saw what the other had not yet committed, and the invitation, to be its broker even, was
-- open afterwards. A key could invite a member who was being removed, as if they stayed one. The memberships of who invites and who is invited are locked now, after the account and before parts.

create or replace function app.invite_to_deal(deal_id uuid, email text, name text, role text, advises uuid)
returns TABLE(participant_id uuid)
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
  -- Who leaves the brokerage meanwhile is waited for, or waits and leaves this deal too. app.link_deal_invitation asks again who may invite.
  perform from public.members m
    where m.brokerage_id = (select d.organization_id from public.deals d where d.id = invite_to_deal.deal_id) and m.user_id in (app.user_id(), invited)
    order by m.user_id for share;
  -- Before the deal, as whoever answers an invitation takes it; with whom they advise, who may be leaving.
  perform from public.participants p where p.deal_id = invite_to_deal.deal_id and (p.user_id = invited or p.id = invite_to_deal.advises)
    order by p.advises is not null, p.id for no key update;
  if sandbox is null and app.key_id() is not null
    and (invite_to_deal.role = 'broker'
      or exists (select from public.participants p where p.id = invite_to_deal.advises and p.deal_id = invite_to_deal.deal_id and p.role = 'broker'))
    and not exists (
      select from public.deals d join public.members m on m.brokerage_id = d.organization_id and m.status = 'active'
      where d.id = invite_to_deal.deal_id and m.user_id = invited)
  then
    perform app.refuse('not_a_member',
      'A key invites brokers and their advisors from among the members of the brokerage: anybody else is invited on the page of the deal.');
  end if;
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
