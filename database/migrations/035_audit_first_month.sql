-- no transaction
-- compatible: every record of today keeps the bound, and nobody is kept waiting while indexes are built.
-- What the audit trail needs to become the first of its parts by month (036_audit_by_month.sql): a bound that is known to hold, and the
-- indexes of the parts. The bound lies a month ahead, so that there is time for the file that follows.

do $$ begin if not exists (select from pg_constraint where conname = 'audit_records_first_until') then execute format('alter table public.audit_records add constraint audit_records_first_until check (at < %L) not valid', to_char(date_trunc('month', now() at time zone 'UTC') + interval '2 months', 'YYYY-MM-DD 00:00:00+00')); end if; end $$;
alter table public.audit_records validate constraint audit_records_first_until;
create unique index concurrently if not exists audit_records_first_pkey on public.audit_records (id, at);
create index concurrently if not exists audit_first_by_brokerage on public.audit_records (brokerage_id, at desc, id desc)
  where brokerage_id is not null;
create index concurrently if not exists audit_first_by_user on public.audit_records (user_id, at desc, id desc)
  where user_id is not null;
create index concurrently if not exists audit_first_by_deal on public.audit_records (deal_id, at desc, id desc)
  where deal_id is not null;
create index concurrently if not exists activity_first_by_deal on public.audit_records (deal_id, at desc, id desc)
  where outcome = 'done' and action not like 'tool:%' and deal_id is not null;
create index concurrently if not exists activity_first_by_brokerage on public.audit_records (brokerage_id, at desc, id desc)
  where outcome = 'done' and action not like 'tool:%' and deal_id is not null;
create index concurrently if not exists activity_first_by_user on public.audit_records (user_id, at desc, id desc)
  where outcome = 'done' and action not like 'tool:%' and deal_id is not null;
