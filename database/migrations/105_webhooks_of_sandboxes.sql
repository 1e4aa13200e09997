-- compatible: functions do the same for brokerages, and more for sandboxes.
-- A sandbox is deleted with the webhooks of test keys, and whoever is on legal hold does not keep what was tried out with their address. What is done about such a
-- webhook, and that a sandbox was reset, is recorded in the brokerage of the key, whose admins read it.

create or replace function app.delete_brokerage_part(most int) returns table (brokerage uuid, name text, finished boolean)
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
  of_brokerage uuid;
begin
  select d.* into this from vault.brokerage_deletions d
    where d.due_at <= app.now() and not exists (select from app.hold_on_brokerage(d.brokerage_id))
      and not exists (select from public.brokerages s join vault.brokerage_deletions o on o.brokerage_id = s.id where s.sandbox_of = d.brokerage_id)
    order by d.begun_at, d.due_at limit 1 for update skip locked;
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
  delete from public.brokerages b where b.id = brokerage returning b.sandbox_of into of_brokerage;
  if of_brokerage is not null then
    return next;
    return;
  end if;
  insert into public.audit_records (action, subject_id, outcome, details) values ('brokerage.delete', brokerage::text, 'done',
    jsonb_build_object('deals', this.deals, 'documents', this.documents, 'people', this.people, 'asked_at', this.asked_at));
  finished := true;
  return next;
end
$$;

create or replace function app.hold_on_brokerage(brokerage uuid) returns table (kind text, subject_id uuid)
language sql stable security definer set search_path = '' as $$
  select h.kind, h.subject_id from vault.legal_holds h
  where not app.is_sandbox(brokerage) and case h.kind
    when 'brokerage' then h.subject_id = brokerage
    when 'deal' then exists (select from public.deals d where d.id = h.subject_id and d.organization_id = brokerage)
    else exists (select from public.members m where m.user_id = h.subject_id and m.brokerage_id = brokerage)
      or exists (select from public.participants p join public.deals d on d.id = p.deal_id
        where p.user_id = h.subject_id and d.organization_id = brokerage)
      or exists (select from public.contacts c join public.users u on u.id = h.subject_id and lower(c.email) = u.email
        where c.brokerage_id = brokerage)
    end
  order by h.kind, h.subject_id limit 1
$$;

-- The webhook with the brokerage of its key, by which it is recorded what is done about it.
create or replace function app.webhook_to_manage(endpoint uuid) returns public.webhook_endpoints
language plpgsql security definer set search_path = '' as $$
declare
  found public.webhook_endpoints;
begin
  select e.* into found from public.webhook_endpoints e join public.api_keys k on k.id = e.key_id
    where e.id = endpoint and app.client_id() is null
      and (k.brokerage_id = any (app.brokerages_as('admin'))
        or (e.key_id = app.key_id() and e.brokerage_id = app.key_brokerage('webhooks:write')))
    for no key update of e;
  if found.id is null then
    perform app.refuse('webhook_not_found', 'There is no such webhook.');
  end if;
  found.brokerage_id := (select k.brokerage_id from public.api_keys k where k.id = found.key_id);
  return found;
end
$$;

create or replace function app.reset_sandbox_with_key(address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  of_brokerage uuid;
begin
  select k.brokerage_id into of_brokerage from public.api_keys k where k.id = app.key_id() and k.environment = 'test';
  if of_brokerage is null then
    return false;
  end if;
  perform app.set_up_sandbox(of_brokerage, true);
  perform app.audit('sandbox.reset', of_brokerage::text, 'done', of_brokerage, null, address, request_id, '{}');
  return true;
end
$$;
