-- compatible: nodes of the release before call the same functions, and tell of the new kind in general words.

CREATE OR REPLACE FUNCTION app.audit_family(user_id uuid, client_id uuid, family_id uuid, action text, outcome text, address inet, request_id text, details jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  identity text := current_setting('dealkeep.identity', true);
  seal text := current_setting('dealkeep.seal', true);
begin
  perform app.enter(user_id, client_id, null, null, null);
  perform app.audit(action, family_id::text, outcome, app.brokerage_of_grant(user_id, client_id), null, address,
    request_id, details);
  -- Either the client is at fault, or somebody has a copy.
  if action in ('code.replay', 'tokens.replay') then
    perform app.queue_event('connection_ended', null, null, client_id, user_id, user_id);
  end if;
  perform set_config('dealkeep.identity', coalesce(identity, ''), true);
  perform set_config('dealkeep.seal', coalesce(seal, ''), true);
end
$function$;

-- The clients that a mail's notifications of this kind are about, with the addresses that tell whose they are: a name is chosen freely.
CREATE FUNCTION app.clients_of_notices(mail uuid, of_kind text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Mails are made by those who deliver them.');
  end if;
  return (
    select jsonb_agg(jsonb_build_object('name', c.name, 'urls', case when c.metadata_url is null then c.redirect_uris else array[c.metadata_url] end) order by c.name, c.id)
    from public.connected_clients c
    where c.id in (
      select n.subject_id
      from vault.outbox o
      join vault.notifications n on n.id in (select i::uuid from jsonb_array_elements_text(o.facts -> 'notifications') i)
        and n.user_id = o.recipient_id and n.kind = of_kind and n.deal_id is null and n.subject is null
      where o.id = clients_of_notices.mail and o.kind = 'notifications'));
end
$function$;
GRANT EXECUTE ON FUNCTION app.clients_of_notices(uuid, text) TO dealkeep_server;
