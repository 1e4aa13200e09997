-- compatible: the function answers what it did.
--
-- Whether the selected buyer knows of somebody on a deal was looked up in all parts that this person has in deals.

CREATE OR REPLACE FUNCTION app.side_knows(principal_id uuid, user_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  side public.participants;
begin
  -- By the deal and the person, not by the person alone, who may be on thousands.
  select s.* into side from public.participants s where s.id = side_knows.principal_id;
  return (side.deal_id = any (app.deals_as('broker', 'seller', 'conditions:write')) or side.id = any (app.principals())) and exists (
    select from public.participants p
    join public.deals d on d.id = p.deal_id
    where p.deal_id = side.deal_id and p.user_id = side_knows.user_id and (
      side.role <> 'buyer'
      or coalesce(p.advises, p.id) = side.id
      or (p.status = 'active' and (p.role = 'broker' or (p.role = 'seller' and (not d.needs_nda or exists (
        select from vault.active_ndas n where n.participant_id = side.id)))))));
end
$function$;
