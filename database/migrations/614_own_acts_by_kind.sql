-- no transaction
-- compatible: an index more.
--
-- Who asked their own audit trail for acts of a kind that is rare had all of their own records looked through. A tool's call, of which there are most, has no entry in it.

set lock_timeout = '5s';
create index concurrently if not exists acts_by_user on public.audit_records (user_id, action collate "C", at desc, id desc) where action not like 'tool:%';
