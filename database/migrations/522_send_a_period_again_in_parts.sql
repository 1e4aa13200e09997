-- compatible: a new function answers where it stopped; the one that nodes of an earlier version call sends the same deliveries and answers how many, as before.
--
-- Of more than 10,000 deliveries in a period those were sent again whose events had the smallest ids, which are random: the same ones on every request, and after a move of `since` others were left out. Now the
-- earliest are, and the answer says from when on to ask for the rest. A millisecond is not divided, as times are told in milliseconds. Deliveries are found by the index of the log, or by that of what was not
-- delivered, each in its order: with the values of the call PostgreSQL knows that this ends early.

create function app.write_deliveries_again(endpoint public.webhook_endpoints, ended uuid[], address inet, request_id text)
returns integer
language plpgsql
set search_path to ''
as $function$
declare
  chosen jsonb;
  written int;
begin
  if 10000 <= (select count(*) from (select from public.webhook_deliveries d where d.endpoint_id = endpoint.id and d.state = 'waiting' limit 10000) w) then
    perform app.refuse('too_many_deliveries', '10,000 deliveries wait already: let them be taken first.');
  end if;
  select jsonb_agg(to_jsonb(o) - 'nr' order by o.seq nulls first, o.nr) into chosen from (
    select distinct on (d.event_id) d.nr, d.seq, d.event_id, d.type, d.object_type, d.object_id, d.about_deal, d.occurred_at
    from public.webhook_deliveries d
    where d.id = any (ended) and d.endpoint_id = endpoint.id and d.state <> 'waiting'
    order by d.event_id, d.nr) o;
  if chosen is null then
    return 0;
  end if;
  written := app.write_deliveries(endpoint.id, true, chosen);
  perform pg_notify('dealkeep_mail', '');
  perform app.audit('webhook.redeliver', endpoint.id::text, 'done', endpoint.brokerage_id, null, address, request_id, jsonb_build_object('deliveries', written));
  return written;
end
$function$;

create function app.redeliver_period(endpoint uuid, since timestamptz, until timestamptz, failed_only boolean, address inet, request_id text,
  out written integer, out next_since timestamptz)
language plpgsql
security definer
set search_path to ''
set plan_cache_mode to 'force_custom_plan'
as $function$
declare
  this constant public.webhook_endpoints := app.webhook_to_manage(endpoint);
  ended uuid[];
begin
  if failed_only then
    ended := array(select d.id from public.webhook_deliveries d
      where d.endpoint_id = this.id and d.state = 'failed' and d.created_at >= since and d.created_at < until order by d.created_at, d.nr limit 10001);
  else
    ended := array(select d.id from public.webhook_deliveries d
      where d.endpoint_id = this.id and d.state <> 'waiting' and d.created_at >= since and d.created_at < until order by d.created_at, d.nr limit 10001);
  end if;
  if cardinality(ended) > 10000 then
    next_since := (select d.created_at from public.webhook_deliveries d where d.id = ended[10001]);
    if next_since > (select d.created_at from public.webhook_deliveries d where d.id = ended[1]) then
      ended := array(select d.id from public.webhook_deliveries d where d.id = any (ended) and d.created_at < next_since);
    else
      ended := array(select d.id from public.webhook_deliveries d
        where d.endpoint_id = this.id and d.state <> 'waiting' and d.created_at = next_since and (not failed_only or d.state = 'failed'));
      next_since := next_since + interval '1 millisecond';
    end if;
  end if;
  written := app.write_deliveries_again(this, ended, address, request_id);
end
$function$;
grant execute on function app.redeliver_period(uuid, timestamptz, timestamptz, boolean, inet, text) to dealkeep_server;

create or replace function app.redeliver(endpoint uuid, delivery uuid, since timestamptz, until timestamptz, failed_only boolean, address inet, request_id text)
returns integer
language plpgsql
security definer
set search_path to ''
as $function$
begin
  if delivery is null then
    return (select r.written from app.redeliver_period(endpoint, since, until, failed_only, address, request_id) r);
  end if;
  return app.write_deliveries_again(app.webhook_to_manage(endpoint), array[delivery], address, request_id);
end
$function$;
