-- compatible: a function with the same parameters; it shows less to whoever has become a viewer.
--
-- The home page of a viewer who was a buyer still had the findings of that side that they own, and that a change to the terms of its offer waits (see
-- 938_viewers_have_no_side.sql).

do $$
declare
  definition text := (select pg_get_functiondef(p.oid) from pg_proc p where p.pronamespace = 'app'::regnamespace and p.proname = 'home');
  change record;
begin
  for change in
    values ($was$s.side = 'seller' or s.holder = s.principal_id) and s.holder is not null$was$,
        $is$s.side = 'seller' or s.side = 'buyer' and s.holder = s.principal_id) and s.holder is not null$is$),
      ($was$when s.side = 'seller' or s.holder = s.principal_id then$was$, $is$when s.side = 'seller' or s.side = 'buyer' and s.holder = s.principal_id then$is$),
      ($was$where d.side in ('broker', 'seller') or t.participant_id = d.principal_id$was$,
        $is$where d.side in ('broker', 'seller') or d.side = 'buyer' and t.participant_id = d.principal_id$is$)
  loop
    if strpos(definition, change.column1) = 0 then
      raise exception 'app.home does not say: %', change.column1;
    end if;
    definition := replace(definition, change.column1, change.column2);
  end loop;
  execute definition;
end
$$;
