-- compatible: a function with the same parameters.
--
-- Slow webhooks could take all eight places of their brokerage, each for up to half a minute and more, while its quick ones waited. They take half of them now, as of a
-- node's.

CREATE OR REPLACE FUNCTION app.claim_deliveries(most integer, most_slow integer DEFAULT 100)
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
      and (not e.is_slow or e.brokerage_id <> all (array(select o.brokerage_id from public.webhook_endpoints o
        where o.claim is not null and o.claimed_until > now and o.is_slow group by o.brokerage_id having count(*) >= 4)))
    order by e.send_at limit 1000
  loop
    exit when room <= 0;
    continue when candidate.is_slow and room_for_slow <= 0;
    in_force := app.is_key_in_force(candidate.key_id);
    select e.* into this from public.webhook_endpoints e
      -- Another node may have noted a failure since it was looked for.
      where e.id = candidate.id and e.state = 'on' and e.send_at <= now and (e.rests_until is null or e.rests_until <= now) and (e.claimed_until is null or e.claimed_until <= now)
        and 8 > (select count(*) from public.webhook_endpoints o where o.brokerage_id = e.brokerage_id and o.claim is not null and o.claimed_until > now)
        and (not e.is_slow or 4 > (select count(*) from public.webhook_endpoints o
          where o.brokerage_id = e.brokerage_id and o.claim is not null and o.claimed_until > now and o.is_slow))
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
