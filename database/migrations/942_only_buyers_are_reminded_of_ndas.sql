-- compatible: a function with the same parameters and results.
--
-- Who was sent an NDA as a buyer, and came back as a seller, could be reminded to sign it, which only a buyer can.

do $$
declare
  was constant text := 'p.id = n.participant_id and p.status = ''active''';
  definition constant text := pg_get_functiondef('app.awaited(text, uuid)'::regprocedure);
begin
  if strpos(definition, was) = 0 then
    raise exception 'app.awaited does not say: %', was;
  end if;
  execute replace(definition, was, was || ' and p.role = ''buyer''');
end
$$;
