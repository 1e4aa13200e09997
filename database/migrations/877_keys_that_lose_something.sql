-- compatible: nodes of the release before call the same functions.
--
-- Admins are told of keys and webhooks where they lose something, whoever ends a membership and however: also an erasure, which records no removal.

CREATE OR REPLACE FUNCTION app.end_parts_of_member()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  leaves constant boolean := new.status <> 'active';
  client uuid;
  left_deal record;
  invited uuid;
begin
  if old.role = 'admin' then
    perform from public.brokerages b where b.id = new.brokerage_id for no key update;
  end if;
  -- Who is in the brokerage is up to its admins, and who is on its deals to its admins and brokers: what they began and nobody answered ends with that.
  if leaves or old.role = 'admin' then
    perform from public.members m
      where m.brokerage_id = new.brokerage_id and m.user_id = any (array(select app.member_invitations_made(new.user_id, new.brokerage_id)))
      order by m.user_id for update;
    for invited in
      update public.members m set status = 'removed'
        where m.brokerage_id = new.brokerage_id and m.user_id = any (array(select app.member_invitations_made(new.user_id, new.brokerage_id)))
          and m.status = 'invited'
        returning m.person_id
    loop
      perform app.audit('member.remove', invited::text, 'done', new.brokerage_id, null, null, null, '{"withdrawn": true}');
    end loop;
  end if;
  perform app.lock_parts(new.user_id, new.brokerage_id);
  for left_deal in
    update public.participants p set status = 'removed'
      from public.deals d
      where d.organization_id = new.brokerage_id and p.deal_id = d.id and p.user_id = new.user_id and p.status <> 'removed'
        and ((leaves and p.role in ('broker', 'advisor', 'viewer')) or (new.role = 'staff' and p.role = 'broker'))
      returning p.id, p.deal_id
  loop
    perform app.audit('participant.remove', left_deal.id::text, 'done', null, left_deal.deal_id, null, null,
      case when new.user_id = app.user_id() then '{"left": true}'::jsonb else '{}' end);
  end loop;
  if leaves or new.role = 'staff' then
    for left_deal in
      update public.participants p set status = 'removed'
        where p.id = any (array(select app.deal_invitations_made(new.user_id, new.brokerage_id))) and p.status = 'invited'
        returning p.id, p.deal_id
    loop
      perform app.audit('participant.remove', left_deal.id::text, 'done', null, left_deal.deal_id, null, null, '{"withdrawn": true}');
    end loop;
  end if;
  if leaves then
    for client in select c.id from public.connected_clients c where c.brokerage_id = new.brokerage_id loop
      perform app.revoke_families(new.user_id, client);
      delete from public.tool_grants g where g.user_id = new.user_id and g.client_id = client;
    end loop;
    -- Keys before webhooks and digests, as whoever rotates one locks them.
    perform from public.api_keys k
      where k.brokerage_id = new.brokerage_id and k.id in (select d.key_id from vault.api_key_digests d where d.issued_by = new.user_id)
      order by k.id for no key update;
  end if;
  -- Before they end below.
  perform app.queue_event('api_key_stopped', null, 'api_keys', k.id, null, null)
    from app.keys_held_by(new.user_id, new.brokerage_id) k
    where app.scopes_of(k.scopes, old.role) <> case when leaves then '{}' else app.scopes_of(k.scopes, new.role) end
      and not exists (select from public.users u where u.id = new.user_id and u.suspended_at is not null);
  if leaves or old.role = 'admin' then
    perform app.turn_off_webhooks(new.user_id, new.brokerage_id, null);
  end if;
  if leaves then
    -- After the webhooks that may have been added with them. Whoever comes back is not given them again.
    update vault.api_key_digests d set valid_until = app.now()
      from public.api_keys k
      where d.issued_by = new.user_id and (d.valid_until is null or d.valid_until > app.now()) and k.id = d.key_id and k.brokerage_id = new.brokerage_id;
    update public.api_keys k set previous_last_four = null, previous_valid_until = null
      where k.brokerage_id = new.brokerage_id and k.previous_valid_until > app.now()
        and exists (select from vault.api_key_digests d where d.key_id = k.id and d.issued_by = new.user_id)
        and not exists (select from vault.api_key_digests d where d.key_id = k.id and d.valid_until > app.now());
  end if;
  delete from public.deal_opt_ins o using public.deals d
    where d.id = o.deal_id and d.organization_id = new.brokerage_id and o.user_id = new.user_id
      and not exists (select from public.participants p
        where p.deal_id = d.id and p.user_id = new.user_id and p.status = 'active');
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.turn_off_webhooks(by_person uuid, in_brokerage uuid, made_with uuid)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  this record;
  turned int := 0;
begin
  -- In the order in which results of deliveries lock them.
  for this in
    select e.id, e.key_id, k.brokerage_id from public.webhook_endpoints e join public.api_keys k on k.id = e.key_id
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
    if made_with is null then
      perform app.queue_event('webhook_stopped', null, 'api_keys', this.key_id, null, null);
    end if;
    turned := turned + 1;
  end loop;
  return turned;
end
$function$;

CREATE OR REPLACE FUNCTION app.on_suspension()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if new.suspended_at is not null then
    perform app.end_sessions_of(new.id);
    perform app.queue_event('api_key_stopped', null, 'api_keys', k.id, null, null) from app.keys_held_by(new.id, null) k;
    perform app.turn_off_webhooks(new.id, null, null);
  end if;
  if new.erased_at is null then
    perform app.record(new.id, case when new.suspended_at is null then 'user.restore' else 'user.suspend' end, 'done',
      '{"by": "operator"}', null, null);
  end if;
  return null;
end
$function$;
