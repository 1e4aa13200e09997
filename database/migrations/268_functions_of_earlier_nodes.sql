-- compatible: the release before calls none of them.
--
-- What only nodes of earlier releases called goes; what other functions still ask is no longer given to the server.

drop function app.home_queue(boolean);
drop function app.latest_activity();
drop function app.books_of(uuid, integer, integer, integer, integer);
drop function app.enter_with_access_token(bytea, text, text, uuid, text, text, uuid, inet, text, text, integer, integer, text[], uuid);
drop function app.deal_in_sight(uuid);
drop function vault.deal_told(uuid, text, uuid);
drop function app.create_contact(text, text, text, text, text, bytea, inet, text, uuid, uuid);

revoke execute on function app.deal_opted_in(uuid), app.tool_granted(text), app.client_is_by_document(uuid), app.brokerage_named(text) from dealkeep_server;

-- A comment of the statement that enters referred to one of them.
do $$
begin
  execute replace(pg_get_functiondef('app.enter_with_token'::regproc), '-- As vault.deal_told has it: all but', '-- All but');
end
$$;
