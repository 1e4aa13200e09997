-- What every other file stands on: roles, ids, the clock, refusals, who is calling, moves between states, bounds.
--
-- Two roles matter. The owner (whoever runs these files) owns every object. `dealkeep_server` is what the server
-- works as: it owns nothing, and row-level security decides what it sees. Its logins are members of it.
--
-- Four schemas. `public` holds the records, each behind policies. `app` holds the functions that the policies and
-- the interfaces call. `vault` holds what nobody may read: digests, secrets, sessions; only functions reach into it.
-- `limits` holds the counters of requests.
--
-- The files follow one another by what they are about; each thing is defined once, in its final form. They are frozen: a
-- change of the schema is a new file after the last one. database/schema.sql shows the whole.

do $$
begin
  if not exists (select from pg_roles where rolname = 'dealkeep_server') then
    create role dealkeep_server nologin nobypassrls;
  end if;
end
$$;

create schema app;
create schema vault;
create schema limits;
revoke create on schema public from public;
grant usage on schema public, app, limits to dealkeep_server;
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

-- Stands in front of what is done to a record: refused unless the caller sees it, whether or not there is one.
create function app.must_see(seen boolean) returns void
language plpgsql set search_path = '' as $$
begin
  if seen is not true then
    perform app.refuse('not_found', 'There is nothing here, or not for you.');
  end if;
end
$$;
grant execute on function app.must_see(boolean) to dealkeep_server;

-- An update that finds no row says nothing; behind this, it is denied like an insertion that a policy turns away.
create function app.or_denied(changed uuid) returns uuid
language plpgsql immutable set search_path = '' as $$
begin
  if changed is null then
    raise insufficient_privilege using message = 'there is no such record that the caller may change';
  end if;
  return changed;
end
$$;
grant execute on function app.or_denied(uuid) to dealkeep_server;

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

-- Sets completed_at when the status enters one of the trigger's arguments and clears it when it leaves them. Only the
-- owner, who loads records of the past, has the right to give it.
create function app.stamp_completion() returns trigger
language plpgsql set search_path = '' as $$
begin
  if not (new.status = any (tg_argv)) then
    new.completed_at := null;
  elsif tg_op = 'INSERT' then
    new.completed_at := coalesce(new.completed_at, app.now());
  elsif not (old.status = any (tg_argv)) then
    new.completed_at := app.now();
  end if;
  return new;
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

-- Cursors ---------------------------------------------------------------------------------------------------------------

-- With this secret every node seals the cursors that it gives out, and recognises those of the others.
create table vault.cursor_secret (
  only_row boolean primary key default true check (only_row),
  secret bytea not null default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
);
select app.protect('vault.cursor_secret');
insert into vault.cursor_secret default values;

create function app.cursor_secret() returns bytea
language sql stable security definer set search_path = '' as $$ select secret from vault.cursor_secret $$;
grant execute on function app.cursor_secret() to dealkeep_server;

-- Counters of requests ------------------------------------------------------------------------------------------------
--
-- Shared by every node. Losing them in a crash costs nothing, so they are not written to the log
-- of changes (unlogged). The server itself counts here: the three columns, in this order, are what its library writes.

create unlogged table limits.counters (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
);
select app.protect('limits.counters');
create index counters_by_expiry on limits.counters (expire);
create policy the_server_counts on limits.counters to dealkeep_server using (true) with check (true);
grant select, insert, update, delete on limits.counters to dealkeep_server;
