-- compatible: answers the same.
-- What was told of the offers was taken apart again for each of them, to find who made it: 50 offers of 31 KB took 60 to 80 ms.
create or replace function app.offers_in_sight(deal uuid)
returns table (id uuid, buyer_user_id uuid, revision_number integer, is_current boolean, submitted_at timestamptz, payload text, buyer jsonb, told_at timestamptz)
language plpgsql stable security definer set search_path = '' set enable_seqscan = off as $$
declare
  part constant text[] := string_to_array(app.identity(), ',');
begin
  if coalesce(part[1], '') = '' or part[8] is distinct from deal::text then
    return;
  end if;
  -- Who made an offer stands beside the current one of theirs.
  return query
    select (o.one ->> 0)::uuid, (o.one ->> 1)::uuid, (o.one ->> 2)::integer, (o.one ->> 3)::boolean, (o.one ->> 4)::timestamptz, o.one ->> 5,
      first_value((o.one ->> 6)::jsonb) over (partition by o.one ->> 1 order by (o.one ->> 3)::boolean desc), app.now()
    from json_array_elements(vault.offers_told(deal, part[12], nullif(part[11], '')::uuid)) with ordinality o (one, place)
    order by o.place;
end
$$;
