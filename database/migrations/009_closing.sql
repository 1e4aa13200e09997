-- Closing: the conditions that are to be met, and what is missing before a deal is closed.

-- When a day is over everywhere on earth: a deadline has passed when nobody's calendar shows it any more.
create function app.end_of(day date) returns timestamptz
language sql immutable parallel safe set search_path = '' as $$
  select (day + 1)::timestamp at time zone 'UTC' + interval '12 hours'
$$;

-- Whether a closing condition should have been met by now.
create function app.is_overdue(status text, deadline date) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return coalesce(status in ('open', 'in_progress') and app.end_of(deadline) <= app.now(), false);
end
$$;
grant execute on function app.end_of(date), app.is_overdue(text, date) to dealkeep_server;

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
create index conditions_to_meet on closing_conditions (deal_id, deadline) where status in ('open', 'in_progress');

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
        select from vault.active_ndas n where n.participant_id = side.id)))))));
end
$$;

-- The buyer's side that is selected on a deal, to brokers, sellers and that side, or null.
create function app.selected_side(deal_id uuid) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select s.participant_id from vault.selected_buyers s
    where s.deal_id = selected_side.deal_id
      and (s.deal_id = any (app.deals_as('broker', 'seller')) or s.participant_id = any (app.principals())));
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

-- The owner of a condition reports how far it is; what it says, when it is due and whether it is waived is the broker's.
create function app.check_condition_change() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if app.user_id() is null or new.deal_id = any (app.deals_acting_as('broker')) then
    return new;
  end if;
  if (new.name, new.owner_user_id, new.deadline) is distinct from (old.name, old.owner_user_id, old.deadline) then
    perform app.refuse('broker_only', 'Only a broker of the deal changes what a condition says, whose it is or when it is due.');
  end if;
  if new.status <> old.status and 'waived' in (new.status, old.status) then
    perform app.refuse('broker_only', 'Only a broker of the deal waives a condition, or takes that back.');
  end if;
  return new;
end
$$;
create trigger check_change before update on closing_conditions for each row execute function app.check_condition_change();

-- What is missing for a closing, a sentence each; for the deal's brokers, {} for everybody else.
create function app.closing_warnings(deal_id uuid) returns text[]
language plpgsql stable security definer set search_path = '' as $$
declare
  warnings text[] := '{}';
  open_conditions text[];
  questions int;
  selected uuid;
  buyer text;
begin
  if not deal_id = any (app.deals_acting_as('broker')) then
    return '{}';
  end if;
  select array_agg(c.name order by c.deadline nulls last, c.id) into open_conditions from public.closing_conditions c
    where c.deal_id = closing_warnings.deal_id and c.status in ('open', 'in_progress');
  if cardinality(open_conditions) = 1 then
    warnings := array_append(warnings, format('A closing condition is not met: %s.', open_conditions[1]));
  elsif cardinality(open_conditions) > 1 then
    warnings := array_append(warnings, format('%s closing conditions are not met: %s%s.', cardinality(open_conditions),
      array_to_string(open_conditions[1:5], ', '), case when cardinality(open_conditions) > 5 then ' and others' end));
  end if;
  select x.participant_id, u.name into selected, buyer
    from public.exclusivities x
    join public.participants p on p.id = x.participant_id and p.status = 'active'
    join public.users u on u.id = x.buyer_user_id
    where x.deal_id = closing_warnings.deal_id and x.ended_at is null;
  if selected is null then
    warnings := array_append(warnings, 'No buyer holds the exclusivity: the record will not say who bought.');
  end if;
  if app.accepted_offer(deal_id) is null then
    warnings := array_append(warnings, 'No offer is accepted: the record will not say on which terms.');
  elsif exists (select from public.offers o where o.participant_id = selected and o.is_current
    and not exists (select from public.offer_decisions c where c.offer_id = o.id))
  then
    warnings := array_append(warnings, 'A proposed change of the accepted terms is not decided.');
  end if;
  if not (select d.needs_nda from public.deals d where d.id = closing_warnings.deal_id) then
    null;
  elsif selected is not null and not exists (select from vault.active_ndas n where n.participant_id = selected) then
    warnings := array_append(warnings, format('%s has no active NDA.', buyer));
  elsif selected is null and not exists (select from vault.active_ndas n where n.deal_id = closing_warnings.deal_id) then
    warnings := array_append(warnings, 'Nobody has an active NDA.');
  end if;
  select count(*) into questions from public.questions q
    where q.deal_id = closing_warnings.deal_id and q.status in ('pending_broker_review', 'with_seller', 'answered');
  if questions = 1 then
    warnings := array_append(warnings, 'A question is still without its answer.');
  elsif questions > 1 then
    warnings := array_append(warnings, format('%s questions are still without their answers.', questions));
  end if;
  return warnings;
end
$$;

-- True, or a refusal: a deal is closed only when nothing is missing, or its broker has said that they know what is.
create function app.may_move(deal_id uuid, target text, confirmed boolean) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  if target = 'closed' and not coalesce(confirmed, false) and app.state_shown(deal_id) = 'closing'
    and app.closing_warnings(deal_id) <> '{}'
  then
    perform app.refuse('closing_unconfirmed', 'Something is missing for a closing: look at it, and confirm that the deal is closed all the same.');
  end if;
  return true;
end
$$;
grant execute on function app.closing_warnings(uuid), app.may_move(uuid, text, boolean) to dealkeep_server;
