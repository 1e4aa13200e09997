-- What people let act in their name: connected clients, consent, codes and tokens (OAuth 2.1).

-- Clients ---------------------------------------------------------------------------------------------------------------
--
-- A client belongs to the person who made it and works for that person. An admin can share one with their brokerage:
-- from then on it works for every member, and for nobody else, and the admins manage it, so that nobody who has left can
-- point it elsewhere.

-- Whether a client may register this redirect URI: https, or http on this machine. The exact form matters, because it is
-- compared as a string: no user, fragment, wildcard, `..` or backslash, and a host that ends where it seems to.
create function app.redirect_uri_allowed(uri text) returns boolean
language sql immutable parallel safe set search_path = '' as $$
  select length(uri) <= 1000
    and uri !~ '[^!-~]' and uri !~ '[\\#*<>"`{}|^]' and position('..' in uri) = 0
    and uri ~ '^(https://([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])|http://(localhost|127\.0\.0\.1|\[::1\]))(:[1-9][0-9]{0,4})?([/?]|$)'
$$;

create function app.redirect_uris_allowed(uris text[]) returns boolean
language sql immutable parallel safe set search_path = '' as $$
  select array_ndims(uris) = 1 and cardinality(uris) <= 20
    and (select bool_and(coalesce(app.redirect_uri_allowed(uri), false)) from unnest(uris) uri)
$$;
-- The server inserts clients, and a check runs with the rights of whoever inserts.
grant execute on function app.redirect_uri_allowed(text), app.redirect_uris_allowed(text[]) to dealkeep_server;

-- Whether `presented` is one of the registered URIs: the same string, or, where a loopback URI was registered without a
-- port, the same string once its port is taken out (RFC 8252, section 7.3).
create function app.redirect_uri_matches(registered text[], presented text) returns boolean
language sql immutable parallel safe set search_path = '' as $$
  select presented = any (registered)
    or regexp_replace(presented, '^(http://(?:localhost|127\.0\.0\.1|\[::1\])):[1-9][0-9]{0,4}(?=[/?]|$)', '\1') = any (registered)
$$;

create table connected_clients (
  id uuid primary key default app.uuid_v7(),
  created_by uuid not null references users default app.user_id(),
  brokerage_id uuid references brokerages,
  name text not null check (length(name) between 1 and 100 and name = btrim(name)
    and name !~ '[[:cntrl:]\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]'),
  redirect_uris text[] not null check (app.redirect_uris_allowed(redirect_uris)),
  disabled boolean not null default false,
  deleted_at timestamptz,
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now()
);
create index connected_clients_by_creator on connected_clients (created_by, created_at desc);
create index connected_clients_by_brokerage on connected_clients (brokerage_id) where brokerage_id is not null;
select app.protect('connected_clients');
create trigger touch before update on connected_clients for each row execute function app.touch();

create policy creators_and_members_see_it on connected_clients for select to dealkeep_server
  using (deleted_at is null and ((brokerage_id is null and created_by = (select app.user_id()))
    or brokerage_id = any ((select app.brokerages_as('admin', 'broker', 'staff'))::uuid[])));
create policy people_make_their_own on connected_clients for insert to dealkeep_server
  with check (created_by = (select app.user_id()) and (select app.client_id()) is null);
create policy creators_manage_their_own on connected_clients for update to dealkeep_server
  using (brokerage_id is null and created_by = (select app.user_id()) and (select app.client_id()) is null)
  with check (created_by = (select app.user_id())
    and (brokerage_id is null or brokerage_id = any ((select app.brokerages_as('admin'))::uuid[])));
create policy admins_manage_shared_ones on connected_clients for update to dealkeep_server
  using (brokerage_id = any ((select app.brokerages_as('admin'))::uuid[]) and (select app.client_id()) is null);
grant select, insert (name, redirect_uris), update (name, redirect_uris, brokerage_id, disabled) on connected_clients
  to dealkeep_server;

-- Sharing a client puts it before every member, and a redirect URI of a shared one says where their codes go.
create trigger guard_sharing before update of brokerage_id, redirect_uris on connected_clients for each row
  when (new.brokerage_id is not null
    and (new.brokerage_id is distinct from old.brokerage_id or new.redirect_uris <> old.redirect_uris))
  execute function app.guard_recent_sign_in();

create function app.check_client_count() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if (select count(*) from public.connected_clients c where c.created_by = new.created_by and c.deleted_at is null) >= 50 then
    perform app.refuse('too_many_clients', 'You have 50 clients, which is the most: delete one that you no longer use.');
  end if;
  return new;
end
$$;
create trigger check_count before insert on connected_clients for each row execute function app.check_client_count();

-- Whether a client works for a person at this moment, whom nobody has suspended: it lives, and it is their own or
-- shared with a brokerage of theirs.
create function app.client_works_for(client_id uuid, user_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (
    select from public.connected_clients c
    join public.users u on u.id = client_works_for.user_id and u.suspended_at is null
    where c.id = client_works_for.client_id and c.deleted_at is null and not c.disabled
      and (c.brokerage_id is null and c.created_by = u.id or exists (select from public.members m
        where m.brokerage_id = c.brokerage_id and m.user_id = u.id and m.status = 'active')));
end
$$;

-- Codes and tokens ------------------------------------------------------------------------------------------------------
--
-- Only SHA-256 digests are kept. A family is one consent and everything that was ever issued for it; revoking the family
-- is revoking all of that at once, for every token is looked up together with its family.

create table vault.token_families (
  id uuid primary key default app.uuid_v7(),
  user_id uuid not null references users,
  client_id uuid not null references connected_clients,
  scopes text[] not null check (scopes <@ '{mcp:read,mcp:write}' and 'mcp:read' = any (scopes)),
  resource text not null,
  consented_at timestamptz not null,
  ends_at timestamptz not null,
  revoked_at timestamptz,
  last_used_at timestamptz
);
create index token_families_by_user on vault.token_families (user_id, client_id) where revoked_at is null;
create index token_families_by_client on vault.token_families (client_id) where revoked_at is null;
create index token_families_by_end on vault.token_families (ends_at);
select app.protect('vault.token_families');

-- `consent` is the digest of the number that one showing of the consent page carries. A code whose verifier was wrong is
-- burned: it exists, and can no longer be redeemed.
create table vault.authorization_codes (
  digest bytea primary key check (length(digest) = 32),
  consent bytea not null unique check (length(consent) = 32),
  user_id uuid not null references users,
  client_id uuid not null references connected_clients,
  redirect_uri text not null,
  challenge text not null check (challenge ~ '^[A-Za-z0-9_-]{43}$'),
  scopes text[] not null check (scopes <@ '{mcp:read,mcp:write}' and 'mcp:read' = any (scopes)),
  resource text not null,
  issued_at timestamptz not null default app.now(),
  expires_at timestamptz not null,
  burned_at timestamptz,
  used_at timestamptz,
  family_id uuid references vault.token_families on delete set null
);
create index authorization_codes_by_expiry on vault.authorization_codes (expires_at);
create index authorization_codes_by_family on vault.authorization_codes (family_id);
select app.protect('vault.authorization_codes');

create table vault.access_tokens (
  digest bytea primary key check (length(digest) = 32),
  family_id uuid not null references vault.token_families on delete cascade,
  scopes text[] not null check (scopes <@ '{mcp:read,mcp:write}' and 'mcp:read' = any (scopes)),
  expires_at timestamptz not null,
  revoked_at timestamptz
);
create index access_tokens_by_family on vault.access_tokens (family_id);
create index access_tokens_by_expiry on vault.access_tokens (expires_at);
select app.protect('vault.access_tokens');

-- A consumed token stays until its family ends, for it is what a replay is recognised by. `consumed_clock` is the real
-- time, which the tests cannot move: it tells requests that overlapped from those that came later. `answer` is what the
-- first of them was answered, sealed with a key that only the presented token yields, and kept for a moment.
create table vault.refresh_tokens (
  digest bytea primary key check (length(digest) = 32),
  family_id uuid not null references vault.token_families on delete cascade,
  expires_at timestamptz not null,
  consumed_at timestamptz,
  consumed_clock timestamptz,
  answer bytea,
  answer_scopes text[]
);
create index refresh_tokens_by_family on vault.refresh_tokens (family_id);
create index refresh_tokens_with_answer on vault.refresh_tokens (consumed_clock) where answer is not null;
select app.protect('vault.refresh_tokens');

-- A record in the audit trail in the name of the person and client whom a presented code or token belongs to: at the
-- token endpoint nobody has entered. Seen by the admins of the brokerage that the client is shared with, or else of the
-- person's own, if they belong to one alone.
create function app.audit_family(user_id uuid, client_id uuid, family_id uuid, action text, outcome text, address inet,
  request_id text, details jsonb) returns void
language plpgsql security definer set search_path = '' as $$
declare
  identity text := current_setting('dealkeep.identity', true);
  seal text := current_setting('dealkeep.seal', true);
begin
  perform app.enter(user_id, client_id, null, null, null);
  perform app.audit(action, family_id::text, outcome, app.brokerage_of_grant(user_id, client_id), null, address,
    request_id, details);
  perform set_config('dealkeep.identity', coalesce(identity, ''), true);
  perform set_config('dealkeep.seal', coalesce(seal, ''), true);
end
$$;

create function app.brokerage_of_grant(user_id uuid, client_id uuid) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  return coalesce(
    (select c.brokerage_id from public.connected_clients c where c.id = brokerage_of_grant.client_id),
    (select (array_agg(m.brokerage_id))[1] from public.members m
      where m.user_id = brokerage_of_grant.user_id and m.status = 'active' having count(*) = 1));
end
$$;

-- Revokes families, each with everything issued for it, and burns the codes that have not become one yet: those of a
-- person with a client, of a person with every client (null), or of every person (null) with a client.
create function app.revoke_families(user_id uuid, client_id uuid) returns int
language plpgsql security definer set search_path = '' as $$
declare
  revoked int;
begin
  if user_id is null and client_id is null then
    return 0;
  end if;
  update vault.authorization_codes c set burned_at = app.now()
    where c.used_at is null and c.burned_at is null
      and (revoke_families.user_id is null or c.user_id = revoke_families.user_id)
      and (revoke_families.client_id is null or c.client_id = revoke_families.client_id);
  update vault.token_families f set revoked_at = app.now()
    where f.revoked_at is null
      and (revoke_families.user_id is null or f.user_id = revoke_families.user_id)
      and (revoke_families.client_id is null or f.client_id = revoke_families.client_id);
  get diagnostics revoked = row_count;
  return revoked;
end
$$;

-- Consent -----------------------------------------------------------------------------------------------------------------

-- What the authorize endpoint must know of a client before it shows or redirects anything. No row: there is no such
-- client, or not any more. `works` is false while nobody has entered; the names are for the person for whom it works.
create function app.authorizing_client(client_id uuid, redirect_uri text)
returns table (redirect_matches boolean, works boolean, name text, registered_by text, registered_by_caller boolean,
  shared_with text, registered_at timestamptz)
language plpgsql stable security definer set search_path = '' as $$
declare
  person constant uuid := app.user_id();
  usable constant boolean := person is not null and app.client_works_for(client_id, person);
begin
  return query
    select app.redirect_uri_matches(c.redirect_uris, authorizing_client.redirect_uri), usable,
      case when usable then c.name end, case when usable then u.name end, coalesce(c.created_by = person, false),
      case when usable then b.name end, c.created_at
    from public.connected_clients c
    join public.users u on u.id = c.created_by
    left join public.brokerages b on b.id = c.brokerage_id
    where c.id = authorizing_client.client_id and c.deleted_at is null and not c.disabled;
end
$$;

-- Whether a client works for a person and has registered this redirect URI.
create function app.client_takes(client_id uuid, person uuid, redirect_uri text) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return app.client_works_for(client_id, person) and exists (select from public.connected_clients c
    where c.id = client_takes.client_id and app.redirect_uri_matches(c.redirect_uris, client_takes.redirect_uri));
end
$$;

-- Records that the caller approves a client and keeps the code that the client will redeem. Everything is checked anew:
-- between the page and the answer a client may have been changed. `outcome`: issued; signed_out; client_refused (gone,
-- not the caller's, or another redirect URI); sign_in_again (writing is let in by somebody who has signed in within the
-- last ten minutes); answered (this showing of the page has led to tokens already). Sending the
-- same page again before that puts the new code in the place of the first, so that one at most can be used.
create function app.approve_client(client_id uuid, redirect_uri text, challenge text, scopes text[], resource text,
  consent bytea, code bytea, address inet, request_id text) returns text
language plpgsql security definer set search_path = '' as $$
declare
  person constant uuid := app.user_id();
begin
  if person is null or app.client_id() is not null then
    return 'signed_out';
  end if;
  if not app.client_takes(client_id, person, redirect_uri) then
    return 'client_refused';
  end if;
  if 'mcp:write' = any (scopes) and not app.recently_signed_in() then
    return 'sign_in_again';
  end if;
  insert into vault.authorization_codes as kept
    (digest, consent, user_id, client_id, redirect_uri, challenge, scopes, resource, expires_at)
  values (code, approve_client.consent, person, approve_client.client_id, approve_client.redirect_uri,
    approve_client.challenge, approve_client.scopes, approve_client.resource, app.now() + interval '60 seconds')
  on conflict on constraint authorization_codes_consent_key do update
    set digest = excluded.digest, scopes = excluded.scopes, issued_at = excluded.issued_at, expires_at = excluded.expires_at,
      burned_at = null
    where kept.used_at is null and kept.user_id = excluded.user_id and kept.client_id = excluded.client_id
      and kept.redirect_uri = excluded.redirect_uri and kept.challenge = excluded.challenge;
  if not found then
    return 'answered';
  end if;
  perform app.audit('consent.give', approve_client.client_id::text, 'done', app.brokerage_of_grant(person, approve_client.client_id),
    null, address, request_id, jsonb_build_object('scopes', scopes));
  return 'issued';
end
$$;

-- Records that the caller turns a client down. `outcome`: denied; signed_out; client_refused, as above.
create function app.deny_client(client_id uuid, redirect_uri text, scopes text[], address inet, request_id text) returns text
language plpgsql security definer set search_path = '' as $$
declare
  person constant uuid := app.user_id();
begin
  if person is null or app.client_id() is not null then
    return 'signed_out';
  end if;
  if not app.client_takes(client_id, person, redirect_uri) then
    return 'client_refused';
  end if;
  perform app.audit('consent.deny', deny_client.client_id::text, 'denied', app.brokerage_of_grant(person, deny_client.client_id),
    null, address, request_id, jsonb_build_object('scopes', scopes));
  return 'denied';
end
$$;

-- Tokens ------------------------------------------------------------------------------------------------------------------

create function app.issue_tokens(family_id uuid, scopes text[], access_token bytea, refresh_token bytea) returns void
language plpgsql security definer set search_path = '' as $$
begin
  insert into vault.access_tokens (digest, family_id, scopes, expires_at)
    values (access_token, issue_tokens.family_id, issue_tokens.scopes, app.now() + interval '3600 seconds');
  insert into vault.refresh_tokens (digest, family_id, expires_at)
    values (refresh_token, issue_tokens.family_id, app.now() + interval '30 days');
end
$$;

-- A client that may ask for tokens at all; for whom it works is asked with each grant.
create function app.client_lives(client_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from public.connected_clients c
    where c.id = client_lives.client_id and c.deleted_at is null and not c.disabled);
end
$$;

-- Turns a code into a family with its first tokens, once. `presented_challenge` is the S256 of the verifier; '' when the
-- verifier was malformed. `outcome`: issued; invalid_client; invalid_grant; invalid_target.
--
-- A wrong verifier burns a code that was not used. The second use of a code that would have been good revokes what the
-- first one issued; a second use that is wrong in anything is refused and revokes nothing, or a code seen in a log would
-- be enough to sign people out.
create function app.redeem_code(client_id uuid, code bytea, redirect_uri text, presented_challenge text, resource text,
  access_token bytea, refresh_token bytea, address inet, request_id text, out outcome text, out scopes text[])
language plpgsql security definer set search_path = '' as $$
declare
  kept vault.authorization_codes;
  verified boolean;
begin
  outcome := 'invalid_client';
  if not app.client_lives(client_id) then
    return;
  end if;
  outcome := 'invalid_grant';
  select c.* into kept from vault.authorization_codes c where c.digest = code for no key update;
  if not found or kept.client_id <> redeem_code.client_id or kept.redirect_uri is distinct from redeem_code.redirect_uri then
    return;
  end if;
  -- Digests of both sides are compared, so that the time it takes tells nothing about either.
  verified := sha256(code || convert_to(presented_challenge, 'UTF8')) = sha256(code || convert_to(kept.challenge, 'UTF8'));
  if kept.used_at is not null then
    if verified and kept.family_id is not null then
      update vault.token_families f set revoked_at = app.now() where f.id = kept.family_id and f.revoked_at is null;
      if found then
        perform app.audit_family(kept.user_id, kept.client_id, kept.family_id, 'code.replay', 'revoked', address, request_id, '{}');
      end if;
    end if;
    return;
  end if;
  if kept.burned_at is not null or kept.expires_at <= app.now() then
    return;
  end if;
  if coalesce(resource, kept.resource) <> kept.resource then
    outcome := 'invalid_target';
    return;
  end if;
  if not verified then
    update vault.authorization_codes c set burned_at = app.now() where c.digest = code;
    perform app.audit_family(kept.user_id, kept.client_id, null, 'code.burn', 'refused', address, request_id, '{}');
    return;
  end if;
  if not app.client_works_for(kept.client_id, kept.user_id) then
    return;
  end if;
  insert into vault.token_families (user_id, client_id, scopes, resource, consented_at, ends_at)
    values (kept.user_id, kept.client_id, kept.scopes, kept.resource, kept.issued_at, kept.issued_at + interval '180 days')
    returning id into kept.family_id;
  update vault.authorization_codes c set used_at = app.now(), family_id = kept.family_id where c.digest = code;
  perform app.issue_tokens(kept.family_id, kept.scopes, access_token, refresh_token);
  perform app.audit_family(kept.user_id, kept.client_id, kept.family_id, 'tokens.issue', 'done', address, request_id,
    jsonb_build_object('scopes', kept.scopes));
  outcome := 'issued';
  scopes := kept.scopes;
end
$$;

-- Rotates a refresh token: consumes it and keeps its successor and a new access token. `wanted` narrows the access token
-- alone (null: all that was consented to); `resource` null stands for that of the family. `outcome`: issued; overlapping
-- (`answer` is what the first of the overlapping requests was answered); invalid_client; invalid_grant; invalid_scope and
-- invalid_target, which consume nothing.
--
-- `began` is when the whole request had arrived, in Unix milliseconds of the database's real clock. Null: overlapping
-- requests are not told from replays. A request overlaps when it began before the token was consumed, and when neither its
-- beginning nor this call is more than `overlap` milliseconds away from that. Anything else is a replay: it revokes the
-- family, and that is kept although the client is refused.
create function app.refresh_tokens(client_id uuid, presented bytea, wanted text[], resource text, began double precision,
  overlap double precision, access_token bytea, refresh_token bytea, sealed bytea, address inet, request_id text,
  out outcome text, out scopes text[], out answer bytea, out expires_in int)
language plpgsql security definer set search_path = '' as $$
declare
  family vault.token_families;
  token vault.refresh_tokens;
  overlapping boolean;
  apart constant interval := make_interval(secs => overlap / 1000);
begin
  outcome := 'invalid_client';
  if not app.client_lives(client_id) then
    return;
  end if;
  outcome := 'invalid_grant';
  -- The lock first, the token after it: whoever waited sees what the one before has done.
  select f.* into family from vault.token_families f
    where f.id = (select t.family_id from vault.refresh_tokens t where t.digest = presented) for no key update;
  if not found or family.client_id <> refresh_tokens.client_id or family.revoked_at is not null
    or family.ends_at <= app.now() or not app.client_works_for(family.client_id, family.user_id)
  then
    return;
  end if;
  select t.* into token from vault.refresh_tokens t where t.digest = presented;
  overlapping := coalesce(
    to_timestamp(began / 1000) < token.consumed_clock
      and to_timestamp(began / 1000) >= token.consumed_clock - apart
      and clock_timestamp() <= token.consumed_clock + apart,
    false);
  if token.consumed_at is not null and not overlapping then
    update vault.token_families f set revoked_at = app.now() where f.id = family.id;
    update vault.refresh_tokens t set answer = null where t.family_id = family.id and t.answer is not null;
    perform app.audit_family(family.user_id, family.client_id, family.id, 'tokens.replay', 'revoked', address, request_id, '{}');
    return;
  end if;
  if token.expires_at <= app.now() then
    return;
  end if;
  if not coalesce(wanted, family.scopes) <@ family.scopes or not 'mcp:read' = any (coalesce(wanted, family.scopes)) then
    outcome := 'invalid_scope';
    return;
  end if;
  if coalesce(resource, family.resource) <> family.resource then
    outcome := 'invalid_target';
    return;
  end if;
  if token.consumed_at is not null then
    -- Once the successor was used there is no answer to give any more, and nothing to revoke either.
    if token.answer is not null then
      outcome := 'overlapping';
      scopes := token.answer_scopes;
      answer := token.answer;
      expires_in := least(3600, 3600 - extract(epoch from app.now() - token.consumed_at)::int);
    end if;
    return;
  end if;
  scopes := coalesce(wanted, family.scopes);
  expires_in := 3600;
  update vault.refresh_tokens t
    set consumed_at = app.now(), consumed_clock = clock_timestamp(), answer = sealed, answer_scopes = refresh_tokens.scopes
    where t.digest = presented and t.consumed_at is null;
  -- Whoever holds this token has received the answer that made it: the one kept for it is no longer needed.
  update vault.refresh_tokens t set answer = null
    where t.family_id = family.id and t.answer is not null and t.digest <> presented;
  perform app.issue_tokens(family.id, scopes, access_token, refresh_token);
  perform app.audit_family(family.user_id, family.client_id, family.id, 'tokens.refresh', 'done', address, request_id,
    jsonb_build_object('scopes', scopes));
  outcome := 'issued';
end
$$;

-- Forgets the sealed answers that no request can overlap with any more. True when others are left, which are too young.
create function app.forget_answers(overlap double precision) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  update vault.refresh_tokens t set answer = null, answer_scopes = null
    where t.answer is not null and t.consumed_clock < clock_timestamp() - make_interval(secs => overlap / 1000);
  return exists (select from vault.refresh_tokens t where t.answer is not null);
end
$$;

-- Revokes a token for the client that it was issued to (RFC 7009): a refresh token with its whole family, an access token
-- alone. `outcome`: invalid_client; revoked; nothing, when the client has no such token that lives.
create function app.revoke_token(client_id uuid, presented bytea, address inet, request_id text, out outcome text)
language plpgsql security definer set search_path = '' as $$
declare
  family vault.token_families;
begin
  outcome := 'invalid_client';
  if not app.client_lives(client_id) then
    return;
  end if;
  outcome := 'revoked';
  update vault.token_families f set revoked_at = app.now()
    where f.id = (select t.family_id from vault.refresh_tokens t where t.digest = presented)
      and f.client_id = revoke_token.client_id and f.revoked_at is null
    returning f.* into family;
  if found then
    perform app.audit_family(family.user_id, family.client_id, family.id, 'tokens.revoke', 'done', address, request_id,
      '{"token": "refresh"}');
    return;
  end if;
  update vault.access_tokens t set revoked_at = app.now()
    from vault.token_families f
    where t.digest = presented and t.revoked_at is null and f.id = t.family_id and f.client_id = revoke_token.client_id
    returning f.* into family;
  if found then
    perform app.audit_family(family.user_id, family.client_id, family.id, 'tokens.revoke', 'done', address, request_id,
      '{"token": "access"}');
    return;
  end if;
  outcome := 'nothing';
end
$$;

-- Enters as the person and client whom an access token for `resource` was issued to, and returns what the interface must know.
-- No row, and nobody has entered, when the token is unknown, expired or revoked, when its family is revoked or over, when
-- the client no longer works for the person, or when the person is suspended.
create function app.enter_with_access_token(presented bytea, resource text)
returns table (user_id uuid, client_id uuid, client_name text, family_id uuid, scopes text[], expires_at timestamptz)
language plpgsql security definer set search_path = '' as $$
declare
  now constant timestamptz := app.now();
  entered record;
begin
  select f.user_id, f.client_id, c.name, f.id, t.scopes, t.expires_at, f.last_used_at into entered
  from vault.access_tokens t
  join vault.token_families f on f.id = t.family_id
  join public.connected_clients c on c.id = f.client_id
  where t.digest = presented and t.expires_at > now and t.revoked_at is null
    and f.revoked_at is null and f.ends_at > now and f.resource = enter_with_access_token.resource;
  if not found or not app.client_works_for(entered.client_id, entered.user_id) then
    return;
  end if;
  if entered.last_used_at is null or entered.last_used_at <= now - interval '1 minute' then
    -- Several requests notice the minute together: one of them writes, none waits.
    update vault.token_families f set last_used_at = now
    where f.id = (select w.id from vault.token_families w where w.id = entered.id for no key update skip locked);
  end if;
  -- A client shows no second factor: it is enough that the person has one.
  perform app.enter(entered.user_id, entered.client_id, null, null, entered.scopes, null,
    app.brokerages_barring(entered.user_id, true));
  return query
    select entered.user_id, entered.client_id, entered.name, entered.id, entered.scopes, entered.expires_at;
end
$$;
grant execute on function
  app.authorizing_client(uuid, text),
  app.approve_client(uuid, text, text, text[], text, bytea, bytea, inet, text),
  app.deny_client(uuid, text, text[], inet, text),
  app.redeem_code(uuid, bytea, text, text, text, bytea, bytea, inet, text),
  app.refresh_tokens(uuid, bytea, text[], text, double precision, double precision, bytea, bytea, bytea, inet, text),
  app.forget_answers(double precision),
  app.revoke_token(uuid, bytea, inet, text),
  app.enter_with_access_token(bytea, text) to dealkeep_server;

-- What people see and end ---------------------------------------------------------------------------------------------------

-- The caller's living connections, one row a client: with what scopes, since when, and when last used.
create function app.connections()
returns table (client_id uuid, scopes text[], connected_at timestamptz, last_used_at timestamptz)
language plpgsql stable security definer set search_path = '' as $$
begin
  return query
    select f.client_id, array_agg(distinct scope order by scope), min(f.consented_at), max(f.last_used_at)
    from vault.token_families f, unnest(f.scopes) scope
    where f.user_id = app.user_id() and f.revoked_at is null and f.ends_at > app.now()
      and exists (select from vault.refresh_tokens t
        where t.family_id = f.id and t.consumed_at is null and t.expires_at > app.now())
    group by f.client_id;
end
$$;

-- Ends the caller's connection with a client: its tokens, and what its tools were allowed. True when there was one.
create function app.disconnect_client(client_id uuid, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  person constant uuid := app.user_id();
  revoked int;
begin
  if person is null or client_id is null then
    return false;
  end if;
  revoked := app.revoke_families(person, disconnect_client.client_id);
  delete from public.tool_grants g where g.user_id = person and g.client_id = disconnect_client.client_id;
  if revoked > 0 then
    perform app.audit('client.disconnect', disconnect_client.client_id::text, 'done',
      app.brokerage_of_grant(person, disconnect_client.client_id), null, address, request_id, jsonb_build_object('grants', revoked));
  end if;
  return revoked > 0;
end
$$;

-- Deletes a client that the caller manages, and with it every grant that anybody has given it. False: there is none.
create function app.delete_client(client_id uuid, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  if app.client_id() is not null then
    return false;
  end if;
  update public.connected_clients c set deleted_at = app.now()
    where c.id = delete_client.client_id and c.deleted_at is null
      and ((c.brokerage_id is null and c.created_by = app.user_id()) or c.brokerage_id = any (app.brokerages_as('admin')));
  if not found then
    return false;
  end if;
  perform app.revoke_families(null, delete_client.client_id);
  delete from public.tool_grants g where g.client_id = delete_client.client_id;
  perform app.audit('client.delete', delete_client.client_id::text, 'done',
    app.brokerage_of_grant(app.user_id(), delete_client.client_id), null, address, request_id, '{}');
  return true;
end
$$;

-- Ends what everybody but one person (null: everybody) has given a client: tokens, codes not yet redeemed, tool grants.
create function app.end_grants_of_client(client_id uuid, keeping uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  person uuid;
begin
  for person in
    select f.user_id from vault.token_families f
      where f.client_id = end_grants_of_client.client_id and f.revoked_at is null
    union select c.user_id from vault.authorization_codes c where c.client_id = end_grants_of_client.client_id
    union select g.user_id from public.tool_grants g where g.client_id = end_grants_of_client.client_id
  loop
    if person is distinct from keeping then
      perform app.revoke_families(person, end_grants_of_client.client_id);
      delete from public.tool_grants g where g.user_id = person and g.client_id = end_grants_of_client.client_id;
    end if;
  end loop;
end
$$;

-- What people agreed to ends when it is something else afterwards, and does not come back when the change is undone.
-- Switched off, or a redirect URI taken away: what everybody gave. No longer shared: what everybody gave but its creator,
-- for whom it goes on working. Renamed: what everybody gave but whoever renames it.
create function app.end_grants_with_change() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if (new.disabled and not old.disabled) or not new.redirect_uris @> old.redirect_uris then
    perform app.end_grants_of_client(new.id, null);
  end if;
  if old.brokerage_id is not null and new.brokerage_id is distinct from old.brokerage_id then
    perform app.end_grants_of_client(new.id, new.created_by);
  end if;
  if new.name <> old.name then
    perform app.end_grants_of_client(new.id, app.user_id());
  end if;
  return null;
end
$$;
create trigger end_grants after update of name, redirect_uris, brokerage_id, disabled on connected_clients
  for each row execute function app.end_grants_with_change();

-- Forgets what has ended: how many rows; for the server's scheduled jobs. A used code stays for a day, so that using it again
-- is noticed; consumed refresh tokens stay as long as their family, for the same reason.
create function app.purge_authorization() returns int
language plpgsql security definer set search_path = '' as $$
declare
  now constant timestamptz := app.now();
  gone int;
  total int := 0;
begin
  delete from vault.authorization_codes c
    where c.expires_at <= now and (c.used_at is null or c.expires_at <= now - interval '1 day');
  get diagnostics gone = row_count;
  total := total + gone;
  delete from vault.access_tokens t where t.expires_at <= now;
  get diagnostics gone = row_count;
  total := total + gone;
  -- What a node was about to forget when it was stopped.
  perform app.forget_answers(60000);
  delete from vault.token_families f where f.ends_at <= now or f.revoked_at <= now - interval '1 day';
  get diagnostics gone = row_count;
  return total + gone;
end
$$;
grant execute on function app.connections(), app.disconnect_client(uuid, inet, text), app.delete_client(uuid, inet, text),
  app.purge_authorization() to dealkeep_server;
