-- compatible: the function answers the release before as it did, for 10,000 at a time.
--
-- Marking everything as read was one statement for all that somebody had not read in half a year. Of some 150,000 it did not end within the time that a statement has.

drop function app.read_notifications(uuid[]);
-- Without ids those until a time, or until now, at most 10,000, the latest first; how many these were.
create function app.read_notifications(ids uuid[], until timestamptz default null)
returns integer
language plpgsql
security definer
set search_path = ''
as $$
declare
  marked int;
begin
  update vault.notifications n set read_at = app.now()
    where n.user_id = app.user_id() and app.client_id() is null and n.read_at is null and n.id = any (coalesce(ids, array(
      select l.id from vault.notifications l
        where l.user_id = app.user_id() and l.read_at is null and l.at <= coalesce(until, app.now())
        order by l.at desc, l.id desc limit 10000)));
  get diagnostics marked = row_count;
  return marked;
end
$$;
grant execute on function app.read_notifications(uuid[], timestamptz) to dealkeep_server;
