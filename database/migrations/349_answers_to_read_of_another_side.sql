-- compatible: a trigger deletes what the release before leaves.
--
-- Until when somebody has read answers is kept by person and deal. An advisor who was invited again to advise another buyer was told of none of the answers that this
-- one had been given by then.

create or replace function app.note_role() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into vault.role_changes (participant_id, deal_id, at) values (new.id, new.deal_id, app.now())
  on conflict (participant_id) do update set at = excluded.at;
  if coalesce(new.advises, new.id) <> coalesce(old.advises, old.id) then
    delete from public.answer_readings r where r.user_id = new.user_id and r.deal_id = new.deal_id;
  end if;
  return null;
end
$$;
