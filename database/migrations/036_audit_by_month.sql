-- compatible: the release before reads and writes the audit trail by the same name and columns.
-- The audit trail in parts, one for each month, so that what is older than it has to be kept goes by dropping a part. They are in the
-- vault: records are read through the whole, whose policies hold, and a part by nobody. What was there becomes the first part.
--
-- The parts follow one another without a gap, to the end of time, so that a record always finds its place and PostgreSQL reads
-- "the latest" part by part from the last.

create table vault.audit_months (
  name text primary key,
  since timestamptz not null,
  until timestamptz not null
);
select app.protect('vault.audit_months');

-- For how many whole months records are kept; null: for ever. Set by the owner (`dealkeep audit keep`), out of the server's reach.
create table vault.audit_retention (
  only_row boolean primary key default true check (only_row),
  months int check (months between 1 and 1200)
);
select app.protect('vault.audit_retention');
insert into vault.audit_retention default values;

alter table public.audit_records rename to audit_records_first;
alter table public.audit_records_first set schema vault;
drop policy own_and_admins on vault.audit_records_first;
drop policy brokers_of_the_deal on vault.audit_records_first;
revoke all on vault.audit_records_first from dealkeep_server;
drop index vault.audit_by_brokerage, vault.audit_by_user, vault.audit_by_deal, vault.activity_by_brokerage, vault.activity_by_deal,
  vault.activity_by_user;
alter table vault.audit_records_first drop constraint audit_records_pkey;
alter table vault.audit_records_first add constraint audit_records_first_pkey primary key using index audit_records_first_pkey;

create table public.audit_records (like vault.audit_records_first including defaults) partition by range (at);
alter table public.audit_records add constraint audit_records_pkey primary key (id, at);
create index audit_by_brokerage on public.audit_records (brokerage_id, at desc, id desc) where brokerage_id is not null;
create index audit_by_user on public.audit_records (user_id, at desc, id desc) where user_id is not null;
create index audit_by_deal on public.audit_records (deal_id, at desc, id desc) where deal_id is not null;
create index activity_by_deal on public.audit_records (deal_id, at desc, id desc)
  where outcome = 'done' and action not like 'tool:%' and deal_id is not null;
create index activity_by_brokerage on public.audit_records (brokerage_id, at desc, id desc)
  where outcome = 'done' and action not like 'tool:%' and deal_id is not null;
create index activity_by_user on public.audit_records (user_id, at desc, id desc)
  where outcome = 'done' and action not like 'tool:%' and deal_id is not null;
select app.protect('public.audit_records');
create policy own_and_admins on public.audit_records for select to dealkeep_server
  using (user_id = (select app.user_id()) or brokerage_id = any ((select app.brokerages_as('admin'))::uuid[]));
create policy brokers_of_the_deal on public.audit_records for select to dealkeep_server
  using (deal_id = any ((select app.deals_acting_as('broker'))::uuid[]));
grant select on public.audit_records to dealkeep_server;

do $$
declare
  bound constant text := (select substring(pg_get_constraintdef(k.oid) from '''([^'']+)''') from pg_constraint k
    where k.conrelid = 'vault.audit_records_first'::regclass and k.conname = 'audit_records_first_until');
  watching record;
begin
  -- Its triggers, whichever releases have made them.
  for watching in select t.tgname as name, pg_get_triggerdef(t.oid) as definition from pg_trigger t
    where t.tgrelid = 'vault.audit_records_first'::regclass and not t.tgisinternal
  loop
    execute format('drop trigger %I on vault.audit_records_first', watching.name);
    execute replace(watching.definition, ' ON vault.audit_records_first ', ' ON public.audit_records ');
  end loop;
  -- The constraint spares PostgreSQL the look at every record.
  execute format('alter table public.audit_records attach partition vault.audit_records_first for values from (minvalue) to (%L)', bound);
  execute format('create table vault.audit_records_later partition of public.audit_records for values from (%L) to (maxvalue)', bound);
  perform app.protect('vault.audit_records_later');
  alter table vault.audit_records_first drop constraint audit_records_first_until;
  insert into vault.audit_months values ('audit_records_first', '-infinity', bound::timestamptz);
end
$$;

-- Makes the parts of the three months to come and drops those that need not be kept any more; how many it dropped. For the
-- server's scheduled jobs. It waits for nobody longer than a second: while it does, everybody would wait for it.
create function app.keep_audit_months() returns int
language plpgsql volatile security definer set search_path = '' set lock_timeout = '1s' as $$
declare
  month constant timestamp := date_trunc('month', app.now() at time zone 'UTC');
  keep int;
  next timestamptz;
  following timestamptz;
  part text;
  dropped int := 0;
begin
  -- One node at a time.
  select r.months into keep from vault.audit_retention r for update skip locked;
  if not found then
    return 0;
  end if;
  select max(m.until) into next from vault.audit_months m;
  if next < (month + interval '4 months') at time zone 'UTC' then
    alter table public.audit_records detach partition vault.audit_records_later;
    select (date_trunc('month', max(l.at) at time zone 'UTC') + interval '1 month') at time zone 'UTC' into following
      from vault.audit_records_later l;
    if following is null then
      drop table vault.audit_records_later;
    else
      -- Records came in before their month was there: what holds them becomes the part of all the months that they are of.
      part := 'audit_records_' || to_char(next at time zone 'UTC', 'YYYY_MM');
      execute format('alter table vault.audit_records_later rename to %I', part);
      execute format('alter table public.audit_records attach partition vault.%I for values from (%L) to (%L)', part, next, following);
      insert into vault.audit_months values (part, next, following);
      next := following;
    end if;
    -- At most two years at once, for a clock that was wrong.
    for count in 1..24 loop
      exit when next >= (month + interval '4 months') at time zone 'UTC';
      following := (next at time zone 'UTC' + interval '1 month') at time zone 'UTC';
      part := 'audit_records_' || to_char(next at time zone 'UTC', 'YYYY_MM');
      execute format('create table vault.%I partition of public.audit_records for values from (%L) to (%L)', part, next, following);
      perform app.protect(format('vault.%I', part)::regclass);
      insert into vault.audit_months values (part, next, following);
      next := following;
    end loop;
    execute format('create table vault.audit_records_later partition of public.audit_records for values from (%L) to (maxvalue)', next);
    perform app.protect('vault.audit_records_later');
  end if;
  for part in select m.name from vault.audit_months m
    where m.until <= (month - make_interval(months => keep)) at time zone 'UTC' order by m.until
  loop
    execute format('alter table public.audit_records detach partition vault.%I', part);
    execute format('drop table vault.%I', part);
    delete from vault.audit_months m where m.name = part;
    dropped := dropped + 1;
  end loop;
  return dropped;
end
$$;
grant execute on function app.keep_audit_months() to dealkeep_server;
select app.keep_audit_months();
