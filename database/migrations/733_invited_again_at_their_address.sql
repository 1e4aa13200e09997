-- compatible: functions that keep a row where they added another.
--
-- An invitation that nobody has accepted is for whoever has its address. Where the account behind it had moved to another address, "Invite again" added a second
-- person with the same address; and whoever invited the other address, too, saw the first row take it, and so that both were one account. Now such a row goes on
-- with the account that has its address, and the other address is somebody else's. Nobody has done anything in the name of such a row.

CREATE OR REPLACE FUNCTION app.invite_to_deal(deal_id uuid, email text, name text, role text, advises uuid)
 RETURNS TABLE(participant_id uuid)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
  -- What an erasure left in place of an address (app.account_at): in sandboxes another address would be made of it.
  if address like '%@erased.invalid' then
    perform app.refuse('address_not_taken', 'No e-mail can be sent to this address.');
  end if;
  if sandbox is not null then
    address := coalesce((select u.email from public.users u where u.email = address and u.sandbox_id = sandbox), app.sandbox_address(sandbox, md5(address)));
  elsif address like '%.sandbox.invalid' then
    perform app.refuse('address_not_taken', 'No e-mail can be sent to this address.');
  end if;
  invited := app.account_at(address, invite_to_deal.name, sandbox);
  -- Who leaves the brokerage meanwhile is waited for, or waits and leaves this deal too. app.link_deal_invitation asks again who may invite.
  perform from public.members m
    where m.brokerage_id = (select d.organization_id from public.deals d where d.id = invite_to_deal.deal_id) and m.user_id in (app.user_id(), invited)
    order by m.user_id for share;
  -- Before the deal, as whoever answers an invitation takes it; with whom they advise, who may be leaving.
  perform from public.participants p
    where p.deal_id = invite_to_deal.deal_id
      and (p.user_id = invited or p.id = invite_to_deal.advises or (p.joined_at is null and p.invited_email = lower(invite_to_deal.email)))
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
  update public.participants p set user_id = invited
    where p.id = (select o.id from public.participants o
        where o.deal_id = invite_to_deal.deal_id and o.joined_at is null and o.invited_email = lower(invite_to_deal.email) order by o.id limit 1)
      and p.user_id <> invited and p.joined_at is null
      and not exists (select from public.participants o where o.deal_id = invite_to_deal.deal_id and o.user_id = invited);
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
$function$;

CREATE OR REPLACE FUNCTION app.invite_member(to_brokerage uuid, given_email text, given_name text, as_role text, token bytea, mailed boolean, address inet, request_id text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  invited uuid;
  known_as uuid;
begin
  if to_brokerage is null or not to_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    raise insufficient_privilege using message = 'not an admin of this brokerage';
  end if;
  invited := app.account_at(lower(given_email), given_name);
  if exists (select from public.members m
    where m.brokerage_id = to_brokerage and m.user_id = invited and m.status = 'active')
  then
    perform app.refuse('already_member', 'This person is a member already.');
  end if;
  update public.members m set user_id = invited
    where m.brokerage_id = to_brokerage
      and m.user_id = (select o.user_id from public.members o
        where o.brokerage_id = to_brokerage and o.joined_at is null and o.invited_email = lower(given_email) order by o.user_id limit 1)
      and m.user_id <> invited and m.joined_at is null
      and not exists (select from public.members o where o.brokerage_id = to_brokerage and o.user_id = invited);
  -- Or they have just accepted.
  insert into public.members as m (brokerage_id, user_id, role, status, invited_name, invited_email)
    values (to_brokerage, invited, as_role, 'invited', given_name, lower(given_email))
    on conflict (brokerage_id, user_id) do update set role = excluded.role, status = 'invited',
      invited_name = excluded.invited_name, invited_email = excluded.invited_email
    where m.status <> 'active'
    returning m.person_id into known_as;
  if not found then
    perform app.refuse('already_member', 'This person is a member already.');
  end if;
  delete from vault.invitations i where i.user_id = invited and i.brokerage_id = to_brokerage and i.used_at is null;
  insert into vault.invitations (digest, user_id, brokerage_id, mailed) values (token, invited, to_brokerage, invite_member.mailed);
  perform app.audit('member.invite', known_as::text, 'done', to_brokerage, null, address, request_id,
    jsonb_build_object('role', as_role));
  return known_as;
end
$function$;
