-- no transaction
-- compatible: an index more.
--
-- Those of a deal who were removed or have not joined, who are few: the first page looks them up once for all deals of its reader, instead of each buyer by their id.

set lock_timeout = '5s';
create index concurrently if not exists participants_not_active on public.participants (deal_id) include (id, status) where status <> 'active';
