-- compatible: a function that waits for less.
--
-- While the webhooks with something new were held, as those of an admin who is erased, each look for them ended in an error after three seconds, and what was due of others was not taken. And
-- a webhook that left the line while it was full went on being put into it with each note of its deliveries.

CREATE OR REPLACE FUNCTION app.enter_for_next_webhook(OUT endpoint uuid, OUT place bigint, OUT types text[])
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET lock_timeout TO '1s'
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
    -- Somebody takes or notes deliveries of each that is left, or writes them: for a moment, or for long, and then the next look finds it.
    begin
      select e.* into this from public.webhook_endpoints e
        where e.state = 'on' and e.id = coalesce(
          (select o.id from public.webhook_endpoints o where o.state = 'on' and o.queue_at <= now + interval '1 minute' order by o.queue_at limit 1),
          (select s.webhooks_held[1] from vault.change_stream s))
        for no key update;
    exception when lock_not_available then
      return;
    end;
  end if;
  if this.id is null then
    return;
  end if;
  endpoint := this.id;
  -- Read once it is locked: what is published later puts it into the line again.
  published := (select s.published from vault.change_stream s);
  scopes := app.scopes_in_force(this.key_id);
  if scopes is null then
    update public.webhook_endpoints e set queue_at = case when app.has_key_ended(this.key_id) then 'infinity' else now + interval '10 minutes' end, freed = null
      where e.id = this.id;
  elsif not exists (select from public.change_events c where c.brokerage_id = this.brokerage_id and c.seq > this.place and c.seq <= published) then
    update public.webhook_endpoints e set place = greatest(e.place, published), queue_at = null, freed = null where e.id = this.id;
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
