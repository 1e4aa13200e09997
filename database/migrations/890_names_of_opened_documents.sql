-- compatible: a function more.
--
-- Who opened what is asked long after a document was replaced and removed. Its name is then read here: the brokers' and sellers' side of a deal could read it before,
-- whatever the document's confidentiality.

create function app.names_of_documents(deal_id uuid, ids uuid[]) returns table (id uuid, filename text, removed_at timestamptz)
  language sql stable security definer set search_path = '' as $$
  select d.id, d.filename, d.removed_at from public.documents d
  where d.id = any (ids) and d.deal_id = names_of_documents.deal_id and d.deal_id = any (app.deals_as('broker', 'seller'))
  union all
  select d.id, d.filename, d.removed_at from public.production_documents d
  where d.id = any (ids) and d.deal_id = names_of_documents.deal_id and d.deal_id = any (app.deals_as('broker', 'seller'))
$$;
revoke execute on function app.names_of_documents(uuid, uuid[]) from public;
grant execute on function app.names_of_documents(uuid, uuid[]) to dealkeep_server;
