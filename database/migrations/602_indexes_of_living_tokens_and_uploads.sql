-- no transaction
-- compatible: indexes more.
--
-- Of a grant the refresh token that still works, among all that were used; of the documents of a deal those that somebody, or a key, added within a day, also where they were removed since; and of a
-- client that is deleted its codes.

set lock_timeout = '5s';
create index concurrently if not exists refresh_tokens_living on vault.refresh_tokens (family_id) where consumed_at is null;
create index concurrently if not exists documents_of_day on public.documents (deal_id, uploaded_by, uploaded_at);
create index concurrently if not exists production_documents_of_day on public.production_documents (deal_id, uploaded_by, uploaded_at);
create index concurrently if not exists authorization_codes_by_client on vault.authorization_codes (client_id);
