-- compatible: answers the same; a function that only functions of this schema called is replaced by one that takes other parameters.
--
-- What lists show of a page of deals was looked up one deal at a time: what the caller is on it, its stage, its exclusivity, and all of its questions to count some of them. In tables
-- of a million deals each is a descent of its own. And the planner, who takes it that there are ten deals and one part, compared each deal with each part there: 6 ms of PostgreSQL for
-- 200 deals of an advisor, 3 with ten thousand deals in the tables.

-- How the deals `seen` stand as far as `me` may know, who administers these brokerages: those with a part of theirs by their rows, the others, which they see as an admin, from the
-- tables. Not for the server: it believes what it is told of who asks, and that they see these deals. The statement that asks contains it.
create function app.deals_as_known(me uuid, administered uuid[], barred uuid[], narrowed uuid, seen uuid[])
returns table (id uuid, organization_id uuid, title text, state text, caller_role text, side text, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamptz,
  exclusivity_expires_at timestamptz, closed_at timestamptz, created_at timestamptz, updated_at timestamptz, principal_id uuid, holds boolean)
language sql stable begin atomic
  with others as (
    select array(
      select unnest(seen)
      except
      select o.deal_id from vault.deals_of_people o
      where o.user_id = me and o.deal_id = any (seen) and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed)) as deals
    where administered <> '{}')
  select d.id, d.organization_id, d.title,
    case when k.lapsed and d.state in ('under_offer', 'exclusivity') then 'listed' when k.knows_stage then coalesce(d.stage, d.state) else d.state end,
    case when d.role = 'broker' then 'broker_assigned'
      when k.shows_exclusivity and d.buyer_user_id = me and k.runs then 'exclusive_buyer'
      when d.role in ('seller', 'buyer', 'advisor') then 'participant' else 'viewer' end,
    case when d.side in ('broker', 'seller', 'buyer') then d.side else 'viewer' end,
    case when k.shows_exclusivity then d.buyer_user_id end, case when k.shows_exclusivity then d.granted_at end,
    case when k.shows_exclusivity then d.expires_at end, d.closed_at, d.created_at,
    greatest(d.updated_at, case when k.knows_stage then d.stage_updated_at end),
    d.principal_id, d.side = 'buyer' and k.of_the_exclusive_buyer and k.runs
  from (
    select o.deal_id as id, o.organization_id, o.title, o.state, o.closed_at, o.created_at, o.updated_at, o.stage, o.stage_updated_at, o.holder_id, o.buyer_user_id,
      o.granted_at, o.expires_at, o.role, o.principal_id, o.side
    from vault.deals_of_people o
    where o.user_id = me and o.deal_id = any (seen) and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed)
    union all
    select t.id, t.organization_id, t.title, t.state, t.closed_at, t.created_at, t.updated_at, g.state, g.updated_at, x.participant_id, x.buyer_user_id,
      x.granted_at, x.expires_at, null, null, null
    from public.deals t
    left join (select s.* from public.deal_stages s where s.deal_id = any ((select others.deals from others)::uuid[])) g on g.deal_id = t.id
    left join (select e.* from public.exclusivities e where e.deal_id = any ((select others.deals from others)::uuid[]) and e.ended_at is null) x on x.deal_id = t.id
    where t.id = any ((select others.deals from others)::uuid[])) d
  cross join lateral (select
    d.side in ('broker', 'seller', 'viewer') or d.organization_id = any (administered) as of_the_deal,
    coalesce(d.holder_id = d.principal_id, false) as of_the_exclusive_buyer,
    coalesce(d.expires_at > app.now(), false) as runs) w
  cross join lateral (select coalesce(w.of_the_deal, false)
      or (d.side = 'buyer' and w.of_the_exclusive_buyer and (w.runs or d.stage is distinct from 'exclusivity')) as knows_stage,
    d.stage is not null and d.stage = 'exclusivity' and not w.runs as lapsed) s
  cross join lateral (select s.knows_stage, s.lapsed, w.of_the_exclusive_buyer, w.runs,
    (coalesce(w.of_the_deal, false) or w.of_the_exclusive_buyer)
      and (w.runs or (s.knows_stage and d.stage is not null and d.stage <> 'exclusivity') or d.state = 'closed') as shows_exclusivity) k;
end;
revoke execute on function app.deals_as_known(uuid, uuid[], uuid[], uuid, uuid[]) from public;

create or replace function app.latest_deals(in_state text, brokerage text, at_most integer)
returns table(id uuid, title text, state text, organization_id uuid, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamptz, exclusivity_expires_at timestamptz, closed_at timestamptz, created_at timestamptz, updated_at timestamptz, caller_role text, exclusive_buyer_person text[])
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  administered constant uuid[] := app.brokerages_as('admin');
  -- A stage that not everybody may know stands beside this state; a state may also be shown because that stage is over.
  states constant text[] := array[in_state, 'under_offer', 'exclusivity'];
  of_brokerage constant uuid := app.brokerage_named(brokerage);
  candidates uuid[];
  begun int := 0;
  of_part int := at_most;
  told int := 0;
  more int;
begin
  candidates := array(
    select c.id from (
      -- Of a buyer's deals in these states only those whose stage they may know, or that are listed again because it is over.
      select o.deal_id as id, o.created_at from vault.deals_of_people o
      where o.user_id = me and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed)
        and (brokerage is null or o.organization_id = of_brokerage)
        and (in_state is null or o.state = in_state or (o.state = any (states) and (o.side <> 'buyer' or o.holder_id = o.principal_id
          or o.organization_id = any (administered) or (in_state = 'listed' and o.stage = 'exclusivity'))))
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
      from app.deals_as_known(me, administered, barred, narrowed, candidates[begun + 1 : begun + of_part]) k
      where in_state is null or k.state = in_state
      order by k.created_at desc, k.id desc limit at_most - told;
    get diagnostics more = row_count;
    told := told + more;
    begun := begun + of_part;
    of_part := of_part * 8;
  end loop;
end
$$;

create or replace function app.documents_in_sight(deal_place timestamptz, deal uuid, place timestamptz, document uuid, at_most integer)
returns table(id uuid, filename text, category text, confidentiality text, size_bytes double precision, uploaded_at timestamptz, source text, media_type text, deal_id uuid, deal_title text, deal_created_at timestamptz)
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  administered constant uuid[] := app.brokerages_as('admin');
  last_id constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  candidates uuid[];
  begun int := 0;
  of_part int := at_most;
  told int := 0;
  more int;
begin
  candidates := array(
    select c.id from (
      select o.deal_id as id, o.created_at from vault.deals_of_people o
      where o.user_id = me and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed)
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
        from app.deals_as_known(me, administered, barred, narrowed, candidates[begun + 1 : begun + of_part]) k
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

drop function app.deals_as_known(uuid, uuid[], uuid[], text[], uuid[], text[], uuid[], boolean);

create or replace function app.listed_deals(deals uuid[])
returns table (id uuid, organization_name text, summary text, currency text, needs_nda boolean, questions_waiting integer, offers integer)
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  administered constant uuid[] := app.brokerages_as('admin');
begin
  return query
    with own as materialized (
      select o.deal_id, o.organization_id, o.role, o.principal_id, o.side from vault.deals_of_people o
      where o.user_id = me and o.deal_id = any (deals) and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed))
    select d.id, b.name, d.summary, d.currency, d.needs_nda,
      -- Each kind by an index that has nothing else.
      (case own.role
          when 'broker' then (select count(*) from public.questions q where q.deal_id = d.id and q.status in ('pending_broker_review', 'answered'))
          when 'seller' then (select count(*) from public.questions q where q.deal_id = d.id and q.status = 'with_seller')
          else 0
        end
        + (select count(*) from public.questions q
          where q.participant_id = own.principal_id and q.deal_id = d.id and q.status = 'distributed'
            and (r.read_until >= coalesce(q.distributed_at, '-infinity')) is not true))::int,
      (select count(*) from public.offers o where o.deal_id = d.id and o.is_current
        and (own.side in ('broker', 'seller') or o.participant_id = own.principal_id))::int
    from public.deals d
    join (select b.id, b.name from public.brokerages b
      where b.id = any (array(select own.organization_id from own union select unnest(administered)))) b on b.id = d.organization_id
    left join own on own.deal_id = d.id
    left join (select r.deal_id, r.read_until from public.answer_readings r where r.user_id = me and r.deal_id = any (deals)) r on r.deal_id = d.id
    where d.id = any (deals)
      and (own.side in ('broker', 'seller', 'buyer', 'viewer') or d.organization_id = any (administered));
end
$$;

create or replace function app.last_activity(deals uuid[])
returns table (deal_id uuid, at timestamptz)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  administered constant uuid[] := app.brokerages_as('admin');
begin
  return query
    with whole as materialized (
      select p.deal_id from app.own_parts(me, barred, narrowed) p where p.role = 'broker' and p.deal_id = any (deals)
      union
      select d.id from public.deals d where administered <> '{}' and d.id = any (deals) and d.organization_id = any (administered))
    select a.deal_id, a.at from vault.deal_activity a where a.deal_id = any (array(select whole.deal_id from whole))
    union all
    select a.deal_id, a.at from vault.own_activity a
    where a.user_id = me and a.deal_id = any (array(select unnest(deals) except select whole.deal_id from whole));
end
$$;
