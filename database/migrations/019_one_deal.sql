-- A request about one deal looks at that deal alone: what somebody is to all of their other deals costs it nothing.
--
-- Who enters may say which deal the transaction is about. Then the identity names that deal and the caller's part in it, and
-- whatever says what the caller is to deals (004_deals.sql) looks there and nowhere else. It can only take away, and it
-- lies under the identity's seal: nobody adds to it, leaves it out or takes it over from another transaction.

-- The deal to which the transaction is narrowed, or null.
create function app.narrowed_to() returns uuid
language sql stable return app.identity_part(8)::uuid;
grant execute on function app.narrowed_to() to dealkeep_server;

-- Who has entered, for the owner's functions: the person (null: an API key), the brokerages that are barred to them, and
-- the first and last id of the deals to look at. One row, or none when nobody has. It checks the seal like app.identity,
-- without a function call.
create view vault.caller as
  select nullif(split_part(sealed.identity, ',', 1), '')::uuid as user_id, app.barred_in(sealed.identity) as barred,
    coalesce(nullif(split_part(sealed.identity, ',', 8), '')::uuid, '00000000-0000-0000-0000-000000000000') as first_deal,
    coalesce(nullif(split_part(sealed.identity, ',', 8), '')::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') as last_deal
  from (select current_setting('dealkeep.identity', true) as identity, s.secret from vault.seal s limit 1) sealed
  where sealed.identity <> '' and current_setting('dealkeep.seal', true) = app.seal_of(sealed.identity, sealed.secret)
  limit 1;

-- By person and deal: all of somebody's parts are one stretch of it, and their part in one deal is one entry.
drop index participants_by_user;
create index participants_by_user on participants (user_id, deal_id) include (id, role, status, advises);
create index participants_invited on participants (user_id) where status = 'invited';

-- The part of each person in each deal, with their principal's. Subqueries that answer one value are looked up row by row;
-- of `exists` PostgreSQL may think that it is asked for many rows, and reads the whole table first.
create view vault.parts as
  select own.user_id, own.deal_id, own.id as participant_id, own.role, coalesce(own.advises, own.id) as principal_id,
    case when own.advises is null then own.role
      else (select principal.role from public.participants principal where principal.id = own.advises) end as principal_role
  from public.participants own
  where own.status = 'active' and (own.advises is null
    or (select principal.status from public.participants principal where principal.id = own.advises) = 'active');

-- The caller's part in each deal, without the deals that are barred to them; for the owner's functions. It is what every
-- answer of theirs is made of. In SQL, so that PostgreSQL puts it in the place of each call and reads no more than is asked
-- for; it joins nothing, for the plans of those who turn off a kind of join.
create or replace function app.participations()
returns table (deal_id uuid, participant_id uuid, role text, principal_id uuid, principal_role text)
language sql stable
begin atomic
  select p.deal_id, p.participant_id, p.role, p.principal_id, p.principal_role
  from vault.parts p
  where p.user_id = (select me.user_id from vault.caller me)
    and p.deal_id between (select me.first_deal from vault.caller me) and (select me.last_deal from vault.caller me)
    and ((select me.barred from vault.caller me) = '{}'
      or (select d.organization_id from public.deals d where d.id = p.deal_id) <> all ((select me.barred from vault.caller me)::uuid[]));
end;

-- Of a deal to which the transaction is narrowed the identity itself says these three: no table is looked at.
create or replace function app.deals_as(variadic roles text[]) returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
declare
  identity constant text := app.identity();
  deal constant text := split_part(identity, ',', 8);
begin
  if deal <> '' then
    return case when split_part(identity, ',', 12) = any (roles) then array[deal::uuid] else '{}' end;
  end if;
  return (select coalesce(array_agg(p.deal_id), '{}') from app.participations() p where p.principal_role = any (roles));
end
$$;

create or replace function app.deals_acting_as(variadic roles text[]) returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
declare
  identity constant text := app.identity();
  deal constant text := split_part(identity, ',', 8);
begin
  if deal <> '' then
    return case when split_part(identity, ',', 10) = any (roles) then array[deal::uuid] else '{}' end;
  end if;
  return (select coalesce(array_agg(p.deal_id), '{}') from app.participations() p where p.role = any (roles));
end
$$;

create or replace function app.principals() returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
declare
  identity constant text := app.identity();
  principal constant text := split_part(identity, ',', 11);
begin
  if split_part(identity, ',', 8) <> '' then
    return case when principal = '' then '{}' else array[principal::uuid] end;
  end if;
  return (select coalesce(array_agg(p.principal_id), '{}') from app.participations() p);
end
$$;

-- Narrowing ------------------------------------------------------------------------------------------------------------

-- These are for the owner's functions alone, which run without a search path.

-- The deal that a record belongs to, whoever asks, or null.
create function app.deal_of(of_table text, record uuid) returns uuid
language plpgsql stable as $$
declare
  deal uuid;
begin
  case of_table
    when 'deals' then deal := record;
    when 'participants' then select r.deal_id into deal from public.participants r where r.id = record;
    when 'ndas' then select r.deal_id into deal from public.ndas r where r.id = record;
    when 'offers' then select r.deal_id into deal from public.offers r where r.id = record;
    when 'closing_conditions' then select r.deal_id into deal from public.closing_conditions r where r.id = record;
    when 'questions' then select r.deal_id into deal from public.questions r where r.id = record;
    when 'documents' then select r.deal_id into deal from public.documents r where r.id = record;
    when 'production_documents' then select r.deal_id into deal from public.production_documents r where r.id = record;
    when 'accounting_snapshots' then select r.deal_id into deal from public.accounting_snapshots r where r.id = record;
    when 'qoe_checklist' then select r.deal_id into deal from public.qoe_checklist r where r.id = record;
    when 'normalizations' then select r.deal_id into deal from public.normalizations r where r.id = record;
    when 'findings' then select r.deal_id into deal from public.findings r where r.id = record;
    when 'financing_sources' then select r.deal_id into deal from public.financing_sources r where r.id = record;
  end case;
  return deal;
end
$$;

-- The part of an identity that names a deal and what a person is there: its id, their participant's, their role, their
-- principal's id and role. A deal that they do not see, with a part in it or as an admin (`administered`: the brokerages of
-- which they are), is like one that is not there: it becomes an id that no deal has, and from here on nothing is looked up of
-- either. The same work for both, so that the time does not tell.
create function app.standing(person uuid, barred uuid[], administered uuid[], deal uuid) returns text
language plpgsql stable as $$
declare
  part record;
  tenant uuid;
begin
  select p.* into part from vault.parts p where p.user_id = person and p.deal_id = standing.deal;
  select d.organization_id into tenant from public.deals d where d.id = standing.deal;
  if part.deal_id is not null and tenant <> all (barred) then
    return concat_ws(',', part.deal_id, part.participant_id, part.role, part.principal_id, part.principal_role);
  end if;
  return concat(case when tenant = any (administered) then deal else '00000000-0000-0000-0000-000000000000' end, ',,,,');
end
$$;

-- Seals an identity for the rest of the transaction.
create function app.seal(identity text) returns void
language plpgsql volatile as $$
declare
  secret bytea;
begin
  select s.secret into secret from vault.seal s;
  perform set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', app.seal_of(identity, secret), true);
end
$$;

-- The identity as it was before it was narrowed.
create function app.whole_identity() returns text
language sql stable return array_to_string((string_to_array(app.identity(), ','))[1:7], ',');

-- What somebody is to the deal may change while they work on it, as when they take themself off it.
create function app.narrow_again() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
  deal constant uuid := app.narrowed_to();
  identity constant text := app.whole_identity();
begin
  if deal is not null then
    perform app.seal(identity || ',' || app.standing(app.user_id(), app.barred_in(identity), app.brokerages_as('admin'), deal));
  end if;
  return null;
end
$$;
create trigger narrow_again after insert or update on participants for each statement execute function app.narrow_again();

-- Gives the caller back what they see without narrowing, until the transaction ends.
create function app.widen() returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
  if app.narrowed_to() is not null then
    perform app.seal(app.whole_identity());
  end if;
end
$$;

-- A transaction that is narrowed to a deal has found out already whether the caller sees it.
create or replace function app.seen_deal(deal uuid) returns uuid
language plpgsql stable security definer set search_path = '' as $$
declare
  narrowed constant uuid := app.narrowed_to();
  participating uuid[];
  administered uuid[];
begin
  if narrowed is not null then
    return case when narrowed = deal then deal end;
  end if;
  participating := app.deals_as('broker', 'seller', 'buyer', 'viewer');
  administered := app.brokerages_as('admin');
  return (select d.id from public.deals d
    where d.id = deal and app.deal_is_visible(d.id, d.organization_id, participating, administered));
end
$$;
grant execute on function app.widen() to dealkeep_server;

-- What is seen through deals -----------------------------------------------------------------------------------------------

-- Whether the caller knows somebody from any of their deals, also in a transaction that is narrowed to one.
create function app.knows_from_a_deal(person uuid) returns boolean
language plpgsql stable set search_path = '' as $$
declare
  identity constant text := current_setting('dealkeep.identity', true);
  seal constant text := current_setting('dealkeep.seal', true);
  known boolean;
begin
  perform app.widen();
  known := exists (select from public.participants p where p.user_id = person and p.joined_at is not null);
  perform set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', seal, true);
  return known;
end
$$;
grant execute on function app.knows_from_a_deal(uuid) to dealkeep_server;

-- People of the deal first: of somebody on ten thousand deals one entry is looked at.
drop policy people_of_ones_deals on users;
create policy people_of_ones_deals on users for select to dealkeep_server
  using ((select true from participants p where p.user_id = users.id and p.joined_at is not null
      and p.deal_id between coalesce((select app.narrowed_to()), '00000000-0000-0000-0000-000000000000')
        and coalesce((select app.narrowed_to()), 'ffffffff-ffff-ffff-ffff-ffffffffffff') limit 1)
    or ((select app.narrowed_to()) is not null and app.knows_from_a_deal(id)));
drop policy colleagues on users;
create policy colleagues on users for select to dealkeep_server
  using ((select true from members m where m.user_id = users.id and m.joined_at is not null limit 1));

-- What an admin sees by their brokerage, and what is seen with the record it belongs to: looked up for each row, by its key.
drop policy all_but_other_buyers_see_it on deal_stages;
create policy all_but_other_buyers_see_it on deal_stages for select to dealkeep_server
  using (deal_id = any ((select app.deals_as('broker', 'seller', 'viewer'))::uuid[])
    or deal_id = any ((select app.deals_as_selected_buyer())::uuid[])
    or (select d.organization_id from deals d where d.id = deal_id) = any ((select app.brokerages_as('admin'))::uuid[]));

drop policy who_sees_whom on participants;
create policy who_sees_whom on participants for select to dealkeep_server
  using (deal_id = any ((select app.deals_as('broker', 'seller', 'viewer'))::uuid[])
    or coalesce(advises, id) = any ((select app.principals())::uuid[])
    or (status = 'active' and role = 'broker' and deal_id = any ((select app.deals_as('buyer'))::uuid[]))
    or (status = 'active' and role = 'seller' and deal_id = any ((select app.deals_with_known_seller())::uuid[]))
    or (select d.organization_id from deals d where d.id = deal_id) = any ((select app.brokerages_as('admin'))::uuid[]));
drop policy brokers_and_admins_change_them on participants;
create policy brokers_and_admins_change_them on participants for update to dealkeep_server
  using (deal_id = any ((select app.deals_acting_as('broker'))::uuid[])
    or (select d.organization_id from deals d where d.id = deal_id) = any ((select app.brokerages_as('admin'))::uuid[]));

drop policy all_but_other_buyers_see_it on exclusivities;
create policy all_but_other_buyers_see_it on exclusivities for select to dealkeep_server
  using (deal_id = any ((select app.deals_as('broker', 'seller', 'viewer'))::uuid[])
    or participant_id = any ((select app.principals())::uuid[])
    or (select d.organization_id from deals d where d.id = deal_id) = any ((select app.brokerages_as('admin'))::uuid[]));

drop policy all_but_other_buyers_see_it on closing_conditions;
create policy all_but_other_buyers_see_it on closing_conditions for select to dealkeep_server
  using (deal_id = any ((select app.deals_as('broker', 'seller', 'viewer'))::uuid[])
    or deal_id = any ((select app.deals_as_selected_buyer())::uuid[])
    or (select d.organization_id from deals d where d.id = deal_id) = any ((select app.brokerages_as('admin'))::uuid[]));

drop policy with_the_finding on finding_comments;
create policy with_the_finding on finding_comments for select to dealkeep_server
  using ((select true from findings f where f.id = finding_id));
drop policy with_the_finding on finding_changes;
create policy with_the_finding on finding_changes for select to dealkeep_server
  using ((select true from findings f where f.id = finding_id));

drop policy own_on_visible_deals on deal_opt_ins;
create policy own_on_visible_deals on deal_opt_ins for select to dealkeep_server
  using (user_id = (select app.user_id()) and (select true from deals d where d.id = deal_id));
drop policy with_the_deal on deal_tool_stops;
create policy with_the_deal on deal_tool_stops for select to dealkeep_server
  using ((select true from deals d where d.id = deal_id));

do $$
declare
  kept regclass;
begin
  foreach kept in array array['documents', 'production_documents']::regclass[] loop
    execute format('drop policy by_confidentiality on %s', kept);
    execute format('create policy by_confidentiality on %s for select to dealkeep_server using (removed_at is null
      and app.document_is_visible(deal_id, confidentiality, (select true from deals d where d.id = deal_id),
        (select app.deals_as(''broker'', ''seller''))::uuid[], (select app.deals_under_nda())::uuid[],
        (select app.deals_held_exclusively())::uuid[]))', kept);
  end loop;
end
$$;

-- Entering ---------------------------------------------------------------------------------------------------------------
--
-- With a table and a record of it the transaction is narrowed to the record's deal.

-- The clients that work for a person at this moment: their own, and those of brokerages of which they are a member.
create view vault.working_clients as
  select c.id as client_id, u.id as user_id, c.name
  from public.connected_clients c, public.users u
  where u.suspended_at is null and c.deleted_at is null and not c.disabled
    and (c.brokerage_id is null and c.created_by = u.id or exists (select from public.members m
      where m.brokerage_id = c.brokerage_id and m.user_id = u.id and m.status = 'active'));

create or replace function app.client_works_for(client_id uuid, user_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from vault.working_clients w
    where w.client_id = client_works_for.client_id and w.user_id = client_works_for.user_id);
end
$$;

-- The brokerages of which a person is an active member: those that ask for a second factor, and those of which they are an
-- admin. In one row, and in SQL, to be put in the place of each call.
create function app.memberships_of(person uuid) returns table (asking uuid[], administered uuid[])
language sql stable
begin atomic
  select coalesce(array_agg(m.brokerage_id) filter (where
      (select b.requires_second_factor from public.brokerages b where b.id = m.brokerage_id)), '{}'),
    coalesce(array_agg(m.brokerage_id) filter (where m.role = 'admin'), '{}')
  from public.members m
  where m.user_id = person and m.status = 'active';
end;

-- Enters as a person who has shown a second factor or not, with the transaction narrowed to the deal of a record when one is
-- named.
create function app.enter_as_person(person uuid, client_id uuid, scopes text[], session_id uuid, shown boolean, asking uuid[],
  administered uuid[], of_table text, record uuid) returns void
language plpgsql volatile as $$
declare
  barred uuid[] := asking;
  identity text;
begin
  if asking <> '{}' and shown and app.has_second_factor(person) then
    barred := '{}';
  end if;
  identity := concat(person, ',', client_id, ',,,', array_to_string(scopes, ' '), ',', session_id, ',', array_to_string(barred, ' '));
  if of_table is not null then
    identity := identity || ',' || app.standing(person, barred,
      case when barred = '{}' then administered else array(select b from unnest(administered) b where not b = any (barred)) end,
      case of_table when 'deals' then record else app.deal_of(of_table, record) end);
  end if;
  perform app.seal(identity);
end
$$;

drop function app.brokerages_barring(uuid, boolean);
drop function app.enter_with_access_token(bytea, text);
create function app.enter_with_access_token(presented bytea, resource text, of_table text default null, record uuid default null)
returns table (user_id uuid, client_id uuid, client_name text, family_id uuid, scopes text[], expires_at timestamptz)
language plpgsql volatile security definer set search_path = '' as $$
declare
  now constant timestamptz := app.now();
  asking uuid[];
  administered uuid[];
  used timestamptz;
begin
  select f.user_id, f.client_id, w.name, f.id, t.scopes, t.expires_at, f.last_used_at, m.asking, m.administered
  into user_id, client_id, client_name, family_id, scopes, expires_at, used, asking, administered
  from vault.access_tokens t
  join vault.token_families f on f.id = t.family_id
  join vault.working_clients w on w.client_id = f.client_id and w.user_id = f.user_id
  cross join lateral app.memberships_of(f.user_id) m
  where t.digest = presented and t.expires_at > now and t.revoked_at is null
    and f.revoked_at is null and f.ends_at > now and f.resource = enter_with_access_token.resource;
  if not found then
    return;
  end if;
  if used is null or used <= now - interval '1 minute' then
    -- Several requests notice the minute together: one of them writes, none waits.
    update vault.token_families f set last_used_at = now
    where f.id = (select w.id from vault.token_families w where w.id = family_id for no key update skip locked);
  end if;
  -- A client shows no second factor: it is enough that the person has one.
  perform app.enter_as_person(user_id, client_id, scopes, null, true, asking, administered, of_table, record);
  return next;
end
$$;

drop function app.enter_with_session(bytea, boolean);
create function app.enter_with_session(session bytea, attended boolean default true, of_table text default null,
  record uuid default null)
returns table (user_id uuid, email text, name text, session_id uuid, authenticated_at timestamptz,
  recently_authenticated boolean, second_factor boolean)
language plpgsql volatile security definer set search_path = '' as $$
#variable_conflict use_column
declare
  live vault.live_sessions;
  member record;
begin
  select l.* into live from vault.live_sessions l where l.digest = session;
  if not found then
    return;
  end if;
  if attended and live.last_seen_at < app.now() - interval '1 minute' then
    update vault.sessions s set last_seen_at = app.now()
      where s.id = (select f.id from vault.sessions f where f.id = live.id for update skip locked);
  end if;
  select m.asking, m.administered into member from app.memberships_of(live.user_id) m;
  perform app.enter_as_person(live.user_id, null, null, live.id, live.second_factor_at is not null, member.asking,
    member.administered, of_table, record);
  return query select live.user_id, live.email, live.name, live.id, live.authenticated_at,
    live.authenticated_at > app.now() - interval '10 minutes',
    exists (select from vault.totp t where t.user_id = live.user_id and t.confirmed_at is not null);
end
$$;
grant execute on function app.enter_with_access_token(bytea, text, text, uuid), app.enter_with_session(bytea, boolean, text, uuid)
  to dealkeep_server;
