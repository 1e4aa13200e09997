-- compatible: functions that find more by the same words.

CREATE OR REPLACE FUNCTION app.contact_list(brokerage uuid, archived boolean, patterns text[], sort text, after_key text, after_id uuid, most integer)
 RETURNS TABLE(id uuid, type text, display_name text, email text, phone text, archived_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone, place text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  by_name constant boolean := ltrim(sort, '-') = 'display_name';
  key constant text := case when by_name then '"left"(lower(c.display_name), 100)' else 'c.created_at' end;
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
      then format('and (%s, c.id) %s ($2::%s, $3)', key, case when backwards then '<' else '>' end, case when by_name then 'text' else 'timestamptz' end) end,
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
  key constant text := case sort when 'displayName' then '"left"(lower(c.display_name), 100)' when 'updatedAt' then 'c.updated_at' else 'c.created_at' end;
  direction constant text := case when starts_with(sort, '-') then 'desc' else 'asc' end;
  picked constant text := concat_ws(' and ',
    case when of_email is not null then 'c.email is not null and lower(c.email) = lower($2)' end,
    vault.contact_has(patterns));
  narrowed constant text := concat(case when since is not null then ' and c.updated_at >= $3' end,
    case when after_key is not null then format(' and (%s, c.id) %s ($5::%s, $6)', key, case direction when 'desc' then '<' else '>' end,
      case when sort = 'displayName' then 'text' else 'timestamptz' end) end);
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

CREATE OR REPLACE FUNCTION app.deal_keys(patterns text[], dated boolean)
 RETURNS TABLE(id uuid, title text, asking_price numeric, state text, caller_role text, created_at timestamp with time zone, active_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  administered constant uuid[] := app.brokerages_as('admin');
  now constant timestamptz := app.now();
begin
  patterns := (select array_agg(app.folded(p)) from unnest(patterns) p);
  return query
    -- Read anew where it is needed again, by admins and for when something was done: to keep it costs everybody more.
    with seen as not materialized (
      select o.* from vault.deals_of_people o
      where o.user_id = me and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed)
        and (patterns is null or app.folded(o.title || coalesce(' ' || o.industry, '') || coalesce(' ' || o.location, '')) like all (patterns))),
    known as (
      select s.deal_id as id, s.organization_id, s.title, s.asking_price, s.state, s.created_at, s.updated_at, s.role, s.principal_id,
        s.side, s.stage, s.stage_updated_at, s.holder_id, s.buyer_user_id, s.expires_at, null::timestamptz as done_at
      from seen s
      union all
      -- The others of the brokerages that the caller administers. All that hangs on them is found by brokerage: there may be thousands.
      select d.id, d.organization_id, d.title, d.asking_price, d.state, d.created_at, d.updated_at, null, null,
        null, g.state, g.updated_at, x.participant_id, x.buyer_user_id, x.expires_at, a.at
      from public.deals d
      left join (select s.* from public.deal_stages s where s.brokerage_id = any (administered)) g on g.deal_id = d.id
      left join (select e.* from public.exclusivities e where e.brokerage_id = any (administered) and e.ended_at is null) x on x.deal_id = d.id
      left join (select a.deal_id, a.at from vault.deal_activity a where a.brokerage_id = any (case when dated then administered end)) a on a.deal_id = d.id
      where d.organization_id = any (administered)
        -- As a case, of which half are expected to hold: else PostgreSQL expects hardly any and builds its hash tables of the deals.
        and case when patterns is null then true else app.folded(d.title || coalesce(' ' || d.industry, '') || coalesce(' ' || d.location, '')) like all (patterns) end
        and not exists (select from seen where seen.deal_id = d.id))
    select d.id, d.title, d.asking_price,
      case when d.stage is null then d.state when d.stage = 'exclusivity' and not k.runs and d.state in ('under_offer', 'exclusivity') then 'listed'
        when k.knows_stage then d.stage else d.state end,
      case
        when d.role = 'broker' then 'broker_assigned'
        when d.buyer_user_id = me and k.runs and (k.of_the_deal or k.of_the_exclusive_buyer) then 'exclusive_buyer'
        when d.role in ('seller', 'buyer', 'advisor') then 'participant'
        else 'viewer'
      end,
      d.created_at,
      case when dated then greatest(d.updated_at, case when d.stage is not null and k.knows_stage then d.stage_updated_at end,
        case when d.role = 'broker' or d.organization_id = any (administered) then coalesce(d.done_at, of_all.at) else of_own.at end) end
    from known d
    -- Who runs a deal is told when something was last done on it, everybody else when they did; nothing is read where nobody asks.
    left join (select a.deal_id, a.at from vault.deal_activity a
      where a.deal_id = any (case when dated then array(
        select s.deal_id from seen s where s.role = 'broker' or s.organization_id = any (administered)) end)) of_all
      on of_all.deal_id = d.id
    left join (select a.deal_id, a.at from vault.own_activity a where a.user_id = case when dated then me end) of_own
      on of_own.deal_id = d.id
    cross join lateral (select coalesce(d.side in ('broker', 'seller', 'viewer') or d.organization_id = any (administered), false) as of_the_deal,
      coalesce(d.holder_id = d.principal_id, false) as of_the_exclusive_buyer, coalesce(d.expires_at > now, false) as runs) w
    cross join lateral (select w.*, w.of_the_deal or (d.side = 'buyer' and w.of_the_exclusive_buyer and (w.runs or d.stage is distinct from 'exclusivity')) as knows_stage) k;
end
$function$;

CREATE OR REPLACE FUNCTION app.deals_for_key(patterns text[], in_state text, updated_since timestamp with time zone, after_at timestamp with time zone, after_id uuid, most integer)
 RETURNS TABLE(id uuid, title text, state text, organization_id uuid, industry text, location text, summary text, asking_price numeric, currency text, needs_nda boolean, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamp with time zone, exclusivity_expires_at timestamp with time zone, closed_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_sort TO 'off'
AS $function$
#variable_conflict use_column
declare
  brokerage constant uuid := app.key_brokerage('deals:read');
  last_at constant timestamptz := coalesce(after_at, 'infinity');
  last_id constant uuid := coalesce(after_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
  changed uuid[];
begin
  patterns := (select array_agg(app.folded(p)) from unnest(patterns) p);
  if updated_since is not null then
    changed := array(
      (select d.id from public.deals d where d.organization_id = brokerage and d.keys_admitted and d.updated_at >= updated_since limit 1001)
      union
      (select g.deal_id from public.deal_stages g where g.brokerage_id = brokerage and g.updated_at >= updated_since limit 1001));
  end if;
  if cardinality(changed) <= 1000 then
    return query
      select d.id, d.title, d.state, d.organization_id, d.industry, d.location, d.summary, d.asking_price, d.currency, d.needs_nda,
        d.exclusive_buyer_user_id, d.exclusivity_granted_at, d.exclusivity_expires_at, d.closed_at, d.created_at, d.updated_at
      from unnest(changed) one cross join lateral (select t.* from vault.deals_told t where t.id = one limit 1) d
      where d.organization_id = brokerage and d.keys_admitted
        and (d.created_at, d.id) < (last_at, last_id)
        and (patterns is null or app.folded(d.title || coalesce(' ' || d.industry, '') || coalesce(' ' || d.location, '')) like all (patterns))
        and (in_state is null or d.state = in_state)
        and d.updated_at >= updated_since
      order by d.created_at desc, d.id desc
      limit most;
    return;
  end if;
  -- Of many that have changed some are found soon in the order of the list.
  return query
    select d.id, d.title, d.state, d.organization_id, d.industry, d.location, d.summary, d.asking_price, d.currency, d.needs_nda,
      d.exclusive_buyer_user_id, d.exclusivity_granted_at, d.exclusivity_expires_at, d.closed_at, d.created_at, d.updated_at
    from vault.deals_told d
    where d.organization_id = brokerage and d.keys_admitted
      and (d.created_at, d.id) < (last_at, last_id)
      and (patterns is null or app.folded(d.title || coalesce(' ' || d.industry, '') || coalesce(' ' || d.location, '')) like all (patterns))
      and (in_state is null or d.state = in_state)
      and (updated_since is null or d.updated_at >= updated_since)
    order by d.created_at desc, d.id desc
    limit most;
end
$function$;

CREATE OR REPLACE FUNCTION app.titles_in_sight(pattern text, at_most integer)
 RETURNS TABLE(title text, total integer)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_nestloop TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  administered constant uuid[] := app.brokerages_as('admin');
begin
  pattern := app.folded(pattern);
  return query
    select s.title, (count(*) over ())::int
    from (
      select o.title, o.created_at from vault.deals_of_people o
      where o.user_id = me and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed)
        and (pattern is null or app.folded(o.title) like pattern)
      union all
      select d.title, d.created_at from public.deals d
      where d.organization_id = any (administered) and (pattern is null or app.folded(d.title) like pattern)) s
    group by s.title order by max(s.created_at) desc, s.title limit at_most;
end
$function$;
