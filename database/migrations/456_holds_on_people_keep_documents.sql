-- compatible: a function that old nodes call keeps its name, its arguments and its answer.
--
-- A legal hold on a person kept their account, their brokerages and their deals, and not the documents that they had uploaded and that were removed: a week later the bodies of these were
-- deleted from the store.

-- The bodies of documents that nobody needs any more, 500 at most; those of a deal, a brokerage or a person under a legal hold are needed.
create or replace function app.bodies_to_clear()
returns setof text
language sql
stable
security definer
set search_path = ''
as $$
  (select u.storage_key from vault.uploads u where u.begun_at < app.now() - interval '2 days'
   union all
   select d.storage_key from (
       select s.storage_key, s.deal_id, s.uploaded_by from public.documents s
         where s.removed_at < app.now() - interval '7 days' and s.body_cleared_at is null
       union all
       select p.storage_key, p.deal_id, p.uploaded_by from public.production_documents p
         where p.removed_at < app.now() - interval '7 days' and p.body_cleared_at is null) d
     where not exists (select from vault.legal_holds h join public.deals l on l.id = d.deal_id
       where (h.kind = 'deal' and h.subject_id = l.id) or (h.kind = 'brokerage' and h.subject_id = l.organization_id)
         or (h.kind = 'person' and h.subject_id = d.uploaded_by)))
  limit 500
$$;
