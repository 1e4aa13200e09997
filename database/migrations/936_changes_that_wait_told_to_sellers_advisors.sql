-- compatible: a function with the same parameters; a row of a kind that nodes of the release before show already.
--
-- The home page told a buyer's advisors that a change to the accepted terms waits for the broker, and the seller, but not a seller's advisors, who see the same offers.

do $$
declare
  definition text := (select pg_get_functiondef(p.oid) from pg_proc p where p.pronamespace = 'app'::regnamespace and p.proname = 'home');
  change record;
begin
  for change in
    values ($was$(s.role in ('broker', 'seller') or s.holder = s.principal_id) and s.holder is not null$was$,
        $is$(s.role = 'broker' or s.side = 'seller' or s.holder = s.principal_id) and s.holder is not null$is$),
      ($was$when s.role = 'seller' or s.holder = s.principal_id then$was$, $is$when s.side = 'seller' or s.holder = s.principal_id then$is$)
  loop
    if strpos(definition, change.column1) = 0 then
      raise exception 'app.home does not say: %', change.column1;
    end if;
    definition := replace(definition, change.column1, change.column2);
  end loop;
  execute definition;
end
$$;
