-- What the REST API serves: API keys, the contacts of a brokerage, and the memory of requests that may be repeated.

-- API keys ------------------------------------------------------------------------------------------------------------
--
-- A key has a token, of which only the SHA-256 digest is kept, in the vault. Rotating gives the same key another token:
-- its scopes, its rate limit, its records in the audit trail and the requests that it may repeat go on as they were.
-- `environment` tells a token's users what it is meant for (dk_live_…, dk_test_…); both work on the same data.

create table api_keys (
  id uuid primary key default app.uuid_v7(),
  brokerage_id uuid not null references brokerages,
  name text not null check (length(name) between 1 and 100),
  environment text not null check (environment in ('live', 'test')),
  scopes text[] not null check (scopes <@ '{contacts:read,contacts:write}' and cardinality(scopes) > 0),
  ceiling int check (ceiling between 1 and 100000),
  last_four text not null check (last_four ~ '^[0-9a-f]{4}$'),
  expires_at timestamptz,
  created_by uuid not null references users,
  created_at timestamptz not null default app.now(),
  rotated_at timestamptz,
  previous_last_four text,
  previous_valid_until timestamptz,
  revoked_at timestamptz,
  revoked_by uuid references users,
  last_used_at timestamptz
);
create index api_keys_by_brokerage on api_keys (brokerage_id, created_at desc, id desc);
select app.protect('api_keys');
create policy admins_see_them on api_keys for select to dealkeep_server
  using (brokerage_id = any ((select app.brokerages_as('admin'))::uuid[]));
grant select on api_keys to dealkeep_server;

-- `issued_by` is the admin to whom the token was shown: it does no more than that person may do at this moment.
create table vault.api_key_digests (
  digest bytea primary key check (length(digest) = 32),
  key_id uuid not null references api_keys,
  issued_by uuid not null references users,
  issued_at timestamptz not null default app.now(),
  valid_until timestamptz
);
create index api_key_digests_by_key on vault.api_key_digests (key_id);
select app.protect('vault.api_key_digests');

-- Enters as the API key whose token has this SHA-256 digest, and returns what the interface must know. No row, and nobody
-- has entered, when the token is unknown, revoked, expired or rotated away, or when who issued it is suspended or no
-- longer a member of the brokerage, or lacks the second factor that it asks of its members. Every role of a member may
-- read and write contacts, so that the key keeps all of its scopes as long as the issuer is a member at all. The last use
-- is written at most once a minute.
create function app.enter_with_api_key(presented bytea)
returns table (key_id uuid, brokerage_id uuid, scopes text[], ceiling int)
language plpgsql volatile security definer set search_path = '' as $$
declare
  now constant timestamptz := app.now();
  key record;
begin
  select k.id, k.brokerage_id, k.scopes, k.ceiling, k.last_used_at into key
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
  if key.last_used_at is null or key.last_used_at <= now - interval '1 minute' then
    -- Several requests of one key notice the minute together: one of them writes, none waits.
    update public.api_keys k set last_used_at = now
    where k.id = (select w.id from public.api_keys w where w.id = key.id for no key update skip locked);
  end if;
  perform app.enter(null, null, key.id, key.brokerage_id, key.scopes);
  return query select key.id, key.brokerage_id, key.scopes, key.ceiling;
end
$$;
grant execute on function app.enter_with_api_key(bytea) to dealkeep_server;

-- Makes a key, whoever asks: for the owner's own commands. People go through app.create_api_key.
create function app.issue_api_key(brokerage_id uuid, issued_by uuid, name text, environment text, scopes text[],
  ceiling int, expires_at timestamptz, digest bytea, last_four text) returns uuid
language plpgsql volatile set search_path = '' as $$
declare
  made uuid;
begin
  insert into public.api_keys (brokerage_id, name, environment, scopes, ceiling, expires_at, last_four, created_by)
  values (issue_api_key.brokerage_id, issue_api_key.name, issue_api_key.environment, issue_api_key.scopes,
    issue_api_key.ceiling, issue_api_key.expires_at, issue_api_key.last_four, issue_api_key.issued_by)
  returning id into made;
  insert into vault.api_key_digests (digest, key_id, issued_by)
  values (issue_api_key.digest, made, issue_api_key.issued_by);
  return made;
end
$$;

-- Refuses everybody but an admin of the brokerage in the web application: no key and no connected client makes keys.
create function app.check_key_admin(brokerage_id uuid) returns void
language plpgsql stable security definer set search_path = '' as $$
begin
  if app.client_id() is not null or brokerage_id is null or not brokerage_id = any (app.brokerages_as('admin')) then
    perform app.refuse('not_an_admin', 'API keys are managed by the admins of the brokerage, signed in to the web application.');
  end if;
end
$$;

-- Makes a key for a brokerage of which the caller is an admin, and returns its id.
create function app.create_api_key(brokerage_id uuid, name text, environment text, scopes text[], ceiling int,
  expires_at timestamptz, digest bytea, last_four text, address inet, request_id text) returns uuid
language plpgsql volatile security definer set search_path = '' as $$
declare
  made uuid;
begin
  perform app.check_key_admin(brokerage_id);
  if expires_at <= app.now() then
    perform app.refuse('expires_in_the_past', 'The key must expire in the future, or never.');
  end if;
  made := app.issue_api_key(brokerage_id, app.user_id(), name, environment, scopes, ceiling, expires_at, digest, last_four);
  perform app.audit('api_key.create', made::text, 'done', brokerage_id, null, address, request_id,
    jsonb_build_object('name', name, 'environment', environment, 'scopes', scopes, 'ceiling', ceiling, 'expires_at', expires_at));
  return made;
end
$$;

-- The key, locked, when the caller may manage it; a key of another brokerage is the same as none.
create function app.key_to_manage(key_id uuid) returns public.api_keys
language plpgsql volatile security definer set search_path = '' as $$
declare
  key public.api_keys;
begin
  if app.client_id() is null then
    select k.* into key from public.api_keys k
    where k.id = key_to_manage.key_id and k.brokerage_id = any (app.brokerages_as('admin')) for no key update;
  end if;
  if key.id is null then
    perform app.refuse('api_key_not_found', 'There is no such API key in a brokerage of which you are an admin.');
  end if;
  return key;
end
$$;

-- Gives a key another token. The tokens before it work on for `overlap`; with an overlap of 0 they stop at once.
create function app.rotate_api_key(key_id uuid, overlap interval, digest bytea, last_four text, address inet,
  request_id text) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  key constant public.api_keys := app.key_to_manage(key_id);
  now constant timestamptz := app.now();
begin
  if key.revoked_at is not null or key.expires_at <= now then
    perform app.refuse('api_key_ended', 'This key is revoked or expired: create a new one instead.');
  end if;
  if overlap is null or overlap < interval '0' or overlap > interval '30 days' then
    perform app.refuse('overlap_not_allowed', 'The old token may go on working for 0 to 30 days.');
  end if;
  update vault.api_key_digests d set valid_until = least(d.valid_until, now + overlap) where d.key_id = key.id;
  insert into vault.api_key_digests (digest, key_id, issued_by)
  values (rotate_api_key.digest, key.id, app.user_id());
  update public.api_keys k set rotated_at = now, previous_last_four = k.last_four, previous_valid_until = now + overlap,
    last_four = rotate_api_key.last_four where k.id = key.id;
  perform app.audit('api_key.rotate', key.id::text, 'done', key.brokerage_id, null, address, request_id,
    jsonb_build_object('previous_valid_until', now + overlap));
end
$$;

-- Ends a key for good, with the next request on every node. Ending it again changes nothing.
create function app.revoke_api_key(key_id uuid, address inet, request_id text) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  key constant public.api_keys := app.key_to_manage(key_id);
begin
  if key.revoked_at is null then
    update public.api_keys k set revoked_at = app.now(), revoked_by = app.user_id() where k.id = key.id;
    perform app.audit('api_key.revoke', key.id::text, 'done', key.brokerage_id, null, address, request_id, '{}');
  end if;
end
$$;
grant execute on function
  app.create_api_key(uuid, text, text, text[], int, timestamptz, bytea, text, inet, text),
  app.rotate_api_key(uuid, interval, bytea, text, inet, text),
  app.revoke_api_key(uuid, inet, text) to dealkeep_server;

-- Contacts ------------------------------------------------------------------------------------------------------------
--
-- People and companies tracked outside any deal. Times are kept to the millisecond in which they are shown, so that the
-- place in a list can be told from what was shown. Contacts are archived, never deleted.

create table contacts (
  id uuid primary key default app.uuid_v7(),
  brokerage_id uuid not null references brokerages,
  type text not null check (type in ('person', 'company')),
  -- As long as the body of a request may be: nothing else bounds them, and no index holds them.
  display_name text not null check (length(display_name) <= 65536 and display_name ~ '\S'),
  email text check (app.is_email_address(email)),
  phone text check (length(phone) <= 65536),
  created_by uuid references users default app.user_id(),
  created_by_key uuid references api_keys default app.key_id(),
  created_at timestamptz(3) not null default app.now(),
  updated_at timestamptz(3) not null default app.now(),
  archived_at timestamptz(3)
);
create index contacts_in_order on contacts (brokerage_id, created_at desc, id desc) where archived_at is null;
select app.protect('contacts');
create trigger touch before update on contacts for each row execute function app.touch();

-- The brokerages whose contacts the caller works with: those of which they are a member; for an API key its own, when it
-- carries `scope`. One array, so that one index scan in order answers a page; two policies would be an OR, and a sort.
create function app.brokerages_for(scope text) returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
declare
  of_key constant uuid := app.key_brokerage(scope);
begin
  return case when of_key is null then app.brokerages_as('admin', 'broker', 'staff') else array[of_key] end;
end
$$;
grant execute on function app.brokerages_for(text) to dealkeep_server;

-- Keys do not see what is archived, and change nothing.
create policy members_and_keys_see_them on contacts for select to dealkeep_server
  using (brokerage_id = any ((select app.brokerages_for('contacts:read'))::uuid[])
    and (archived_at is null or (select app.key_id()) is null));
create policy members_and_keys_add_them on contacts for insert to dealkeep_server
  with check (brokerage_id = any ((select app.brokerages_for('contacts:write'))::uuid[]));
create policy members_change_them on contacts for update to dealkeep_server
  using (brokerage_id = any ((select app.brokerages_as('admin', 'broker', 'staff'))::uuid[]));
-- The columns are the law here: no right to set brokerage_id afterwards, so that no row moves to another tenant.
grant select, insert (brokerage_id, type, display_name, email, phone),
  update (type, display_name, email, phone, archived_at) on contacts to dealkeep_server;

-- Requests that may be repeated ----------------------------------------------------------------------------------------

-- For 24 hours: what a request with an Idempotency-Key asked for, as a digest, and what it made. With the same body
-- that is the whole first answer, whatever has become of the contact since.
create table vault.idempotency_keys (
  key_id uuid not null references api_keys,
  idempotency_key text not null check (length(idempotency_key) between 1 and 255),
  body_digest bytea not null check (length(body_digest) = 32),
  contact_id uuid not null,
  made_at timestamptz(3) not null,
  primary key (key_id, idempotency_key)
);
create index idempotency_keys_by_age on vault.idempotency_keys (made_at);
select app.protect('vault.idempotency_keys');

-- Adds a contact to the brokerage of the API key that is calling; `repeated` when the answer is that of an earlier
-- request with the same idempotency key (null: the request carries none). No row when the key may not write contacts.
-- A function, because a key that may write but not read gets the answer to what it wrote, and because of the memory:
-- whoever comes second waits for the first to commit and then finds its answer.
create function app.create_contact(type text, display_name text, email text, phone text, idempotency_key text,
  body_digest bytea, address inet, request_id text)
returns table (id uuid, created_at timestamptz, repeated boolean)
language plpgsql volatile security definer set search_path = '' as $$
declare
  brokerage constant uuid := app.key_brokerage('contacts:write');
  caller constant uuid := app.key_id();
  now constant timestamptz(3) := app.now();
  made constant uuid := app.uuid_v7();
  earlier vault.idempotency_keys;
begin
  if brokerage is null then
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
  insert into public.contacts (id, brokerage_id, type, display_name, email, phone, created_by_key, created_at, updated_at)
  values (made, brokerage, create_contact.type, create_contact.display_name, create_contact.email,
    create_contact.phone, caller, now, now);
  perform app.audit('contact.create', made::text, 'done', brokerage, null, address, request_id,
    jsonb_build_object('type', create_contact.type));
  return query select made, now::timestamptz, false;
end
$$;
grant execute on function app.create_contact(text, text, text, text, text, bytea, inet, text) to dealkeep_server;
