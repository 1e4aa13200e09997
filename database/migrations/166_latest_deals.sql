-- compatible: functions more, and those that are there answer the same.
--
-- Lists that begin with the latest deals put together no more of them than they show. Before, svc_deals_list and resources/list made rows of all ten
-- thousand deals of their caller, and looked at the policies of people and documents with all of them: 45 to 56 ms of PostgreSQL for the list of somebody on
-- 10,000 deals and of an advisor on 1,000, 129 and 65 for a page of documents, with 100,000 deals behind them.

-- How the deals `seen` stand as far as `me` may know, who has these parts in deals and administers these brokerages. Not for the server: it believes
-- what it is told of them. The statement that asks contains it.
create function app.deals_as_known(me uuid, administered uuid[], own_deals uuid[], own_roles text[], principals uuid[], sides text[], seen uuid[], dated boolean)
returns table (id uuid, organization_id uuid, title text, industry text, location text, asking_price numeric, state text, acts_as text, caller_role text,
  side text, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamptz, exclusivity_expires_at timestamptz, closed_at timestamptz,
  created_at timestamptz, updated_at timestamptz, active_at timestamptz, principal_id uuid, holds boolean)
language sql stable begin atomic
  select d.id, d.organization_id, d.title, d.industry, d.location, d.asking_price,
    case when k.lapsed and d.state in ('under_offer', 'exclusivity') then 'listed' when k.knows_stage then coalesce(g.state, d.state) else d.state end,
    own.role,
    case when own.role = 'broker' then 'broker_assigned'
      when k.shows_exclusivity and x.buyer_user_id = me and x.expires_at > app.now() then 'exclusive_buyer'
      when own.role in ('seller', 'buyer', 'advisor') then 'participant' else 'viewer' end,
    case when own.side in ('broker', 'seller', 'buyer') then own.side else 'viewer' end,
    case when k.shows_exclusivity then x.buyer_user_id end, case when k.shows_exclusivity then x.granted_at end,
    case when k.shows_exclusivity then x.expires_at end, d.closed_at, d.created_at,
    greatest(d.updated_at, case when k.knows_stage then g.updated_at end),
    case when dated then greatest(d.updated_at, case when k.knows_stage then g.updated_at end,
      case when own.role = 'broker' or d.organization_id = any (administered) then of_all.at else of_own.at end) end,
    own.principal_id, own.side = 'buyer' and k.of_the_exclusive_buyer and k.runs
  from public.deals d
  left join unnest(own_deals, own_roles, principals, sides) own (deal_id, role, principal_id, side) on own.deal_id = d.id
  left join (select s.* from public.deal_stages s where s.deal_id = any (seen)) g on g.deal_id = d.id
  left join (select e.* from public.exclusivities e where e.deal_id = any (seen) and e.ended_at is null) x on x.deal_id = d.id
  -- Nothing is read of them but where it is asked when something was last done.
  left join (select a.deal_id, a.at from vault.deal_activity a where a.deal_id = any (case when dated then seen end)) of_all on of_all.deal_id = d.id
  left join (select a.deal_id, a.at from vault.own_activity a where a.user_id = case when dated then me end) of_own on of_own.deal_id = d.id
  cross join lateral (select
    own.side in ('broker', 'seller', 'viewer') or d.organization_id = any (administered) as of_the_deal,
    coalesce(x.participant_id = own.principal_id, false) as of_the_exclusive_buyer,
    coalesce(x.expires_at > app.now(), false) as runs) w
  cross join lateral (select coalesce(w.of_the_deal, false)
      or (own.side = 'buyer' and w.of_the_exclusive_buyer and (w.runs or g.state is distinct from 'exclusivity')) as knows_stage,
    g.state is not null and g.state = 'exclusivity' and not w.runs as lapsed) s
  cross join lateral (select s.knows_stage, s.lapsed, w.of_the_exclusive_buyer, w.runs,
    (coalesce(w.of_the_deal, false) or w.of_the_exclusive_buyer)
      and (w.runs or (s.knows_stage and g.state is not null and g.state <> 'exclusivity') or d.state = 'closed') as shows_exclusivity) k
  where d.id = any (seen);
end;
revoke execute on function app.deals_as_known(uuid, uuid[], uuid[], text[], uuid[], text[], uuid[], boolean) from public;

create or replace function app.deals_in_sight(patterns text[] default null, dated boolean default false)
returns table (id uuid, organization_id uuid, title text, industry text, location text, asking_price numeric, state text, acts_as text, caller_role text,
  side text, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamptz, exclusivity_expires_at timestamptz, closed_at timestamptz,
  created_at timestamptz, updated_at timestamptz, active_at timestamptz)
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  administered constant uuid[] := app.brokerages_as('admin');
  own_deals uuid[];
  own_roles text[];
  principals uuid[];
  sides text[];
  seen uuid[];
begin
  select coalesce(array_agg(p.deal_id), '{}'), array_agg(p.role), array_agg(p.principal_id), array_agg(p.principal_role)
    into own_deals, own_roles, principals, sides
    from app.participations() p where p.principal_role in ('broker', 'seller', 'buyer', 'viewer');
  if patterns is not null then
    seen := array(
      select d.id from public.deals d
      where d.id = any (own_deals) and lower(concat_ws(' ', d.title, d.industry, d.location)) like all (patterns)
      union
      select d.id from public.deals d
      where d.organization_id = any (administered) and lower(concat_ws(' ', d.title, d.industry, d.location)) like all (patterns));
  elsif administered <> '{}' then
    seen := array(select unnest(own_deals) union select d.id from public.deals d where d.organization_id = any (administered));
  else
    seen := own_deals;
  end if;
  return query
    select k.id, k.organization_id, k.title, k.industry, k.location, k.asking_price, k.state, k.acts_as, k.caller_role, k.side, k.exclusive_buyer_user_id,
      k.exclusivity_granted_at, k.exclusivity_expires_at, k.closed_at, k.created_at, k.updated_at, k.active_at
    from app.deals_as_known(me, administered, own_deals, own_roles, principals, sides, seen, dated) k;
end
$$;

-- The latest deals that the caller sees, in one state and of the brokerage with this id or slug where these are given, at most so many, with id, name and role of the
-- exclusive buyer, where they have joined.
create function app.latest_deals(in_state text, brokerage text, at_most integer)
returns table (id uuid, title text, state text, organization_id uuid, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamptz,
  exclusivity_expires_at timestamptz, closed_at timestamptz, created_at timestamptz, updated_at timestamptz, caller_role text, exclusive_buyer_person text[])
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  administered constant uuid[] := app.brokerages_as('admin');
  -- A stage that not everybody may know stands beside this state; a state may also be shown because that stage is over.
  states constant text[] := array[in_state, 'under_offer', 'exclusivity'];
  of_brokerage constant uuid := app.brokerage_named(brokerage);
  own_deals uuid[];
  own_roles text[];
  principals uuid[];
  sides text[];
  candidates uuid[];
  begun int := 0;
  of_part int := at_most;
  told int := 0;
  more int;
begin
  select coalesce(array_agg(p.deal_id), '{}'), array_agg(p.role), array_agg(p.principal_id), array_agg(p.principal_role)
    into own_deals, own_roles, principals, sides
    from app.participations() p where p.principal_role in ('broker', 'seller', 'buyer', 'viewer');
  candidates := array(
    select c.id from (
      select d.id, d.created_at from public.deals d
      where d.id = any (own_deals) and (in_state is null or d.state = any (states)) and (brokerage is null or d.organization_id = of_brokerage)
      union
      select d.id, d.created_at from unnest(administered) b (id) cross join lateral (
        select d.id, d.created_at from public.deals d
        where d.organization_id = b.id and (in_state is null or d.state = any (states)) and (brokerage is null or d.organization_id = of_brokerage)
        order by d.created_at desc, d.id desc limit case when in_state is null then at_most end) d) c
    order by c.created_at desc, c.id desc limit case when in_state is null then at_most end);
  while told < at_most and begun < cardinality(candidates) loop
    return query
      select k.id, k.title, k.state, k.organization_id, k.exclusive_buyer_user_id, k.exclusivity_granted_at, k.exclusivity_expires_at, k.closed_at,
        k.created_at, k.updated_at, k.caller_role,
        case when k.exclusive_buyer_user_id is not null then (
          select array[p.user_id::text, (select u.name from public.users u where u.id = p.user_id), p.role]
          from public.participants p where p.deal_id = k.id and p.user_id = k.exclusive_buyer_user_id and p.joined_at is not null) end
      from app.deals_as_known(me, administered, own_deals, own_roles, principals, sides, candidates[begun + 1 : begun + of_part], false) k
      where in_state is null or k.state = in_state
      order by k.created_at desc, k.id desc limit at_most - told;
    get diagnostics more = row_count;
    told := told + more;
    begun := begun + of_part;
    of_part := of_part * 8;
  end loop;
end
$$;
revoke execute on function app.latest_deals(text, text, integer) from public;
grant execute on function app.latest_deals(text, text, integer) to dealkeep_server;

-- The documents that the caller may open, of all deals, those of the latest deal first and there the latest first, at most so many after a place:
-- the deal and document named, by when they began. What a part in a deal opens is what the policies of documents say.
create function app.documents_in_sight(deal_place timestamptz, deal uuid, place timestamptz, document uuid, at_most integer)
returns table (id uuid, filename text, category text, confidentiality text, size_bytes double precision, uploaded_at timestamptz, source text,
  media_type text, deal_id uuid, deal_title text, deal_created_at timestamptz)
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  administered constant uuid[] := app.brokerages_as('admin');
  last_id constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  own_deals uuid[];
  own_roles text[];
  principals uuid[];
  sides text[];
  candidates uuid[];
  begun int := 0;
  of_part int := at_most;
  told int := 0;
  more int;
begin
  select coalesce(array_agg(p.deal_id), '{}'), array_agg(p.role), array_agg(p.principal_id), array_agg(p.principal_role)
    into own_deals, own_roles, principals, sides
    from app.participations() p where p.principal_role in ('broker', 'seller', 'buyer', 'viewer');
  candidates := array(
    select c.id from (
      select d.id, d.created_at from public.deals d where d.id = any (own_deals)
      union
      select d.id, d.created_at from public.deals d where d.organization_id = any (administered)) c
    where (c.created_at, c.id) <= (coalesce(deal_place, 'infinity'), coalesce(deal, last_id))
    order by c.created_at desc, c.id desc);
  -- One part of them after the other, until there are enough.
  while told < at_most and begun < cardinality(candidates) loop
    return query
      select f.id, f.filename, f.category, f.confidentiality, f.size_bytes::float8, f.uploaded_at, f.source, f.media_type, s.id, s.title, s.created_at
      from (
        select k.id, k.title, k.created_at, k.side in ('broker', 'seller') as whole,
          array['public'] || case when k.side = 'buyer' and exists (select from vault.active_ndas n where n.participant_id = k.principal_id) then array['nda_gated'] end
            || case when k.holds then array['selected_buyer_only'] end as levels,
          case when k.id = deal then place else 'infinity' end as before, case when k.id = deal then document else last_id end as before_id
        from app.deals_as_known(me, administered, own_deals, own_roles, principals, sides, candidates[begun + 1 : begun + of_part], false) k
        order by k.created_at desc, k.id desc offset 0) s
      cross join lateral (
        (select d.id, d.filename, d.category, d.confidentiality, d.size_bytes, d.uploaded_at, 'simple' as source, d.media_type from public.documents d
          where s.whole and d.deal_id = s.id and d.removed_at is null and (d.uploaded_at, d.id) < (s.before, s.before_id)
          order by d.uploaded_at desc, d.id desc limit at_most)
        union all
        select d.* from unnest(case when not s.whole then s.levels end) level cross join lateral (
          select d.id, d.filename, d.category, d.confidentiality, d.size_bytes, d.uploaded_at, 'simple', d.media_type from public.documents d
          where d.deal_id = s.id and d.confidentiality = level collate "C" and d.removed_at is null and (d.uploaded_at, d.id) < (s.before, s.before_id)
          order by d.uploaded_at desc, d.id desc limit at_most) d
        union all
        (select d.id, d.filename, d.category, d.confidentiality, d.size_bytes, d.uploaded_at, 'production', d.media_type from public.production_documents d
          where s.whole and d.deal_id = s.id and d.removed_at is null and (d.uploaded_at, d.id) < (s.before, s.before_id)
          order by d.uploaded_at desc, d.id desc limit at_most)
        union all
        select d.* from unnest(case when not s.whole then s.levels end) level cross join lateral (
          select d.id, d.filename, d.category, d.confidentiality, d.size_bytes, d.uploaded_at, 'production', d.media_type from public.production_documents d
          where d.deal_id = s.id and d.confidentiality = level collate "C" and d.removed_at is null and (d.uploaded_at, d.id) < (s.before, s.before_id)
          order by d.uploaded_at desc, d.id desc limit at_most) d
        order by uploaded_at desc, id desc limit at_most) f
      limit at_most - told;
    get diagnostics more = row_count;
    told := told + more;
    begun := begun + of_part;
    of_part := of_part * 8;
  end loop;
end
$$;
revoke execute on function app.documents_in_sight(timestamptz, uuid, timestamptz, uuid, integer) from public;
grant execute on function app.documents_in_sight(timestamptz, uuid, timestamptz, uuid, integer) to dealkeep_server;
