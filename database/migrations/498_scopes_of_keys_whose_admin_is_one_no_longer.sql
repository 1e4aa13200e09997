-- compatible: what servers call is named, called and answered as before; keys whose issuer is an admin no longer answer as keys without the scope.
--
-- What a key may do is what its scopes say and what whoever was shown its token may still do. An admin who became a broker or staff read with it
-- every deal that is open to keys. Such a key keeps what every member may do: contacts, and their events. Its webhooks send no more than
-- that, and webhooks that the person set up for other keys are turned off, as when they leave.

create function app.member_scopes() returns text[]
  language sql immutable parallel safe
  return '{contacts:read,contacts:write,events:read}'::text[];

create function app.scopes_of(scopes text[], role text) returns text[]
  language sql immutable parallel safe
  return case when role = 'admin' then scopes else array(select s from unnest(scopes) s where s = any (app.member_scopes())) end;

-- Null: the key is not in force.
create function app.scopes_in_force(key uuid) returns text[]
  language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan
as $function$
begin
  return (
    select app.scopes_of(k.scopes, case when bool_or(m.role = 'admin') then 'admin' end) from public.api_keys k
    join vault.api_key_digests d on d.key_id = k.id
    join public.users u on u.id = d.issued_by
    join public.members m on m.brokerage_id = k.brokerage_id and m.user_id = d.issued_by
    join public.brokerages b on b.id = k.brokerage_id
    where k.id = key and k.revoked_at is null and (k.expires_at is null or k.expires_at > app.now())
      and (d.valid_until is null or d.valid_until > app.now()) and u.suspended_at is null and m.status = 'active'
      and (not b.requires_second_factor or app.has_second_factor(d.issued_by))
    group by k.id);
end
$function$;

CREATE OR REPLACE FUNCTION app.is_key_in_force(key uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
begin
  return app.scopes_in_force(key) is not null;
end
$function$;

CREATE OR REPLACE FUNCTION app.issuers_in_force(key uuid)
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return array(
    select distinct d.issued_by from public.api_keys k
    join vault.api_key_digests d on d.key_id = k.id and (d.valid_until is null or d.valid_until > app.now())
    join public.users u on u.id = d.issued_by and u.suspended_at is null
    join public.members m on m.brokerage_id = k.brokerage_id and m.user_id = d.issued_by and m.status = 'active' and m.role = 'admin'
    where k.id = issuers_in_force.key
    order by 1);
end
$function$;

CREATE OR REPLACE FUNCTION vault.key_in_force(presented bytea)
 RETURNS TABLE(key_id uuid, brokerage_id uuid, is_test boolean, scopes text[], ceiling integer)
 LANGUAGE sql
 STABLE
AS $function$
  -- Without its sandbox a test key works on nothing.
  select k.id, case k.environment when 'test' then (select s.id from public.brokerages s where s.sandbox_of = k.brokerage_id) else k.brokerage_id end,
    k.environment = 'test', app.scopes_of(k.scopes, m.role), k.ceiling
  from (select g.key_id, g.issued_by from vault.api_key_digests g
    where g.digest = presented and (g.valid_until is null or g.valid_until > app.now()) offset 0) d
  cross join lateral (select g.id, g.brokerage_id, g.environment, g.scopes, g.ceiling from public.api_keys g
    where g.id = d.key_id and g.revoked_at is null and (g.expires_at is null or g.expires_at > app.now()) offset 0) k
  cross join lateral (select from public.users g where g.id = d.issued_by and g.suspended_at is null offset 0) u
  cross join lateral (select g.role from public.members g
    where g.brokerage_id = k.brokerage_id and g.user_id = d.issued_by and g.status = 'active' offset 0) m
  cross join lateral (select from public.brokerages g where g.id = k.brokerage_id
    and (not g.requires_second_factor or app.has_second_factor(d.issued_by)) offset 0) b
$function$;

CREATE OR REPLACE FUNCTION app.calling_key()
 RETURNS TABLE(id uuid, name text, environment text, last_four text, scopes text[], ceiling integer, expires_at timestamp with time zone, brokerage_id uuid, brokerage_name text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
BEGIN ATOMIC
 SELECT k.id,
     k.name,
     k.environment,
     k.last_four,
     COALESCE(string_to_array(app.identity_part(5), ' '::text), '{}'::text[]),
     k.ceiling,
     k.expires_at,
     b.id,
         CASE k.environment
             WHEN 'test'::text THEN (of_key.name || ' (sandbox)'::text)
             ELSE b.name
         END AS name
    FROM ((public.api_keys k
      JOIN public.brokerages of_key ON ((of_key.id = k.brokerage_id)))
      JOIN public.brokerages b ON ((b.id = (app.identity_part(4))::uuid)))
   WHERE (k.id = app.key_id());
END;

CREATE OR REPLACE FUNCTION app.enter_for_deliveries(endpoint uuid, by_claim uuid, by_url text, by_secrets uuid[])
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  key public.api_keys;
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Webhooks are delivered by the worker.');
  end if;
  select k.* into key from public.webhook_endpoints e join public.api_keys k on k.id = e.key_id
    where e.id = endpoint and e.claim = by_claim and e.claimed_until > app.now() and e.state = 'on' and e.url = by_url
      and by_secrets = array(select s.id from vault.webhook_secrets s
        where s.endpoint_id = e.id and (s.ends_at is null or s.ends_at > app.now()) order by s.created_at desc, s.id)
      and app.is_key_in_force(k.id);
  if key.id is null then
    return false;
  end if;
  perform app.enter(null, null, key.id, key.brokerage_id, app.scopes_in_force(key.id));
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION app.enter_for_next_webhook(OUT endpoint uuid, OUT place bigint, OUT types text[])
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  stream vault.change_stream;
  this public.webhook_endpoints;
  key public.api_keys;
  behind uuid[];
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Webhooks are delivered by the worker.');
  end if;
  select s.* into stream from vault.change_stream s;
  -- After a restore, numbers begin anew where the backup was made.
  update public.webhook_endpoints e set place = least(e.place, stream.published), history = stream.history where e.history <> stream.history;
  behind := array(select e.id from public.webhook_endpoints e
    where e.state = 'on' and e.place < stream.published
      and exists (select from public.change_events c where c.brokerage_id = e.brokerage_id and c.seq > e.place and c.seq <= stream.published)
      and app.is_key_in_force(e.key_id) and 10000 > (select count(*) from (select from public.webhook_deliveries d where d.endpoint_id = e.id and d.state = 'waiting' limit 10000) w)
    order by e.place);
  select e.* into this from public.webhook_endpoints e
    where e.id = any (behind) and e.state = 'on' and e.place < stream.published order by e.place limit 1 for no key update skip locked;
  if this.id is null then
    -- Somebody takes or notes deliveries of each that is left, or writes them: for a moment.
    select e.* into this from public.webhook_endpoints e where e.id = behind[1] and e.state = 'on' and e.place < stream.published for no key update;
  end if;
  if this.id is null then
    return;
  end if;
  select k.* into key from public.api_keys k where k.id = this.key_id;
  perform app.enter(null, null, key.id, key.brokerage_id, app.scopes_in_force(key.id));
  endpoint := this.id;
  place := this.place;
  types := this.types;
end
$function$;

CREATE OR REPLACE FUNCTION app.keys_for_deal(deal uuid)
 RETURNS TABLE(id uuid, name text, environment text, scopes text[], created_by uuid, created_at timestamp with time zone, expires_at timestamp with time zone, last_used_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  run constant uuid[] := app.deals_acting_as('broker');
  administered constant uuid[] := app.brokerages_as('admin');
begin
  return query
    select k.id, k.name, k.environment, reaching.scopes, k.created_by, k.created_at, k.expires_at, k.last_used_at
    from public.deals d
    join public.api_keys k on k.brokerage_id = d.organization_id
    cross join lateral (select array(select s from unnest(app.scopes_in_force(k.id)) s where s = any (app.deal_scopes())) as scopes) reaching
    where d.id = deal and (d.id = any (run) or d.organization_id = any (administered)) and k.environment = 'live'
      and k.revoked_at is null and (k.expires_at is null or k.expires_at > app.now()) and reaching.scopes <> '{}'
    order by k.created_at desc, k.id desc
    limit 100;
end
$function$;

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
  end if;
  if leaves or old.role = 'admin' then
    perform app.turn_off_webhooks(new.user_id, new.brokerage_id, null);
  end if;
  delete from public.deal_opt_ins o using public.deals d
    where d.id = o.deal_id and d.organization_id = new.brokerage_id and o.user_id = new.user_id
      and not exists (select from public.participants p
        where p.deal_id = d.id and p.user_id = new.user_id and p.status = 'active');
  return null;
end
$function$;

do $do$
declare
  this record;
begin
  for this in select m.brokerage_id, m.user_id from public.members m where m.role <> 'admin' order by m.brokerage_id, m.user_id loop
    perform app.turn_off_webhooks(this.user_id, this.brokerage_id, null);
  end loop;
end
$do$;
