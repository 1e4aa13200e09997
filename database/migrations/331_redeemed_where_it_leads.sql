-- compatible: the same is answered but while clients are changed.
--
-- A client that loses a redirect URI, is disabled or deleted loses what people consented to. A consent that was given at that moment was not there yet, and could be redeemed for a minute; so
-- could one that was just being redeemed. Now whoever redeems waits for the change, and the address that the code was sent to must still be one of the client's.

create or replace function app.redeem_code(
  client_id uuid, code bytea, redirect_uri text, presented_challenge text, resource text, access_token bytea, refresh_token bytea, address inet, request_id text,
  out outcome text, out scopes text[]
) returns record
language plpgsql security definer set search_path = '' as $$
declare
  kept vault.authorization_codes;
  verified boolean;
begin
  outcome := 'invalid_client';
  -- Whoever changes the client at this moment is waited for, and ends what was given by then; the client before the code, as they do.
  perform from public.connected_clients c
    where c.id = (select a.client_id from vault.authorization_codes a where a.digest = code) for share;
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
