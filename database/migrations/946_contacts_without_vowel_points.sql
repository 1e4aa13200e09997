-- no transaction
-- compatible: indexes more, beside those that contacts are found and sorted by until the next file.

set lock_timeout = '5s';
create index concurrently if not exists contacts_by_folded_words_new on public.contacts using gin (brokerage_id, app.contact_words_new(display_name, email, phone) extensions.gin_trgm_ops);
create index concurrently if not exists contacts_by_folded_name_new on public.contacts (brokerage_id, app.folded_new("left"(display_name, 100)), id) where archived_at is null;
create index concurrently if not exists contacts_by_type_and_folded_name_new on public.contacts (brokerage_id, type, app.folded_new("left"(display_name, 100)), id) where archived_at is null;
create index concurrently if not exists contacts_archived_by_folded_name_new on public.contacts (brokerage_id, app.folded_new("left"(display_name, 100)), id) where archived_at is not null;
