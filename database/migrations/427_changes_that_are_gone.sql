-- compatible: a table and a function more; jobs of the release before fill the table, too.
--
-- Who reads changes slower than they come, or begins at the oldest and pauses, has a cursor that was given out a moment ago and stands before events which are about to be deleted:
-- they were left out of the next page, and nothing said so. Up to where those of a brokerage have been deleted is kept, and a place before it is answered as one that has expired.

create table vault.purged_changes (
  brokerage_id uuid primary key references public.brokerages,
  seq bigint not null
);
select app.protect('vault.purged_changes');

create or replace function app.purge_changes()
returns integer
language plpgsql
security definer
set search_path = ''
as $$
declare
  before constant timestamptz := app.now() - interval '31 days';
  of_brokerage uuid;
  reached uuid;
  seen int := 0;
  purged int := 0;
  part int;
begin
  select p.place into reached from vault.job_places p where p.job = 'purge_changes' for update skip locked;
  if not found then
    return 0;
  end if;
  for of_brokerage in
    select b.id from public.brokerages b where b.id > coalesce(reached, '00000000-0000-0000-0000-000000000000') order by b.id limit 1000
  loop
    seen := seen + 1;
    if (select f.at from public.change_events f where f.brokerage_id = of_brokerage order by f.seq limit 1) < before then
      with gone as (
        delete from public.change_events e
          where e.brokerage_id = of_brokerage and e.at < before
            and e.seq <= (select max(o.seq) from (
              select f.seq from public.change_events f where f.brokerage_id = of_brokerage order by f.seq limit 100000) o)
          returning e.seq),
      noted as (
        insert into vault.purged_changes as p (brokerage_id, seq) select of_brokerage, max(g.seq) from gone g having count(*) > 0
          on conflict (brokerage_id) do update set seq = greatest(p.seq, excluded.seq))
      select count(*) into part from gone;
      purged := purged + part;
    end if;
    reached := of_brokerage;
    exit when purged >= 200000;
  end loop;
  update vault.job_places p set place = case when seen = 1000 or purged >= 200000 then reached end where p.job = 'purge_changes';
  return purged;
end
$$;

-- Up to which number changes of the calling key's brokerage have been deleted: null when none has.
create function app.changes_purged()
returns bigint
language plpgsql
stable security definer
set search_path = ''
as $$
begin
  return (select p.seq from vault.purged_changes p where p.brokerage_id = app.identity_part(4)::uuid);
end
$$;
grant execute on function app.changes_purged() to dealkeep_server;

-- A reset keeps the changes of a sandbox, and so what is known of them.
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
    where r.name not in ('public.brokerages', 'public.audit_records', 'public.change_events', 'vault.purged_changes', 'public.webhook_endpoints',
      'public.webhook_deliveries', 'vault.webhook_secrets')
  loop
    execute format('delete from %s t where %s', part.name, part.condition) using sandbox;
  end loop;
  delete from vault.mail_counts m where m.subject like '% for ' || sandbox or m.subject like '%' || app.sandbox_address(sandbox, '');
  delete from public.users u where u.sandbox_id = sandbox;
end
$$;
