-- compatible: the function is called and answers as before.
--
-- Rotating twice ended the first secret at once, although it had been announced that it signs for a while longer, and receivers that still had it rejected what came.
-- Each signs now for its own time; of more than five, which receivers would have to try, the oldest end.

CREATE OR REPLACE FUNCTION app.rotate_webhook_secret(endpoint uuid, secret_id uuid, secret text, overlap interval, address inet, request_id text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  this public.webhook_endpoints;
begin
  perform app.hold_webhook_admins();
  this := app.webhook_to_manage(endpoint);
  if app.key_id() is null then
    perform app.check_recent_sign_in();
  end if;
  delete from vault.webhook_secrets s where s.endpoint_id = this.id and (s.ends_at <= app.now() or overlap <= interval '0'
    or s.id in (select o.id from vault.webhook_secrets o where o.endpoint_id = this.id order by o.created_at desc, o.id offset 4));
  update vault.webhook_secrets s set ends_at = app.now() + least(overlap, interval '7 days') where s.endpoint_id = this.id and s.ends_at is null;
  insert into vault.webhook_secrets (id, endpoint_id, secret) values (secret_id, this.id, rotate_webhook_secret.secret);
  update public.webhook_endpoints e set created_by = app.user_id() where e.id = this.id and e.created_by is distinct from app.user_id();
  perform app.audit('webhook.rotate_secret', this.id::text, 'done', this.brokerage_id, null, address, request_id, '{}');
end
$function$;
