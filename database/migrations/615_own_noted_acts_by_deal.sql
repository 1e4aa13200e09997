-- no transaction
-- compatible: an index more.
--
-- Who did little on a deal had everything that others did there looked through for it, on the home page and in the activity of the deal. Calls of tools have no entry in it.
-- Of an expression, so that no other index takes its place: that of the deal looks as good to PostgreSQL, which does not know how busy a deal is.

set lock_timeout = '5s';
create index concurrently if not exists noted_by_user on public.audit_records (user_id, (case when noted then deal_id end), at desc, id desc) where noted and deal_id is not null;
