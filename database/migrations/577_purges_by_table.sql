-- compatible: functions that do the same, less at a time.
--
-- A portion of the one table that has as many, not of each: portions of eight tables could together take longer than a statement may.

CREATE OR REPLACE FUNCTION app.purge_authorization()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  now constant timestamptz := app.now();
  over uuid[];
  part int;
begin
  delete from vault.authorization_codes c where c.digest in (
    select o.digest from vault.authorization_codes o
    where o.expires_at <= now and (o.used_at is null or o.expires_at <= now - interval '1 day')
    order by o.expires_at limit 10000 for update skip locked);
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  delete from vault.access_tokens t where t.digest in (
    select o.digest from vault.access_tokens o where o.expires_at <= now order by o.expires_at limit 10000 for update skip locked);
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  -- What a node was about to forget when it was stopped.
  perform app.forget_answers(60000);
  -- Each by its index.
  over := array(
    (select f.id from vault.token_families f where f.ends_at <= now order by f.ends_at limit 10000)
    union
    (select f.id from vault.token_families f where f.revoked_at <= now - interval '1 day' order by f.revoked_at limit 10000));
  -- Used ones are kept until here, since one that comes again ends its family: there may be many.
  delete from vault.refresh_tokens t where t.ctid = any (array(
    select o.ctid from unnest(over) f (id)
      cross join lateral (select r.ctid from vault.refresh_tokens r where r.family_id = f.id limit 10000) o limit 10000));
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  delete from vault.token_families f
    where f.id = any (over) and (select true from vault.refresh_tokens t where t.family_id = f.id limit 1) is null;
  get diagnostics part = row_count;
  return part;
end
$function$;

CREATE OR REPLACE FUNCTION app.purge_sign_in()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  part int;
  place uuid;
  reach uuid;
begin
  select p.place into place from vault.job_places p where p.job = 'purge_sign_in' for update skip locked;
  if found then
    place := coalesce(place, '00000000-0000-0000-0000-000000000000');
    reach := (select s.id from vault.sessions s where s.id > place order by s.id offset 4999 limit 1);
    delete from vault.sessions s
      where s.id > place and s.id <= coalesce(reach, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
        and (s.ended_at < app.now() - interval '1 day' or s.created_at < app.now() - interval '31 days' or s.last_seen_at < app.now() - interval '2 days');
    update vault.job_places p set place = reach where p.job = 'purge_sign_in';
    -- A request of theirs that was under way while they were erased may have written after it.
    perform app.clear_traces(array(
      select u.id from public.users u where u.erased_at > app.now() - interval '1 hour' order by u.erased_at desc limit 10000),
      app.now() - interval '2 hours');
  end if;
  delete from vault.sign_in_steps s where s.ctid = any (array(
    select o.ctid from vault.sign_in_steps o where o.expires_at <= app.now() limit 10000 for update skip locked));
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  delete from vault.known_devices k where k.ctid = any (array(
    select o.ctid from vault.known_devices o where o.used_at <= app.now() - interval '180 days' order by o.used_at limit 10000 for update skip locked));
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  delete from vault.challenges c where c.ctid = any (array(
    select o.ctid from vault.challenges o where o.expires_at <= app.now() order by o.expires_at limit 10000 for update skip locked));
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  delete from vault.password_resets r where r.ctid = any (array(
    select o.ctid from vault.password_resets o where o.expires_at <= app.now() limit 10000 for update skip locked));
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  delete from vault.address_changes a where a.ctid = any (array(
    select o.ctid from vault.address_changes o where o.expires_at <= app.now() limit 10000 for update skip locked));
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  delete from vault.set_up_links l where l.ctid = any (array(
    select o.ctid from vault.set_up_links o where o.expires_at <= app.now() limit 10000 for update skip locked));
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  delete from vault.mail_counts m where m.ctid = any (array(
    select o.ctid from vault.mail_counts o where o.since < app.now() - interval '2 days' limit 10000 for update skip locked));
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  delete from vault.invitations i where i.ctid = any (array(
    select o.ctid from vault.invitations o where o.expires_at < app.now() - interval '30 days' limit 10000 for update skip locked));
  get diagnostics part = row_count;
  return part;
end
$function$;
