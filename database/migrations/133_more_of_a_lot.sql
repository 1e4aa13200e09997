-- compatible: no release has sent webhooks yet, so that the function that noted without taking more goes.
-- A node that has a lot of a webhook takes more with what it notes, so that it goes on sending meanwhile; and what is to be queued waits for whoever has the webhook's row at
-- that moment, instead of being left until the next look.

drop function app.note_deliveries(jsonb);

-- Notes how attempts of lots ended, in the order in which they did: 'delivered', 'failed' (tried again after 5 seconds and then ever later, the last time three days
-- after the first) or 'dropped'. Then the next of the same record may go. What has failed for three days is given up; with it an endpoint that has taken nothing
-- since, of which the admins of its key's brokerage get a mail. A lot that is over is left to whoever comes next. Nothing is noted of one that another
-- has taken, nor twice of one attempt. To plan it anew for each of the first five calls of a connection costs more than all of them. Answers with up to `more` that are due (50 at most) and not among those `held`, which are of the lot then.
create function app.note_deliveries(lots jsonb)
returns table (endpoint_id uuid, id uuid, seq bigint, event_id uuid, type text, object_type text, object_id uuid, about_deal uuid, occurred_at timestamptz, attempts int)
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan' set enable_seqscan = 'off' as $$
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
$$;

-- The one of these endpoints for which the stream has gone on longest, locked for the transaction, which enters with its key. Nobody has entered.
-- Not for one with 10,000 deliveries that wait.
create or replace function app.enter_for_next_webhook(out endpoint uuid, out place bigint, out types text[])
language plpgsql security definer set search_path = '' as $$
declare
  stream vault.change_stream;
  this public.webhook_endpoints;
  key public.api_keys;
  behind uuid[];
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Webhooks are delivered by the worker.');
  end if;
  select s.* into stream from vault.change_stream s;
  -- After a restore, numbers begin anew where the backup was made.
  update public.webhook_endpoints e set place = least(e.place, stream.published), history = stream.history where e.history <> stream.history;
  behind := array(select e.id from public.webhook_endpoints e
    where e.state = 'on' and e.place < stream.published
      and exists (select from public.change_events c where c.brokerage_id = e.brokerage_id and c.seq > e.place and c.seq <= stream.published)
      and app.is_key_in_force(e.key_id) and 10000 > (select count(*) from (select from public.webhook_deliveries d where d.endpoint_id = e.id and d.state = 'waiting' limit 10000) w)
    order by e.place);
  select e.* into this from public.webhook_endpoints e
    where e.id = any (behind) and e.state = 'on' and e.place < stream.published order by e.place limit 1 for no key update skip locked;
  if this.id is null then
    -- Somebody takes or notes deliveries of each that is left, or writes them: for a moment.
    select e.* into this from public.webhook_endpoints e where e.id = behind[1] and e.state = 'on' and e.place < stream.published for no key update;
  end if;
  if this.id is null then
    return;
  end if;
  select k.* into key from public.api_keys k where k.id = this.key_id;
  perform app.enter(null, null, key.id, key.brokerage_id, key.scopes);
  endpoint := this.id;
  place := this.place;
  types := this.types;
end
$$;

alter function app.is_key_in_force(uuid) set plan_cache_mode = 'force_generic_plan';
alter function app.claim_deliveries(int) set plan_cache_mode = 'force_generic_plan';
alter function app.write_deliveries(uuid, boolean, jsonb) set plan_cache_mode = 'force_generic_plan';
alter function app.enter_for_deliveries(uuid, uuid, text, uuid[]) set plan_cache_mode = 'force_generic_plan';
alter function app.enter_for_next_webhook() set plan_cache_mode = 'force_generic_plan';

grant execute on function app.note_deliveries(jsonb) to dealkeep_server;
