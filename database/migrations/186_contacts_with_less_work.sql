-- compatible: the same contacts are made, with the same records and events, and the same is refused.
-- What a new contact costs PostgreSQL: one trigger for two, no look for the key that has just entered, and ids that the node gives.

-- A key is deleted with its brokerage alone, which no contact outlives.
alter table public.contacts drop constraint contacts_created_by_key_fkey;

-- Whether a sandbox has more than it may have.
create function app.check_room_of_sandbox(sandbox uuid, of_table text, most int, what text, bytes bigint) returns void
language plpgsql volatile set search_path = '' as $$
declare
  held int;
  size numeric;
begin
  case of_table
    when 'contacts' then select count(*) into held from public.contacts c where c.brokerage_id = sandbox;
    when 'deals' then select count(*) into held from public.deals d where d.organization_id = sandbox;
    else execute format('select count(*), %s from public.deals d join public.%I t on t.deal_id = d.id where d.organization_id = $1',
      case when bytes is null then 'null' else 'sum(t.size_bytes)' end, of_table) into held, size using sandbox;
  end case;
  if held > most or size > bytes then
    perform app.refuse('sandbox_full', format('The sandbox has no more room: at most %s %s%s. Reset it.', to_char(most, 'FM999,999'), what,
      case when size > bytes then format(' of %s MB together', bytes / 1000000) end));
  end if;
end
$$;

-- As before.
create or replace function app.limit_sandbox() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
  -- Of a key's identity its brokerage; of a person's nothing. It is only held back by it.
  brokerage constant uuid := nullif(split_part(current_setting('dealkeep.identity', true), ',', 4), '');
begin
  if brokerage is not null and exists (select from public.brokerages b where b.id = brokerage and b.sandbox_of is not null) then
    perform app.check_room_of_sandbox(brokerage, tg_table_name, tg_argv[0]::int, tg_argv[1], tg_argv[2]::bigint);
  end if;
  return null;
end
$$;

-- As before; a new contact of a sandbox has to have room there, too.
create or replace function app.note_contacts() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
  brokerage uuid;
begin
  if tg_op = 'INSERT' then
    insert into public.change_events (brokerage_id, object_type, object_id, change) select n.brokerage_id, 'contact', n.id, 'created' from changed n;
    brokerage := nullif(split_part(current_setting('dealkeep.identity', true), ',', 4), '');
    if brokerage is not null and exists (select from public.brokerages b where b.id = brokerage and b.sandbox_of is not null) then
      perform app.check_room_of_sandbox(brokerage, 'contacts', tg_argv[0]::int, 'contacts', null);
    end if;
    return null;
  elsif tg_op = 'DELETE' and current_setting('dealkeep.deleting', true) = 'on' then
    return null;
  elsif tg_op = 'UPDATE' then
    insert into public.change_events (brokerage_id, object_type, object_id, change)
      select n.brokerage_id, 'contact', n.id, case when (o.archived_at is null) = (n.archived_at is null) then 'updated'
          when n.archived_at is null then 'restored' else 'archived' end
      from changed n join before o on o.id = n.id;
  else
    insert into public.change_events (brokerage_id, object_type, object_id, change) select n.brokerage_id, 'contact', n.id, 'removed' from changed n;
  end if;
  return null;
end
$$;
drop trigger limit_sandbox on public.contacts;
drop trigger note_new on public.contacts;
create trigger note_new after insert on public.contacts referencing new table as changed for each statement execute function app.note_contacts('5000');

-- As before, with the ids of the contact and of its record from the node. A version before gives none.
drop function app.create_contact(text, text, text, text, text, bytea, inet, text);
create function app.create_contact(type text, display_name text, email text, phone text, idempotency_key text, body_digest bytea, address inet,
  request_id text, made uuid default app.uuid_v7(), record_id uuid default app.uuid_v7())
returns table (id uuid, created_at timestamptz, repeated boolean)
language plpgsql volatile security definer set search_path = '' as $$
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
  insert into public.audit_records (id, brokerage_id, key_id, address, request_id, action, subject_id, outcome, details)
  values (record_id, brokerage, caller, create_contact.address, create_contact.request_id, 'contact.create', made::text, 'done',
    jsonb_build_object('type', create_contact.type));
  id := made;
  created_at := now;
  repeated := false;
  return next;
end
$$;
grant execute on function app.create_contact(text, text, text, text, text, bytea, inet, text, uuid, uuid) to dealkeep_server;
