-- compatible: indexes are added.
-- no transaction

-- Documents of all deals, for those who do not run them: what is hidden from them is not looked at. In a collation of its own, so that it serves
-- those who ask for one confidentiality, and is not chosen for what the policies say of it: their lists of deals would be gone through for each deal.
create index concurrently if not exists documents_by_confidentiality on public.documents
  (deal_id, confidentiality collate "C", uploaded_at desc, id desc) where removed_at is null;
create index concurrently if not exists production_documents_by_confidentiality on public.production_documents
  (deal_id, confidentiality collate "C", uploaded_at desc, id desc) where removed_at is null;
