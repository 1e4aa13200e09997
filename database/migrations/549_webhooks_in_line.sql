-- compatible: columns with a default, which functions alone use; functions are named, called and answered as before, but that queuing may answer 0, upon which it is asked for again.
--
-- To queue 500 changes of one webhook, all webhooks of the platform were looked at, and up to 10,000 deliveries that wait were counted for each; to send what is due of some, all of which something waits,
-- also those that are off or whose key has ended. Some thousand webhooks whose receivers do not answer, which one brokerage could have, made a look take longer than a statement may, and no brokerage's
-- changes were queued any more.
--
-- Now webhooks stand in two lines, each of which has an index, and a look takes the first.
--
-- `queue_at` is when changes may have come that are to be queued: null where none have, `infinity` where the key has ended, which cannot be undone. It is set for the webhooks of the brokerages that have
-- changes, once for each change (`app.mark_changed_webhooks`); how far that has come is in `vault.change_stream`, with the webhooks that somebody held meanwhile, so that nobody waits for the webhook of
-- another. Whoever takes a webhook out of the line has locked it before they read what is published, and whoever puts one in locks it too, so that no change is lost between the two. A webhook with more
-- changes than one look takes stands a minute behind: it has its turn at once where nobody else is there, and never before those who have something new.
--
-- `send_at` is when something may be due: null where nothing waits. Who has waited longest comes first, and behind the others when it has had its turn. While it is claimed, it is when the claim runs out.
-- A look finds out where it is too early, as it may be. What a deletion of old deliveries makes due comes when what it waited for would have been tried.
--
-- A webhook of which 10,000 wait is looked at again when a thousand of them have ended (`freed`), or an hour later, instead of being counted each time.

alter table webhook_endpoints
  add queue_at timestamptz default app.now(),
  add send_at timestamptz default app.now(),
  add freed integer;
create index webhook_endpoints_to_queue on webhook_endpoints (queue_at) where state = 'on' and queue_at is not null;
create index webhook_endpoints_to_send on webhook_endpoints (send_at) where state = 'on' and send_at is not null;
create index webhook_endpoints_on on webhook_endpoints (brokerage_id) where state = 'on' and queue_at is distinct from 'infinity'::timestamptz;
create index webhook_endpoints_claimed on webhook_endpoints (brokerage_id) where claim is not null;

alter table vault.change_stream
  add webhooks_marked bigint not null default 0,
  add webhooks_history uuid,
  add webhooks_held uuid[] not null default '{}';
update vault.change_stream s set webhooks_marked = s.published, webhooks_history = s.history;

create function app.has_key_ended(key uuid)
returns boolean
language sql stable
return exists (select from public.api_keys k where k.id = has_key_ended.key and (k.revoked_at is not null or k.expires_at <= app.now()));

-- Puts the webhooks into the line for whose brokerage something was published since, and says whether there were any or there may be more.
create function app.mark_changed_webhooks()
returns boolean
language plpgsql
security definer
set search_path to ''
set plan_cache_mode to 'force_generic_plan'
set enable_seqscan to 'off'
as $function$
declare
  now constant timestamptz := app.now();
  stream vault.change_stream;
  reach bigint;
  changed uuid[];
  free uuid[];
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Webhooks are delivered by the worker.');
  end if;
  select s.* into stream from vault.change_stream s;
  if stream.webhooks_history = stream.history and stream.webhooks_marked >= stream.published then
    free := array(select e.id from public.webhook_endpoints e where e.id = any (stream.webhooks_held) for no key update skip locked);
    if free = '{}' then
      return false;
    end if;
  end if;
  select s.* into stream from vault.change_stream s for no key update;
  if stream.webhooks_history = stream.history and stream.webhooks_marked >= stream.published and stream.webhooks_held = '{}' then
    -- Another node has marked them meanwhile. What is locked by now is let go before anything else is waited for.
    return true;
  end if;
  -- After a restore, numbers begin anew where the backup was made.
  if stream.webhooks_history is distinct from stream.history then
    update public.webhook_endpoints e set place = least(e.place, stream.published), history = stream.history where e.history <> stream.history;
    stream.webhooks_marked := least(stream.webhooks_marked, stream.published);
  end if;
  reach := least(stream.published, stream.webhooks_marked + 10000);
  changed := array(select distinct c.brokerage_id from public.change_events c where c.seq + 0 > stream.webhooks_marked and c.seq + 0 <= reach);
  changed := array(
    select e.id from public.webhook_endpoints e
    where e.state = 'on' and e.queue_at is distinct from 'infinity'::timestamptz and e.brokerage_id = any (changed)
    union
    select e.id from public.webhook_endpoints e where e.id = any (stream.webhooks_held));
  free := array(select e.id from public.webhook_endpoints e where e.id = any (changed) for no key update skip locked);
  update public.webhook_endpoints e set queue_at = case when app.has_key_ended(e.key_id) then 'infinity' else now end
    where e.id = any (free) and (e.queue_at is null or app.has_key_ended(e.key_id));
  update vault.change_stream s set webhooks_marked = greatest(reach, stream.webhooks_marked), webhooks_history = stream.history,
    webhooks_held = array(select c.id from unnest(changed) c (id) where c.id <> all (free));
  return true;
end
$function$;
grant execute on function app.mark_changed_webhooks() to dealkeep_server;

create or replace function app.enter_for_next_webhook(OUT endpoint uuid, OUT place bigint, OUT types text[])
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
declare
  now constant timestamptz := app.now();
  published bigint;
  this public.webhook_endpoints;
  key public.api_keys;
  scopes text[];
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Webhooks are delivered by the worker.');
  end if;
  select e.* into this from public.webhook_endpoints e
    where e.state = 'on' and e.queue_at <= now + interval '1 minute' order by e.queue_at limit 1 for no key update skip locked;
  if this.id is null then
    -- Somebody takes or notes deliveries of each that is left, or writes them: for a moment.
    select e.* into this from public.webhook_endpoints e
      where e.state = 'on' and e.id = coalesce(
        (select o.id from public.webhook_endpoints o where o.state = 'on' and o.queue_at <= now + interval '1 minute' order by o.queue_at limit 1),
        (select s.webhooks_held[1] from vault.change_stream s))
      for no key update;
  end if;
  if this.id is null then
    return;
  end if;
  endpoint := this.id;
  -- Read once it is locked: what is published later puts it into the line again.
  published := (select s.published from vault.change_stream s);
  scopes := app.scopes_in_force(this.key_id);
  if scopes is null then
    update public.webhook_endpoints e set queue_at = case when app.has_key_ended(this.key_id) then 'infinity' else now + interval '10 minutes' end
      where e.id = this.id;
  elsif not exists (select from public.change_events c where c.brokerage_id = this.brokerage_id and c.seq > this.place and c.seq <= published) then
    update public.webhook_endpoints e set place = greatest(e.place, published), queue_at = null where e.id = this.id;
  elsif 10000 <= (select count(*) from (select from public.webhook_deliveries d where d.endpoint_id = this.id and d.state = 'waiting' limit 10000) w) then
    update public.webhook_endpoints e set queue_at = now + interval '1 hour', freed = 0 where e.id = this.id;
  else
    select k.* into key from public.api_keys k where k.id = this.key_id;
    perform app.enter(null, null, key.id, key.brokerage_id, scopes);
    place := this.place;
    types := this.types;
  end if;
end
$function$;

create or replace function app.queue_webhooks()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  next record;
  events jsonb;
  reached bigint;
begin
  -- Those that are marked are let go before one is taken: it may be waited for.
  if app.mark_changed_webhooks() then
    return 0;
  end if;
  select n.endpoint, n.place, n.types into next from app.enter_for_next_webhook() n;
  if next.endpoint is null then
    return null;
  end if;
  if next.place is null then
    return 0;
  end if;
  select coalesce(jsonb_agg(jsonb_build_object('seq', c.seq, 'event_id', c.id, 'type', c.type, 'object_type', c.object_type, 'object_id', c.object_id,
      'about_deal', c.deal_id, 'occurred_at', c.at) order by c.seq) filter (where c.id is not null), '[]'), max(c.seq)
    into events, reached from app.changes_after(next.place, 500, next.types) c;
  perform app.go_on_with_webhook(next.endpoint, events, reached);
  return reached - next.place;
end
$function$;

create or replace function app.go_on_with_webhook(endpoint uuid, events jsonb, reached bigint)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform set_config('dealkeep.identity', '', true), set_config('dealkeep.seal', '', true);
  perform app.write_deliveries(endpoint, false, events);
  update public.webhook_endpoints e set place = greatest(e.place, reached), freed = null,
      queue_at = case when reached < (select s.published from vault.change_stream s) then app.now() + interval '1 minute' end
    where e.id = endpoint;
end
$function$;

create or replace function app.write_deliveries(endpoint uuid, again boolean, events jsonb)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  now constant timestamptz := app.now();
  written int;
begin
  insert into public.webhook_deliveries (endpoint_id, seq, event_id, type, object_type, object_id, about_deal, occurred_at, is_again, next_attempt_at)
    select e.id, g.seq, g.event_id, g.type, g.object_type, g.object_id, g.about_deal, g.occurred_at, again,
      case when g.nth = 1 and not exists (select from public.webhook_deliveries d
        where d.endpoint_id = e.id and d.object_id = g.object_id and d.state = 'waiting') then now end
    from public.webhook_endpoints e
    cross join (
      select r.*, row_number() over (partition by r.object_id order by r.place) as nth
      from rows from (jsonb_to_recordset(events) as (seq bigint, event_id uuid, type text, object_type text, object_id uuid, about_deal uuid,
        occurred_at timestamptz)) with ordinality r (seq, event_id, type, object_type, object_id, about_deal, occurred_at, place)) g
    where e.id = endpoint
    order by g.place;
  get diagnostics written = row_count;
  if written > 0 then
    -- Whoever has claimed it sets it when they are done.
    update public.webhook_endpoints e set send_at = greatest(now, e.rests_until)
      where e.id = endpoint and (e.claimed_until is null or e.claimed_until <= now) and (e.send_at is null or e.send_at > greatest(now, e.rests_until));
  end if;
  return written;
end
$function$;

create function app.next_attempt_of_webhook(endpoint uuid)
returns timestamptz
language sql stable
return (select d.next_attempt_at from public.webhook_deliveries d
  where d.endpoint_id = next_attempt_of_webhook.endpoint and d.state = 'waiting' and d.next_attempt_at is not null order by d.next_attempt_at limit 1);

create or replace function app.claim_deliveries(most integer)
 RETURNS TABLE(endpoint_id uuid, claim uuid, url text, failures integer, secret_ids uuid[], secrets text[], id uuid, seq bigint, event_id uuid, type text, object_type text, object_id uuid, about_deal uuid, occurred_at timestamp with time zone, attempts integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
declare
  now constant timestamptz := app.now();
  taken constant uuid := gen_random_uuid();
  room int := least(most, 100);
  candidate record;
  in_force boolean;
  this public.webhook_endpoints;
begin
  for candidate in
    -- Who has waited longest comes first. What was claimed last is the last when it is noted, so that none comes before others, however much it has to take.
    select e.id, e.key_id from public.webhook_endpoints e
    where e.state = 'on' and e.send_at <= now
      and e.brokerage_id <> all (array(select o.brokerage_id from public.webhook_endpoints o
        where o.claim is not null and o.claimed_until > now group by o.brokerage_id having count(*) >= 8))
    order by e.send_at limit 1000
  loop
    exit when room <= 0;
    in_force := app.is_key_in_force(candidate.key_id);
    select e.* into this from public.webhook_endpoints e
      -- Another node may have noted a failure since it was looked for.
      where e.id = candidate.id and e.state = 'on' and e.send_at <= now and (e.rests_until is null or e.rests_until <= now) and (e.claimed_until is null or e.claimed_until <= now)
        and 8 > (select count(*) from public.webhook_endpoints o where o.brokerage_id = e.brokerage_id and o.claim is not null and o.claimed_until > now)
      for no key update skip locked;
    continue when this.id is null;
    if not in_force then
      update public.webhook_endpoints e set send_at = case when not app.has_key_ended(e.key_id) then now + interval '10 minutes' end where e.id = this.id;
      continue;
    end if;
    return query
      select this.id, taken, this.url, this.failures, s.ids, s.secrets, d.id, d.seq, d.event_id, d.type, d.object_type, d.object_id, d.about_deal, d.occurred_at, d.attempts
      from (select array_agg(k.id order by k.created_at desc, k.id) as ids, array_agg(k.secret order by k.created_at desc, k.id) as secrets
        from vault.webhook_secrets k where k.endpoint_id = this.id and (k.ends_at is null or k.ends_at > now)) s
      cross join (select w.* from public.webhook_deliveries w
        where w.endpoint_id = this.id and w.state = 'waiting' and w.next_attempt_at <= now
        order by w.next_attempt_at, w.nr limit case when this.failures >= 5 then 1 else 50 end) d
      order by d.nr;
    if not found then
      update public.webhook_endpoints e set send_at = app.next_attempt_of_webhook(e.id) where e.id = this.id;
      continue;
    end if;
    update public.webhook_endpoints e set claim = taken, claimed_until = now + interval '1 minute', send_at = now + interval '1 minute' where e.id = this.id;
    room := room - 1;
  end loop;
end
$function$;

create or replace function app.note_deliveries(lots jsonb)
 RETURNS TABLE(endpoint_id uuid, id uuid, seq bigint, event_id uuid, type text, object_type text, object_id uuid, about_deal uuid, occurred_at timestamp with time zone, attempts integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
declare
  now constant timestamptz := app.now();
  lot record;
  this public.webhook_endpoints;
  noted record;
  rests timestamptz;
begin
  for lot in
    -- Locked in one order by all nodes; those of one webhook in the order given, so that the one that ends its lot comes last.
    select l.* from rows from (jsonb_to_recordset(lots) as (endpoint uuid, claim uuid, is_over boolean, more int, held uuid[], attempts jsonb)) with ordinality
        l (endpoint, claim, is_over, more, held, attempts, place)
      order by l.endpoint, l.place
  loop
    select e.* into this from public.webhook_endpoints e where e.id = lot.endpoint and e.claim = lot.claim for no key update;
    continue when this.id is null;
    with attempted as (
      select a.*, d.object_id, d.nr, coalesce(d.first_attempt_at, now) as first_at,
        case when a.outcome = 'failed' and now < coalesce(d.first_attempt_at, now) + interval '3 days' then 'waiting' else a.outcome end as ends
      from rows from (jsonb_to_recordset(lot.attempts) as (id uuid, nth int, outcome text, url text, bytes int, digest text, status int, error text, answer text,
        answer_type text, millis int)) with ordinality a (id, nth, outcome, url, bytes, digest, status, error, answer, answer_type, millis, place)
      join public.webhook_deliveries d on d.id = a.id
      where d.endpoint_id = this.id and d.state = 'waiting' and d.attempts = a.nth - 1
    ), written as (
      update public.webhook_deliveries d set state = a.ends, attempts = a.nth, first_attempt_at = a.first_at, last_attempt_at = now,
          ended_at = case when a.ends <> 'waiting' then now end,
          next_attempt_at = case when a.ends = 'waiting' then least(a.first_at + interval '3 days', now
            + (array['5 s', '30 s', '2 min', '10 min', '30 min', '1 h', '2 h', '4 h', '8 h', '12 h']::interval[])[least(a.nth - d.attempts_before, 10)] * (0.8 + random() * 0.4)) end,
          sent_to = a.url, sent_bytes = a.bytes, sent_digest = a.digest, status = a.status, error = left(a.error, 500), answer = left(a.answer, 4096),
          answer_type = left(a.answer_type, 255), millis = a.millis
        from attempted a where d.id = a.id
    ), freed as (
      update public.webhook_deliveries d set next_attempt_at = now
        from attempted a
        cross join lateral (select w.id from public.webhook_deliveries w
          where w.endpoint_id = this.id and w.object_id = a.object_id and w.state = 'waiting' and w.nr > a.nr order by w.nr limit 1) n
        where a.ends <> 'waiting' and d.id = n.id and d.next_attempt_at is null
    )
    select count(*) filter (where a.outcome <> 'dropped') as tried, coalesce(max(a.place) filter (where a.outcome = 'delivered'), 0) as taken,
        count(*) filter (where a.outcome = 'failed' and a.place > all (select t.place from attempted t where t.outcome = 'delivered')) as failures,
        max(a.first_at) filter (where a.ends = 'failed') as lost_since, max(a.error) filter (where a.ends = 'failed') as error,
        count(*) filter (where a.ends <> 'waiting') as ended
      into noted from attempted a;
    noted.failures := noted.failures + case when noted.taken = 0 then this.failures else 0 end;
    if noted.taken > 0 and this.failures >= 5 and (this.succeeded_at is null or this.succeeded_at < now - interval '10 minutes') then
      update public.webhook_deliveries d set next_attempt_at = now
        where d.id = any (array(select w.id from public.webhook_deliveries w
          where w.endpoint_id = this.id and w.state = 'waiting' and w.next_attempt_at > now and w.last_attempt_at < now order by w.next_attempt_at desc limit 1000));
    end if;
    rests := case when noted.tried = 0 then this.rests_until
      when noted.failures >= 5 then now + least(interval '5 seconds' * 2 ^ least(noted.failures - 5, 20), interval '10 minutes') end;
    update public.webhook_endpoints e set
        succeeded_at = case when noted.taken > 0 then now else e.succeeded_at end,
        failures = noted.failures,
        rests_until = rests,
        claim = case when not lot.is_over then e.claim end, claimed_until = case when not lot.is_over then e.claimed_until end,
        send_at = case when not lot.is_over then e.send_at else (select greatest(n.at, now, rests) from app.next_attempt_of_webhook(e.id) n (at) where n.at is not null) end,
        freed = e.freed + noted.ended,
        queue_at = case when e.freed + noted.ended >= 1000 then least(e.queue_at, now) else e.queue_at end
      where e.id = this.id;
    if noted.taken = 0 and this.state = 'on' and noted.lost_since is not null and (this.succeeded_at is null or this.succeeded_at < noted.lost_since) then
      perform app.switch_webhook_off(this, noted.error);
    end if;
    -- Of the same record nothing is held and due at once, so that what is taken now may overtake what is held.
    if lot.more > 0 and not lot.is_over and noted.failures < 5 then
      return query
        select e.id, d.id, d.seq, d.event_id, d.type, d.object_type, d.object_id, d.about_deal, d.occurred_at, d.attempts
        from public.webhook_endpoints e
        cross join (select w.* from public.webhook_deliveries w
          where w.endpoint_id = this.id and w.state = 'waiting' and w.next_attempt_at <= now and w.id <> all (lot.held)
          order by w.next_attempt_at, w.nr limit least(lot.more, 50)) d
        where e.id = this.id and e.state = 'on' and app.is_key_in_force(e.key_id)
        order by d.nr;
    end if;
  end loop;
end
$function$;

create or replace function app.change_webhook(endpoint uuid, url text, description text, types text[], state text, address inet, request_id text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  now constant timestamptz := app.now();
  this public.webhook_endpoints;
begin
  perform app.hold_webhook_admins();
  this := app.webhook_to_manage(endpoint);
  if app.key_id() is null and change_webhook.url <> this.url then
    perform app.check_recent_sign_in();
  end if;
  update public.webhook_endpoints e set url = coalesce(change_webhook.url, e.url),
      description = case when change_webhook.description is null then e.description else nullif(change_webhook.description, '') end,
      types = case when change_webhook.types is null then e.types when change_webhook.types = '{}' then null else change_webhook.types end,
      state = coalesce(change_webhook.state, e.state),
      off_reason = case coalesce(change_webhook.state, e.state) when 'off' then coalesce(e.off_reason, 'asked') end,
      off_because = case coalesce(change_webhook.state, e.state) when 'off' then e.off_because end,
      off_since = case coalesce(change_webhook.state, e.state) when 'off' then coalesce(e.off_since, now) end,
      created_by = case when change_webhook.url <> e.url or (e.state = 'off' and change_webhook.state = 'on') then app.user_id() else e.created_by end,
      failures = 0, rests_until = null, updated_at = now,
      -- Whoever has claimed it sets when something is due as they are done.
      send_at = case when e.claimed_until > now then e.send_at else now end,
      queue_at = case when e.state = 'off' then now else e.queue_at end
    where e.id = this.id;
  if (this.state = 'off' and change_webhook.state = 'on') or change_webhook.url <> this.url then
    -- Three days from now on, not from when it first failed.
    update public.webhook_deliveries d set first_attempt_at = null, attempts_before = d.attempts, next_attempt_at = case when not exists (
          select from public.webhook_deliveries o where o.endpoint_id = d.endpoint_id and o.object_id = d.object_id and o.state = 'waiting' and o.nr < d.nr)
        then now end
      where d.endpoint_id = this.id and d.state = 'waiting';
    perform pg_notify('dealkeep_mail', '');
  end if;
  perform app.audit('webhook.update', this.id::text, 'done', this.brokerage_id, null, address, request_id,
    jsonb_strip_nulls(jsonb_build_object('state', change_webhook.state)));
end
$function$;

create or replace function app.wake_webhooks()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if exists (select from public.webhook_endpoints e where e.state = 'on' and e.queue_at is distinct from 'infinity'::timestamptz) then
    perform pg_notify('dealkeep_mail', '');
  end if;
  return null;
end
$function$;

-- No more than 10,000 are counted of a webhook, and no more than 100,000 of all: this is asked every ten seconds by each node.
create or replace function app.delivery_state()
 RETURNS TABLE(changes_waiting bigint, changes_since timestamp with time zone, deliveries_waiting bigint, deliveries_failing bigint, oldest_delivery_at timestamp with time zone, webhooks_on bigint, webhooks_failed bigint)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select greatest(0, case when o.is_called then o.last_value else o.last_value - 1 end - s.published), s.mark_at,
    d.waiting, d.failing, d.oldest, w.turned_on, w.failed
  from vault.change_stream s
  cross join vault.change_order o
  cross join (select count(*) filter (where e.state = 'on') as turned_on, count(*) filter (where e.off_reason = 'failing') as failed from public.webhook_endpoints e) w
  cross join (
    select count(*) as waiting, count(*) filter (where c.attempts > 0) as failing, min(c.created_at) as oldest
    from (
      select q.attempts, q.created_at
      from public.webhook_endpoints e
      cross join lateral (select from public.webhook_deliveries f where f.endpoint_id = e.id and f.state = 'waiting' limit 1) first
      cross join lateral (select r.attempts, r.created_at from public.webhook_deliveries r
        where r.endpoint_id = e.id and r.state = 'waiting' and app.is_key_in_force(e.key_id) limit 10000) q
      where e.state = 'on' limit 100000) c) d
$function$;
