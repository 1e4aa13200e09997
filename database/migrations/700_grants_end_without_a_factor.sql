-- compatible: nodes of the release before call the same functions, which keep whether a factor was shown.
-- Somebody who knew only the password of a member could connect a client, or make a link to the calendar, before the brokerage required a second factor. Neither is asked for one, so it
-- went on for half a year or longer.

alter table vault.authorization_codes add factor_shown boolean default false not null;
alter table vault.token_families add factor_shown boolean default false not null;
alter table vault.calendar_links add factor_shown boolean default false not null;

-- Whether the session that somebody has entered with has shown a second factor.
create function app.has_shown_factor() returns boolean
  language plpgsql stable security definer
  set search_path to ''
as $$
begin
  return exists (select from vault.sessions s where s.id = app.identity_part(6)::uuid and s.second_factor_at is not null);
end
$$;

-- Whether a brokerage of theirs asks its members for a second factor.
create function app.owes_factor(person uuid) returns boolean
  language plpgsql stable
  set search_path to ''
as $$
begin
  return exists (select from app.memberships_of(person) m where m.asking <> '{}');
end
$$;

-- Ends what these people gave in sessions that had shown no second factor.
create function app.end_grants_without_factor(people uuid[], request_id text, out grants int, out calendar_links int)
  language plpgsql
  set search_path to ''
as $$
begin
  -- What is given meanwhile is waited for, or waits and finds that a factor is asked for. A code from before finds the same.
  perform from public.users u where u.id = any (people) order by u.id for no key update;
  with families as (
    update vault.token_families f set revoked_at = app.now()
      where f.user_id = any (people) and not f.factor_shown and f.revoked_at is null and f.ends_at > app.now() returning f.user_id),
  links as (delete from vault.calendar_links l where l.user_id = any (people) and not l.factor_shown returning l.user_id),
  ended as (
    select e.user_id, sum(e.families)::int as grants, sum(e.links)::int as links
    from (select f.user_id, 1, 0 from families f union all select l.user_id, 0, 1 from links l) e (user_id, families, links)
    group by e.user_id),
  told as (
    -- As app.record() does, for each of them: it is told to them alone, and without the address of whoever caused it.
    insert into public.audit_records (user_id, action, outcome, details, request_id, noted)
      select e.user_id, 'consent.end', 'done', jsonb_build_object('grants', e.grants, 'calendar_links', e.links),
        end_grants_without_factor.request_id, true
      from ended e)
  select coalesce(sum(e.grants), 0), coalesce(sum(e.links), 0) into grants, calendar_links from ended e;
end
$$;

CREATE OR REPLACE FUNCTION app.check_not_barred()
 RETURNS void
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  -- Or one has come to ask for a factor since this person entered.
  if app.barred_in(app.identity()) <> '{}' or (not app.has_shown_factor() and app.owes_factor(app.user_id())) then
    perform app.refuse_without_factor(app.user_id());
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION app.approve_client(client_id uuid, redirect_uri text, challenge text, scopes text[], resource text, consent bytea, code bytea, address inet, request_id text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
    (digest, consent, user_id, client_id, redirect_uri, challenge, scopes, resource, expires_at, factor_shown)
  values (code, approve_client.consent, person, approve_client.client_id, approve_client.redirect_uri,
    approve_client.challenge, approve_client.scopes, approve_client.resource, app.now() + interval '60 seconds', app.has_shown_factor())
  on conflict on constraint authorization_codes_consent_key do update
    set digest = excluded.digest, scopes = excluded.scopes, issued_at = excluded.issued_at, expires_at = excluded.expires_at,
      burned_at = null, factor_shown = excluded.factor_shown
    where kept.used_at is null and kept.user_id = excluded.user_id and kept.client_id = excluded.client_id
      and kept.redirect_uri = excluded.redirect_uri and kept.challenge = excluded.challenge;
  if not found then
    return 'answered';
  end if;
  perform app.audit('consent.give', approve_client.client_id::text, 'done', app.brokerage_of_grant(person, approve_client.client_id),
    null, address, request_id, jsonb_build_object('scopes', scopes));
  return 'issued';
end
$function$;

CREATE OR REPLACE FUNCTION app.redeem_code(client_id uuid, code bytea, redirect_uri text, presented_challenge text, resource text, access_token bytea, refresh_token bytea, address inet, request_id text, OUT outcome text, OUT scopes text[])
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  kept vault.authorization_codes;
  verified boolean;
begin
  outcome := 'invalid_client';
  -- Before the code, as those do who are waited for.
  perform app.hold_client(a.client_id, a.user_id) from vault.authorization_codes a where a.digest = code;
  if not app.client_lives(client_id) then
    return;
  end if;
  outcome := 'invalid_grant';
  select c.* into kept from vault.authorization_codes c where c.digest = code for no key update;
  if not found or kept.client_id <> redeem_code.client_id or kept.redirect_uri is distinct from redeem_code.redirect_uri then
    return;
  end if;
  -- Digests of both sides are compared, so that the time it takes tells nothing about either.
  verified := sha256(code || convert_to(presented_challenge, 'UTF8')) = sha256(code || convert_to(kept.challenge, 'UTF8'));
  if kept.used_at is not null then
    if verified and kept.family_id is not null then
      update vault.token_families f set revoked_at = app.now() where f.id = kept.family_id and f.revoked_at is null;
      if found then
        perform app.audit_family(kept.user_id, kept.client_id, kept.family_id, 'code.replay', 'revoked', address, request_id, '{}');
      end if;
    end if;
    return;
  end if;
  if kept.burned_at is not null or kept.expires_at <= app.now() then
    return;
  end if;
  if coalesce(resource, kept.resource) <> kept.resource then
    outcome := 'invalid_target';
    return;
  end if;
  if not verified then
    update vault.authorization_codes c set burned_at = app.now() where c.digest = code;
    perform app.audit_family(kept.user_id, kept.client_id, null, 'code.burn', 'refused', address, request_id, '{}');
    return;
  end if;
  -- Or the consent came while its redirect URI was taken away.
  if not app.client_takes(kept.client_id, kept.user_id, kept.redirect_uri) then
    return;
  end if;
  -- Or a brokerage of theirs has come to ask for a second factor since.
  if not kept.factor_shown and app.owes_factor(kept.user_id) then
    return;
  end if;
  insert into vault.token_families (user_id, client_id, scopes, resource, consented_at, ends_at, factor_shown)
    values (kept.user_id, kept.client_id, kept.scopes, kept.resource, kept.issued_at, kept.issued_at + interval '180 days', kept.factor_shown)
    returning id into kept.family_id;
  update vault.authorization_codes c set used_at = app.now(), family_id = kept.family_id where c.digest = code;
  perform app.issue_tokens(kept.family_id, kept.scopes, access_token, refresh_token);
  perform app.audit_family(kept.user_id, kept.client_id, kept.family_id, 'tokens.issue', 'done', address, request_id,
    jsonb_build_object('scopes', kept.scopes));
  outcome := 'issued';
  scopes := kept.scopes;
end
$function$;

CREATE OR REPLACE FUNCTION app.make_calendar_link(token bytea, address inet, request_id text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.user_id() is null or app.client_id() is not null or not app.session_goes_on() then
    perform app.refuse('not_a_person', 'Sign in to make a link to your calendar.');
  end if;
  perform app.check_not_barred();
  insert into vault.calendar_links as l (user_id, digest, factor_shown) values (app.user_id(), token, app.has_shown_factor())
    on conflict (user_id) do update set digest = excluded.digest, created_at = excluded.created_at, factor_shown = excluded.factor_shown;
  perform app.record(app.user_id(), 'calendar_link.make', 'done', null, address, request_id);
end
$function$;

CREATE OR REPLACE FUNCTION app.require_second_factor(of_brokerage uuid, required boolean, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  ended jsonb := '{}';
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return false;
  end if;
  perform app.check_recent_sign_in();
  if required and not (app.has_second_factor(app.user_id()) and app.has_shown_factor()) then
    perform app.refuse('second_factor_missing', 'Set up a second factor of your own first, and sign in with it.');
  end if;
  update public.brokerages b set requires_second_factor = required
    where b.id = of_brokerage and b.requires_second_factor <> required;
  if found then
    if required then
      select to_jsonb(e) into ended from app.end_grants_without_factor(
        array(select m.user_id from public.members m where m.brokerage_id = of_brokerage and m.status = 'active'), request_id) e;
    end if;
    perform app.audit('brokerage.second_factor', of_brokerage::text, 'done', of_brokerage, null, address, request_id,
      ended || jsonb_build_object('required', required));
  end if;
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION app.use_invitation(token bytea, person uuid, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  used vault.invitations;
  factor_required boolean;
begin
  select i.* into used from vault.invitations i where i.digest = token and i.user_id = person;
  if used.brokerage_id is not null then
    -- Whoever comes to require a second factor at this moment is waited for, or waits and finds the member.
    select b.requires_second_factor into factor_required from public.brokerages b where b.id = used.brokerage_id for share;
    if factor_required then
      perform from public.users u where u.id = person for no key update;
    end if;
    perform from public.members m where m.brokerage_id = used.brokerage_id and m.user_id = person for no key update;
  else
    perform from public.participants p where p.id = used.participant_id for no key update;
  end if;
  update vault.invitations i set used_at = app.now()
    where i.digest = token and i.user_id = person and i.used_at is null and i.expires_at > app.now()
    returning i.* into used;
  if not found then
    return false;
  end if;
  if used.brokerage_id is not null then
    update public.members m set status = 'active'
      where m.brokerage_id = used.brokerage_id and m.user_id = person and m.status = 'invited';
  else
    update public.participants p set status = 'active' where p.id = used.participant_id and p.status = 'invited';
  end if;
  if not found then
    perform app.refuse('invitation_withdrawn', 'This invitation was taken back. Ask for a new one.');
  end if;
  if factor_required then
    perform app.end_grants_without_factor(array[person], request_id);
  end if;
  if used.mailed then
    update vault.passwords p set address_proven_at = app.now() where p.user_id = person and p.address_proven_at is null;
  end if;
  if used.brokerage_id is not null then
    insert into public.audit_records (brokerage_id, user_id, action, outcome, address, request_id)
      values (used.brokerage_id, person, 'invitation.accept', 'done', address, request_id);
  else
    -- As app.audit() writes it of whoever has entered.
    insert into public.audit_records (brokerage_id, deal_id, user_id, action, subject_id, outcome, address, request_id)
      select d.organization_id, d.id, person, 'invitation.accept', p.id::text, 'done', address, request_id
      from public.participants p join public.deals d on d.id = p.deal_id where p.id = used.participant_id;
  end if;
  return true;
end
$function$;
