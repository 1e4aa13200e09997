-- compatible: no release deletes brokerages yet, and none that can be brought here asks for each change by itself.
-- The brokerages that are to be deleted are named one after another, so that one that cannot be deleted does not hold up the others.

-- The first brokerage whose time has come, of those that are not named; null when there is none. One that was begun comes first, and a sandbox before its brokerage.
create function app.brokerage_to_delete(skipped uuid[]) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select d.brokerage_id from vault.brokerage_deletions d
    where d.due_at <= app.now() and d.brokerage_id <> all (skipped) and not exists (select from app.hold_on_brokerage(d.brokerage_id))
      and not exists (select from public.brokerages s join vault.brokerage_deletions o on o.brokerage_id = s.id where s.sandbox_of = d.brokerage_id)
    order by d.begun_at, d.due_at limit 1);
end
$$;

drop function app.delete_brokerage_part(int);
-- Deletes about so many rows of a brokerage whose time has come.
create function app.delete_brokerage_part(of_brokerage uuid, most int) returns table (brokerage uuid, name text, finished boolean)
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

grant execute on function app.brokerage_to_delete(uuid[]), app.delete_brokerage_part(uuid, int) to dealkeep_server;

drop function app.sees_change(text, uuid, uuid, boolean);
