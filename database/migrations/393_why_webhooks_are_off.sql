-- compatible: the release before shows the new reasons as it showed them.
--
-- A webhook that was turned off with the admin or key that it went by says so. `off_reason` stays 'asked' then: the pages of the release before know no other reason. Webhooks that went by
-- an admin who has left, or is suspended, since before the release that turns them off (382) are turned off once.

alter table public.webhook_endpoints
  add column off_because text check (off_because in ('admin_gone', 'key_rotated')),
  add check (off_because is null or state = 'off');
grant select (off_because) on public.webhook_endpoints to dealkeep_server;

create or replace function app.turn_off_webhooks(by_person uuid, in_brokerage uuid, made_with uuid)
returns integer
language plpgsql
set search_path = ''
as $$
declare
  this record;
  turned int := 0;
begin
  -- In the order in which results of deliveries lock them.
  for this in
    select e.id, k.brokerage_id from public.webhook_endpoints e join public.api_keys k on k.id = e.key_id
    where e.state = 'on' and case when made_with is null then e.created_by = by_person and (in_brokerage is null or k.brokerage_id = in_brokerage)
      else e.key_id = made_with and e.created_by is null end
    order by e.id for no key update of e
  loop
    update public.webhook_endpoints e set state = 'off', off_reason = 'asked', off_because = case when made_with is null then 'admin_gone' else 'key_rotated' end,
      off_since = app.now(), updated_at = app.now() where e.id = this.id;
    perform app.audit('webhook.update', this.id::text, 'done', this.brokerage_id, null, null, null, '{"state": "off"}');
    turned := turned + 1;
  end loop;
  return turned;
end
$$;

create or replace function app.change_webhook(endpoint uuid, url text, description text, types text[], state text, address inet, request_id text)
returns void
language plpgsql
security definer
set search_path = ''
as $$
declare
  this public.webhook_endpoints;
begin
  -- The account before the webhook, as whoever sets a new password does.
  if app.key_id() is null then
    perform app.hold_session();
  end if;
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
  if this.state = 'off' and change_webhook.state = 'on' then
    -- Three days from now on, not from when it first failed.
    update public.webhook_deliveries d set first_attempt_at = null, next_attempt_at = case when not exists (
          select from public.webhook_deliveries o where o.endpoint_id = d.endpoint_id and o.object_id = d.object_id and o.state = 'waiting' and o.nr < d.nr)
        then app.now() end
      where d.endpoint_id = this.id and d.state = 'waiting';
    perform pg_notify('dealkeep_mail', '');
  end if;
  perform app.audit('webhook.update', this.id::text, 'done', this.brokerage_id, null, address, request_id,
    jsonb_strip_nulls(jsonb_build_object('state', change_webhook.state)));
end
$$;

with turned as (
  update public.webhook_endpoints e set state = 'off', off_reason = 'asked', off_because = 'admin_gone', off_since = app.now(), updated_at = app.now()
    from public.api_keys k
    where k.id = e.key_id and e.state = 'on' and e.created_by is not null and not exists (
      select from public.members m join public.users u on u.id = m.user_id
      where m.brokerage_id = k.brokerage_id and m.user_id = e.created_by and m.status = 'active' and u.suspended_at is null)
    returning e.id, k.brokerage_id)
insert into public.audit_records (brokerage_id, action, subject_id, outcome, details)
  select t.brokerage_id, 'webhook.update', t.id::text, 'done', '{"state": "off"}' from turned t;
