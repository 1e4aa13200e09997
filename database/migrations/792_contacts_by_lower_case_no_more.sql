-- no transaction
-- compatible: what nothing uses since the file before, whichever release asks: it was used by functions of the database alone.

set lock_timeout = '5s';
drop index concurrently if exists public.contacts_by_name;
drop index concurrently if exists public.contacts_by_type_and_name;
drop index concurrently if exists public.contacts_archived_by_name;
