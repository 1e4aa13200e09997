-- compatible: adds a function; the other is named, called and answered as before.
--
-- The records of a client that nobody shares are those of the only brokerage of its person, whose admins read them. Those of its registration,
-- change, turning off and on named no brokerage.

create function app.only_brokerage() returns uuid
  language plpgsql stable security definer set search_path = ''
as $function$
begin
  return app.brokerage_of_grant(app.user_id(), null);
end
$function$;
grant execute on function app.only_brokerage() to dealkeep_server;

CREATE OR REPLACE FUNCTION app.approve_document_client(url text, name text, redirect_uris text[], redirect_uri text, challenge text, scopes text[], resource text, consent bytea, code bytea, address inet, request_id text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
    perform app.audit('client.create', kept.id::text, 'done', app.brokerage_of_grant(person, kept.id), null, address, request_id, jsonb_build_object('document', url));
  elsif kept.name <> approve_document_client.name or kept.redirect_uris <> approve_document_client.redirect_uris then
    update public.connected_clients c
      set name = approve_document_client.name, redirect_uris = approve_document_client.redirect_uris where c.id = kept.id;
    perform app.audit('client.change', kept.id::text, 'done', app.brokerage_of_grant(person, kept.id), null, address, request_id, jsonb_build_object('document', url));
  end if;
  return app.approve_client(kept.id, redirect_uri, challenge, scopes, resource, consent, code, address, request_id);
end
$function$;
