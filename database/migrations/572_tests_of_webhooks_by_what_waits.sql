-- compatible: the same row, by an index.
--
-- A test of a webhook is among what waits: without saying so, it was looked for in all deliveries of the webhook.

CREATE OR REPLACE FUNCTION app.test_webhook(endpoint uuid, address inet, request_id text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  this constant public.webhook_endpoints := app.webhook_to_manage(endpoint);
  waiting int;
begin
  select count(*) into waiting from public.webhook_deliveries d where d.endpoint_id = this.id and d.object_id = this.id and d.state = 'waiting';
  if waiting >= 10 then
    perform app.refuse('too_many_tests', 'Ten test events wait already: look at why they are not taken.');
  end if;
  perform app.write_deliveries(this.id, false, jsonb_build_array(jsonb_build_object('event_id', gen_random_uuid(), 'type', 'webhook.test',
    'object_type', 'webhook', 'object_id', this.id, 'occurred_at', app.now())));
  perform pg_notify('dealkeep_mail', '');
  perform app.audit('webhook.test', this.id::text, 'done', this.brokerage_id, null, address, request_id, '{}');
  return (
    select d.id from public.webhook_deliveries d
    where d.endpoint_id = this.id and d.object_id = this.id and d.state = 'waiting' order by d.nr desc limit 1);
end
$function$;
