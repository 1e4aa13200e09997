-- compatible: answers what versions before ask as before.
-- A call that asks of the offers on a deal whose books the node does not hold is answered by a second transaction, and the record of it was left by the
-- first: it told of a success also where the second failed.

-- As before, and of who says which digests of the books they `held`, a call that is told 'offers' is told the JSON null where the digest is none of those,
-- and leaves no record: it has to ask for all of it, and the transaction that answers leaves the record.
drop function app.enter_with_access_token(bytea, text, text, uuid, text, text, uuid, inet, text, text, integer, integer);
create function app.enter_with_access_token(presented bytea, resource text, of_table text default null, record uuid default null,
  tool text default null, subject text default null, on_deal uuid default null, address inet default null, request_id text default null,
  tells text default null, most_uploads integer default null, most_adjustments integer default null, held text[] default null)
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
      advised := null;
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
  if tool is not null and asking <> '{}' then
    perform app.check_second_factor();
  end if;
  if tells is not null then
    side := coalesce(side, case when tenant = any (administered) then '' end);
    if side is not null and tells = 'offers' then
      settled := vault.digest_of_books(deal, side in ('broker', 'seller') or deal = any (app.qoe_deals(false)), most_uploads, most_adjustments);
      is_unheld := coalesce(settled <> all (held), false);
    end if;
    told := case
      when side is null then null
      when is_unheld then 'null'
      when tells = 'deal' then vault.deal_told(deal, side, coalesce(advised, participant))
      when tells = 'offers' then json_build_array(vault.offers_told(deal, side, coalesce(advised, participant)), settled, now::text) end;
  end if;
  if tool is not null and not is_unheld then
    insert into public.audit_records (at, brokerage_id, deal_id, user_id, client_id, address, request_id, action, subject_id, outcome)
    values (now, case when on_deal = deal then tenant end, on_deal, user_id, client_id, enter_with_access_token.address,
      enter_with_access_token.request_id, 'tool:' || tool, subject, 'ok');
    identity := set_config('synchronous_commit', 'off', true);
  end if;
  return next;
end
$$;
grant execute on function app.enter_with_access_token(bytea, text, text, uuid, text, text, uuid, inet, text, text, integer, integer, text[])
  to dealkeep_server;
