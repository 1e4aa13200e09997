-- compatible: the function does what it did.
-- app.end_sessions_of, which it calls, deletes changes of address; for app.erase_person see 745.

CREATE OR REPLACE FUNCTION app.reset_password(token bytea, new_phc text, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person uuid;
  first_proof boolean;
begin
  -- The account first, as whoever erases it does.
  perform from public.users u
    where u.id = (select r.user_id from vault.password_resets r where r.digest = token) for no key update;
  delete from vault.password_resets r using public.users u
    where r.digest = token and r.expires_at > app.now() and u.id = r.user_id and u.suspended_at is null
    returning r.user_id into person;
  if not found then
    return false;
  end if;
  first_proof := not exists (select from vault.passwords p where p.user_id = person and p.address_proven_at is not null);
  if first_proof then
    delete from vault.passkeys k where k.user_id = person;
    delete from vault.recovery_codes c where c.user_id = person;
    delete from vault.totp t where t.user_id = person;
  end if;
  insert into vault.passwords (user_id, phc, address_proven_at) values (person, new_phc, app.now())
    on conflict (user_id) do update set phc = excluded.phc, changed_at = app.now(),
      address_proven_at = coalesce(vault.passwords.address_proven_at, excluded.address_proven_at);
  delete from vault.password_resets r where r.user_id = person;
  perform app.end_sessions_of(person);
  perform app.record(person, 'password.reset', 'done', app.on_reset(person, first_proof), address, request_id);
  perform app.queue_security_mail(person, 'password_reset');
  return true;
end
$function$;
