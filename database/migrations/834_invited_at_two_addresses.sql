-- compatible: functions with the same parameters.
--
-- Whoever invited the address that an account has now, while its invitation at an earlier address waited, saw that entry turn into the other, and so that both are
-- one account. Now the earlier entry stays, for whoever has its address.

CREATE OR REPLACE FUNCTION app.invite_to_deal(deal_id uuid, email text, name text, role text, advises uuid, again uuid DEFAULT NULL::uuid, mailed boolean DEFAULT true)
 RETURNS TABLE(participant_id uuid)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  sandbox uuid;
  typed text := lower(invite_to_deal.email);
  address text := lower(invite_to_deal.email);
  invited uuid;
  elsewhere record;
  other uuid;
  part record;
begin
  select b.id into sandbox from public.deals d join public.brokerages b on b.id = d.organization_id and b.sandbox_of is not null where d.id = invite_to_deal.deal_id;
  if not exists (select from public.deals d where d.id = invite_to_deal.deal_id
    and (d.id = any (app.deals_acting_as('broker')) or d.organization_id = any (app.brokerages_as('admin'))))
  then
    raise insufficient_privilege using message = 'not a broker of this deal';
  end if;
  -- Whoever once took part is invited themselves, whatever address they have now.
  select p.user_id into invited from public.participants p
    where p.id = invite_to_deal.again and p.deal_id = invite_to_deal.deal_id and p.joined_at is not null;
  if found then
    select u.email into address from public.users u where u.id = invited and u.erased_at is null for share;
    if not found then
      perform app.refuse('address_not_taken', 'No e-mail can be sent to this address.');
    end if;
    if invite_to_deal.mailed then
      typed := address;
    end if;
  else
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
  end if;
  -- What the account was invited to at another address, and has not answered, is left to whoever has that address: one entry would otherwise turn into the other.
  select p.id, p.invited_email, p.invited_name into elsewhere from public.participants p
    where p.deal_id = invite_to_deal.deal_id and p.user_id = invited and sandbox is null
      and p.joined_at is null and p.invited_email <> typed and p.invited_email not like '%@erased.invalid';
  if found then
    other := app.account_at(elsewhere.invited_email, elsewhere.invited_name);
  end if;
  -- Who leaves the brokerage meanwhile is waited for, or waits and leaves this deal too. app.link_deal_invitation asks again who may invite.
  perform from public.members m
    where m.brokerage_id = (select d.organization_id from public.deals d where d.id = invite_to_deal.deal_id) and m.user_id in (app.user_id(), invited)
    order by m.user_id for share;
  -- Before the deal, as whoever answers an invitation takes it; with whom they advise, who may be leaving.
  perform from public.participants p
    where p.deal_id = invite_to_deal.deal_id
      and (p.user_id = invited or p.id = invite_to_deal.advises or (p.joined_at is null and p.invited_email = typed))
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
  update public.participants p set user_id = other
    where p.id = elsewhere.id and p.user_id = invited and p.joined_at is null
      and not exists (select from public.participants o where o.deal_id = invite_to_deal.deal_id and o.user_id = other);
  if found then
    update vault.invitations i set user_id = other where i.participant_id = elsewhere.id and i.used_at is null;
  end if;
  update public.participants p set user_id = invited
    where p.id = (select o.id from public.participants o
        where o.deal_id = invite_to_deal.deal_id and o.joined_at is null and o.invited_email = typed order by o.id limit 1)
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
      typed)
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

CREATE OR REPLACE FUNCTION app.invite_member(to_brokerage uuid, given_email text, given_name text, as_role text, token bytea, mailed boolean, address inet, request_id text, again uuid DEFAULT NULL::uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  typed text := lower(given_email);
  invited uuid;
  present text;
  elsewhere record;
  other uuid;
  known_as uuid;
begin
  if to_brokerage is null or not to_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    raise insufficient_privilege using message = 'not an admin of this brokerage';
  end if;
  -- Whoever was once a member is invited themselves, whatever address they have now.
  select m.user_id into invited from public.members m
    where m.brokerage_id = to_brokerage and m.person_id = again and m.joined_at is not null;
  if found then
    select u.email into present from public.users u where u.id = invited and u.erased_at is null for share;
    if not found then
      perform app.refuse('address_not_taken', 'No e-mail can be sent to this address.');
    end if;
    if invite_member.mailed then
      typed := present;
    end if;
  else
    invited := app.account_at(typed, given_name);
  end if;
  if exists (select from public.members m
    where m.brokerage_id = to_brokerage and m.user_id = invited and m.status = 'active')
  then
    perform app.refuse('already_member', 'This person is a member already.');
  end if;
  -- As in app.invite_to_deal().
  select m.invited_email, m.invited_name into elsewhere from public.members m
    where m.brokerage_id = to_brokerage and m.user_id = invited
      and m.joined_at is null and m.invited_email <> typed and m.invited_email not like '%@erased.invalid';
  if found then
    other := app.account_at(elsewhere.invited_email, elsewhere.invited_name);
    update public.members m set user_id = other
      where m.brokerage_id = to_brokerage and m.user_id = invited and m.joined_at is null
        and not exists (select from public.members o where o.brokerage_id = to_brokerage and o.user_id = other);
    if found then
      update vault.invitations i set user_id = other where i.user_id = invited and i.brokerage_id = to_brokerage and i.used_at is null;
    end if;
  end if;
  update public.members m set user_id = invited
    where m.brokerage_id = to_brokerage
      and m.user_id = (select o.user_id from public.members o
        where o.brokerage_id = to_brokerage and o.joined_at is null and o.invited_email = typed order by o.user_id limit 1)
      and m.user_id <> invited and m.joined_at is null
      and not exists (select from public.members o where o.brokerage_id = to_brokerage and o.user_id = invited);
  -- Or they have just accepted.
  insert into public.members as m (brokerage_id, user_id, role, status, invited_name, invited_email)
    values (to_brokerage, invited, as_role, 'invited', given_name, typed)
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
