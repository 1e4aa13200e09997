-- What the pages of a deal need beyond its records: guards, an NDA and an exclusivity that follow from what is there
-- already, answering an invitation, and the deal's activity.

-- Stands in front of what is done to a record: refused unless the caller sees it, whether or not there is one.
create function app.must_see(seen boolean) returns void
language plpgsql set search_path = '' as $$
begin
  if seen is not true then
    perform app.refuse('not_found', 'There is nothing here, or not for you.');
  end if;
end
$$;
grant execute on function app.must_see(boolean) to dealkeep_server;

-- NDAs -----------------------------------------------------------------------------------------------------------------

-- An NDA goes to a buyer who has none waiting or active, and ends, if at all, in the future.
create function app.take_nda() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if not new.deal_id = any (app.deals_acting_as('broker')) then
    return new;  -- the owner, loading data; anybody else is turned away by the policy
  end if;
  perform from public.participants p
    where p.id = new.participant_id and p.deal_id = new.deal_id and p.role = 'buyer' and p.status <> 'removed' for update;
  if not found then
    perform app.refuse('not_a_buyer', 'An NDA is sent to a buyer who takes part in the deal or is invited to it.');
  end if;
  if new.expires_at <= app.now() then
    perform app.refuse('expires_in_the_past', 'The NDA must end in the future, or not at all.');
  end if;
  if exists (select from public.ndas n
    where n.participant_id = new.participant_id and n.status in ('sent', 'active')
      and (n.expires_at is null or n.expires_at > app.now()))
  then
    perform app.refuse('nda_there_already', 'This buyer has an NDA that waits or is active: revoke it first.');
  end if;
  return new;
end
$$;
create trigger take_it before insert on ndas for each row execute function app.take_nda();

-- Exclusivity ------------------------------------------------------------------------------------------------------------

-- The offer that was accepted, where exclusivity was granted for one.
alter table offers add unique (id, participant_id);
alter table exclusivities
  add offer_id uuid,
  add foreign key (offer_id, participant_id) references offers (id, participant_id);
create index exclusivities_by_offer on exclusivities (offer_id) where offer_id is not null;
grant insert (offer_id) on exclusivities to dealkeep_server;

create function app.check_accepted_offer() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform from public.offers o where o.id = new.offer_id and o.is_current for share;
  if not found then
    perform app.refuse('offer_superseded', 'The buyer has revised this offer since: look at the latest one.');
  end if;
  return new;
end
$$;
create trigger check_offer before insert on exclusivities for each row
  when (new.offer_id is not null) execute function app.check_accepted_offer();

-- What became of a revision. Accepted terms stay on record as accepted; what the buyer with the exclusivity submits after
-- them is a proposal to change them, which a broker accepts or declines.
create table offer_decisions (
  offer_id uuid primary key,
  deal_id uuid not null references deals,
  participant_id uuid not null,
  decision text not null check (decision in ('accepted', 'declined')),
  decided_by uuid references users default app.user_id(),
  decided_at timestamptz not null default app.now(),
  foreign key (offer_id, participant_id) references offers (id, participant_id),
  foreign key (participant_id, deal_id) references participants (id, deal_id)
);
create index offer_decisions_by_deal on offer_decisions (deal_id);
create index offer_decisions_by_participant on offer_decisions (participant_id, decided_at desc);
select app.protect('offer_decisions');
create policy deal_side_and_own_side on offer_decisions for select to dealkeep_server
  using (deal_id = any ((select app.deals_as('broker', 'seller'))::uuid[])
    or participant_id = any ((select app.principals())::uuid[]));
grant select on offer_decisions to dealkeep_server;

-- Exclusivity that is granted for an offer accepts it.
create function app.accept_offer_with_exclusivity() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into public.offer_decisions (offer_id, deal_id, participant_id, decision, decided_by, decided_at)
    values (new.offer_id, new.deal_id, new.participant_id, 'accepted', new.granted_by, new.granted_at)
    on conflict (offer_id) do update
      set decision = excluded.decision, decided_by = excluded.decided_by, decided_at = excluded.decided_at;
  return null;
end
$$;
create trigger accept_offer after insert on exclusivities for each row
  when (new.offer_id is not null) execute function app.accept_offer_with_exclusivity();

-- The revision whose terms are agreed on a deal at this moment, or null: the one accepted last from the buyer who holds
-- the exclusivity, or held it when the deal was closed. It looks with the caller's eyes.
create function app.accepted_offer(deal_id uuid) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return (
    select c.offer_id
    from public.exclusivities x
    join public.offer_decisions c on c.participant_id = x.participant_id and c.decision = 'accepted' and c.decided_at >= x.granted_at
    join public.offers o on o.id = c.offer_id
    where x.deal_id = accepted_offer.deal_id and x.ended_at is null
      and (x.expires_at > app.now() or app.state_shown(x.deal_id) in ('diligence', 'closing', 'closed'))
    order by c.decided_at desc, o.revision_number desc
    limit 1);
end
$$;

-- Accepts or declines what the buyer with the exclusivity offers by now; the deal, or null when the caller is no broker of it.
create function app.decide_offer(offer_id uuid, decision text) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  offer public.offers;
begin
  select o.* into offer from public.offers o
    where o.id = decide_offer.offer_id and o.deal_id = any (app.deals_acting_as('broker')) for share;
  if not found then
    return null;
  end if;
  if not offer.is_current then
    perform app.refuse('offer_superseded', 'The buyer has revised this offer since: look at the latest one.');
  end if;
  if not exists (select from public.exclusivities x
    where x.participant_id = offer.participant_id and x.ended_at is null
      and (x.expires_at > app.now() or app.actual_state(x.deal_id) in ('diligence', 'closing')))
  then
    perform app.refuse('no_exclusivity', 'This buyer holds no exclusivity: accept the offer by granting it.');
  end if;
  if exists (select from public.offer_decisions c where c.offer_id = offer.id and c.decision = 'accepted') then
    perform app.refuse('offer_accepted', 'These terms are accepted already.');
  end if;
  insert into public.offer_decisions as c (offer_id, deal_id, participant_id, decision)
    values (offer.id, offer.deal_id, offer.participant_id, decide_offer.decision)
    on conflict on constraint offer_decisions_pkey do update
      set decision = excluded.decision, decided_by = excluded.decided_by, decided_at = excluded.decided_at;
  return offer.deal_id;
end
$$;
grant execute on function app.accepted_offer(uuid), app.decide_offer(uuid, text) to dealkeep_server;

-- Invitations --------------------------------------------------------------------------------------------------------------

-- Whether the caller's account could be a stranger's to this brokerage: its password was chosen with a link that did not
-- come by mail, nobody has shown since that the mailbox is theirs, and no admin of the brokerage has made them a member.
create function app.address_in_doubt(brokerage uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from vault.passwords w where w.user_id = app.user_id() and w.address_proven_at is null)
    and not brokerage = any (app.brokerages_as('admin', 'broker', 'staff'));
end
$$;

-- Invitations that wait for the caller: no more of the deal than they need to answer. Any broker may pass a link on, and
-- with it somebody else's account can be opened: such an account learns of invitations by their links alone.
create function app.deal_invitations()
returns table (participant_id uuid, role text, brokerage_name text, deal_title text, invited_at timestamptz)
language sql stable security definer set search_path = '' as $$
  select p.id, p.role, b.name, d.title, p.updated_at
  from public.participants p
  join public.deals d on d.id = p.deal_id
  join public.brokerages b on b.id = d.organization_id
  where p.user_id = app.user_id() and p.status = 'invited' and not app.address_in_doubt(d.organization_id)
  order by p.updated_at desc
$$;

-- The caller joins a deal that they were invited to, or declines; the deal, or null when no such invitation waits for them.
create function app.answer_deal_invitation(participation uuid, accepts boolean, address inet, request_id text)
returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  answered uuid;
  had_joined boolean;
  known_as text;
begin
  if app.client_id() is not null then
    return null;
  end if;
  select p.joined_at is not null, p.invited_name into had_joined, known_as from public.participants p where p.id = participation;
  update public.participants p set status = case when accepts then 'active' else 'removed' end
    from public.deals d
    where p.id = participation and p.user_id = app.user_id() and p.status = 'invited'
      and d.id = p.deal_id and not app.address_in_doubt(d.organization_id)
    returning p.deal_id into answered;
  if found then
    delete from vault.invitations i where i.participant_id = participation and i.used_at is null;
    if accepts or had_joined then
      perform app.audit(case when accepts then 'invitation.accept' else 'invitation.decline' end, participation::text, 'done',
        null, answered, address, request_id, '{}');
    else
      -- The person's own record, and another for the deal's people, who do not learn whose account it was.
      perform app.record(app.user_id(), 'invitation.decline', 'done', null, address, request_id);
      insert into public.audit_records (brokerage_id, deal_id, action, subject_id, outcome, details)
        select d.organization_id, d.id, 'invitation.decline', participation, 'done', jsonb_build_object('name', known_as)
        from public.deals d where d.id = answered;
    end if;
  end if;
  return answered;
end
$$;
grant execute on function app.deal_invitations(), app.answer_deal_invitation(uuid, boolean, inet, text) to dealkeep_server;

-- Closing --------------------------------------------------------------------------------------------------------------------

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

-- Activity -------------------------------------------------------------------------------------------------------------------

-- Who runs a sale sees what was done on it.
create policy brokers_of_the_deal on audit_records for select to dealkeep_server
  using (deal_id = any ((select app.deals_acting_as('broker'))::uuid[]));

-- What counts as activity: what was done, but not what tools only read.
create index activity_by_deal on audit_records (deal_id, at desc, id desc)
  where outcome in ('done', 'ok') and (action not like 'tool:%' or action in ('tool:svc_questions_create',
    'tool:svc_qoe_normalization_create', 'tool:svc_findings_create', 'tool:svc_findings_update_status',
    'tool:svc_findings_comment', 'tool:svc_financing_source_create', 'tool:svc_financing_source_update_status'));
create index activity_by_brokerage on audit_records (brokerage_id, at desc, id desc)
  where outcome in ('done', 'ok') and (action not like 'tool:%' or action in ('tool:svc_questions_create',
    'tool:svc_qoe_normalization_create', 'tool:svc_findings_create', 'tool:svc_findings_update_status',
    'tool:svc_findings_comment', 'tool:svc_financing_source_create', 'tool:svc_financing_source_update_status'));

-- What waits --------------------------------------------------------------------------------------------------------------------

create index questions_waiting on questions (deal_id, status) where status in ('pending_broker_review', 'with_seller', 'answered');
create index conditions_to_meet on closing_conditions (deal_id, deadline) where status in ('open', 'in_progress');

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
