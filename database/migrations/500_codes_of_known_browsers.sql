-- compatible: the function is named, called and answered as before.
--
-- A known browser that had failed with ten codes of its own was refused every code for a quarter of an hour, while one without its cookie was
-- looked at. As with passwords, the codes of the account count for it then.

CREATE OR REPLACE FUNCTION app.take_code(person uuid, code_step bigint, device bytea)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  factor vault.totp;
  known boolean := app.is_known_device(person, device);
  failed int;
  failed_last timestamptz;
begin
  select t.* into factor from vault.totp t where t.user_id = person for update;
  failed := factor.failures;
  failed_last := factor.failed_at;
  if known then
    select k.code_failures, k.code_failed_at into failed, failed_last
      from vault.known_devices k where k.digest = device and k.user_id = person;
    -- A browser that has failed too often itself is one like any other.
    if failed >= 10 and failed_last > app.now() - interval '15 minutes' then
      known := false;
      failed := factor.failures;
      failed_last := factor.failed_at;
    end if;
  end if;
  if failed >= 10 and failed_last > app.now() - interval '15 minutes' then
    return false;
  end if;
  if code_step is null or code_step <= factor.last_step then
    if known then
      update vault.known_devices k set code_failures = k.code_failures + 1, code_failed_at = app.now()
        where k.digest = device and k.user_id = person;
    else
      update vault.totp t set failures = t.failures + 1, failed_at = app.now() where t.user_id = person;
    end if;
    return false;
  end if;
  update vault.totp t set last_step = code_step, failures = case when known then t.failures else 0 end,
    failed_at = case when known then t.failed_at end where t.user_id = person;
  return true;
end
$function$;
