-- compatible: columns, an index and functions are added; keys that are there keep their scopes and reach no deal until one is opened to them.
-- API keys reach deals: those of their brokerage that a broker of the deal has opened to the brokerage's keys. A key sees there, by its scopes, what a broker of
-- the deal sees. Policies name the scope where they name the roles (`app.deals_as('broker', 'seller', 'offers:read')`): no role has a colon in its name.

alter table deals add column keys_admitted boolean not null default false;
alter table brokerages add column admit_keys_by_default boolean not null default false;
create index deals_for_keys on deals (organization_id, created_at desc, id desc) where keys_admitted;

alter table api_keys drop constraint api_keys_scopes_check, add constraint api_keys_scopes_check check (cardinality(scopes) > 0 and scopes <@ '{
  contacts:read, contacts:write, deals:read, deals:write, participants:read, participants:write, offers:read, ndas:read, questions:read,
  documents:read, documents:content, documents:write, qoe:read, qoe:write, conditions:read, conditions:write, findings:read, financing:read,
  events:read, webhooks:read, webhooks:write}'::text[]);

-- Whoever sees a deal is not told by its time of change, nor by a message to open pages, that keys were let in: that is between the deal's brokers.
drop trigger touch on deals;
create trigger touch before update on deals
  for each row when (old.* is distinct from new.* and old.keys_admitted = new.keys_admitted) execute function app.touch();
drop trigger announce_update on deals;
create trigger announce_update after update on deals
  for each row when (old.* is distinct from new.* and old.keys_admitted = new.keys_admitted) execute function app.announce('deal', 'id');
-- A deal that is closed can still be opened to keys, and closed to them.
drop trigger a_keep_closed on deals;
create trigger a_keep_closed before update on deals
  for each row when (old.state = 'closed' and old.keys_admitted = new.keys_admitted) execute function app.keep_closed();

-- Who is calling -------------------------------------------------------------------------------------------------------------

-- Whether somebody calls, a person or a key: without a caller it is the owner of the database, who loads data.
create function app.has_caller() returns boolean
language sql stable return app.identity() is not null;
grant execute on function app.has_caller() to dealkeep_server;

-- The scopes that have to do with deals: the others say nothing of any deal.
create function app.deal_scopes() returns text[]
language sql immutable parallel safe
return '{deals:read, deals:write, participants:read, participants:write, offers:read, ndas:read, questions:read, documents:read, documents:content,
  documents:write, qoe:read, qoe:write, conditions:read, conditions:write, findings:read, financing:read}'::text[];

-- Of a key's identity: the deals that it reaches, if it has one of these scopes. A narrowed identity names the deal already.
create function app.deals_of_key(identity text, asked text[]) returns uuid[]
language plpgsql stable as $$
declare
  deal constant text := split_part(identity, ',', 8);
  brokerage constant uuid := nullif(split_part(identity, ',', 4), '');
begin
  if brokerage is null or not string_to_array(split_part(identity, ',', 5), ' ') && asked then
    return '{}';
  end if;
  if deal <> '' then
    return array[deal::uuid];
  end if;
  return array(select d.id from public.deals d where d.organization_id = brokerage and d.keys_admitted);
end
$$;

-- The part of a key's identity that names a deal: like app.standing of a person. A deal that it does not reach is like one that is not there.
create function app.standing_of_key(brokerage uuid, scopes text[], deal uuid) returns text
language plpgsql stable as $$
declare
  reached uuid;
begin
  select d.id into reached from public.deals d
    where d.id = deal and d.organization_id = brokerage and d.keys_admitted and scopes && app.deal_scopes();
  return concat(coalesce(reached, '00000000-0000-0000-0000-000000000000'), ',,,,');
end
$$;

drop function app.enter_with_api_key(bytea);
create function app.enter_with_api_key(presented bytea, of_table text default null, record uuid default null)
returns table (key_id uuid, brokerage_id uuid, scopes text[], ceiling integer)
language plpgsql volatile security definer set search_path = '' as $$
declare
  now constant timestamptz := app.now();
  key record;
begin
  select k.id, k.brokerage_id, k.scopes, k.ceiling into key
  from vault.api_key_digests d
  join public.api_keys k on k.id = d.key_id
  join public.users u on u.id = d.issued_by
  join public.members m on m.brokerage_id = k.brokerage_id and m.user_id = d.issued_by
  join public.brokerages b on b.id = k.brokerage_id
  where d.digest = presented
    and (d.valid_until is null or d.valid_until > now)
    and k.revoked_at is null
    and (k.expires_at is null or k.expires_at > now)
    and u.suspended_at is null
    and m.status = 'active'
    and (not b.requires_second_factor or app.has_second_factor(d.issued_by));
  if not found then
    return;
  end if;
  if of_table is null then
    perform app.enter(null, null, key.id, key.brokerage_id, key.scopes);
  else
    perform app.seal(concat(',,', key.id, ',', key.brokerage_id, ',', array_to_string(key.scopes, ' '), ',,,',
      app.standing_of_key(key.brokerage_id, key.scopes, case of_table when 'deals' then record else app.deal_of(of_table, record) end)));
  end if;
  return query select key.id, key.brokerage_id, key.scopes, key.ceiling;
end
$$;
grant execute on function app.enter_with_api_key(bytea, text, uuid) to dealkeep_server;

create or replace function app.deals_as(variadic roles text[]) returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
declare
  identity constant text := app.identity();
  deal constant text := split_part(identity, ',', 8);
begin
  if split_part(identity, ',', 1) = '' then
    return app.deals_of_key(identity, roles);
  end if;
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
  if split_part(identity, ',', 1) = '' then
    return app.deals_of_key(identity, roles);
  end if;
  if deal <> '' then
    return case when split_part(identity, ',', 10) = any (roles) then array[deal::uuid] else '{}' end;
  end if;
  return (select coalesce(array_agg(p.deal_id), '{}') from app.participations() p where p.role = any (roles));
end
$$;

-- Of a key the books that it reads; it edits none of the workspace but the snapshots that it delivers, of which their policies speak.
create or replace function app.qoe_deals(editing boolean) returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
begin
  if current_setting('dealkeep.identity', true) like ',%' then
    return case when editing then '{}' else app.deals_as('qoe:read') end;
  end if;
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

-- Every key knows its own brokerage.
create or replace function app.brokerages_of_deals() returns uuid[]
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan as $$
declare
  deals uuid[];
begin
  if current_setting('dealkeep.identity', true) like ',%' then
    return array_remove(array[nullif(split_part(app.identity(), ',', 4), '')::uuid], null);
  end if;
  deals := array(select p.deal_id from app.participations() p where p.principal_role in ('broker', 'seller', 'buyer', 'viewer'));
  return array(select distinct d.organization_id from public.deals d where d.id = any (deals));
end
$$;

-- Of a key: the deal if it reaches it, with any scope that has to do with deals.
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
  participating := app.deals_as(variadic '{broker,seller,buyer,viewer}'::text[] || app.deal_scopes());
  administered := app.brokerages_as('admin');
  return (select d.id from public.deals d
    where d.id = deal and app.deal_is_visible(d.id, d.organization_id, participating, administered));
end
$$;

-- What a key is to a deal does not hang on who takes part.
create or replace function app.narrow_again() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
  deal constant uuid := app.narrowed_to();
  person constant uuid := app.user_id();
  identity constant text := app.whole_identity();
begin
  if deal is not null and person is not null then
    perform app.seal(identity || ',' || app.standing(person, app.barred_in(identity), app.brokerages_as('admin'), deal));
  end if;
  return null;
end
$$;

-- What a key reads ------------------------------------------------------------------------------------------------------------

alter policy participants_and_admins_see_it on deals
  using (app.deal_is_visible(id, organization_id, (select app.deals_as('broker', 'seller', 'buyer', 'viewer', 'deals:read')),
    (select app.brokerages_as('admin'))));
alter policy all_but_other_buyers_see_it on deal_stages
  using (deal_id = any ((select app.deals_as('broker', 'seller', 'viewer', 'deals:read'))::uuid[])
    or deal_id = any ((select app.deals_as_selected_buyer())::uuid[])
    or (select d.organization_id from deals d where d.id = deal_id) = any ((select app.brokerages_as('admin'))::uuid[]));
alter policy all_but_other_buyers_see_it on exclusivities
  using (deal_id = any ((select app.deals_as('broker', 'seller', 'viewer', 'deals:read'))::uuid[])
    or participant_id = any ((select app.principals())::uuid[])
    or (select d.organization_id from deals d where d.id = deal_id) = any ((select app.brokerages_as('admin'))::uuid[]));
alter policy who_sees_whom on participants
  using (deal_id = any ((select app.deals_as('broker', 'seller', 'viewer', 'participants:read'))::uuid[])
    or coalesce(advises, id) = any ((select app.principals())::uuid[])
    or (status = 'active' and role = 'broker' and deal_id = any ((select app.deals_as('buyer'))::uuid[]))
    or (status = 'active' and role = 'seller' and deal_id = any ((select app.deals_with_known_seller())::uuid[]))
    or (select d.organization_id from deals d where d.id = deal_id) = any ((select app.brokerages_as('admin'))::uuid[]));
alter policy both_sides_see_it on ndas
  using (deal_id = any ((select app.deals_as('broker', 'seller', 'ndas:read'))::uuid[])
    or participant_id = any ((select app.principals())::uuid[]));
alter policy deal_side_and_own_side on offers
  using (deal_id = any ((select app.deals_as('broker', 'seller', 'offers:read'))::uuid[])
    or participant_id = any ((select app.principals())::uuid[]));
alter policy deal_side_and_own_side on offer_decisions
  using (deal_id = any ((select app.deals_as('broker', 'seller', 'offers:read'))::uuid[])
    or participant_id = any ((select app.principals())::uuid[]));
alter policy each_sees_their_part on questions
  using (deal_id = any ((select app.deals_as('broker', 'questions:read'))::uuid[])
    or (status in ('with_seller', 'answered', 'distributed') and deal_id = any ((select app.deals_as('seller'))::uuid[]))
    or participant_id = any ((select app.principals())::uuid[]));
alter policy deal_side_sees_it on question_answers
  using (deal_id = any ((select app.deals_as('broker', 'seller', 'questions:read'))::uuid[]));
-- Who sees the deal sees its public documents; of a key the scopes alone decide.
alter policy by_confidentiality on documents
  using (removed_at is null and app.document_is_visible(deal_id, confidentiality,
    (select true from deals d where d.id = documents.deal_id and (select app.user_id()) is not null),
    (select app.deals_as('broker', 'seller', 'documents:read')), (select app.deals_under_nda()), (select app.deals_held_exclusively())));
alter policy by_confidentiality on production_documents
  using (removed_at is null and app.document_is_visible(deal_id, confidentiality,
    (select true from deals d where d.id = production_documents.deal_id and (select app.user_id()) is not null),
    (select app.deals_as('broker', 'seller', 'documents:read')), (select app.deals_under_nda()), (select app.deals_held_exclusively())));
alter policy deal_side_and_own_see_it on qoe_workspace_members
  using (deal_id = any ((select app.deals_as('broker', 'seller', 'qoe:read'))::uuid[])
    or participant_id = any ((select app.principals())::uuid[]));
alter policy all_but_other_buyers_see_it on closing_conditions
  using (deal_id = any ((select app.deals_as('broker', 'seller', 'viewer', 'conditions:read'))::uuid[])
    or deal_id = any ((select app.deals_as_selected_buyer())::uuid[])
    or (select d.organization_id from deals d where d.id = deal_id) = any ((select app.brokerages_as('admin'))::uuid[]));
alter policy deal_side_and_own_side on findings
  using (deal_id = any ((select app.deals_as('broker', 'seller', 'findings:read'))::uuid[])
    or participant_id = any ((select app.principals())::uuid[]));
alter policy deal_side_and_own_side on financing_sources
  using (deal_id = any ((select app.deals_as('broker', 'seller', 'financing:read'))::uuid[])
    or participant_id = any ((select app.principals())::uuid[]));

create or replace function app.may_open(deal_id uuid, confidentiality text) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return app.document_is_visible(deal_id, confidentiality, app.user_id() is not null and app.seen_deal(deal_id) is not null,
    app.deals_as('broker', 'seller', 'documents:content'), app.deals_under_nda(), app.deals_held_exclusively());
end
$$;

-- What a key writes -----------------------------------------------------------------------------------------------------------

alter policy brokers_change_it on deals
  using (id = any ((select app.deals_acting_as('broker', 'deals:write'))::uuid[]));
alter policy brokers_add on closing_conditions
  with check (deal_id = any ((select app.deals_acting_as('broker', 'conditions:write'))::uuid[]));
alter policy brokers_and_owners_change on closing_conditions
  using (deal_id = any ((select app.deals_acting_as('broker', 'conditions:write'))::uuid[])
    or (owner_user_id = (select app.user_id()) and deal_id = any ((select app.deals_acting_as('seller', 'buyer', 'advisor'))::uuid[])));
alter policy brokers_take_out on closing_conditions
  using (deal_id = any ((select app.deals_acting_as('broker', 'conditions:write'))::uuid[]));
alter policy deal_side_adds on documents
  with check (deal_id = any ((select app.deals_acting_as('broker', 'seller', 'documents:write'))::uuid[]));
alter policy deal_side_adds on production_documents
  with check (deal_id = any ((select app.deals_acting_as('broker', 'seller', 'documents:write'))::uuid[]));
alter policy editors_add on accounting_snapshots
  with check (deal_id = any ((select app.qoe_deals(true))::uuid[]) or deal_id = any ((select app.deals_acting_as('qoe:write'))::uuid[]));
alter policy editors_change on accounting_snapshots
  using (deal_id = any ((select app.qoe_deals(true))::uuid[]) or deal_id = any ((select app.deals_acting_as('qoe:write'))::uuid[]));
alter policy editors_add on pl_periods
  with check (deal_id = any ((select app.qoe_deals(true))::uuid[]) or deal_id = any ((select app.deals_acting_as('qoe:write'))::uuid[]));
alter policy editors_add on customer_revenues
  with check (deal_id = any ((select app.qoe_deals(true))::uuid[]) or deal_id = any ((select app.deals_acting_as('qoe:write'))::uuid[]));

-- Rules that spare the owner, who loads data, hold for keys as for people.
create or replace function app.refuse_if_closed(deal_id uuid) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  deal public.deals;
begin
  if not app.has_caller() then
    return;
  end if;
  select d.* into deal from public.deals d where d.id = refuse_if_closed.deal_id for share;
  if deal.state = 'closed' and app.seen_deal(deal.id) is not null then
    perform app.refuse('deal_closed', 'The deal is closed and takes no more changes.');
  end if;
end
$$;

create or replace function app.limit_of_deal() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
  there int;
begin
  if not app.has_caller() then
    return new;  -- the owner, loading data
  end if;
  perform from public.deals d where d.id = new.deal_id for no key update;
  execute format('select count(*) from public.%I where deal_id = $1', tg_table_name) into there using new.deal_id;
  if there >= tg_argv[0]::int then
    perform app.refuse('deal_full', format('A deal has room for %s %s.', tg_argv[0], tg_argv[1]));
  end if;
  return new;
end
$$;

-- What keys add has no person: all keys of the brokerage count as one.
create or replace function app.limit_a_day() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
  person constant uuid := app.user_id();
  added int;
begin
  if not app.has_caller() then
    return new;  -- the owner, loading data
  end if;
  -- One after the other, or several at once would all be the last that there is room for.
  if person is null then
    perform from public.deals d where d.id = new.deal_id for no key update;
  else
    perform from public.users u where u.id = person for no key update;
  end if;
  execute format('select count(*) from public.%I where deal_id = $1 and %I is not distinct from $2 and %I > $3', tg_table_name, tg_argv[1], tg_argv[2])
    into added using new.deal_id, person, app.now() - interval '1 day';
  if added >= tg_argv[0]::int then
    perform app.refuse('too_many_today', format('At most %s %s a %s a day on a deal: go on tomorrow.', tg_argv[0], tg_argv[3],
      case when person is null then 'brokerage''s keys' else 'person' end));
  end if;
  return new;
end
$$;

create or replace function app.check_owner_takes_part() returns trigger
language plpgsql volatile set search_path = '' as $$
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
  if app.has_caller() and reader is not null and not app.side_knows(reader, new.owner_user_id) then
    perform app.refuse('owner_not_known_to_buyer',
      'The buyer who reads this may not know of this person: choose a broker, somebody of the buyer''s side or, under an NDA, the seller.');
  end if;
  return new;
end
$$;
create or replace function app.side_knows(principal_id uuid, user_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (
    select from public.participants side
    join public.participants p on p.deal_id = side.deal_id
    join public.deals d on d.id = side.deal_id
    where side.id = side_knows.principal_id and p.user_id = side_knows.user_id
      and (side.deal_id = any (app.deals_as('broker', 'seller', 'conditions:write')) or side.id = any (app.principals())) and (
      side.role <> 'buyer'
      or coalesce(p.advises, p.id) = side.id
      or (p.status = 'active' and (p.role = 'broker' or (p.role = 'seller' and (not d.needs_nda or exists (
        select from vault.active_ndas n where n.participant_id = side.id)))))));
end
$$;

create or replace function app.selected_side(deal_id uuid) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select s.participant_id from vault.selected_buyers s
    where s.deal_id = selected_side.deal_id
      and (s.deal_id = any (app.deals_as('broker', 'seller', 'conditions:write')) or s.participant_id = any (app.principals())));
end
$$;

create or replace function app.queue_assignment() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
  if app.has_caller() and new.owner_user_id is not null then
    perform app.queue_event(tg_argv[0], new.deal_id, tg_table_name, new.id, app.user_id(), new.owner_user_id);
  end if;
  return null;
end
$$;

create or replace function app.begin_upload(deal_id uuid, storage_key text) returns boolean
language plpgsql volatile security definer set search_path = '' as $$
begin
  if not deal_id = any (app.deals_acting_as('broker', 'seller', 'documents:write')) then
    return false;
  end if;
  perform app.refuse_if_closed(begin_upload.deal_id);
  insert into vault.uploads (storage_key) values (begin_upload.storage_key);
  return true;
end
$$;

-- Letting keys in -------------------------------------------------------------------------------------------------------------

create or replace function app.open_deal(organization_id uuid, title text, industry text, location text, summary text, asking_price numeric, currency text,
  needs_nda boolean default null)
returns uuid
language plpgsql volatile security definer set search_path = '' as $$
declare
  opened uuid;
begin
  if open_deal.organization_id is null or not open_deal.organization_id = any (app.brokerages_as('admin', 'broker')) then
    raise insufficient_privilege using message = 'not an admin or broker of this brokerage';
  end if;
  insert into public.deals (organization_id, title, industry, location, summary, asking_price, currency, needs_nda, created_by, keys_admitted)
    values (open_deal.organization_id, open_deal.title, open_deal.industry, open_deal.location, open_deal.summary,
      open_deal.asking_price, coalesce(open_deal.currency, 'USD'), coalesce(open_deal.needs_nda, true), app.user_id(),
      (select b.admit_keys_by_default from public.brokerages b where b.id = open_deal.organization_id))
    returning id into opened;
  insert into public.participants (deal_id, user_id, role, status) values (opened, app.user_id(), 'broker', 'active');
  return opened;
end
$$;

-- Opens a deal to the brokerage's keys, or closes it to them. Whether the caller is a broker of the deal, signed in to the web application.
create function app.admit_keys(deal uuid, admitted boolean, address inet, request_id text) returns boolean
language plpgsql volatile security definer set search_path = '' as $$
begin
  if app.user_id() is null or app.client_id() is not null or not deal = any (app.deals_acting_as('broker')) then
    return false;
  end if;
  update public.deals d set keys_admitted = admitted where d.id = deal and d.keys_admitted <> admitted;
  if found then
    perform app.audit(case when admitted then 'deal.admit_keys' else 'deal.shut_out_keys' end, deal::text, 'done', null, deal, address, request_id, '{}');
  end if;
  return true;
end
$$;
grant execute on function app.admit_keys(uuid, boolean, inet, text) to dealkeep_server;

-- Whether deals that people open from now on are open to keys. Whether the caller is an admin of the brokerage, signed in to the web application.
create function app.admit_keys_by_default(of_brokerage uuid, admitted boolean, address inet, request_id text) returns boolean
language plpgsql volatile security definer set search_path = '' as $$
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return false;
  end if;
  update public.brokerages b set admit_keys_by_default = admitted where b.id = of_brokerage and b.admit_keys_by_default <> admitted;
  if found then
    perform app.audit('brokerage.admit_keys', of_brokerage::text, 'done', of_brokerage, null, address, request_id, jsonb_build_object('admitted', admitted));
  end if;
  return true;
end
$$;
grant execute on function app.admit_keys_by_default(uuid, boolean, inet, text) to dealkeep_server;

-- The keys of the brokerage that have to do with deals and are in force, for the brokers of a deal and the brokerage's admins: whether they are let in or not.
create function app.keys_for_deal(deal uuid)
returns table (id uuid, name text, environment text, scopes text[], created_by uuid, created_at timestamptz, expires_at timestamptz,
  last_used_at timestamptz)
language plpgsql stable security definer set search_path = '' as $$
declare
  run constant uuid[] := app.deals_acting_as('broker');
  administered constant uuid[] := app.brokerages_as('admin');
begin
  return query
    select k.id, k.name, k.environment, reaching.scopes, k.created_by, k.created_at, k.expires_at, k.last_used_at
    from public.deals d
    join public.api_keys k on k.brokerage_id = d.organization_id
    cross join lateral (select array(select s from unnest(k.scopes) s where s = any (app.deal_scopes())) as scopes) reaching
    where d.id = deal and (d.id = any (run) or d.organization_id = any (administered)) and k.revoked_at is null and (k.expires_at is null or k.expires_at > app.now()) and reaching.scopes <> '{}'
    order by k.created_at desc, k.id desc
    limit 100;
end
$$;
grant execute on function app.keys_for_deal(uuid) to dealkeep_server;
