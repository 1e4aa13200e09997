-- compatible: the same function; a sign-in of somebody with a hundred sessions ends the one that was used least recently.
--
-- Sessions that nobody ends live for thirty days while they are used: a program that signs in and never out made the list of a person's sessions, and the work of ending them, as long as it liked.

CREATE OR REPLACE FUNCTION app.open_session(owner_id uuid, token bytea, earlier bytea, method text, address inet, agent text, request_id text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  ended int;
begin
  update vault.sessions s set ended_at = app.now() where s.digest = earlier and s.ended_at is null;
  -- Without waiting for anybody: a session that is being written is being used or ended.
  update vault.sessions s set ended_at = app.now()
    where s.ended_at is null and s.id = any (array(
      select f.id from vault.sessions f
      where f.id in (select l.id from vault.live_sessions l where l.user_id = owner_id order by l.last_seen_at desc, l.id desc offset 99)
      for no key update skip locked));
  get diagnostics ended = row_count;
  if ended > 0 then
    perform app.record(owner_id, 'session.end', 'done', jsonb_build_object('sessions', ended), address, request_id);
  end if;
  insert into vault.sessions (user_id, digest, method, address, user_agent, second_factor_at)
    values (owner_id, token, method, address, left(agent, 300),
      case when method in ('code', 'recovery_code', 'passkey') then app.now() end);
  perform app.record(owner_id, 'session.sign_in', 'done', jsonb_build_object('method', method), address,
    request_id);
end
$function$;
