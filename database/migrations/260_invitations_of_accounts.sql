-- compatible: invitations that would have gone to nobody go to the address or are refused.
--
-- Who is invited was looked up by their address, and their account locked only when the invitation was written. If they were erased or took another address in between, the invitation
-- went to that account: with the name and the address that an erasure had just taken out, and of no use to whoever the link is mailed to. An erased person could be
-- invited again from the list of those who had taken part, too.

-- The account of an address, made where there is none, locked so that it keeps this address meanwhile. Whoever changes an address or erases a person has locked them.
create function app.account_at(address text, known_as text, of_sandbox uuid default null) returns uuid
language plpgsql volatile security definer set search_path = '' as $$
declare
  found_one public.users;
begin
  loop
    insert into public.users (email, name, sandbox_id, suspended_at)
      values (address, known_as, of_sandbox, case when of_sandbox is not null then app.now() end) on conflict (email) do nothing;
    select u.* into found_one from public.users u where u.email = address for key share;
    exit when found;
  end loop;
  if found_one.erased_at is not null then
    perform app.refuse('address_not_taken', 'Nobody can be written to at this address.');
  end if;
  return found_one.id;
end
$$;

create or replace function app.invite_to_deal(deal_id uuid, email text, name text, role text, advises uuid) returns table (participant_id uuid)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  sandbox uuid;
  address text := lower(invite_to_deal.email);
  invited uuid;
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
  if exists (select from public.participants p where p.deal_id = invite_to_deal.deal_id and p.user_id = invited
    and p.status = 'active')
  then
    perform app.refuse('already_participant', 'This person already takes part in the deal.');
  end if;
  return query
    insert into public.participants as p (deal_id, user_id, role, advises, invited_name, invited_email)
    values (invite_to_deal.deal_id, invited, invite_to_deal.role, invite_to_deal.advises, invite_to_deal.name,
      lower(invite_to_deal.email))
    on conflict (deal_id, user_id) do update
      set status = 'invited', role = excluded.role, advises = excluded.advises, invited_name = excluded.invited_name,
        invited_email = excluded.invited_email
    returning p.id;
end
$$;

create or replace function app.invite_member(to_brokerage uuid, given_email text, given_name text, as_role text, token bytea,
  mailed boolean, address inet, request_id text) returns uuid
language plpgsql security definer set search_path = '' as $$
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
  insert into public.members as m (brokerage_id, user_id, role, status, invited_name, invited_email)
    values (to_brokerage, invited, as_role, 'invited', given_name, lower(given_email))
    on conflict (brokerage_id, user_id) do update set role = excluded.role, status = 'invited',
      invited_name = excluded.invited_name, invited_email = excluded.invited_email
    returning m.person_id into known_as;
  delete from vault.invitations i where i.user_id = invited and i.brokerage_id = to_brokerage and i.used_at is null;
  insert into vault.invitations (digest, user_id, brokerage_id, mailed) values (token, invited, to_brokerage, invite_member.mailed);
  perform app.audit('member.invite', known_as::text, 'done', to_brokerage, null, address, request_id,
    jsonb_build_object('role', as_role));
  return known_as;
end
$$;
