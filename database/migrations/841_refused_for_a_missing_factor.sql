-- compatible: adds a function.

-- Of a call that is refused because a brokerage requires a second factor, no other brokerage may learn. The brokerage whose deal the call was
-- about, where it is one of those that bar the caller, otherwise null.
create function app.barring_brokerage_of(of_table text, record uuid) returns uuid
  language plpgsql stable security definer set search_path = ''
as $$
begin
  return (select d.organization_id from public.deals d
    where d.id = app.deal_of(of_table, record) and d.organization_id = any (app.barred_in(app.identity())));
end
$$;
grant execute on function app.barring_brokerage_of(text, uuid) to dealkeep_server;
