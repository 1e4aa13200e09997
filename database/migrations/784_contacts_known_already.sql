-- compatible: a function more; `app.contacts_with_emails` stays for nodes of the release before.
--
-- A file of contacts was imported again and again as far as its contacts have no address, and brought back those that were archived.

-- The contact that each given one is already, archived or not: by its address, or if it has none by type, name and phone number.
-- Each is looked up by itself, in the order of an index (migration 711).
create function app.known_contacts(brokerage uuid, given jsonb) returns table (place integer, id uuid, archived boolean)
  language plpgsql stable security definer set search_path = '' as $$
#variable_conflict use_column
begin
  if not brokerage = any (app.brokerages_for('contacts:read')) then
    return;
  end if;
  return query
    select g.place, k.id, k.archived
    from jsonb_to_recordset(given) g (place integer, type text, display_name text, email text, phone text)
    cross join lateral (
      select o.id, o.archived from (
        (select c.id, false as archived from public.contacts c
         where g.email is not null and c.brokerage_id = brokerage and c.archived_at is null and c.email is not null and lower(c.email) = lower(g.email)
         order by c.brokerage_id, lower(c.email), c.id limit 1)
        union all
        (select c.id, true from public.contacts c
         where g.email is not null and c.brokerage_id = brokerage and c.archived_at is not null and c.email is not null and lower(c.email) = lower(g.email)
         order by c.brokerage_id, lower(c.email), c.id limit 1)
        union all
        (select c.id, false from public.contacts c
         where g.email is null and c.brokerage_id = brokerage and c.archived_at is null
           and "left"(lower(c.display_name), 100) = "left"(lower(g.display_name), 100) and lower(c.display_name) = lower(g.display_name) and c.type = g.type
           and regexp_replace(coalesce(c.phone, ''), '[^0-9]', '', 'g') = regexp_replace(coalesce(g.phone, ''), '[^0-9]', '', 'g')
         order by c.brokerage_id, "left"(lower(c.display_name), 100), c.id limit 1)
        union all
        (select c.id, true from public.contacts c
         where g.email is null and c.brokerage_id = brokerage and c.archived_at is not null
           and "left"(lower(c.display_name), 100) = "left"(lower(g.display_name), 100) and lower(c.display_name) = lower(g.display_name) and c.type = g.type
           and regexp_replace(coalesce(c.phone, ''), '[^0-9]', '', 'g') = regexp_replace(coalesce(g.phone, ''), '[^0-9]', '', 'g')
         order by c.brokerage_id, "left"(lower(c.display_name), 100), c.id limit 1)) o
      order by o.archived limit 1) k;
end
$$;
grant execute on function app.known_contacts(uuid, jsonb) to dealkeep_server;
