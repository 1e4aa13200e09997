-- What buyers ask: a question goes to the broker, from there to the seller, and the answer back through the broker.

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
create index questions_waiting on questions (deal_id, status) where status in ('pending_broker_review', 'with_seller', 'answered');

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

-- Until when somebody has read the answers that came to their side of a deal: what came later is new to them.
create table answer_readings (
  deal_id uuid not null references deals,
  user_id uuid not null references users default app.user_id(),
  read_until timestamptz not null default app.now(),
  primary key (deal_id, user_id)
);
select app.protect('answer_readings');
create policy own on answer_readings for select to dealkeep_server using (user_id = (select app.user_id()));
create policy buyers_sides_read on answer_readings for insert to dealkeep_server
  with check (user_id = (select app.user_id()) and deal_id = any ((select app.deals_as('buyer'))::uuid[]));
create policy own_changes on answer_readings for update to dealkeep_server
  using (user_id = (select app.user_id()) and deal_id = any ((select app.deals_as('buyer'))::uuid[]));
grant select, insert (deal_id), update (read_until) on answer_readings to dealkeep_server;

-- Whether an answer came to the caller's side since they last read.
create function app.is_unread(deal_id uuid, participant_id uuid, distributed_at timestamptz) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return participant_id = any (app.principals()) and not exists (
    select from public.answer_readings r
    where r.deal_id = is_unread.deal_id and r.user_id = app.user_id() and r.read_until >= coalesce(is_unread.distributed_at, '-infinity'));
end
$$;
grant execute on function app.is_unread(uuid, uuid, timestamptz) to dealkeep_server;
