-- compatible: a column that functions and a policy use; nodes of an earlier version do not see what is removed either.
--
-- A webhook was deleted with the log of its deliveries in one statement. With some million of them that took longer than a statement may, so that it could not be deleted at all. Now what is more than 10,000
-- deliveries is deleted in portions by the job that deletes old ones. Until then the webhook is there as one that is removed: it is shown and managed by nobody, and nothing is sent there.

alter table webhook_endpoints add removed_at timestamptz, add check (removed_at is null or state = 'off');
create index webhook_endpoints_removed on webhook_endpoints (removed_at) where removed_at is not null;
alter policy admins_and_their_key on webhook_endpoints using (removed_at is null and ((select true from api_keys k where k.id = key_id)
  or key_id = (select app.key_id()) and brokerage_id = (select app.key_brokerage('webhooks:read'))));

create function app.delete_deliveries(of_endpoint uuid, most integer)
returns integer
language plpgsql
set search_path to ''
set plan_cache_mode to 'force_generic_plan'
set enable_seqscan to 'off'
as $function$
declare
  gone int;
begin
  delete from public.webhook_deliveries d where d.ctid = any (array(
    select o.ctid from public.webhook_deliveries o where o.endpoint_id = of_endpoint limit most for update skip locked));
  get diagnostics gone = row_count;
  return gone;
end
$function$;

create or replace function app.remove_webhook(endpoint uuid, address inet, request_id text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  now constant timestamptz := app.now();
  this constant public.webhook_endpoints := app.webhook_to_manage(endpoint);
begin
  if app.delete_deliveries(this.id, 10000) < 10000 then
    delete from public.webhook_endpoints e where e.id = this.id;
  else
    delete from vault.webhook_secrets s where s.endpoint_id = this.id;
    update public.webhook_endpoints e set removed_at = now, state = 'off', off_reason = 'asked', off_because = null, off_since = now, claim = null, claimed_until = null
      where e.id = this.id;
  end if;
  perform app.audit('webhook.delete', this.id::text, 'done', this.brokerage_id, null, address, request_id, '{}');
end
$function$;

create or replace function app.purge_webhooks()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  most constant int := 10000;
  old uuid[];
  held jsonb;
  purged int;
  removed uuid;
begin
  delete from vault.webhook_secrets s where s.ends_at <= app.now();
  old := array(select o.id from public.webhook_deliveries o where o.created_at < app.now() - interval '30 days'
    order by o.created_at limit most for update skip locked);
  select jsonb_agg(distinct jsonb_build_object('endpoint', d.endpoint_id, 'object', d.object_id)) into held
    from public.webhook_deliveries d where d.id = any (old) and d.state = 'waiting';
  delete from public.webhook_deliveries d where d.id = any (old);
  update public.webhook_deliveries d set next_attempt_at = app.now()
    from jsonb_to_recordset(held) as h (endpoint uuid, object uuid)
    where d.next_attempt_at is null and d.id = (select n.id from public.webhook_deliveries n
      where n.endpoint_id = h.endpoint and n.object_id = h.object and n.state = 'waiting' order by n.nr limit 1);
  purged := cardinality(old);
  for removed in select e.id from public.webhook_endpoints e where e.removed_at is not null order by e.removed_at for update skip locked loop
    exit when purged >= most;
    purged := purged + app.delete_deliveries(removed, most - purged);
    if purged < most then
      delete from public.webhook_endpoints e where e.id = removed;
    end if;
  end loop;
  return purged;
end
$function$;

create or replace function app.webhook_to_manage(endpoint uuid)
 RETURNS public.webhook_endpoints
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  found public.webhook_endpoints;
begin
  select e.* into found from public.webhook_endpoints e join public.api_keys k on k.id = e.key_id
    where e.id = endpoint and e.removed_at is null and app.client_id() is null
      and (k.brokerage_id = any (app.brokerages_as('admin'))
        or (e.key_id = app.key_id() and e.brokerage_id = app.key_brokerage('webhooks:write')))
    for no key update of e;
  if found.id is null then
    perform app.refuse('webhook_not_found', 'There is no such webhook.');
  end if;
  found.brokerage_id := (select k.brokerage_id from public.api_keys k where k.id = found.key_id);
  return found;
end
$function$;

create or replace function app.add_webhook(endpoint uuid, of_key uuid, url text, description text, types text[], secret_id uuid, secret text, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  key public.api_keys;
begin
  perform app.hold_webhook_admins();
  if app.key_id() is not null then
    select k.* into key from public.api_keys k
      where k.id = app.key_id() and app.key_brokerage('webhooks:write') is not null for no key update;
    if key.id is null then
      return false;
    end if;
  else
    key := app.key_to_manage(of_key);
    perform app.check_recent_sign_in();
  end if;
  if not app.is_key_in_force(key.id) then
    perform app.refuse('api_key_ended', 'This API key has ended: choose one that is in force.');
  end if;
  if 20 <= (select count(*) from public.webhook_endpoints e where e.key_id = key.id and e.removed_at is null) then
    perform app.refuse('too_many_webhooks', 'This API key has 20 webhooks: take one out before you add another.');
  end if;
  perform app.check_webhooks_on(key.id);
  insert into public.webhook_endpoints (id, brokerage_id, key_id, url, description, types, created_by, place, history)
    select endpoint, key.brokerage_id, key.id, add_webhook.url, add_webhook.description, add_webhook.types, app.user_id(), s.published, s.history
    from vault.change_stream s;
  insert into vault.webhook_secrets (id, endpoint_id, secret) values (secret_id, endpoint, add_webhook.secret);
  perform app.audit('webhook.create', endpoint::text, 'done', key.brokerage_id, null, address, request_id, jsonb_build_object('key_id', key.id));
  return true;
end
$function$;
