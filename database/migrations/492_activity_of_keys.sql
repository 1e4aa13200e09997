-- compatible: only adds a function.
--
-- The activity of a deal said of what an API key had done that the service did it: its records name no person, and who sees a record
-- because they could open what it is about does not read its key. This says of a record that the caller was shown whether a key did it.

create function app.done_by_key(record uuid, recorded_at timestamptz, deal uuid)
returns boolean
language plpgsql
stable security definer
set search_path to ''
as $function$
begin
  if app.user_id() is null or (app.narrowed_to() is not null and app.narrowed_to() <> deal) then
    return false;
  end if;
  return coalesce((select a.key_id is not null from public.audit_records a
    where a.id = record and a.at = recorded_at and a.deal_id = deal and a.noted), false);
end
$function$;
grant execute on function app.done_by_key(uuid, timestamptz, uuid) to dealkeep_server;
