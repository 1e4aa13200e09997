-- compatible: a function more.
--
-- A request enters with its session and is answered in one transaction, also when the session has ended: each function had to see for itself that nobody was
-- there. Requests that change something now end here first.

create function app.require_person() returns void language plpgsql stable set search_path = '' as $$
begin
  if app.user_id() is null then
    raise insufficient_privilege using message = 'Nobody is signed in.';
  end if;
end
$$;
grant execute on function app.require_person() to dealkeep_server;
