-- What people work on in a deal: quality of earnings, questions, documents, offers, closing, findings, financing.

-- Quality of earnings (QoE) ---------------------------------------------------------------------------------------------

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
            select from public.ndas n
            where n.participant_id = p.principal_id and n.status = 'active'
              and (n.expires_at is null or n.expires_at > app.now())))));
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

-- Sets completed_at when the status enters one of the trigger's arguments and clears it when it leaves them. Only the
-- owner, who loads records of the past, has the right to give it.
create function app.stamp_completion() returns trigger
language plpgsql set search_path = '' as $$
begin
  if not (new.status = any (tg_argv)) then
    new.completed_at := null;
  elsif tg_op = 'INSERT' then
    new.completed_at := coalesce(new.completed_at, app.now());
  elsif not (old.status = any (tg_argv)) then
    new.completed_at := app.now();
  end if;
  return new;
end
$$;
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
end
$$;
do $$
declare
  kept regclass;
begin
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

-- Questions ----------------------------------------------------------------------------------------------------------------

create table questions (
  id uuid primary key default app.uuid_v7(),
  deal_id uuid not null references deals,
  category text not null check (category in ('financials', 'operations', 'customers', 'employees', 'legal', 'tax',
    'real_estate', 'technology', 'transaction', 'other')),
  status text not null default 'pending_broker_review' check (status in
    ('pending_broker_review', 'with_seller', 'answered', 'distributed', 'rejected', 'withdrawn')),
  question_text text not null check (length(question_text) between 1 and 4000),
  asked_by uuid not null references users,
  participant_id uuid not null,
  asked_at timestamptz not null default app.now(),
  rejection_reason text check (length(rejection_reason) <= 2000),
  distributed_response text check (length(distributed_response) between 1 and 8000),
  distributed_at timestamptz,
  updated_at timestamptz not null default app.now(),
  unique (id, deal_id),
  foreign key (participant_id, deal_id) references participants (id, deal_id),
  check ((status = 'distributed') = (distributed_response is not null))
);
create index questions_by_deal on questions (deal_id, asked_at desc, id desc);
create index questions_by_side on questions (participant_id, asked_at desc, id desc);
select app.protect('questions');
create trigger touch before update on questions for each row execute function app.touch();

-- The seller's answer, kept apart: the asker sees only what the broker distributes.
create table question_answers (
  question_id uuid primary key,
  deal_id uuid not null references deals,
  answer_text text not null check (length(answer_text) between 1 and 8000),
  answered_by uuid references users default app.user_id(),
  answered_at timestamptz not null default app.now(),
  foreign key (question_id, deal_id) references questions (id, deal_id)
);
create index question_answers_by_deal on question_answers (deal_id);
select app.protect('question_answers');

-- The seller sees what the broker released; the asker's side sees its own; the broker sees all.
create policy each_sees_their_part on questions for select to dealkeep_server
  using (deal_id = any ((select app.deals_as('broker'))::uuid[])
    or (status in ('with_seller', 'answered', 'distributed') and deal_id = any ((select app.deals_as('seller'))::uuid[]))
    or participant_id = any ((select app.principals())::uuid[]));
create policy buyers_under_nda_ask on questions for insert to dealkeep_server
  with check (asked_by = (select app.user_id()) and status = 'pending_broker_review'
    and participant_id = any ((select app.principals())::uuid[])
    and deal_id = any ((select app.deals_under_nda())::uuid[]));
create policy each_moves_it_on on questions for update to dealkeep_server
  using (deal_id = any ((select app.deals_acting_as('broker', 'seller'))::uuid[]) or asked_by = (select app.user_id()));
grant select, insert (deal_id, category, question_text), update (status, rejection_reason, distributed_response)
  on questions to dealkeep_server;

create policy deal_side_sees_it on question_answers for select to dealkeep_server
  using (deal_id = any ((select app.deals_as('broker', 'seller'))::uuid[]));
create policy sellers_answer on question_answers for insert to dealkeep_server
  with check (deal_id = any ((select app.deals_acting_as('seller'))::uuid[])
    and exists (select from questions q where q.id = question_id and q.deal_id = question_answers.deal_id
      and q.status in ('with_seller', 'answered')));
create policy sellers_correct_it on question_answers for update to dealkeep_server
  using (deal_id = any ((select app.deals_acting_as('seller'))::uuid[])
    and exists (select from questions q where q.id = question_id and q.status in ('with_seller', 'answered')));
grant select, insert (question_id, deal_id, answer_text), update (answer_text) on question_answers to dealkeep_server;

-- Fills in who asks, for whom; says why a question cannot be taken. Of a deal that the caller takes no part in it says
-- nothing: the policy refuses those as it refuses a deal that does not exist.
create function app.take_question() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  principal_role text;
  deal_state text;
begin
  if app.user_id() is null and new.asked_by is not null then
    return new;  -- the owner, loading data
  end if;
  new.asked_by := app.user_id();
  select p.principal_id, p.principal_role into new.participant_id, principal_role
    from app.participations() p where p.deal_id = new.deal_id;
  if not found then
    return new;
  end if;
  if principal_role <> 'buyer' then
    perform app.refuse('not_a_buyer', 'Questions are asked by the buyer''s side of a deal.');
  end if;
  if not new.deal_id = any (app.deals_under_nda()) then
    perform app.refuse('no_active_nda', 'There is no active NDA for you on this deal: sign it, then ask again.');
  end if;
  if not app.has_broker(new.deal_id) then
    perform app.refuse('no_broker_review', 'No broker is on this deal to review questions: ask the brokerage to assign one.');
  end if;
  select d.state into deal_state from public.deals d where d.id = new.deal_id;
  if deal_state in ('closed', 'withdrawn') then
    perform app.refuse('deal_over', format('The deal is %s and takes no more questions.', deal_state));
  end if;
  return new;
end
$$;
create trigger take_question before insert on questions for each row execute function app.take_question();

insert into app.moves values
  ('question', 'pending_broker_review', 'with_seller'), ('question', 'pending_broker_review', 'rejected'),
  ('question', 'pending_broker_review', 'withdrawn'), ('question', 'with_seller', 'answered'),
  ('question', 'answered', 'distributed');

-- Who makes which move: the broker releases, rejects and distributes, the seller answers, the asker withdraws.
create function app.check_question_mover() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  is_broker boolean := new.deal_id = any (app.deals_acting_as('broker'));
  is_seller boolean := new.deal_id = any (app.deals_acting_as('seller'));
begin
  if app.user_id() is null then
    return new;  -- the owner, loading data
  end if;
  if (new.distributed_response, new.rejection_reason) is distinct from (old.distributed_response, old.rejection_reason)
    and not is_broker
  then
    perform app.refuse('broker_only', 'Only a broker of the deal words what the asker is told.');
  end if;
  if new.status is distinct from old.status then
    if new.status in ('with_seller', 'rejected', 'distributed') and not is_broker then
      perform app.refuse('broker_only', 'Only a broker of the deal releases, rejects or distributes a question.');
    elsif new.status = 'answered' and not is_seller then
      perform app.refuse('seller_only', 'Only a seller of the deal answers a question.');
    elsif new.status = 'withdrawn' and new.asked_by is distinct from app.user_id() then
      perform app.refuse('asker_only', 'Only the person who asked can withdraw a question.');
    end if;
    if new.status = 'answered' and not exists (select from public.question_answers a where a.question_id = new.id) then
      perform app.refuse('answer_missing', 'Write the answer first.');
    end if;
    if new.status = 'distributed' then
      if new.distributed_response is null then
        perform app.refuse('response_missing', 'Write what the asker is to read.');
      end if;
      new.distributed_at := app.now();
    end if;
  elsif old.status in ('distributed', 'rejected', 'withdrawn') then
    perform app.refuse('question_closed', format('The question is %s and no longer changes.', old.status));
  end if;
  return new;
end
$$;
create trigger limit_a_day before insert on questions for each row
  execute function app.limit_a_day('200', 'asked_by', 'asked_at', 'questions');
create trigger check_a_move before update on questions for each row execute function app.check_move('question', 'status');
create trigger check_b_mover before update on questions for each row execute function app.check_question_mover();

-- Documents ------------------------------------------------------------------------------------------------------------------

-- The deal's own data room. The body is in the store under `storage_key`, which never leaves the server.
create table documents (
  id uuid primary key default app.uuid_v7(),
  deal_id uuid not null references deals,
  filename text not null check (length(filename) between 1 and 255 and filename !~ '[/\\[:cntrl:]]'),
  category text not null check (length(category) between 1 and 64),
  confidentiality text not null check (confidentiality in ('public', 'nda_gated', 'selected_buyer_only')),
  size_bytes bigint not null check (size_bytes >= 0),
  media_type text not null check (length(media_type) between 1 and 255),
  sha256 bytea check (length(sha256) = 32),
  storage_key text not null unique,
  uploaded_by uuid references users default app.user_id(),
  uploaded_at timestamptz not null default app.now(),
  removed_at timestamptz
);
create index documents_by_deal on documents (deal_id, uploaded_at desc, id desc) where removed_at is null;
select app.protect('documents');

-- Documents produced for a diligence request.
create table production_documents (
  like documents including defaults including constraints,
  diligence_request text not null check (length(diligence_request) between 1 and 500),
  primary key (id),
  unique (storage_key),
  foreign key (deal_id) references deals,
  foreign key (uploaded_by) references users
);
create index production_documents_by_deal on production_documents (deal_id, uploaded_at desc, id desc) where removed_at is null;
select app.protect('production_documents');

do $$
declare
  kept regclass;
begin
  foreach kept in array array['documents', 'production_documents']::regclass[] loop
    execute format('create policy by_confidentiality on %s for select to dealkeep_server using (removed_at is null and (
      deal_id = any ((select app.deals_as(''broker'', ''seller''))::uuid[])
      or (confidentiality = ''public'' and exists (select from deals d where d.id = deal_id))
      or (confidentiality = ''nda_gated'' and deal_id = any ((select app.deals_under_nda())::uuid[]))
      or (confidentiality = ''selected_buyer_only'' and deal_id = any ((select app.deals_held_exclusively())::uuid[]))))', kept);
    execute format('create policy deal_side_adds on %s for insert to dealkeep_server '
      'with check (deal_id = any ((select app.deals_acting_as(''broker'', ''seller''))::uuid[]))', kept);
    execute format('create policy deal_side_changes on %s for update to dealkeep_server '
      'using (removed_at is null and deal_id = any ((select app.deals_acting_as(''broker'', ''seller''))::uuid[]))', kept);
    execute format('grant select (id, deal_id, filename, category, confidentiality, size_bytes, media_type, sha256, '
      'uploaded_by, uploaded_at), insert (deal_id, filename, category, confidentiality, size_bytes, media_type, sha256, '
      'storage_key), update (filename, category, confidentiality) on %s to dealkeep_server', kept);
  end loop;
end
$$;
grant select (diligence_request), insert (diligence_request) on production_documents to dealkeep_server;

create trigger limit_a_day before insert on documents for each row
  execute function app.limit_a_day('1000', 'uploaded_by', 'uploaded_at', 'documents');
create trigger limit_a_day before insert on production_documents for each row
  execute function app.limit_a_day('1000', 'uploaded_by', 'uploaded_at', 'documents');

-- Who opened what, and when.
create table document_openings (
  id uuid primary key default app.uuid_v7(),
  deal_id uuid not null references deals,
  document_id uuid not null,
  source text not null check (source in ('simple', 'production')),
  user_id uuid not null references users,
  opened_at timestamptz not null default app.now()
);
create index document_openings_by_document on document_openings (document_id, opened_at desc);
create index document_openings_by_deal on document_openings (deal_id, opened_at desc);
select app.protect('document_openings');
create policy deal_side_and_oneself on document_openings for select to dealkeep_server
  using (deal_id = any ((select app.deals_as('broker', 'seller'))::uuid[]) or user_id = (select app.user_id()));
grant select on document_openings to dealkeep_server;

-- Offers ---------------------------------------------------------------------------------------------------------------------

-- Whether a payload's known keys hold what they should: decimal strings, dates, a truth value, text. Unknown keys pass.
create function app.is_offer_payload(payload jsonb) returns boolean
language sql immutable set search_path = '' as $$
  select jsonb_typeof(payload) = 'object'
    and coalesce(payload ->> 'currency' ~ '^[A-Z]{3}$' and jsonb_typeof(payload -> 'currency') = 'string', true)
    and not exists (
      select from jsonb_each(payload) e
      where case
        when e.key in ('purchase_price', 'cash_at_close', 'seller_note', 'earnout', 'rollover_equity')
          then not (jsonb_typeof(e.value) in ('string', 'null')
            and coalesce(e.value #>> '{}' ~ '^[0-9]{1,16}(\.[0-9]{1,4})?$', true))
        when e.key = 'financing_contingency' then jsonb_typeof(e.value) not in ('boolean', 'null')
        when e.key in ('target_close_date', 'expires_at', 'terms') then jsonb_typeof(e.value) not in ('string', 'null')
        else false
      end)
$$;

grant execute on function app.is_offer_payload(jsonb) to dealkeep_server;

-- What a payload takes as it is stored: numbers under unknown keys are written out there with all their digits.
create function app.payload_size(payload jsonb) returns int
language sql immutable set search_path = '' as $$ select octet_length(payload::text) $$;
grant execute on function app.payload_size(jsonb) to dealkeep_server;

create table offers (
  id uuid primary key default app.uuid_v7(),
  deal_id uuid not null references deals,
  participant_id uuid not null,
  buyer_user_id uuid not null references users,
  revision_number int not null check (revision_number >= 1),
  is_current boolean not null default true,
  submitted_at timestamptz not null default app.now(),
  payload jsonb not null check (app.is_offer_payload(payload)) check (app.payload_size(payload) <= 32768),
  foreign key (participant_id, deal_id) references participants (id, deal_id),
  unique (deal_id, buyer_user_id, revision_number)
);
create unique index one_current_offer_a_buyer on offers (deal_id, buyer_user_id) where is_current;
create index offers_by_deal on offers (deal_id, submitted_at desc, id desc);
select app.protect('offers');
create policy deal_side_and_own_side on offers for select to dealkeep_server
  using (deal_id = any ((select app.deals_as('broker', 'seller'))::uuid[])
    or participant_id = any ((select app.principals())::uuid[]));
create policy buyers_submit on offers for insert to dealkeep_server
  with check (buyer_user_id = (select app.user_id())
    and deal_id = any ((select app.deals_acting_as('buyer'))::uuid[]));
grant select, insert (deal_id, payload) on offers to dealkeep_server;

-- The time that a text says, or null when it says none (RFC 3339).
create function app.time_in(text text) returns timestamptz
language plpgsql stable set search_path = '' as $$
begin
  return case when text ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d' then text::timestamptz end;
exception when data_exception then
  return null;
end
$$;

-- The day that a text says, or null when it says none.
create function app.day_in(text text) returns date
language plpgsql immutable set search_path = '' as $$
begin
  return case when text ~ '^\d{4}-\d\d-\d\d$' then text::date end;
exception when data_exception then
  return null;
end
$$;

-- Refuses a payload that is too large, was over before it came, or closes in the past.
create function app.check_payload(payload jsonb) returns void
language plpgsql stable set search_path = '' as $$
declare
  expires constant text := nullif(payload ->> 'expires_at', '');
  closes constant text := nullif(payload ->> 'target_close_date', '');
begin
  if app.payload_size(payload) > 32768 then
    perform app.refuse_value('payload', 'An offer takes at most 32 kB: put what is longer into a document.');
  end if;
  if expires is not null and coalesce(app.time_in(expires) <= app.now(), true) then
    perform app.refuse_value('payload.expires_at', 'An offer stands until a time that is still to come: choose one, or leave it open.');
  end if;
  if closes is not null and coalesce(app.end_of(app.day_in(closes)) <= app.now(), true) then
    perform app.refuse_value('payload.target_close_date', 'Choose a day that is still to come, or leave it open.');
  end if;
end
$$;

-- Numbers the revision and makes the buyer's earlier one not current, one submission of a buyer after the other.
create function app.take_offer() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  deal_state text;
begin
  if app.user_id() is null and new.buyer_user_id is not null then
    return new;  -- the owner, loading data
  end if;
  new.buyer_user_id := app.user_id();
  select p.id into new.participant_id from public.participants p
    where p.deal_id = new.deal_id and p.user_id = app.user_id() and p.role = 'buyer' and p.status = 'active' for update;
  if not found then
    return new;  -- the policy refuses it
  end if;
  select d.state into deal_state from public.deals d where d.id = new.deal_id;
  if deal_state in ('draft', 'closed', 'withdrawn') then
    perform app.refuse('deal_takes_no_offers', format('The deal is %s and takes no offers.', deal_state));
  end if;
  perform app.check_payload(new.payload);
  if (select count(*) from public.offers o where o.deal_id = new.deal_id and o.buyer_user_id = new.buyer_user_id
    and o.submitted_at > app.now() - interval '1 day') >= 20
  then
    perform app.refuse('too_many_today', 'At most 20 revisions a day on a deal: revise the offer again tomorrow.');
  end if;
  select coalesce(max(o.revision_number), 0) + 1 into new.revision_number from public.offers o
    where o.deal_id = new.deal_id and o.buyer_user_id = new.buyer_user_id;
  new.is_current := true;
  update public.offers o set is_current = false
    where o.deal_id = new.deal_id and o.buyer_user_id = new.buyer_user_id and o.is_current;
  return new;
end
$$;
create trigger take_offer before insert on offers for each row execute function app.take_offer();

-- Closing --------------------------------------------------------------------------------------------------------------------

create table closing_conditions (
  id uuid primary key default app.uuid_v7(),
  deal_id uuid not null references deals,
  name text not null check (length(name) between 1 and 200),
  status text not null default 'open' check (status in ('open', 'in_progress', 'satisfied', 'waived')),
  owner_user_id uuid references users,
  deadline date,
  completed_at timestamptz,
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now()
);
create index closing_conditions_by_deal on closing_conditions (deal_id, created_at desc, id desc);
select app.protect('closing_conditions');
create trigger touch before update on closing_conditions for each row execute function app.touch();
create trigger stamp_completion before insert or update of status on closing_conditions for each row
  execute function app.stamp_completion('satisfied', 'waived');
insert into app.moves values
  ('closing_condition', 'open', 'in_progress'), ('closing_condition', 'open', 'satisfied'), ('closing_condition', 'open', 'waived'),
  ('closing_condition', 'in_progress', 'open'), ('closing_condition', 'in_progress', 'satisfied'),
  ('closing_condition', 'in_progress', 'waived'), ('closing_condition', 'satisfied', 'open'), ('closing_condition', 'waived', 'open');
create trigger check_move before update of status on closing_conditions for each row
  execute function app.check_move('closing_condition', 'status');

-- Whether the side of `principal_id` may know that this person takes part in its deal: the rule of the policy on
-- participants, for a side that is not the caller's. Brokers and sellers ask, and the side itself; nobody else learns anything.
create function app.side_knows(principal_id uuid, user_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (
    select from public.participants side
    join public.participants p on p.deal_id = side.deal_id
    join public.deals d on d.id = side.deal_id
    where side.id = side_knows.principal_id and p.user_id = side_knows.user_id
      and (side.deal_id = any (app.deals_as('broker', 'seller')) or side.id = any (app.principals())) and (
      side.role <> 'buyer'
      or coalesce(p.advises, p.id) = side.id
      or (p.status = 'active' and (p.role = 'broker' or (p.role = 'seller' and (not d.needs_nda or exists (
        select from public.ndas n
        where n.participant_id = side.id and n.status = 'active' and (n.expires_at is null or n.expires_at > app.now()))))))));
end
$$;

-- The buyer's side that is selected on a deal, to brokers, sellers and that side, or null; also after the exclusivity's date has passed unreleased.
create function app.selected_side(deal_id uuid) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select x.participant_id from public.exclusivities x
    where x.deal_id = selected_side.deal_id and x.ended_at is null
      and (x.deal_id = any (app.deals_as('broker', 'seller')) or x.participant_id = any (app.principals()))
      and (x.expires_at > app.now() or not exists (
        select from public.deal_stages g where g.deal_id = x.deal_id and g.state = 'exclusivity')));
end
$$;

-- The owner of a condition or finding takes part in the deal: an id from elsewhere is refused like one that does not exist.
-- It looks with the caller's eyes, or a buyer could find out by it who else is a buyer. Whoever reads the record may know
-- the owner: the selected buyer's side reads conditions, and a buyer's side its own findings.
create function app.check_owner_takes_part() returns trigger
language plpgsql set search_path = '' as $$
declare
  reader uuid;
begin
  if new.owner_user_id is null or (tg_op = 'UPDATE' and new.owner_user_id is not distinct from old.owner_user_id) then
    return new;
  end if;
  if not exists (
    select from public.participants p
    where p.deal_id = new.deal_id and p.user_id = new.owner_user_id and p.status = 'active')
  then
    perform app.refuse('owner_takes_no_part', 'The owner must be an active participant of the deal.');
  end if;
  reader := case when tg_table_name = 'closing_conditions' then app.selected_side(new.deal_id)
    else (to_jsonb(new) ->> 'participant_id')::uuid end;
  if app.user_id() is not null and reader is not null and not app.side_knows(reader, new.owner_user_id) then
    perform app.refuse('owner_not_known_to_buyer',
      'The buyer who reads this may not know of this person: choose a broker, somebody of the buyer''s side or, under an NDA, the seller.');
  end if;
  return new;
end
$$;
grant execute on function app.side_knows(uuid, uuid), app.selected_side(uuid) to dealkeep_server;
create trigger check_owner before insert or update of owner_user_id on closing_conditions for each row
  execute function app.check_owner_takes_part();

create trigger limit_of_deal before insert on closing_conditions for each row
  execute function app.limit_of_deal('500', 'closing conditions');

-- Another buyer would learn from them that the sale goes elsewhere: only the selected buyer's side sees them.
create policy all_but_other_buyers_see_it on closing_conditions for select to dealkeep_server
  using (deal_id = any ((select app.deals_as('broker', 'seller', 'viewer'))::uuid[])
    or deal_id = any ((select app.deals_as_selected_buyer())::uuid[])
    or exists (select from deals d where d.id = deal_id
      and d.organization_id = any ((select app.brokerages_as('admin'))::uuid[])));
create policy brokers_add on closing_conditions for insert to dealkeep_server
  with check (deal_id = any ((select app.deals_acting_as('broker'))::uuid[]));
create policy brokers_and_owners_change on closing_conditions for update to dealkeep_server
  using (deal_id = any ((select app.deals_acting_as('broker'))::uuid[])
    or (owner_user_id = (select app.user_id()) and deal_id = any ((select app.deals_acting_as('seller', 'buyer', 'advisor'))::uuid[])));
create policy brokers_take_out on closing_conditions for delete to dealkeep_server
  using (deal_id = any ((select app.deals_acting_as('broker'))::uuid[]));
grant select, insert (deal_id, name, status, owner_user_id, deadline), update (name, status, owner_user_id, deadline), delete
  on closing_conditions to dealkeep_server;

-- Findings and financing: each belongs to the side that recorded it; brokers and sellers see those of every side ----------------

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
  commitment_amount numeric(20, 0) not null check (commitment_amount >= 0),
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
    where p.role in ('broker', 'seller') or (p.principal_role = 'buyer' and exists (
      select from public.ndas n
      where n.participant_id = p.principal_id and n.status = 'active' and (n.expires_at is null or n.expires_at > app.now()))));
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
