-- compatible: a function that nodes of the release before do not call.
--
-- The bell went on counting, and mails went on telling, what somebody had already seen on the tab of the deal that shows it.

-- Marks the caller's notifications of these kinds about a deal as read: those among the latest thousand that they have not read.
CREATE FUNCTION app.read_notifications_of(deal uuid, kinds text[])
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  marked int;
begin
  if app.user_id() is null or app.client_id() is not null then
    return 0;
  end if;
  update vault.notifications n set read_at = app.now()
    where n.read_at is null and n.id = any (array(
      select l.id from (
        select u.id, u.deal_id, u.kind from vault.notifications u
        where u.user_id = app.user_id() and u.read_at is null order by u.at desc, u.id desc limit 1000) l
      where l.deal_id = read_notifications_of.deal and l.kind = any (kinds)
        and not exists (select from app.notification_kinds k where k.kind = l.kind and k.security)));
  get diagnostics marked = row_count;
  return marked;
end
$function$;
GRANT EXECUTE ON FUNCTION app.read_notifications_of(uuid,text[]) TO dealkeep_server;
