-- compatible: columns more, and a function that refuses more.
--
-- A grant is refreshed at most 1,000 times a day: the tokens that were used stay as long as their family, since one that comes again ends it, and nothing kept one family from having
-- millions.

alter table vault.token_families add column refreshed_on date;
alter table vault.token_families add column refreshes int not null default 0;

CREATE OR REPLACE FUNCTION app.refresh_tokens(client_id uuid, presented bytea, wanted text[], resource text, began double precision, overlap double precision, access_token bytea, refresh_token bytea, sealed bytea, address inet, request_id text, OUT outcome text, OUT scopes text[], OUT answer bytea, OUT expires_in integer)
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
  today constant date := (app.now() at time zone 'UTC')::date;
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
  if family.refreshed_on = today and family.refreshes >= 1000 then
    perform app.refuse('too_many_today', 'This grant was refreshed 1,000 times today, which is the most: use its access token until that expires, and refresh again tomorrow.');
  end if;
  update vault.token_families f
    set refreshed_on = today, refreshes = case when f.refreshed_on = today then f.refreshes + 1 else 1 end where f.id = family.id;
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
