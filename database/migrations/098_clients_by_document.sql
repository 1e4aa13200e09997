-- compatible: a column, an index, a trigger and functions are added.
--
-- A client may say who it is by an https address of a document (draft-ietf-oauth-client-id-metadata-document): `client_id` is that address then. The
-- person who agrees gets a client of their own for it, which works for them alone: a row like others, with the address in it. What the document
-- says (its name, its redirect URIs) is read by the server, and written here alone, when somebody agrees to it.

alter table connected_clients
  add column metadata_url text
    check (length(metadata_url) <= 1000 and metadata_url ~ '^https://[^/?#@ ]+/[!-~]+$' and metadata_url !~ '[#"<>\\]'),
  add constraint connected_clients_document_is_of_one_person check (metadata_url is null or brokerage_id is null);
-- One of each person for an address, of those that are not deleted.
create unique index connected_clients_by_document on connected_clients (metadata_url, created_by)
  where metadata_url is not null and deleted_at is null;

-- The name and the redirect URIs of such a client are those of its document: nobody changes them by hand.
create function app.guard_document_client() returns trigger
language plpgsql set search_path = '' as $$
begin
  -- Whoever writes to the table themselves; the function below does it as the owner.
  if current_user = session_user then
    perform app.refuse('from_document', 'The name and the redirect URIs of this client come from its own document. Disconnect or delete it instead.');
  end if;
  return new;
end
$$;
create trigger guard_document_client before update of name, redirect_uris on connected_clients for each row
  when (old.metadata_url is not null and (new.name <> old.name or new.redirect_uris <> old.redirect_uris))
  execute function app.guard_document_client();

-- What the caller has agreed to of a client by its document; no row: nothing yet, or they have deleted it.
create function app.document_client(url text)
returns table (id uuid, name text, redirect_uris text[], disabled boolean, created_at timestamptz)
language plpgsql stable security definer set search_path = '' as $$
begin
  return query
    select c.id, c.name, c.redirect_uris, c.disabled, c.created_at from public.connected_clients c
    where c.metadata_url = document_client.url and c.created_by = app.user_id() and c.deleted_at is null;
end
$$;

-- The caller approves a client by its document, with the name and redirect URIs that they were shown: makes or changes their client for it, and
-- goes on as app.approve_client, whose outcomes these are. What was taken away from the document ends what was granted, as with any client.
create function app.approve_document_client(url text, name text, redirect_uris text[], redirect_uri text, challenge text, scopes text[],
  resource text, consent bytea, code bytea, address inet, request_id text) returns text
language plpgsql security definer set search_path = '' as $$
declare
  person constant uuid := app.user_id();
  kept public.connected_clients;
begin
  if person is null or app.client_id() is not null then
    return 'signed_out';
  end if;
  if not app.redirect_uri_matches(redirect_uris, redirect_uri) then
    return 'client_refused';
  end if;
  if 'mcp:write' = any (scopes) and not app.recently_signed_in() then
    return 'sign_in_again';
  end if;
  -- One after the other: of two who agree at once, the second finds what the first has made.
  perform from public.users u where u.id = person for no key update;
  select c.* into kept from public.connected_clients c
    where c.metadata_url = url and c.created_by = person and c.deleted_at is null for no key update;
  if kept.disabled then
    return 'client_refused';
  end if;
  if kept.id is null then
    insert into public.connected_clients (created_by, name, redirect_uris, metadata_url)
      values (person, approve_document_client.name, approve_document_client.redirect_uris, url) returning * into kept;
    perform app.audit('client.create', kept.id::text, 'done', null, null, address, request_id, jsonb_build_object('document', url));
  elsif kept.name <> approve_document_client.name or kept.redirect_uris <> approve_document_client.redirect_uris then
    update public.connected_clients c
      set name = approve_document_client.name, redirect_uris = approve_document_client.redirect_uris where c.id = kept.id;
    perform app.audit('client.change', kept.id::text, 'done', null, null, address, request_id, jsonb_build_object('document', url));
  end if;
  return app.approve_client(kept.id, redirect_uri, challenge, scopes, resource, consent, code, address, request_id);
end
$$;

-- The caller turns it down: nothing is kept but the record.
create function app.deny_document_client(url text, scopes text[], address inet, request_id text) returns text
language plpgsql security definer set search_path = '' as $$
declare
  person constant uuid := app.user_id();
begin
  if person is null or app.client_id() is not null then
    return 'signed_out';
  end if;
  perform app.audit('consent.deny', null, 'denied', app.brokerage_of_grant(person, null), null, address, request_id,
    jsonb_build_object('scopes', scopes, 'document', url));
  return 'denied';
end
$$;

-- The client that a code or token was issued to, when it is one of this document: at the token endpoint nobody has entered, and many people have a
-- client of the same address. Null: the code or token is unknown, or another client's.
create function app.client_of_grant(url text, presented bytea) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select c.id from public.connected_clients c where c.metadata_url = client_of_grant.url and c.id = coalesce(
    (select a.client_id from vault.authorization_codes a where a.digest = presented),
    (select f.client_id from vault.refresh_tokens t join vault.token_families f on f.id = t.family_id where t.digest = presented),
    (select f.client_id from vault.access_tokens t join vault.token_families f on f.id = t.family_id where t.digest = presented)));
end
$$;
grant execute on function app.document_client(text),
  app.approve_document_client(text, text, text[], text, text, text[], text, bytea, bytea, inet, text),
  app.deny_document_client(text, text[], inet, text), app.client_of_grant(text, bytea) to dealkeep_server;
