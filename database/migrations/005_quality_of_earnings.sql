-- Quality of earnings (QoE): the checklist, what was read from the books, and normalizations.

-- Whom the broker let in. Brokers and sellers of the deal are editors without a row here.
create table qoe_workspace_members (
  deal_id uuid not null references deals,
  participant_id uuid not null,
  role text not null default 'reader' check (role in ('reader', 'editor')),
  added_by uuid references users default app.user_id(),
  added_at timestamptz not null default app.now(),
  primary key (deal_id, participant_id),
  foreign key (participant_id, deal_id) references participants (id, deal_id)
);
create index qoe_workspace_by_participant on qoe_workspace_members (participant_id);
select app.protect('qoe_workspace_members');

-- A broker lets in active people of the deal who are not in by what they are; a buyer's side only under an NDA.
create function app.check_workspace_member() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  side text;
  principal uuid;
begin
  if not new.deal_id = any (app.deals_acting_as('broker')) then
    return new;  -- the owner, loading data; anybody else is turned away by the policy
  end if;
  select coalesce(advised.role, p.role), coalesce(advised.id, p.id) into side, principal
    from public.participants p
    left join public.participants advised on advised.id = p.advises
    where p.id = new.participant_id and p.deal_id = new.deal_id and p.status = 'active' and p.role not in ('broker', 'seller');
  if not found then
    perform app.refuse('not_to_let_in', 'Only active buyers, advisors and viewers of the deal are let in; brokers and sellers are in already.');
  end if;
  if side = 'buyer' and not exists (select from vault.active_ndas n where n.participant_id = principal) then
    perform app.refuse('no_active_nda', 'The buyer has no active NDA: have it signed first.');
  end if;
  return new;
end
$$;
create trigger check_member before insert or update on qoe_workspace_members for each row
  execute function app.check_workspace_member();

-- Deals whose QoE workspace the caller is in; with `editing`, those where they may write. A buyer's side is in only
-- while its NDA is active, and an advisor reads with whom they advise but writes only when let in themself.
create function app.qoe_deals(editing boolean) returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select coalesce(array_agg(p.deal_id), '{}')
    from app.participations() p
    where (p.principal_role in ('broker', 'seller') and (not editing or p.role in ('broker', 'seller')))
      or (exists (
            select from public.qoe_workspace_members w
            where w.deal_id = p.deal_id
              and case when editing then w.participant_id = p.participant_id and w.role = 'editor'
                else w.participant_id in (p.participant_id, p.principal_id) end)
          and (p.principal_role <> 'buyer' or exists (
            select from vault.active_ndas n where n.participant_id = p.principal_id))));
end
$$;
grant execute on function app.qoe_deals(boolean) to dealkeep_server;

create policy deal_side_and_own_see_it on qoe_workspace_members for select to dealkeep_server
  using (deal_id = any ((select app.deals_as('broker', 'seller'))::uuid[])
    or participant_id = any ((select app.principals())::uuid[]));
create policy brokers_let_in on qoe_workspace_members for insert to dealkeep_server
  with check (deal_id = any ((select app.deals_acting_as('broker'))::uuid[]));
create policy brokers_change_roles on qoe_workspace_members for update to dealkeep_server
  using (deal_id = any ((select app.deals_acting_as('broker'))::uuid[]));
create policy brokers_let_out on qoe_workspace_members for delete to dealkeep_server
  using (deal_id = any ((select app.deals_acting_as('broker'))::uuid[]));
grant select, insert (deal_id, participant_id, role), update (role), delete on qoe_workspace_members to dealkeep_server;

-- What somebody was let into ends when they leave the deal: who comes back, perhaps in another role, comes back to what
-- that role sees.
create function app.leave_workspace() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  delete from public.qoe_workspace_members w where w.participant_id = new.id;
  return null;
end
$$;
create trigger leave_workspace after update of status on participants for each row
  when (new.status = 'removed') execute function app.leave_workspace();

create table qoe_checklist (
  id uuid primary key default app.uuid_v7(),
  deal_id uuid not null references deals,
  category text not null check (length(category) between 1 and 64),
  title text not null check (length(title) between 1 and 200),
  status text not null default 'not_started' check (status in ('not_started', 'in_progress', 'completed', 'not_applicable')),
  completed_at timestamptz,
  position int not null default 0,
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now()
);
create index qoe_checklist_by_deal on qoe_checklist (deal_id, position, id);
select app.protect('qoe_checklist');
create trigger touch before update on qoe_checklist for each row execute function app.touch();

create trigger stamp_completion before insert or update of status on qoe_checklist for each row
  execute function app.stamp_completion('completed');

create table accounting_snapshots (
  id uuid primary key default app.uuid_v7(),
  deal_id uuid not null references deals,
  snapshot_type text not null check (snapshot_type in ('profit_and_loss', 'customer_revenue', 'full')),
  status text not null default 'requested' check (status in ('requested', 'processing', 'completed', 'failed')),
  source_name text check (length(source_name) <= 255),
  failure text check (length(failure) <= 2000),
  requested_by uuid references users default app.user_id(),
  requested_at timestamptz not null default app.now(),
  completed_at timestamptz,
  unique (id, deal_id)
);
create index accounting_snapshots_by_deal on accounting_snapshots (deal_id, requested_at desc, id desc);
create index accounting_snapshots_completed on accounting_snapshots (deal_id, completed_at desc, id desc)
  where status = 'completed';
select app.protect('accounting_snapshots');
insert into app.moves values
  ('snapshot', 'requested', 'processing'), ('snapshot', 'requested', 'failed'),
  ('snapshot', 'processing', 'completed'), ('snapshot', 'processing', 'failed');
create trigger check_move before update of status on accounting_snapshots for each row
  execute function app.check_move('snapshot', 'status');
create trigger stamp_completion before insert or update of status on accounting_snapshots for each row
  execute function app.stamp_completion('completed', 'failed');

create table pl_periods (
  id uuid primary key default app.uuid_v7(),
  deal_id uuid not null references deals,
  snapshot_id uuid not null,
  period_label text not null check (length(period_label) between 1 and 64),
  period_start_date date not null,
  period_end_date date not null,
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  revenue numeric(20, 4) not null,
  cost_of_goods_sold numeric(20, 4),
  gross_profit numeric(20, 4),
  operating_expenses numeric(20, 4),
  owner_compensation numeric(20, 4),
  depreciation_amortization numeric(20, 4),
  interest_expense numeric(20, 4),
  tax_expense numeric(20, 4),
  net_income numeric(20, 4),
  ebitda numeric(20, 4),
  foreign key (snapshot_id, deal_id) references accounting_snapshots (id, deal_id),
  unique (snapshot_id, period_start_date, period_end_date),
  check (period_end_date >= period_start_date)
);
create index pl_periods_by_deal on pl_periods (deal_id, period_start_date desc, id desc);
select app.protect('pl_periods');

create table customer_revenues (
  id uuid primary key default app.uuid_v7(),
  deal_id uuid not null references deals,
  snapshot_id uuid not null,
  customer_name text not null check (length(customer_name) between 1 and 200),
  period_start_date date not null,
  period_end_date date not null,
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  revenue_total numeric(20, 4) not null,
  foreign key (snapshot_id, deal_id) references accounting_snapshots (id, deal_id),
  unique (snapshot_id, period_start_date, period_end_date, customer_name),
  check (period_end_date >= period_start_date)
);
create index customer_revenues_by_snapshot on customer_revenues
  (deal_id, snapshot_id, period_start_date desc, revenue_total desc, id);
select app.protect('customer_revenues');

create table normalizations (
  id uuid primary key default app.uuid_v7(),
  deal_id uuid not null references deals,
  period_label text not null check (length(period_label) between 1 and 64),
  adjustment_category text not null check (adjustment_category in ('owner_comp', 'related_party', 'one_time', 'other')),
  -- Without a scale, so that every decimal of 40 characters is kept as it is; NaN and the infinities are no decimals.
  adjustment_amount numeric not null check (abs(adjustment_amount) < 1e40 and scale(adjustment_amount) < 40),
  rationale text check (length(rationale) <= 2000),
  created_by uuid references users default app.user_id(),
  created_at timestamptz not null default app.now()
);
create index normalizations_by_deal on normalizations (deal_id, created_at desc, id desc);
select app.protect('normalizations');

do $$
declare
  kept regclass;
begin
  foreach kept in array array['qoe_checklist', 'accounting_snapshots', 'pl_periods', 'customer_revenues', 'normalizations']::regclass[] loop
    execute format('create policy workspace_reads on %s for select to dealkeep_server '
      'using (deal_id = any ((select app.qoe_deals(false))::uuid[]))', kept);
    execute format('create policy editors_add on %s for insert to dealkeep_server '
      'with check (deal_id = any ((select app.qoe_deals(true))::uuid[]))', kept);
  end loop;
  foreach kept in array array['qoe_checklist', 'accounting_snapshots']::regclass[] loop
    execute format('create policy editors_change on %s for update to dealkeep_server '
      'using (deal_id = any ((select app.qoe_deals(true))::uuid[]))', kept);
  end loop;
  foreach kept in array array['qoe_checklist', 'normalizations']::regclass[] loop
    execute format('create policy editors_take_out on %s for delete to dealkeep_server '
      'using (deal_id = any ((select app.qoe_deals(true))::uuid[]))', kept);
  end loop;
end
$$;
grant select, insert (deal_id, category, title, status, position), update (category, title, status, position), delete
  on qoe_checklist to dealkeep_server;
grant select, insert (deal_id, snapshot_type, status, source_name), update (status, failure)
  on accounting_snapshots to dealkeep_server;
grant select, insert (deal_id, snapshot_id, period_label, period_start_date, period_end_date, currency, revenue,
  cost_of_goods_sold, gross_profit, operating_expenses, owner_compensation, depreciation_amortization, interest_expense,
  tax_expense, net_income, ebitda) on pl_periods to dealkeep_server;
grant select, insert (deal_id, snapshot_id, customer_name, period_start_date, period_end_date, currency, revenue_total)
  on customer_revenues to dealkeep_server;
grant select, insert (deal_id, period_label, adjustment_category, adjustment_amount, rationale), delete
  on normalizations to dealkeep_server;

create trigger limit_of_deal before insert on qoe_checklist for each row
  execute function app.limit_of_deal('500', 'rows of the checklist');
create trigger limit_a_day before insert on normalizations for each row
  execute function app.limit_a_day('200', 'created_by', 'created_at', 'normalizations');
create trigger limit_a_day before insert on accounting_snapshots for each row
  execute function app.limit_a_day('100', 'requested_by', 'requested_at', 'snapshots');

-- A snapshot that nobody works on any more will not be completed.
create function app.fail_abandoned_snapshots() returns void
language sql security definer set search_path = '' as $$
  update public.accounting_snapshots s
    set status = 'failed', failure = 'The service was interrupted while it read this file: upload it again.'
    where s.status in ('requested', 'processing') and s.requested_at < app.now() - interval '1 day'
$$;
grant execute on function app.fail_abandoned_snapshots() to dealkeep_server;
