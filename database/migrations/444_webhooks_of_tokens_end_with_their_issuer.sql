-- compatible: functions do the same, and turn more off.
--
-- A webhook that was added with a key ends with whoever was shown one of the key's tokens in force: with an admin who leaves, is suspended, or resets the
-- password of an account that somebody else may have opened. Before, it only paused, while the key had no token in force, and went on to an address of theirs
-- once another admin had rotated the key. Those of keys whose tokens are of nobody but who is gone are turned off once.

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
    where e.state = 'on' and (in_brokerage is null or k.brokerage_id = in_brokerage) and e.id = any (array(
      select own.id from public.webhook_endpoints own where own.created_by = by_person
      union all
      select by_key.id from public.webhook_endpoints by_key where by_key.key_id = made_with and by_key.created_by is null
      union all
      select by_key.id from vault.api_key_digests d join public.webhook_endpoints by_key on by_key.key_id = d.key_id and by_key.created_by is null
        where d.issued_by = by_person and (d.valid_until is null or d.valid_until > app.now())))
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
    -- While their tokens are in force, which webhooks may have been added with. Also those of keys that others were shown.
    webhooks := app.turn_off_webhooks(on_reset.user_id, null, null);
    update vault.api_key_digests d set valid_until = app.now()
      where d.issued_by = on_reset.user_id and (d.valid_until is null or d.valid_until > app.now());
    update public.api_keys k set revoked_at = app.now(), revoked_by = on_reset.user_id
      where k.revoked_at is null
        and exists (select from vault.api_key_digests d where d.key_id = k.id and d.issued_by = on_reset.user_id)
        and not exists (select from vault.api_key_digests d
          where d.key_id = k.id and (d.valid_until is null or d.valid_until > app.now()));
    get diagnostics keys = row_count;
  end if;
  return jsonb_build_object('tool_grants', grants, 'deal_opt_ins', opt_ins, 'clients', clients, 'keys', keys, 'webhooks', webhooks);
end
$$;

with turned as (
  update public.webhook_endpoints e set state = 'off', off_reason = 'asked', off_because = 'admin_gone', off_since = app.now(), updated_at = app.now()
    from public.api_keys k
    where k.id = e.key_id and e.state = 'on' and e.created_by is null and k.revoked_at is null and (k.expires_at is null or k.expires_at > app.now())
      and not exists (
        select from vault.api_key_digests d
        join public.members m on m.brokerage_id = k.brokerage_id and m.user_id = d.issued_by and m.status = 'active'
        join public.users u on u.id = d.issued_by and u.suspended_at is null
        where d.key_id = k.id and (d.valid_until is null or d.valid_until > app.now()))
    returning e.id, k.brokerage_id)
insert into public.audit_records (brokerage_id, action, subject_id, outcome, details)
  select t.brokerage_id, 'webhook.update', t.id::text, 'done', '{"state": "off"}' from turned t;

create index if not exists webhook_endpoints_by_creator on public.webhook_endpoints (created_by) where created_by is not null;
