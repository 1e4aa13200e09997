-- compatible: adds functions; those before answer the same.
--
-- The list of deals looks through all that somebody sees for what it is filtered and sorted by alone. How a deal stands for them, and the rest
-- of its row, is computed for the deals of the page.

create function app.deal_keys(patterns text[], dated boolean)
returns table (id uuid, title text, asking_price numeric, state text, caller_role text, created_at timestamptz, active_at timestamptz)
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
        and case when patterns is null then true else lower(concat_ws(' ', d.title, d.industry, d.location)) like all (patterns) end
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
$$;
grant execute on function app.deal_keys(text[], boolean) to dealkeep_server;

create function app.deal_rows(deals uuid[])
returns table (id uuid, organization_id uuid, organization_name text, title text, industry text, location text, summary text, asking_price numeric, currency text,
  needs_nda boolean, state text, caller_role text, side text, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamptz, exclusivity_expires_at timestamptz,
  closed_at timestamptz, created_at timestamptz, updated_at timestamptz, questions_waiting int, offers int)
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  administered constant uuid[] := app.brokerages_as('admin');
begin
  return query
    with known as materialized (select k.* from app.deals_as_known(me, administered, barred, narrowed, deals) k)
    select k.id, k.organization_id, b.name, k.title, d.industry, d.location, d.summary, d.asking_price, d.currency, d.needs_nda, k.state, k.caller_role, k.side,
      k.exclusive_buyer_user_id, k.exclusivity_granted_at, k.exclusivity_expires_at, k.closed_at, k.created_at, k.updated_at,
      -- Each kind by an index that has nothing else.
      (case own.role
          when 'broker' then (select count(*) from public.questions q where q.deal_id = d.id and q.status in ('pending_broker_review', 'answered'))
          when 'seller' then (select count(*) from public.questions q where q.deal_id = d.id and q.status = 'with_seller')
          else 0
        end
        + (select count(*) from public.questions q
          where own.side = 'buyer' and q.participant_id = own.principal_id and q.deal_id = d.id and q.status = 'distributed'
            and (r.read_until >= coalesce(q.distributed_at, '-infinity')) is not true))::int,
      (select count(*) from public.offers o where o.deal_id = d.id and o.is_current
        and (own.side in ('broker', 'seller') or o.participant_id = own.principal_id))::int
    from known k
    join (select d.* from public.deals d where d.id = any (deals)) d on d.id = k.id
    join (select b.id, b.name from public.brokerages b where b.id = any (array(select known.organization_id from known))) b on b.id = k.organization_id
    left join (select o.deal_id, o.role, o.principal_id, o.side from vault.deals_of_people o
      where o.user_id = me and o.deal_id = any (deals) and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed)) own on own.deal_id = k.id
    left join (select r.deal_id, r.read_until from public.answer_readings r where r.user_id = me and r.deal_id = any (deals)) r on r.deal_id = d.id
    where own.side in ('broker', 'seller', 'buyer', 'viewer') or k.organization_id = any (administered);
end
$$;
grant execute on function app.deal_rows(uuid[]) to dealkeep_server;

-- For nodes of the release before, which call these.
create or replace function app.deals_in_sight(patterns text[] default null, dated boolean default false)
returns table (id uuid, organization_id uuid, title text, industry text, location text, asking_price numeric, state text, acts_as text, caller_role text, side text,
  exclusive_buyer_user_id uuid, exclusivity_granted_at timestamptz, exclusivity_expires_at timestamptz, closed_at timestamptz, created_at timestamptz,
  updated_at timestamptz, active_at timestamptz)
language sql stable set search_path = '' as $$
  with found as materialized (select k.id, k.active_at from app.deal_keys(patterns, dated) k)
  select r.id, r.organization_id, r.title, r.industry, r.location, r.asking_price, r.state, null, r.caller_role, r.side, r.exclusive_buyer_user_id,
    r.exclusivity_granted_at, r.exclusivity_expires_at, r.closed_at, r.created_at, r.updated_at, f.active_at
  from app.deal_rows(array(select f.id from found f)) r join found f on f.id = r.id
$$;

create or replace function app.listed_deals(deals uuid[])
returns table (id uuid, organization_name text, summary text, currency text, needs_nda boolean, questions_waiting int, offers int)
language sql stable set search_path = '' as $$
  select r.id, r.organization_name, r.summary, r.currency, r.needs_nda, r.questions_waiting, r.offers from app.deal_rows(deals) r
$$;
