-- compatible: the function answers the same question, and leaves out brokers who cannot do anything.
--
-- A deal whose brokers are all suspended took questions, which nobody could review: it counts as one without a broker, as where somebody is removed or erased.

create or replace function app.has_broker(deal_id uuid)
returns boolean
language plpgsql
stable
set search_path to ''
as $function$
begin
  return exists (select from public.participants p join public.users u on u.id = p.user_id and u.suspended_at is null
    where p.deal_id = has_broker.deal_id and p.role = 'broker' and p.status = 'active');
end
$function$;
