-- compatible: turns webhooks off that it left on, as an admin may at any time.
--
-- A webhook ends as keys do with whoever may send elsewhere by it: it is turned off when the admin who added it leaves the brokerage, is suspended or turns out not to have been
-- the owner of the mailbox, and, where it was added with a key, when the tokens of that key are stopped at once. Whoever gives it an address or a secret, or turns it on, is from
-- then on who it goes by. Turned on again, it continues where it stopped. Webhooks that are on already are left as they are.

create function app.turn_off_webhooks(by_person uuid, in_brokerage uuid, made_with uuid)
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
    update public.webhook_endpoints e set state = 'off', off_reason = 'asked', off_since = app.now(), updated_at = app.now() where e.id = this.id;
    perform app.audit('webhook.update', this.id::text, 'done', this.brokerage_id, null, null, null, '{"state": "off"}');
    turned := turned + 1;
  end loop;
  return turned;
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
  if app.key_id() is not null then
    select k.* into key from public.api_keys k
      where k.id = app.key_id() and app.key_brokerage('webhooks:write') is not null for no key update;
    if key.id is null then
      return false;
    end if;
  else
    perform app.hold_session();
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
  -- The account before the webhook, as whoever sets a new password does.
  if app.key_id() is null then
    perform app.hold_session();
  end if;
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

create or replace function app.rotate_api_key(key_id uuid, overlap interval, digest bytea, last_four text, address inet, request_id text)
returns void
language plpgsql
security definer
set search_path = ''
as $$
declare
  key public.api_keys;
  now constant timestamptz := app.now();
  turned_off int := 0;
begin
  perform app.hold_session();
  key := app.key_to_manage(key_id);
  if key.revoked_at is not null or key.expires_at <= now then
    perform app.refuse('api_key_ended', 'This key is revoked or expired: create a new one instead.');
  end if;
  if overlap is null or overlap < interval '0' or overlap > interval '30 days' then
    perform app.refuse('overlap_not_allowed', 'The old token may go on working for 0 to 30 days.');
  end if;
  update vault.api_key_digests d set valid_until = least(d.valid_until, now + overlap) where d.key_id = key.id;
  insert into vault.api_key_digests (digest, key_id, issued_by)
  values (rotate_api_key.digest, key.id, app.user_id());
  update public.api_keys k set rotated_at = now, previous_last_four = k.last_four, previous_valid_until = now + overlap,
    last_four = rotate_api_key.last_four where k.id = key.id;
  -- A token that has to stop at once may be in other hands, and what was added with it would go on sending there.
  if overlap = interval '0' then
    turned_off := app.turn_off_webhooks(null, null, key.id);
  end if;
  perform app.audit('api_key.rotate', key.id::text, 'done', key.brokerage_id, null, address, request_id,
    jsonb_build_object('previous_valid_until', now + overlap) || case when turned_off > 0 then jsonb_build_object('webhooks', turned_off) else '{}' end);
end
$$;

create or replace function app.end_parts_of_member()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
declare
  leaves constant boolean := new.status <> 'active';
  client uuid;
  left_deal record;
begin
  if old.role = 'admin' then
    perform from public.brokerages b where b.id = new.brokerage_id for no key update;
  end if;
  perform app.lock_parts(new.user_id, new.brokerage_id);
  for left_deal in
    update public.participants p set status = 'removed'
      from public.deals d
      where d.organization_id = new.brokerage_id and p.deal_id = d.id and p.user_id = new.user_id and p.status <> 'removed'
        and ((leaves and p.role in ('broker', 'advisor', 'viewer')) or (new.role = 'staff' and p.role = 'broker'))
      returning p.id, p.deal_id
  loop
    perform app.audit('participant.remove', left_deal.id::text, 'done', null, left_deal.deal_id, null, null, '{}');
  end loop;
  if leaves then
    for client in select c.id from public.connected_clients c where c.brokerage_id = new.brokerage_id loop
      perform app.revoke_families(new.user_id, client);
      delete from public.tool_grants g where g.user_id = new.user_id and g.client_id = client;
    end loop;
    perform app.turn_off_webhooks(new.user_id, new.brokerage_id, null);
  end if;
  delete from public.deal_opt_ins o using public.deals d
    where d.id = o.deal_id and d.organization_id = new.brokerage_id and o.user_id = new.user_id
      and not exists (select from public.participants p
        where p.deal_id = d.id and p.user_id = new.user_id and p.status = 'active');
  return null;
end
$$;

create or replace function app.on_suspension()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  if new.suspended_at is not null then
    perform app.end_sessions_of(new.id);
    perform app.turn_off_webhooks(new.id, null, null);
  end if;
  if new.erased_at is null then
    perform app.record(new.id, case when new.suspended_at is null then 'user.restore' else 'user.suspend' end, 'done',
      '{"by": "operator"}', null, null);
  end if;
  return null;
end
$$;

create or replace function app.on_reset(user_id uuid, first_proof boolean)
returns jsonb
language plpgsql
security definer
set search_path = ''
as $$
declare
  client uuid;
  clients int := 0;
  grants int;
  opt_ins int;
  keys int := 0;
  webhooks int := 0;
begin
  delete from public.tool_grants g where g.user_id = on_reset.user_id;
  get diagnostics grants = row_count;
  delete from public.deal_opt_ins o where o.user_id = on_reset.user_id;
  get diagnostics opt_ins = row_count;
  if first_proof then
    for client in
      update public.connected_clients c set deleted_at = app.now()
        where c.created_by = on_reset.user_id and c.deleted_at is null returning c.id
    loop
      perform app.end_grants_of_client(client, null);
      clients := clients + 1;
    end loop;
    update vault.api_key_digests d set valid_until = app.now()
      where d.issued_by = on_reset.user_id and (d.valid_until is null or d.valid_until > app.now());
    update public.api_keys k set revoked_at = app.now(), revoked_by = on_reset.user_id
      where k.revoked_at is null
        and exists (select from vault.api_key_digests d where d.key_id = k.id and d.issued_by = on_reset.user_id)
        and not exists (select from vault.api_key_digests d
          where d.key_id = k.id and (d.valid_until is null or d.valid_until > app.now()));
    get diagnostics keys = row_count;
    -- Also those of keys that others were shown.
    webhooks := app.turn_off_webhooks(on_reset.user_id, null, null);
  end if;
  return jsonb_build_object('tool_grants', grants, 'deal_opt_ins', opt_ins, 'clients', clients, 'keys', keys, 'webhooks', webhooks);
end
$$;
