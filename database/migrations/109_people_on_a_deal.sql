-- compatible: a function more, and one that answers with two columns more.
--
-- The names in what tools answer. Joined row by row, the policies of people, of participants and of members are looked at for each name, which took
-- longer than the rest of the answer.

-- The people of a deal by their ids, each with id, name and role, as far as the person who reads may know of them; null when that is nobody.
create function app.people_on_deal(deal uuid) returns jsonb
language plpgsql stable security definer set search_path = '' set enable_seqscan = off as $$
declare
  identity constant text := app.identity();
  -- In a request about this deal alone, what the reader is on it has been found already.
  everybody constant boolean := split_part(identity, ',', 8) = deal::text and split_part(identity, ',', 12) in ('broker', 'seller', 'viewer');
begin
  if coalesce(split_part(identity, ',', 1), '') = '' then
    return null;
  end if;
  -- One table after the other, each by its index, however few rows there are.
  return (
    select jsonb_object_agg(u.id, jsonb_build_array(u.id, u.name, p.role))
    from (select k.user_id, k.role from public.participants k
      where k.deal_id = deal and k.joined_at is not null
        and (everybody or app.could_open('participants', k.id, k.deal_id)) offset 0) p
    cross join lateral (select k.id, k.name from public.users k where k.id = p.user_id offset 0) u);
end
$$;
grant execute on function app.people_on_deal(uuid) to dealkeep_server;

-- As before, with the caller's name and, of a deal that is named, their role on it.
drop function app.enter_with_access_token(bytea, text, text, uuid, text, text, uuid, inet, text);
create function app.enter_with_access_token(presented bytea, resource text, of_table text default null, record uuid default null,
  tool text default null, subject text default null, on_deal uuid default null, address inet default null, request_id text default null)
returns table (user_id uuid, client_id uuid, client_name text, family_id uuid, scopes text[], expires_at timestamptz, user_name text, deal_role text)
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
  identity text;
begin
  -- The client works for the person as vault.working_clients has it, with the memberships that are read anyway.
  select f.user_id, f.client_id, c.name, f.id, t.scopes, t.expires_at, m.asking, m.administered, s.secret,
    d.organization_id, p.id, p.role, p.advises, u.name
  into user_id, client_id, client_name, family_id, scopes, expires_at, asking, administered, secret,
    tenant, participant, deal_role, advised, user_name
  from (select k.family_id, k.scopes, k.expires_at from vault.access_tokens k
    where k.digest = presented and k.expires_at > now and k.revoked_at is null offset 0) t
  cross join lateral (select y.id, y.user_id, y.client_id from vault.token_families y
    where y.id = t.family_id and y.revoked_at is null and y.ends_at > now and y.resource = enter_with_access_token.resource offset 0) f
  cross join lateral (select k.name, k.brokerage_id, k.created_by from public.connected_clients k
    where k.id = f.client_id and k.deleted_at is null and not k.disabled offset 0) c
  cross join lateral (select k.name from public.users k where k.id = f.user_id and k.suspended_at is null offset 0) u
  cross join vault.seal s
  cross join lateral (
    select coalesce(array_agg(m.brokerage_id), '{}') as joined,
      coalesce(array_agg(m.brokerage_id) filter (where
        (select b.requires_second_factor from public.brokerages b where b.id = m.brokerage_id)), '{}') as asking,
      coalesce(array_agg(m.brokerage_id) filter (where m.role = 'admin'), '{}') as administered
    from public.members m where m.user_id = f.user_id and m.status = 'active') m
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
    else
      administered := array(select b from unnest(administered) b where not b = any (asking));
    end if;
  end if;
  identity := concat(user_id, ',', client_id, ',,,', array_to_string(scopes, ' '), ',,', array_to_string(asking, ' '),
    case when of_table is not null then ',' || app.standing_of(deal, tenant, asking, administered, participant, deal_role,
      coalesce(advised, participant), coalesce(advised_role, deal_role)) end);
  identity := concat(set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', app.seal_of(identity, secret), true));
  if tool is not null then
    if asking <> '{}' then
      perform app.check_second_factor();
    end if;
    insert into public.audit_records (at, brokerage_id, deal_id, user_id, client_id, address, request_id, action, subject_id, outcome)
    values (now, case when on_deal = deal then tenant end, on_deal, user_id, client_id, enter_with_access_token.address,
      enter_with_access_token.request_id, 'tool:' || tool, subject, 'ok');
    identity := set_config('synchronous_commit', 'off', true);
  end if;
  return next;
end
$$;
grant execute on function app.enter_with_access_token(bytea, text, text, uuid, text, text, uuid, inet, text) to dealkeep_server;
