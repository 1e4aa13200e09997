-- compatible: only adds a function.
--
-- The activity of a deal said of what an API key had done that the service did it: its records name no person, and who sees a record because they could open what it is about does not
-- read its key. This says of a record that the caller was shown who did it: 'key' to brokers of the deal and admins of its brokerage, 'brokerage' to others, who are not told whether
-- keys reach the deal, and null where it was no key.

create function app.unnamed_actor(record uuid, recorded_at timestamptz, deal uuid)
returns text
language plpgsql
stable security definer
set search_path to ''
as $function$
begin
  if app.user_id() is null or (app.narrowed_to() is not null and app.narrowed_to() <> deal)
    or not exists (select from public.audit_records a
      where a.id = record and a.at = recorded_at and a.deal_id = deal and a.noted and a.key_id is not null)
  then
    return null;
  end if;
  -- Of this deal alone: all of those of the caller would be read for each record.
  return case when exists (select from vault.deals_of_people o where o.user_id = app.user_id() and o.deal_id = deal and o.role = 'broker')
      or (select d.organization_id from public.deals d where d.id = deal) = any (app.brokerages_as('admin'))
    then 'key' else 'brokerage' end;
end
$function$;
grant execute on function app.unnamed_actor(uuid, timestamptz, uuid) to dealkeep_server;
