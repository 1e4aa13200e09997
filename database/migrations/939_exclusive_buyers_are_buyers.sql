-- compatible: the functions keep their parameters and results.
--
-- An exclusive buyer who was removed and invited again as a seller or a viewer was still told that their role is exclusive_buyer, while the exclusivity runs.

do $$
declare
  change record;
  definition text;
begin
  for change in
    values
      ('deals_as_known', $was$WHEN (k.shows_exclusivity AND $was$, $is$WHEN ((d.role = 'buyer'::text) AND k.shows_exclusivity AND $is$),
      ('deal_keys', $was$when d.buyer_user_id = me and k.runs and$was$, $is$when d.role = 'buyer' and d.buyer_user_id = me and k.runs and$is$)
  loop
    definition := (select pg_get_functiondef(p.oid) from pg_proc p
      where p.pronamespace = 'app'::regnamespace and p.proname = change.column1);
    if strpos(definition, change.column2) = 0 then
      raise exception 'app.% does not say: %', change.column1, change.column2;
    end if;
    execute replace(definition, change.column2, change.column3);
  end loop;
end
$$;
