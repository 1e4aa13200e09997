-- compatible: the same function, planned otherwise.
--
-- Rows of several people are asked for by an array, of which a plan for these very people always looks cheaper: so the view of five tables was planned anew for each row that changes, which took ten times as long
-- as writing it. Nobody with ten thousand deals could be erased or removed.

CREATE OR REPLACE FUNCTION app.keep_deals_of_people()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  people uuid[];
begin
  if tg_op <> 'DELETE' and new.status = 'active' then
    -- Whoever changes the deal meanwhile is waited for, or waits and finds the row.
    perform from public.deals d where d.id = new.deal_id for no key update;
  elsif tg_op <> 'INSERT' and old.status = 'active' then
    -- Whoever writes the rows of those whom they advise, or of their advisors, meanwhile is waited for, or waits and finds that they have left.
    perform from public.deals d where d.id = old.deal_id for share;
  end if;
  if tg_op <> 'INSERT' then
    delete from vault.deals_of_people o where o.user_id = old.user_id and o.deal_id = old.deal_id;
  end if;
  if tg_op <> 'DELETE' then
    people := array[new.user_id];
    if tg_op = 'UPDATE' and new.advises is null then
      people := people || array(select a.user_id from public.participants a where a.advises = new.id);
    end if;
    delete from vault.deals_of_people o where o.user_id = any (people) and o.deal_id = new.deal_id;
    insert into vault.deals_of_people select p.* from vault.deals_of_parts p where p.user_id = any (people) and p.deal_id = new.deal_id;
  end if;
  return null;
end
$function$;
