-- compatible: a function more; `app.contacts_with_emails` stays for nodes of the release before.
--
-- A file of contacts was imported again and again as far as its contacts have no address, and brought back those that were archived.

-- The contact that each given one is already, archived or not: by its address, or if it has none by type, name and phone number.
-- Each address is looked up by itself, in the order of an index (migration 711). However many contacts have the same name, they are read once for all given ones with
-- that name, and these are not compared with each of them: PostgreSQL, which cannot tell how many there are, might choose to.
create function app.known_contacts(brokerage uuid, given jsonb) returns table (place integer, id uuid, archived boolean)
  language plpgsql stable security definer set search_path = '' set enable_nestloop = 'off' as $$
#variable_conflict use_column
begin
  if not brokerage = any (app.brokerages_for('contacts:read')) then
    return;
  end if;
  return query
    with asked as materialized (
      select g.place, g.type, lower(g.display_name) as name, lower(g.email) as email, regexp_replace(coalesce(g.phone, ''), '[^0-9]', '', 'g') as digits
      from jsonb_to_recordset(given) g (place integer, type text, display_name text, email text, phone text)
    ), namesakes as materialized (
      select distinct on (n.type, n.name, k.digits) n.type, n.name, k.digits, k.id, k.archived
      from (select distinct a.type, a.name from asked a where a.email is null) n
      cross join lateral (
        select c.id, false as archived, regexp_replace(coalesce(c.phone, ''), '[^0-9]', '', 'g') as digits from public.contacts c
          where c.brokerage_id = brokerage and c.archived_at is null
            and "left"(lower(c.display_name), 100) = "left"(n.name, 100) and lower(c.display_name) = n.name and c.type = n.type
        union all
        select c.id, true, regexp_replace(coalesce(c.phone, ''), '[^0-9]', '', 'g') from public.contacts c
          where c.brokerage_id = brokerage and c.archived_at is not null
            and "left"(lower(c.display_name), 100) = "left"(n.name, 100) and lower(c.display_name) = n.name and c.type = n.type
        offset 0) k
      order by n.type, n.name, k.digits, k.archived, k.id
    )
    select a.place, k.id, k.archived
    from asked a
    cross join lateral (
      select o.id, o.archived from (
        (select c.id, false as archived from public.contacts c
         where c.brokerage_id = brokerage and c.archived_at is null and c.email is not null and lower(c.email) = a.email
         order by c.brokerage_id, lower(c.email), c.id limit 1)
        union all
        (select c.id, true from public.contacts c
         where c.brokerage_id = brokerage and c.archived_at is not null and c.email is not null and lower(c.email) = a.email
         order by c.brokerage_id, lower(c.email), c.id limit 1)) o
      order by o.archived limit 1) k
    where a.email is not null
    union all
    select a.place, k.id, k.archived from asked a join namesakes k on k.type = a.type and k.name = a.name and k.digits = a.digits where a.email is null;
end
$$;
grant execute on function app.known_contacts(uuid, jsonb) to dealkeep_server;
