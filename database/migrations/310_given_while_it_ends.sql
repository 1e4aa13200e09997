-- compatible: the same is answered but while sessions are ended and people removed from deals.
--
-- A reset of the password takes away what the person lets assistants write. What was given in a session of theirs at that moment was not there yet, and stayed. Now whoever gives it waits
-- for the reset and finds that the session has ended, as whoever gives a consent or makes a link to the calendar (272_ended_with_what_begins.sql).
-- So did an opt-in of a deal that was given at the moment of the person's removal from it, and held again once they came back: it waits for the removal, too. A removal that comes later waits for
-- the opt-in and takes it away (app.opt_out_with_part).

-- Whoever ends the sessions of the caller meanwhile is waited for, and whoever comes later waits.
create function app.session_goes_on() returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  perform from public.users u where u.id = app.user_id() for share;
  return not exists (select from vault.sessions s where s.id = app.identity_part(6)::uuid and s.ended_at is not null);
end
$$;

create or replace function app.grant_tool(client_id uuid, tool text, expires_at timestamptz, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  person constant uuid := app.user_id();
begin
  if person is null or app.client_id() is not null or not app.session_goes_on()
    or not app.client_works_for(grant_tool.client_id, person)
  then
    return false;
  end if;
  perform app.check_until(grant_tool.expires_at);
  insert into public.tool_grants as g (user_id, client_id, tool, expires_at)
    values (person, grant_tool.client_id, grant_tool.tool, grant_tool.expires_at)
    on conflict on constraint tool_grants_pkey do update set expires_at = excluded.expires_at, granted_at = excluded.granted_at;
  perform app.audit('tool_grant.on', grant_tool.client_id::text, 'done', app.brokerage_of_grant(person, grant_tool.client_id),
    null, address, request_id, jsonb_build_object('tool', tool, 'expires_at', expires_at));
  return true;
end
$$;

create or replace function app.opt_in_deal(deal_id uuid, expires_at timestamptz, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  if app.user_id() is null or app.client_id() is not null or not app.session_goes_on()
    or app.seen_deal(opt_in_deal.deal_id) is null
  then
    return false;
  end if;
  perform from public.participants p
    where p.deal_id = opt_in_deal.deal_id and p.user_id = app.user_id() and p.status <> 'removed' for share;
  -- Admins see the deal without a part in it.
  if not found and not exists (select from public.deals d
    where d.id = opt_in_deal.deal_id and d.organization_id = any (app.brokerages_as('admin')))
  then
    raise insufficient_privilege using message = 'not on this deal';
  end if;
  perform app.check_until(opt_in_deal.expires_at);
  insert into public.deal_opt_ins (user_id, deal_id, expires_at)
    values (app.user_id(), opt_in_deal.deal_id, opt_in_deal.expires_at)
    on conflict on constraint deal_opt_ins_pkey do update set expires_at = excluded.expires_at, opted_in_at = excluded.opted_in_at;
  perform app.audit('deal_opt_in.on', opt_in_deal.deal_id::text, 'done', null, opt_in_deal.deal_id, address, request_id,
    jsonb_build_object('expires_at', expires_at));
  return true;
end
$$;

create or replace function app.approve_client(client_id uuid, redirect_uri text, challenge text, scopes text[], resource text, consent bytea, code bytea, address inet, request_id text) returns text
language plpgsql security definer set search_path = '' as $$
declare
  person constant uuid := app.user_id();
begin
  if person is null or app.client_id() is not null or not app.session_goes_on() then
    return 'signed_out';
  end if;
  if not app.client_takes(client_id, person, redirect_uri) then
    return 'client_refused';
  end if;
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

create or replace function app.make_calendar_link(token bytea, address inet, request_id text) returns void
language plpgsql security definer set search_path = '' as $$
begin
  if app.user_id() is null or app.client_id() is not null or not app.session_goes_on() then
    perform app.refuse('not_a_person', 'Sign in to make a link to your calendar.');
  end if;
  insert into vault.calendar_links as l (user_id, digest) values (app.user_id(), token)
    on conflict (user_id) do update set digest = excluded.digest, created_at = excluded.created_at;
  perform app.record(app.user_id(), 'calendar_link.make', 'done', null, address, request_id);
end
$$;
