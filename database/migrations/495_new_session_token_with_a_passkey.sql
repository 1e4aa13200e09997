-- compatible: one function more beside the one that nodes of the release before call, which does what it did.
--
-- A session in which its owner adds a passkey counts as one that has shown a second factor. It went on under the token that it had, so that a copy of that token, got before with nothing but the
-- password, reached what a brokerage keeps for who has shown one. As after setting up an authenticator the session goes on under a new token.

create function app.add_passkey(session bytea, challenge bytea, credential text, public_key bytea, counter bigint, transports text[], label text,
  token bytea, address inet, request_id text) returns boolean
language plpgsql
security definer
set search_path to ''
as $function$
declare
  this constant uuid := (select l.id from vault.live_sessions l where l.digest = session);
begin
  if not app.add_passkey(session, challenge, credential, public_key, counter, transports, label, address, request_id) then
    return false;
  end if;
  perform app.renew_session(this, token);
  return true;
end
$function$;

grant execute on function app.add_passkey(bytea, bytea, text, bytea, bigint, text[], text, bytea, inet, text) to dealkeep_server;
