-- compatible: the same is answered but while sessions are ended.
--
-- More of what a session begins outlived the session when it was ended at that moment, as 272 had it of sign-ins, consents and calendar links:
--
-- - Switching on a second factor gives the session another token. Of a session that was being ended it made one that lives.
-- - What is known of a browser was noted after a reset had forgotten all of them, and so was a session that a passkey opens while its owner is suspended: it lived
--   again with them.
-- - Where a reset proves for the first time whose address it is, API keys and clients stayed.

-- Holds the account of the caller until the transaction ends: whoever ends its sessions meanwhile waits, or is waited for. Refused when that has ended the caller's.
create function app.hold_session() returns void
language plpgsql security definer set search_path = '' as $$
begin
  if not app.session_goes_on() then
    perform app.refuse('recent_sign_in_required', 'Confirm that it is you: sign in again, then repeat this.');
  end if;
end
$$;

create function app.hold_session_of_change() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform app.hold_session();
  return new;
end
$$;

-- Behind check_count, which takes the account as nobody may who has it for share.
create trigger hold_session before insert on public.connected_clients for each row execute function app.hold_session_of_change();

create or replace function app.renew_session(session_id uuid, token bytea) returns void
language plpgsql security definer set search_path = '' as $$
begin
  update vault.sessions s set ended_at = app.now() where s.id = renew_session.session_id and s.ended_at is null;
  if not found then
    perform app.refuse('recent_sign_in_required', 'Confirm that it is you: sign in again, then repeat this.');
  end if;
  insert into vault.sessions (user_id, digest, method, created_at, authenticated_at, address, user_agent, second_factor_at)
    select s.user_id, token, s.method, s.created_at, s.authenticated_at, s.address, s.user_agent, s.second_factor_at
    from vault.sessions s where s.id = renew_session.session_id;
end
$$;

create or replace function app.confirm_second_factor(session bytea, code_step bigint, code_digests bytea[], token bytea, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  this vault.live_sessions;
begin
  -- Whoever ends the sessions of the account meanwhile is waited for.
  perform from public.users u where u.id = (select l.user_id from vault.live_sessions l where l.digest = session) for no key update;
  select r.* into this from app.recent_session(session) r;
  update vault.totp t set confirmed_at = app.now(), last_step = code_step, failures = 0, failed_at = null
    where t.user_id = this.user_id and t.confirmed_at is null;
  if not found then
    return false;
  end if;
  delete from vault.recovery_codes c where c.user_id = this.user_id;
  insert into vault.recovery_codes (user_id, digest) select this.user_id, unnest(code_digests);
  update vault.sessions s set second_factor_at = app.now() where s.id = this.id;
  perform app.renew_session(this.id, token);
  perform app.notify_security_change(this.user_id, 'authenticator_added');
  perform app.record(this.user_id, 'second_factor.on', 'done', null, address, request_id);
  return true;
end
$$;

create or replace function app.keep_device(session bytea, earlier bytea, device bytea) returns void
language plpgsql security definer set search_path = '' as $$
declare
  person uuid;
begin
  perform from public.users u where u.id = (select l.user_id from vault.live_sessions l where l.digest = session) for share;
  select l.user_id into person from vault.live_sessions l where l.digest = session;
  if not found then
    return;
  end if;
  if not exists (select from vault.known_devices k where k.digest = earlier and k.user_id = person)
    and (exists (select from vault.known_devices k where k.user_id = person)
      or exists (select from vault.sessions s where s.user_id = person and s.digest <> session))
  then
    perform app.queue_event('new_device', null, null, null, person, person);
  end if;
  update vault.known_devices k set digest = device where k.digest = earlier;
  insert into vault.known_devices (digest, user_id) values (device, person)
    on conflict (digest, user_id) do update set used_at = app.now(), code_failures = 0, code_failed_at = null;
  delete from vault.known_devices k where k.user_id = person and k.digest in (
    select old.digest from vault.known_devices old where old.user_id = person
    order by old.used_at desc, old.digest offset 20);
end
$$;

create or replace function app.sign_in_with_passkey(credential text, challenge bytea, new_counter bigint, token bytea, earlier bytea, address inet, agent text, request_id text) returns TABLE(outcome text, user_id uuid, email text, name text)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  person public.users;
begin
  perform from public.users u where u.id = (select k.user_id from vault.passkeys k where k.credential_id = credential) for share;
  delete from vault.challenges c where c.digest = challenge and c.user_id is null and c.expires_at > app.now();
  if found then
    update vault.passkeys k set counter = new_counter, last_used_at = app.now()
      from public.users u
      where k.credential_id = credential and u.id = k.user_id and u.suspended_at is null
        and (new_counter > k.counter or (new_counter = 0 and k.counter = 0))
      returning u.* into person;
  end if;
  if person.id is null then
    perform app.record((select k.user_id from vault.passkeys k where k.credential_id = credential), 'session.sign_in', 'refused',
      '{"reason": "passkey"}', address, request_id);
    return query select 'refused', null::uuid, null::text, null::text;
    return;
  end if;
  perform app.open_session(person.id, token, earlier, 'passkey', address, agent,
    request_id);
  return query select 'signed_in', person.id, person.email, person.name;
end
$$;

create or replace function app.create_api_key(brokerage_id uuid, name text, environment text, scopes text[], ceiling integer, expires_at timestamp with time zone, digest bytea, last_four text, address inet, request_id text) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  made uuid;
begin
  perform app.hold_session();
  perform app.check_key_admin(brokerage_id);
  if expires_at <= app.now() then
    perform app.refuse('expires_in_the_past', 'The key must expire in the future, or never.');
  end if;
  perform from public.brokerages b where b.id = create_api_key.brokerage_id for no key update;
  if 200 <= (select count(*) from public.api_keys k
    where k.brokerage_id = create_api_key.brokerage_id and k.revoked_at is null and (k.expires_at is null or k.expires_at > app.now()))
  then
    perform app.refuse('too_many_api_keys', 'The brokerage has 200 API keys, which is the most: revoke one that is no longer used.');
  end if;
  made := app.issue_api_key(brokerage_id, app.user_id(), name, environment, scopes, ceiling, expires_at, digest, last_four);
  perform app.audit('api_key.create', made::text, 'done', brokerage_id, null, address, request_id,
    jsonb_build_object('name', name, 'environment', environment, 'scopes', scopes, 'ceiling', ceiling, 'expires_at', expires_at));
  return made;
end
$$;

create or replace function app.rotate_api_key(key_id uuid, overlap interval, digest bytea, last_four text, address inet, request_id text) returns void
language plpgsql security definer set search_path = '' as $$
declare
  key public.api_keys;
  now constant timestamptz := app.now();
begin
  perform app.hold_session();
  key := app.key_to_manage(key_id);
  if key.revoked_at is not null or key.expires_at <= now then
    perform app.refuse('api_key_ended', 'This key is revoked or expired: create a new one instead.');
  end if;
  if overlap is null or overlap < interval '0' or overlap > interval '30 days' then
    perform app.refuse('overlap_not_allowed', 'The old token may go on working for 0 to 30 days.');
  end if;
  update vault.api_key_digests d set valid_until = least(d.valid_until, now + overlap) where d.key_id = key.id;
  insert into vault.api_key_digests (digest, key_id, issued_by)
  values (rotate_api_key.digest, key.id, app.user_id());
  update public.api_keys k set rotated_at = now, previous_last_four = k.last_four, previous_valid_until = now + overlap,
    last_four = rotate_api_key.last_four where k.id = key.id;
  perform app.audit('api_key.rotate', key.id::text, 'done', key.brokerage_id, null, address, request_id,
    jsonb_build_object('previous_valid_until', now + overlap));
end
$$;
