-- no transaction
-- compatible: what nothing uses since the file before, whichever release asks: it was used by functions of the database alone.

set lock_timeout = '5s';
drop index concurrently if exists public.contacts_by_words;
drop function if exists app.contact_text(text, text, text);
