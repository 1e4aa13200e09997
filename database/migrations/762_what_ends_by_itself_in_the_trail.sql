-- compatible: functions write further records, and keep their parameters and results.
-- What the job ends at its date, and which keys, clients and factors the first reset of a password ends, stood in no
-- brokerage's trail.

CREATE OR REPLACE FUNCTION app.sweep()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  free uuid[];
  due uuid[];
  lapsed int;
  expired uuid[];
begin
  -- What somebody else is about to change is left for the next time.
  free := array(
    select d.id from public.deals d
    where d.id = any (array(
        select x.deal_id from vault.lapsing_exclusivities l join public.exclusivities x on x.id = l.exclusivity_id
        where l.expires_at <= app.now() order by l.expires_at limit 1000))
      and exists (select from public.deal_stages g where g.deal_id = d.id and g.state = 'exclusivity')
    for no key update skip locked);
  due := array(
    select x.id from public.exclusivities x
    where x.id = any (array(
        select l.exclusivity_id from vault.lapsing_exclusivities l where l.expires_at <= app.now() order by l.expires_at limit 1000))
      and x.expires_at <= app.now()
      and (x.deal_id = any (free) or not exists (select from public.deal_stages g where g.deal_id = x.deal_id and g.state = 'exclusivity'))
    for no key update skip locked);
  with ended as (
    update public.exclusivities x set ended_at = x.expires_at
      from public.deal_stages g
      where x.id = any (due) and x.deal_id = any (free) and g.deal_id = x.deal_id and g.state = 'exclusivity' and x.ended_at is null
      returning x.deal_id, x.participant_id)
    -- In the order of deals, of which each record holds a row of vault.deal_activity.
    insert into public.audit_records (brokerage_id, deal_id, action, subject_id, outcome)
      select d.organization_id, e.deal_id, 'exclusivity.lapse', e.participant_id::text, 'done'
      from ended e join public.deals d on d.id = e.deal_id order by e.deal_id;
  get diagnostics lapsed = row_count;
  -- Later in a sale it is kept until a broker releases it, but gives its buyer no more from its date on.
  perform app.queue_event('exclusivity_lapsed', x.deal_id, 'exclusivities', x.id, null, null)
    from public.exclusivities x join public.deal_stages g on g.deal_id = x.deal_id
    where x.id = any (due) and g.state in ('diligence', 'closing') and x.ended_at is null;
  delete from vault.lapsing_exclusivities l where l.exclusivity_id = any (due);
  free := array(
    select d.id from public.deals d
    where d.id = any (array(
        select e.deal_id from public.ndas e where e.status in ('sent', 'active') and e.expires_at <= app.now()
        order by e.expires_at limit 1000))
    for share skip locked);
  with ended as (
    update public.ndas n set status = 'expired'
      where n.id = any (array(
          select e.id from public.ndas e where e.status in ('sent', 'active') and e.expires_at <= app.now() and e.deal_id = any (free)
          order by e.expires_at limit 1000 for no key update skip locked))
        and n.status in ('sent', 'active') and n.expires_at <= app.now()
      returning n.id)
    select array(select e.id from ended e) into expired;
  insert into public.audit_records (brokerage_id, deal_id, action, subject_id, outcome)
    select d.organization_id, n.deal_id, 'nda.expire', n.id::text, 'done'
    from public.ndas n join public.deals d on d.id = n.deal_id where n.id = any (expired) order by n.deal_id;
  perform app.queue_ended_ndas(expired, null);
  return lapsed + cardinality(expired);
end
$function$;

CREATE OR REPLACE FUNCTION app.on_reset(user_id uuid, first_proof boolean)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
      insert into public.audit_records (brokerage_id, user_id, action, subject_id, outcome, details)
        values (app.brokerage_of_grant(on_reset.user_id, client), on_reset.user_id, 'client.delete', client::text, 'done', '{"by": "reset"}');
      clients := clients + 1;
    end loop;
    -- Keys before webhooks and digests, as whoever rotates one locks them.
    perform from public.api_keys k where k.id in (select d.key_id from vault.api_key_digests d where d.issued_by = on_reset.user_id)
      order by k.id for no key update;
    -- While their tokens are in force, which webhooks may have been added with. Also those of keys that others were shown.
    webhooks := app.turn_off_webhooks(on_reset.user_id, null, null);
    update vault.api_key_digests d set valid_until = app.now()
      where d.issued_by = on_reset.user_id and (d.valid_until is null or d.valid_until > app.now());
    with revoked as (
      update public.api_keys k set revoked_at = app.now(), revoked_by = on_reset.user_id
      where k.revoked_at is null
        and exists (select from vault.api_key_digests d where d.key_id = k.id and d.issued_by = on_reset.user_id)
        and not exists (select from vault.api_key_digests d
          where d.key_id = k.id and (d.valid_until is null or d.valid_until > app.now()))
      returning k.id, k.brokerage_id)
    insert into public.audit_records (brokerage_id, user_id, action, subject_id, outcome, details)
      select r.brokerage_id, on_reset.user_id, 'api_key.revoke', r.id::text, 'done', '{"by": "reset"}' from revoked r;
    get diagnostics keys = row_count;
  end if;
  return jsonb_build_object('tool_grants', grants, 'deal_opt_ins', opt_ins, 'clients', clients, 'keys', keys, 'webhooks', webhooks);
end
$function$;

CREATE OR REPLACE FUNCTION app.reset_password(token bytea, new_phc text, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person uuid;
  first_proof boolean;
  factors int := 0;
begin
  -- The account first, as whoever erases it does.
  perform from public.users u
    where u.id = (select r.user_id from vault.password_resets r where r.digest = token) for no key update;
  delete from vault.password_resets r using public.users u
    where r.digest = token and r.expires_at > app.now() and u.id = r.user_id and u.suspended_at is null
    returning r.user_id into person;
  if not found then
    return false;
  end if;
  first_proof := not exists (select from vault.passwords p where p.user_id = person and p.address_proven_at is not null);
  if first_proof then
    factors := (select count(*) from vault.passkeys k where k.user_id = person) + (select count(*) from vault.totp t where t.user_id = person);
    delete from vault.passkeys k where k.user_id = person;
    delete from vault.recovery_codes c where c.user_id = person;
    delete from vault.totp t where t.user_id = person;
  end if;
  insert into vault.passwords (user_id, phc, address_proven_at) values (person, new_phc, app.now())
    on conflict (user_id) do update set phc = excluded.phc, changed_at = app.now(),
      address_proven_at = coalesce(vault.passwords.address_proven_at, excluded.address_proven_at);
  delete from vault.password_resets r where r.user_id = person;
  perform app.end_sessions_of(person);
  perform app.record(person, 'password.reset', 'done', app.on_reset(person, first_proof) || jsonb_build_object('factors', factors), address, request_id);
  perform app.queue_security_mail(person, 'password_reset');
  return true;
end
$function$;
