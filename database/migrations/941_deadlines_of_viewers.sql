-- compatible: a function with the same parameters and results.
--
-- The calendar of a viewer who was the exclusive buyer still called the exclusivity theirs (see 938_viewers_have_no_side.sql).

do $$
declare
  was constant text := 'else w.participant_id = o.principal_id end as own';
  definition constant text := pg_get_functiondef('app.deadlines()'::regprocedure);
begin
  if strpos(definition, was) = 0 then
    raise exception 'app.deadlines does not say: %', was;
  end if;
  execute replace(definition, was, 'else o.side <> ''viewer'' and w.participant_id = o.principal_id end as own');
end
$$;
