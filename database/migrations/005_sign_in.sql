-- Signing in: passwords, sessions, the second factor, passkeys, reset, change of address, invitations and set-up.
--
-- Everything here lies in the vault; the server reaches it through the functions below and no other way. Tokens arrive
-- as SHA-256 digests. A password never leaves as a hash: the server asks for the recipe (parameters and salt), derives
-- the hash itself and hands it in to be compared, so that an unknown address costs the same work as a known one.

create table vault.passwords (
  user_id uuid primary key references users,
  phc text not null check (phc ~ '^\$argon2id\$v=19\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$'),
  changed_at timestamptz not null default app.now(),
  -- Null while nobody has shown that the mailbox is theirs: the account was opened from a link that somebody handed on.
  address_proven_at timestamptz
);
select app.protect('vault.passwords');

create table vault.sessions (
  id uuid primary key default app.uuid_v7(),
  user_id uuid not null references users,
  digest bytea not null unique check (length(digest) = 32),
  method text not null check (method in ('password', 'code', 'recovery_code', 'passkey', 'invitation', 'set_up')),
  created_at timestamptz not null default app.now(),
  authenticated_at timestamptz not null default app.now(),
  last_seen_at timestamptz not null default app.now(),
  -- Since when the second factor has been shown in it: at its beginning, or by setting one up.
  second_factor_at timestamptz,
  ended_at timestamptz,
  address inet,
  user_agent text check (length(user_agent) <= 300)
);
create index sessions_by_user on vault.sessions (user_id);
select app.protect('vault.sessions');

-- A session lives for 12 hours without use and for 30 days at most; a suspended person has none.
create view vault.live_sessions as
  select s.*, u.email, u.name
  from vault.sessions s
  join public.users u on u.id = s.user_id
  where s.ended_at is null and u.suspended_at is null
    and s.last_seen_at > app.now() - interval '12 hours' and s.created_at > app.now() - interval '30 days';

-- The password was right; the second factor is still owed.
create table vault.sign_in_steps (
  digest bytea primary key check (length(digest) = 32),
  user_id uuid not null references users,
  expires_at timestamptz not null default app.now() + interval '10 minutes',
  failures int not null default 0
);
select app.protect('vault.sign_in_steps');

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

-- The browsers in which somebody has signed in before: failures in them are counted apart, so that what others guess keeps
-- nobody out of their own account. One browser is known to each account that was signed in to there.
create table vault.known_devices (
  digest bytea not null check (length(digest) = 32),
  user_id uuid not null references users,
  used_at timestamptz not null default app.now(),
  code_failures int not null default 0,
  code_failed_at timestamptz,
  primary key (digest, user_id)
);
create index known_devices_by_user on vault.known_devices (user_id);
select app.protect('vault.known_devices');

-- What a passkey has to sign: taken once. `user_id` is who registers a passkey; null is somebody who signs in.
create table vault.challenges (
  digest bytea primary key check (length(digest) = 32),
  user_id uuid references users,
  expires_at timestamptz not null default app.now() + interval '5 minutes'
);
create index challenges_by_expiry on vault.challenges (expires_at);
select app.protect('vault.challenges');

create table vault.password_resets (
  digest bytea primary key check (length(digest) = 32),
  user_id uuid not null references users,
  expires_at timestamptz not null default app.now() + interval '30 minutes'
);
create index password_resets_by_user on vault.password_resets (user_id);
select app.protect('vault.password_resets');

create table vault.address_changes (
  user_id uuid primary key references users,
  digest bytea not null unique check (length(digest) = 32),
  new_email text not null check (app.is_email_address(new_email)),
  expires_at timestamptz not null default app.now() + interval '30 minutes'
);
select app.protect('vault.address_changes');

-- Exactly one of brokerage and participant: the membership or the participation that the link makes active.
create table vault.invitations (
  digest bytea primary key check (length(digest) = 32),
  user_id uuid not null references users,
  brokerage_id uuid references brokerages,
  participant_id uuid references participants,
  mailed boolean not null,
  created_at timestamptz not null default app.now(),
  expires_at timestamptz not null default app.now() + interval '14 days',
  used_at timestamptz,
  check (num_nonnulls(brokerage_id, participant_id) = 1)
);
create index invitations_by_user on vault.invitations (user_id);
select app.protect('vault.invitations');

-- How many mails somebody has caused: of a sender, a brokerage, to a mailbox, within a minute or a day (UTC). Counted in
-- the transaction that causes the mail, so that one too many undoes it, and what is refused counts for nothing.
create table vault.mail_counts (
  subject text not null,
  since timestamptz not null,
  sent int not null,
  primary key (subject, since)
);
select app.protect('vault.mail_counts');

create table vault.set_up_links (
  digest bytea primary key check (length(digest) = 32),
  expires_at timestamptz not null default app.now() + interval '24 hours'
);
select app.protect('vault.set_up_links');

-- Inside only: none of these is granted to the server -----------------------------------------------------------------

create function app.record(user_id uuid, action text, outcome text, details jsonb, address inet, request_id text) returns void
language sql volatile security definer set search_path = '' as $$
  insert into public.audit_records (user_id, action, outcome, details, address, request_id)
  values (record.user_id, record.action, record.outcome, coalesce(record.details, '{}'), record.address, record.request_id)
$$;

-- Counts a mail of this subject in the minute or day; whether it is within the ceiling.
create function app.count_mail(subject text, part text, ceiling int) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  counted int;
begin
  insert into vault.mail_counts as m (subject, since, sent)
    values (part || ' ' || count_mail.subject, date_trunc(part, app.now(), 'UTC'), 1)
    on conflict on constraint mail_counts_pkey do update set sent = m.sent + 1
    returning m.sent into counted;
  return counted <= ceiling;
end
$$;

-- Counts a mail that a person sends to a mailbox of their choosing, for a brokerage or for themself; refuses one too many.
create function app.count_mail_to(sender uuid, brokerage uuid, mailbox text) returns void
language plpgsql security definer set search_path = '' as $$
begin
  if not app.count_mail('from ' || sender, 'minute', 20) then
    perform app.refuse('too_many_mails', 'You have sent 20 mails within a minute: go on in a minute.');
  end if;
  if not app.count_mail('from ' || sender, 'day', 100) then
    perform app.refuse('too_many_mails', 'You have sent 100 mails today: go on tomorrow, or make a link and hand it on.');
  end if;
  if brokerage is not null and not app.count_mail('for ' || brokerage, 'day', 500) then
    perform app.refuse('too_many_mails', 'Your brokerage has sent 500 mails today: go on tomorrow, or make a link and hand it on.');
  end if;
  if not app.count_mail('from ' || coalesce(brokerage, sender) || ' to ' || mailbox, 'day', 5)
    or not app.count_mail('to ' || mailbox, 'day', 20)
  then
    perform app.refuse('too_many_mails',
      'This address was sent many mails today: go on tomorrow, or make a link and hand it on.');
  end if;
end
$$;

-- Counts a notice that a protection of an account was changed. A change beyond them is refused: none goes unnoticed.
create function app.count_notice(person uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  if not app.count_mail('notice to ' || person, 'day', 20) then
    perform app.refuse('too_many_mails', 'The protection of this account was changed 20 times today: go on tomorrow.');
  end if;
end
$$;

create function app.count_invitation() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform app.count_mail_to(app.user_id(),
    coalesce(new.brokerage_id, (select d.organization_id
      from public.participants p join public.deals d on d.id = p.deal_id where p.id = new.participant_id)),
    (select u.email from public.users u where u.id = new.user_id));
  return null;
end
$$;
create trigger count_invitation after insert on vault.invitations for each row
  when (new.mailed) execute function app.count_invitation();

create function app.count_address_change() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform app.count_mail_to(new.user_id, null, new.new_email);
  return null;
end
$$;
create trigger count_address_change after insert or update on vault.address_changes for each row
  execute function app.count_address_change();

-- Opens a session under a new token; the one that the browser had before is over.
create function app.open_session(owner_id uuid, token bytea, earlier bytea, method text, address inet, agent text,
  request_id text) returns void
language plpgsql security definer set search_path = '' as $$
begin
  update vault.sessions s set ended_at = app.now() where s.digest = earlier and s.ended_at is null;
  insert into vault.sessions (user_id, digest, method, address, user_agent, second_factor_at)
    values (owner_id, token, method, address, left(agent, 300),
      case when method in ('code', 'recovery_code', 'passkey') then app.now() end);
  perform app.record(owner_id, 'session.sign_in', 'done', jsonb_build_object('method', method), address,
    request_id);
end
$$;

-- The same session goes on under a new token, and the old token is worth nothing.
create function app.renew_session(session_id uuid, token bytea) returns void
language plpgsql security definer set search_path = '' as $$
begin
  insert into vault.sessions (user_id, digest, method, created_at, authenticated_at, address, user_agent, second_factor_at)
    select s.user_id, token, s.method, s.created_at, s.authenticated_at, s.address, s.user_agent, s.second_factor_at
    from vault.sessions s where s.id = renew_session.session_id;
  update vault.sessions s set ended_at = app.now() where s.id = renew_session.session_id;
end
$$;

create function app.end_sessions_of(person uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  update vault.sessions s set ended_at = app.now() where s.user_id = person and s.ended_at is null;
  delete from vault.sign_in_steps s where s.user_id = person;
  delete from vault.known_devices k where k.user_id = person;
end
$$;

-- Called when a password was changed or reset, somebody signed out everywhere or was suspended: what was granted to
-- connected clients on the strength of the old credentials ends with them. Connected clients put their own in its place.
create function app.on_credentials_changed(user_id uuid) returns void
language plpgsql security definer set search_path = '' as $$ begin end $$;

-- Called when a password was reset by mail; connected clients put their own in its place, too. `first_proof`: nobody had
-- shown before that the mailbox is theirs. What was cleared away, as counts.
create function app.on_reset(user_id uuid, first_proof boolean) returns jsonb
language plpgsql security definer set search_path = '' as $$ begin return '{}'; end $$;

-- Suspending somebody, and taking that back: what the operator does, with `dealkeep users`.
create function app.on_suspension() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if new.suspended_at is not null then
    perform app.end_sessions_of(new.id);
    perform app.on_credentials_changed(new.id);
  end if;
  perform app.record(new.id, case when new.suspended_at is null then 'user.restore' else 'user.suspend' end, 'done',
    '{"by": "operator"}', null, null);
  return null;
end
$$;
create trigger on_suspension after update of suspended_at on users for each row
  when ((old.suspended_at is null) <> (new.suspended_at is null)) execute function app.on_suspension();

-- The live session of this token, when the person signed in within the last ten minutes; refuses when it was longer
-- ago; no row when there is none.
create function app.recent_session(session bytea) returns setof vault.live_sessions
language plpgsql stable security definer set search_path = '' as $$
declare
  live vault.live_sessions;
begin
  select l.* into live from vault.live_sessions l where l.digest = session;
  if not found then
    return;
  end if;
  if live.authenticated_at <= app.now() - interval '10 minutes' then
    perform app.refuse('recent_sign_in_required', 'Confirm that it is you: sign in again, then repeat this.');
  end if;
  return next live;
end
$$;

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

-- Entering ------------------------------------------------------------------------------------------------------------

-- Enters as the person whose session has this digest, and returns what an interface must know; no row, and nobody has
-- entered, when it is unknown, ended, idle for too long, too old, or its owner suspended. `recently_authenticated`:
-- signed in within the last ten minutes. The last use is written at most once a minute, and never waited for; it is no
-- use when nobody attends: a page that asks by itself keeps no session alive.
create function app.enter_with_session(session bytea, attended boolean default true)
returns table (user_id uuid, email text, name text, session_id uuid, authenticated_at timestamptz,
  recently_authenticated boolean, second_factor boolean)
language plpgsql volatile security definer set search_path = '' as $$
#variable_conflict use_column
declare
  live vault.live_sessions;
begin
  select l.* into live from vault.live_sessions l where l.digest = session;
  if not found then
    return;
  end if;
  if attended and live.last_seen_at < app.now() - interval '1 minute' then
    update vault.sessions s set last_seen_at = app.now()
      where s.id = (select f.id from vault.sessions f where f.id = live.id for update skip locked);
  end if;
  perform app.enter(live.user_id, null, null, null, null, live.id,
    app.brokerages_barring(live.user_id, live.second_factor_at is not null));
  return query select live.user_id, live.email, live.name, live.id, live.authenticated_at,
    live.authenticated_at > app.now() - interval '10 minutes',
    exists (select from vault.totp t where t.user_id = live.user_id and t.confirmed_at is not null);
end
$$;

-- Which of these sessions are alive: asked for the streams of changes that are open.
create function app.sessions_alive(ids uuid[]) returns setof uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  return query select l.id from vault.live_sessions l where l.id = any (ids);
end
$$;

-- Refuses (recent_sign_in_required) unless the session's owner signed in within the last ten minutes; to be sent
-- before a change that needs it, in the same transaction.
create function app.require_recent_sign_in(session bytea) returns void
language plpgsql stable security definer set search_path = '' as $$ begin perform app.recent_session(session); end $$;

-- Whether the session that has entered began, or was confirmed, within the last ten minutes; false for connected clients.
create function app.recently_signed_in() returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (
    select from vault.sessions s
    where s.id = app.identity_part(6)::uuid and s.ended_at is null and s.authenticated_at > app.now() - interval '10 minutes');
end
$$;

-- Refuses (recent_sign_in_required) whoever has entered without having signed in within the last ten minutes, connected
-- clients too; for triggers and functions whose changes need it, whichever door they come through.
create function app.check_recent_sign_in() returns void
language plpgsql stable security definer set search_path = '' as $$
begin
  if app.user_id() is not null and not app.recently_signed_in() then
    perform app.refuse('recent_sign_in_required', 'Confirm that it is you: sign in again, then repeat this.');
  end if;
end
$$;

-- Making somebody an admin, and inviting them as one, hands out every right there is in a brokerage. The invited person's
-- own acceptance needs no more than the link.
create function app.guard_admins() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if tg_op = 'INSERT' or new.role <> old.role or new.status = 'invited' then
    perform app.check_recent_sign_in();
  end if;
  return new;
end
$$;
create trigger guard_admins before insert or update of role, status on members for each row
  when (new.role = 'admin') execute function app.guard_admins();

-- Signing in ----------------------------------------------------------------------------------------------------------

-- Parameters and salt of the password at this address; for an address without one, the given parameters and a salt
-- that is always the same for it, so that nobody can tell the difference.
create function app.password_recipe(address_of text, parameters text) returns text
language plpgsql stable security definer set search_path = '' as $$
begin
  return coalesce(
    (select substring(p.phc from '^(.*)\$[^$]*$')
      from vault.passwords p join public.users u on u.id = p.user_id where u.email = lower(address_of)),
    (select parameters || '$' || rtrim(encode(substring(sha256(
        convert_to('salt ' || lower(address_of), 'UTF8') || s.secret) from 1 for 16), 'base64'), '=')
      from vault.seal s));
end
$$;

-- The same for the person of a session; null when it is not alive.
create function app.own_password_recipe(session bytea, parameters text) returns text
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select app.password_recipe(l.email, parameters) from vault.live_sessions l where l.digest = session);
end
$$;

-- Signs in with a password. Outcome: 'signed_in', and the token is a session; 'second_factor', and the token is a
-- step to be finished; 'refused', for whatever reason.
create function app.sign_in(given_email text, phc text, token bytea, earlier bytea, address inet, agent text, request_id text)
returns table (outcome text, user_id uuid, email text, name text)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  person public.users;
  known boolean;
begin
  select u.* into person from public.users u where u.email = lower(given_email);
  known := exists (select from vault.passwords p where p.user_id = person.id and p.phc = sign_in.phc);
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

-- Stores a hash of the same password with newer parameters.
create function app.upgrade_password(old_phc text, new_phc text) returns void
language sql security definer set search_path = '' as $$
  update vault.passwords set phc = new_phc where phc = old_phc
$$;

-- The secret and the address of a step that waits for a code; no row when there is no such step.
create function app.step_secret(step bytea) returns table (secret text, email text)
language plpgsql stable security definer set search_path = '' as $$
begin
  return query
    select t.secret, u.email
    from vault.sign_in_steps s
    join public.users u on u.id = s.user_id
    join vault.totp t on t.user_id = s.user_id and t.confirmed_at is not null
    where s.digest = step and s.expires_at > app.now();
end
$$;

-- Whether this person has signed in before in the browser that holds this device token.
create function app.is_known_device(person uuid, device bytea) returns boolean
language sql stable security definer set search_path = '' as $$
  select exists (select from vault.known_devices k
    where k.digest = device and k.user_id = person and k.used_at > app.now() - interval '180 days')
$$;

-- The same for the person at this address.
create function app.knows_device(given_email text, device bytea) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from public.users u where u.email = lower(given_email) and app.is_known_device(u.id, device));
end
$$;

-- From now on the browser of this session is known to the session's owner, under a new token. It is the same browser for
-- every other account that knew it as `earlier`, which is worth nothing any more. The 20 used last are known.
create function app.keep_device(session bytea, earlier bytea, device bytea) returns void
language plpgsql security definer set search_path = '' as $$
declare
  person uuid;
begin
  select l.user_id into person from vault.live_sessions l where l.digest = session;
  if not found then
    return;
  end if;
  update vault.known_devices k set digest = device where k.digest = earlier;
  insert into vault.known_devices (digest, user_id) values (device, person)
    on conflict (digest, user_id) do update set used_at = app.now(), code_failures = 0, code_failed_at = null;
  delete from vault.known_devices k where k.user_id = person and k.digest in (
    select old.digest from vault.known_devices old where old.user_id = person
    order by old.used_at desc, old.digest offset 20);
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
-- given, with a recovery code; `device` is what the browser is known by, if it is. Outcome: 'signed_in'; 'refused', and it may be tried again; 'expired': start over.
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

-- Signing out, and the sessions of a person ---------------------------------------------------------------------------

-- Ends the session; nothing happens when there is none.
create function app.sign_out(session bytea, address inet, request_id text) returns void
language plpgsql security definer set search_path = '' as $$
declare
  person uuid;
begin
  update vault.sessions s set ended_at = app.now() where s.digest = session and s.ended_at is null
    returning s.user_id into person;
  if found then
    perform app.record(person, 'session.sign_out', 'done', null, address, request_id);
  end if;
end
$$;

-- Ends every session of the person and what they granted to connected clients; false when the session is not alive. Needs
-- a recent sign-in.
create function app.sign_out_everywhere(session bytea, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  person uuid;
begin
  select r.user_id into person from app.recent_session(session) r;
  if not found then
    return false;
  end if;
  perform app.end_sessions_of(person);
  perform app.on_credentials_changed(person);
  perform app.record(person, 'session.sign_out_everywhere', 'done', null, address, request_id);
  return true;
end
$$;

-- The live sessions of the session's owner, the last used first.
create function app.own_sessions(session bytea)
returns table (id uuid, is_this boolean, created_at timestamptz, last_seen_at timestamptz, address inet, user_agent text)
language plpgsql stable security definer set search_path = '' as $$
begin
  return query
    select other.id, other.digest = session, other.created_at, other.last_seen_at, other.address, other.user_agent
    from vault.live_sessions this
    join vault.live_sessions other on other.user_id = this.user_id
    where this.digest = session
    order by other.digest = session desc, other.last_seen_at desc, other.id desc;
end
$$;

-- Ends another session of the same person, or with null all others; how many it ended. Needs a recent sign-in.
create function app.end_session(session bytea, other_id uuid, address inet, request_id text) returns int
language plpgsql security definer set search_path = '' as $$
declare
  this vault.live_sessions;
  ended int;
begin
  select r.* into this from app.recent_session(session) r;
  update vault.sessions s set ended_at = app.now()
    where s.user_id = this.user_id and s.id <> this.id and s.ended_at is null and (other_id is null or s.id = other_id);
  get diagnostics ended = row_count;
  if ended > 0 then
    perform app.record(this.user_id, 'session.end', 'done', jsonb_build_object('sessions', ended), address,
      request_id);
  end if;
  return ended;
end
$$;

-- Passwords and the address -------------------------------------------------------------------------------------------

-- Changes the password of the session's owner. Outcome: 'done', every session is over and the token is the new one;
-- 'refused', the current password was wrong; null: the session is not alive.
create function app.change_password(session bytea, old_phc text, new_phc text, token bytea, address inet, request_id text)
returns text
language plpgsql security definer set search_path = '' as $$
declare
  this vault.live_sessions;
begin
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
  perform app.on_credentials_changed(this.user_id);
  perform app.count_notice(this.user_id);
  perform app.record(this.user_id, 'password.change', 'done', null, address, request_id);
  return 'done';
end
$$;

-- Keeps a reset link for the person at this address. A row when there is somebody to send it to, not more than five links
-- wait for them already, and they were sent fewer than 20 today, and whoever asks from this address fewer than 200.
create function app.ask_reset(given_email text, token bytea, address inet, request_id text)
returns table (email text, name text)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  person public.users;
begin
  select u.* into person from public.users u
    where u.email = lower(given_email) and u.suspended_at is null
      and 5 > (select count(*) from vault.password_resets r where r.user_id = u.id and r.expires_at > app.now());
  if not found then
    return;
  end if;
  -- Nobody is told: it would show that there is an account.
  if not app.count_mail('reset by ' || case family(address) when 6 then host(network(set_masklen(address, 64)))
      else coalesce(host(address), '') end, 'day', 200)
    or not app.count_mail('reset to ' || person.id, 'day', 20)
  then
    return;
  end if;
  delete from vault.password_resets r where r.user_id = person.id and r.expires_at <= app.now();
  insert into vault.password_resets (digest, user_id) values (token, person.id);
  perform app.record(person.id, 'password.reset_ask', 'done', null, address, request_id);
  return query select person.email, person.name;
end
$$;

-- Whose reset link this is; no row when it is used up, too old or unknown.
create function app.reset_owner(token bytea) returns table (email text, name text)
language plpgsql stable security definer set search_path = '' as $$
begin
  return query
    select u.email, u.name from vault.password_resets r join public.users u on u.id = r.user_id
    where r.digest = token and r.expires_at > app.now() and u.suspended_at is null;
end
$$;

-- Sets a new password by a reset link, once: true when it did. Every session is over. When it is the first time that
-- somebody shows that the mailbox is theirs, whatever else the account was fitted with before may be a stranger's.
create function app.reset_password(token bytea, new_phc text, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  person uuid;
  first_proof boolean;
begin
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
  perform app.on_credentials_changed(person);
  perform app.record(person, 'password.reset', 'done', app.on_reset(person, first_proof), address, request_id);
  return true;
end
$$;

-- Keeps a link by which the session's owner moves to another address; whether the session is alive. Needs a recent sign-in.
create function app.ask_address_change(session bytea, new_email text, token bytea, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session(session) r;
  if not found then
    return false;
  end if;
  insert into vault.address_changes (user_id, digest, new_email) values (this.user_id, token, lower(new_email))
    on conflict (user_id) do update
      set digest = excluded.digest, new_email = excluded.new_email, expires_at = excluded.expires_at;
  perform app.record(this.user_id, 'address.change_ask', 'done', null, address, request_id);
  return true;
end
$$;

-- Moves the session's owner to the address that the link was sent to, once; the old address and the new one, or no row
-- when the link is not theirs, used up or too old.
create function app.change_address(session bytea, token bytea, address inet, request_id text)
returns table (old_email text, new_email text)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  change vault.address_changes;
  old_address text;
begin
  delete from vault.address_changes a using vault.live_sessions l
    where l.digest = session and a.user_id = l.user_id and a.digest = token and a.expires_at > app.now()
    returning a.* into change;
  if not found then
    return;
  end if;
  if exists (select from public.users u where u.email = change.new_email) then
    perform app.refuse('address_taken', 'This address belongs to another account: choose another one.');
  end if;
  select u.email into old_address from public.users u where u.id = change.user_id for update;
  update public.users u set email = change.new_email where u.id = change.user_id;
  -- Invitations that wait were meant for whoever reads the old mailbox, which nobody here has shown to be theirs.
  if exists (select from vault.passwords p where p.user_id = change.user_id and p.address_proven_at is null) then
    update public.participants p set status = 'removed' where p.user_id = change.user_id and p.status = 'invited';
    update public.members m set status = 'removed' where m.user_id = change.user_id and m.status = 'invited';
  end if;
  update vault.passwords p set address_proven_at = app.now() where p.user_id = change.user_id;
  delete from vault.password_resets r where r.user_id = change.user_id;
  perform app.record(change.user_id, 'address.change', 'done', null, address, request_id);
  return query select old_address, change.new_email;
end
$$;

-- The second factor ---------------------------------------------------------------------------------------------------

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

-- Invitations ---------------------------------------------------------------------------------------------------------

-- Invites a person, known by e-mail or new, to a brokerage; for its admins. Inviting again puts a new link in the place
-- of the old one. `mailed`: the link goes to the mailbox and nowhere else. The id by which the member is known.
create function app.invite_member(to_brokerage uuid, given_email text, given_name text, as_role text, token bytea,
  mailed boolean, address inet, request_id text) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  invited uuid;
  known_as uuid;
begin
  if to_brokerage is null or not to_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    raise insufficient_privilege using message = 'not an admin of this brokerage';
  end if;
  insert into public.users (email, name) values (lower(given_email), given_name) on conflict (email) do nothing;
  select u.id into invited from public.users u where u.email = lower(given_email);
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
  insert into public.audit_records (brokerage_id, user_id, action, subject_id, outcome, details, address, request_id)
    values (to_brokerage, app.user_id(), 'member.invite', known_as, 'done', jsonb_build_object('role', as_role),
      address, request_id);
  return known_as;
end
$$;

-- Makes a link for somebody who was invited to a deal (app.invite_to_deal); for its brokers, and admins of its
-- brokerage. The earlier link is worth nothing. Where to send it, and what the mail says.
create function app.link_deal_invitation(to_participation uuid, token bytea, mailed boolean)
returns table (email text, name text, deal_title text, brokerage_name text)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  invited public.participants;
begin
  select p.* into invited from public.participants p join public.deals d on d.id = p.deal_id
    where p.id = to_participation and p.status = 'invited' and app.client_id() is null
      and (d.id = any (app.deals_acting_as('broker')) or d.organization_id = any (app.brokerages_as('admin')));
  if not found then
    raise insufficient_privilege using message = 'not a broker of this deal, or nobody is invited';
  end if;
  delete from vault.invitations i where i.participant_id = invited.id and i.used_at is null;
  insert into vault.invitations (digest, user_id, participant_id, mailed)
    values (token, invited.user_id, invited.id, link_deal_invitation.mailed);
  return query
    select coalesce(invited.invited_email, u.email), coalesce(invited.invited_name, u.name), d.title, b.name
    from public.users u, public.deals d join public.brokerages b on b.id = d.organization_id
    where u.id = invited.user_id and d.id = invited.deal_id;
end
$$;

-- What a link invites to, with the name and address that were typed; no row when it is used up, too old, taken back or
-- unknown. `has_password`: the person has an account already and accepts by signing in; null where whoever made the link
-- may be reading, for it was not mailed. A suspended person's link looks like any other, and is good for nothing.
create function app.invitation(token bytea)
returns table (user_id uuid, email text, name text, role text, brokerage_name text, deal_id uuid, deal_title text,
  has_password boolean)
language plpgsql stable security definer set search_path = '' as $$
begin
  return query
    select u.id, coalesce(m.invited_email, p.invited_email, u.email), coalesce(m.invited_name, p.invited_name, u.name),
      coalesce(m.role, p.role), b.name, d.id, d.title,
      case when i.mailed then exists (select from vault.passwords w where w.user_id = u.id) end
    from vault.invitations i
    join public.users u on u.id = i.user_id
    left join public.members m on m.brokerage_id = i.brokerage_id and m.user_id = i.user_id and m.status = 'invited'
    left join public.participants p on p.id = i.participant_id and p.status = 'invited'
    left join public.deals d on d.id = p.deal_id
    join public.brokerages b on b.id = coalesce(m.brokerage_id, d.organization_id)
    where i.digest = token and i.used_at is null and i.expires_at > app.now();
end
$$;

-- Makes the membership or participation of a link active, once, for this person; true when it did.
create function app.use_invitation(token bytea, person uuid, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  used vault.invitations;
begin
  update vault.invitations i set used_at = app.now()
    where i.digest = token and i.user_id = person and i.used_at is null and i.expires_at > app.now()
    returning i.* into used;
  if not found then
    return false;
  end if;
  if used.brokerage_id is not null then
    update public.members m set status = 'active'
      where m.brokerage_id = used.brokerage_id and m.user_id = person and m.status = 'invited';
  else
    update public.participants p set status = 'active' where p.id = used.participant_id and p.status = 'invited';
  end if;
  if not found then
    perform app.refuse('invitation_withdrawn', 'This invitation was taken back. Ask for a new one.');
  end if;
  insert into public.audit_records (brokerage_id, deal_id, user_id, action, outcome, address, request_id)
    values (used.brokerage_id, (select p.deal_id from public.participants p where p.id = used.participant_id), person,
      'invitation.accept', 'done', address, request_id);
  return true;
end
$$;

-- The session's owner accepts an invitation that is theirs; true when they did.
create function app.accept_invitation(session bytea, token bytea, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  return coalesce((select app.use_invitation(token, l.user_id, accept_invitation.address, accept_invitation.request_id)
    from vault.live_sessions l where l.digest = session), false);
end
$$;

-- Somebody without an account accepts: chooses name and password and is signed in. True when they did.
create function app.accept_first_invitation(invitation_token bytea, chosen_name text, new_phc text, token bytea, earlier bytea,
  address inet, agent text, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  person uuid;
  by_mail boolean;
begin
  select i.user_id, i.mailed into person, by_mail from vault.invitations i join public.users u on u.id = i.user_id
    where i.digest = invitation_token and u.suspended_at is null for update of i;
  -- Whoever already has a password signs in with it instead: a link alone opens no account.
  insert into vault.passwords (user_id, phc, address_proven_at)
    select person, new_phc, case when by_mail then app.now() end where person is not null
    on conflict (user_id) do nothing;
  if not found then
    return false;
  end if;
  if not app.use_invitation(invitation_token, person, address, request_id) then
    perform app.refuse('invitation_expired', 'This invitation is used up or too old. Ask for a new one.');
  end if;
  update public.users u set name = chosen_name where u.id = person;
  perform app.open_session(person, token, earlier, 'invitation', address, agent,
    request_id);
  return true;
end
$$;

-- What a brokerage asks of its members ----------------------------------------------------------------------------------

-- Asks the members of a brokerage for a second factor, or no longer; for its admins, who have shown one in this session,
-- after a recent sign-in. False: the caller is no admin of such a brokerage.
create function app.require_second_factor(of_brokerage uuid, required boolean, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return false;
  end if;
  perform app.check_recent_sign_in();
  if required and not (app.has_second_factor(app.user_id()) and exists (
    select from vault.sessions s where s.id = app.identity_part(6)::uuid and s.second_factor_at is not null))
  then
    perform app.refuse('second_factor_missing', 'Set up a second factor of your own first, and sign in with it.');
  end if;
  update public.brokerages b set requires_second_factor = required
    where b.id = of_brokerage and b.requires_second_factor <> required;
  if found then
    insert into public.audit_records (brokerage_id, user_id, action, subject_id, outcome, details, address, request_id)
      values (of_brokerage, app.user_id(), 'brokerage.second_factor', of_brokerage, 'done',
        jsonb_build_object('required', required), address, request_id);
  end if;
  return true;
end
$$;

-- The brokerages that are closed to the caller until they show a second factor; `has_one`: signing in with it is enough.
create function app.second_factor_owed() returns table (brokerage_id uuid, brokerage_name text, has_one boolean)
language plpgsql stable security definer set search_path = '' as $$
begin
  return query select b.id, b.name, app.has_second_factor(app.user_id()) from public.brokerages b
    where b.id = any (app.barred_in(app.identity())) order by b.name, b.id;
end
$$;

-- Refuses (second_factor_required) whoever owes some brokerage of theirs a second factor: their connected clients do
-- nothing meanwhile, rather than tell half.
create function app.check_second_factor() returns void
language plpgsql stable security definer set search_path = '' as $$
declare
  asking text;
begin
  if app.barred_in(app.identity()) <> '{}' then
    select string_agg(o.brokerage_name, ' and ') into asking from app.second_factor_owed() o;
    perform app.refuse('second_factor_required', format('%s asks its members for a second factor.', asking));
  end if;
end
$$;

-- Whether a member has a second factor; null to all but admins of the brokerage, and of who has not accepted yet.
create function app.member_has_second_factor(of_brokerage uuid, member uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select app.has_second_factor(m.user_id) from public.members m
    where m.brokerage_id = of_brokerage and m.person_id = member and m.status = 'active'
      and of_brokerage = any (app.brokerages_as('admin')));
end
$$;

-- Ends every session of a member and what they granted to connected clients, wherever they use them; for admins of the
-- brokerage, after a recent sign-in. How many sessions; null: there is no such active member.
create function app.end_member_sessions(of_brokerage uuid, member uuid, address inet, request_id text) returns int
language plpgsql security definer set search_path = '' as $$
declare
  person uuid;
  alive int;
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return null;
  end if;
  select m.user_id into person from public.members m
    where m.brokerage_id = of_brokerage and m.person_id = member and m.status = 'active';
  if not found then
    return null;
  end if;
  perform app.check_recent_sign_in();
  select count(*) into alive from vault.live_sessions l where l.user_id = person;
  insert into public.audit_records (brokerage_id, user_id, action, subject_id, outcome, details, address, request_id)
    values (of_brokerage, app.user_id(), 'member.end_sessions', member, 'done', jsonb_build_object('sessions', alive),
      address, request_id);
  perform app.end_sessions_of(person);
  perform app.on_credentials_changed(person);
  return alive;
end
$$;
grant execute on function app.require_second_factor(uuid, boolean, inet, text), app.second_factor_owed(),
  app.check_second_factor(), app.member_has_second_factor(uuid, uuid), app.end_member_sessions(uuid, uuid, inet, text)
  to dealkeep_server;

-- Set-up --------------------------------------------------------------------------------------------------------------

-- Keeps a link that creates the first brokerage; false, and nothing kept, when there is a brokerage already.
create function app.offer_set_up(token bytea) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  if exists (select from public.brokerages) then
    return false;
  end if;
  delete from vault.set_up_links l where l.expires_at <= app.now();
  insert into vault.set_up_links (digest) values (token);
  return true;
end
$$;

-- Whether there is no brokerage and nobody yet, so that a link can set it up.
create function app.is_set_up_open() returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return not exists (select from public.brokerages);
end
$$;

create function app.is_set_up_link(token bytea) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from vault.set_up_links l where l.digest = token and l.expires_at > app.now())
    and not exists (select from public.brokerages);
end
$$;

-- Creates the first brokerage and its admin, who is signed in; true when it did.
create function app.set_up(set_up_token bytea, brokerage_name text, brokerage_slug text, admin_email text, admin_name text,
  new_phc text, token bytea, earlier bytea, address inet, agent text, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  brokerage uuid;
  admin uuid;
begin
  -- Two people with two links: the second waits here and finds the brokerage made.
  lock table vault.set_up_links in exclusive mode;
  if not app.is_set_up_link(set_up_token) then
    return false;
  end if;
  insert into public.brokerages (name, slug) values (brokerage_name, brokerage_slug) returning id into brokerage;
  insert into public.users (email, name) values (lower(admin_email), admin_name) returning id into admin;
  insert into public.members (brokerage_id, user_id, role) values (brokerage, admin, 'admin');
  -- Whoever has the link holds the server: there is nobody else whose mailbox it could be.
  insert into vault.passwords (user_id, phc, address_proven_at) values (admin, new_phc, app.now());
  delete from vault.set_up_links;
  perform app.open_session(admin, token, earlier, 'set_up', address, agent, request_id);
  insert into public.audit_records (brokerage_id, user_id, action, outcome, address, request_id)
    values (brokerage, admin, 'brokerage.set_up', 'done', address, request_id);
  return true;
end
$$;

-- Clearing away -------------------------------------------------------------------------------------------------------

-- Deletes what can never be used again; how many rows. For the server's scheduled jobs.
create function app.purge_sign_in() returns int
language plpgsql security definer set search_path = '' as $$
declare
  purged int := 0;
  part int;
begin
  delete from vault.sessions s
    where s.ended_at < app.now() - interval '1 day' or s.created_at < app.now() - interval '31 days'
      or s.last_seen_at < app.now() - interval '2 days';
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.sign_in_steps s where s.expires_at <= app.now();
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.known_devices k where k.used_at <= app.now() - interval '180 days';
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.challenges c where c.expires_at <= app.now();
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.password_resets r where r.expires_at <= app.now();
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.address_changes a where a.expires_at <= app.now();
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.mail_counts m where m.since < app.now() - interval '2 days';
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.invitations i where i.expires_at < app.now() - interval '30 days';
  get diagnostics part = row_count;
  return purged + part;
end
$$;

grant execute on function
  app.enter_with_session(bytea, boolean), app.sessions_alive(uuid[]), app.require_recent_sign_in(bytea),
  app.password_recipe(text, text), app.own_password_recipe(bytea, text), app.upgrade_password(text, text),
  app.sign_in(text, text, bytea, bytea, inet, text, text), app.step_secret(bytea),
  app.finish_sign_in(bytea, bigint, bytea, bytea, bytea, bytea, inet, text, text),
  app.knows_device(text, bytea), app.keep_device(bytea, bytea, bytea),
  app.sign_out(bytea, inet, text), app.sign_out_everywhere(bytea, inet, text),
  app.own_sessions(bytea), app.end_session(bytea, uuid, inet, text),
  app.change_password(bytea, text, text, bytea, inet, text),
  app.ask_reset(text, bytea, inet, text), app.reset_owner(bytea), app.reset_password(bytea, text, inet, text),
  app.ask_address_change(bytea, text, bytea, inet, text), app.change_address(bytea, bytea, inet, text),
  app.begin_second_factor(bytea, text), app.pending_secret(bytea),
  app.confirm_second_factor(bytea, bigint, bytea[], bytea, inet, text), app.remove_second_factor(bytea, inet, text),
  app.renew_recovery_codes(bytea, bytea[], inet, text), app.recovery_codes_left(bytea),
  app.keep_challenge(bytea, bytea), app.own_passkeys(bytea), app.remove_passkey(bytea, uuid, inet, text),
  app.rename_passkey(bytea, uuid, text, inet, text),
  app.add_passkey(bytea, bytea, text, bytea, bigint, text[], text, inet, text), app.passkey(text),
  app.sign_in_with_passkey(text, bytea, bigint, bytea, bytea, inet, text, text),
  app.invite_member(uuid, text, text, text, bytea, boolean, inet, text), app.link_deal_invitation(uuid, bytea, boolean),
  app.invitation(bytea), app.accept_invitation(bytea, bytea, inet, text),
  app.accept_first_invitation(bytea, text, text, bytea, bytea, inet, text, text),
  app.offer_set_up(bytea), app.is_set_up_open(), app.is_set_up_link(bytea),
  app.set_up(bytea, text, text, text, text, text, bytea, bytea, inet, text, text), app.purge_sign_in()
to dealkeep_server;
