-- compatible: a function looks at less at first.
-- A page of changes is asked for most often by whoever sees all of them: it looked for the end of the next ten thousand first, which cost several times the page.
create or replace function app.changes_after(after bigint, most int, types text[])
returns table (seq bigint, id uuid, type text, object_type text, object_id uuid, deal_id uuid, at timestamptz, history uuid, more boolean)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  brokerage constant uuid := app.identity_part(4)::uuid;
  place bigint;
  last bigint;
  reach bigint;
  room int := most;
begin
  select s.published, s.history into last, history from app.change_stream() s;
  place := coalesce(after, last);
  for look in 1..20 loop
    exit when brokerage is null or room <= 0 or place >= last;
    -- Most often the first few are what is asked for.
    reach := app.reach_of_look(place, case look when 1 then 4 * most else 10000 end, last);
    for seq, id, type, object_type, object_id, deal_id, at in
      select e.seq, e.id, e.object_type || '.' || e.change, e.object_type, e.object_id, e.about_deal, e.at from public.change_events e
      where e.brokerage_id = brokerage and e.seq > place and e.seq <= reach
        and (types is null or e.object_type || '.' || e.change = any (types))
      order by e.seq limit room
    loop
      room := room - 1;
      place := seq;
      return next;
    end loop;
    if room > 0 then
      place := reach;
    end if;
  end loop;
  seq := place;
  at := app.now();
  more := place < last;
  id := null;
  type := null;
  object_type := null;
  object_id := null;
  deal_id := null;
  return next;
end
$$;
