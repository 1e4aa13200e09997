-- compatible: what the release before calls stays as it is, with more that can be said.
-- A call of a tool that reads takes one statement less, and entering takes two instead of eight: each statement in a function
-- costs its preparations, however little it reads.

-- Seals an identity for the rest of the transaction. Assigned and not performed, which would be a statement.
create or replace function app.seal(identity text) returns void
language plpgsql volatile as $$
declare
  secret bytea;
  sealed text;
begin
  select s.secret into secret from vault.seal s;
  sealed := concat(set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', app.seal_of(identity, secret), true));
end
$$;

-- The part of an identity that names a deal and what a person is there, from what was found of both: the deal's brokerage
-- (`tenant`) and the person's part in it. An expression, put in the place of each call.
create function app.standing_of(deal uuid, tenant uuid, barred uuid[], administered uuid[], participant uuid, role text, principal uuid,
  principal_role text) returns text
language sql stable
return case when participant is not null and tenant <> all (barred)
  then concat_ws(',', deal, participant, role, principal, principal_role)
  else concat(case when tenant = any (administered) then deal else '00000000-0000-0000-0000-000000000000' end, ',,,,') end;

create or replace function app.standing(person uuid, barred uuid[], administered uuid[], deal uuid) returns text
language plpgsql stable as $$
declare
  part record;
  tenant uuid;
begin
  select p.* into part from vault.parts p where p.user_id = person and p.deal_id = standing.deal;
  select d.organization_id into tenant from public.deals d where d.id = standing.deal;
  return app.standing_of(deal, tenant, barred, administered, part.participant_id, part.role, part.principal_id, part.principal_role);
end
$$;

-- Enters with an access token. With `tool`, the name of one that reads, it also refuses who owes a second factor, and leaves the
-- record of a call that succeeds: the record is part of the transaction, and gone with it when the call comes to nothing. Such an
-- answer does not wait for the disk.
drop function app.enter_with_access_token(bytea, text, text, uuid);
create function app.enter_with_access_token(presented bytea, resource text, of_table text default null, record uuid default null,
  tool text default null, subject text default null, on_deal uuid default null, address inet default null, request_id text default null)
returns table (user_id uuid, client_id uuid, client_name text, family_id uuid, scopes text[], expires_at timestamptz)
language plpgsql volatile security definer set search_path = '' as $$
declare
  now constant timestamptz := app.now();
  deal constant uuid := case when of_table = 'deals' then record when of_table is not null then app.deal_of(of_table, record) end;
  asking uuid[];
  administered uuid[];
  used timestamptz;
  secret bytea;
  tenant uuid;
  participant uuid;
  part_role text;
  advised uuid;
  advised_role text;
  identity text;
begin
  -- The client works for the person as vault.working_clients has it, with the memberships that are read anyway.
  select f.user_id, f.client_id, c.name, f.id, t.scopes, t.expires_at, f.last_used_at, m.asking, m.administered, s.secret,
    d.organization_id, p.id, p.role, p.advises
  into user_id, client_id, client_name, family_id, scopes, expires_at, used, asking, administered, secret,
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
  if used is null or used <= now - interval '1 minute' then
    -- Several requests notice the minute together: one of them writes, none waits.
    update vault.token_families f set last_used_at = now
    where f.id = (select w.id from vault.token_families w where w.id = family_id for no key update skip locked);
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
grant execute on function app.enter_with_access_token(bytea, text, text, uuid, text, text, uuid, inet, text) to dealkeep_server;

-- Rows are locked where advisory locks were taken: those who add to the same wait for each other, and nobody who refers to these rows
-- waits for them. Of what a person adds in a day that is the person themself.
create or replace function app.limit_a_day() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  added int;
begin
  if app.user_id() is null then
    return new;  -- the owner, loading data
  end if;
  -- One after the other, or several at once would all be the last that there is room for.
  perform from public.users u where u.id = app.user_id() for no key update;
  execute format('select count(*) from public.%I where deal_id = $1 and %I = $2 and %I > $3', tg_table_name, tg_argv[1], tg_argv[2])
    into added using new.deal_id, app.user_id(), app.now() - interval '1 day';
  if added >= tg_argv[0]::int then
    perform app.refuse('too_many_today', format('At most %s %s a person a day on a deal: go on tomorrow.', tg_argv[0], tg_argv[3]));
  end if;
  return new;
end
$$;

create or replace function app.limit_of_deal() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  there int;
begin
  if app.user_id() is null then
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

create or replace function app.limit_comments() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if app.user_id() is null then
    return new;  -- the owner, loading data
  end if;
  perform from public.findings f where f.id = new.finding_id for no key update;
  if (select count(*) from public.finding_comments c where c.finding_id = new.finding_id) >= 500 then
    perform app.refuse('finding_full', 'A finding has room for 500 comments: record another one.');
  end if;
  return new;
end
$$;
