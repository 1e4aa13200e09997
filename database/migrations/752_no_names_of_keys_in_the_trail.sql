-- compatible: a record has one detail less, which readers take from the key.
-- The audit trail keeps no text that a person wrote: it stays for years, and an erasure does not change it. The name of a key is in its row.

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
    jsonb_build_object('environment', environment, 'scopes', scopes, 'ceiling', ceiling, 'expires_at', expires_at));
  return made;
end
$function$;
