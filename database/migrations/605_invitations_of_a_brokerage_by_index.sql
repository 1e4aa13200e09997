-- compatible: a function that answers the same rows in other words.
--
-- For each part of a brokerage that is deleted, and each reset of a sandbox, the invitations of all brokerages were read: no index serves a column of their own or a query of participants in one condition.

CREATE OR REPLACE FUNCTION app.rows_of_brokerage(deals text, parts boolean)
 RETURNS TABLE(name text, condition text)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  -- By their names in the catalogue: not everybody who asks may look a name of the vault up.
  left_out constant oid[] := array(select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'vault' and c.relname in ('brokerage_deletions', 'deals_of_people', 'answers_of_people', 'ndas_of_people'));
  conditions jsonb := '{}';
  found record;
  added int;
begin
  for found in
    select c.oid, string_agg(case a.attname when 'deal_id' then 't.deal_id = ' || deals else 't.' || a.attname || ' = $1' end,
        ' or ' order by a.attname) as condition
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      join pg_catalog.pg_attribute a on a.attrelid = c.oid and not a.attisdropped and a.atttypid = 'uuid'::regtype
        and a.attname in ('brokerage_id', 'organization_id', 'deal_id') and not (a.attname = 'brokerage_id' and app.has_tenant_by_trigger(c.oid))
    where n.nspname in ('public', 'vault') and c.relpersistence = 'p' and c.oid <> all (left_out)
      and (c.relkind = 'r' and (parts or not c.relispartition) or c.relkind = 'p' and not parts)
    group by c.oid
  loop
    conditions := conditions || jsonb_build_object(found.oid::text, found.condition);
  end loop;
  conditions := conditions || jsonb_build_object('public.brokerages'::regclass::oid::text, 't.id = $1');
  -- What refers to these and has no such column, or one that may be empty.
  loop
    added := 0;
    for found in
      -- Beside a condition that there is, as a list of values: an `or` with a query of rows is answered by reading the whole table.
      select k.conrelid as oid, string_agg(format(case when conditions ? k.conrelid::text then 't.%I = any (array(select t.%I from %s t where %s))'
          else 't.%I in (select t.%I from %s t where %s)' end,
          a.attname, f.attname, k.confrelid::regclass, conditions ->> k.confrelid::text), ' or ' order by k.conname) as condition
      from pg_catalog.pg_constraint k
        join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
        join pg_catalog.pg_attribute f on f.attrelid = k.confrelid and f.attnum = k.confkey[1]
      where k.contype = 'f' and array_length(k.conkey, 1) = 1 and k.conrelid <> k.confrelid
        and conditions ? k.confrelid::text and not k.confrelid in ('public.brokerages'::regclass, 'public.deals'::regclass)
        and k.conrelid <> all (left_out) and strpos(coalesce(conditions ->> k.conrelid::text, ''), '(select t.') = 0
        and not exists (select from pg_catalog.pg_attribute o where o.attrelid = k.conrelid and not o.attisdropped
          and (o.attname in ('deal_id', 'organization_id') or (o.attname = 'brokerage_id' and o.attnotnull and not app.has_tenant_by_trigger(k.conrelid))))
      group by k.conrelid
    loop
      conditions := conditions || jsonb_build_object(found.oid::text,
        concat_ws(' or ', conditions ->> found.oid::text, found.condition));
      added := added + 1;
    end loop;
    exit when added = 0;
  end loop;
  -- Those to which nothing that is left refers come first.
  while conditions <> '{}' loop
    added := 0;
    for found in
      select o.key, o.key::oid::regclass::text as name, o.value as condition from jsonb_each_text(conditions) o
      where not exists (select from pg_catalog.pg_constraint k
        where k.contype = 'f' and k.confrelid = o.key::oid and k.conrelid <> k.confrelid and conditions ? k.conrelid::text)
      order by 2
    loop
      name := case when strpos(found.name, '.') = 0 then 'public.' || found.name else found.name end;
      condition := found.condition;
      return next;
      conditions := conditions - found.key;
      added := added + 1;
    end loop;
    if added = 0 then
      raise exception 'Tables refer to one another in a circle: %', conditions;
    end if;
  end loop;
end
$function$;
