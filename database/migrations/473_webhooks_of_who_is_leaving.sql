-- compatible: functions do the same, and refuse more.
--
-- Whoever added a webhook, sent one elsewhere or renewed its secret while another admin removed them, or while their account was suspended, could leave one that was on and theirs: neither saw
-- what the other had not yet committed. The same went for an API key with a token that they had been shown. Their accounts and memberships are locked now, before keys and webhooks.

-- Who has been shown a token of a key with which it is in force.
create function app.issuers_in_force(key uuid)
returns uuid[]
language plpgsql
stable
set search_path = ''
as $$
begin
  return array(
    select distinct d.issued_by from public.api_keys k
    join vault.api_key_digests d on d.key_id = k.id and (d.valid_until is null or d.valid_until > app.now())
    join public.users u on u.id = d.issued_by and u.suspended_at is null
    join public.members m on m.brokerage_id = k.brokerage_id and m.user_id = d.issued_by and m.status = 'active'
    where k.id = issuers_in_force.key
    order by 1);
end
$$;

-- Before a key and its webhooks are locked. Who leaves meanwhile is waited for, or waits and turns off what becomes theirs here. Which of its tokens a key presented is not known: none of
-- those who were shown one may have left.
create function app.hold_webhook_admins()
returns void
language plpgsql
set search_path = ''
as $$
declare
  issuers constant uuid[] := app.issuers_in_force(app.key_id());
begin
  if app.key_id() is null then
    perform app.hold_session();
    perform from public.members m where m.user_id = app.user_id() and m.role = 'admin' and m.status = 'active' order by m.brokerage_id for share;
    return;
  end if;
  perform from public.users u where u.id = any (issuers) order by u.id for share;
  perform from public.members m
    where m.brokerage_id = (select k.brokerage_id from public.api_keys k where k.id = app.key_id()) and m.user_id = any (issuers) order by m.user_id for share;
  if issuers = '{}' or not issuers <@ app.issuers_in_force(app.key_id()) then
    raise insufficient_privilege using message = 'not a key of an admin of this brokerage';
  end if;
end
$$;

create or replace function app.add_webhook(endpoint uuid, of_key uuid, url text, description text, types text[], secret_id uuid, secret text, address inet, request_id text)
returns boolean
language plpgsql
security definer
set search_path = ''
as $$
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
  if 20 <= (select count(*) from public.webhook_endpoints e where e.key_id = key.id) then
    perform app.refuse('too_many_webhooks', 'This API key has 20 webhooks: take one out before you add another.');
  end if;
  insert into public.webhook_endpoints (id, brokerage_id, key_id, url, description, types, created_by, place, history)
    select endpoint, key.brokerage_id, key.id, add_webhook.url, add_webhook.description, add_webhook.types, app.user_id(), s.published, s.history
    from vault.change_stream s;
  insert into vault.webhook_secrets (id, endpoint_id, secret) values (secret_id, endpoint, add_webhook.secret);
  perform app.audit('webhook.create', endpoint::text, 'done', key.brokerage_id, null, address, request_id, jsonb_build_object('key_id', key.id));
  return true;
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
  perform app.hold_webhook_admins();
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

create or replace function app.rotate_webhook_secret(endpoint uuid, secret_id uuid, secret text, overlap interval, address inet, request_id text)
returns void
language plpgsql
security definer
set search_path = ''
as $$
declare
  this public.webhook_endpoints;
begin
  perform app.hold_webhook_admins();
  this := app.webhook_to_manage(endpoint);
  if app.key_id() is null then
    perform app.check_recent_sign_in();
  end if;
  delete from vault.webhook_secrets s where s.endpoint_id = this.id and (s.ends_at is not null or overlap <= interval '0');
  update vault.webhook_secrets s set ends_at = app.now() + least(overlap, interval '7 days') where s.endpoint_id = this.id;
  insert into vault.webhook_secrets (id, endpoint_id, secret) values (secret_id, this.id, rotate_webhook_secret.secret);
  update public.webhook_endpoints e set created_by = app.user_id() where e.id = this.id and e.created_by is distinct from app.user_id();
  perform app.audit('webhook.rotate_secret', this.id::text, 'done', this.brokerage_id, null, address, request_id, '{}');
end
$$;
