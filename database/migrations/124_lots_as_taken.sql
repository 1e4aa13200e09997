-- compatible: no release has sent webhooks yet, so that the function that entered without naming the address and the secrets goes.
-- A lot is over when its webhook's address or secrets are no longer those that it was taken with, and what is noted in parts is noted in order.

drop function app.enter_for_deliveries(uuid, uuid);

-- Enters with the key of a webhook of which a lot was taken; false when that is not so any more, or when the webhook's address or the secrets in force (by id, the
-- newest first) are no longer these, which it was taken with: then nothing more goes to the old address or is signed with what was withdrawn.
create function app.enter_for_deliveries(endpoint uuid, by_claim uuid, by_url text, by_secrets uuid[]) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  key public.api_keys;
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Webhooks are delivered by the worker.');
  end if;
  select k.* into key from public.webhook_endpoints e join public.api_keys k on k.id = e.key_id
    where e.id = endpoint and e.claim = by_claim and e.claimed_until > app.now() and e.state = 'on' and e.url = by_url
      and by_secrets = array(select s.id from vault.webhook_secrets s
        where s.endpoint_id = e.id and (s.ends_at is null or s.ends_at > app.now()) order by s.created_at desc, s.id)
      and app.is_key_in_force(k.id);
  if key.id is null then
    return false;
  end if;
  perform app.enter(null, null, key.id, key.brokerage_id, key.scopes);
  return true;
end
$$;

-- Notes how attempts of lots ended, in the order in which they did: 'delivered', 'failed' (tried again after 5 seconds and then ever later, the last time three days
-- after the first) or 'dropped'. Then the next of the same record may go. What has failed for three days is given up; with it an endpoint that has taken nothing
-- since, of which the admins of its key's brokerage get a mail. A lot that is over is left to whoever comes next. Nothing is noted of one that another
-- has taken, nor twice of one attempt.
create or replace function app.note_deliveries(lots jsonb) returns void
language plpgsql security definer set search_path = '' as $$
declare
  now constant timestamptz := app.now();
  lot record;
  this public.webhook_endpoints;
  noted record;
begin
  for lot in
    -- Locked in one order by all nodes; those of one webhook in the order given, so that the one that ends its lot comes last.
    select l.* from rows from (jsonb_to_recordset(lots) as (endpoint uuid, claim uuid, is_over boolean, attempts jsonb)) with ordinality
        l (endpoint, claim, is_over, attempts, place)
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
  end loop;
end
$$;

grant execute on function app.enter_for_deliveries(uuid, uuid, text, uuid[]) to dealkeep_server;
