-- compatible: the same rows in another order.
--
-- Brokerages that are closed for want of a second factor are told in the order of their names, whatever their case.

CREATE OR REPLACE FUNCTION app.second_factor_owed()
 RETURNS TABLE(brokerage_id uuid, brokerage_name text, has_one boolean)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query select b.id, b.name, app.has_second_factor(app.user_id()) from public.brokerages b
    where b.id = any (app.barred_in(app.identity())) order by lower(b.name), b.id;
end
$function$;
