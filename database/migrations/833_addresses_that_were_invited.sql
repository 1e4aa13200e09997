-- compatible: a function with the same parameters, and two that only it calls.
--
-- Whoever was invited at another address of theirs could never make that their address: the account that was made for the invitation had it. The mailbox is
-- proven by then, and nobody has ever used that account: its open invitations become those of the person, and the account is emptied.

-- Whether nobody has ever signed in to an account, set it up or joined anything with it, and nothing holds it.
create function app.is_unused(account uuid) returns boolean
  language plpgsql security definer set search_path = '' as $$
begin
  return exists (select from public.users u
      where u.id = account and u.suspended_at is null and u.erased_at is null and u.sandbox_id is null)
    and not exists (select from vault.passwords w where w.user_id = account)
    and not exists (select from vault.passkeys k where k.user_id = account)
    and not exists (select from vault.sessions s where s.user_id = account)
    and not exists (select from public.members m where m.user_id = account and (m.joined_at is not null or m.status = 'active'))
    and not exists (select from public.participants p where p.user_id = account and (p.joined_at is not null or p.status = 'active'))
    and not exists (select from app.hold_on_person(account));
end
$$;

-- Gives the open invitations of an unused account to a person, and empties the account. Where the person has a place already, the invitation is withdrawn.
create function app.take_over_invitations(unused uuid, person uuid) returns void
  language plpgsql security definer set search_path = '' as $$
declare
  brokerages uuid[];
  parts uuid[];
begin
  perform from public.members m where m.user_id in (unused, person) order by m.brokerage_id, m.user_id for no key update;
  perform app.lock_parts(unused);
  update public.members m set status = 'removed'
    where m.user_id = unused and m.status = 'invited'
      and exists (select from public.members o where o.brokerage_id = m.brokerage_id and o.user_id = person);
  update public.participants p set status = 'removed'
    where p.user_id = unused and p.status = 'invited'
      and exists (select from public.participants o where o.deal_id = p.deal_id and o.user_id = person);
  brokerages := array(select m.brokerage_id from public.members m where m.user_id = unused and m.status = 'invited');
  update public.members m set user_id = person where m.user_id = unused and m.status = 'invited';
  parts := array(select p.id from public.participants p where p.user_id = unused and p.status = 'invited');
  update public.participants p set user_id = person where p.id = any (parts);
  with theirs as (
    update vault.invitations i set user_id = person
      where i.user_id = unused and (i.brokerage_id = any (brokerages) or i.participant_id = any (parts))
      returning i.digest)
  update vault.outbox o set recipient_id = person from theirs t where o.recipient_id = unused and o.link = t.digest;
  perform app.forget_accounts(array[unused]);
end
$$;

CREATE OR REPLACE FUNCTION app.change_address(session bytea, token bytea, address inet, request_id text)
 RETURNS TABLE(old_email text, new_email text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  change vault.address_changes;
  old_address text;
  unused uuid;
begin
  -- The account first, as whoever sets a new password does, but not yet as for another address: who has a deal and names the account would wait for this, and this for the deal.
  perform from public.users u
    where u.id = (select l.user_id from vault.live_sessions l where l.digest = session) for no key update;
  delete from vault.address_changes a using vault.live_sessions l
    where l.digest = session and a.user_id = l.user_id and a.digest = token and a.expires_at > app.now()
    returning a.* into change;
  if not found then
    return;
  end if;
  -- An account that was only made for an invitation; whoever invites it or opens it meanwhile is waited for, or waits.
  select u.id into unused from public.users u where u.email = change.new_email for no key update;
  if found and not app.is_unused(unused) then
    perform app.refuse('address_taken', 'This address belongs to another account: choose another one.');
  end if;
  -- Invitations that wait were meant for whoever reads the old mailbox, which nobody here has shown to be theirs.
  if exists (select from vault.passwords p where p.user_id = change.user_id and p.address_proven_at is null) then
    perform from public.members m where m.user_id = change.user_id and m.status = 'invited' order by m.brokerage_id for no key update;
    perform app.lock_parts(change.user_id);
    update public.members m set status = 'removed' where m.user_id = change.user_id and m.status = 'invited';
    update public.participants p set status = 'removed' where p.user_id = change.user_id and p.status = 'invited';
  end if;
  if unused is not null then
    perform app.take_over_invitations(unused, change.user_id);
  end if;
  select u.email into old_address from public.users u where u.id = change.user_id;
  update public.users u set email = change.new_email where u.id = change.user_id;
  update vault.passwords p set address_proven_at = app.now() where p.user_id = change.user_id;
  delete from vault.password_resets r where r.user_id = change.user_id;
  perform app.record(change.user_id, 'address.change', 'done', null, address, request_id);
  perform app.queue_mail('address_changed', old_address, change.user_id, null, null, true,
    (select jsonb_build_object('name', u.name, 'new_email', u.email) from public.users u where u.id = change.user_id), null, null);
  return query select old_address, change.new_email;
end
$function$;
