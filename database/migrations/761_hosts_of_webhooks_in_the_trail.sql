-- compatible: the records of webhooks say more; functions keep their parameters and results.
-- Who redirects a webhook and puts it back would leave nothing that says where it pointed.

-- The host and port of a URL, which is configuration; its path and query may hold what only the receiver should know.
create function app.host_of(url text) returns text language sql immutable set search_path to '' as $$
  select substring(url from '^[a-z]+://(?:[^/?#@]*@)?([^/?#]*)')
$$;

CREATE OR REPLACE FUNCTION app.change_webhook(endpoint uuid, url text, description text, types text[], state text, address inet, request_id text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  now constant timestamptz := app.now();
  this public.webhook_endpoints;
begin
  perform app.hold_webhook_admins();
  this := app.webhook_to_manage(endpoint);
  if app.key_id() is null and change_webhook.url <> this.url then
    perform app.check_recent_sign_in();
  end if;
  if this.state = 'off' and change_webhook.state = 'on' then
    perform app.check_webhooks_on(this.key_id);
  end if;
  update public.webhook_endpoints e set url = coalesce(change_webhook.url, e.url),
      description = case when change_webhook.description is null then e.description else nullif(change_webhook.description, '') end,
      types = case when change_webhook.types is null then e.types when change_webhook.types = '{}' then null else change_webhook.types end,
      state = coalesce(change_webhook.state, e.state),
      off_reason = case coalesce(change_webhook.state, e.state) when 'off' then coalesce(e.off_reason, 'asked') end,
      off_because = case coalesce(change_webhook.state, e.state) when 'off' then e.off_because end,
      off_since = case coalesce(change_webhook.state, e.state) when 'off' then coalesce(e.off_since, now) end,
      created_by = case when change_webhook.url <> e.url or (e.state = 'off' and change_webhook.state = 'on') then app.user_id() else e.created_by end,
      failures = 0, rests_until = null, updated_at = now,
      -- Whoever has claimed it sets when something is due as they are done.
      send_at = case when e.claimed_until > now then e.send_at else now end,
      queue_at = case when e.state = 'off' then now else e.queue_at end
    where e.id = this.id;
  if (this.state = 'off' and change_webhook.state = 'on') or change_webhook.url <> this.url then
    -- Three days from now on, not from when it first failed.
    update public.webhook_deliveries d set first_attempt_at = null, attempts_before = d.attempts, next_attempt_at = case when not exists (
          select from public.webhook_deliveries o where o.endpoint_id = d.endpoint_id and o.object_id = d.object_id and o.state = 'waiting' and o.nr < d.nr)
        then now end
      where d.endpoint_id = this.id and d.state = 'waiting';
    perform pg_notify('dealkeep_mail', '');
  end if;
  perform app.audit('webhook.update', this.id::text, 'done', this.brokerage_id, null, address, request_id,
    jsonb_strip_nulls(jsonb_build_object('state', change_webhook.state, 'changed', nullif(to_jsonb(array_remove(array[
        case when change_webhook.url <> this.url then 'url' end,
        case when nullif(coalesce(change_webhook.description, this.description), '') is distinct from this.description then 'description' end,
        case when change_webhook.types is not null and nullif(change_webhook.types, '{}') is distinct from this.types then 'types' end], null)), '[]'))
      || case when change_webhook.url <> this.url then jsonb_build_object('host_before', app.host_of(this.url), 'host', app.host_of(change_webhook.url)) else '{}' end));
end
$function$;

CREATE OR REPLACE FUNCTION app.add_webhook(endpoint uuid, of_key uuid, url text, description text, types text[], secret_id uuid, secret text, address inet, request_id text)
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
    perform app.refuse('too_many_webhooks', 'This API key has 20 webhooks: remove one before you add another.');
  end if;
  perform app.check_webhooks_on(key.id);
  insert into public.webhook_endpoints (id, brokerage_id, key_id, url, description, types, created_by, place, history)
    select endpoint, key.brokerage_id, key.id, add_webhook.url, add_webhook.description, add_webhook.types, app.user_id(), s.published, s.history
    from vault.change_stream s;
  insert into vault.webhook_secrets (id, endpoint_id, secret) values (secret_id, endpoint, add_webhook.secret);
  perform app.audit('webhook.create', endpoint::text, 'done', key.brokerage_id, null, address, request_id, jsonb_build_object('key_id', key.id, 'host', app.host_of(url)));
  return true;
end
$function$;
