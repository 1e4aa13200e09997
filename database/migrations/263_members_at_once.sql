-- compatible: the same is answered, but for who has just become a member.
--
-- Who was invited to a brokerage again, at the moment at which they accepted, was invited once more: no member any more, and out of their deals. And whoever was invited somewhere
-- while the last brokerage that knew them was deleted was erased, and their invitation went to nobody. A deletion locks accounts before what refers to them, as an erasure does
-- (262_exclusivities_in_order.sql).

create or replace function app.invite_member(to_brokerage uuid, given_email text, given_name text, as_role text, token bytea,
  mailed boolean, address inet, request_id text) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  invited uuid;
  known_as uuid;
begin
  if to_brokerage is null or not to_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    raise insufficient_privilege using message = 'not an admin of this brokerage';
  end if;
  invited := app.account_at(lower(given_email), given_name);
  if exists (select from public.members m
    where m.brokerage_id = to_brokerage and m.user_id = invited and m.status = 'active')
  then
    perform app.refuse('already_member', 'This person is a member already.');
  end if;
  -- Or they have just accepted.
  insert into public.members as m (brokerage_id, user_id, role, status, invited_name, invited_email)
    values (to_brokerage, invited, as_role, 'invited', given_name, lower(given_email))
    on conflict (brokerage_id, user_id) do update set role = excluded.role, status = 'invited',
      invited_name = excluded.invited_name, invited_email = excluded.invited_email
    where m.status <> 'active'
    returning m.person_id into known_as;
  if not found then
    perform app.refuse('already_member', 'This person is a member already.');
  end if;
  delete from vault.invitations i where i.user_id = invited and i.brokerage_id = to_brokerage and i.used_at is null;
  insert into vault.invitations (digest, user_id, brokerage_id, mailed) values (token, invited, to_brokerage, invite_member.mailed);
  perform app.audit('member.invite', known_as::text, 'done', to_brokerage, null, address, request_id,
    jsonb_build_object('role', as_role));
  return known_as;
end
$$;

create or replace function app.forget_unattached(people uuid[]) returns int
language plpgsql security definer set search_path = '' as $$
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
    where u.id = any (gone) and (m.subject like 'from ' || u.id || '%' or right(m.subject, length(u.email) + 4) = ' to ' || u.email);
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

create or replace function app.delete_brokerage_part(of_brokerage uuid, most int) returns table (brokerage uuid, name text, finished boolean)
language plpgsql security definer set search_path = '' as $$
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

  delete from vault.mail_counts m where m.subject = 'for ' || brokerage or m.subject like 'from ' || brokerage || ' to %';
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
