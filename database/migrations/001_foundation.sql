-- The ground under every other file: roles, ids, the clock, who is calling, tenants, people, and the audit trail.
--
-- Two roles matter. The owner (whoever runs these files) owns every object. `dealkeep_server` is what the server
-- works as: it owns nothing, and row-level security decides what it sees. Its logins are members of it.
--
-- Three schemas. `public` holds the records, each behind policies. `app` holds the functions that the policies and
-- the interfaces call. `vault` holds what nobody may read: digests, secrets, sessions; only functions reach into it.

do $$
begin
  if not exists (select from pg_roles where rolname = 'dealkeep_server') then
    create role dealkeep_server nologin nobypassrls;
  end if;
end
$$;

create schema app;
create schema vault;
revoke create on schema public from public;
grant usage on schema public, app to dealkeep_server;
alter default privileges revoke execute on functions from public;

-- Security is switched on, and on for the owner too. The owner's own functions are let in by a policy that anybody
-- can read here, so that policies which call them do not run in circles.
create function app.protect(protected regclass) returns void
language plpgsql set search_path = '' as $$
begin
  execute format('alter table %s enable row level security', protected);
  execute format('alter table %s force row level security', protected);
  execute format('create policy as_owner on %s to current_user using (true) with check (true)', protected);
end
$$;

-- A UUID of version 7 (RFC 9562): 48 bits of Unix milliseconds, then random bits. Like app.now below it has a body that is
-- resolved here and now, so that PostgreSQL puts it in the place of each call.
create function app.uuid_v7() returns uuid
language sql volatile parallel safe
return encode(
  set_bit(set_bit(
    overlay(uuid_send(gen_random_uuid())
      placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
    52, 1), 53, 1),
  'hex')::uuid;
grant execute on function app.uuid_v7() to dealkeep_server;

-- The time by which everything expires. The tests put a movable clock in this function's place.
create function app.now() returns timestamptz
language sql stable parallel safe return now();
grant execute on function app.now() to dealkeep_server;

-- Refuses what the caller asked for, in words meant for them. `reason` is a stable code (snake_case).
create function app.refuse(reason text, message text) returns void
language plpgsql set search_path = '' as $$
begin
  raise exception using errcode = 'DK001', message = message, hint = reason;
end
$$;
grant execute on function app.refuse(text, text) to dealkeep_server;

-- Refuses one value of what the caller sent; `field` is its path there, as in payload.expires_at.
create function app.refuse_value(field text, message text) returns void
language plpgsql set search_path = '' as $$
begin
  raise exception using errcode = 'DK002', message = message, column = field;
end
$$;
grant execute on function app.refuse_value(text, text) to dealkeep_server;

-- Who is calling -------------------------------------------------------------------------------------------------
--
-- An `enter_with_…` function looks a credential up and calls app.enter. That leaves the identity in a setting that
-- ends with the transaction, sealed with a secret that only the owner can read and bound to this very transaction:
-- a setting left over from earlier, or made up by whoever can run SQL as the server, identifies nobody.

create table vault.seal (
  only_row boolean primary key default true check (only_row),
  secret bytea not null default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
);
select app.protect('vault.seal');
insert into vault.seal default values;

-- These run for every statement, several times. The secret is fetched by a statement without parameters, whose plan
-- PL/pgSQL keeps; what is in SQL is resolved here and now, and PostgreSQL puts it in the place of each call.
create function app.seal_of(identity text, secret bytea) returns text
language sql stable
return encode(
  sha256(convert_to(identity, 'UTF8') || int4send(pg_backend_pid()) || timestamptz_send(transaction_timestamp()) || secret),
  'hex');

-- `scopes` are those of an API key or access token; a signed-in person has none. `client_id` is the connected client
-- that a person uses, `session_id` the session of the web application. `barred` are brokerages that ask their members for a
-- second factor which this person has not shown: until they do, they are nobody there and on its deals.
create function app.enter(user_id uuid, client_id uuid, key_id uuid, brokerage_id uuid, scopes text[],
  session_id uuid default null, barred uuid[] default '{}') returns void
language plpgsql security definer set search_path = '' as $$
declare
  identity constant text := concat_ws(',', coalesce(user_id::text, ''), coalesce(client_id::text, ''),
    coalesce(key_id::text, ''), coalesce(brokerage_id::text, ''), coalesce(array_to_string(scopes, ' '), ''),
    coalesce(session_id::text, ''), array_to_string(barred, ' '));
  secret bytea;
begin
  select s.secret into secret from vault.seal s;
  perform set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', app.seal_of(identity, secret), true);
end
$$;

-- The sealed identity, or null: nobody has entered, or what is there was not sealed by app.enter.
create function app.identity() returns text
language plpgsql stable security definer set search_path = '' as $$
declare
  identity constant text := current_setting('dealkeep.identity', true);
  secret bytea;
begin
  if identity <> '' then
    select s.secret into secret from vault.seal s;
    if current_setting('dealkeep.seal', true) = app.seal_of(identity, secret) then
      return identity;
    end if;
  end if;
  return null;
end
$$;

-- The nth part of it, or null.
create function app.identity_part(nth int) returns text
language sql stable return nullif(split_part(app.identity(), ',', nth), '');

-- The person who is calling, or null: nobody, or an API key.
create function app.user_id() returns uuid
language sql stable return app.identity_part(1)::uuid;

-- The connected client through which the person calls, or null: the web application.
create function app.client_id() returns uuid
language sql stable return app.identity_part(2)::uuid;

-- The API key that is calling, or null.
create function app.key_id() returns uuid
language sql stable return app.identity_part(3)::uuid;

-- The brokerage of the API key that is calling, when the key carries `scope`; else null.
create function app.key_brokerage(scope text) returns uuid
language sql stable
return case when scope = any (string_to_array(app.identity_part(5), ' ')) then app.identity_part(4)::uuid end;

-- The brokerages and their deals that are closed to the caller for want of a second factor, from what app.identity gives.
create function app.barred_in(identity text) returns uuid[]
language sql immutable
return coalesce(string_to_array(nullif(split_part(identity, ',', 7), ''), ' ')::uuid[], '{}');
grant execute on function app.identity(), app.identity_part(int), app.user_id(), app.client_id(), app.key_id()
  to dealkeep_server;

-- Keeps updated_at true; a trigger of every table that has the column.
create function app.touch() returns trigger
language plpgsql set search_path = '' as $$
begin
  new.updated_at := app.now();
  return new;
end
$$;

-- Moves from state to state -----------------------------------------------------------------------------------------
--
-- One table says which moves there are; a trigger on each table with a state holds every interface to it.

create table app.moves (
  subject text not null,
  from_state text not null,
  to_state text not null,
  primary key (subject, from_state, to_state)
);
select app.protect('app.moves');
create policy everybody_reads on app.moves for select to dealkeep_server using (true);
grant select on app.moves to dealkeep_server;

-- Trigger arguments: the subject in app.moves, and the column that holds the state.
create function app.check_move() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  earlier text := to_jsonb(old) ->> tg_argv[1];
  later text := to_jsonb(new) ->> tg_argv[1];
  allowed text;
begin
  if earlier = later or exists (
    select from app.moves m where m.subject = tg_argv[0] and m.from_state = earlier and m.to_state = later)
  then
    return new;
  end if;
  select string_agg(m.to_state, ', ' order by m.to_state) into allowed
    from app.moves m where m.subject = tg_argv[0] and m.from_state = earlier;
  perform app.refuse('move_not_allowed', format('A %s cannot go from %s to %s. From %s it can go to: %s.',
    replace(tg_argv[0], '_', ' '), earlier, later, earlier, coalesce(allowed, 'nothing')));
  return null;
end
$$;

-- How much one person adds -------------------------------------------------------------------------------------------
--
-- What people add to a deal is read and paid for by others: there is an end to it. Trigger arguments: how many rows of the
-- table one person adds to a deal within 24 hours, the column that names the person, the column that says when, and
-- what the rows are called.
create function app.limit_a_day() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  added int;
begin
  if app.user_id() is null then
    return new;  -- the owner, loading data
  end if;
  -- One after the other, or several at once would all be the last that there is room for.
  perform pg_advisory_xact_lock(hashtextextended(concat_ws(' ', tg_table_name, new.deal_id, app.user_id()), 0));
  execute format('select count(*) from public.%I where deal_id = $1 and %I = $2 and %I > $3', tg_table_name, tg_argv[1], tg_argv[2])
    into added using new.deal_id, app.user_id(), app.now() - interval '1 day';
  if added >= tg_argv[0]::int then
    perform app.refuse('too_many_today', format('At most %s %s a person a day on a deal: go on tomorrow.', tg_argv[0], tg_argv[3]));
  end if;
  return new;
end
$$;

-- How many rows of a table a deal has room for. Trigger arguments: how many, and what they are called.
create function app.limit_of_deal() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  there int;
begin
  if app.user_id() is null then
    return new;  -- the owner, loading data
  end if;
  perform pg_advisory_xact_lock(hashtextextended(concat_ws(' ', tg_table_name, new.deal_id), 0));
  execute format('select count(*) from public.%I where deal_id = $1', tg_table_name) into there using new.deal_id;
  if there >= tg_argv[0]::int then
    perform app.refuse('deal_full', format('A deal has room for %s %s.', tg_argv[0], tg_argv[1]));
  end if;
  return new;
end
$$;

-- Tenants and people --------------------------------------------------------------------------------------------------

create table brokerages (
  id uuid primary key default app.uuid_v7(),
  slug text not null unique check (slug ~ '^[a-z0-9](-?[a-z0-9])*$' and length(slug) <= 64),
  name text not null check (length(name) between 1 and 200),
  requires_second_factor boolean not null default false,
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now()
);
select app.protect('brokerages');
create trigger touch before update on brokerages for each row execute function app.touch();

-- Whether a text is an e-mail address: a Mailbox of RFC 5321 in ASCII whose domain has a dot in it or is an address in
-- brackets. The same rule as in server/domain/people/email-address.ts.
create function app.is_email_address(email text) returns boolean
language plpgsql immutable strict parallel safe set search_path = '' as $$
declare
  parts constant text[] := regexp_match(email, '^(.*)@([^@]*)$');
  host constant text := parts[2];
  byte constant text := '(25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])';
  ipv4 constant text := byte || '(\.' || byte || '){3}';
  address text;
begin
  if length(email) > 254 or email ~ '[^ -~]' or parts is null or length(parts[1]) > 64
    or parts[1] !~ '^[A-Za-z0-9!#$%&''*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&''*+/=?^_`{|}~-]+)*$'
      and parts[1] !~ '^"([^"\\]|\\.)*"$'
  then
    return false;
  end if;
  if host ~ '^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$'
    or host ~ ('^\[' || ipv4 || '\]$')
  then
    return true;
  end if;
  if host !~* '^\[ipv6:.*\]$' then
    return false;
  end if;
  -- An IPv4 address at the end stands for two groups.
  address := regexp_replace(substr(host, 7, length(host) - 7), ':' || ipv4 || '$', ':0:0');
  return address ~ '^[0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4}){7}$'
    or address ~ '^([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4}){0,5})?::([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4}){0,5})?$'
      and cardinality(array_remove(regexp_split_to_array(address, ':+'), '')) <= 6;
end
$$;
-- A check runs with the rights of whoever inserts.
grant execute on function app.is_email_address(text) to dealkeep_server;

create table users (
  id uuid primary key default app.uuid_v7(),
  email text not null check (email = lower(email) and app.is_email_address(email)),
  name text not null check (length(name) between 1 and 200),
  suspended_at timestamptz,
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now()
);
create unique index users_by_email on users (email);
select app.protect('users');
create trigger touch before update on users for each row execute function app.touch();

-- Until somebody has accepted, an invitation tells nothing of the account behind its address: it shows the name and address
-- that were typed and, as `person_id`, an id of its own.
create table members (
  brokerage_id uuid not null references brokerages,
  user_id uuid not null references users,
  role text not null check (role in ('admin', 'broker', 'staff')),
  status text not null default 'active' check (status in ('invited', 'active', 'removed')),
  invited_name text check (length(invited_name) between 1 and 200),
  invited_email text check (length(invited_email) between 3 and 254),
  joined_at timestamptz,
  invitation_id uuid not null unique default app.uuid_v7(),
  person_id uuid generated always as (case when joined_at is null then invitation_id else user_id end) stored,
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now(),
  primary key (brokerage_id, user_id)
);
create index members_by_user on members (user_id);
select app.protect('members');
create trigger touch before update on members for each row execute function app.touch();

-- Keeps since when somebody has taken part: from their acceptance on, or from the insertion of who is not only invited.
-- An invitation without typed name and address, which the owner alone can insert, takes the account's.
create function app.note_joining() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if new.status = 'active' or (tg_op = 'INSERT' and new.status = 'removed') then
    new.joined_at := coalesce(new.joined_at, app.now());
  elsif new.joined_at is null and new.invited_email is null then
    select u.name, u.email into new.invited_name, new.invited_email from public.users u where u.id = new.user_id;
  end if;
  return new;
end
$$;
create trigger note_joining before insert or update of status on members for each row execute function app.note_joining();

-- Only the person invited can accept; who invites can do no more than take it back.
create function app.check_acceptance() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if new.user_id is distinct from app.user_id() and app.user_id() is not null then
    perform app.refuse('not_yours_to_accept', 'Only the person invited can accept an invitation.');
  end if;
  return new;
end
$$;
create trigger check_acceptance before update of status on members for each row
  when (old.status <> 'active' and new.status = 'active') execute function app.check_acceptance();

-- The brokerages in which the caller is an active member with one of these roles; {} for nobody and for keys.
create function app.brokerages_as(variadic roles text[]) returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
declare
  identity constant text := app.identity();
  caller constant uuid := nullif(split_part(identity, ',', 1), '');
  barred constant uuid[] := app.barred_in(identity);
begin
  return (
    select coalesce(array_agg(m.brokerage_id), '{}') from public.members m
    where m.user_id = caller and m.status = 'active' and m.role = any (roles) and not m.brokerage_id = any (barred));
end
$$;
grant execute on function app.brokerages_as(text[]) to dealkeep_server;

create policy members_see_it on brokerages for select to dealkeep_server
  using (id = any ((select app.brokerages_as('admin', 'broker', 'staff'))::uuid[]));
create policy admins_change_it on brokerages for update to dealkeep_server
  using (id = any ((select app.brokerages_as('admin'))::uuid[]));
grant select, update (name) on brokerages to dealkeep_server;

create policy members_see_each_other on members for select to dealkeep_server
  using (brokerage_id = any ((select app.brokerages_as('admin', 'broker', 'staff'))::uuid[]));
create policy admins_change_members on members for update to dealkeep_server
  using (brokerage_id = any ((select app.brokerages_as('admin'))::uuid[]));
grant select, update (role, status) on members to dealkeep_server;

-- A brokerage keeps at least one active admin.
create function app.keep_an_admin() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform from public.brokerages b where b.id = old.brokerage_id for update;
  if not exists (
    select from public.members m
    where m.brokerage_id = old.brokerage_id and m.role = 'admin' and m.status = 'active')
  then
    perform app.refuse('last_admin', 'A brokerage keeps at least one admin: make somebody else admin first.');
  end if;
  return null;
end
$$;
create trigger keep_an_admin after update of role, status on members for each row
  when (old.role = 'admin' and old.status = 'active') execute function app.keep_an_admin();

-- Whom one sees by name: oneself here; colleagues and the people of one's deals are added where those are defined.
create policy oneself on users for select to dealkeep_server using (id = (select app.user_id()));
create policy colleagues on users for select to dealkeep_server
  using (exists (select from members m where m.user_id = users.id and m.joined_at is not null));
create policy change_oneself on users for update to dealkeep_server using (id = (select app.user_id()));
grant select, update (name) on users to dealkeep_server;

-- The audit trail -----------------------------------------------------------------------------------------------------
--
-- Who did what, through which client or key, on what, when, and how it ended. Never a token, a question's text or an
-- amount. Written through app.audit alone, so that nobody can write a record in another's name; never changed.

create table audit_records (
  id uuid primary key default app.uuid_v7(),
  at timestamptz not null default app.now(),
  brokerage_id uuid,
  deal_id uuid,
  user_id uuid,
  client_id uuid,
  key_id uuid,
  address inet,
  request_id text,
  action text not null,
  subject_id text,
  outcome text not null,
  details jsonb not null default '{}'
);
create index audit_by_brokerage on audit_records (brokerage_id, at desc, id desc);
create index audit_by_user on audit_records (user_id, at desc, id desc);
create index audit_by_deal on audit_records (deal_id, at desc, id desc);
select app.protect('audit_records');
create policy own_and_admins on audit_records for select to dealkeep_server
  using (user_id = (select app.user_id()) or brokerage_id = any ((select app.brokerages_as('admin'))::uuid[]));
grant select on audit_records to dealkeep_server;
