-- no transaction
-- compatible: an index more, beside the one that contacts are found by until the next file.

set lock_timeout = '5s';
create index concurrently if not exists contacts_by_folded_words on public.contacts using gin (brokerage_id, app.contact_words(display_name, email, phone) extensions.gin_trgm_ops);
