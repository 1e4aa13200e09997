-- compatible: a function with the same parameters.
--
-- Of two people of one name, whose numbers are written in Arabic or other digits, the second was left out of an import, as neither number had a digit from 0 to 9. A name
-- is the same, however its accents are stored.

-- What numbers are compared by: their digits, or where there are none from 0 to 9, all of it.
create function vault.number_in(phone text) returns text
  language sql immutable parallel safe
  return coalesce(nullif(regexp_replace(phone, '[^0-9]', '', 'g'), ''), lower(phone), '');

-- What names are compared by. Longer ones are not normalized: it takes time that grows with the square of the number of marks.
create function vault.name_in(display_name text) returns text
  language sql immutable parallel safe
  return lower(case when length(display_name) <= 200 then normalize(display_name) else display_name end);

CREATE OR REPLACE FUNCTION app.known_contacts(brokerage uuid, given jsonb)
 RETURNS TABLE(place integer, id uuid, archived boolean)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_nestloop TO 'off'
AS $function$
#variable_conflict use_column
begin
  if not brokerage = any (app.brokerages_for('contacts:read')) then
    return;
  end if;
  return query
    with asked as materialized (
      select g.place, g.type, vault.name_in(g.display_name) as name, app.folded("left"(g.display_name, 100)) as key, lower(g.email) as email, vault.number_in(g.phone) as digits
      from jsonb_to_recordset(given) g (place integer, type text, display_name text, email text, phone text)
    ), namesakes as materialized (
      select distinct on (n.type, n.name, k.digits) n.type, n.name, k.digits, k.id, k.archived
      from (select distinct a.type, a.name, a.key from asked a where a.email is null) n
      cross join lateral (
        select c.id, false as archived, vault.number_in(c.phone) as digits from public.contacts c
          where c.brokerage_id = brokerage and c.archived_at is null
            and app.folded("left"(c.display_name, 100)) = n.key and vault.name_in(c.display_name) = n.name and c.type = n.type
        union all
        select c.id, true, vault.number_in(c.phone) from public.contacts c
          where c.brokerage_id = brokerage and c.archived_at is not null
            and app.folded("left"(c.display_name, 100)) = n.key and vault.name_in(c.display_name) = n.name and c.type = n.type
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
$function$;
