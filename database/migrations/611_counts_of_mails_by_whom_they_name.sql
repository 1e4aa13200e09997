-- compatible: a function and indexes (612) more; the other functions do what they did.
--
-- Counts of mails name senders, brokerages and addresses within their subjects, and whoever was deleted was looked for in all of them: once for each person where a brokerage is deleted, which with a hundred thousand
-- counts took longer than a statement may, so that the deletion never ended. They are found by whom they name.

-- Whom a count names, to be looked up: the sender or the brokerage, and the address with its domain, by which all addresses of a sandbox are found.
CREATE FUNCTION app.counted_of(subject text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN array_remove(array[
  substr(subject, nullif(strpos(subject, ' from '), 0) + 6, 36),
  substr(subject, nullif(strpos(subject, ' for '), 0) + 5, 36),
  substr(subject, nullif(strpos(subject, ' to '), 0) + 4),
  substring(subject from '@([^@]*)$')], null);

CREATE OR REPLACE FUNCTION app.forget_unattached(people uuid[])
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  gone uuid[];
  clients uuid[];
  of_person text;
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
  return cardinality(gone);
end
$function$;

CREATE OR REPLACE FUNCTION app.delete_brokerage_part(of_brokerage uuid, most integer)
 RETURNS TABLE(brokerage uuid, name text, finished boolean)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  this vault.brokerage_deletions;
  chosen uuid[];
  people uuid[];
  part record;
  bodies text[];
  counted int;
  room int := most;
  parent uuid;
begin
  select d.* into this from vault.brokerage_deletions d
    where d.brokerage_id = of_brokerage and d.due_at <= app.now() and not exists (select from app.hold_on_brokerage(d.brokerage_id))
    for update skip locked;
  if not found then
    return;
  end if;
  brokerage := this.brokerage_id;
  finished := false;
  select b.name into name from public.brokerages b where b.id = brokerage;
  -- Nobody is told of each row: app.announce.
  perform set_config('dealkeep.deleting', 'on', true);

  -- First nobody gets in any more, as a member or by a key, so that nothing is added.
  if this.begun_at is null then
    select coalesce(array_agg(m.user_id), '{}') into people from public.members m where m.brokerage_id = brokerage;
    perform from public.users u where u.id = any (people) order by u.id for no key update;
    update vault.brokerage_deletions d set begun_at = app.now(), asked_by = null where d.brokerage_id = brokerage;
    update public.api_keys k set revoked_at = app.now() where k.brokerage_id = brokerage and k.revoked_at is null;
    delete from public.members m where m.brokerage_id = brokerage;
    insert into vault.brokerage_deletions (brokerage_id, due_at) select s.id, app.now() from public.brokerages s where s.sandbox_of = brokerage;
    counted := app.forget_unattached(people);
    update vault.brokerage_deletions d set people = d.people + counted where d.brokerage_id = brokerage;
    return next;
    return;
  end if;

  -- Then its deals, the first twenty at once, and when there are none any more what the brokerage itself has.
  select coalesce(array_agg(d.id), '{}') into chosen
    from (select l.id from public.deals l where l.organization_id = brokerage order by l.id limit 20) d;
  select coalesce(array_agg(distinct p.user_id), '{}') into people from public.participants p join public.users u on u.id = p.user_id and u.sandbox_id is null
    where p.deal_id = any (chosen);
  perform from public.users u where u.id = any (people) order by u.id for no key update;
  for part in
    select r.name, r.condition,
      exists (select from pg_catalog.pg_attribute a where a.attrelid = r.name::regclass and a.attname = 'storage_key') as has_bodies,
      exists (select from pg_catalog.pg_constraint k where k.conrelid = r.name::regclass and k.confrelid = k.conrelid) as refers_to_itself
    from app.rows_of_brokerage('any ($2)', true) r where r.name <> 'public.brokerages'
  loop
    if part.has_bodies then
      -- The bodies are cleared out of the store like those of uploads that failed.
      execute format('with gone as (delete from %1$s t where t.ctid = any (array(select t.ctid from %1$s t where %2$s limit $3))
          returning t.storage_key, t.body_cleared_at)
        select coalesce(array_agg(g.storage_key) filter (where g.body_cleared_at is null), ''{}''), count(*) from gone g', part.name, part.condition)
        into bodies, counted using case when chosen = '{}' then brokerage end, chosen, room;
      insert into vault.uploads (storage_key, begun_at) select b.key, app.now() - interval '3 days' from unnest(bodies) b (key)
        on conflict (storage_key) do update set begun_at = excluded.begun_at;
      update vault.brokerage_deletions d set documents = d.documents + counted where d.brokerage_id = brokerage;
    else
      execute format('delete from %1$s t where t.ctid = any (array(select t.ctid from %1$s t where %2$s limit $3))', part.name, part.condition)
        using case when chosen = '{}' then brokerage end, chosen, case when not part.refers_to_itself then room end;
      get diagnostics counted = row_count;
    end if;
    room := room - counted;
    exit when room <= 0;
  end loop;
  if room > 0 and chosen <> '{}' then
    delete from public.deals l where l.id = any (chosen);
    get diagnostics counted = row_count;
    update vault.brokerage_deletions d set deals = d.deals + counted where d.brokerage_id = brokerage;
  end if;
  if room <= 0 or chosen <> '{}' then
    counted := app.forget_unattached(people);
    update vault.brokerage_deletions d set people = d.people + counted where d.brokerage_id = brokerage;
    return next;
    return;
  end if;

  -- Webhooks of test keys are the sandbox's, while their keys are its brokerage's.
  delete from public.webhook_deliveries w where w.ctid = any (array(
    select d.ctid from public.webhook_deliveries d join public.webhook_endpoints e on e.id = d.endpoint_id where e.brokerage_id = brokerage limit room));
  get diagnostics counted = row_count;
  if counted >= room then
    return next;
    return;
  end if;
  delete from public.webhook_endpoints e where e.brokerage_id = brokerage;

  delete from vault.mail_counts m
    where app.counted_of(m.subject) @> array[brokerage::text] and (m.subject like '% for ' || brokerage or m.subject like '% from ' || brokerage || ' to %');
  delete from vault.brokerage_deletions d where d.brokerage_id = brokerage returning d.* into this;
  delete from public.users u where u.sandbox_id = brokerage;
  delete from public.brokerages b where b.id = brokerage returning b.sandbox_of into parent;
  if parent is not null then
    return next;
    return;
  end if;
  insert into public.audit_records (action, subject_id, outcome, details) values ('brokerage.delete', brokerage::text, 'done',
    jsonb_build_object('deals', this.deals, 'documents', this.documents, 'people', this.people, 'asked_at', this.asked_at));
  finished := true;
  return next;
end
$function$;

CREATE OR REPLACE FUNCTION app.erase_person(person uuid, by_whom text, request_id text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  now constant timestamptz := app.now();
  themself constant boolean := by_whom = 'oneself';
  identity constant text := current_setting('dealkeep.identity', true);
  seal constant text := current_setting('dealkeep.seal', true);
  erased public.users;
  hold record;
  alone record;
  ended record;
  pseudonym text;
  placeholder constant text := 'erased-' || gen_random_uuid() || '@erased.invalid';
  digits int := 4;
  known_to uuid[];
  own_clients uuid[];
  fictive uuid[];
  contacts uuid[];
  reach timestamptz;
begin
  -- Not yet as for another address: who has a deal and names the account of whoever wrote there would wait for this, and this for the deal.
  select u.* into erased from public.users u where u.id = person for no key update;
  if not found then
    return null;
  end if;
  if erased.erased_at is not null then
    return erased.name;
  end if;

  select h.* into hold from app.hold_on_person(person) h;
  if found then
    perform app.refuse('legal_hold', case when themself
      then 'Your data must be kept for now because of a legal hold: whoever runs this service can tell you more.'
      else format('A legal hold on the %s "%s" stops this: when it has ended, dealkeep hold off %s %s.',
        hold.kind, hold.title, hold.kind, hold.subject_id) end);
  end if;

  perform from public.members m where m.user_id = person order by m.brokerage_id for update;
  -- One after the other, or two who leave at once would each count on the other.
  perform from public.brokerages b join public.members m on m.brokerage_id = b.id
    where m.user_id = person and m.role = 'admin' and m.status = 'active' order by b.id for no key update of b;
  select b.name, count(*) over () - 1 as more into alone from public.members m join public.brokerages b on b.id = m.brokerage_id
    where m.user_id = person and m.role = 'admin' and m.status = 'active'
      and not exists (select from public.members o join public.users u on u.id = o.user_id and u.suspended_at is null
        where o.brokerage_id = m.brokerage_id and o.user_id <> person and o.role = 'admin' and o.status = 'active')
    order by b.id limit 1;
  if found then
    perform app.refuse('last_admin', format('%s the last admin of %s%s: make somebody else admin first.',
      case when themself then 'You are' else 'They are' end, alone.name,
      case when alone.more > 0 then format(' and of %s more', alone.more) else '' end));
  end if;
  perform app.lock_parts(person);
  -- Whoever notes deliveries has webhooks, one after the other, before they name an account: their admin's, or that of one who is mailed.
  perform from public.api_keys k
    where k.created_by = person or k.id in (select d.key_id from vault.api_key_digests d where d.issued_by = person)
    order by k.id for no key update;
  perform from public.webhook_endpoints e join public.api_keys k on k.id = e.key_id
    where e.created_by = person or k.brokerage_id in (
      select m.brokerage_id from public.members m where m.user_id = person and m.role = 'admin' and m.status = 'active')
    order by e.id for no key update of e;
  -- Whatever else names the account is there by now, or waits.
  perform from public.users u where u.id = person for update;
  select d.title, count(*) over () - 1 as more into alone from public.participants p join public.deals d on d.id = p.deal_id
    where p.user_id = person and p.role = 'broker' and p.status = 'active' and d.state not in ('closed', 'withdrawn')
      and not exists (select from public.participants o join public.users u on u.id = o.user_id and u.suspended_at is null
        where o.deal_id = d.id and o.user_id <> person and o.role = 'broker' and o.status = 'active')
    order by d.id limit 1;
  if found then
    perform app.refuse('only_broker', format('%s the only broker of the open deal "%s"%s: hand it over or close it first.',
      case when themself then 'You are' else 'They are' end, alone.title,
      case when alone.more > 0 then format(' and of %s more', alone.more) else '' end));
  end if;

  -- From nothing that is known about them, so that nobody finds out who it was; not the same as another's, so that records stay apart.
  loop
    pseudonym := 'Former participant ' || upper(substr(replace(gen_random_uuid()::text, '-', ''), 1, digits));
    exit when not exists (select from public.users u where u.name = pseudonym and u.name like 'Former participant %');
    digits := least(digits + 1, 12);
  end loop;

  -- What follows happens to them, and is not their doing.
  perform set_config('dealkeep.identity', '', true), set_config('dealkeep.seal', '', true);

  contacts := array(select k.id from app.contacts_with_address(erased.email) k);
  select array_agg(distinct k.id) into known_to from (
    select m.brokerage_id as id from public.members m where m.user_id = person
    union select d.organization_id from public.participants p join public.deals d on d.id = p.deal_id where p.user_id = person
    union select c.brokerage_id from public.contacts c where c.id = any (contacts)) k;

  -- Out of everything, by the same way as if they had been removed.
  update public.members m set status = 'removed' where m.user_id = person and m.status <> 'removed';
  update public.participants p set status = 'removed' where p.user_id = person and p.status <> 'removed';
  update public.users u set email = placeholder, name = pseudonym, erased_at = now, suspended_at = coalesce(u.suspended_at, now)
    where u.id = person;
  perform app.end_sessions_of(person);
  -- What they were shown; a key that another admin has been shown since is that one's.
  update vault.api_key_digests d set valid_until = now where d.issued_by = person and (d.valid_until is null or d.valid_until > now);
  for ended in
    update public.api_keys k set revoked_at = now
      where k.created_by = person and k.revoked_at is null
        and not exists (select from vault.api_key_digests d where d.key_id = k.id and (d.valid_until is null or d.valid_until > now))
      returning k.id, k.brokerage_id
  loop
    perform app.audit('api_key.revoke', ended.id::text, 'done', ended.brokerage_id, null, null, erase_person.request_id, '{}');
  end loop;

  -- Who they were, where a deal or a brokerage has it in a place of its own.
  update public.members m set invited_name = 'Former participant', invited_email = placeholder
    where m.user_id = person and num_nonnulls(m.invited_name, m.invited_email) > 0;
  update public.participants p set invited_name = 'Former participant', invited_email = placeholder
    where p.user_id = person and num_nonnulls(p.invited_name, p.invited_email) > 0;
  -- What was typed about them in sandboxes, where somebody fictive has an address made of theirs.
  select array_agg(u.id) into fictive from public.users u
    where u.sandbox_id is not null and split_part(u.email, '@', 1) = md5(erased.email);
  update public.participants p set invited_name = 'Former participant', invited_email = placeholder where p.user_id = any (fictive);
  update public.users u set name = 'Former participant' where u.id = any (fictive);
  update public.ndas n set signed_name = pseudonym, signed_address = null
    from public.participants p
    where p.user_id = person and n.participant_id = p.id and num_nonnulls(n.signed_name, n.signed_address) > 0;
  update public.contacts c
    set display_name = case when c.type = 'person' then pseudonym else c.display_name end,
      phone = case when c.type = 'company' then c.phone end, email = null,
      archived_at = case when c.type = 'person' then coalesce(c.archived_at, now) else c.archived_at end,
      external_id = case when c.type = 'company' then c.external_id end
    where c.id = any (contacts);
  -- First answers that name them are given to nobody any more; their keys stay taken for their 24 hours, so that nothing is done twice. Their name counts beside their id alone:
  -- anybody may choose one that stands in every answer.
  update vault.idempotency_keys k set answer = null
    where k.answer is not null
      and (app.named_in(k.answer) @> app.named_in(to_json(erased.email)::text) and strpos(lower(k.answer), to_json(erased.email)::text) > 0
        or app.named_in(k.answer) @> array[person::text] and strpos(k.answer, to_json(erased.name)::text) > 0);

  -- What they sign in with, and what lets others in as them.
  delete from vault.passwords p where p.user_id = person;
  delete from vault.totp t where t.user_id = person;
  delete from vault.recovery_codes r where r.user_id = person;
  delete from vault.passkeys k where k.user_id = person;
  delete from vault.password_resets r where r.user_id = person;
  delete from vault.address_changes a where a.user_id = person;
  delete from vault.challenges c where c.user_id = person;
  delete from vault.sessions s where s.user_id = person;
  delete from vault.invitations i where i.user_id = person;
  select coalesce(array_agg(c.id), '{}') into own_clients from public.connected_clients c
    where c.created_by = person and c.brokerage_id is null;
  delete from vault.authorization_codes c where c.user_id = person or c.client_id = any (own_clients);
  delete from vault.token_families f where f.user_id = person or f.client_id = any (own_clients);
  delete from public.tool_grants g where g.user_id = person or g.client_id = any (own_clients);
  delete from public.connected_clients c where c.id = any (own_clients);
  delete from public.deal_opt_ins o where o.user_id = person;

  -- What they are written to by, and what is theirs alone.
  delete from vault.outbox o where o.recipient_id = person or o.recipient = erased.email;
  update vault.outbox o set facts = (
      select jsonb_object_agg(f.key, case when f.value in (to_jsonb(erased.name), to_jsonb(erased.email)) then to_jsonb(pseudonym) else f.value end)
      from jsonb_each(o.facts) f)
    where o.caused_by = person and o.facts <> '{}' and jsonb_typeof(o.facts) = 'object';
  delete from vault.mail_counts m
    where app.counted_of(m.subject) @> array[erased.email] and right(m.subject, length(erased.email) + 4) = ' to ' || erased.email;
  delete from vault.notifications n where n.user_id = person;
  delete from vault.events e where e.person_id = person;
  -- Of very many records the older ones are cleared by app.clear_addresses.
  select a.at into reach from public.audit_records a where a.user_id = person order by a.at desc offset 9999 limit 1;
  perform app.clear_traces(array[person], coalesce(reach, '-infinity'));
  insert into vault.addresses_to_clear (user_id, before) select person, reach - interval '1 microsecond' where reach is not null;

  -- A name that a declined invitation was for.
  update public.audit_records a set details = a.details || '{"name": "Former participant"}'
    from public.participants p
    where p.user_id = person and a.deal_id = p.deal_id and a.action = 'invitation.decline' and a.subject_id = p.id::text
      and a.details ? 'name';

  insert into public.audit_records (brokerage_id, user_id, request_id, action, subject_id, outcome, details)
    select k.id, case when themself then person end, erase_person.request_id, 'person.erase', person::text, 'done',
      jsonb_build_object('by', by_whom)
    from unnest(coalesce(known_to, array[null::uuid])) k (id);
  perform set_config('dealkeep.identity', coalesce(identity, ''), true), set_config('dealkeep.seal', coalesce(seal, ''), true);
  return pseudonym;
end
$function$;

CREATE OR REPLACE FUNCTION app.empty_sandbox(sandbox uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  part record;
begin
  delete from vault.idempotency_keys i using public.api_keys k, public.brokerages s
    where s.id = sandbox and k.brokerage_id = s.sandbox_of and k.environment = 'test' and i.key_id = k.id
      -- Not that of the request which asks for this.
      and num_nonnulls(i.answer, i.contact_id) > 0;
  for part in
    select r.name, r.condition,
        exists (select from pg_catalog.pg_attribute a where a.attrelid = r.name::regclass and a.attname = 'storage_key') as has_bodies
      from app.rows_of_brokerage('any (array(select d.id from public.deals d where d.organization_id = $1))', false) r
    where r.name not in ('public.brokerages', 'public.audit_records', 'public.change_events', 'vault.purged_changes', 'public.webhook_endpoints',
      'public.webhook_deliveries', 'vault.webhook_secrets')
  loop
    if part.has_bodies then
      -- The bodies are cleared out of the store like those of uploads that failed.
      execute format('with gone as (delete from %s t where %s returning t.storage_key, t.body_cleared_at)
          insert into vault.uploads (storage_key, begun_at)
            select g.storage_key, app.now() - interval ''3 days'' from gone g where g.body_cleared_at is null and g.storage_key not like ''sandbox-%%''
            on conflict (storage_key) do update set begun_at = excluded.begun_at', part.name, part.condition) using sandbox;
    else
      execute format('delete from %s t where %s', part.name, part.condition) using sandbox;
    end if;
  end loop;
  delete from vault.mail_counts m
    where app.counted_of(m.subject) && array[sandbox::text, split_part(app.sandbox_address(sandbox, ''), '@', 2)]
      and (m.subject like '% for ' || sandbox or m.subject like '%' || app.sandbox_address(sandbox, ''));
  delete from public.users u where u.sandbox_id = sandbox;
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
    select o.ctid from vault.mail_counts o where o.since < app.now() - interval '2 days' order by o.since limit 10000 for update skip locked));
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
