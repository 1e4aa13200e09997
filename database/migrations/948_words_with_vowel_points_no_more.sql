-- no transaction
-- compatible: what nothing uses since the file before, whichever release asks.

set lock_timeout = '5s';
drop index concurrently if exists public.contacts_by_folded_words_before;
drop index concurrently if exists public.contacts_by_folded_name_before;
drop index concurrently if exists public.contacts_by_type_and_folded_name_before;
drop index concurrently if exists public.contacts_archived_by_folded_name_before;
drop function if exists app.contact_words_before(text, text, text);
drop function if exists app.folded_before(text);
drop function if exists app.folded_letters_before(text);
