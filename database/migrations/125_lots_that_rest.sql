-- compatible: a condition more.
-- A webhook whose attempts have just failed at one node is not taken by another that looked before that was noted.

-- Takes lots of up to so many webhooks, each for a minute in which nobody else takes from that webhook: what is due of it, 50 at most, and one of a webhook
-- whose last five attempts failed. Eight lots of a brokerage are under way at once, so that one whose receivers are slow leaves room for others. Of webhooks whose
-- key has ended, none. A row for each delivery, those of a lot one after another.
create or replace function app.claim_deliveries(most int)
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
      -- Another node may have noted a failure since it was looked for.
      where e.id = candidate and e.state = 'on' and (e.rests_until is null or e.rests_until <= now) and (e.claimed_until is null or e.claimed_until <= now)
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
