-- compatible: the release before removes passkeys and authenticators with the same functions.
-- Who removes a passkey or the authenticator ends their other sessions that showed a second factor: on a device that was stolen one went on.

create function app.end_sessions_with_factor(this vault.live_sessions, address inet, request_id text) returns void
  language plpgsql
  set search_path to ''
as $$
declare
  ended int;
begin
  update vault.sessions s set ended_at = app.now()
    where s.user_id = this.user_id and s.id <> this.id and s.ended_at is null and s.second_factor_at is not null;
  get diagnostics ended = row_count;
  if ended > 0 then
    perform app.record(this.user_id, 'session.end', 'done', jsonb_build_object('sessions', ended), address, request_id);
  end if;
end
$$;

CREATE OR REPLACE FUNCTION app.remove_passkey(session bytea, passkey_id uuid, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session_with_factor(session) r;
  delete from vault.passkeys k where k.id = passkey_id and k.user_id = this.user_id;
  if not found then
    return false;
  end if;
  perform app.end_sessions_with_factor(this, address, request_id);
  perform app.notify_security_change(this.user_id, 'passkey_removed');
  perform app.record(this.user_id, 'passkey.remove', 'done', null, address, request_id);
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION app.remove_second_factor(session bytea, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session_with_factor(session) r;
  delete from vault.recovery_codes c where c.user_id = this.user_id;
  delete from vault.totp t where t.user_id = this.user_id;
  if not found then
    return false;
  end if;
  perform app.end_sessions_with_factor(this, address, request_id);
  perform app.notify_security_change(this.user_id, 'authenticator_removed');
  perform app.record(this.user_id, 'second_factor.off', 'done', null, address, request_id);
  return true;
end
$function$;
