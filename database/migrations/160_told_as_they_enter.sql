-- compatible: entering answers what versions before ask as before, and functions that they call tell the same.
--
-- What a call of a tool about one deal costs. Who entered was sealed, to be read from the seal again by each function that told of the deal: such a call
-- is told by the one statement that enters, which knows what the person is there. The rules stand in functions of the owner that trust what they are
-- given: those call them who have found it out, and nobody else may.

-- How a deal stands and who is on it, as far as `side` may know, a buyer's as `principal`; a buyer has entered. Null without a side; the side of an admin
-- of its brokerage is empty. An array: the columns of app.deal_in_sight() in their order, without what JSON would make of times.
create function vault.deal_told(deal uuid, side text, principal uuid) returns json
language plpgsql stable as $$
declare
  -- All but a buyer's side know of everybody and how it stands.
  knows_all boolean := side in ('', 'broker', 'seller', 'viewer');
  knows_seller boolean;
  knows_stage boolean;
  is_selected boolean;
  runs boolean;
  title text;
  state text;
  tenant uuid;
  closed_at timestamptz;
  created_at timestamptz;
  updated_at timestamptz;
  stage text;
  staged_at timestamptz;
  selected uuid;
  buyer uuid;
  granted_at timestamptz;
  ends_at timestamptz;
begin
  if side is null or not (knows_all or side = 'buyer') then
    return null;
  end if;
  select d.title, d.state, d.organization_id, d.closed_at, d.created_at, d.updated_at, not d.needs_nda,
    g.state, g.updated_at, x.participant_id, x.buyer_user_id, x.granted_at, x.expires_at
  into title, state, tenant, closed_at, created_at, updated_at, knows_seller,
    stage, staged_at, selected, buyer, granted_at, ends_at
  from public.deals d
  left join public.deal_stages g on g.deal_id = d.id
  left join public.exclusivities x on x.deal_id = d.id and x.ended_at is null
  where d.id = deal;
  if not found then
    return null;
  end if;
  if not knows_all then
    knows_all := tenant = any (app.brokerages_as('admin'));
    knows_seller := knows_seller or exists (select from vault.active_ndas n where n.participant_id = principal);
  end if;
  is_selected := coalesce(selected = principal, false);
  runs := coalesce(ends_at > app.now(), false);
  knows_stage := knows_all or is_selected and (runs or stage is distinct from 'exclusivity');
  if not ((knows_all or is_selected) and (runs or state = 'closed' or coalesce(knows_stage and stage <> 'exclusivity', false))) then
    buyer := null;
    granted_at := null;
    ends_at := null;
  end if;
  if knows_stage then
    state := coalesce(stage, state);
    updated_at := greatest(updated_at, staged_at);
  end if;
  if stage = 'exclusivity' and not runs and state in ('under_offer', 'exclusivity') then
    state := 'listed';
  end if;
  -- One table after the other, each by its index, however few rows there are.
  return json_build_array(deal, title, state, tenant, buyer, granted_at::text, ends_at::text, closed_at::text, created_at::text, updated_at::text, (
    select json_agg(json_build_array(k.person_id, k.role, k.status, k.name)) from (
      select p.person_id, p.role, p.status, case when p.joined_at is null then p.invited_name else u.name end as name
      from public.participants p
      cross join lateral (select k.name from public.users k where k.id = p.user_id offset 0) u
      where p.deal_id = deal and (knows_all or coalesce(p.advises, p.id) = principal
        or p.status = 'active' and (p.role = 'broker' or p.role = 'seller' and knows_seller))
      order by p.created_at, p.id) k));
end
$$;

-- As before, of the deal that the transaction is narrowed to.
create or replace function app.deal_in_sight(deal uuid)
returns table (id uuid, title text, state text, organization_id uuid, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamptz,
  exclusivity_expires_at timestamptz, closed_at timestamptz, created_at timestamptz, updated_at timestamptz, people jsonb)
language plpgsql stable security definer set search_path = '' set enable_seqscan = off as $$
declare
  part constant text[] := string_to_array(app.identity(), ',');
begin
  if coalesce(part[1], '') = '' or part[8] is distinct from deal::text then
    return;
  end if;
  return query
    select (t.told ->> 0)::uuid, t.told ->> 1, t.told ->> 2, (t.told ->> 3)::uuid, (t.told ->> 4)::uuid, (t.told ->> 5)::timestamptz,
      (t.told ->> 6)::timestamptz, (t.told ->> 7)::timestamptz, (t.told ->> 8)::timestamptz, (t.told ->> 9)::timestamptz, (t.told ->> 10)::jsonb
    from (select vault.deal_told(deal, part[12], nullif(part[11], '')::uuid) as told offset 0) t where t.told is not null;
end
$$;

-- The offers on a deal, at most 50: current ones before earlier ones are taken, and the latest first; to a broker or seller all of them, to others those
-- of `principal`. Each is an array of the columns of app.offers_in_sight() in their order, where who made it stands once, beside the current one.
create function vault.offers_told(deal uuid, side text, principal uuid) returns json
language plpgsql stable as $$
declare
  of_deal_side constant boolean := side in ('broker', 'seller');
begin
  return (
    select json_agg(json_build_array(o.id, o.buyer_user_id, o.revision_number, o.is_current, o.submitted_at::text, o.payload::text,
      case when o.is_current then (
        select json_build_array(u.id, u.name, p.role) from public.participants p
        cross join lateral (select k.id, k.name from public.users k where k.id = p.user_id offset 0) u
        where p.deal_id = deal and p.user_id = o.buyer_user_id and p.joined_at is not null) end))
    from (
      select l.* from (
        select k.id, k.buyer_user_id, k.revision_number, k.is_current, k.submitted_at, k.payload from public.offers k
        where k.deal_id = deal and (of_deal_side or k.participant_id = principal)
        order by k.is_current desc, k.submitted_at desc, k.id desc limit 50) l
      order by l.submitted_at desc, l.id desc) o);
end
$$;

-- As before, of the deal that the transaction is narrowed to.
create or replace function app.offers_in_sight(deal uuid)
returns table (id uuid, buyer_user_id uuid, revision_number integer, is_current boolean, submitted_at timestamptz, payload text, buyer jsonb, told_at timestamptz)
language plpgsql stable security definer set search_path = '' set enable_seqscan = off as $$
declare
  part constant text[] := string_to_array(app.identity(), ',');
  told json;
begin
  if coalesce(part[1], '') = '' or part[8] is distinct from deal::text then
    return;
  end if;
  told := vault.offers_told(deal, part[12], nullif(part[11], '')::uuid);
  return query
    select (o.one ->> 0)::uuid, (o.one ->> 1)::uuid, (o.one ->> 2)::integer, (o.one ->> 3)::boolean, (o.one ->> 4)::timestamptz, o.one ->> 5,
      (select c.one ->> 6 from json_array_elements(told) c (one) where c.one ->> 1 = o.one ->> 1 and (c.one ->> 3)::boolean)::jsonb, app.now()
    from json_array_elements(told) with ordinality o (one, place) order by o.place;
end
$$;

-- What settles the books of a deal: its currency, which uploads have completed and which adjustments there are; of who is not in its workspace none.
create function vault.digest_of_books(deal uuid, is_member boolean, most_uploads integer, most_adjustments integer) returns text
language plpgsql stable as $$
begin
  return (
    select encode(sha256(concat_ws(' ', d.id, d.currency,
      (select string_agg(concat_ws(' ', u.id, u.completed_at), ' ') from (
        select s.id, s.completed_at from public.accounting_snapshots s
        where is_member and s.deal_id = deal and s.status = 'completed'
        order by s.completed_at desc, s.id desc limit most_uploads) u), 'adjusted by',
      (select string_agg(n.id::text, ' ') from (
        select n.id from public.normalizations n where is_member and n.deal_id = deal
        order by n.created_at desc, n.id desc limit most_adjustments) n))::bytea), 'hex')
    from public.deals d where d.id = deal);
end
$$;

-- As before.
create or replace function app.books_in_sight(deal uuid, most_uploads integer, most_adjustments integer)
returns table (digest text, partial boolean)
language plpgsql stable security definer set search_path = '' set enable_seqscan = off as $$
declare
  part constant text[] := string_to_array(app.identity(), ',');
  is_member boolean;
begin
  if coalesce(part[1], '') = '' or part[8] is distinct from deal::text then
    return;
  end if;
  is_member := part[12] in ('broker', 'seller') or deal = any (app.qoe_deals(false));
  digest := vault.digest_of_books(deal, is_member, most_uploads, most_adjustments);
  if digest is not null then
    partial := exists (select from public.accounting_snapshots s
      cross join lateral (select from public.pl_periods p where p.snapshot_id = s.id limit 1) p
      where is_member and s.deal_id = deal and s.status <> 'completed');
    return next;
  end if;
end
$$;

-- As before, and with `tells` a call is told what it asks of the deal: 'deal' (vault.deal_told), or 'offers' (vault.offers_told, what settles the books of
-- no more uploads and adjustments than these, and the time). A broker and a seller are told without a seal, as no function that would look for it is asked.
drop function app.enter_with_access_token(bytea, text, text, uuid, text, text, uuid, inet, text);
create function app.enter_with_access_token(presented bytea, resource text, of_table text default null, record uuid default null,
  tool text default null, subject text default null, on_deal uuid default null, address inet default null, request_id text default null,
  tells text default null, most_uploads integer default null, most_adjustments integer default null)
returns table (user_id uuid, client_id uuid, client_name text, family_id uuid, scopes text[], expires_at timestamptz, user_name text, deal_role text, told json)
language plpgsql volatile security definer set search_path = '' set enable_seqscan = off as $$
declare
  now constant timestamptz := app.now();
  deal constant uuid := case when of_table = 'deals' then record when of_table is not null then app.deal_of(of_table, record) end;
  asking uuid[];
  administered uuid[];
  secret bytea;
  tenant uuid;
  participant uuid;
  advised uuid;
  advised_role text;
  side text;
  identity text;
begin
  -- The client works for the person as vault.working_clients has it, with the memberships that are read anyway.
  select f.user_id, f.client_id, c.name, f.id, t.scopes, t.expires_at, m.asking, s.secret,
    d.organization_id, p.id, p.role, p.advises, u.name
  into user_id, client_id, client_name, family_id, scopes, expires_at, asking, secret,
    tenant, participant, deal_role, advised, user_name
  from (select k.family_id, k.scopes, k.expires_at from vault.access_tokens k
    where k.digest = presented and k.expires_at > now and k.revoked_at is null offset 0) t
  cross join lateral (select y.id, y.user_id, y.client_id from vault.token_families y
    where y.id = t.family_id and y.revoked_at is null and y.ends_at > now and y.resource = enter_with_access_token.resource offset 0) f
  cross join lateral (select k.name, k.brokerage_id, k.created_by from public.connected_clients k
    where k.id = f.client_id and k.deleted_at is null and not k.disabled offset 0) c
  cross join lateral (select k.name from public.users k where k.id = f.user_id and k.suspended_at is null offset 0) u
  cross join vault.seal s
  cross join lateral (select
      array(select k.brokerage_id from public.members k where k.user_id = f.user_id and k.status = 'active') as joined,
      array(select k.brokerage_id from public.members k
        cross join lateral (select from public.brokerages b where b.id = k.brokerage_id and b.requires_second_factor offset 0) b
        where k.user_id = f.user_id and k.status = 'active') as asking offset 0) m
  left join lateral (select k.organization_id from public.deals k where k.id = deal offset 0) d on true
  left join lateral (select k.id, k.role, k.advises from public.participants k
    where k.user_id = f.user_id and k.deal_id = deal and k.status = 'active' offset 0) p on true
  where c.brokerage_id is null and c.created_by = f.user_id or c.brokerage_id = any (m.joined);
  if not found then
    return;
  end if;
  if advised is not null then
    -- An advisor has a part while those whom they advise have.
    select p.role into advised_role from public.participants p where p.id = advised and p.status = 'active';
    if advised_role is null then
      participant := null;
    end if;
  end if;
  if asking <> '{}' then
    -- A client shows no second factor: it is enough that the person has one.
    if app.has_second_factor(user_id) then
      asking := '{}';
    end if;
  end if;
  -- What app.standing_of makes of a part.
  if tells is not null and participant is not null and tenant <> all (asking) then
    side := coalesce(advised_role, deal_role);
  end if;
  if side is null or asking <> '{}' or side not in ('broker', 'seller') then
    if participant is null and of_table is not null then
      -- The same work whether there is such a deal or not.
      administered := array(select m.brokerage_id from public.members m where m.user_id = enter_with_access_token.user_id
        and m.status = 'active' and m.role = 'admin' and m.brokerage_id <> all (asking));
    end if;
    identity := concat(user_id, ',', client_id, ',,,', array_to_string(scopes, ' '), ',,', array_to_string(asking, ' '),
      case when of_table is not null then ',' || app.standing_of(deal, tenant, asking, administered, participant, deal_role,
        coalesce(advised, participant), coalesce(advised_role, deal_role)) end);
    identity := concat(set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', app.seal_of(identity, secret), true));
  end if;
  if tool is not null then
    if asking <> '{}' then
      perform app.check_second_factor();
    end if;
    insert into public.audit_records (at, brokerage_id, deal_id, user_id, client_id, address, request_id, action, subject_id, outcome)
    values (now, case when on_deal = deal then tenant end, on_deal, user_id, client_id, enter_with_access_token.address,
      enter_with_access_token.request_id, 'tool:' || tool, subject, 'ok');
    identity := set_config('synchronous_commit', 'off', true);
  end if;
  if tells is not null then
    side := coalesce(side, case when tenant = any (administered) then '' end);
    told := case
      when side is null then null
      when tells = 'deal' then vault.deal_told(deal, side, coalesce(advised, participant))
      when tells = 'offers' then json_build_array(vault.offers_told(deal, side, coalesce(advised, participant)), vault.digest_of_books(deal,
        side in ('broker', 'seller') or deal = any (app.qoe_deals(false)), most_uploads, most_adjustments), now::text) end;
  end if;
  return next;
end
$$;
grant execute on function app.enter_with_access_token(bytea, text, text, uuid, text, text, uuid, inet, text, text, integer, integer)
  to dealkeep_server;
