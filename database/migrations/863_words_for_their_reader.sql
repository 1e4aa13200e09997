-- compatible: functions that nodes of the release before do not call.
--
-- A notification says what happened in the same words to everybody: nothing told buyers that it was their offer, their question or their NDA.

-- What the caller is on a deal, for the words of a notification about it.
CREATE FUNCTION app.role_on(deal uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (select o.role from vault.deals_of_people o where o.user_id = app.user_id() and o.deal_id = role_on.deal);
end
$function$;
GRANT EXECUTE ON FUNCTION app.role_on(uuid) TO dealkeep_server;

-- The same of whoever a mail in the outbox is for.
CREATE FUNCTION app.role_of_reader(mail uuid, deal uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Mails are made by those who deliver them.');
  end if;
  return (
    select p.role from vault.outbox o join vault.deals_of_people p on p.user_id = o.recipient_id and p.deal_id = role_of_reader.deal
    where o.id = role_of_reader.mail and o.kind = 'notifications' and o.sent_at is null);
end
$function$;
GRANT EXECUTE ON FUNCTION app.role_of_reader(uuid,uuid) TO dealkeep_server;
