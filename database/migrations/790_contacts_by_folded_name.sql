-- no transaction
-- compatible: indexes more, beside those that contacts are sorted by until the next file.

set lock_timeout = '5s';
create index concurrently if not exists contacts_by_folded_name on public.contacts (brokerage_id, app.folded("left"(display_name, 100)), id) where archived_at is null;
create index concurrently if not exists contacts_by_type_and_folded_name on public.contacts (brokerage_id, type, app.folded("left"(display_name, 100)), id) where archived_at is null;
create index concurrently if not exists contacts_archived_by_folded_name on public.contacts (brokerage_id, app.folded("left"(display_name, 100)), id) where archived_at is not null;
