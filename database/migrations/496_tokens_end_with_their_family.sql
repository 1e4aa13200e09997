-- compatible: the functions keep their names, arguments and columns; they tell of a shorter life in the last hour of a family.
--
-- A refresh was answered with an hour (`expires_in`) also where what was consented to ends sooner, and its access token with it: the client was refused with a token that it had reason to hold good.

create or replace function app.issue_tokens(family_id uuid, scopes text[], access_token bytea, refresh_token bytea)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  insert into vault.access_tokens (digest, family_id, scopes, expires_at)
    select access_token, f.id, issue_tokens.scopes, least(app.now() + interval '3600 seconds', f.ends_at)
    from vault.token_families f where f.id = issue_tokens.family_id;
  insert into vault.refresh_tokens (digest, family_id, expires_at)
    values (refresh_token, issue_tokens.family_id, app.now() + interval '30 days');
end
$function$;

create or replace function app.refresh_tokens(client_id uuid, presented bytea, wanted text[], resource text, began double precision, overlap double precision, access_token bytea, refresh_token bytea, sealed bytea, address inet, request_id text, OUT outcome text, OUT scopes text[], OUT answer bytea, OUT expires_in integer)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  family vault.token_families;
  token vault.refresh_tokens;
  overlapping boolean;
  left_of_family int;
  apart constant interval := make_interval(secs => overlap / 1000);
begin
  outcome := 'invalid_client';
  if not app.client_lives(client_id) then
    return;
  end if;
  outcome := 'invalid_grant';
  -- The lock first, the token after it: whoever waited sees what the one before has done.
  select f.* into family from vault.token_families f
    where f.id = (select t.family_id from vault.refresh_tokens t where t.digest = presented) for no key update;
  if not found or family.client_id <> refresh_tokens.client_id or family.revoked_at is not null
    or family.ends_at <= app.now() or not app.client_works_for(family.client_id, family.user_id)
  then
    return;
  end if;
  select t.* into token from vault.refresh_tokens t where t.digest = presented;
  overlapping := coalesce(
    to_timestamp(began / 1000) < token.consumed_clock
      and to_timestamp(began / 1000) >= token.consumed_clock - apart
      and clock_timestamp() <= token.consumed_clock + apart,
    false);
  if token.consumed_at is not null and not overlapping then
    update vault.token_families f set revoked_at = app.now() where f.id = family.id;
    update vault.refresh_tokens t set answer = null where t.family_id = family.id and t.answer is not null;
    perform app.audit_family(family.user_id, family.client_id, family.id, 'tokens.replay', 'revoked', address, request_id, '{}');
    return;
  end if;
  if token.expires_at <= app.now() then
    return;
  end if;
  if not coalesce(wanted, family.scopes) <@ family.scopes or not 'mcp:read' = any (coalesce(wanted, family.scopes)) then
    outcome := 'invalid_scope';
    return;
  end if;
  if coalesce(resource, family.resource) <> family.resource then
    outcome := 'invalid_target';
    return;
  end if;
  left_of_family := least(3600, floor(extract(epoch from family.ends_at - app.now())));
  if token.consumed_at is not null then
    -- Once the successor was used there is no answer to give any more, and nothing to revoke either.
    if token.answer is not null then
      outcome := 'overlapping';
      scopes := token.answer_scopes;
      answer := token.answer;
      expires_in := least(left_of_family, 3600 - extract(epoch from app.now() - token.consumed_at)::int);
    end if;
    return;
  end if;
  scopes := coalesce(wanted, family.scopes);
  expires_in := left_of_family;
  update vault.refresh_tokens t
    set consumed_at = app.now(), consumed_clock = clock_timestamp(), answer = sealed, answer_scopes = refresh_tokens.scopes
    where t.digest = presented and t.consumed_at is null;
  -- Whoever holds this token has received the answer that made it: the one kept for it is no longer needed.
  update vault.refresh_tokens t set answer = null
    where t.family_id = family.id and t.answer is not null and t.digest <> presented;
  perform app.issue_tokens(family.id, scopes, access_token, refresh_token);
  perform app.audit_family(family.user_id, family.client_id, family.id, 'tokens.refresh', 'done', address, request_id,
    jsonb_build_object('scopes', scopes));
  outcome := 'issued';
end
$function$;
