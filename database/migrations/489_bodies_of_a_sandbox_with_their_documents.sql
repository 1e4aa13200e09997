-- compatible: the function keeps its name and arguments, and does the same.
--
-- A document that was uploaded while its sandbox was reset could be deleted without a note of its body, which then stayed in the store: the bodies were noted before the documents were deleted.

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
  delete from vault.mail_counts m where m.subject like '% for ' || sandbox or m.subject like '%' || app.sandbox_address(sandbox, '');
  delete from public.users u where u.sandbox_id = sandbox;
end
$$;
