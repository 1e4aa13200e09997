-- compatible: functions can be called as before, and answer more; one is new.
--
-- A receiver that refuses some records for good delayed all others: each retry of a refused delivery counted as another sign of an outage, so that the webhook rested, and while it rested, what was due
-- first was tried first, which were the refused ones. With 30 of them an event that the receiver takes waited for five hours.
--
-- A retry counts no longer in `failures`, by which the webhook rests, until five first attempts in a row have failed; `failed_in_a_row` counts both, to tell when an outage ends. After each rest a few deliveries go, as many as are sent at once: the latest that was never tried, as it may be of
-- another kind than those that are refused, and what has been due longest, so that none is passed over, however many come later; of these, one after the other of each type, and of what was tried before. As there may always be something to try, a webhook that has
-- accepted nothing for three days tries again what failed first, by which it is turned off.
--
-- A delivery was given up three days after its first attempt although hardly anybody had tried since: once our own nodes had been away for that time, at the second attempt, and its webhook was turned off.
-- It takes eight attempts now, which are those of the first four hours.

--
-- Slow receivers could hold all places of a node: eight webhooks of each of four brokerages, whose receivers took ten seconds to answer, for up to forty seconds each time.
-- `is_slow` says that one of the last attempts took more than three seconds; claim_deliveries is told how many of such webhooks to claim at most.

alter table webhook_endpoints add failed_in_a_row integer not null default 0, add is_slow boolean not null default false;

create function app.deliveries_to_try(endpoint uuid, succeeded_at timestamptz)
returns uuid[]
language plpgsql
stable
set search_path to ''
as $function$
declare
  now constant timestamptz := app.now();
  oldest record;
  latest uuid;
begin
  if succeeded_at is null or succeeded_at <= now - interval '3 days' then
    select d.id, d.first_attempt_at, d.next_attempt_at into oldest from public.webhook_deliveries d
      where d.endpoint_id = deliveries_to_try.endpoint and d.state = 'waiting' and d.next_attempt_at is not null and d.first_attempt_at is not null
      order by d.first_attempt_at, d.nr limit 1;
    if oldest.first_attempt_at <= now - interval '3 days' and oldest.next_attempt_at <= now then
      return array[oldest.id];
    end if;
  end if;
  select d.id into latest from public.webhook_deliveries d
    where d.endpoint_id = deliveries_to_try.endpoint and d.state = 'waiting' and d.next_attempt_at <= now and d.first_attempt_at is null
    order by d.first_attempt_at desc, d.nr desc limit 1;
  return array_remove(latest || array(
    select w.id from (
      select u.*, row_number() over (partition by case when u.first_attempt_at is null then u.type end order by u.next_attempt_at, u.nr) as turn
      from (
        (select d.id, d.type, d.first_attempt_at, d.next_attempt_at, d.nr from public.webhook_deliveries d
          where d.endpoint_id = deliveries_to_try.endpoint and d.state = 'waiting' and d.next_attempt_at <= now
          order by d.next_attempt_at, d.nr limit 4)
        union
        -- No more than these are read, however many wait.
        (select d.id, d.type, d.first_attempt_at, d.next_attempt_at, d.nr from public.webhook_deliveries d
          where d.endpoint_id = deliveries_to_try.endpoint and d.state = 'waiting' and d.next_attempt_at <= now and d.first_attempt_at is null
          order by d.first_attempt_at, d.nr limit 500)) u
      where u.id is distinct from latest) w
    order by w.turn, w.next_attempt_at, w.nr limit 3), null);
end
$function$;

drop function app.claim_deliveries(integer);
CREATE FUNCTION app.claim_deliveries(most integer, most_slow integer default 100)
 RETURNS TABLE(endpoint_id uuid, claim uuid, url text, is_slow boolean, failures integer, secret_ids uuid[], secrets text[], id uuid, seq bigint, event_id uuid, type text, object_type text, object_id uuid, about_deal uuid, occurred_at timestamp with time zone, attempts integer)
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
  room_for_slow int := most_slow;
  candidate record;
  in_force boolean;
  this public.webhook_endpoints;
  few uuid[];
begin
  for candidate in
    -- Who has waited longest comes first. What was claimed last is the last when it is noted, so that none comes before others, however much it has to take.
    select e.id, e.key_id, e.is_slow from public.webhook_endpoints e
    where e.state = 'on' and e.send_at <= now and (not e.is_slow or most_slow > 0)
      and e.brokerage_id <> all (array(select o.brokerage_id from public.webhook_endpoints o
        where o.claim is not null and o.claimed_until > now group by o.brokerage_id having count(*) >= 8))
    order by e.send_at limit 1000
  loop
    exit when room <= 0;
    continue when candidate.is_slow and room_for_slow <= 0;
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
    few := case when this.failures >= 5 or this.failed_in_a_row >= 5 and this.rests_until is not null then app.deliveries_to_try(this.id, this.succeeded_at) end;
    return query
      select this.id, taken, this.url, this.is_slow, this.failures, s.ids, s.secrets, d.id, d.seq, d.event_id, d.type, d.object_type, d.object_id, d.about_deal, d.occurred_at, d.attempts
      from (select array_agg(k.id order by k.created_at desc, k.id) as ids, array_agg(k.secret order by k.created_at desc, k.id) as secrets
        from vault.webhook_secrets k where k.endpoint_id = this.id and (k.ends_at is null or k.ends_at > now)) s
      cross join (
        (select w.* from public.webhook_deliveries w
          where few is null and w.endpoint_id = this.id and w.state = 'waiting' and w.next_attempt_at <= now
          order by w.next_attempt_at, w.nr limit 50)
        union all
        select w.* from public.webhook_deliveries w where w.id = any (few)) d
      order by d.nr;
    if not found then
      update public.webhook_endpoints e set send_at = app.next_attempt_of_webhook(e.id) where e.id = this.id;
      continue;
    end if;
    update public.webhook_endpoints e set claim = taken, claimed_until = now + interval '1 minute', send_at = now + interval '1 minute' where e.id = this.id;
    room := room - 1;
    room_for_slow := room_for_slow - this.is_slow::int;
  end loop;
end
$function$;
grant execute on function app.claim_deliveries(integer, integer) to dealkeep_server;

CREATE OR REPLACE FUNCTION app.note_deliveries(lots jsonb)
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
      select a.*, d.object_id, d.nr, d.attempts_before, coalesce(d.first_attempt_at, now) as first_at,
        case when a.outcome = 'failed' and (now < coalesce(d.first_attempt_at, now) + interval '3 days' or a.nth - d.attempts_before < 8)
          then 'waiting' else a.outcome end as ends
      from rows from (jsonb_to_recordset(lot.attempts) as (id uuid, nth int, outcome text, url text, bytes int, digest text, status int, error text, answer text,
        answer_type text, millis int)) with ordinality a (id, nth, outcome, url, bytes, digest, status, error, answer, answer_type, millis, place)
      join public.webhook_deliveries d on d.id = a.id
      where d.endpoint_id = this.id and d.state = 'waiting' and d.attempts = a.nth - 1
    ), written as (
      update public.webhook_deliveries d set state = a.ends, attempts = a.nth, first_attempt_at = a.first_at, last_attempt_at = now,
          ended_at = case when a.ends <> 'waiting' then now end,
          next_attempt_at = case when a.ends = 'waiting' then least(case when a.first_at + interval '3 days' > now then a.first_at + interval '3 days' end, now
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
    select count(*) filter (where a.outcome <> 'dropped') as tried, coalesce(max(a.millis), 0) > 3000 as is_slow, coalesce(max(a.place) filter (where a.outcome = 'delivered'), 0) as taken,
        count(*) filter (where a.outcome = 'failed' and (this.failures >= 5 or a.nth - a.attempts_before = 1)
          and a.place > all (select t.place from attempted t where t.outcome = 'delivered')) as failures,
        count(*) filter (where a.outcome = 'failed' and a.place > all (select t.place from attempted t where t.outcome = 'delivered')) as failed,
        max(a.first_at) filter (where a.ends = 'failed') as lost_since, max(a.error) filter (where a.ends = 'failed') as error,
        count(*) filter (where a.ends <> 'waiting') as ended
      into noted from attempted a;
    if noted.taken = 0 then
      -- What is sent together after a rest counts as one, however it is noted.
      noted.failures := case when this.failures < 5 then this.failures + noted.failures
        else this.failures + (noted.failures > 0 and coalesce(this.rests_until <= now, true))::int end;
    end if;
    -- Of one that was turned on or given another address, which ends its rest, those before do not count.
    noted.failed := noted.failed + case when noted.taken = 0 and (this.failed_in_a_row < 5 or this.rests_until is not null) then this.failed_in_a_row else 0 end;
    if noted.taken > 0 and greatest(this.failures, this.failed_in_a_row) >= 5 and (this.succeeded_at is null or this.succeeded_at < now - interval '10 minutes') then
      update public.webhook_deliveries d set next_attempt_at = now
        where d.id = any (array(select w.id from public.webhook_deliveries w
          where w.endpoint_id = this.id and w.state = 'waiting' and w.next_attempt_at > now and w.last_attempt_at < now order by w.next_attempt_at desc limit 1000));
    end if;
    rests := case when noted.tried = 0 then this.rests_until
      when noted.failures >= 5 then now + least(interval '5 seconds' * 2 ^ least(noted.failures - 5, 20), interval '10 minutes')
      when noted.failed >= 5 then now + least(interval '5 seconds' * 2 ^ least(noted.failed - 5, 20), interval '30 seconds') end;
    update public.webhook_endpoints e set
        succeeded_at = case when noted.taken > 0 then now else e.succeeded_at end,
        failures = noted.failures,
        failed_in_a_row = noted.failed,
        is_slow = case when noted.tried > 0 then noted.is_slow else e.is_slow end,
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
    if lot.more > 0 and not lot.is_over and greatest(noted.failures, noted.failed) < 5 then
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
