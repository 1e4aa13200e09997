-- compatible: answers the same.
--
-- Whoever changes the address of an account whose mailbox nobody had shown to be theirs takes its waiting invitations back. These were locked as they came, parts before memberships, and after
-- the account was locked against everybody who names it. They are locked in the one order now, as by an erasure: the account, memberships, parts, deals, and only then the
-- account as for another address.

create or replace function app.change_address(session bytea, token bytea, address inet, request_id text)
returns table(old_email text, new_email text)
language plpgsql
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  change vault.address_changes;
  old_address text;
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
  if exists (select from public.users u where u.email = change.new_email) then
    perform app.refuse('address_taken', 'This address belongs to another account: choose another one.');
  end if;
  -- Invitations that wait were meant for whoever reads the old mailbox, which nobody here has shown to be theirs.
  if exists (select from vault.passwords p where p.user_id = change.user_id and p.address_proven_at is null) then
    perform from public.members m where m.user_id = change.user_id and m.status = 'invited' order by m.brokerage_id for no key update;
    perform app.lock_parts(change.user_id);
    update public.members m set status = 'removed' where m.user_id = change.user_id and m.status = 'invited';
    update public.participants p set status = 'removed' where p.user_id = change.user_id and p.status = 'invited';
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
$$;
