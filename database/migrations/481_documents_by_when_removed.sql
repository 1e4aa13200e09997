-- no transaction
-- compatible: indexes more.
--
-- What was removed from a deal lately, among all that ever was.

set lock_timeout = '5s';
create index concurrently if not exists documents_removed on public.documents (deal_id, removed_at) where removed_at is not null;
create index concurrently if not exists production_documents_removed on public.production_documents (deal_id, removed_at) where removed_at is not null;
