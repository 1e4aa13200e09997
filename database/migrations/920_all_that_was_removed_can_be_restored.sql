-- compatible: a function returns more rows.
--
-- Somebody who removes the files of a folder by mistake finds all of them to restore, not only the last twenty.

create or replace function app.documents_to_restore(deal uuid)
  returns table (id uuid, source text, filename text, removed_at timestamptz, removed_by uuid)
  language sql stable security definer set search_path = '' as $$
  select r.id, r.source, r.filename, r.removed_at,
    (select a.user_id from public.audit_records a
      where a.deal_id = deal and a.at = r.removed_at and a.action = 'document.remove' and a.subject_id = r.id::text order by a.id limit 1)
  from (
    (select d.id, 'simple' as source, d.filename, d.removed_at from public.documents d
      where d.deal_id = deal and d.removed_at > app.now() - interval '1 hour' order by d.removed_at desc, d.id desc limit 500)
    union all
    (select d.id, 'production', d.filename, d.removed_at from public.production_documents d
      where d.deal_id = deal and d.removed_at > app.now() - interval '1 hour' order by d.removed_at desc, d.id desc limit 500)
    order by removed_at desc, id desc limit 500) r
  where deal = any ((select app.deals_acting_as('broker', 'seller'))::uuid[])
    and exists (select from public.deals l where l.id = deal and l.state <> 'closed')
  order by r.removed_at desc, r.id desc
$$;
