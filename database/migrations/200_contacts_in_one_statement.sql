-- compatible: two functions more; what versions before call answers as before.
--
-- A page of contacts and a new contact are each one statement, which enters with the API key and does the work as the owner: there is no identity to seal and to look
-- at again, and no second statement. A page is planned once for a connection, where a plan for each number of contacts was made anew with every request, and comes as
-- one text. Neither asks a policy: test/policies/keys-asked.ts compares them with what the policies say.

-- Which key in force a digest belongs to; PostgreSQL puts it into the query that asks.
create function vault.key_in_force(presented bytea)
returns table (key_id uuid, brokerage_id uuid, is_test boolean, scopes text[], ceiling int)
language sql stable as $$
  -- Without its sandbox a test key works on nothing.
  select k.id, case k.environment when 'test' then (select s.id from public.brokerages s where s.sandbox_of = k.brokerage_id) else k.brokerage_id end,
    k.environment = 'test', k.scopes, k.ceiling
  from (select g.key_id, g.issued_by from vault.api_key_digests g
    where g.digest = presented and (g.valid_until is null or g.valid_until > app.now()) offset 0) d
  cross join lateral (select g.id, g.brokerage_id, g.environment, g.scopes, g.ceiling from public.api_keys g
    where g.id = d.key_id and g.revoked_at is null and (g.expires_at is null or g.expires_at > app.now()) offset 0) k
  cross join lateral (select from public.users g where g.id = d.issued_by and g.suspended_at is null offset 0) u
  cross join lateral (select from public.members g
    where g.brokerage_id = k.brokerage_id and g.user_id = d.issued_by and g.status = 'active' offset 0) m
  cross join lateral (select from public.brokerages g where g.id = k.brokerage_id
    and (not g.requires_second_factor or app.has_second_factor(d.issued_by)) offset 0) b
$$;
revoke execute on function vault.key_in_force(bytea) from public;

-- As before.
create or replace function app.enter_with_api_key(presented bytea, of_table text default null, record uuid default null)
returns table (key_id uuid, brokerage_id uuid, scopes text[], ceiling int)
language plpgsql volatile security definer set search_path = '' set enable_seqscan = off as $$
declare
  secret bytea;
  identity text;
begin
  select k.key_id, k.brokerage_id, k.scopes, k.ceiling, (select s.secret from vault.seal s) into key_id, brokerage_id, scopes, ceiling, secret
  from vault.key_in_force(presented) k;
  if brokerage_id is null then
    return;
  end if;
  identity := concat(',,', key_id, ',', brokerage_id, ',', array_to_string(scopes, ' '), ',,',
    case when of_table is not null then
      ',' || app.standing_of_key(brokerage_id, scopes, case of_table when 'deals' then record else app.deal_of(of_table, record) end) end);
  identity := concat(set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', app.seal_of(identity, secret), true));
  return next;
end
$$;

-- The first `most` contacts that are not archived, newest first, or those after a place. Null for no key in force; else its id, brokerage, scopes and ceiling, and of
-- a key with the scope seven values of each contact, all of them with `mark` in between, which nobody who writes contacts knows. What may be missing begins with '+'.
create function app.contacts_of_key(presented bytea, mark text, most int, after_at timestamptz, after_id uuid) returns text
language plpgsql stable security definer set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  key record;
  found_here text;
begin
  select k.key_id, k.brokerage_id, k.scopes, k.ceiling into key from vault.key_in_force(presented) k;
  if key.brokerage_id is null then
    return null;
  end if;
  if 'contacts:read' = any (key.scopes) then
    select string_agg(concat_ws(mark, c.id, c.type, c.display_name, coalesce('+' || c.email, ''), coalesce('+' || c.phone, ''), c.created_at, c.updated_at), mark)
    into found_here from (select r.id, r.type, r.display_name, r.email, r.phone, r.created_at, r.updated_at from public.contacts r
      where r.brokerage_id = key.brokerage_id and r.archived_at is null
        and (r.created_at, r.id) < (coalesce(after_at, 'infinity'), coalesce(after_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
      order by r.created_at desc, r.id desc limit most) c;
  end if;
  return concat_ws(mark, key.key_id, key.brokerage_id, array_to_string(key.scopes, ' '), coalesce(key.ceiling::text, ''), found_here);
end
$$;
grant execute on function app.contacts_of_key(bytea, text, int, timestamptz, uuid) to dealkeep_server;

-- Makes a contact as app.create_contact() does. Null for no key in force; else its id, brokerage, scopes and ceiling, and of a key with the scope the id and time of the
-- contact and whether an earlier request with the same idempotency key had made it, with commas in between.
create function app.create_contact_by_key(presented bytea, made uuid, record_id uuid, type text, display_name text, email text, phone text, idempotency_key text,
  body_digest bytea, address inet, request_id text)
returns text
language plpgsql volatile security definer set search_path = '' set enable_seqscan = off as $$
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
      insert into public.audit_records (id, brokerage_id, key_id, address, request_id, action, subject_id, outcome)
      values (record_id, key.brokerage_id, key.key_id, create_contact_by_key.address, create_contact_by_key.request_id, 'contact.create',
        earlier.contact_id::text, 'repeated');
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
  insert into public.audit_records (id, brokerage_id, key_id, address, request_id, action, subject_id, outcome, details)
  values (record_id, key.brokerage_id, key.key_id, create_contact_by_key.address, create_contact_by_key.request_id, 'contact.create', made::text, 'done',
    jsonb_build_object('type', create_contact_by_key.type));
  return concat_ws(',', key.key_id, key.brokerage_id, array_to_string(key.scopes, ' '), coalesce(key.ceiling::text, ''), made, now);
end
$$;
grant execute on function app.create_contact_by_key(bytea, uuid, uuid, text, text, text, text, text, bytea, inet, text) to dealkeep_server;

-- As before, row by row: nearly always there is one, and a table of new rows takes longer to make than to note it.
create function app.note_new_contact() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
  -- Of a key's identity its brokerage; of a person's nothing. It is only held back by it.
  brokerage constant text := split_part(current_setting('dealkeep.identity', true), ',', 4);
begin
  insert into public.change_events (brokerage_id, object_type, object_id, change) values (new.brokerage_id, 'contact', new.id, 'created');
  if brokerage <> '' then
    if exists (select from public.brokerages b where b.id = brokerage::uuid and b.sandbox_of is not null) then
      perform app.check_room_of_sandbox(brokerage::uuid, 'contacts', tg_argv[0]::int, 'contacts', null);
    end if;
  end if;
  return null;
end
$$;
drop trigger note_new on public.contacts;
create trigger note_new after insert on public.contacts for each row execute function app.note_new_contact('5000');

-- As before, without what is new.
create or replace function app.note_contacts() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
  if tg_op = 'UPDATE' then
    insert into public.change_events (brokerage_id, object_type, object_id, change)
      select n.brokerage_id, 'contact', n.id, case when (o.archived_at is null) = (n.archived_at is null) then 'updated'
          when n.archived_at is null then 'restored' else 'archived' end
      from changed n join before o on o.id = n.id;
  elsif current_setting('dealkeep.deleting', true) is distinct from 'on' then
    insert into public.change_events (brokerage_id, object_type, object_id, change) select n.brokerage_id, 'contact', n.id, 'removed' from changed n;
  end if;
  return null;
end
$$;

-- As before, asked where there is something to do: of what belongs to no deal only these are told to anybody.
create or replace trigger note_done after insert on public.audit_records for each row
  when (new.outcome = 'done' and (new.deal_id is not null or new.action not like 'contact.%')) execute function app.note_done();
