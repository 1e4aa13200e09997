-- compatible: the functions keep their parameters and results; they show less to whoever has become a viewer.
--
-- A buyer who was removed and invited again as a viewer went on seeing the offers, NDAs, questions, findings and sources of financing of the side that they were, with
-- what others added to them since, and so did who advises them: also answers, which the NDA no longer opens to them. A viewer has no side whose records are theirs.

set lock_timeout = '5s';

do $$
declare
  change record;
  definition text;
begin
  for change in
    values
      ('app.principals()', $was$return case when principal = '' then '{}'$was$, $is$return case when principal = '' or split_part(identity, ',', 12) = 'viewer' then '{}'$is$),
      ('app.principals()', $was$from app.participations() p);$was$, $is$from app.participations() p where p.principal_role <> 'viewer');$is$),
      ('app.could_open_as(text, uuid, text, uuid[])', $was$principal constant uuid := nullif(split_part(standing, ',', 4), '');$was$,
        $is$principal constant uuid := case when split_part(standing, ',', 5) <> 'viewer' then nullif(split_part(standing, ',', 4), '') end;$is$),
      ('app.activity_in_sight()', $was$select p.deal_id, p.principal_id, s.side from ($was$,
        $is$select p.deal_id, case when s.side <> 'viewer' then p.principal_id end as principal_id, s.side from ($is$),
      ('app.deadlines()', $was$else o.principal_id = case w.subject$was$, $is$else o.side <> 'viewer' and o.principal_id = case w.subject$is$),
      ('vault.offers_told(uuid, text, uuid)', $was$(of_deal_side or k.participant_id = principal)$was$,
        $is$(of_deal_side or offers_told.side = 'buyer' and k.participant_id = principal)$is$),
      ('app.deal_rows(uuid[])', $was$(own.side in ('broker', 'seller') or o.participant_id = own.principal_id))::int$was$,
        $is$(own.side in ('broker', 'seller') or own.side = 'buyer' and o.participant_id = own.principal_id))::int$is$)
  loop
    definition := pg_get_functiondef(change.column1::regprocedure);
    if strpos(definition, change.column2) = 0 then
      raise exception '% does not say: %', change.column1, change.column2;
    end if;
    execute replace(definition, change.column2, change.column3);
  end loop;
end
$$;
