-- compatible: the functions keep their arguments and answers. Nodes of the release before leave the last use of keys and clients unwritten.
--
-- When a credential was last used is gathered by each node and written down for many at once, so that what only reads writes nothing.

-- Writes down that the credentials with these digests were used so many milliseconds ago: sessions, API keys and access tokens alike. Each is
-- written once in a minute of the clock, however many nodes tell of it. Whoever cannot present a credential does not have its digest.
create function app.note_uses(digests bytea[], ages double precision[]) returns void
language plpgsql security definer set search_path = '' as $$
begin
  -- Who changes a row at this moment is not waited for, and in the order of their ids two nodes do not wait for each other in a circle.
  update vault.sessions s set last_seen_at = u.at
  from (select g.digest, max(app.now() - greatest(g.age, 0) * interval '1 millisecond') as at
    from unnest(digests, ages) g (digest, age) group by g.digest) u
  where s.digest = u.digest and date_trunc('minute', s.last_seen_at) < date_trunc('minute', u.at)
    and s.id in (select l.id from vault.live_sessions v join vault.sessions l on l.id = v.id
      where v.digest = any (digests) order by l.id for no key update of l skip locked);

  update public.api_keys k set last_used_at = u.at
  from (select d.key_id, max(app.now() - greatest(g.age, 0) * interval '1 millisecond') as at
    from unnest(digests, ages) g (digest, age) join vault.api_key_digests d on d.digest = g.digest group by d.key_id) u
  where k.id = u.key_id and (k.last_used_at is null or date_trunc('minute', k.last_used_at) < date_trunc('minute', u.at))
    and k.id in (select l.id from public.api_keys l
      where l.id in (select d.key_id from vault.api_key_digests d where d.digest = any (digests)) order by l.id for no key update skip locked);

  update vault.token_families f set last_used_at = u.at
  from (select t.family_id, max(app.now() - greatest(g.age, 0) * interval '1 millisecond') as at
    from unnest(digests, ages) g (digest, age) join vault.access_tokens t on t.digest = g.digest group by t.family_id) u
  where f.id = u.family_id and (f.last_used_at is null or date_trunc('minute', f.last_used_at) < date_trunc('minute', u.at))
    and f.id in (select l.id from vault.token_families l
      where l.id in (select t.family_id from vault.access_tokens t where t.digest = any (digests)) order by l.id for no key update skip locked);
end
$$;
grant execute on function app.note_uses(bytea[], double precision[]) to dealkeep_server;

create or replace function app.enter_with_api_key(presented bytea) returns table(key_id uuid, brokerage_id uuid, scopes text[], ceiling integer)
language plpgsql security definer set search_path = '' as $$
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
  perform app.enter(null, null, key.id, key.brokerage_id, key.scopes);
  return query select key.id, key.brokerage_id, key.scopes, key.ceiling;
end
$$;

create or replace function app.enter_with_access_token(presented bytea, resource text, of_table text default NULL::text, record uuid default NULL::uuid, tool text default NULL::text, subject text default NULL::text, on_deal uuid default NULL::uuid, address inet default NULL::inet, request_id text default NULL::text) returns table(user_id uuid, client_id uuid, client_name text, family_id uuid, scopes text[], expires_at timestamp with time zone)
language plpgsql security definer set search_path = '' as $$
declare
  now constant timestamptz := app.now();
  deal constant uuid := case when of_table = 'deals' then record when of_table is not null then app.deal_of(of_table, record) end;
  asking uuid[];
  administered uuid[];
  secret bytea;
  tenant uuid;
  participant uuid;
  part_role text;
  advised uuid;
  advised_role text;
  identity text;
begin
  -- The client works for the person as vault.working_clients has it, with the memberships that are read anyway.
  select f.user_id, f.client_id, c.name, f.id, t.scopes, t.expires_at, m.asking, m.administered, s.secret,
    d.organization_id, p.id, p.role, p.advises
  into user_id, client_id, client_name, family_id, scopes, expires_at, asking, administered, secret,
    tenant, participant, part_role, advised
  from vault.access_tokens t
  join vault.token_families f on f.id = t.family_id
  join public.connected_clients c on c.id = f.client_id and c.deleted_at is null and not c.disabled
  join public.users u on u.id = f.user_id and u.suspended_at is null
  cross join vault.seal s
  cross join lateral (
    select coalesce(array_agg(m.brokerage_id), '{}') as joined,
      coalesce(array_agg(m.brokerage_id) filter (where
        (select b.requires_second_factor from public.brokerages b where b.id = m.brokerage_id)), '{}') as asking,
      coalesce(array_agg(m.brokerage_id) filter (where m.role = 'admin'), '{}') as administered
    from public.members m where m.user_id = f.user_id and m.status = 'active') m
  left join public.deals d on d.id = deal
  left join public.participants p on p.user_id = f.user_id and p.deal_id = deal and p.status = 'active'
  where t.digest = presented and t.expires_at > now and t.revoked_at is null
    and f.revoked_at is null and f.ends_at > now and f.resource = enter_with_access_token.resource
    and (c.brokerage_id is null and c.created_by = f.user_id or c.brokerage_id = any (m.joined));
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
    case when of_table is not null then ',' || app.standing_of(deal, tenant, asking, administered, participant, part_role,
      coalesce(advised, participant), coalesce(advised_role, part_role)) end);
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

-- A session ends when it was not used for 12 hours. Its use is written at once where the last one that is written down is an hour old, so
-- that none ends because a node was late, or was killed with what it had gathered.
create or replace function app.enter_with_session(session bytea, attended boolean default true, of_table text default NULL::text, record uuid default NULL::uuid) returns table(user_id uuid, email text, name text, session_id uuid, authenticated_at timestamp with time zone, recently_authenticated boolean, second_factor boolean)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  live vault.live_sessions;
  member record;
begin
  select l.* into live from vault.live_sessions l where l.digest = session;
  if not found then
    return;
  end if;
  if attended and live.last_seen_at < app.now() - interval '1 hour' then
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
