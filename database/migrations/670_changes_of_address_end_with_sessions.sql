-- compatible: the release before asks for none of it.
-- Whoever had got into an account could ask for their own mailbox as its address, and the link went on working after a new password and after every session was ended.

DROP FUNCTION app.end_sessions_of(uuid);

-- All but the session with the digest `kept`, with whatever else somebody who got in could go on with.
CREATE FUNCTION app.end_sessions_of(person uuid, kept bytea DEFAULT NULL)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  -- What begins meanwhile is waited for, or waits and finds that this has ended it.
  perform from public.users u where u.id = person for no key update;
  update vault.sessions s set ended_at = app.now() where s.user_id = person and s.digest is distinct from kept and s.ended_at is null;
  delete from vault.sign_in_steps s where s.user_id = person;
  delete from vault.known_devices k where k.user_id = person;
  delete from vault.calendar_links l where l.user_id = person;
  delete from vault.address_changes a where a.user_id = person;
  perform app.revoke_families(person, null);
end
$function$;

CREATE OR REPLACE FUNCTION app.change_password(session bytea, old_phc text, new_phc text, token bytea, address inet, request_id text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  this vault.live_sessions;
begin
  perform from public.users u
    where u.id = (select l.user_id from vault.live_sessions l where l.digest = session) for no key update;
  select l.* into this from vault.live_sessions l where l.digest = session;
  if not found then
    return null;
  end if;
  update vault.passwords p set phc = new_phc, changed_at = app.now() where p.user_id = this.user_id and p.phc = old_phc;
  if not found then
    perform app.record(this.user_id, 'password.change', 'refused', null, address, request_id);
    return 'refused';
  end if;
  perform app.renew_session(this.id, token);
  perform app.end_sessions_of(this.user_id, token);
  delete from vault.password_resets r where r.user_id = this.user_id;
  perform app.notify_security_change(this.user_id, 'password_changed');
  perform app.record(this.user_id, 'password.change', 'done', null, address, request_id);
  return 'done';
end
$function$;

CREATE OR REPLACE FUNCTION app.asked_address(session bytea, token bytea)
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select a.new_email from vault.address_changes a join vault.live_sessions l on l.user_id = a.user_id
  where l.digest = session and a.digest = token and a.expires_at > app.now()
$function$;
GRANT EXECUTE ON FUNCTION app.asked_address(bytea, bytea) TO dealkeep_server;
