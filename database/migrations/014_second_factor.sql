-- The second factor: an authenticator with recovery codes, and passkeys, with which one also signs in.

-- `last_step` is the 30-second step of the last code taken: no code is taken twice. Unconfirmed until the first code.
create table vault.totp (
  user_id uuid primary key references users,
  secret text not null,
  confirmed_at timestamptz,
  last_step bigint not null default 0,
  failures int not null default 0,
  failed_at timestamptz
);
select app.protect('vault.totp');

create table vault.recovery_codes (
  user_id uuid not null references users,
  digest bytea not null check (length(digest) = 32),
  used_at timestamptz,
  primary key (user_id, digest)
);
select app.protect('vault.recovery_codes');

create table vault.passkeys (
  id uuid primary key default app.uuid_v7(),
  user_id uuid not null references users,
  credential_id text not null unique check (length(credential_id) <= 1400),
  public_key bytea not null,
  counter bigint not null,
  transports text[] not null,
  name text not null check (length(name) between 1 and 100),
  created_at timestamptz not null default app.now(),
  last_used_at timestamptz
);
create index passkeys_by_user on vault.passkeys (user_id);
select app.protect('vault.passkeys');

-- What a passkey has to sign: taken once. `user_id` is who registers a passkey; null is somebody who signs in.
create table vault.challenges (
  digest bytea primary key check (length(digest) = 32),
  user_id uuid references users,
  expires_at timestamptz not null default app.now() + interval '5 minutes'
);
create index challenges_by_expiry on vault.challenges (expires_at);
select app.protect('vault.challenges');

-- Whether somebody has set up an authenticator or a passkey.
create function app.has_second_factor(person uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from vault.totp t where t.user_id = person and t.confirmed_at is not null)
    or exists (select from vault.passkeys k where k.user_id = person);
end
$$;

-- The brokerages of a person that ask for a second factor, unless they have one and have `shown` it.
create function app.brokerages_barring(person uuid, shown boolean) returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
declare
  asking uuid[];
begin
  select coalesce(array_agg(m.brokerage_id), '{}') into asking
    from public.members m join public.brokerages b on b.id = m.brokerage_id and b.requires_second_factor
    where m.user_id = person and m.status = 'active';
  if asking <> '{}' and shown and app.has_second_factor(person) then
    return '{}';
  end if;
  return asking;
end
$$;

-- Takes the code of a 30-second step (null: it was wrong), once. After ten wrong ones in a row a code is not looked at
-- until a quarter of an hour later: whoever gets this far knows the password. A known device has its own ten.
create function app.take_code(person uuid, code_step bigint, device bytea) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  factor vault.totp;
  known boolean := app.is_known_device(person, device);
  failed int;
  failed_last timestamptz;
begin
  select t.* into factor from vault.totp t where t.user_id = person for update;
  failed := factor.failures;
  failed_last := factor.failed_at;
  if known then
    select k.code_failures, k.code_failed_at into failed, failed_last
      from vault.known_devices k where k.digest = device and k.user_id = person;
  end if;
  if failed >= 10 and failed_last > app.now() - interval '15 minutes' then
    return false;
  end if;
  if code_step is null or code_step <= factor.last_step then
    if known then
      update vault.known_devices k set code_failures = k.code_failures + 1, code_failed_at = app.now()
        where k.digest = device and k.user_id = person;
    else
      update vault.totp t set failures = t.failures + 1, failed_at = app.now() where t.user_id = person;
    end if;
    return false;
  end if;
  update vault.totp t set last_step = code_step, failures = case when known then t.failures else 0 end,
    failed_at = case when known then t.failed_at end where t.user_id = person;
  return true;
end
$$;

-- Finishes a step with a code of the authenticator (its 30-second step, null when it was wrong) or, when a digest is
-- given, with a recovery code; `device` is what the browser is known by, if it is. Outcome: 'signed_in'; 'refused', and
-- it may be tried again; 'expired': start over.
create function app.finish_sign_in(step bytea, code_step bigint, recovery_digest bytea, device bytea, token bytea, earlier bytea,
  address inet, agent text, request_id text)
returns table (outcome text, user_id uuid, email text, name text)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  person public.users;
  taken boolean;
begin
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

-- Keeps the secret of an authenticator until a first code confirms it; whether the session is alive. Needs a recent sign-in.
create function app.begin_second_factor(session bytea, new_secret text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session(session) r;
  if not found then
    return false;
  end if;
  insert into vault.totp (user_id, secret) values (this.user_id, new_secret)
    on conflict (user_id) do update set secret = excluded.secret where vault.totp.confirmed_at is null;
  if not found then
    perform app.refuse('second_factor_on', 'An authenticator is set up already: remove it before you set up another one.');
  end if;
  return true;
end
$$;

-- The secret that waits for its first code; null when none does. Needs a recent sign-in.
create function app.pending_secret(session bytea) returns text
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select t.secret from app.recent_session(session) r
    join vault.totp t on t.user_id = r.user_id and t.confirmed_at is null);
end
$$;

-- Switches the second factor on with the first code, and keeps the recovery codes; the session goes on under the new
-- token. True when it did. Needs a recent sign-in.
create function app.confirm_second_factor(session bytea, code_step bigint, code_digests bytea[], token bytea, address inet,
  request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  this vault.live_sessions;
begin
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
  perform app.count_notice(this.user_id);
  perform app.record(this.user_id, 'second_factor.on', 'done', null, address, request_id);
  return true;
end
$$;

-- Takes the second factor and its recovery codes away; true when there was one. Needs a recent sign-in.
create function app.remove_second_factor(session bytea, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session(session) r;
  delete from vault.recovery_codes c where c.user_id = this.user_id;
  delete from vault.totp t where t.user_id = this.user_id;
  if not found then
    return false;
  end if;
  perform app.count_notice(this.user_id);
  perform app.record(this.user_id, 'second_factor.off', 'done', null, address, request_id);
  return true;
end
$$;

-- Puts new recovery codes in the place of the old ones; true when there is a second factor. Needs a recent sign-in.
create function app.renew_recovery_codes(session bytea, code_digests bytea[], address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session(session) r
    join vault.totp t on t.user_id = r.user_id and t.confirmed_at is not null;
  if not found then
    return false;
  end if;
  delete from vault.recovery_codes c where c.user_id = this.user_id;
  insert into vault.recovery_codes (user_id, digest) select this.user_id, unnest(code_digests);
  perform app.count_notice(this.user_id);
  perform app.record(this.user_id, 'recovery_codes.renew', 'done', null, address,
    request_id);
  return true;
end
$$;

-- How many recovery codes the session's owner has left.
create function app.recovery_codes_left(session bytea) returns int
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select count(*) from vault.live_sessions l
    join vault.recovery_codes c on c.user_id = l.user_id and c.used_at is null where l.digest = session);
end
$$;

-- Passkeys ------------------------------------------------------------------------------------------------------------

-- Keeps a challenge for somebody who wants to sign in (session null) or to register a passkey; whether it was kept.
-- Registering needs a recent sign-in.
create function app.keep_challenge(token bytea, session bytea) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  person uuid;
begin
  if session is not null then
    select r.user_id into person from app.recent_session(session) r;
    if not found then
      return false;
    end if;
  end if;
  delete from vault.challenges c where c.digest in (
    select old.digest from vault.challenges old where old.expires_at <= app.now() limit 100 for update skip locked);
  insert into vault.challenges (digest, user_id) values (token, person);
  return true;
end
$$;

-- Registers a passkey for the session's owner. The challenge is used up; true when it was theirs. Needs a recent sign-in.
create function app.add_passkey(session bytea, challenge bytea, credential text, public_key bytea, counter bigint,
  transports text[], label text, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  this vault.live_sessions;
begin
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
  perform app.record(this.user_id, 'passkey.add', 'done', null, address, request_id);
  return true;
end
$$;

-- The passkeys of the session's owner, in the order of their making.
create function app.own_passkeys(session bytea)
returns table (id uuid, credential_id text, transports text[], name text, created_at timestamptz, last_used_at timestamptz)
language plpgsql stable security definer set search_path = '' as $$
begin
  return query
    select k.id, k.credential_id, k.transports, k.name, k.created_at, k.last_used_at
    from vault.live_sessions l join vault.passkeys k on k.user_id = l.user_id
    where l.digest = session order by k.id;
end
$$;

-- Removes a passkey of the session's owner; true when there was one. Needs a recent sign-in.
create function app.remove_passkey(session bytea, passkey_id uuid, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session(session) r;
  delete from vault.passkeys k where k.id = passkey_id and k.user_id = this.user_id;
  if not found then
    return false;
  end if;
  perform app.record(this.user_id, 'passkey.remove', 'done', null, address, request_id);
  return true;
end
$$;

-- Gives a passkey of the session's owner another name; true when there was one. A name protects nothing, so a session is enough.
create function app.rename_passkey(session bytea, passkey_id uuid, new_name text, address inet, request_id text)
returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  owner_id uuid;
begin
  update vault.passkeys k set name = new_name from vault.live_sessions l
    where l.digest = session and k.id = passkey_id and k.user_id = l.user_id returning k.user_id into owner_id;
  if not found then
    return false;
  end if;
  perform app.record(owner_id, 'passkey.rename', 'done', null, address, request_id);
  return true;
end
$$;

-- What is needed to check a passkey's signature.
create function app.passkey(credential text)
returns table (user_id uuid, public_key bytea, counter bigint, transports text[])
language plpgsql stable security definer set search_path = '' as $$
begin
  return query select k.user_id, k.public_key, k.counter, k.transports from vault.passkeys k where k.credential_id = credential;
end
$$;

-- Signs in with a passkey whose signature was checked. The challenge is used up. Outcome: 'signed_in' or 'refused'.
create function app.sign_in_with_passkey(credential text, challenge bytea, new_counter bigint, token bytea, earlier bytea,
  address inet, agent text, request_id text)
returns table (outcome text, user_id uuid, email text, name text)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  person public.users;
begin
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

grant execute on function
  app.finish_sign_in(bytea, bigint, bytea, bytea, bytea, bytea, inet, text, text),
  app.begin_second_factor(bytea, text), app.pending_secret(bytea),
  app.confirm_second_factor(bytea, bigint, bytea[], bytea, inet, text), app.remove_second_factor(bytea, inet, text),
  app.renew_recovery_codes(bytea, bytea[], inet, text), app.recovery_codes_left(bytea),
  app.keep_challenge(bytea, bytea), app.own_passkeys(bytea), app.remove_passkey(bytea, uuid, inet, text),
  app.rename_passkey(bytea, uuid, text, inet, text),
  app.add_passkey(bytea, bytea, text, bytea, bigint, text[], text, inet, text), app.passkey(text),
  app.sign_in_with_passkey(text, bytea, bigint, bytea, bytea, inet, text, text) to dealkeep_server;
