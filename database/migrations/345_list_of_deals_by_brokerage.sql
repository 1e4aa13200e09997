-- compatible: answers the same.
--
-- The list of deals of an admin finds stages, exclusivities and what was last done by brokerage instead of by twelve thousand ids, and
-- joins them to the deals as they are read.

create or replace function app.deals_in_sight(patterns text[] default null, dated boolean default false)
returns table(id uuid, organization_id uuid, title text, industry text, location text, asking_price numeric, state text, acts_as text, caller_role text, side text, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamptz, exclusivity_expires_at timestamptz, closed_at timestamptz, created_at timestamptz, updated_at timestamptz, active_at timestamptz)
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  administered constant uuid[] := app.brokerages_as('admin');
  now constant timestamptz := app.now();
begin
  return query
    -- Read anew where it is needed again, by admins and for when something was done: to keep it costs everybody more.
    with seen as not materialized (
      select o.* from vault.deals_of_people o
      where o.user_id = me and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed)
        and (patterns is null or lower(concat_ws(' ', o.title, o.industry, o.location)) like all (patterns))),
    known as (
      select s.deal_id as id, s.organization_id, s.title, s.industry, s.location, s.asking_price, s.state, s.closed_at, s.created_at, s.updated_at, s.role, s.principal_id,
        s.side, s.stage, s.stage_updated_at, s.holder_id, s.buyer_user_id, s.granted_at, s.expires_at, null::timestamptz as done_at
      from seen s
      union all
      -- The others of the brokerages that the caller administers. All that hangs on them is found by brokerage: there may be thousands.
      select d.id, d.organization_id, d.title, d.industry, d.location, d.asking_price, d.state, d.closed_at, d.created_at, d.updated_at, null, null,
        null, g.state, g.updated_at, x.participant_id, x.buyer_user_id, x.granted_at, x.expires_at, a.at
      from public.deals d
      left join (select s.* from public.deal_stages s where s.brokerage_id = any (administered)) g on g.deal_id = d.id
      left join (select e.* from public.exclusivities e where e.brokerage_id = any (administered) and e.ended_at is null) x on x.deal_id = d.id
      left join (select a.deal_id, a.at from vault.deal_activity a where a.brokerage_id = any (case when dated then administered end)) a on a.deal_id = d.id
      where d.organization_id = any (administered)
        -- As a case, of which half are expected to hold: else PostgreSQL expects hardly any and builds its hash tables of the deals.
        and case when patterns is null then true else lower(concat_ws(' ', d.title, d.industry, d.location)) like all (patterns) end
        and not exists (select from seen where seen.deal_id = d.id))
    select d.id, d.organization_id, d.title, d.industry, d.location, d.asking_price,
      case when d.lapsed and d.state in ('under_offer', 'exclusivity') then 'listed' when d.knows_stage then coalesce(d.stage, d.state) else d.state end,
      d.role,
      case
        when d.role = 'broker' then 'broker_assigned'
        when d.shows_exclusivity and d.buyer_user_id = me and d.runs then 'exclusive_buyer'
        when d.role in ('seller', 'buyer', 'advisor') then 'participant'
        else 'viewer'
      end,
      case when d.side in ('broker', 'seller', 'buyer') then d.side else 'viewer' end,
      case when d.shows_exclusivity then d.buyer_user_id end, case when d.shows_exclusivity then d.granted_at end,
      case when d.shows_exclusivity then d.expires_at end, d.closed_at, d.created_at,
      greatest(d.updated_at, case when d.knows_stage then d.stage_updated_at end),
      case when dated then greatest(d.updated_at, case when d.knows_stage then d.stage_updated_at end, d.last_done_at) end
    from (
      select d.*, (d.of_the_deal or d.of_the_exclusive_buyer)
          and (d.runs or (d.knows_stage and d.stage <> 'exclusivity') or d.state = 'closed') as shows_exclusivity
      from (
        select d.*, d.of_the_deal or (d.side = 'buyer' and d.of_the_exclusive_buyer and (d.runs or d.stage is distinct from 'exclusivity')) as knows_stage,
          d.stage = 'exclusivity' and not d.runs as lapsed
        from (
          select d.*, coalesce(d.side in ('broker', 'seller', 'viewer') or d.organization_id = any (administered), false) as of_the_deal,
            coalesce(d.holder_id = d.principal_id, false) as of_the_exclusive_buyer,
            coalesce(d.expires_at > now, false) as runs,
            case when d.role = 'broker' or d.organization_id = any (administered) then coalesce(d.done_at, of_all.at) else of_own.at end as last_done_at
          from known d
          -- Who runs a deal is told when something was last done on it, everybody else when they did; nothing is read where nobody asks.
          left join (select a.deal_id, a.at from vault.deal_activity a
            where a.deal_id = any (case when dated then array(
              select s.deal_id from seen s where s.role = 'broker' or s.organization_id = any (administered)) end)) of_all
            on of_all.deal_id = d.id
          left join (select a.deal_id, a.at from vault.own_activity a where a.user_id = case when dated then me end) of_own
            on of_own.deal_id = d.id
          offset 0) d offset 0) d offset 0) d;
end
$$;
