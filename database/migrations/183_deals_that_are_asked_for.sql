-- compatible: answers the same, and looks at the setting `dealkeep.among_deals` that versions before do not make.
--
-- What a key reads of a few deals no longer begins with all that its brokerage lets keys in to: with 12,000 of them, each kind of record in a page of
-- events took PostgreSQL 13 ms, and a type of event that is seldom 1.6 seconds.

-- Whoever reads records of deals that they know names them in `dealkeep.among_deals`, for the length of a transaction. It can only take away, so that it needs no seal.
create or replace function app.deals_of_key(identity text, asked text[]) returns uuid[]
language plpgsql stable as $$
declare
  deal constant text := split_part(identity, ',', 8);
  brokerage constant uuid := nullif(split_part(identity, ',', 4), '');
  among constant uuid[] := nullif(current_setting('dealkeep.among_deals', true), '');
begin
  if brokerage is null or not string_to_array(split_part(identity, ',', 5), ' ') && asked then
    return '{}';
  end if;
  if deal <> '' then
    return array(select deal::uuid where among is null or deal::uuid = any (among));
  end if;
  if among is not null then
    return array(select one from unnest(among) one
      where (select d.organization_id = brokerage and d.keys_admitted from public.deals d where d.id = one));
  end if;
  return array(select d.id from public.deals d where d.organization_id = brokerage and d.keys_admitted);
end
$$;

-- Which deals the events of a look are about, of those that belong to records of these kinds, if some are named.
create function app.deals_of_look(after bigint, reach bigint, kinds text[]) returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
begin
  return array(select distinct e.about_deal from public.change_events e
    where e.brokerage_id = app.identity_part(4)::uuid and e.seq > after and e.seq <= reach and e.about_deal is not null
      and (kinds is null or e.object_type = any (kinds)));
end
$$;
grant execute on function app.deals_of_look(bigint, bigint, text[]) to dealkeep_server;

create or replace function app.changes_after(after bigint, most integer, types text[])
returns table (seq bigint, id uuid, type text, object_type text, object_id uuid, deal_id uuid, at timestamptz, history uuid, more boolean)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  brokerage constant uuid := app.identity_part(4)::uuid;
  among constant text := coalesce(current_setting('dealkeep.among_deals', true), '');
  -- PostgreSQL compares columns before it asks the policy, but not what is put together of them.
  kinds constant text[] := (select array_agg(distinct split_part(one, '.', 1)) from unnest(types) one);
  changes constant text[] := (select array_agg(distinct split_part(one, '.', 2)) from unnest(types) one);
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
    reach := app.reach_of_look(place, case look when 1 then 4 * most when 2 then least(40 * most, 10000) else 10000 end, last);
    if among = '' then
      perform set_config('dealkeep.among_deals', app.deals_of_look(place, reach, kinds)::text, true);
    end if;
    for seq, id, type, object_type, object_id, deal_id, at in
      select e.seq, e.id, e.object_type || '.' || e.change, e.object_type, e.object_id, e.about_deal, e.at from public.change_events e
      where e.brokerage_id = brokerage and e.seq > place and e.seq <= reach
        and (kinds is null or e.object_type = any (kinds)) and (changes is null or e.change = any (changes))
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
  perform set_config('dealkeep.among_deals', among, true);
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
