-- Findings and financing: each belongs to the side that recorded it; brokers and sellers see those of every side.

create table findings (
  id uuid primary key default app.uuid_v7(),
  deal_id uuid not null references deals,
  participant_id uuid not null,
  category text not null check (length(category) between 1 and 64),
  title text not null check (length(title) between 1 and 120),
  description text check (length(description) <= 8000),
  severity text not null check (severity in ('critical', 'major', 'minor', 'informational')),
  status text not null default 'open' check (status in ('open', 'mitigated', 'accepted', 'resolved')),
  status_notes text check (length(status_notes) <= 8000),
  owner_user_id uuid references users,
  created_by uuid references users default app.user_id(),
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now(),
  unique (id, deal_id),
  foreign key (participant_id, deal_id) references participants (id, deal_id)
);
create index findings_by_deal on findings (deal_id, created_at desc, id desc);
select app.protect('findings');
create trigger touch before update on findings for each row execute function app.touch();
create trigger check_owner before insert or update of owner_user_id on findings for each row
  execute function app.check_owner_takes_part();

create table finding_comments (
  id uuid primary key default app.uuid_v7(),
  finding_id uuid not null references findings,
  body text not null check (length(body) between 1 and 8000),
  created_by uuid references users default app.user_id(),
  created_at timestamptz not null default app.now()
);
create index finding_comments_by_finding on finding_comments (finding_id, created_at, id);
select app.protect('finding_comments');

create table finding_changes (
  id uuid primary key default app.uuid_v7(),
  finding_id uuid not null references findings,
  from_status text,
  to_status text not null,
  notes text,
  changed_by uuid references users,
  changed_at timestamptz not null default app.now()
);
create index finding_changes_by_finding on finding_changes (finding_id, changed_at, id);
select app.protect('finding_changes');

create function app.record_finding_change() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if tg_op = 'INSERT' then
    insert into public.finding_changes (finding_id, to_status, notes, changed_by)
      values (new.id, new.status, new.status_notes, app.user_id());
  elsif (new.status, new.status_notes) is distinct from (old.status, old.status_notes) then
    insert into public.finding_changes (finding_id, from_status, to_status, notes, changed_by)
      values (new.id, old.status, new.status, new.status_notes, app.user_id());
  end if;
  return null;
end
$$;
create trigger record_change after insert or update on findings for each row execute function app.record_finding_change();

create table financing_sources (
  id uuid primary key default app.uuid_v7(),
  deal_id uuid not null references deals,
  participant_id uuid not null,
  source_type text not null check (source_type in ('sba_7a', 'sba_504', 'conventional_senior_debt', 'mezzanine', 'seller_note',
    'rollover_equity', 'cash_buyer_equity', 'equity_investor_check', 'earnout_credit', 'other')),
  source_name text not null check (length(source_name) between 1 and 256),
  -- Amounts cross the tools as JSON integers, which are exact up to here.
  commitment_amount numeric(20, 0) not null check (commitment_amount between 0 and 9007199254740991),
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  commitment_status text not null default 'identified' check (commitment_status in
    ('identified', 'applied', 'term_sheet', 'committed', 'funded', 'expired', 'withdrawn')),
  created_by uuid references users default app.user_id(),
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now(),
  foreign key (participant_id, deal_id) references participants (id, deal_id)
);
create index financing_sources_by_deal on financing_sources (deal_id, created_at desc, id desc);
select app.protect('financing_sources');
create trigger touch before update on financing_sources for each row execute function app.touch();
insert into app.moves
  select 'financing_source', earlier.state, later.state
  from unnest(array['identified', 'applied', 'term_sheet', 'committed', 'funded']) with ordinality earlier (state, place)
  join unnest(array['identified', 'applied', 'term_sheet', 'committed', 'funded']) with ordinality later (state, place)
    on later.place > earlier.place
  union all
  select 'financing_source', open_state, ended from unnest(array['identified', 'applied', 'term_sheet', 'committed']) open_state,
    unnest(array['expired', 'withdrawn']) ended;
create trigger check_move before update of commitment_status on financing_sources for each row
  execute function app.check_move('financing_source', 'commitment_status');

-- Sets the side that a record belongs to: the principal of whoever records it.
create function app.set_side() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if app.user_id() is not null then
    select p.principal_id into new.participant_id from app.participations() p where p.deal_id = new.deal_id;
  end if;
  return new;
end
$$;
create trigger set_side before insert on findings for each row execute function app.set_side();
create trigger set_side before insert on financing_sources for each row execute function app.set_side();

-- A financing source is in the deal's currency.
create function app.set_currency() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if app.user_id() is not null and new.participant_id is not null then
    select d.currency into new.currency from public.deals d where d.id = new.deal_id;
  end if;
  return new;
end
$$;
create trigger set_the_currency before insert on financing_sources for each row execute function app.set_currency();

-- Deals in which the caller records findings and financing: brokers, sellers, and buyers' sides under an NDA.
create function app.diligence_deals() returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select coalesce(array_agg(p.deal_id), '{}')
    from app.participations() p
    where p.role in ('broker', 'seller')
      or (p.principal_role = 'buyer' and exists (select from vault.active_ndas n where n.participant_id = p.principal_id)));
end
$$;
grant execute on function app.diligence_deals() to dealkeep_server;

do $$
declare
  kept regclass;
begin
  foreach kept in array array['findings', 'financing_sources']::regclass[] loop
    execute format('create policy deal_side_and_own_side on %s for select to dealkeep_server '
      'using (deal_id = any ((select app.deals_as(''broker'', ''seller''))::uuid[]) '
      'or participant_id = any ((select app.principals())::uuid[]))', kept);
    execute format('create policy those_in_diligence_add on %s for insert to dealkeep_server '
      'with check (deal_id = any ((select app.diligence_deals())::uuid[]) '
      'and participant_id = any ((select app.principals())::uuid[]))', kept);
    execute format('create policy those_in_diligence_change on %s for update to dealkeep_server '
      'using (deal_id = any ((select app.diligence_deals())::uuid[]))', kept);
  end loop;
end
$$;
create trigger limit_a_day before insert on findings for each row
  execute function app.limit_a_day('200', 'created_by', 'created_at', 'findings');
create trigger limit_a_day before insert on financing_sources for each row
  execute function app.limit_a_day('200', 'created_by', 'created_at', 'sources of financing');
grant select, insert (deal_id, category, title, description, severity, owner_user_id),
  update (category, title, description, severity, status, status_notes, owner_user_id) on findings to dealkeep_server;
grant select, insert (deal_id, source_type, source_name, commitment_amount, commitment_status),
  update (source_name, commitment_amount, commitment_status) on financing_sources to dealkeep_server;

create function app.limit_comments() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if app.user_id() is null then
    return new;  -- the owner, loading data
  end if;
  perform pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'finding_comments', new.finding_id), 0));
  if (select count(*) from public.finding_comments c where c.finding_id = new.finding_id) >= 500 then
    perform app.refuse('finding_full', 'A finding has room for 500 comments: record another one.');
  end if;
  return new;
end
$$;
create trigger limit_comments before insert on finding_comments for each row execute function app.limit_comments();

create policy with_the_finding on finding_comments for select to dealkeep_server
  using (exists (select from findings f where f.id = finding_id));
create policy those_in_diligence_comment on finding_comments for insert to dealkeep_server
  with check (exists (select from findings f
    where f.id = finding_id and f.deal_id = any ((select app.diligence_deals())::uuid[])));
grant select, insert (finding_id, body) on finding_comments to dealkeep_server;

create policy with_the_finding on finding_changes for select to dealkeep_server
  using (exists (select from findings f where f.id = finding_id));
grant select on finding_changes to dealkeep_server;
