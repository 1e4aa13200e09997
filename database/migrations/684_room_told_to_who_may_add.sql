-- compatible: who may not add is refused as before, only always in the same words.
--
-- The room on a deal was counted before the policy was asked: somebody who sees the deal, but not its closing conditions or checklist, learned by adding one that there
-- are 500, and held the row of the deal meanwhile.

CREATE OR REPLACE FUNCTION app.limit_of_deal()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  there int;
begin
  if not app.has_caller() then
    return new;  -- the owner, loading data
  end if;
  -- As the policies for adding have it, which are asked afterwards. Counting after them would be too late for the lock: app.keep_closed takes a weaker one in between.
  if not new.deal_id = any (case tg_table_name
    when 'closing_conditions' then app.deals_acting_as('broker', 'conditions:write')
    when 'contradiction_answers' then app.deals_acting_as('broker')
    when 'qoe_checklist' then app.qoe_deals(true) end)
  then
    return new;
  end if;
  perform from public.deals d where d.id = new.deal_id for no key update;
  execute format('select count(*) from public.%I where deal_id = $1', tg_table_name) into there using new.deal_id;
  if there >= tg_argv[0]::int then
    perform app.refuse('deal_full', format('A deal has room for %s %s.', to_char(tg_argv[0]::int, 'FM999,999'), tg_argv[1]));
  end if;
  return new;
end
$function$;
