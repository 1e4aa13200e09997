-- compatible: no release has sent webhooks yet, so that what delivered them one by one goes.
-- Webhooks are delivered in lots: a node takes up to 50 deliveries of one webhook by one change of the webhook's row, and notes how they ended together. While it has
-- the lot, no other node sends to this webhook. An attempt counts when its end is noted.

drop function app.claim_deliveries(int), app.enter_for_delivery(uuid, uuid), app.sees_change_event(bigint),
  app.note_delivery(uuid, uuid, text, text, int, text, int, text, text, text, int);
alter table webhook_deliveries drop column claim, drop column claimed_until;
alter table webhook_endpoints add column claim uuid, add column claimed_until timestamptz,
  add constraint webhook_endpoints_claim_check check ((claim is null) = (claimed_until is null));

-- Takes lots of up to so many webhooks, each for a minute in which nobody else takes from that webhook: what is due of it, 50 at most, and one of a webhook
-- whose last five attempts failed. Eight lots of a brokerage are under way at once, so that one whose receivers are slow leaves room for others. Of webhooks whose
-- key has ended, none. A row for each delivery, those of a lot one after another.
create function app.claim_deliveries(most int)
returns table (endpoint_id uuid, claim uuid, url text, failures int, secret_ids uuid[], secrets text[], id uuid, seq bigint, event_id uuid, type text, object_type text,
  object_id uuid, about_deal uuid, occurred_at timestamptz, attempts int)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  now constant timestamptz := app.now();
  taken constant uuid := gen_random_uuid();
  room int := least(most, 100);
  candidate uuid;
  this public.webhook_endpoints;
begin
  for candidate in
    -- A look at the index for each webhook of which something waits, however much it is.
    with recursive waiting (endpoint) as (
      (select d.endpoint_id from public.webhook_deliveries d where d.state = 'waiting' and d.next_attempt_at is not null order by d.endpoint_id limit 1)
      union all
      select (select d.endpoint_id from public.webhook_deliveries d
        where d.state = 'waiting' and d.next_attempt_at is not null and d.endpoint_id > w.endpoint order by d.endpoint_id limit 1)
      from waiting w where w.endpoint is not null)
    select e.id from waiting w join public.webhook_endpoints e on e.id = w.endpoint
    where e.state = 'on' and (e.rests_until is null or e.rests_until <= now) and (e.claimed_until is null or e.claimed_until <= now)
      and exists (select from public.webhook_deliveries d where d.endpoint_id = e.id and d.state = 'waiting' and d.next_attempt_at <= now)
    -- None before others, however much it has to take.
    order by random()
  loop
    exit when room <= 0;
    select e.* into this from public.webhook_endpoints e
      where e.id = candidate and e.state = 'on' and (e.claimed_until is null or e.claimed_until <= now)
        and 8 > (select count(*) from public.webhook_endpoints o where o.brokerage_id = e.brokerage_id and o.claimed_until > now)
        and app.is_key_in_force(e.key_id)
      for no key update skip locked;
    continue when this.id is null;
    return query
      select this.id, taken, this.url, this.failures, s.ids, s.secrets, d.id, d.seq, d.event_id, d.type, d.object_type, d.object_id, d.about_deal, d.occurred_at, d.attempts
      from (select array_agg(k.id order by k.created_at desc, k.id) as ids, array_agg(k.secret order by k.created_at desc, k.id) as secrets
        from vault.webhook_secrets k where k.endpoint_id = this.id and (k.ends_at is null or k.ends_at > now)) s
      cross join (select w.* from public.webhook_deliveries w
        where w.endpoint_id = this.id and w.state = 'waiting' and w.next_attempt_at <= now
        order by w.next_attempt_at, w.nr limit case when this.failures >= 5 then 1 else 50 end) d
      order by d.nr;
    continue when not found;
    update public.webhook_endpoints e set claim = taken, claimed_until = now + interval '1 minute' where e.id = this.id;
    room := room - 1;
  end loop;
end
$$;

-- Enters with the key of a webhook of which a lot was taken; false when that is not so any more.
create function app.enter_for_deliveries(endpoint uuid, by_claim uuid) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  key public.api_keys;
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Webhooks are delivered by the worker.');
  end if;
  select k.* into key from public.webhook_endpoints e join public.api_keys k on k.id = e.key_id
    where e.id = endpoint and e.claim = by_claim and e.claimed_until > app.now() and e.state = 'on' and app.is_key_in_force(k.id);
  if key.id is null then
    return false;
  end if;
  perform app.enter(null, null, key.id, key.brokerage_id, key.scopes);
  return true;
end
$$;

-- Which of these changes the caller sees. Runs as the caller, so that policies decide.
create function app.sees_change_events(seqs bigint[]) returns bigint[]
language plpgsql stable set search_path = '' as $$
begin
  return array(select e.seq from public.change_events e where e.brokerage_id = app.identity_part(4)::uuid and e.seq = any (seqs));
end
$$;

-- Notes how attempts of lots ended, in the order in which they did: 'delivered', 'failed' (tried again after 5 seconds and then ever later, the last time three days
-- after the first) or 'dropped'. Then the next of the same record may go. What has failed for three days is given up; with it an endpoint that has taken nothing
-- since, of which the admins of its key's brokerage get a mail. A lot that is over is left to whoever comes next. Nothing is noted of one that another
-- has taken, nor twice of one attempt.
create function app.note_deliveries(lots jsonb) returns void
language plpgsql security definer set search_path = '' as $$
declare
  now constant timestamptz := app.now();
  lot record;
  this public.webhook_endpoints;
  noted record;
begin
  for lot in
    select l.* from jsonb_to_recordset(lots) as l (endpoint uuid, claim uuid, is_over boolean, attempts jsonb) order by l.endpoint
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
            + (array['5 s', '30 s', '2 min', '10 min', '30 min', '1 h', '2 h', '4 h', '8 h', '12 h']::interval[])[least(a.nth, 10)] * (0.8 + random() * 0.4)) end,
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
  end loop;
end
$$;

-- A webhook of a test key is its brokerage's too, whose admins are told of it although nothing else of a sandbox is mailed: it is their programs that hear nothing more.
create function app.switch_webhook_off(endpoint public.webhook_endpoints, error text) returns void
language plpgsql set search_path = '' as $$
declare
  of_brokerage constant uuid := (select k.brokerage_id from public.api_keys k where k.id = endpoint.key_id);
begin
  update public.webhook_endpoints e set state = 'off', off_reason = 'failing', off_since = app.now(), updated_at = app.now() where e.id = endpoint.id;
  insert into public.audit_records (brokerage_id, action, subject_id, outcome) values (of_brokerage, 'webhook.off', endpoint.id::text, 'done');
  perform app.queue_mail('webhook_off', u.email, u.id, of_brokerage, null, false, jsonb_build_object('name', u.name,
      'brokerage', b.name || case when endpoint.brokerage_id <> of_brokerage then ' (sandbox)' else '' end,
      'host', substring(endpoint.url from '^https?://([^/?]+)'), 'error', left(error, 200)), null, null)
    from public.members m join public.users u on u.id = m.user_id join public.brokerages b on b.id = m.brokerage_id
    where m.brokerage_id = of_brokerage and m.role = 'admin' and m.status = 'active' and u.suspended_at is null order by u.id;
end
$$;

grant execute on function app.claim_deliveries(int), app.enter_for_deliveries(uuid, uuid), app.sees_change_events(bigint[]), app.note_deliveries(jsonb) to dealkeep_server;
