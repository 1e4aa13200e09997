-- compatible: nodes of the release before list by the same words: what had been done already, under Done.
--
-- In the audit trail of a brokerage, a request or call that was repeated and got its first answer again ("Already done") was among what was refused, and not among what was done. The index of what
-- was refused still serves: its condition follows from the narrower one.

create or replace function app.audit_of_brokerage(brokerage uuid, by_user uuid, beginning text, done boolean, since timestamptz, before timestamptz, after_at timestamptz, after_id uuid, most integer)
returns SETOF uuid
language plpgsql stable security definer set search_path = '' set enable_sort = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  brokered uuid[];
  seen uuid[];
  fivefold int;
  is_rare boolean;
  -- What was refused has an index of its own, and so has each kind of act but calls of tools. One person's records are read by their own index.
  refused constant boolean := done is false;
  by_kind constant boolean := by_user is null and not refused and coalesce(not starts_with(beginning, 'tool:') and not starts_with('tool:', beginning), false);
  kind constant text := case when by_kind then 'r.action not like ''tool:%'' and r.action collate "C" = k.action' end;
  span constant text := concat_ws(' and ', 'true',
    case when since is not null then 'r.at >= $5' end,
    case when before is not null then 'r.at < $6' end,
    case when after_at is not null then '(r.at, r.id) < ($7, $8)' end,
    case when refused then 'r.outcome not in (''done'', ''ok'', ''repeated'')' end);
  within constant text := 'r.brokerage_id = $1 and ' || span;
  asked constant text := concat_ws(' and ', 'true',
    case when by_user is not null then 'r.user_id = $2' end,
    case when beginning is not null then 'starts_with(r.action, $3)' end,
    case when done then 'r.outcome in (''done'', ''ok'', ''repeated'')' end);
  fits constant text := concat_ws(' and ', within, asked);
  -- Looked up in a table that is made once: of an array the planner would estimate each element.
  theirs constant text := '(r.deal_id in (select b.id from unnest($10) b (id))
    or r.user_id = $11 and (r.deal_id is null or r.deal_id in (select s.id from unnest($12) s (id))))';
  latest constant text := 'order by r.at desc, r.id desc limit ';
  -- One kind after the other by the index: of kinds there are a few, of acts perhaps millions.
  answer constant text := case when by_kind then 'with recursive kinds (action) as (
      (select r.action collate "C" from public.audit_records r
        where r.brokerage_id = $1 and r.action not like ''tool:%%'' and r.action collate "C" >= $3 order by r.action collate "C" limit 1)
      union all
      select (select r.action collate "C" from public.audit_records r
        where r.brokerage_id = $1 and r.action not like ''tool:%%'' and r.action collate "C" > k.action order by r.action collate "C" limit 1)
      from kinds k where starts_with(k.action, $3))
    select r.id from kinds k cross join lateral (%s) r where starts_with(k.action, $3) %s $9' else 'select r.id from (%s) r' end;
  found text;
begin
  if me is null then
    return;
  end if;
  if brokerage = any (app.brokerages_as('admin')) then
    found := format('select r.id, r.at from public.audit_records r where %s %s $9', concat_ws(' and ', fits, kind), latest);
    return query execute format(answer, found, latest)
      using brokerage, by_user, beginning, done, since, before, after_at, after_id, most;
    return;
  end if;
  -- Those of the brokerage that the caller runs, and all in which they take part.
  select coalesce(array_agg(o.deal_id) filter (where o.role = 'broker'), '{}'), coalesce(array_agg(o.deal_id), '{}') into brokered, seen
    from vault.deals_of_people o
    where o.user_id = me and o.organization_id = brokerage and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed);
  if brokered = '{}' then
    -- Only what they did themselves: by their own index, fenced so that no other is chosen. What others did in the brokerage is not read, so that nothing takes longer for it.
    return query execute format('select r.id from (select r.* from public.audit_records r where r.user_id = $11 and %s order by r.at desc, r.id desc offset 0) r
        where r.brokerage_id = $1 and %s and (r.deal_id is null or r.deal_id in (select s.id from unnest($12) s (id))) %s $9', span, asked, latest)
      using brokerage, by_user, beginning, done, since, before, after_at, after_id, most, brokered, me, seen;
    return;
  end if;
  fivefold := 5 * cardinality(brokered);
  is_rare := by_kind and (select count(*) from (
    select from public.audit_records r
    where r.brokerage_id = brokerage and r.action not like 'tool:%' and r.action collate "C" >= beginning and r.action collate "C" < beginning || chr(1114111) limit 2000) r) < 2000;
  if refused or is_rare or (select count(*) from (select from public.deals d where d.organization_id = brokerage limit fivefold) d) < fivefold then
    found := format('select r.id, r.at from (select r.* from public.audit_records r where %s order by r.at desc, r.id desc offset 0) r
        where %s and %s %s $9', concat_ws(' and ', within, kind), asked, theirs, latest);
    return query execute format(answer, found, latest)
      using brokerage, by_user, beginning, done, since, before, after_at, after_id, most, brokered, me, seen;
    return;
  end if;
  return query execute format(
    'with latest as materialized (
       select d.id, r.at, r.id as record
       from public.deals d cross join lateral (select r.at, r.id from public.audit_records r where r.deal_id = d.id and %1$s %2$s 1) r
       where d.id = any ($10) and d.organization_id = $1),
     busiest as materialized (select l.id from latest l order by l.at desc, l.record desc limit $9)
     select f.id from (
       select r.id, r.at from busiest b cross join lateral (
         select r.id, r.at from public.audit_records r where r.deal_id = b.id and %1$s %2$s $9) r
       union
       (select r.id, r.at from public.audit_records r
         where r.user_id = $11 and (r.deal_id is null or r.deal_id = any ($12)) and %1$s %2$s $9)) f
     order by f.at desc, f.id desc limit $9', fits, latest)
    using brokerage, by_user, beginning, done, since, before, after_at, after_id, most, brokered, me, seen;
end
$$;
