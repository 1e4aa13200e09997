-- compatible: links to calendars end as connected clients do.
--
-- A new password, a reset and signing out everywhere ended whatever else gets in as somebody, but not the link to their calendar: whoever had made one at a session of theirs, or on an
-- account opened with a link that was handed on, went on reading their deadlines.

create or replace function app.end_sessions_of(person uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  update vault.sessions s set ended_at = app.now() where s.user_id = person and s.ended_at is null;
  delete from vault.sign_in_steps s where s.user_id = person;
  delete from vault.known_devices k where k.user_id = person;
  delete from vault.calendar_links l where l.user_id = person;
  perform app.revoke_families(person, null);
end
$$;

create or replace function app.change_password(session bytea, old_phc text, new_phc text, token bytea, address inet, request_id text)
returns text
language plpgsql security definer set search_path = '' as $$
declare
  this vault.live_sessions;
begin
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
  update vault.sessions s set ended_at = app.now()
    where s.user_id = this.user_id and s.digest <> token and s.ended_at is null;
  delete from vault.sign_in_steps s where s.user_id = this.user_id;
  delete from vault.known_devices k where k.user_id = this.user_id;
  delete from vault.password_resets r where r.user_id = this.user_id;
  delete from vault.calendar_links l where l.user_id = this.user_id;
  perform app.revoke_families(this.user_id, null);
  perform app.notify_security_change(this.user_id, 'password_changed');
  perform app.record(this.user_id, 'password.change', 'done', null, address, request_id);
  return 'done';
end
$$;
