-- compatible: a function of its own; the one that tells stays, for versions that ask it.
-- What a registered client presents is exchanged in one round trip: whether it is one stands before the exchange, in the same transaction.

create function app.refuse_client_by_document(client_id uuid) returns void language plpgsql stable security definer set search_path = '' as $$
begin
  if app.client_is_by_document(client_id) then
    perform app.refuse('invalid_client', 'The client_id of a client by its document is the address of the document.');
  end if;
end
$$;
revoke execute on function app.refuse_client_by_document(uuid) from public;
grant execute on function app.refuse_client_by_document(uuid) to dealkeep_server;
