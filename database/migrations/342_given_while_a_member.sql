-- compatible: the same is answered but while people leave brokerages, or clients change.
--
-- Whoever leaves a brokerage loses what its clients may do in their name, and who is no admin of it any more what assistants may write on deals that they saw as its admin. A tool that they turned on
-- for such a client at that moment, tokens of a consent that they gave then, and such an opt-in were not there yet, stayed, and held again once they came back. Now these wait for the end of the
-- membership or role and are refused; one that comes later waits for them and ends them. A tool that is turned on waits for changes of its client, too, as tokens did already.

create function app.hold_client(client_id uuid, person uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform from public.users u where u.id = person for share;
  -- Whoever changes the client at this moment, or ends the membership for which it works, is waited for, and ends what was given by then.
  perform from public.connected_clients c where c.id = hold_client.client_id for share;
  perform from public.members m
    where m.user_id = person and m.brokerage_id = (select c.brokerage_id from public.connected_clients c where c.id = hold_client.client_id) for share;
end
$$;

create or replace function app.grant_tool(client_id uuid, tool text, expires_at timestamptz, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  person constant uuid := app.user_id();
begin
  if person is null or app.client_id() is not null or not app.session_goes_on() then
    return false;
  end if;
  perform app.hold_client(grant_tool.client_id, person);
  if not app.client_works_for(grant_tool.client_id, person) then
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

create or replace function app.redeem_code(client_id uuid, code bytea, redirect_uri text, presented_challenge text, resource text, access_token bytea, refresh_token bytea, address inet, request_id text, out outcome text, out scopes text[]) returns record
language plpgsql security definer set search_path = '' as $$
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
  insert into vault.token_families (user_id, client_id, scopes, resource, consented_at, ends_at)
    values (kept.user_id, kept.client_id, kept.scopes, kept.resource, kept.issued_at, kept.issued_at + interval '180 days')
    returning id into kept.family_id;
  update vault.authorization_codes c set used_at = app.now(), family_id = kept.family_id where c.digest = code;
  perform app.issue_tokens(kept.family_id, kept.scopes, access_token, refresh_token);
  perform app.audit_family(kept.user_id, kept.client_id, kept.family_id, 'tokens.issue', 'done', address, request_id,
    jsonb_build_object('scopes', kept.scopes));
  outcome := 'issued';
  scopes := kept.scopes;
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
  perform from public.members m
    where m.user_id = app.user_id() and m.brokerage_id = (select d.organization_id from public.deals d where d.id = opt_in_deal.deal_id) for share;
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
