-- compatible: functions that read less for the same answer.
-- PostgreSQL takes a function for one of a thousand rows, and read the authenticators of everybody to join them with the one session that it gives.

create or replace function app.pending_secret(session bytea) returns text
  language plpgsql stable security definer set search_path = '' as $$
begin
  return (select (select t.secret from vault.totp t where t.user_id = r.user_id and t.confirmed_at is null)
    from app.recent_session(session) r);
end
$$;

create or replace function app.renew_recovery_codes(session bytea, code_digests bytea[], address inet, request_id text) returns boolean
  language plpgsql security definer set search_path = '' as $$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session_with_factor(session) r;
  if not found or not exists (select from vault.totp t where t.user_id = this.user_id and t.confirmed_at is not null) then
    return false;
  end if;
  delete from vault.recovery_codes c where c.user_id = this.user_id;
  insert into vault.recovery_codes (user_id, digest) select this.user_id, unnest(code_digests);
  perform app.notify_security_change(this.user_id, 'recovery_codes_renewed');
  perform app.record(this.user_id, 'recovery_codes.renew', 'done', null, address,
    request_id);
  return true;
end
$$;
