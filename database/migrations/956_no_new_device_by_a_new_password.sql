-- compatible: a parameter more, with a default.
--
-- A new password ends all sessions and forgets all browsers but that in which it was chosen. It was told there as a new device in which somebody had signed in.

drop function app.keep_device(bytea, bytea, bytea);
CREATE FUNCTION app.keep_device(session bytea, earlier bytea, device bytea, continues boolean DEFAULT false)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person uuid;
begin
  perform from public.users u where u.id = (select l.user_id from vault.live_sessions l where l.digest = session) for share;
  select l.user_id into person from vault.live_sessions l where l.digest = session;
  if not found then
    return;
  end if;
  if not continues and not exists (select from vault.known_devices k where k.digest = earlier and k.user_id = person)
    and (exists (select from vault.known_devices k where k.user_id = person)
      or exists (select from vault.sessions s where s.user_id = person and s.digest <> session))
  then
    perform app.queue_event('new_device', null, null, null, person, person);
  end if;
  update vault.known_devices k set digest = device where k.digest = earlier;
  insert into vault.known_devices (digest, user_id) values (device, person)
    on conflict (digest, user_id) do update set used_at = app.now(), code_failures = 0, code_failed_at = null;
  delete from vault.known_devices k where k.user_id = person and k.digest in (
    select old.digest from vault.known_devices old where old.user_id = person
    order by old.used_at desc, old.digest offset 20);
end
$function$;
grant execute on function app.keep_device(bytea, bytea, bytea, boolean) to dealkeep_server;
