-- compatible: two functions return nothing for two days after a store was adopted; their callers already expect that.
-- A restored database has lost the legal holds placed since the backup, and deletions of brokerages cancelled since:
-- nothing is destroyed for two days after documents were restored, moved or first stored, so that operators can place
-- and cancel these again.

create function app.is_store_settled() returns boolean
language sql stable security definer set search_path = '' as $$
  select not exists (select from vault.document_store s where s.marked_at > app.now() - interval '2 days')
$$;

create or replace function app.bodies_to_clear() returns setof text
language sql stable security definer set search_path = '' as $$
  (select u.storage_key from vault.uploads u where u.begun_at < app.now() - interval '2 days' and app.is_store_settled()
   union all
   select d.storage_key from (
       select s.storage_key, s.deal_id, s.uploaded_by from public.documents s
         where s.removed_at < app.now() - interval '7 days' and s.body_cleared_at is null
       union all
       select p.storage_key, p.deal_id, p.uploaded_by from public.production_documents p
         where p.removed_at < app.now() - interval '7 days' and p.body_cleared_at is null) d
     where app.is_store_settled() and not app.is_document_held(d.deal_id, d.uploaded_by))
  limit 500
$$;

create or replace function app.brokerage_to_delete(skipped uuid[]) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  if not app.is_store_settled() then
    return null;
  end if;
  return (select d.brokerage_id from vault.brokerage_deletions d
    where d.due_at <= app.now() and d.brokerage_id <> all (skipped) and not exists (select from app.hold_on_brokerage(d.brokerage_id))
      and not exists (select from public.brokerages s join vault.brokerage_deletions o on o.brokerage_id = s.id where s.sandbox_of = d.brokerage_id)
    order by d.begun_at, d.due_at limit 1);
end
$$;
