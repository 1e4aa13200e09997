-- Signing in: passwords, sessions, reset and the change of address.
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

-- How many mails somebody has caused: of a sender, a brokerage, to a mailbox, within a minute or a day (UTC). Counted in
-- the transaction that causes the mail, so that one too many undoes it, and what is refused counts for nothing.
create table vault.mail_counts (
  subject text not null,
  since timestamptz not null,
  sent int not null,
  primary key (subject, since)
);
select app.protect('vault.mail_counts');

-- Mails that people cause ---------------------------------------------------------------------------------------------

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

create function app.count_address_change() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform app.count_mail_to(new.user_id, null, new.new_email);
  return null;
end
$$;
create trigger count_address_change after insert or update on vault.address_changes for each row
  execute function app.count_address_change();

-- Sessions ------------------------------------------------------------------------------------------------------------

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

-- Ends whatever acts for a person: every session, and what was granted to connected clients on the strength of the same
-- credentials. When a password is reset, somebody signs out everywhere, is suspended or is signed out by an admin.
create function app.end_sessions_of(person uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  update vault.sessions s set ended_at = app.now() where s.user_id = person and s.ended_at is null;
  delete from vault.sign_in_steps s where s.user_id = person;
  delete from vault.known_devices k where k.user_id = person;
  perform app.revoke_families(person, null);
end
$$;

-- Suspending somebody, and taking that back: what the operator does, with `dealkeep users`.
create function app.on_suspension() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if new.suspended_at is not null then
    perform app.end_sessions_of(new.id);
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

-- Does so for a change that a trigger is set on.
create function app.guard_recent_sign_in() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform app.check_recent_sign_in();
  return new;
end
$$;

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
  perform app.revoke_families(this.user_id, null);
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
  app.knows_device(text, bytea), app.keep_device(bytea, bytea, bytea),
  app.sign_out(bytea, inet, text), app.sign_out_everywhere(bytea, inet, text),
  app.own_sessions(bytea), app.end_session(bytea, uuid, inet, text),
  app.change_password(bytea, text, text, bytea, inet, text),
  app.ask_reset(text, bytea, inet, text), app.reset_owner(bytea), app.reset_password(bytea, text, inet, text),
  app.ask_address_change(bytea, text, bytea, inet, text), app.change_address(bytea, bytea, inet, text),
  app.purge_sign_in() to dealkeep_server;
