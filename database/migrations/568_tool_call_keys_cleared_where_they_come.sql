-- compatible: a function that does the same, and clears more.
--
-- Keys of calls of tools that are over are deleted where new ones come, a few at a time, as those of REST are: the job alone could not keep up with many.

CREATE OR REPLACE FUNCTION app.claim_tool_call_key(tool text, idempotency_key text, input_digest bytea)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  now constant timestamptz(3) := app.now();
begin
  if app.user_id() is null or app.client_id() is null then
    return;
  end if;
  insert into vault.tool_call_keys as kept (user_id, client_id, tool, idempotency_key, input_digest, made_at)
  values (app.user_id(), app.client_id(), claim_tool_call_key.tool, claim_tool_call_key.idempotency_key,
    claim_tool_call_key.input_digest, now)
  on conflict on constraint tool_call_keys_pkey do update
    set input_digest = excluded.input_digest, answer = null, made_at = excluded.made_at
    where kept.made_at <= now - interval '24 hours';
  if not found then
    perform app.refuse('idempotency_key_used', 'This key was used for this tool within the last 24 hours.');
  end if;
  delete from vault.tool_call_keys k using (
    select o.user_id, o.client_id, o.tool, o.idempotency_key from vault.tool_call_keys o
    where o.made_at <= now - interval '24 hours' order by o.made_at limit 5 for update skip locked) o
  where k.user_id = o.user_id and k.client_id = o.client_id and k.tool = o.tool and k.idempotency_key = o.idempotency_key;
end
$function$;
