-- compatible: a trigger more, on columns that the release before writes.
--
-- From diligence on, an exclusivity that was granted, moved or released changed the deal as it is told, but not the time of its last change: GET /deals?updatedSince left it out. The
-- time is written to the row of the stage, which those alone see who see the exclusivity. A deal whose stage goes with its exclusivity has none any more, and was changed by that.

create function app.touch_stage()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  if tg_op = 'INSERT' or (new.expires_at, new.ended_at) is distinct from (old.expires_at, old.ended_at) then
    update public.deal_stages g set updated_at = app.now() where g.deal_id = new.deal_id and g.updated_at < app.now();
  end if;
  return null;
end
$$;
-- After move_deal, which writes or deletes the stage.
create trigger touch_stage after insert or update of expires_at, ended_at on exclusivities for each row execute function app.touch_stage();
