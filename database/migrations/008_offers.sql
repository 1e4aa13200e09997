-- Offers, the exclusivity that is granted for one, and what became of each revision.

-- Offers --------------------------------------------------------------------------------------------------------------

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
  unique (deal_id, buyer_user_id, revision_number),
  unique (id, participant_id)
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

-- Exclusivity ---------------------------------------------------------------------------------------------------------

create table exclusivities (
  id uuid primary key default app.uuid_v7(),
  deal_id uuid not null references deals,
  participant_id uuid not null,
  buyer_user_id uuid not null references users,
  granted_by uuid references users default app.user_id(),
  granted_at timestamptz not null default app.now(),
  expires_at timestamptz not null,
  ended_at timestamptz,
  -- The offer that was accepted, where exclusivity was granted for one.
  offer_id uuid,
  foreign key (participant_id, deal_id) references participants (id, deal_id),
  foreign key (offer_id, participant_id) references offers (id, participant_id),
  check (expires_at > granted_at)
);
create unique index one_exclusivity_a_deal on exclusivities (deal_id) where ended_at is null;
create index exclusivities_by_participant on exclusivities (participant_id);
create index exclusivities_by_offer on exclusivities (offer_id) where offer_id is not null;
select app.protect('exclusivities');

-- The selected buyer of each deal, also after the exclusivity's date has passed unreleased.
create view vault.selected_buyers as
  select x.deal_id, x.participant_id from exclusivities x
  where x.ended_at is null and (x.expires_at > app.now() or not exists (
    select from deal_stages g where g.deal_id = x.deal_id and g.state = 'exclusivity'));

-- A buyer whom it does not name learns nothing of an exclusivity.
create policy all_but_other_buyers_see_it on exclusivities for select to dealkeep_server
  using (deal_id = any ((select app.deals_as('broker', 'seller', 'viewer'))::uuid[])
    or participant_id = any ((select app.principals())::uuid[])
    or exists (select from deals d where d.id = deal_id
      and d.organization_id = any ((select app.brokerages_as('admin'))::uuid[])));
create policy brokers_grant_it on exclusivities for insert to dealkeep_server
  with check (deal_id = any ((select app.deals_acting_as('broker'))::uuid[]) and ended_at is null);
create policy brokers_extend_or_release_it on exclusivities for update to dealkeep_server
  using (deal_id = any ((select app.deals_acting_as('broker'))::uuid[]));
grant select, insert (deal_id, participant_id, expires_at, offer_id), update (expires_at, ended_at) on exclusivities
  to dealkeep_server;

-- The buyer is the participant's person; the deal moves with its exclusivity.
create function app.begin_exclusivity() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if not (new.deal_id = any (app.deals_acting_as('broker')) or app.user_id() is null) then
    return new;  -- the policy refuses it, with the same answer as for a deal that does not exist
  end if;
  select p.user_id into new.buyer_user_id from public.participants p
    where p.id = new.participant_id and p.deal_id = new.deal_id and p.role = 'buyer' and p.status = 'active';
  if not found then
    perform app.refuse('not_an_active_buyer', 'Exclusivity is granted to an active buyer of the deal.');
  end if;
  if new.expires_at <= app.now() then
    perform app.refuse('expires_in_the_past', 'The exclusivity must end in the future.');
  end if;
  update public.exclusivities x set ended_at = x.expires_at
    where x.deal_id = new.deal_id and x.ended_at is null and x.expires_at <= app.now();
  if exists (select from public.exclusivities x where x.deal_id = new.deal_id and x.ended_at is null) then
    perform app.refuse('exclusivity_runs', 'A buyer already has exclusivity: release it first.');
  end if;
  return new;
end
$$;
create trigger begin_it before insert on exclusivities for each row execute function app.begin_exclusivity();

create function app.move_deal_with_exclusivity() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if tg_op = 'INSERT' then
    update public.deals d set state = 'exclusivity'
      where d.id = new.deal_id and app.actual_state(d.id) not in ('exclusivity', 'diligence', 'closing');
  elsif new.ended_at is not null and old.ended_at is null then
    update public.deals d set state = 'listed' where d.id = new.deal_id and app.actual_state(d.id) = 'exclusivity';
  end if;
  return null;
end
$$;
create trigger move_deal after insert or update of ended_at on exclusivities for each row
  execute function app.move_deal_with_exclusivity();

-- A lapsed exclusivity is over; in later states its date is a record that a broker may still correct.
create function app.keep_exclusivity() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if old.ended_at is not null then
    perform app.refuse('exclusivity_over', 'This exclusivity is over: grant a new one.');
  end if;
  if new.ended_at is not null then
    new.ended_at := least(app.now(), old.expires_at);
  elsif new.expires_at <> old.expires_at and app.user_id() is not null then
    if new.expires_at <= app.now() then
      perform app.refuse('expires_in_the_past', 'The exclusivity must end in the future: release it to end it now.');
    end if;
    if old.expires_at <= app.now() and app.actual_state(old.deal_id) = 'exclusivity' then
      perform app.refuse('exclusivity_over', 'This exclusivity is over: grant a new one.');
    end if;
  end if;
  return new;
end
$$;
create trigger keep before update on exclusivities for each row execute function app.keep_exclusivity();

-- No exclusivity outlives the states in which somebody can hold it.
create function app.end_exclusivity_with_deal() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if app.actual_state(new.id) in ('draft', 'listed', 'under_offer', 'withdrawn') then
    update public.exclusivities x set ended_at = app.now() where x.deal_id = new.id and x.ended_at is null;
  end if;
  return null;
end
$$;
create trigger end_exclusivity after update of state on deals for each row execute function app.end_exclusivity_with_deal();

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

-- What became of an offer ---------------------------------------------------------------------------------------------

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
