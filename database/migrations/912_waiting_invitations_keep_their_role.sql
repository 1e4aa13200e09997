-- compatible: a function with the same parameters; the pages of old nodes show the message.
--
-- Inviting an address to a deal again, in another role, gave the invitation that waited there that role without a word. Now whoever invites is told that it waits. One
-- whose link has expired waits no more, as in app.invite_member(); the same role is sent again, as before.

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
  waits constant text := 'An invitation to this address is waiting already, in another role: withdraw it on the deal’s page first, then invite them again.';
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
  select p.id, p.role, p.status, p.advises, p.invited_email into part
    from public.participants p where p.deal_id = invite_to_deal.deal_id and p.user_id = invited;
  if part.status = 'active' then
    perform app.refuse('already_participant', 'This person already takes part in the deal.');
  end if;
  -- What waits at another address is not told: that both lead to one account would be learned by it.
  if part.status = 'invited' and part.invited_email = typed
    and (part.role, part.advises) is distinct from (invite_to_deal.role, invite_to_deal.advises)
    and exists (select from vault.invitations i where i.participant_id = part.id and i.used_at is null and i.expires_at > app.now())
  then
    perform app.refuse('already_invited', waits);
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
        and (p.id = part.id or (p.role, p.advises) is not distinct from (excluded.role, excluded.advises))
    returning p.id;
  if not found then
    if exists (select from public.participants p
      where p.deal_id = invite_to_deal.deal_id and p.user_id = invited and p.status = 'active')
    then
      perform app.refuse('already_participant', 'This person already takes part in the deal.');
    end if;
    -- Somebody else has just invited them.
    perform app.refuse('already_invited', waits);
  end if;
end
$function$;
