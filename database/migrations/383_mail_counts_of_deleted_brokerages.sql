-- compatible: deletes what it left for two days.
--
-- What is counted of mails begins with a span of time, such as "day for" a brokerage. Where a brokerage is deleted, a sandbox emptied or somebody forgotten, these counts were
-- looked for as if it did not, and the addresses in them stayed until they were two days old. The table is small, so it is read as a whole.

create or replace function app.delete_brokerage_part(of_brokerage uuid, most integer)
returns table(brokerage uuid, name text, finished boolean)
language plpgsql
security definer
set search_path = ''
as $$
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

  delete from vault.mail_counts m where m.subject like '% for ' || brokerage or m.subject like '% from ' || brokerage || ' to %';
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
$$;

create or replace function app.empty_sandbox(sandbox uuid)
returns void
language plpgsql
set search_path = ''
as $$
declare
  part record;
begin
  delete from vault.idempotency_keys i using public.api_keys k, public.brokerages s
    where s.id = sandbox and k.brokerage_id = s.sandbox_of and k.environment = 'test' and i.key_id = k.id
      -- Not that of the request which asks for this.
      and num_nonnulls(i.answer, i.contact_id) > 0;
  -- The bodies of its documents are cleared out of the store like those of uploads that failed.
  insert into vault.uploads (storage_key, begun_at)
    select b.storage_key, app.now() - interval '3 days' from (
      select o.storage_key, o.deal_id, o.body_cleared_at from public.documents o
      union all select o.storage_key, o.deal_id, o.body_cleared_at from public.production_documents o) b
    join public.deals d on d.id = b.deal_id
    where d.organization_id = sandbox and b.body_cleared_at is null and b.storage_key not like 'sandbox-%'
    on conflict (storage_key) do update set begun_at = excluded.begun_at;
  for part in
    select r.name, r.condition from app.rows_of_brokerage('any (array(select d.id from public.deals d where d.organization_id = $1))', false) r
    where r.name not in ('public.brokerages', 'public.audit_records', 'public.change_events', 'public.webhook_endpoints', 'public.webhook_deliveries', 'vault.webhook_secrets')
  loop
    execute format('delete from %s t where %s', part.name, part.condition) using sandbox;
  end loop;
  delete from vault.mail_counts m where m.subject like '% for ' || sandbox or m.subject like '%' || app.sandbox_address(sandbox, '');
  delete from public.users u where u.sandbox_id = sandbox;
end
$$;

create or replace function app.forget_unattached(people uuid[])
returns integer
language plpgsql
security definer
set search_path = ''
as $$
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
    where u.id = any (gone) and (m.subject like '% from ' || u.id || '%' or right(m.subject, length(u.email) + 4) = ' to ' || u.email);
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
$$;
