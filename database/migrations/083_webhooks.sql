-- compatible: tables and functions more; publishing changes wakes those who deliver.
--
-- Webhooks: what changes is sent to receivers that an API key, or an admin of the brokerage for one of its keys, has named. Who delivers goes along the stream
-- of changes (081_change_events.sql) for each receiver and enters with its key, so that a receiver is told what the key sees at that moment, and nothing once the key has ended.

create table public.webhook_endpoints (
  id uuid primary key default app.uuid_v7(),
  brokerage_id uuid not null references brokerages,
  -- Whose rights it has.
  key_id uuid not null references api_keys,
  url text not null check (length(url) between 1 and 2000 and url ~ '^https?://'),
  description text check (length(description) between 1 and 200),
  -- Types of events; null for all.
  types text[] check (cardinality(types) between 1 and 100),
  state text not null default 'on' check (state in ('on', 'off')),
  -- Whether somebody switched it off, or three days without success did.
  off_reason text check (off_reason in ('asked', 'failing')),
  off_since timestamptz,
  created_by uuid references users,
  created_at timestamptz(3) not null default app.now(),
  updated_at timestamptz(3) not null default app.now(),
  -- Up to which change deliveries were written, in which history of the stream.
  place bigint not null,
  history uuid not null,
  -- Attempts in a row that failed, until when it is left alone for them, and when one last succeeded.
  failures int not null default 0,
  rests_until timestamptz,
  succeeded_at timestamptz,
  check ((state = 'off') = (off_reason is not null) and (state = 'off') = (off_since is not null))
);
create index webhook_endpoints_by_brokerage on webhook_endpoints (brokerage_id, created_at desc, id desc);
create index webhook_endpoints_by_key on webhook_endpoints (key_id, created_at desc, id desc);
select app.protect('public.webhook_endpoints');
create trigger set_tenant before insert or update of key_id, brokerage_id on webhook_endpoints for each row execute function app.set_tenant_by_key();

-- With which deliveries are signed: two while one is rotated. As the server sealed them.
create table vault.webhook_secrets (
  id uuid primary key,
  endpoint_id uuid not null references public.webhook_endpoints on delete cascade,
  secret text not null check (length(secret) <= 2000),
  created_at timestamptz not null default app.now(),
  ends_at timestamptz
);
create index webhook_secrets_by_endpoint on vault.webhook_secrets (endpoint_id);
select app.protect('vault.webhook_secrets');

create sequence vault.delivery_order;

create table public.webhook_deliveries (
  id uuid primary key default app.uuid_v7(),
  nr bigint not null default nextval('vault.delivery_order'),
  endpoint_id uuid not null references webhook_endpoints on delete cascade,
  -- The change; null for a test event.
  seq bigint,
  event_id uuid not null,
  type text not null,
  object_type text not null,
  object_id uuid not null,
  about_deal uuid,
  occurred_at timestamptz not null,
  -- Sent before, and asked for again.
  is_again boolean not null default false,
  -- 'dropped': the key does not see the record any more.
  state text not null default 'waiting' check (state in ('waiting', 'delivered', 'failed', 'dropped')),
  attempts int not null default 0,
  -- Null while it waits for an earlier one of the same record.
  next_attempt_at timestamptz,
  claimed_until timestamptz,
  claim uuid,
  created_at timestamptz(3) not null default app.now(),
  first_attempt_at timestamptz,
  last_attempt_at timestamptz,
  ended_at timestamptz,
  -- The last request: what was sent of the record is not kept.
  sent_to text check (length(sent_to) <= 2000),
  sent_bytes int,
  sent_digest text check (length(sent_digest) <= 64),
  -- And its answer.
  status int,
  error text check (length(error) <= 500),
  answer text check (length(answer) <= 4096),
  answer_type text check (length(answer_type) <= 255),
  millis int,
  check ((state = 'waiting') = (ended_at is null))
);
create index webhook_deliveries_by_endpoint on webhook_deliveries (endpoint_id, created_at desc, id desc);
create index webhook_deliveries_due on webhook_deliveries (endpoint_id, next_attempt_at) where state = 'waiting' and next_attempt_at is not null;
create index webhook_deliveries_in_order on webhook_deliveries (endpoint_id, object_id, nr) where state = 'waiting';
create index webhook_deliveries_under_way on webhook_deliveries (endpoint_id) where claimed_until is not null;
create index webhook_deliveries_by_age on webhook_deliveries (created_at);
select app.protect('public.webhook_deliveries');

create policy admins_and_their_key on webhook_endpoints for select to dealkeep_server
  using (brokerage_id = any ((select app.brokerages_as('admin'))::uuid[])
    or (key_id = (select app.key_id()) and brokerage_id = (select app.key_brokerage('webhooks:read'))));
grant select (id, brokerage_id, key_id, url, description, types, state, off_reason, off_since, created_by, created_at, updated_at)
  on webhook_endpoints to dealkeep_server;

create policy with_the_endpoint on webhook_deliveries for select to dealkeep_server
  using ((select true from public.webhook_endpoints e where e.id = endpoint_id));
grant select (id, endpoint_id, event_id, type, object_type, object_id, about_deal, occurred_at, is_again, state, attempts, next_attempt_at, created_at,
  last_attempt_at, ended_at, sent_to, sent_bytes, sent_digest, status, error, answer, answer_type, millis) on webhook_deliveries to dealkeep_server;

-- Managing them ---------------------------------------------------------------------------------------------------------------

-- Whether a key may be used now: somebody who may have keys stands for one of its tokens.
create function app.is_key_in_force(key uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (
    select from public.api_keys k
    join vault.api_key_digests d on d.key_id = k.id
    join public.users u on u.id = d.issued_by
    join public.members m on m.brokerage_id = k.brokerage_id and m.user_id = d.issued_by
    join public.brokerages b on b.id = k.brokerage_id
    where k.id = key and k.revoked_at is null and (k.expires_at is null or k.expires_at > app.now())
      and (d.valid_until is null or d.valid_until > app.now()) and u.suspended_at is null and m.status = 'active'
      and (not b.requires_second_factor or app.has_second_factor(d.issued_by)));
end
$$;

-- The endpoint, locked, for its key with webhooks:write and for admins of the brokerage in the web application.
create function app.webhook_to_manage(endpoint uuid) returns public.webhook_endpoints
language plpgsql security definer set search_path = '' as $$
declare
  found public.webhook_endpoints;
begin
  select e.* into found from public.webhook_endpoints e
    where e.id = endpoint and app.client_id() is null
      and (e.brokerage_id = any (app.brokerages_as('admin'))
        or (e.key_id = app.key_id() and e.brokerage_id = app.key_brokerage('webhooks:write')))
    for no key update;
  if found.id is null then
    perform app.refuse('webhook_not_found', 'There is no such webhook.');
  end if;
  return found;
end
$$;

-- Adds one for the calling key, or for a key of a brokerage of which the caller is an admin. It is told what changes from now on.
create function app.add_webhook(endpoint uuid, of_key uuid, url text, description text, types text[], secret_id uuid, secret text, address inet, request_id text)
returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  key public.api_keys;
begin
  if app.key_id() is not null then
    select k.* into key from public.api_keys k
      where k.id = app.key_id() and k.brokerage_id = app.key_brokerage('webhooks:write') for no key update;
    if key.id is null then
      return false;
    end if;
  else
    key := app.key_to_manage(of_key);
    perform app.check_recent_sign_in();
  end if;
  if not app.is_key_in_force(key.id) then
    perform app.refuse('api_key_ended', 'This API key has ended: choose one that is in force.');
  end if;
  if 20 <= (select count(*) from public.webhook_endpoints e where e.key_id = key.id) then
    perform app.refuse('too_many_webhooks', 'This API key has 20 webhooks: take one out before you add another.');
  end if;
  insert into public.webhook_endpoints (id, brokerage_id, key_id, url, description, types, created_by, place, history)
    select endpoint, key.brokerage_id, key.id, add_webhook.url, add_webhook.description, add_webhook.types, app.user_id(), s.published, s.history
    from vault.change_stream s;
  insert into vault.webhook_secrets (id, endpoint_id, secret) values (secret_id, endpoint, add_webhook.secret);
  perform app.audit('webhook.create', endpoint::text, 'done', key.brokerage_id, null, address, request_id, jsonb_build_object('key_id', key.id));
  return true;
end
$$;

-- Changes what is given; null for the description or types to leave it as it is, '' and '{}' for none and all. Switched on again, it goes on where it stopped.
create function app.change_webhook(endpoint uuid, url text, description text, types text[], state text, address inet, request_id text) returns void
language plpgsql security definer set search_path = '' as $$
declare
  this constant public.webhook_endpoints := app.webhook_to_manage(endpoint);
begin
  if app.key_id() is null and change_webhook.url <> this.url then
    perform app.check_recent_sign_in();
  end if;
  update public.webhook_endpoints e set url = coalesce(change_webhook.url, e.url),
      description = case when change_webhook.description is null then e.description else nullif(change_webhook.description, '') end,
      types = case when change_webhook.types is null then e.types when change_webhook.types = '{}' then null else change_webhook.types end,
      state = coalesce(change_webhook.state, e.state),
      off_reason = case coalesce(change_webhook.state, e.state) when 'off' then coalesce(e.off_reason, 'asked') end,
      off_since = case coalesce(change_webhook.state, e.state) when 'off' then coalesce(e.off_since, app.now()) end,
      failures = 0, rests_until = null, updated_at = app.now()
    where e.id = this.id;
  if this.state = 'off' and change_webhook.state = 'on' then
    -- Three days from now on, not from when it first failed.
    update public.webhook_deliveries d set first_attempt_at = null, next_attempt_at = case when not exists (
          select from public.webhook_deliveries o where o.endpoint_id = d.endpoint_id and o.object_id = d.object_id and o.state = 'waiting' and o.nr < d.nr)
        then app.now() end
      where d.endpoint_id = this.id and d.state = 'waiting';
    perform pg_notify('dealkeep_mail', '');
  end if;
  perform app.audit('webhook.update', this.id::text, 'done', this.brokerage_id, null, address, request_id,
    jsonb_strip_nulls(jsonb_build_object('state', change_webhook.state)));
end
$$;

create function app.remove_webhook(endpoint uuid, address inet, request_id text) returns void
language plpgsql security definer set search_path = '' as $$
declare
  this constant public.webhook_endpoints := app.webhook_to_manage(endpoint);
begin
  delete from public.webhook_endpoints e where e.id = this.id;
  perform app.audit('webhook.delete', this.id::text, 'done', this.brokerage_id, null, address, request_id, '{}');
end
$$;

-- Gives it another secret; the one before signs too for so long. An older one ends at once.
create function app.rotate_webhook_secret(endpoint uuid, secret_id uuid, secret text, overlap interval, address inet, request_id text) returns void
language plpgsql security definer set search_path = '' as $$
declare
  this constant public.webhook_endpoints := app.webhook_to_manage(endpoint);
begin
  if app.key_id() is null then
    perform app.check_recent_sign_in();
  end if;
  delete from vault.webhook_secrets s where s.endpoint_id = this.id and (s.ends_at is not null or overlap <= interval '0');
  update vault.webhook_secrets s set ends_at = app.now() + least(overlap, interval '7 days') where s.endpoint_id = this.id;
  insert into vault.webhook_secrets (id, endpoint_id, secret) values (secret_id, this.id, rotate_webhook_secret.secret);
  perform app.audit('webhook.rotate_secret', this.id::text, 'done', this.brokerage_id, null, address, request_id, '{}');
end
$$;

-- Writes deliveries, in the order of what is given, each behind earlier ones of the same record that wait. The endpoint is locked.
create function app.write_deliveries(endpoint uuid, again boolean, events jsonb) returns int
language plpgsql security definer set search_path = '' as $$
declare
  written int;
begin
  insert into public.webhook_deliveries (endpoint_id, seq, event_id, type, object_type, object_id, about_deal, occurred_at, is_again, next_attempt_at)
    select e.id, g.seq, g.event_id, g.type, g.object_type, g.object_id, g.about_deal, g.occurred_at, again,
      case when g.nth = 1 and not exists (select from public.webhook_deliveries d
        where d.endpoint_id = e.id and d.object_id = g.object_id and d.state = 'waiting') then app.now() end
    from public.webhook_endpoints e
    cross join (
      select r.*, row_number() over (partition by r.object_id order by r.place) as nth
      from rows from (jsonb_to_recordset(events) as (seq bigint, event_id uuid, type text, object_type text, object_id uuid, about_deal uuid,
        occurred_at timestamptz)) with ordinality r (seq, event_id, type, object_type, object_id, about_deal, occurred_at, place)) g
    where e.id = endpoint
    order by g.place;
  get diagnostics written = row_count;
  return written;
end
$$;

-- Sends an event of the type webhook.test; the id of its delivery.
create function app.test_webhook(endpoint uuid, address inet, request_id text) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  this constant public.webhook_endpoints := app.webhook_to_manage(endpoint);
  waiting int;
begin
  select count(*) into waiting from public.webhook_deliveries d where d.endpoint_id = this.id and d.object_id = this.id and d.state = 'waiting';
  if waiting >= 10 then
    perform app.refuse('too_many_tests', 'Ten test events wait already: look at why they are not taken.');
  end if;
  perform app.write_deliveries(this.id, false, jsonb_build_array(jsonb_build_object('event_id', gen_random_uuid(), 'type', 'webhook.test',
    'object_type', 'webhook', 'object_id', this.id, 'occurred_at', app.now())));
  perform pg_notify('dealkeep_mail', '');
  perform app.audit('webhook.test', this.id::text, 'done', this.brokerage_id, null, address, request_id, '{}');
  return (select d.id from public.webhook_deliveries d where d.endpoint_id = this.id and d.object_id = this.id order by d.nr desc limit 1);
end
$$;

-- Sends again what has ended: one delivery, or those written within a time (`from`, `until`; of failed ones only), 10,000 at most; how many.
create function app.redeliver(endpoint uuid, delivery uuid, since timestamptz, until timestamptz, failed_only boolean, address inet, request_id text) returns int
language plpgsql security definer set search_path = '' as $$
declare
  this constant public.webhook_endpoints := app.webhook_to_manage(endpoint);
  chosen jsonb;
  written int;
begin
  if 10000 <= (select count(*) from (select from public.webhook_deliveries d where d.endpoint_id = this.id and d.state = 'waiting' limit 10000) w) then
    perform app.refuse('too_many_deliveries', '10,000 deliveries wait already: let them be taken first.');
  end if;
  select jsonb_agg(to_jsonb(o) - 'nr' order by o.seq nulls first, o.nr) into chosen from (
    select distinct on (d.event_id) d.nr, d.seq, d.event_id, d.type, d.object_type, d.object_id, d.about_deal, d.occurred_at
    from public.webhook_deliveries d
    where d.endpoint_id = this.id and d.state <> 'waiting'
      and case when delivery is not null then d.id = delivery
        else d.created_at >= since and d.created_at < until and (not failed_only or d.state = 'failed') end
    order by d.event_id, d.nr limit 10000) o;
  if chosen is null then
    return 0;
  end if;
  written := app.write_deliveries(this.id, true, chosen);
  perform pg_notify('dealkeep_mail', '');
  perform app.audit('webhook.redeliver', this.id::text, 'done', this.brokerage_id, null, address, request_id, jsonb_build_object('deliveries', written));
  return written;
end
$$;

grant execute on function app.add_webhook(uuid, uuid, text, text, text[], uuid, text, inet, text), app.change_webhook(uuid, text, text, text[], text, inet, text),
  app.remove_webhook(uuid, inet, text), app.rotate_webhook_secret(uuid, uuid, text, interval, inet, text), app.test_webhook(uuid, inet, text),
  app.redeliver(uuid, uuid, timestamptz, timestamptz, boolean, inet, text), app.is_key_in_force(uuid) to dealkeep_server;

-- As it was, and those of webhooks.
create or replace function app.keys_of_secrets() returns text[]
language sql stable security definer set search_path = '' as $$
  select coalesce(array_agg(distinct split_part(s.secret, '.', 2)), '{}') from (
    select t.secret from vault.totp t
    union all select convert_from(c.secret, 'UTF8') from vault.cursor_secret c where substring(c.secret from 1 for 4) = '\x646b312e'
    union all select o.secret from vault.outbox o where o.sent_at is null and o.given_up_at is null
    union all select w.secret from vault.webhook_secrets w
  ) s
  where s.secret like 'dk1.%'
$$;

-- Delivering ------------------------------------------------------------------------------------------------------------------

-- The one of these endpoints for which the stream has gone on longest, locked for the transaction, which enters with its key. Nobody has entered.
-- Not for one with 10,000 deliveries that wait.
create function app.enter_for_next_webhook(out endpoint uuid, out place bigint, out types text[])
language plpgsql security definer set search_path = '' as $$
declare
  stream vault.change_stream;
  this public.webhook_endpoints;
  key public.api_keys;
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Webhooks are delivered by the worker.');
  end if;
  select s.* into stream from vault.change_stream s;
  -- After a restore, numbers begin anew where the backup was made.
  update public.webhook_endpoints e set place = least(e.place, stream.published), history = stream.history where e.history <> stream.history;
  for this in
    select e.* from public.webhook_endpoints e
    where e.state = 'on' and e.place < stream.published
      and exists (select from public.change_events c where c.brokerage_id = e.brokerage_id and c.seq > e.place and c.seq <= stream.published)
      and app.is_key_in_force(e.key_id) and 10000 > (select count(*) from (select from public.webhook_deliveries d where d.endpoint_id = e.id and d.state = 'waiting' limit 10000) w)
    order by e.place limit 1 for no key update skip locked
  loop
    select k.* into key from public.api_keys k where k.id = this.key_id;
    perform app.enter(null, null, key.id, key.brokerage_id, key.scopes);
    endpoint := this.id;
    place := this.place;
    types := this.types;
  end loop;
end
$$;

-- Writes what the caller of enter_for_next_webhook saw, and where the endpoint stands then.
create function app.go_on_with_webhook(endpoint uuid, events jsonb, reached bigint) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform set_config('dealkeep.identity', '', true), set_config('dealkeep.seal', '', true);
  perform app.write_deliveries(endpoint, false, events);
  update public.webhook_endpoints e set place = reached where e.id = endpoint and e.place < reached;
end
$$;

-- Writes up to 500 deliveries for one endpoint; how many places of the stream it went on, null when there is none to go on with. Runs as the server, so that policies decide.
create function app.queue_webhooks() returns bigint
language plpgsql volatile set search_path = '' as $$
declare
  next record;
  events jsonb;
  reached bigint;
begin
  select n.endpoint, n.place, n.types into next from app.enter_for_next_webhook() n;
  if next.endpoint is null then
    return null;
  end if;
  select coalesce(jsonb_agg(jsonb_build_object('seq', c.seq, 'event_id', c.id, 'type', c.type, 'object_type', c.object_type, 'object_id', c.object_id,
      'about_deal', c.deal_id, 'occurred_at', c.at) order by c.seq) filter (where c.id is not null), '[]'), max(c.seq)
    into events, reached from app.changes_after(next.place, 500, next.types) c;
  perform app.go_on_with_webhook(next.endpoint, events, reached);
  return reached - next.place;
end
$$;

-- Takes up to so many deliveries that are due, for a minute in which nobody else takes them: four of an endpoint at a time, one of an endpoint whose last
-- attempts failed; `claim` is named when their end is noted. Of endpoints whose key has ended, none.
create function app.claim_deliveries(most int)
returns table (id uuid, claim uuid, endpoint_id uuid, url text, seq bigint, event_id uuid, type text, object_type text, object_id uuid, about_deal uuid,
  occurred_at timestamptz, attempts int, secret_ids uuid[], secrets text[])
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
begin
  return query
    with ready as materialized (
      select e.id, e.failures from public.webhook_endpoints e
      where e.state = 'on' and (e.rests_until is null or e.rests_until <= app.now()) and app.is_key_in_force(e.key_id)
        and exists (select from public.webhook_deliveries w where w.endpoint_id = e.id and w.state = 'waiting' and w.next_attempt_at <= app.now())
      -- None before others, however much it has to take.
      order by random() limit least(most, 100)
    ), due as (
      select d.id from ready e
      cross join lateral (
        select least(case when e.failures >= 5 then 1 else 4 end, most)
          - (select count(*)::int from public.webhook_deliveries b where b.endpoint_id = e.id and b.claimed_until > app.now()) as room) r
      cross join lateral (
        select w.id, w.next_attempt_at from public.webhook_deliveries w
        where r.room > 0 and w.endpoint_id = e.id and w.state = 'waiting' and w.next_attempt_at <= app.now()
          and (w.claimed_until is null or w.claimed_until <= app.now())
        order by w.next_attempt_at, w.nr limit greatest(r.room, 0) for update skip locked) d
      limit least(most, 100)
    ), claimed as (
      update public.webhook_deliveries d set claimed_until = app.now() + interval '1 minute', claim = gen_random_uuid(), attempts = d.attempts + 1,
          first_attempt_at = coalesce(d.first_attempt_at, app.now()), last_attempt_at = app.now()
      from due where d.id = due.id returning d.*
    )
    select c.id, c.claim, c.endpoint_id, e.url, c.seq, c.event_id, c.type, c.object_type, c.object_id, c.about_deal, c.occurred_at, c.attempts,
      (select array_agg(s.id order by s.created_at desc, s.id) from vault.webhook_secrets s where s.endpoint_id = e.id and (s.ends_at is null or s.ends_at > app.now())),
      (select array_agg(s.secret order by s.created_at desc, s.id) from vault.webhook_secrets s where s.endpoint_id = e.id and (s.ends_at is null or s.ends_at > app.now()))
    from claimed c join public.webhook_endpoints e on e.id = c.endpoint_id
    order by c.nr;
end
$$;

-- Enters with the key of a delivery that was claimed; false when that is not so any more.
create function app.enter_for_delivery(delivery uuid, by_claim uuid) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  key public.api_keys;
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Webhooks are delivered by the worker.');
  end if;
  select k.* into key from public.webhook_deliveries d join public.webhook_endpoints e on e.id = d.endpoint_id join public.api_keys k on k.id = e.key_id
    where d.id = delivery and d.claim = by_claim and d.state = 'waiting' and d.claimed_until > app.now() and e.state = 'on' and app.is_key_in_force(k.id);
  if key.id is null then
    return false;
  end if;
  perform app.enter(null, null, key.id, key.brokerage_id, key.scopes);
  return true;
end
$$;

-- Whether the caller sees a change.
create function app.sees_change_event(seq bigint) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (select from public.change_events e where e.brokerage_id = app.identity_part(4)::uuid and e.seq = sees_change_event.seq);
end
$$;

-- Notes how an attempt ended: 'delivered', 'failed' (tried again after 5 seconds and then ever later, the last time three days after the first) or 'dropped'. Then the next
-- of the same record may go. What has failed for three days is given up; with it an endpoint that has taken nothing since, of which the admins get a mail. False when
-- another claim has followed.
create function app.note_delivery(delivery uuid, by_claim uuid, outcome text, url text, bytes int, digest text, status int, error text, answer text,
  answer_type text, millis int) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  now constant timestamptz := app.now();
  this public.webhook_deliveries;
  endpoint public.webhook_endpoints;
  ends text := outcome;
begin
  select e.* into endpoint from public.webhook_endpoints e
    where e.id = (select d.endpoint_id from public.webhook_deliveries d where d.id = delivery) for no key update;
  select d.* into this from public.webhook_deliveries d where d.id = delivery and d.claim = by_claim and d.state = 'waiting' for update;
  if this.id is null then
    return false;
  end if;
  if outcome = 'failed' and now < this.first_attempt_at + interval '3 days' then
    ends := 'waiting';
  end if;
  update public.webhook_deliveries d set state = ends, claimed_until = null, claim = null, ended_at = case when ends <> 'waiting' then now end,
      next_attempt_at = case when ends = 'waiting' then least(d.first_attempt_at + interval '3 days', now
        + (array['5 s', '30 s', '2 min', '10 min', '30 min', '1 h', '2 h', '4 h', '8 h', '12 h']::interval[])[least(d.attempts, 10)] * (0.8 + random() * 0.4)) end,
      sent_to = note_delivery.url, sent_bytes = note_delivery.bytes, sent_digest = note_delivery.digest, status = note_delivery.status,
      error = left(note_delivery.error, 500), answer = left(note_delivery.answer, 4096), answer_type = left(note_delivery.answer_type, 255),
      millis = note_delivery.millis
    where d.id = this.id;
  if ends <> 'waiting' then
    update public.webhook_deliveries d set next_attempt_at = now
      where d.id = (select n.id from public.webhook_deliveries n
          where n.endpoint_id = this.endpoint_id and n.object_id = this.object_id and n.state = 'waiting' order by n.nr limit 1)
        and d.next_attempt_at is null;
  end if;
  if outcome = 'delivered' then
    update public.webhook_endpoints e set succeeded_at = now, failures = 0, rests_until = null where e.id = endpoint.id;
  elsif outcome = 'failed' then
    update public.webhook_endpoints e set failures = e.failures + 1,
        rests_until = case when e.failures >= 4 then now + least(interval '5 seconds' * 2 ^ least(e.failures - 4, 20), interval '10 minutes') end
      where e.id = endpoint.id;
    if ends = 'failed' and endpoint.state = 'on' and (endpoint.succeeded_at is null or endpoint.succeeded_at < this.first_attempt_at) then
      update public.webhook_endpoints e set state = 'off', off_reason = 'failing', off_since = now, updated_at = now where e.id = endpoint.id;
      insert into public.audit_records (brokerage_id, action, subject_id, outcome) values (endpoint.brokerage_id, 'webhook.off', endpoint.id::text, 'done');
      perform app.queue_mail('webhook_off', u.email, u.id, endpoint.brokerage_id, null, false, jsonb_build_object('name', u.name, 'brokerage', b.name,
          'host', substring(endpoint.url from '^https?://([^/?]+)'), 'error', left(note_delivery.error, 200)), null, null)
        from public.members m join public.users u on u.id = m.user_id join public.brokerages b on b.id = m.brokerage_id
        where m.brokerage_id = endpoint.brokerage_id and m.role = 'admin' and m.status = 'active' and u.suspended_at is null order by u.id;
    end if;
  end if;
  return true;
end
$$;

-- Deletes deliveries of 30 days ago, and secrets that have ended; how many. What waited behind one of them goes on.
create function app.purge_webhooks() returns int
language plpgsql security definer set search_path = '' as $$
declare
  old uuid[];
  held jsonb;
begin
  delete from vault.webhook_secrets s where s.ends_at <= app.now();
  old := array(select o.id from public.webhook_deliveries o where o.created_at < app.now() - interval '30 days'
    order by o.created_at limit 10000 for update skip locked);
  select jsonb_agg(distinct jsonb_build_object('endpoint', d.endpoint_id, 'object', d.object_id)) into held
    from public.webhook_deliveries d where d.id = any (old) and d.state = 'waiting';
  delete from public.webhook_deliveries d where d.id = any (old);
  update public.webhook_deliveries d set next_attempt_at = app.now()
    from jsonb_to_recordset(held) as h (endpoint uuid, object uuid)
    where d.next_attempt_at is null and d.id = (select n.id from public.webhook_deliveries n
      where n.endpoint_id = h.endpoint and n.object_id = h.object and n.state = 'waiting' order by n.nr limit 1);
  return cardinality(old);
end
$$;

-- Whoever delivers is woken when there is more to deliver.
create function app.wake_webhooks() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if exists (select from public.webhook_endpoints e where e.state = 'on') then
    perform pg_notify('dealkeep_mail', '');
  end if;
  return null;
end
$$;
create trigger wake_webhooks after update of published on vault.change_stream
  for each row when (new.published > old.published) execute function app.wake_webhooks();

grant execute on function app.queue_webhooks(), app.enter_for_next_webhook(), app.go_on_with_webhook(uuid, jsonb, bigint), app.claim_deliveries(int),
  app.enter_for_delivery(uuid, uuid), app.sees_change_event(bigint),
  app.note_delivery(uuid, uuid, text, text, int, text, int, text, text, text, int), app.purge_webhooks() to dealkeep_server;
