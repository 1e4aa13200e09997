-- compatible: the release before calls the same functions.
--
-- Network addresses stayed in the audit trail where a record does not name the person: in what was done with a key that nobody else was ever shown, and for ever in failed sign-ins.

-- At most so many are cleared, and it says how many were.
create function app.clear_addresses_of_keys(people uuid[], most int) returns int
  language plpgsql set search_path = '' as $$
declare
  key uuid;
  reach timestamptz;
  part int;
  cleared int := 0;
begin
  for key in
    select k.id from public.api_keys k
    where k.created_by = any (people)
      and not exists (select from vault.api_key_digests d where d.key_id = k.id and d.issued_by <> k.created_by)
    order by k.id
  loop
    exit when cleared >= most;
    reach := (select a.at from public.audit_records a where a.key_id = key and a.address is not null order by a.at offset most - cleared - 1 limit 1);
    update public.audit_records a set address = null where a.key_id = key and a.address is not null and a.at <= coalesce(reach, 'infinity');
    get diagnostics part = row_count;
    cleared := cleared + part;
  end loop;
  return cleared;
end
$$;

CREATE OR REPLACE FUNCTION app.clear_addresses()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $$
declare
  erased vault.addresses_to_clear;
  reach timestamptz;
  cleared int;
begin
  select c.* into erased from vault.addresses_to_clear c order by c.user_id limit 1 for update skip locked;
  if not found then
    return 0;
  end if;
  reach := (
    select a.at from public.audit_records a where a.user_id = erased.user_id and a.at <= erased.before order by a.at desc offset 9999 limit 1);
  update public.audit_records a set address = null
    where a.user_id = erased.user_id and a.at <= erased.before and a.at >= coalesce(reach, '-infinity') and a.address is not null;
  get diagnostics cleared = row_count;
  if reach is null and (cleared >= 10000 or app.clear_addresses_of_keys(array[erased.user_id], 10000 - cleared) >= 10000 - cleared) then
    -- Of their own none is left.
    update vault.addresses_to_clear c set before = '-infinity' where c.user_id = erased.user_id;
  elsif reach is null then
    delete from vault.addresses_to_clear c where c.user_id = erased.user_id;
  else
    -- All of that moment are cleared, however many there were.
    update vault.addresses_to_clear c set before = reach - interval '1 microsecond' where c.user_id = erased.user_id;
  end if;
  return 1;
end
$$;

CREATE OR REPLACE FUNCTION app.purge_sign_in()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $$
declare
  part int;
  place uuid;
  reach uuid;
  lately uuid[];
  oldest timestamptz;
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
    lately := array(select u.id from public.users u where u.erased_at > app.now() - interval '1 hour' order by u.erased_at desc limit 10000);
    perform app.clear_traces(lately, app.now() - interval '2 hours');
    perform app.clear_addresses_of_keys(lately, 10000);
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
    select o.ctid from vault.mail_counts o where o.since < app.now() - interval '2 days' order by o.since limit 10000 for update skip locked));
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  -- Of failed sign-ins, and of whatever else nobody is known to have done.
  oldest := (
    select a.at from public.audit_records a where a.user_id is null and a.brokerage_id is null and a.address is not null order by a.at offset 9999 limit 1);
  update public.audit_records a set address = null
    where a.user_id is null and a.brokerage_id is null and a.address is not null and a.at < app.now() - interval '30 days' and a.at <= coalesce(oldest, 'infinity');
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  delete from vault.invitations i where i.ctid = any (array(
    select o.ctid from vault.invitations o where o.expires_at < app.now() - interval '30 days' limit 10000 for update skip locked));
  get diagnostics part = row_count;
  return part;
end
$$;

-- Of people who were erased before.
insert into vault.addresses_to_clear (user_id, before)
  select u.id, '-infinity' from public.users u where u.erased_at is not null and exists (select from public.api_keys k where k.created_by = u.id)
  on conflict do nothing;
