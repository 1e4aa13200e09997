-- compatible: what it refuses is told as other refusals are.
--
-- Who signs in with the password alone is barred from brokerages that ask their members for a second factor. Whoever has a factor shows it before they change what protects the
-- account, move, erase or download it: the password alone set up another factor, which then counted as shown. While a session is barred from a brokerage, no client is connected
-- and no link to the calendar is made in it: neither shows a factor later.

create function app.refuse_without_factor(person uuid)
returns void
language plpgsql
stable
security definer
set search_path = ''
as $$
begin
  perform app.refuse('second_factor_required', case when app.has_second_factor(person)
    then 'Sign in again with your passkey or authenticator, then repeat this: a brokerage of yours asks its members for a second factor, and you have not shown yours.'
    else 'Set up an authenticator or a passkey under "Security" first: a brokerage of yours asks its members for a second factor.' end);
end
$$;

-- The bar is computed here, not read from the identity: not every change of an account is made by somebody who has entered.
create function app.recent_session_with_factor(session bytea)
returns setof vault.live_sessions
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
  live vault.live_sessions;
begin
  select r.* into live from app.recent_session(session) r;
  if not found then
    return;
  end if;
  if live.second_factor_at is null and app.has_second_factor(live.user_id)
    and exists (select from app.memberships_of(live.user_id) m where m.asking <> '{}')
  then
    perform app.refuse_without_factor(live.user_id);
  end if;
  return next live;
end
$$;

create function app.check_not_barred()
returns void
language plpgsql
stable
security definer
set search_path = ''
as $$
begin
  if app.barred_in(app.identity()) <> '{}' then
    perform app.refuse_without_factor(app.user_id());
  end if;
end
$$;

create or replace function app.keep_challenge(token bytea, session bytea)
returns boolean
language plpgsql
security definer
set search_path = ''
as $$
declare
  person uuid;
begin
  if session is not null then
    select r.user_id into person from app.recent_session_with_factor(session) r;
    if not found then
      return false;
    end if;
  end if;
  delete from vault.challenges c where c.digest in (
    select old.digest from vault.challenges old where old.expires_at <= app.now() limit 100 for update skip locked);
  insert into vault.challenges (digest, user_id) values (token, person);
  return true;
end
$$;

create or replace function app.begin_second_factor(session bytea, new_secret text)
returns boolean
language plpgsql
security definer
set search_path = ''
as $$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session_with_factor(session) r;
  if not found then
    return false;
  end if;
  insert into vault.totp (user_id, secret) values (this.user_id, new_secret)
    on conflict (user_id) do update set secret = excluded.secret where vault.totp.confirmed_at is null;
  if not found then
    perform app.refuse('second_factor_on', 'An authenticator is set up already: remove it before you set up another one.');
  end if;
  return true;
end
$$;

create or replace function app.confirm_second_factor(session bytea, code_step bigint, code_digests bytea[], token bytea, address inet, request_id text)
returns boolean
language plpgsql
security definer
set search_path = ''
as $$
declare
  this vault.live_sessions;
begin
  -- Whoever ends the sessions of the account meanwhile is waited for.
  perform from public.users u where u.id = (select l.user_id from vault.live_sessions l where l.digest = session) for no key update;
  select r.* into this from app.recent_session_with_factor(session) r;
  update vault.totp t set confirmed_at = app.now(), last_step = code_step, failures = 0, failed_at = null
    where t.user_id = this.user_id and t.confirmed_at is null;
  if not found then
    return false;
  end if;
  delete from vault.recovery_codes c where c.user_id = this.user_id;
  insert into vault.recovery_codes (user_id, digest) select this.user_id, unnest(code_digests);
  update vault.sessions s set second_factor_at = app.now() where s.id = this.id;
  perform app.renew_session(this.id, token);
  perform app.notify_security_change(this.user_id, 'authenticator_added');
  perform app.record(this.user_id, 'second_factor.on', 'done', null, address, request_id);
  return true;
end
$$;

create or replace function app.add_passkey(session bytea, challenge bytea, credential text, public_key bytea, counter bigint, transports text[], label text, address inet, request_id text)
returns boolean
language plpgsql
security definer
set search_path = ''
as $$
declare
  this vault.live_sessions;
begin
  -- Whoever ends the sessions of the account meanwhile is waited for.
  perform from public.users u where u.id = (select l.user_id from vault.live_sessions l where l.digest = session) for no key update;
  select r.* into this from app.recent_session_with_factor(session) r;
  delete from vault.challenges c where c.digest = challenge and c.user_id = this.user_id and c.expires_at > app.now();
  if not found then
    return false;
  end if;
  if exists (select from vault.passkeys k where k.credential_id = credential) then
    perform app.refuse('passkey_known', 'This passkey is registered already.');
  end if;
  if 20 <= (select count(*) from vault.passkeys k where k.user_id = this.user_id) then
    perform app.refuse('too_many_passkeys', 'You have 20 passkeys: remove one before you add another.');
  end if;
  insert into vault.passkeys (user_id, credential_id, public_key, counter, transports, name)
    values (this.user_id, credential, add_passkey.public_key, add_passkey.counter, add_passkey.transports, label);
  update vault.sessions s set second_factor_at = app.now() where s.id = this.id;
  perform app.notify_security_change(this.user_id, 'passkey_added');
  perform app.record(this.user_id, 'passkey.add', 'done', null, address, request_id);
  return true;
end
$$;

create or replace function app.remove_passkey(session bytea, passkey_id uuid, address inet, request_id text)
returns boolean
language plpgsql
security definer
set search_path = ''
as $$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session_with_factor(session) r;
  delete from vault.passkeys k where k.id = passkey_id and k.user_id = this.user_id;
  if not found then
    return false;
  end if;
  perform app.notify_security_change(this.user_id, 'passkey_removed');
  perform app.record(this.user_id, 'passkey.remove', 'done', null, address, request_id);
  return true;
end
$$;

create or replace function app.remove_second_factor(session bytea, address inet, request_id text)
returns boolean
language plpgsql
security definer
set search_path = ''
as $$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session_with_factor(session) r;
  delete from vault.recovery_codes c where c.user_id = this.user_id;
  delete from vault.totp t where t.user_id = this.user_id;
  if not found then
    return false;
  end if;
  perform app.notify_security_change(this.user_id, 'authenticator_removed');
  perform app.record(this.user_id, 'second_factor.off', 'done', null, address, request_id);
  return true;
end
$$;

create or replace function app.renew_recovery_codes(session bytea, code_digests bytea[], address inet, request_id text)
returns boolean
language plpgsql
security definer
set search_path = ''
as $$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session_with_factor(session) r
    join vault.totp t on t.user_id = r.user_id and t.confirmed_at is not null;
  if not found then
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

create or replace function app.ask_address_change(session bytea, new_email text, token bytea, address inet, request_id text)
returns boolean
language plpgsql
security definer
set search_path = ''
as $$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session_with_factor(session) r;
  if not found then
    return false;
  end if;
  insert into vault.address_changes (user_id, digest, new_email) values (this.user_id, token, lower(new_email))
    on conflict (user_id) do update
      set digest = excluded.digest, new_email = excluded.new_email, expires_at = excluded.expires_at;
  perform app.record(this.user_id, 'address.change_ask', 'done', null, address, request_id);
  return true;
end
$$;

create or replace function app.own_data(session bytea, address inet, request_id text)
returns jsonb
language plpgsql
security definer
set search_path = ''
as $$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session_with_factor(session) r;
  if not found then
    return null;
  end if;
  perform app.record(this.user_id, 'person.export', 'done', '{"by": "oneself"}', address, request_id);
  return app.person_data(this.user_id, false);
end
$$;

create or replace function app.erase_oneself(session bytea, request_id text)
returns text
language plpgsql
security definer
set search_path = ''
as $$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session_with_factor(session) r;
  if not found then
    return null;
  end if;
  -- Contacts and mails of others go by the address, which an account has that was opened by a link from hand to hand, whosever mailbox it is.
  if exists (select from vault.passwords p where p.user_id = this.user_id and p.address_proven_at is null) then
    perform app.refuse('address_unproven', 'Show first that the mailbox is yours: request a new password on the sign-in page and open the link in that e-mail. Then erase your account.');
  end if;
  return app.erase_person(this.user_id, 'oneself', erase_oneself.request_id);
end
$$;

create or replace function app.approve_client(client_id uuid, redirect_uri text, challenge text, scopes text[], resource text, consent bytea, code bytea, address inet, request_id text)
returns text
language plpgsql
security definer
set search_path = ''
as $$
declare
  person constant uuid := app.user_id();
begin
  if person is null or app.client_id() is not null or not app.session_goes_on() then
    return 'signed_out';
  end if;
  if not app.client_takes(client_id, person, redirect_uri) then
    return 'client_refused';
  end if;
  perform app.check_not_barred();
  if 'mcp:write' = any (scopes) and not app.recently_signed_in() then
    return 'sign_in_again';
  end if;
  insert into vault.authorization_codes as kept
    (digest, consent, user_id, client_id, redirect_uri, challenge, scopes, resource, expires_at)
  values (code, approve_client.consent, person, approve_client.client_id, approve_client.redirect_uri,
    approve_client.challenge, approve_client.scopes, approve_client.resource, app.now() + interval '60 seconds')
  on conflict on constraint authorization_codes_consent_key do update
    set digest = excluded.digest, scopes = excluded.scopes, issued_at = excluded.issued_at, expires_at = excluded.expires_at,
      burned_at = null
    where kept.used_at is null and kept.user_id = excluded.user_id and kept.client_id = excluded.client_id
      and kept.redirect_uri = excluded.redirect_uri and kept.challenge = excluded.challenge;
  if not found then
    return 'answered';
  end if;
  perform app.audit('consent.give', approve_client.client_id::text, 'done', app.brokerage_of_grant(person, approve_client.client_id),
    null, address, request_id, jsonb_build_object('scopes', scopes));
  return 'issued';
end
$$;

create or replace function app.make_calendar_link(token bytea, address inet, request_id text)
returns void
language plpgsql
security definer
set search_path = ''
as $$
begin
  if app.user_id() is null or app.client_id() is not null or not app.session_goes_on() then
    perform app.refuse('not_a_person', 'Sign in to make a link to your calendar.');
  end if;
  perform app.check_not_barred();
  insert into vault.calendar_links as l (user_id, digest) values (app.user_id(), token)
    on conflict (user_id) do update set digest = excluded.digest, created_at = excluded.created_at;
  perform app.record(app.user_id(), 'calendar_link.make', 'done', null, address, request_id);
end
$$;
