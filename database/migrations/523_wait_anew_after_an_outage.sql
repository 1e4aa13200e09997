-- compatible: a column with a default, which functions alone use.
--
-- A webhook that was turned on again went on waiting as long as after the last of all failures before: up to 12 hours after a single one. Turned on, or given another address, it begins with five seconds again.
-- `attempts` cannot begin anew, as it counts what was sent, and tells a result of the present attempt from an earlier one.
--
-- What had failed in an outage came up to 14 hours after its end, while all else was delivered. Now what is accepted after ten minutes without, and five failures in a row, makes the rest due too. Less would not
-- tell an outage from some records that are refused while others are accepted: these would be tried again with each of the others. How long they wait after that stays, for the same reason. During an outage one
-- delivery is tried at a time, after a rest, so that few have failed: a thousand are made due at most, and by the index.

alter table webhook_deliveries add attempts_before integer not null default 0;

create or replace function app.change_webhook(endpoint uuid, url text, description text, types text[], state text, address inet, request_id text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
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
      off_since = case coalesce(change_webhook.state, e.state) when 'off' then coalesce(e.off_since, app.now()) end,
      created_by = case when change_webhook.url <> e.url or (e.state = 'off' and change_webhook.state = 'on') then app.user_id() else e.created_by end,
      failures = 0, rests_until = null, updated_at = app.now()
    where e.id = this.id;
  if (this.state = 'off' and change_webhook.state = 'on') or change_webhook.url <> this.url then
    -- Three days from now on, not from when it first failed.
    update public.webhook_deliveries d set first_attempt_at = null, attempts_before = d.attempts, next_attempt_at = case when not exists (
          select from public.webhook_deliveries o where o.endpoint_id = d.endpoint_id and o.object_id = d.object_id and o.state = 'waiting' and o.nr < d.nr)
        then app.now() end
      where d.endpoint_id = this.id and d.state = 'waiting';
    perform pg_notify('dealkeep_mail', '');
  end if;
  perform app.audit('webhook.update', this.id::text, 'done', this.brokerage_id, null, address, request_id,
    jsonb_strip_nulls(jsonb_build_object('state', change_webhook.state)));
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
        max(a.first_at) filter (where a.ends = 'failed') as lost_since, max(a.error) filter (where a.ends = 'failed') as error
      into noted from attempted a;
    noted.failures := noted.failures + case when noted.taken = 0 then this.failures else 0 end;
    if noted.taken > 0 and this.failures >= 5 and (this.succeeded_at is null or this.succeeded_at < now - interval '10 minutes') then
      update public.webhook_deliveries d set next_attempt_at = now
        where d.id = any (array(select w.id from public.webhook_deliveries w
          where w.endpoint_id = this.id and w.state = 'waiting' and w.next_attempt_at > now and w.last_attempt_at < now order by w.next_attempt_at desc limit 1000));
    end if;
    update public.webhook_endpoints e set
        succeeded_at = case when noted.taken > 0 then now else e.succeeded_at end,
        failures = noted.failures,
        rests_until = case when noted.tried = 0 then e.rests_until
          when noted.failures >= 5 then now + least(interval '5 seconds' * 2 ^ least(noted.failures - 5, 20), interval '10 minutes') end,
        claim = case when not lot.is_over then e.claim end, claimed_until = case when not lot.is_over then e.claimed_until end
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
