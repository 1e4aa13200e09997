-- compatible: what was refused before is refused as before, and one thing more.
--
-- The clients and passkeys of a person were counted without a lock, so that several made at once could be more than the most; and a passkey that was added at the moment of the first reset of an
-- account outlived it. The API keys of a brokerage had no most.

create or replace function app.check_client_count() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform from public.users u where u.id = new.created_by for no key update;
  if (select count(*) from public.connected_clients c where c.created_by = new.created_by and c.deleted_at is null) >= 50 then
    perform app.refuse('too_many_clients', 'You have 50 clients, which is the most: delete one that you no longer use.');
  end if;
  return new;
end
$$;

create or replace function app.add_passkey(session bytea, challenge bytea, credential text, public_key bytea, counter bigint, transports text[], label text, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  this vault.live_sessions;
begin
  -- Whoever ends the sessions of the account meanwhile is waited for.
  perform from public.users u where u.id = (select l.user_id from vault.live_sessions l where l.digest = session) for no key update;
  select r.* into this from app.recent_session(session) r;
  delete from vault.challenges c where c.digest = challenge and c.user_id = this.user_id and c.expires_at > app.now();
  if not found then
    return false;
  end if;
  if exists (select from vault.passkeys k where k.credential_id = credential) then
    perform app.refuse('passkey_known', 'This passkey is registered already.');
  end if;
  if 20 <= (select count(*) from vault.passkeys k where k.user_id = this.user_id) then
    perform app.refuse('too_many_passkeys', 'You have 20 passkeys: remove one before you add another.');
  end if;
  insert into vault.passkeys (user_id, credential_id, public_key, counter, transports, name)
    values (this.user_id, credential, add_passkey.public_key, add_passkey.counter, add_passkey.transports, label);
  update vault.sessions s set second_factor_at = app.now() where s.id = this.id;
  perform app.notify_security_change(this.user_id, 'passkey_added');
  perform app.record(this.user_id, 'passkey.add', 'done', null, address, request_id);
  return true;
end
$$;

create or replace function app.create_api_key(brokerage_id uuid, name text, environment text, scopes text[], ceiling integer, expires_at timestamptz, digest bytea, last_four text, address inet, request_id text) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  made uuid;
begin
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
