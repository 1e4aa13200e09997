-- compatible: what servers call is named, called and answered as before.
--
-- A brokerage has at most 200 API keys. `dealkeep keys create` makes them with the function inside, which did not count.

CREATE OR REPLACE FUNCTION app.issue_api_key(brokerage_id uuid, issued_by uuid, name text, environment text, scopes text[], ceiling integer, expires_at timestamp with time zone, digest bytea, last_four text)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  made uuid;
begin
  perform from public.brokerages b where b.id = issue_api_key.brokerage_id for no key update;
  if 200 <= (select count(*) from public.api_keys k
    where k.brokerage_id = issue_api_key.brokerage_id and k.revoked_at is null and (k.expires_at is null or k.expires_at > app.now()))
  then
    perform app.refuse('too_many_api_keys', 'The brokerage has 200 API keys, which is the most: revoke one that is no longer used.');
  end if;
  insert into public.api_keys (brokerage_id, name, environment, scopes, ceiling, expires_at, last_four, created_by)
  values (issue_api_key.brokerage_id, issue_api_key.name, issue_api_key.environment, issue_api_key.scopes,
    issue_api_key.ceiling, issue_api_key.expires_at, issue_api_key.last_four, issue_api_key.issued_by)
  returning id into made;
  insert into vault.api_key_digests (digest, key_id, issued_by)
  values (issue_api_key.digest, made, issue_api_key.issued_by);
  return made;
end
$function$;

CREATE OR REPLACE FUNCTION app.create_api_key(brokerage_id uuid, name text, environment text, scopes text[], ceiling integer, expires_at timestamp with time zone, digest bytea, last_four text, address inet, request_id text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  made uuid;
begin
  perform app.hold_session();
  perform app.check_key_admin(brokerage_id);
  if expires_at <= app.now() then
    perform app.refuse('expires_in_the_past', 'The key must expire in the future, or never.');
  end if;
  made := app.issue_api_key(brokerage_id, app.user_id(), name, environment, scopes, ceiling, expires_at, digest, last_four);
  perform app.audit('api_key.create', made::text, 'done', brokerage_id, null, address, request_id,
    jsonb_build_object('name', name, 'environment', environment, 'scopes', scopes, 'ceiling', ceiling, 'expires_at', expires_at));
  return made;
end
$function$;
