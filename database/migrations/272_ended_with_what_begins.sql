-- compatible: the same is answered but while sessions are ended.
--
-- A new password, a reset, signing out everywhere and a suspension end the sessions, the connections of clients and the calendar link that are there. One that was begun with the old password,
-- or in a session, at that moment was not there yet, and stayed: somebody who knew the old password and signed in again and again kept a session. Now whoever ends them holds the account,
-- and whoever begins one waits for it and then looks again whether they may; whoever came first is waited for, and ended.

create or replace function app.end_sessions_of(person uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  -- What begins meanwhile is waited for, or waits and finds that this has ended it.
  perform from public.users u where u.id = person for no key update;
  update vault.sessions s set ended_at = app.now() where s.user_id = person and s.ended_at is null;
  delete from vault.sign_in_steps s where s.user_id = person;
  delete from vault.known_devices k where k.user_id = person;
  delete from vault.calendar_links l where l.user_id = person;
  perform app.revoke_families(person, null);
end
$$;

create or replace function app.reset_password(token bytea, new_phc text, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  person uuid;
  first_proof boolean;
begin
  -- The account first, as whoever erases it does.
  perform from public.users u
    where u.id = (select r.user_id from vault.password_resets r where r.digest = token) for no key update;
  delete from vault.password_resets r using public.users u
    where r.digest = token and r.expires_at > app.now() and u.id = r.user_id and u.suspended_at is null
    returning r.user_id into person;
  if not found then
    return false;
  end if;
  first_proof := not exists (select from vault.passwords p where p.user_id = person and p.address_proven_at is not null);
  if first_proof then
    delete from vault.passkeys k where k.user_id = person;
    delete from vault.recovery_codes c where c.user_id = person;
    delete from vault.totp t where t.user_id = person;
  end if;
  insert into vault.passwords (user_id, phc, address_proven_at) values (person, new_phc, app.now())
    on conflict (user_id) do update set phc = excluded.phc, changed_at = app.now(),
      address_proven_at = coalesce(vault.passwords.address_proven_at, excluded.address_proven_at);
  delete from vault.password_resets r where r.user_id = person;
  delete from vault.address_changes a where a.user_id = person;
  perform app.end_sessions_of(person);
  perform app.record(person, 'password.reset', 'done', app.on_reset(person, first_proof), address, request_id);
  perform app.queue_security_mail(person, 'password_reset');
  return true;
end
$$;

create or replace function app.change_password(session bytea, old_phc text, new_phc text, token bytea, address inet, request_id text) returns text
language plpgsql security definer set search_path = '' as $$
declare
  this vault.live_sessions;
begin
  perform from public.users u
    where u.id = (select l.user_id from vault.live_sessions l where l.digest = session) for no key update;
  select l.* into this from vault.live_sessions l where l.digest = session;
  if not found then
    return null;
  end if;
  update vault.passwords p set phc = new_phc, changed_at = app.now() where p.user_id = this.user_id and p.phc = old_phc;
  if not found then
    perform app.record(this.user_id, 'password.change', 'refused', null, address, request_id);
    return 'refused';
  end if;
  perform app.renew_session(this.id, token);
  update vault.sessions s set ended_at = app.now()
    where s.user_id = this.user_id and s.digest <> token and s.ended_at is null;
  delete from vault.sign_in_steps s where s.user_id = this.user_id;
  delete from vault.known_devices k where k.user_id = this.user_id;
  delete from vault.password_resets r where r.user_id = this.user_id;
  delete from vault.calendar_links l where l.user_id = this.user_id;
  perform app.revoke_families(this.user_id, null);
  perform app.notify_security_change(this.user_id, 'password_changed');
  perform app.record(this.user_id, 'password.change', 'done', null, address, request_id);
  return 'done';
end
$$;

create or replace function app.sign_in(
  given_email text, phc text, token bytea, earlier bytea, address inet, agent text, request_id text
) returns table(outcome text, user_id uuid, email text, name text)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  person public.users;
  known boolean;
begin
  select u.* into person from public.users u where u.email = lower(given_email);
  known := exists (select from vault.passwords p where p.user_id = person.id and p.phc = sign_in.phc);
  if known then
    -- Until nobody changes it any more.
    select u.* into person from public.users u where u.id = person.id for share;
    known := exists (select from vault.passwords p where p.user_id = person.id and p.phc = sign_in.phc);
  end if;
  if not known or person.suspended_at is not null then
    perform app.record(person.id, 'session.sign_in', 'refused',
      jsonb_build_object('reason', case when known then 'suspended' else 'password' end), address, request_id);
    return query select 'refused', null::uuid, null::text, null::text;
  elsif exists (select from vault.totp t where t.user_id = person.id and t.confirmed_at is not null) then
    insert into vault.sign_in_steps (digest, user_id) values (token, person.id);
    return query select 'second_factor', person.id, person.email, person.name;
  else
    perform app.open_session(person.id, token, earlier, 'password', address, agent, request_id);
    return query select 'signed_in', person.id, person.email, person.name;
  end if;
end
$$;

create or replace function app.finish_sign_in(
  step bytea, code_step bigint, recovery_digest bytea, device bytea, token bytea, earlier bytea, address inet, agent text, request_id text
) returns table(outcome text, user_id uuid, email text, name text)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  person public.users;
  taken boolean;
begin
  perform from public.users u where u.id = (select s.user_id from vault.sign_in_steps s where s.digest = step) for share;
  select u.* into person from vault.sign_in_steps s join public.users u on u.id = s.user_id
    where s.digest = step and s.expires_at > app.now() and u.suspended_at is null for update of s;
  if not found then
    return query select 'expired', null::uuid, null::text, null::text;
    return;
  end if;
  if recovery_digest is null then
    taken := app.take_code(person.id, code_step, device);
  else
    update vault.recovery_codes r set used_at = app.now()
      where r.user_id = person.id and r.digest = recovery_digest and r.used_at is null;
    taken := found;
  end if;
  if taken then
    delete from vault.sign_in_steps s where s.digest = step;
    perform app.open_session(person.id, token, earlier, case when recovery_digest is null then 'code' else 'recovery_code' end,
      address, agent, request_id);
    return query select 'signed_in', person.id, person.email, person.name;
    return;
  end if;
  perform app.record(person.id, 'session.sign_in', 'refused', '{"reason": "second_factor"}', address,
    request_id);
  update vault.sign_in_steps s set failures = s.failures + 1 where s.digest = step;
  delete from vault.sign_in_steps s where s.digest = step and s.failures >= 5;
  return query select case when found then 'expired' else 'refused' end, person.id, person.email, person.name;
end
$$;

create or replace function app.approve_client(
  client_id uuid, redirect_uri text, challenge text, scopes text[], resource text, consent bytea, code bytea, address inet, request_id text
) returns text
language plpgsql security definer set search_path = '' as $$
declare
  person constant uuid := app.user_id();
begin
  if person is null or app.client_id() is not null then
    return 'signed_out';
  end if;
  perform from public.users u where u.id = person for share;
  if exists (select from vault.sessions s where s.id = app.identity_part(6)::uuid and s.ended_at is not null) then
    return 'signed_out';
  end if;
  if not app.client_takes(client_id, person, redirect_uri) then
    return 'client_refused';
  end if;
  if 'mcp:write' = any (scopes) and not app.recently_signed_in() then
    return 'sign_in_again';
  end if;
  insert into vault.authorization_codes as kept
    (digest, consent, user_id, client_id, redirect_uri, challenge, scopes, resource, expires_at)
  values (code, approve_client.consent, person, approve_client.client_id, approve_client.redirect_uri,
    approve_client.challenge, approve_client.scopes, approve_client.resource, app.now() + interval '60 seconds')
  on conflict on constraint authorization_codes_consent_key do update
    set digest = excluded.digest, scopes = excluded.scopes, issued_at = excluded.issued_at, expires_at = excluded.expires_at,
      burned_at = null
    where kept.used_at is null and kept.user_id = excluded.user_id and kept.client_id = excluded.client_id
      and kept.redirect_uri = excluded.redirect_uri and kept.challenge = excluded.challenge;
  if not found then
    return 'answered';
  end if;
  perform app.audit('consent.give', approve_client.client_id::text, 'done', app.brokerage_of_grant(person, approve_client.client_id),
    null, address, request_id, jsonb_build_object('scopes', scopes));
  return 'issued';
end
$$;

create or replace function app.make_calendar_link(token bytea, address inet, request_id text) returns void
language plpgsql security definer set search_path = '' as $$
begin
  if app.user_id() is null or app.client_id() is not null then
    perform app.refuse('not_a_person', 'Sign in to make a link to your calendar.');
  end if;
  perform from public.users u where u.id = app.user_id() for share;
  if exists (select from vault.sessions s where s.id = app.identity_part(6)::uuid and s.ended_at is not null) then
    perform app.refuse('not_a_person', 'Sign in to make a link to your calendar.');
  end if;
  insert into vault.calendar_links as l (user_id, digest) values (app.user_id(), token)
    on conflict (user_id) do update set digest = excluded.digest, created_at = excluded.created_at;
  perform app.record(app.user_id(), 'calendar_link.make', 'done', null, address, request_id);
end
$$;

create or replace function app.change_address(session bytea, token bytea, address inet, request_id text) returns table(old_email text, new_email text)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  change vault.address_changes;
  old_address text;
begin
  -- The account first, as whoever sets a new password does.
  perform from public.users u
    where u.id = (select l.user_id from vault.live_sessions l where l.digest = session) for update;
  delete from vault.address_changes a using vault.live_sessions l
    where l.digest = session and a.user_id = l.user_id and a.digest = token and a.expires_at > app.now()
    returning a.* into change;
  if not found then
    return;
  end if;
  if exists (select from public.users u where u.email = change.new_email) then
    perform app.refuse('address_taken', 'This address belongs to another account: choose another one.');
  end if;
  select u.email into old_address from public.users u where u.id = change.user_id;
  update public.users u set email = change.new_email where u.id = change.user_id;
  -- Invitations that wait were meant for whoever reads the old mailbox, which nobody here has shown to be theirs.
  if exists (select from vault.passwords p where p.user_id = change.user_id and p.address_proven_at is null) then
    update public.participants p set status = 'removed' where p.user_id = change.user_id and p.status = 'invited';
    update public.members m set status = 'removed' where m.user_id = change.user_id and m.status = 'invited';
  end if;
  update vault.passwords p set address_proven_at = app.now() where p.user_id = change.user_id;
  delete from vault.password_resets r where r.user_id = change.user_id;
  perform app.record(change.user_id, 'address.change', 'done', null, address, request_id);
  perform app.queue_mail('address_changed', old_address, change.user_id, null, null, true,
    (select jsonb_build_object('name', u.name, 'new_email', u.email) from public.users u where u.id = change.user_id), null, null);
  return query select old_address, change.new_email;
end
$$;
