-- compatible: a function more.
--
-- The names of what was done to, for lists of activity. A join with each table that has names would have its policy look at
-- all deals of the reader, and on the first page at the whole platform.

-- The name of a record of a deal as its reader sees it; null when there is none, it has none, or they could not open it. Only that deal is
-- looked at, as in a request about it.
create function app.name_in_sight(of_table text, record text, deal uuid) returns text
language plpgsql volatile security definer set search_path = '' as $$
declare
  narrowed constant uuid := app.narrowed_to();
  whole constant text := app.whole_identity();
  identity constant text := current_setting('dealkeep.identity', true);
  seal constant text := current_setting('dealkeep.seal', true);
  found text;
begin
  if app.user_id() is null or (narrowed is not null and narrowed <> deal) or record !~ '^[0-9a-f-]{36}$' then
    return null;
  end if;
  found := case of_table
    when 'documents' then (select d.filename from public.documents d where d.id = record::uuid and d.deal_id = deal)
    when 'production_documents' then (select d.filename from public.production_documents d where d.id = record::uuid and d.deal_id = deal)
    when 'closing_conditions' then (select c.name from public.closing_conditions c where c.id = record::uuid and c.deal_id = deal)
    when 'findings' then (select f.title from public.findings f where f.id = record::uuid and f.deal_id = deal)
  end;
  if found is null then
    return null;
  end if;
  if narrowed is null then
    perform app.seal(whole || ',' || app.standing(app.user_id(), app.barred_in(whole), app.brokerages_as('admin'), deal));
  end if;
  if not app.could_open(of_table, record::uuid, deal) then
    found := null;
  end if;
  if narrowed is null then
    perform set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', seal, true);
  end if;
  return found;
end
$$;
grant execute on function app.name_in_sight(text, text, uuid) to dealkeep_server;
