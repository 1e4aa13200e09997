-- no transaction
-- compatible: indexes more.
--
-- Who asked the audit trail for what was refused, or for acts of a kind that is rare, had all records of their brokerage looked through,
-- or all of their own. A tool's call, of which there are most, has no entry in these.

create index concurrently if not exists refused_by_brokerage on public.audit_records (brokerage_id, at desc, id desc) where outcome not in ('done', 'ok');
create index concurrently if not exists refused_by_user on public.audit_records (user_id, at desc, id desc) where outcome not in ('done', 'ok');
create index concurrently if not exists acts_by_brokerage on public.audit_records (brokerage_id, action collate "C", at desc, id desc) where action not like 'tool:%';
