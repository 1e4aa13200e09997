-- compatible: functions that sort otherwise.
--
-- Émile came after Zoe. Names are sorted without accents. A cursor that was given out before has a name in lower case with its accents: it is taken without them.

CREATE OR REPLACE FUNCTION app.contact_list(brokerage uuid, archived boolean, patterns text[], sort text, after_key text, after_id uuid, most integer)
 RETURNS TABLE(id uuid, type text, display_name text, email text, phone text, archived_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone, place text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  by_name constant boolean := ltrim(sort, '-') = 'display_name';
  key constant text := case when by_name then 'app.folded("left"(c.display_name, 100))' else 'c.created_at' end;
  backwards constant boolean := starts_with(sort, '-');
begin
  if not brokerage = any (app.brokerages_for('contacts:read')) or (archived and app.key_id() is not null) then
    return;
  end if;
  return query execute format(
    case when cardinality(patterns) = 0 then
      'select c.id, c.type, c.display_name, c.email, c.phone, c.archived_at::timestamptz, c.created_at::timestamptz, c.updated_at::timestamptz, (%1$s)::text
       from public.contacts c where c.brokerage_id = $1 and c.archived_at is %2$s null %4$s'
    else
      -- What is frequent is found among the first; of what is seldom, few are sorted.
      'with first as materialized (
         select c.* from public.contacts c where c.brokerage_id = $1 and c.archived_at is %2$s null %4$s order by %1$s %5$s, c.id %5$s limit 1000),
       near as materialized (select c.* from first c where true %3$s order by %1$s %5$s, c.id %5$s limit $4),
       enough as materialized (select (select count(*) from near) >= $4 or (select count(*) from first) < 1000 as is_so),
       c as materialized (
         select n.* from near n where (select e.is_so from enough e)
         union all
         select c.* from public.contacts c where c.brokerage_id = $1 and c.archived_at is %2$s null %3$s and not (select e.is_so from enough e))
       select c.id, c.type, c.display_name, c.email, c.phone, c.archived_at::timestamptz, c.created_at::timestamptz, c.updated_at::timestamptz, (%1$s)::text
       from c where true %4$s'
    end || ' order by %1$s %5$s, c.id %5$s limit $4',
    key,
    case when archived then 'not' end,
    'and ' || vault.contact_has(patterns),
    case when after_key is not null
      then format('and (%s, c.id) %s (%s, $3)', key, case when backwards then '<' else '>' end, case when by_name then 'app.folded($2)' else '$2::timestamptz' end) end,
    case when backwards then 'desc' else 'asc' end)
    using brokerage, after_key, after_id, most;
end
$function$;

CREATE OR REPLACE FUNCTION app.contacts_that_fit(archived text, of_type text, of_email text, patterns text[], since timestamp with time zone, sort text, after_key text, after_id uuid, most integer)
 RETURNS TABLE(id uuid, type text, display_name text, email text, phone text, external_id text, archived_at timestamp with time zone, merged_into uuid, created_at timestamp with time zone, updated_at timestamp with time zone, place text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  brokerage constant uuid := case when app.key_id() is not null then (app.brokerages_for('contacts:read'))[1] end;
  key constant text := case sort when 'displayName' then 'app.folded("left"(c.display_name, 100))' when 'updatedAt' then 'c.updated_at' else 'c.created_at' end;
  direction constant text := case when starts_with(sort, '-') then 'desc' else 'asc' end;
  picked constant text := concat_ws(' and ',
    case when of_email is not null then 'c.email is not null and lower(c.email) = lower($2)' end,
    vault.contact_has(patterns));
  narrowed constant text := concat(case when since is not null then ' and c.updated_at >= $3' end,
    case when after_key is not null then format(' and (%s, c.id) %s (%s, $6)', key, case direction when 'desc' then '<' else '>' end,
      case when sort = 'displayName' then 'app.folded($5)' else '$5::timestamptz' end) end);
  in_order constant text := format('order by %1$s %2$s, c.id %2$s', key, direction);
  -- Of what is picked out by address or words, few are left: they are sorted.
  ordered constant text := format('select c.*, (%s)::text as place from %s c where c.brokerage_id = $1 and %%s %s %s limit $7',
    key, case when picked = '' then 'public.contacts' else 'picked' end, narrowed, in_order);
  fields constant text := 'c.id, c.type, c.display_name, c.email, c.phone, c.external_id, c.archived_at::timestamptz, c.merged_into, c.created_at::timestamptz, c.updated_at::timestamptz, c.place';
  -- Words are looked for in the contacts of all brokerages at once, by index. Where a brokerage has few, they are read instead.
  few constant boolean := cardinality(patterns) > 0
    and (select count(*) from (select from public.contacts c where c.brokerage_id = brokerage and c.archived_at is null limit 5001) c) <= 5000
    and (select count(*) from (select from public.contacts c where c.brokerage_id = brokerage and c.archived_at is not null limit 5001) c) <= 5000;
  parts text;
begin
  if brokerage is null then
    return;
  end if;
  select string_agg('(' || format(ordered, concat_ws(' and ', a.condition, t.condition)) || ')', ' union all ') into parts
  from (values ('c.archived_at is null', '{false,true}'::text[]), ('c.archived_at is not null', '{only,true}')) a (condition, of),
    -- Where the index begins with the type, each type is a scan of its own.
    (select 'c.type = $4' as condition where of_type is not null
     union all select null where of_type is null and (sort <> 'updatedAt' or picked <> '')
     union all select format('c.type = %L', one) from unnest('{company,person}'::text[]) one where of_type is null and sort = 'updatedAt' and picked = '') t
  where archived = any (a.of);
  -- What is frequent is found among the first.
  if cardinality(patterns) > 0 and not few and archived <> 'true' then
    return query execute format(
      'with first as materialized (
         select c.*, (%s)::text as place from public.contacts c where c.brokerage_id = $1 and %s %s %s limit 1000),
       near as materialized (select c.* from first c where %s %s limit $7)
       select %s from near c where (select count(*) from near) >= $7 %s',
      key, concat_ws(' and ', case archived when 'only' then 'c.archived_at is not null' else 'c.archived_at is null' end, case when of_type is not null then 'c.type = $4' end),
      narrowed, in_order, picked, in_order, fields, in_order)
      using brokerage, of_email, since, of_type, after_key, after_id, most;
    if found then
      return;
    end if;
  end if;
  return query execute format(
    '%s select %s from (%s) c %s limit $7',
    case when picked <> '' then format('with picked as materialized (%s)', (
      select string_agg(format('select c.* from (select c.* from public.contacts c where c.brokerage_id = $1 and c.archived_at is %s null %s) c where %s',
        a.is_not, case when few then 'offset 0' end, picked), ' union all ')
      from (values ('', '{false,true}'::text[]), ('not', '{only,true}')) a (is_not, of) where archived = any (a.of))) end,
    fields, parts, in_order)
    using brokerage, of_email, since, of_type, after_key, after_id, most;
end
$function$;

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
      select g.place, g.type, lower(g.display_name) as name, app.folded("left"(g.display_name, 100)) as key, lower(g.email) as email, regexp_replace(coalesce(g.phone, ''), '[^0-9]', '', 'g') as digits
      from jsonb_to_recordset(given) g (place integer, type text, display_name text, email text, phone text)
    ), namesakes as materialized (
      select distinct on (n.type, n.name, k.digits) n.type, n.name, k.digits, k.id, k.archived
      from (select distinct a.type, a.name, a.key from asked a where a.email is null) n
      cross join lateral (
        select c.id, false as archived, regexp_replace(coalesce(c.phone, ''), '[^0-9]', '', 'g') as digits from public.contacts c
          where c.brokerage_id = brokerage and c.archived_at is null
            and app.folded("left"(c.display_name, 100)) = n.key and lower(c.display_name) = n.name and c.type = n.type
        union all
        select c.id, true, regexp_replace(coalesce(c.phone, ''), '[^0-9]', '', 'g') from public.contacts c
          where c.brokerage_id = brokerage and c.archived_at is not null
            and app.folded("left"(c.display_name, 100)) = n.key and lower(c.display_name) = n.name and c.type = n.type
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
