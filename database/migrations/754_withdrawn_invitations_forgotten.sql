-- compatible: clears what nobody uses any more.
-- An invitation that was withdrawn or declined kept name and address for ever, and so did the account that was made for it; a deleted client of a person kept its name and addresses.

-- Who has nothing but the placeholder that an erasure leaves is not invited again by it: that would be the account of somebody whom nobody knows.
CREATE OR REPLACE FUNCTION app.account_at(address text, known_as text, of_sandbox uuid DEFAULT NULL::uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  found_one public.users;
begin
  if address like '%@erased.invalid' then
    perform app.refuse('address_not_taken', 'No e-mail can be sent to this address.');
  end if;
  loop
    insert into public.users (email, name, sandbox_id, suspended_at)
      values (address, known_as, of_sandbox, case when of_sandbox is not null then app.now() end) on conflict (email) do nothing;
    select u.* into found_one from public.users u where u.email = address for share;
    exit when found;
  end loop;
  if found_one.erased_at is not null then
    perform app.refuse('address_not_taken', 'No e-mail can be sent to this address.');
  end if;
  return found_one.id;
end
$function$;

-- What app.forget_unattached did with accounts that nothing is left of.
create function app.forget_accounts(gone uuid[]) returns void
  language plpgsql security definer set search_path = '' as $$
declare
  clients uuid[];
  of_person text;
begin
  perform app.end_sessions_of(g.id) from unnest(gone) g (id);
  select coalesce(array_agg(c.id), '{}') into clients from public.connected_clients c where c.created_by = any (gone) and c.brokerage_id is null;
  delete from vault.mail_counts m using public.users u
    where u.id = any (gone) and app.counted_of(m.subject) && array[u.id::text, u.email]
      and (m.subject like '% from ' || u.id || '%' or right(m.subject, length(u.email) + 4) = ' to ' || u.email);
  delete from vault.authorization_codes c where c.client_id = any (clients);
  delete from vault.token_families f where f.client_id = any (clients);
  delete from public.tool_grants g where g.user_id = any (gone) or g.client_id = any (clients);
  delete from public.connected_clients c where c.id = any (clients);
  delete from vault.outbox o where o.recipient_id = any (gone);
  delete from vault.events e where e.person_id = any (gone);
  delete from public.audit_records a where a.user_id = any (gone) and a.brokerage_id is null and a.deal_id is null;
  -- Everything that they sign in with, and what is theirs alone: each table of the vault that names its person.
  for of_person in
    select a.attrelid::regclass::text from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
    where c.relnamespace = 'vault'::regnamespace and c.relkind = 'r' and not c.relispartition and a.attname = 'user_id' and not a.attisdropped
    order by c.relname <> 'authorization_codes', c.relname
  loop
    execute format('delete from %s t where t.user_id = any ($1)', of_person) using gone;
  end loop;
  update public.users u set email = 'erased-' || gen_random_uuid() || '@erased.invalid',
      name = 'Former participant ' || upper(substr(replace(gen_random_uuid()::text, '-', ''), 1, 12)),
      erased_at = app.now(), suspended_at = coalesce(u.suspended_at, app.now())
    where u.id = any (gone);
end
$$;

CREATE OR REPLACE FUNCTION app.forget_unattached(people uuid[])
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  gone uuid[];
begin
  -- Whoever is invited somewhere else has the account locked, and is there when it is asked again.
  gone := array(
    select u.id from public.users u
    where u.id = any (people) and u.erased_at is null
      and not exists (select from public.members m where m.user_id = u.id)
      and not exists (select from public.participants p where p.user_id = u.id)
    order by u.id for no key update);
  select coalesce(array_agg(g.id), '{}') into gone from unnest(gone) g (id)
    where not exists (select from public.members m where m.user_id = g.id)
      and not exists (select from public.participants p where p.user_id = g.id);
  if gone = '{}' then
    return 0;
  end if;
  perform app.forget_accounts(gone);
  return cardinality(gone);
end
$function$;

-- Clears up to so many of the members and of the people on deals who were invited, never joined, and whose invitation was withdrawn or declined thirty days ago; and their accounts, if there is nothing
-- else that they have part in and they never signed in. What is under a legal hold stays.
create function app.forget_withdrawn(most int) returns integer
  language plpgsql security definer set search_path = '' as $$
declare
  before constant timestamptz := app.now() - interval '30 days';
  people uuid[];
  gone uuid[];
  cleared uuid[];
  part record;
begin
  lock table vault.legal_holds in row share mode;
  people := array(
    select k.user_id from (
      (select m.user_id from public.members m
        where m.joined_at is null and m.status = 'removed' and m.invited_email not like 'erased-%' and m.updated_at <= before
          and not exists (select from vault.legal_holds h where h.subject_id in (m.user_id, m.brokerage_id))
        order by m.updated_at limit most)
      union
      (select p.user_id from public.participants p
        where p.joined_at is null and p.status = 'removed' and p.invited_email not like 'erased-%' and p.updated_at <= before
          and not exists (select from vault.legal_holds h where h.subject_id in (p.user_id, p.deal_id, p.brokerage_id))
        order by p.updated_at limit most)) k);
  -- Whoever is being invited again has the account locked, and is there when it is asked again.
  people := array(select u.id from public.users u where u.id = any (people) order by u.id for no key update skip locked);
  if people = '{}' then
    return 0;
  end if;
  update public.members m set invited_name = 'Former participant', invited_email = 'erased-' || gen_random_uuid() || '@erased.invalid'
    where m.user_id = any (people) and m.joined_at is null and m.status = 'removed' and m.invited_email not like 'erased-%' and m.updated_at <= before
      and not exists (select from vault.legal_holds h where h.subject_id in (m.user_id, m.brokerage_id));
  cleared := array(
    select p.id from public.participants p
    where p.user_id = any (people) and p.joined_at is null and p.status = 'removed' and p.invited_email not like 'erased-%' and p.updated_at <= before
      and not exists (select from vault.legal_holds h where h.subject_id in (p.user_id, p.deal_id, p.brokerage_id))
    order by p.id for no key update);
  -- Names that declined invitations were for, in the trail: the declined ones of a brokerage, by their index, from the first invitation of these until the last was over.
  for part in
    select p.brokerage_id, array_agg(p.id::text) as ids, min(p.created_at) as first_at, max(p.updated_at) as last_at
    from public.participants p where p.id = any (cleared) group by p.brokerage_id order by p.brokerage_id
  loop
    update public.audit_records a set details = a.details || '{"name": "Former participant"}'
      where a.brokerage_id = part.brokerage_id and a.action collate "C" = 'invitation.decline' and a.action not like 'tool:%'
        and a.at between part.first_at and part.last_at + interval '1 minute' and a.subject_id = any (part.ids) and a.details ? 'name';
  end loop;
  update public.participants p set invited_name = 'Former participant', invited_email = 'erased-' || gen_random_uuid() || '@erased.invalid'
    where p.id = any (cleared);
  perform app.clear_answers_about(cleared || array(select n.id from public.ndas n where n.participant_id = any (cleared)));
  gone := array(select u.id from public.users u
    where u.id = any (people) and u.erased_at is null and u.sandbox_id is null
      and not exists (select from vault.passwords w where w.user_id = u.id)
      and not exists (select from vault.passkeys k where k.user_id = u.id)
      and not exists (select from public.members m where m.user_id = u.id
        and (m.joined_at is not null or m.status <> 'removed' or m.invited_email not like 'erased-%'))
      and not exists (select from public.participants p where p.user_id = u.id
        and (p.joined_at is not null or p.status <> 'removed' or p.invited_email not like 'erased-%')));
  if gone <> '{}' then
    perform app.forget_accounts(gone);
  end if;
  return cardinality(people);
end
$$;

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
  -- A client that somebody deleted has nothing left to do: what they called it and where it ran goes a month later. One by its document has only what the document says.
  update public.connected_clients c set name = 'Deleted client', redirect_uris = '{}' where c.id = any (array(
    select o.id from public.connected_clients o
    where o.deleted_at is not null and o.brokerage_id is null and o.metadata_url is null and o.redirect_uris <> '{}' and o.deleted_at <= now - interval '30 days'
    order by o.deleted_at limit 10000 for update skip locked));
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
  perform app.forget_withdrawn(1000);
  return part;
end
$function$;
