-- compatible: a function of triggers keeps its name and its arguments, and notes more.
--
-- A document that was removed and then restored left `document.removed` as its last event: who follows the events had it removed for ever. Restoring is an update, a type that every reader
-- knows.

-- A document that is taken out stays as a row, of which the body is cleared later.
create or replace function app.note_documents() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into public.change_events (brokerage_id, about_deal, object_type, object_id, change)
    select n.brokerage_id, n.deal_id, tg_argv[0], n.id, case when n.removed_at is null then 'updated' else 'removed' end
    from changed n join before o on o.id = n.id
    where (o.removed_at is null or n.removed_at is null) and n is distinct from o;
  return null;
end
$$;
