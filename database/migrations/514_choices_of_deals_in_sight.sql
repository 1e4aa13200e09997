-- compatible: the function answers the same columns.
--
-- The choices for deals were cut to 200 before those for deals that their person has left were taken out, which stay: whoever had left 200 was shown none for later deals, though these held.

create or replace function app.deal_notification_choices()
returns table(deal_id uuid, delivery text)
language sql
stable security definer
set search_path to ''
as $function$
  select c.deal_id, c.delivery from vault.deal_notification_choices c
  join public.deals d on d.id = c.deal_id
  where c.user_id = app.user_id()
    and app.deal_is_visible(d.id, d.organization_id, (select app.deals_as('broker', 'seller', 'buyer', 'viewer')), (select app.brokerages_as('admin')))
  order by c.deal_id limit 200
$function$;
