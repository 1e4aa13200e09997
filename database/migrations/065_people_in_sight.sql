-- compatible: a function more.

-- The name of somebody who takes part or took part in a deal, as its reader sees it there; null when they may not know of them. Only
-- that deal is looked at, as in a request about it: a join with the people of deals asks its policies of all deals of the reader.
create function app.person_in_sight(person uuid, deal uuid) returns text
language plpgsql volatile security definer set search_path = '' as $$
declare
  narrowed constant uuid := app.narrowed_to();
  whole constant text := app.whole_identity();
  identity constant text := current_setting('dealkeep.identity', true);
  seal constant text := current_setting('dealkeep.seal', true);
  part uuid;
  found text;
begin
  if app.user_id() is null or (narrowed is not null and narrowed <> deal) then
    return null;
  end if;
  select p.id, u.name into part, found from public.participants p join public.users u on u.id = p.user_id
    where p.deal_id = deal and p.user_id = person and p.joined_at is not null;
  if part is null then
    return null;
  end if;
  if narrowed is null then
    perform app.seal(whole || ',' || app.standing(app.user_id(), app.barred_in(whole), app.brokerages_as('admin'), deal));
  end if;
  if not app.could_open('participants', part, deal) then
    found := null;
  end if;
  if narrowed is null then
    perform set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', seal, true);
  end if;
  return found;
end
$$;
grant execute on function app.person_in_sight(uuid, uuid) to dealkeep_server;
