-- Deals, the people on them and their NDAs: what decides who sees what of a sale.

create table deals (
  id uuid primary key default app.uuid_v7(),
  organization_id uuid not null references brokerages,
  title text not null check (length(title) between 1 and 200),
  state text not null default 'draft' check (state in
    ('draft', 'listed', 'under_offer', 'exclusivity', 'diligence', 'closing', 'closed', 'withdrawn')),
  industry text check (length(industry) <= 120),
  location text check (length(location) <= 120),
  summary text check (length(summary) <= 8000),
  asking_price numeric(20, 4) check (asking_price >= 0),
  currency text not null default 'USD' check (currency ~ '^[A-Z]{3}$'),
  -- Whether a buyer learns who sells only under an active NDA.
  needs_nda boolean not null default true,
  closed_at timestamptz,
  created_by uuid references users,
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now()
);
create index deals_by_brokerage on deals (organization_id, created_at desc, id desc);
select app.protect('deals');
-- A move that not everybody may know of leaves the row as it was: its date must not tell of it.
create trigger touch before update on deals for each row when (old.* is distinct from new.*) execute function app.touch();

-- How far a sale to a selected buyer has come: a row while the deal is in one of these states. `deals.state` is what
-- everybody on the deal may know and says under_offer meanwhile. A move is written to `deals.state` in all states: the
-- triggers below put it where it belongs.
create table deal_stages (
  deal_id uuid primary key references deals deferrable initially deferred,
  state text not null check (state in ('exclusivity', 'diligence', 'closing')),
  updated_at timestamptz not null default app.now()
);
select app.protect('deal_stages');

-- An advisor is attached to the participant whom they advise, and sees what that participant sees. The participant
-- through whom somebody sees a deal is called their principal: for an advisor the advised, for everybody else themself.
create table participants (
  id uuid primary key default app.uuid_v7(),
  deal_id uuid not null references deals,
  user_id uuid not null references users,
  role text not null check (role in ('broker', 'seller', 'buyer', 'advisor', 'viewer')),
  status text not null default 'invited' check (status in ('invited', 'active', 'removed')),
  advises uuid,
  -- As for members: until they have accepted, what was typed is all that shows of a person.
  invited_name text check (length(invited_name) between 1 and 200),
  invited_email text check (length(invited_email) between 3 and 254),
  joined_at timestamptz,
  person_id uuid generated always as (case when joined_at is null then id else user_id end) stored,
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now(),
  unique (deal_id, user_id),
  unique (id, deal_id),
  foreign key (advises, deal_id) references participants (id, deal_id),
  check ((role = 'advisor') = (advises is not null))
);
create index participants_by_user on participants (user_id, status) include (id, deal_id, role, advises);
create index participants_by_advised on participants (advises) where advises is not null;
select app.protect('participants');
create trigger touch before update on participants for each row execute function app.touch();
create trigger note_joining before insert or update of status on participants for each row execute function app.note_joining();

insert into app.moves values
  ('participant', 'invited', 'active'), ('participant', 'invited', 'removed'), ('participant', 'active', 'removed'),
  ('participant', 'removed', 'invited');
create trigger check_move before update of status on participants for each row
  execute function app.check_move('participant', 'status');

create table ndas (
  id uuid primary key default app.uuid_v7(),
  deal_id uuid not null references deals,
  participant_id uuid not null,
  status text not null default 'sent' check (status in ('sent', 'active', 'expired', 'revoked')),
  terms text not null check (length(terms) between 1 and 40000),
  sent_by uuid references users default app.user_id(),
  sent_at timestamptz not null default app.now(),
  signed_at timestamptz,
  signed_name text check (length(signed_name) between 1 and 200),
  signed_address inet,
  expires_at timestamptz,
  revoked_at timestamptz,
  foreign key (participant_id, deal_id) references participants (id, deal_id),
  check (status <> 'active' or (signed_at is not null and signed_name is not null))
);
create index ndas_by_participant on ndas (participant_id);
create index ndas_by_deal on ndas (deal_id, sent_at desc);
select app.protect('ndas');

insert into app.moves values
  ('nda', 'sent', 'active'), ('nda', 'sent', 'expired'), ('nda', 'sent', 'revoked'),
  ('nda', 'active', 'expired'), ('nda', 'active', 'revoked');
create trigger check_move before update of status on ndas for each row execute function app.check_move('nda', 'status');

-- The NDAs by which a buyer's side may see what is under NDA at this moment.
create view vault.active_ndas as
  select n.deal_id, n.participant_id from ndas n
  where n.status = 'active' and (n.expires_at is null or n.expires_at > app.now());

-- What the caller is to each deal ----------------------------------------------------------------------------------
--
-- Each answers an array of deal (or participant) ids, to be compared with `= any ((select …)::uuid[])`: it is
-- computed once a statement, and an index on deal_id serves it. Nobody and API keys get '{}'. In PL/pgSQL, which keeps
-- their plans.

-- The caller's part in each deal, with their principal's, without the deals that are barred to them; for the owner's
-- functions. It is what every answer below is made of. In SQL, so that PostgreSQL puts it in the place of each call and
-- reads no more than is asked for.
create function app.participations()
returns table (deal_id uuid, participant_id uuid, role text, principal_id uuid, principal_role text)
language sql stable
begin atomic
  select own.deal_id, own.id, own.role, coalesce(own.advises, own.id), case
    when own.advises is null then own.role
    else (select principal.role from public.participants principal where principal.id = own.advises) end
  from public.participants own
  where own.user_id = (select app.user_id()) and own.status = 'active'
    and (own.advises is null or exists (
      select from public.participants principal where principal.id = own.advises and principal.status = 'active'))
    and ((select app.barred_in(app.identity())) = '{}' or not exists (
      select from public.deals d
      where d.id = own.deal_id and d.organization_id = any ((select app.barred_in(app.identity()))::uuid[])));
end;

-- Deals that the caller sees as one of these roles, be it as an advisor of somebody who has the role.
create function app.deals_as(variadic roles text[]) returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select coalesce(array_agg(p.deal_id), '{}') from app.participations() p where p.principal_role = any (roles));
end
$$;

-- Deals on which the caller has one of these roles themself: acting is not for advisors unless it says so.
create function app.deals_acting_as(variadic roles text[]) returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select coalesce(array_agg(p.deal_id), '{}') from app.participations() p where p.role = any (roles));
end
$$;

-- The participants through whom the caller sees deals: what belongs to them belongs to the caller's side.
create function app.principals() returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select coalesce(array_agg(p.principal_id), '{}') from app.participations() p);
end
$$;

-- Deals on which the caller's side has an active NDA.
create function app.deals_under_nda() returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select coalesce(array_agg(distinct p.deal_id), '{}')
    from app.participations() p
    join vault.active_ndas n on n.participant_id = p.principal_id);
end
$$;

-- Deals that the caller sees as a buyer's side which may know who sells: under an active NDA, or where none is needed.
create function app.deals_with_known_seller() returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select coalesce(array_agg(p.deal_id), '{}')
    from app.participations() p
    join public.deals d on d.id = p.deal_id
    where p.principal_role = 'buyer'
      and (not d.needs_nda or exists (select from vault.active_ndas n where n.participant_id = p.principal_id)));
end
$$;

-- Deals that the caller's side holds exclusively at this moment: as buyers, which they may not be any more.
create function app.deals_held_exclusively() returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select coalesce(array_agg(p.deal_id), '{}')
    from app.participations() p
    join public.exclusivities x on x.participant_id = p.principal_id
    where p.principal_role = 'buyer' and x.ended_at is null and x.expires_at > app.now());
end
$$;

-- Deals on which the caller's side is the selected buyer, also after the exclusivity's date has passed unreleased.
create function app.deals_as_selected_buyer() returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select coalesce(array_agg(p.deal_id), '{}')
    from app.participations() p
    join vault.selected_buyers s on s.participant_id = p.principal_id
    where p.principal_role = 'buyer');
end
$$;

-- Whether somebody who takes part in the deals `participating`, and administers the brokerages `administered`, sees a deal.
-- An expression without a body of its own, so that PostgreSQL puts it in the place of each call and uses the indexes.
create function app.deal_is_visible(deal_id uuid, organization_id uuid, participating uuid[], administered uuid[]) returns boolean
language sql immutable parallel safe
return deal_id = any (participating) or organization_id = any (administered);

-- The deal's id when the caller sees it, as its policy says, else null; by the same work whether there is such a deal or
-- not, so that the time does not tell. A policy works out whose deals they are only when it finds a row.
create function app.seen_deal(deal uuid) returns uuid
language plpgsql stable security definer set search_path = '' as $$
declare
  participating constant uuid[] := app.deals_as('broker', 'seller', 'buyer', 'viewer');
  administered constant uuid[] := app.brokerages_as('admin');
begin
  return (select d.id from public.deals d
    where d.id = deal and app.deal_is_visible(d.id, d.organization_id, participating, administered));
end
$$;

-- Whether an active broker is on the deal: without one nobody can review a question.
create function app.has_broker(deal_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from public.participants p
    where p.deal_id = has_broker.deal_id and p.role = 'broker' and p.status = 'active');
end
$$;

-- The deal's exclusivity that still runs; an exclusivity whose date has passed is over even before it is swept up.
create function app.exclusivity_runs(deal_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from public.exclusivities x
    where x.deal_id = exclusivity_runs.deal_id and x.ended_at is null and x.expires_at > app.now());
end
$$;

-- The state that is written down for a deal, whoever asks: for the owner's functions alone.
create function app.actual_state(deal_id uuid) returns text
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select coalesce(g.state, d.state) from public.deals d left join public.deal_stages g on g.deal_id = d.id
    where d.id = actual_state.deal_id);
end
$$;

-- Whether the deal's exclusivity has lapsed without that being written down yet. Who sees the deal may know: it is
-- listed again.
create function app.exclusivity_lapsed(deal_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from public.deal_stages g where g.deal_id = exclusivity_lapsed.deal_id and g.state = 'exclusivity')
    and not app.exclusivity_runs(deal_id) and app.seen_deal(deal_id) is not null;
end
$$;

-- The state that a deal is in now, from the state that the caller sees of it: one whose exclusivity has lapsed is listed
-- again. Lists give it `coalesce(g.state, d.state)`, of a deal d and its row g of deal_stages that the caller sees.
create function app.state_now(deal_id uuid, state text) returns text
language plpgsql stable set search_path = '' as $$
begin
  return case when state in ('under_offer', 'exclusivity') and app.exclusivity_lapsed(deal_id) then 'listed' else state end;
end
$$;

-- The state that the caller is shown of a deal, or null of one that they do not see.
create function app.state_shown(deal_id uuid) returns text
language plpgsql stable set search_path = '' as $$
begin
  return (
    select app.state_now(d.id, coalesce(g.state, d.state))
    from public.deals d left join public.deal_stages g on g.deal_id = d.id
    where d.id = state_shown.deal_id);
end
$$;
grant execute on function app.deals_as(text[]), app.deals_acting_as(text[]), app.principals(), app.deals_under_nda(),
  app.deals_with_known_seller(), app.deals_held_exclusively(), app.deals_as_selected_buyer(),
  app.deal_is_visible(uuid, uuid, uuid[], uuid[]), app.seen_deal(uuid), app.has_broker(uuid),
  app.exclusivity_lapsed(uuid), app.state_now(uuid, text), app.state_shown(uuid) to dealkeep_server;

-- Who sees and changes what --------------------------------------------------------------------------------------------

create policy participants_and_admins_see_it on deals for select to dealkeep_server
  using (app.deal_is_visible(id, organization_id, (select app.deals_as('broker', 'seller', 'buyer', 'viewer'))::uuid[],
    (select app.brokerages_as('admin'))::uuid[]));
create policy brokers_change_it on deals for update to dealkeep_server
  using (id = any ((select app.deals_acting_as('broker'))::uuid[]));
grant select, update (title, state, industry, location, summary, asking_price, currency, needs_nda) on deals to dealkeep_server;

-- A buyer whom the exclusivity does not name sees that the deal is under offer, and nothing of where it goes.
create policy all_but_other_buyers_see_it on deal_stages for select to dealkeep_server
  using (deal_id = any ((select app.deals_as('broker', 'seller', 'viewer'))::uuid[])
    or deal_id = any ((select app.deals_as_selected_buyer())::uuid[])
    or exists (select from deals d where d.id = deal_id
      and d.organization_id = any ((select app.brokerages_as('admin'))::uuid[])));
grant select on deal_stages to dealkeep_server;

create policy people_of_its_deals_see_it on brokerages for select to dealkeep_server
  using (exists (select from deals d where d.organization_id = brokerages.id));

-- A buyer sees brokers, under an NDA also sellers, and their own side, never another buyer; the deal's other people see
-- everybody.
create policy who_sees_whom on participants for select to dealkeep_server
  using (deal_id = any ((select app.deals_as('broker', 'seller', 'viewer'))::uuid[])
    or coalesce(advises, id) = any ((select app.principals())::uuid[])
    or (status = 'active' and role = 'broker' and deal_id = any ((select app.deals_as('buyer'))::uuid[]))
    or (status = 'active' and role = 'seller' and deal_id = any ((select app.deals_with_known_seller())::uuid[]))
    or exists (select from deals d where d.id = deal_id
      and d.organization_id = any ((select app.brokerages_as('admin'))::uuid[])));
create policy brokers_and_admins_change_them on participants for update to dealkeep_server
  using (deal_id = any ((select app.deals_acting_as('broker'))::uuid[])
    or exists (select from deals d where d.id = deal_id
      and d.organization_id = any ((select app.brokerages_as('admin'))::uuid[])));
grant select, update (status) on participants to dealkeep_server;

create policy people_of_ones_deals on users for select to dealkeep_server
  using (exists (select from participants p where p.user_id = users.id and p.joined_at is not null));

create policy both_sides_see_it on ndas for select to dealkeep_server
  using (deal_id = any ((select app.deals_as('broker', 'seller'))::uuid[])
    or participant_id = any ((select app.principals())::uuid[]));
create policy brokers_send_it on ndas for insert to dealkeep_server
  with check (deal_id = any ((select app.deals_acting_as('broker'))::uuid[]) and status = 'sent');
create policy brokers_revoke_it on ndas for update to dealkeep_server
  using (deal_id = any ((select app.deals_acting_as('broker'))::uuid[]));
grant select, insert (deal_id, participant_id, terms, expires_at), update (status) on ndas to dealkeep_server;

-- Rules of the moves ---------------------------------------------------------------------------------------------------

insert into app.moves values
  ('deal', 'draft', 'listed'), ('deal', 'listed', 'under_offer'), ('deal', 'under_offer', 'exclusivity'),
  ('deal', 'listed', 'exclusivity'), ('deal', 'exclusivity', 'diligence'), ('deal', 'diligence', 'closing'),
  ('deal', 'closing', 'closed'), ('deal', 'exclusivity', 'listed'),
  ('deal', 'draft', 'withdrawn'), ('deal', 'listed', 'withdrawn'), ('deal', 'under_offer', 'withdrawn'),
  ('deal', 'exclusivity', 'withdrawn'), ('deal', 'diligence', 'withdrawn'), ('deal', 'closing', 'withdrawn');

-- A lapsed exclusivity counts as listed; exclusivity is entered by granting it and left by its end, not by hand.
create function app.settle_deal() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  target text := new.state;
  written text := app.actual_state(old.id);
  present text := written;
begin
  new.state := old.state;
  if target = written then
    return new;
  end if;
  if written = 'exclusivity' and not app.exclusivity_runs(old.id) then
    present := 'listed';
    new.updated_at := app.now();  -- the fall back is written down with this move, and everybody may know of it
  end if;
  if target = 'exclusivity' and not app.exclusivity_runs(new.id) then
    perform app.refuse('exclusivity_missing', 'A deal enters exclusivity by granting it to a buyer until a date.');
  end if;
  if present = 'exclusivity' and target = 'listed' then
    perform app.refuse('exclusivity_runs', 'The exclusivity still runs: release it, and the deal is listed again.');
  end if;
  if target <> present and not exists (select from app.moves m
    where m.subject = 'deal' and m.from_state = present and m.to_state = target)
  then
    perform app.refuse('move_not_allowed', format('A deal cannot go from %s to %s.', present, target));
  end if;
  if target in ('exclusivity', 'diligence', 'closing') then
    insert into public.deal_stages as g (deal_id, state) values (new.id, target)
      on conflict (deal_id) do update set state = excluded.state, updated_at = excluded.updated_at;
    new.state := 'under_offer';
  else
    delete from public.deal_stages g where g.deal_id = new.id;
    new.state := target;
  end if;
  if target = 'closed' then
    new.closed_at := app.now();
  end if;
  return new;
end
$$;
create trigger settle before update of state on deals for each row execute function app.settle_deal();

-- The owner loads deals in any state.
create function app.load_deal() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into public.deal_stages (deal_id, state, updated_at) values (new.id, new.state, new.updated_at);
  new.state := 'under_offer';
  return new;
end
$$;
create trigger load before insert on deals for each row
  when (new.state in ('exclusivity', 'diligence', 'closing')) execute function app.load_deal();

create trigger check_acceptance before update of status on participants for each row
  when (old.status = 'invited' and new.status = 'active') execute function app.check_acceptance();

-- Whoever is advised does not become an advisor, of another or of themself. An advisor of another deal is like nobody:
-- the reference, which is to a participant of this deal, refuses both.
create function app.check_advised() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if new.advises = new.id
    or exists (select from public.participants p
      where p.id = new.advises and p.deal_id = new.deal_id and p.role = 'advisor')
    or exists (select from public.participants p where p.advises = new.id and p.status <> 'removed')
  then
    perform app.refuse('advisor_of_advisor', 'An advisor advises a broker, seller, buyer or viewer, not another advisor.');
  end if;
  return new;
end
$$;
create trigger check_advised before insert or update of advises on participants for each row
  when (new.advises is not null) execute function app.check_advised();

-- Nobody but brokers sends, and signing goes through app.sign_nda; what was signed never changes.
create function app.keep_nda() returns trigger
language plpgsql set search_path = '' as $$
begin
  if new.status = 'active' and old.status <> 'active' and new.signed_at is null then
    perform app.refuse('nda_unsigned', 'An NDA becomes active by being signed by the buyer.');
  end if;
  if new.status = 'revoked' and old.status <> 'revoked' then
    new.revoked_at := app.now();
  end if;
  return new;
end
$$;
create trigger keep before update on ndas for each row execute function app.keep_nda();

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

-- What is done in one step ---------------------------------------------------------------------------------------------

-- Opens a deal in draft with the caller as its broker; the deal's id. For admins and brokers of the brokerage.
create function app.open_deal(organization_id uuid, title text, industry text, location text, summary text,
  asking_price numeric, currency text, needs_nda boolean default null) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  opened uuid;
begin
  if open_deal.organization_id is null or not open_deal.organization_id = any (app.brokerages_as('admin', 'broker')) then
    raise insufficient_privilege using message = 'not an admin or broker of this brokerage';
  end if;
  insert into public.deals (organization_id, title, industry, location, summary, asking_price, currency, needs_nda, created_by)
    values (open_deal.organization_id, open_deal.title, open_deal.industry, open_deal.location, open_deal.summary,
      open_deal.asking_price, coalesce(open_deal.currency, 'USD'), coalesce(open_deal.needs_nda, true), app.user_id())
    returning id into opened;
  insert into public.participants (deal_id, user_id, role, status) values (opened, app.user_id(), 'broker', 'active');
  return opened;
end
$$;

-- Invites a person, known by e-mail or new, to a deal; for its brokers, and admins of its brokerage. Inviting somebody
-- again who was removed or has not answered renews the invitation with the new role. The answer and what shows of it are
-- the same whether there is an account at the address or none.
create function app.invite_to_deal(deal_id uuid, email text, name text, role text, advises uuid)
returns table (participant_id uuid)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  invited uuid;
begin
  if not exists (select from public.deals d where d.id = invite_to_deal.deal_id
    and (d.id = any (app.deals_acting_as('broker')) or d.organization_id = any (app.brokerages_as('admin'))))
  then
    raise insufficient_privilege using message = 'not a broker of this deal';
  end if;
  insert into public.users (email, name) values (lower(invite_to_deal.email), invite_to_deal.name)
    on conflict (email) do nothing;
  select u.id into invited from public.users u where u.email = lower(invite_to_deal.email);
  if exists (select from public.participants p where p.deal_id = invite_to_deal.deal_id and p.user_id = invited
    and p.status = 'active')
  then
    perform app.refuse('already_participant', 'This person already takes part in the deal.');
  end if;
  return query
    insert into public.participants as p (deal_id, user_id, role, advises, invited_name, invited_email)
    values (invite_to_deal.deal_id, invited, invite_to_deal.role, invite_to_deal.advises, invite_to_deal.name,
      lower(invite_to_deal.email))
    on conflict (deal_id, user_id) do update
      set status = 'invited', role = excluded.role, advises = excluded.advises, invited_name = excluded.invited_name,
        invited_email = excluded.invited_email
    returning p.id;
end
$$;

-- Signs an NDA that was sent to the caller; true when it did. The name as typed, and where from, are kept.
create function app.sign_nda(nda_id uuid, signed_name text, signed_address inet) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  if length(trim(coalesce(sign_nda.signed_name, ''))) = 0 then
    perform app.refuse('name_missing', 'Type your full name to sign.');
  end if;
  update public.ndas n
    set status = 'active', signed_at = app.now(), signed_name = trim(sign_nda.signed_name),
      signed_address = sign_nda.signed_address
    from public.participants p
    where n.id = nda_id and p.id = n.participant_id and p.user_id = app.user_id() and p.status = 'active'
      and n.status = 'sent' and (n.expires_at is null or n.expires_at > app.now());
  return found;
end
$$;

-- Writes down what time has already done: lapsed exclusivities and NDAs. How many rows it changed; for the server's
-- scheduled jobs.
create function app.sweep() returns int
language plpgsql security definer set search_path = '' as $$
declare
  lapsed int;
  expired int;
begin
  update public.exclusivities x set ended_at = x.expires_at
    from public.deal_stages g
    where g.deal_id = x.deal_id and g.state = 'exclusivity' and x.ended_at is null and x.expires_at <= app.now();
  get diagnostics lapsed = row_count;
  update public.ndas n set status = 'expired' where n.status in ('sent', 'active') and n.expires_at <= app.now();
  get diagnostics expired = row_count;
  return lapsed + expired;
end
$$;
grant execute on function app.open_deal(uuid, text, text, text, text, numeric, text, boolean),
  app.invite_to_deal(uuid, text, text, text, uuid), app.sign_nda(uuid, text, inet), app.sweep()
  to dealkeep_server;
