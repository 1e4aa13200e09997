-- compatible: a function is added, and one returns fewer rows.
--
-- The client_id of a client by its document is the address of the document and nothing else: the id of its record is unknown where a client_id is
-- presented. Otherwise it would go on after documents are no longer taken, and be shown to its person like one that somebody registered.

create or replace function app.authorizing_client(client_id uuid, redirect_uri text)
returns table (redirect_matches boolean, works boolean, name text, registered_by text, registered_by_caller boolean, shared_with text,
  registered_at timestamptz)
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
    where c.id = authorizing_client.client_id and c.metadata_url is null and c.deleted_at is null and not c.disabled;
end
$$;

-- Whether this is the id of the record of a client by its document. For the token and revocation endpoints, where nobody has entered.
create function app.client_is_by_document(client_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from public.connected_clients c
    where c.id = client_is_by_document.client_id and c.metadata_url is not null);
end
$$;
grant execute on function app.client_is_by_document(uuid) to dealkeep_server;
