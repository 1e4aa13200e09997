-- compatible: the release before leaves its records by the same functions, and reads the columns that it knows.
--
-- What a record is noted for (activity, and what people are told of) stands in a column, and the condition of the trigger with it. PostgreSQL reads the text of a condition anew with each
-- statement and prepares each comparison in it: of a column alone that takes less than to call the function, of an outcome and an action it took more
-- (219_records_without_condition.sql). Whoever says nothing has it noted, which the function then looks at as before.
--
-- The records that are there have false at first, without being written: 248_indexes_of_noted_records.sql gives those of activity true.

alter table public.audit_records add column noted boolean not null default false;
alter table public.audit_records alter column noted set default true;

create or replace function app.audit(action text, subject_id text, outcome text, brokerage_id uuid, deal_id uuid, address inet, request_id text, details jsonb) returns void
language plpgsql security definer set search_path = '' as $$
declare
  identity constant text := app.identity();
  -- A person calls through a client, a key that acts for them, or neither.
  person constant uuid := nullif(split_part(identity, ',', 1), '');
begin
  insert into public.audit_records
    (brokerage_id, deal_id, user_id, client_id, key_id, address, request_id, action, subject_id, outcome, details, noted)
  values (
    coalesce((select d.organization_id from public.deals d where d.id = audit.deal_id), audit.brokerage_id,
      case when person is null then nullif(split_part(identity, ',', 4), '')::uuid end),
    audit.deal_id, person, case when person is not null then nullif(split_part(identity, ',', 2), '')::uuid end,
    nullif(split_part(identity, ',', 3), '')::uuid, audit.address, audit.request_id, audit.action,
    audit.subject_id, audit.outcome, coalesce(audit.details, '{}'),
    audit.outcome = 'done' and audit.action not like 'tool:%' and (audit.deal_id is not null or audit.action not like 'contact.%'));
end
$$;

create or replace function app.record(user_id uuid, action text, outcome text, details jsonb, address inet, request_id text) returns void
language sql security definer set search_path = '' as $$
  insert into public.audit_records (user_id, action, outcome, details, address, request_id, noted)
  values (record.user_id, record.action, record.outcome, coalesce(record.details, '{}'), record.address, record.request_id, record.outcome = 'done')
$$;

create or replace function app.enter_with_token(presented bytea, resource text, of_table text default NULL::text, record uuid default NULL::uuid, tool text default NULL::text, subject text default NULL::text, on_deal uuid default NULL::uuid, address inet default NULL::inet, request_id text default NULL::text, record_id uuid default NULL::uuid, tells text default NULL::text, most_uploads integer default NULL::integer, most_adjustments integer default NULL::integer, held text[] default NULL::text[]) returns json
language plpgsql security definer set search_path = '' set enable_seqscan = 'off' as $$
declare
  deal constant uuid := case when of_table = 'deals' then record when of_table is not null then app.deal_of(of_table, record) end;
  person uuid;
  user_name text;
  client_id uuid;
  client_name text;
  family_id uuid;
  scopes text[];
  expires_at timestamptz;
  asking uuid[];
  administered uuid[];
  secret bytea;
  identity text;
  participant uuid;
  deal_role text;
  principal uuid;
  principal_role text;
  side text;
  tenant uuid;
  title text;
  state text;
  closed_at timestamptz;
  created_at timestamptz;
  updated_at timestamptz;
  stage text;
  staged_at timestamptz;
  holder uuid;
  buyer uuid;
  granted_at timestamptz;
  ends_at timestamptz;
  knows_all boolean;
  knows_seller boolean;
  knows_stage boolean;
  is_selected boolean;
  runs boolean;
  settled text;
  is_unheld boolean;
  told json;
begin
  -- The client works for the person as vault.working_clients has it. An answer to a call that reads does not wait for the disk.
  select f.user_id, u.name, f.client_id, c.name, f.id, t.scopes, t.expires_at,
    array(select k.brokerage_id from public.members k where k.user_id = f.user_id and k.status = 'active'
      and (select b.requires_second_factor from public.brokerages b where b.id = k.brokerage_id)),
    d.participant_id, d.role, d.principal_id, d.side, case when tells is not null then d.side end, coalesce(d.side, '') <> 'buyer',
    d.organization_id, d.title, d.state, d.closed_at, d.created_at, d.updated_at, d.stage, d.stage_updated_at,
    d.holder_id, d.buyer_user_id, d.granted_at, d.expires_at,
    case when tool is not null then set_config('synchronous_commit', 'off', true) end
  into person, user_name, client_id, client_name, family_id, scopes, expires_at,
    asking, participant, deal_role, principal, principal_role, side, knows_all,
    tenant, title, state, closed_at, created_at, updated_at, stage, staged_at,
    holder, buyer, granted_at, ends_at,
    identity
  from (select k.family_id, k.scopes, k.expires_at from vault.access_tokens k
    where k.digest = presented and k.expires_at > app.now() and k.revoked_at is null offset 0) t
  cross join lateral (select y.id, y.user_id, y.client_id from vault.token_families y
    where y.id = t.family_id and y.revoked_at is null and y.ends_at > app.now() and y.resource = enter_with_token.resource offset 0) f
  cross join lateral (select k.name, k.brokerage_id, k.created_by from public.connected_clients k
    where k.id = f.client_id and k.deleted_at is null and not k.disabled offset 0) c
  cross join lateral (select k.name from public.users k where k.id = f.user_id and k.suspended_at is null offset 0) u
  left join lateral (select k.participant_id, k.role, k.principal_id, k.side, k.organization_id, k.title, k.state, k.closed_at, k.created_at, k.updated_at,
      k.stage, k.stage_updated_at, k.holder_id, k.buyer_user_id, k.granted_at, k.expires_at from vault.deals_of_people k
    where k.user_id = f.user_id and k.deal_id = deal offset 0) d on true
  where case when c.brokerage_id is null then c.created_by = f.user_id
    else exists (select from public.members k where k.brokerage_id = c.brokerage_id and k.user_id = f.user_id and k.status = 'active') end;
  if not found then
    return null;
  end if;
  if asking <> '{}' or side is null or side not in ('broker', 'seller') then
    if asking <> '{}' then
      -- A client shows no second factor: it is enough that the person has one.
      if app.has_second_factor(person) then
        asking := '{}';
      elsif tenant = any (asking) then
        side := null;
      end if;
    end if;
    -- Who has no part in it may be an admin of its brokerage.
    if tenant is null and deal is not null then
      select d.organization_id into tenant from public.deals d where d.id = deal;
    end if;
    if asking <> '{}' or side is null or side not in ('broker', 'seller') then
      if participant is null and of_table is not null then
        -- The same work whether there is such a deal or not.
        administered := array(select m.brokerage_id from public.members m where m.user_id = person
          and m.status = 'active' and m.role = 'admin' and m.brokerage_id <> all (asking));
      end if;
      select s.secret into secret from vault.seal s;
      identity := concat(person, ',', client_id, ',,,', array_to_string(scopes, ' '), ',,', array_to_string(asking, ' '),
        case when of_table is not null then ',' || app.standing_of(deal, tenant, asking, administered, participant, deal_role,
          principal, principal_role) end);
      identity := concat(set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', app.seal_of(identity, secret), true));
      if tool is not null and asking <> '{}' then
        perform app.check_second_factor();
      end if;
      if tells is not null then
        side := coalesce(side, case when tenant = any (administered) then '' end);
      end if;
    end if;
    if tells = 'deal' and side is not null and title is null then
      -- An admin has no row of their own.
      select d.title, d.state, d.closed_at, d.created_at, d.updated_at, g.state, g.updated_at, x.participant_id, x.buyer_user_id, x.granted_at, x.expires_at
      into title, state, closed_at, created_at, updated_at, stage, staged_at, holder, buyer, granted_at, ends_at
      from public.deals d
      left join public.deal_stages g on g.deal_id = d.id
      left join public.exclusivities x on x.deal_id = d.id and x.ended_at is null
      where d.id = deal;
    end if;
  end if;
  if tells = 'deal' and title is not null and side in ('', 'broker', 'seller', 'viewer', 'buyer') then
    -- As vault.deal_told has it: all but a buyer's side know of everybody and how it stands.
    if not knows_all then
      knows_all := tenant = any (app.brokerages_as('admin'));
      if not knows_all then
        knows_seller := exists (select from public.deals d where d.id = deal and not d.needs_nda)
          or exists (select from vault.active_ndas n where n.participant_id = principal);
      end if;
    end if;
    if stage is not null or holder is not null then
      is_selected := coalesce(holder = principal, false);
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
    told := json_build_array(deal, title, state, tenant, buyer, granted_at::text, ends_at::text, closed_at::text, created_at::text, updated_at::text, (
      select json_agg(json_build_array(k.person_id, k.role, k.status, k.name)) from (
        select p.person_id, p.role, p.status, case when p.joined_at is null then p.invited_name else u.name end as name
        from public.participants p
        cross join lateral (select k.name from public.users k where k.id = p.user_id offset 0) u
        where p.deal_id = deal and (knows_all or coalesce(p.advises, p.id) = principal
          or p.status = 'active' and (p.role = 'broker' or p.role = 'seller' and knows_seller))
        order by p.created_at, p.id) k));
  elsif tells = 'offers' and side is not null then
    settled := vault.digest_of_books(deal, side in ('broker', 'seller') or deal = any (app.qoe_deals(false)), most_uploads, most_adjustments);
    is_unheld := settled <> all (held);
    told := case when is_unheld then 'false'
      else json_build_array(vault.offers_told(deal, side, principal), settled, app.now()::text) end;
  end if;
  if tool is not null and is_unheld is not true then
    insert into public.audit_records (id, at, brokerage_id, deal_id, user_id, client_id, address, request_id, action, subject_id, outcome, noted)
    values (record_id, app.now(), case when on_deal = deal then tenant end, on_deal, person, client_id, enter_with_token.address,
      enter_with_token.request_id, 'tool:' || tool, subject, 'ok', false);
  end if;
  return json_build_array(person, client_id, client_name, family_id, scopes, expires_at::text, user_name, deal_role, told);
end
$$;

create or replace function app.enter_with_access_token(presented bytea, resource text, of_table text default NULL::text, record uuid default NULL::uuid, tool text default NULL::text, subject text default NULL::text, on_deal uuid default NULL::uuid, address inet default NULL::inet, request_id text default NULL::text, tells text default NULL::text, most_uploads integer default NULL::integer, most_adjustments integer default NULL::integer, held text[] default NULL::text[], record_id uuid default app.uuid_v7()) returns table (user_id uuid, client_id uuid, client_name text, family_id uuid, scopes text[], expires_at timestamp with time zone, user_name text, deal_role text, told json)
language plpgsql security definer set search_path = '' set enable_seqscan = 'off' as $$
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
    insert into public.audit_records (id, at, brokerage_id, deal_id, user_id, client_id, address, request_id, action, subject_id, outcome, noted)
    values (record_id, now, case when on_deal = deal then tenant end, on_deal, user_id, client_id, enter_with_access_token.address,
      enter_with_access_token.request_id, 'tool:' || tool, subject, 'ok', false);
  end if;
  return next;
end
$$;

create or replace function app.create_contact(type text, display_name text, email text, phone text, idempotency_key text, body_digest bytea, address inet, request_id text, made uuid default app.uuid_v7(), record_id uuid default app.uuid_v7()) returns table (id uuid, created_at timestamp with time zone, repeated boolean)
language plpgsql security definer set search_path = '' as $$
declare
  part constant text[] := string_to_array(app.identity(), ',');
  caller constant uuid := nullif(part[3], '');
  brokerage constant uuid := case when 'contacts:write' = any (string_to_array(part[5], ' ')) then nullif(part[4], '') end;
  now constant timestamptz(3) := app.now();
  earlier vault.idempotency_keys;
begin
  if brokerage is null or caller is null then
    return;
  end if;
  if idempotency_key is not null then
    insert into vault.idempotency_keys as kept (key_id, idempotency_key, body_digest, contact_id, made_at)
    values (caller, create_contact.idempotency_key, create_contact.body_digest, made, now)
    on conflict on constraint idempotency_keys_pkey do update
      set body_digest = excluded.body_digest, contact_id = excluded.contact_id, made_at = excluded.made_at
      where kept.made_at <= now - interval '24 hours';
    if not found then
      select k.* into strict earlier from vault.idempotency_keys k
      where k.key_id = caller and k.idempotency_key = create_contact.idempotency_key;
      if earlier.body_digest <> create_contact.body_digest then
        perform app.refuse('idempotency_key_reused',
          'This Idempotency-Key was used with another body within the last 24 hours: send the same body, or use a new key.');
      end if;
      perform app.audit('contact.create', earlier.contact_id::text, 'repeated', brokerage, null, address, request_id, '{}');
      return query select earlier.contact_id, earlier.made_at::timestamptz, true;
      return;
    end if;
    delete from vault.idempotency_keys k using (
      select o.key_id, o.idempotency_key from vault.idempotency_keys o
      where o.made_at <= now - interval '24 hours' order by o.made_at limit 5 for update skip locked) o
    where k.key_id = o.key_id and k.idempotency_key = o.idempotency_key;
  end if;
  insert into public.contacts (id, brokerage_id, type, display_name, email, phone, created_by, created_by_key, created_at, updated_at)
  values (made, brokerage, create_contact.type, create_contact.display_name, create_contact.email,
    create_contact.phone, null, caller, now, now);
  insert into public.audit_records (id, brokerage_id, key_id, address, request_id, action, subject_id, outcome, details, noted)
  values (record_id, brokerage, caller, create_contact.address, create_contact.request_id, 'contact.create', made::text, 'done',
    jsonb_build_object('type', create_contact.type), false);
  id := made;
  created_at := now;
  repeated := false;
  return next;
end
$$;

create or replace function app.create_contact_by_key(presented bytea, made uuid, record_id uuid, type text, display_name text, email text, phone text, idempotency_key text, body_digest bytea, address inet, request_id text) returns text
language plpgsql security definer set search_path = '' set enable_seqscan = 'off' as $$
declare
  key record;
  now constant timestamptz(3) := app.now();
  earlier vault.idempotency_keys;
begin
  select k.key_id, k.brokerage_id, k.is_test, k.scopes, k.ceiling into key from vault.key_in_force(presented) k;
  if key.brokerage_id is null then
    return null;
  end if;
  if not 'contacts:write' = any (key.scopes) then
    return concat_ws(',', key.key_id, key.brokerage_id, array_to_string(key.scopes, ' '), coalesce(key.ceiling::text, ''));
  end if;
  if key.is_test then
    -- Without a seal it identifies nobody: a new contact of a sandbox has to have room there (app.note_new_contact).
    perform set_config('dealkeep.identity', concat(',,', key.key_id, ',', key.brokerage_id), true);
  end if;
  if idempotency_key is not null then
    insert into vault.idempotency_keys as kept (key_id, idempotency_key, body_digest, contact_id, made_at)
    values (key.key_id, create_contact_by_key.idempotency_key, create_contact_by_key.body_digest, made, now)
    on conflict on constraint idempotency_keys_pkey do update
      set body_digest = excluded.body_digest, contact_id = excluded.contact_id, made_at = excluded.made_at
      where kept.made_at <= now - interval '24 hours';
    if not found then
      select k.* into strict earlier from vault.idempotency_keys k
      where k.key_id = key.key_id and k.idempotency_key = create_contact_by_key.idempotency_key;
      if earlier.body_digest <> create_contact_by_key.body_digest then
        perform app.refuse('idempotency_key_reused',
          'This Idempotency-Key was used with another body within the last 24 hours: send the same body, or use a new key.');
      end if;
      insert into public.audit_records (id, brokerage_id, key_id, address, request_id, action, subject_id, outcome, noted)
      values (record_id, key.brokerage_id, key.key_id, create_contact_by_key.address, create_contact_by_key.request_id, 'contact.create',
        earlier.contact_id::text, 'repeated', false);
      return concat_ws(',', key.key_id, key.brokerage_id, array_to_string(key.scopes, ' '), coalesce(key.ceiling::text, ''),
        earlier.contact_id, earlier.made_at, 'repeated');
    end if;
    delete from vault.idempotency_keys k using (
      select o.key_id, o.idempotency_key from vault.idempotency_keys o
      where o.made_at <= now - interval '24 hours' order by o.made_at limit 5 for update skip locked) o
    where k.key_id = o.key_id and k.idempotency_key = o.idempotency_key;
  end if;
  insert into public.contacts (id, brokerage_id, type, display_name, email, phone, created_by, created_by_key, created_at, updated_at)
  values (made, key.brokerage_id, create_contact_by_key.type, create_contact_by_key.display_name, create_contact_by_key.email,
    create_contact_by_key.phone, null, key.key_id, now, now);
  insert into public.audit_records (id, brokerage_id, key_id, address, request_id, action, subject_id, outcome, details, noted)
  values (record_id, key.brokerage_id, key.key_id, create_contact_by_key.address, create_contact_by_key.request_id, 'contact.create', made::text, 'done',
    jsonb_build_object('type', create_contact_by_key.type), false);
  return concat_ws(',', key.key_id, key.brokerage_id, array_to_string(key.scopes, ' '), coalesce(key.ceiling::text, ''), made, now);
end
$$;

create or replace trigger note_done after insert on public.audit_records for each row when (new.noted) execute function app.note_done();

-- Some deals at a time, found by the index of activity that was made before the column: nobody waits for it for more than a moment. Again from the first, it skips what has it.
create procedure vault.note_earlier_records() language plpgsql as $$
declare
  after uuid := '00000000-0000-0000-0000-000000000000';
  upto uuid;
begin
  loop
    select d.deal_id into upto from (
      select a.deal_id from public.audit_records a
      where a.deal_id > after and a.outcome = 'done' and a.action not like 'tool:%' order by a.deal_id limit 2000) d
    order by d.deal_id desc limit 1;
    exit when upto is null;
    update public.audit_records a set noted = true
      where a.deal_id > after and a.deal_id <= upto and a.outcome = 'done' and a.action not like 'tool:%' and not a.noted;
    commit;
    after := upto;
  end loop;
end
$$;
revoke execute on procedure vault.note_earlier_records() from public;
