-- no transaction
-- compatible: nobody waits while records are written and indexes are built, and the release before keeps those that it reads by.
-- The column of 247_noted_records.sql for the records from before, and indexes of activity by it. The three of all records have no condition any more: preparing to ask
-- whether there is a deal took each statement longer than to keep the records of none.

call vault.note_earlier_records();
create index concurrently if not exists noted_by_deal on public.audit_records (deal_id, at desc, id desc) where noted and deal_id is not null;
create index concurrently if not exists noted_by_brokerage on public.audit_records (brokerage_id, at desc, id desc) where noted and deal_id is not null;
create index concurrently if not exists noted_by_user on public.audit_records (user_id, at desc, id desc) where noted and deal_id is not null;
create index concurrently if not exists records_by_deal on public.audit_records (deal_id, at desc, id desc);
create index concurrently if not exists records_by_brokerage on public.audit_records (brokerage_id, at desc, id desc);
create index concurrently if not exists records_by_user on public.audit_records (user_id, at desc, id desc);
