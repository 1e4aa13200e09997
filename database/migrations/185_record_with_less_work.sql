-- compatible: the same enter, are told the same and leave the same records; what versions before send is answered as before.
-- A call of a tool that reads, and whatever a key asks, enter with less work. PostgreSQL prepares each expression of a function anew for each
-- transaction, so that few of them are asked of most calls; the id of a record, and of a contact, is given by the node, to which it costs a twentieth.

-- As before; `record_id` is that of the audit record. A version before gives none.
drop function app.enter_with_access_token(bytea, text, text, uuid, text, text, uuid, inet, text, text, integer, integer, text[]);
create function app.enter_with_access_token(presented bytea, resource text, of_table text default null, record uuid default null,
  tool text default null, subject text default null, on_deal uuid default null, address inet default null, request_id text default null,
  tells text default null, most_uploads integer default null, most_adjustments integer default null, held text[] default null,
  record_id uuid default app.uuid_v7())
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
  settled text;
  is_unheld boolean := false;
begin
  -- The client works for the person as vault.working_clients has it, with the memberships that are read anyway. An answer to a call that reads does not
  -- wait for the disk.
  select f.user_id, f.client_id, c.name, f.id, t.scopes, t.expires_at, u.name,
    array(select k.brokerage_id from public.members k where k.user_id = f.user_id and k.status = 'active'
      and (select b.requires_second_factor from public.brokerages b where b.id = k.brokerage_id)),
    (select k.organization_id from public.deals k where k.id = deal), p.id, p.role, p.advises,
    case when tool is not null then set_config('synchronous_commit', 'off', true) end
  into user_id, client_id, client_name, family_id, scopes, expires_at, user_name, asking, tenant, participant, deal_role, advised, identity
  from (select k.family_id, k.scopes, k.expires_at from vault.access_tokens k
    where k.digest = presented and k.expires_at > now and k.revoked_at is null offset 0) t
  cross join lateral (select y.id, y.user_id, y.client_id from vault.token_families y
    where y.id = t.family_id and y.revoked_at is null and y.ends_at > now and y.resource = enter_with_access_token.resource offset 0) f
  cross join lateral (select k.name, k.brokerage_id, k.created_by from public.connected_clients k
    where k.id = f.client_id and k.deleted_at is null and not k.disabled offset 0) c
  cross join lateral (select k.name from public.users k where k.id = f.user_id and k.suspended_at is null offset 0) u
  left join lateral (select k.id, k.role, k.advises from public.participants k
    where k.user_id = f.user_id and k.deal_id = deal and k.status = 'active' offset 0) p on true
  where case when c.brokerage_id is null then c.created_by = f.user_id
    else exists (select from public.members k where k.brokerage_id = c.brokerage_id and k.user_id = f.user_id and k.status = 'active') end;
  if not found then
    return;
  end if;
  if advised is not null or asking <> '{}' then
    if advised is not null then
      -- An advisor has a part while those whom they advise have.
      select p.role into advised_role from public.participants p where p.id = advised and p.status = 'active';
      if advised_role is null then
        participant := null;
        advised := null;
      end if;
    end if;
    -- A client shows no second factor: it is enough that the person has one.
    if asking <> '{}' and app.has_second_factor(user_id) then
      asking := '{}';
    end if;
  end if;
  -- What app.standing_of makes of a part.
  side := case when tells is not null and participant is not null and tenant <> all (asking) then coalesce(advised_role, deal_role) end;
  if asking <> '{}' or side is null or side not in ('broker', 'seller') then
    if participant is null and of_table is not null then
      -- The same work whether there is such a deal or not.
      administered := array(select m.brokerage_id from public.members m where m.user_id = enter_with_access_token.user_id
        and m.status = 'active' and m.role = 'admin' and m.brokerage_id <> all (asking));
    end if;
    select s.secret into secret from vault.seal s;
    identity := concat(user_id, ',', client_id, ',,,', array_to_string(scopes, ' '), ',,', array_to_string(asking, ' '),
      case when of_table is not null then ',' || app.standing_of(deal, tenant, asking, administered, participant, deal_role,
        coalesce(advised, participant), coalesce(advised_role, deal_role)) end);
    identity := concat(set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', app.seal_of(identity, secret), true));
    if tool is not null and asking <> '{}' then
      perform app.check_second_factor();
    end if;
    if tells is not null then
      side := coalesce(side, case when tenant = any (administered) then '' end);
    end if;
  end if;
  if tells = 'deal' then
    told := vault.deal_told(deal, side, coalesce(advised, participant));
  elsif tells = 'offers' and side is not null then
    settled := vault.digest_of_books(deal, side in ('broker', 'seller') or deal = any (app.qoe_deals(false)), most_uploads, most_adjustments);
    is_unheld := coalesce(settled <> all (held), false);
    told := case when is_unheld then 'null'
      else json_build_array(vault.offers_told(deal, side, coalesce(advised, participant)), settled, now::text) end;
  end if;
  if tool is not null and not is_unheld then
    insert into public.audit_records (id, at, brokerage_id, deal_id, user_id, client_id, address, request_id, action, subject_id, outcome)
    values (record_id, now, case when on_deal = deal then tenant end, on_deal, user_id, client_id, enter_with_access_token.address,
      enter_with_access_token.request_id, 'tool:' || tool, subject, 'ok');
  end if;
  return next;
end
$$;
grant execute on function
  app.enter_with_access_token(bytea, text, text, uuid, text, text, uuid, inet, text, text, integer, integer, text[], uuid) to dealkeep_server;

-- As before; how exclusivity changes what is told is asked only of a deal that has a stage or an exclusivity.
create or replace function vault.deal_told(deal uuid, side text, principal uuid) returns json
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
  if knows_all is not true and side is distinct from 'buyer' then
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
  if stage is not null or selected is not null then
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

-- As before, one table after the other, each by its index, and with the seal in the same query.
create or replace function app.enter_with_api_key(presented bytea, of_table text default null, record uuid default null)
returns table (key_id uuid, brokerage_id uuid, scopes text[], ceiling integer)
language plpgsql volatile security definer set search_path = '' set enable_seqscan = off as $$
declare
  now constant timestamptz := app.now();
  asks boolean;
  issuer uuid;
  secret bytea;
  identity text;
begin
  -- Without its sandbox a test key works on nothing.
  select k.id, case k.environment when 'test' then (select s.id from public.brokerages s where s.sandbox_of = k.brokerage_id) else k.brokerage_id end,
    k.scopes, k.ceiling, b.requires_second_factor, d.issued_by, (select s.secret from vault.seal s)
  into key_id, brokerage_id, scopes, ceiling, asks, issuer, secret
  from (select g.key_id, g.issued_by from vault.api_key_digests g
    where g.digest = presented and (g.valid_until is null or g.valid_until > now) offset 0) d
  cross join lateral (select g.id, g.brokerage_id, g.environment, g.scopes, g.ceiling from public.api_keys g
    where g.id = d.key_id and g.revoked_at is null and (g.expires_at is null or g.expires_at > now) offset 0) k
  cross join lateral (select from public.users g where g.id = d.issued_by and g.suspended_at is null offset 0) u
  cross join lateral (select from public.members g
    where g.brokerage_id = k.brokerage_id and g.user_id = d.issued_by and g.status = 'active' offset 0) m
  cross join lateral (select g.requires_second_factor from public.brokerages g where g.id = k.brokerage_id offset 0) b;
  if brokerage_id is null then
    return;
  end if;
  if asks then
    if not app.has_second_factor(issuer) then
      return;
    end if;
  end if;
  identity := concat(',,', key_id, ',', brokerage_id, ',', array_to_string(scopes, ' '), ',,',
    case when of_table is not null then
      ',' || app.standing_of_key(brokerage_id, scopes, case of_table when 'deals' then record else app.deal_of(of_table, record) end) end);
  identity := concat(set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', app.seal_of(identity, secret), true));
  return next;
end
$$;
