-- The first page and the list of deals, for somebody who is on ten thousand deals of a platform with a million.
--
-- Row-level security asks for each row whether its deal is among all that the caller may see, which is little for a page
-- and much for a list of everything. These functions begin with the caller's own parts (app.participations) and
-- read what hangs on those deals by index, each once. They tell what the policies of the tables let the caller read, and
-- nothing else: a policy that changes changes them too (test/web/same-rows.test.ts and test/isolation hold them to it).
--
-- Their settings: an array of deals is looked up in an index, whatever its length, and rows are put together by hashing.

-- What waits, found by the deal or the person that it waits for; with the columns that are asked for.
drop index questions_waiting;
create index questions_waiting on questions (deal_id, status) include (asked_at, updated_at)
  where status in ('pending_broker_review', 'with_seller', 'answered');
create index questions_distributed on questions (participant_id) include (deal_id, distributed_at) where status = 'distributed';
create index ndas_sent on ndas (deal_id) include (participant_id, sent_at, expires_at) where status = 'sent';
create index ndas_sent_to on ndas (participant_id) include (deal_id, sent_at, expires_at) where status = 'sent';
create index offers_current on offers (deal_id) include (id, participant_id, submitted_at) where is_current;
create index conditions_to_meet_by_owner on closing_conditions (owner_user_id, deadline) include (deal_id)
  where status in ('open', 'in_progress');
create index findings_open_by_owner on findings (owner_user_id) include (deal_id, participant_id, created_at) where status = 'open';
create index activity_by_user on audit_records (user_id, at desc, id desc) where outcome = 'done' and action not like 'tool:%';

-- Every deal that the caller sees, with what they are to it and as far as they may know how it stands: as the policies of
-- deals, deal_stages and exclusivities have it. `acts_as` is their own role, null where they see it as an admin only.
create function app.deals_in_sight()
returns table (id uuid, organization_id uuid, title text, industry text, location text, asking_price numeric, state text,
  acts_as text, caller_role text, side text, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamptz,
  exclusivity_expires_at timestamptz, closed_at timestamptz, created_at timestamptz, updated_at timestamptz)
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
  seen := own_deals;
  if administered <> '{}' then
    seen := array(select unnest(own_deals) union select d.id from public.deals d where d.organization_id = any (administered));
  end if;
  return query
    select d.id, d.organization_id, d.title, d.industry, d.location, d.asking_price,
      case when k.lapsed and d.state in ('under_offer', 'exclusivity') then 'listed' when k.knows_stage then coalesce(g.state, d.state) else d.state end,
      own.role,
      case when own.role = 'broker' then 'broker_assigned'
        when k.shows_exclusivity and x.buyer_user_id = me and x.expires_at > app.now() then 'exclusive_buyer'
        when own.role in ('seller', 'buyer', 'advisor') then 'participant' else 'viewer' end,
      case when own.side in ('broker', 'seller', 'buyer') then own.side else 'viewer' end,
      case when k.shows_exclusivity then x.buyer_user_id end, case when k.shows_exclusivity then x.granted_at end,
      case when k.shows_exclusivity then x.expires_at end, d.closed_at, d.created_at,
      greatest(d.updated_at, case when k.knows_stage then g.updated_at end)
    from public.deals d
    left join unnest(own_deals, own_roles, principals, sides) own (deal_id, role, principal_id, side) on own.deal_id = d.id
    left join (select s.* from public.deal_stages s where s.deal_id = any (seen)) g on g.deal_id = d.id
    left join (select e.* from public.exclusivities e where e.deal_id = any (seen) and e.ended_at is null) x on x.deal_id = d.id
    cross join lateral (select
      own.side in ('broker', 'seller', 'viewer') or d.organization_id = any (administered) as of_the_deal,
      coalesce(x.participant_id = own.principal_id, false) as of_the_exclusive_buyer,
      coalesce(x.expires_at > app.now(), false) as runs) w
    cross join lateral (select coalesce(w.of_the_deal, false)
        or (own.side = 'buyer' and w.of_the_exclusive_buyer and (w.runs or g.state is distinct from 'exclusivity')) as knows_stage,
      g.state is not null and g.state = 'exclusivity' and not w.runs as lapsed) s
    cross join lateral (select s.knows_stage, s.lapsed,
      (coalesce(w.of_the_deal, false) or w.of_the_exclusive_buyer)
        and (w.runs or (s.knows_stage and g.state is not null and g.state <> 'exclusivity') or d.state = 'closed') as shows_exclusivity) k
    where d.id = any (seen);
end
$$;

-- When something was last done on each of these deals, as far as the caller sees: as the policies of audit_records have it.
-- Deals on which they see nothing done are left out.
create function app.last_activity(deals uuid[]) returns table (deal_id uuid, at timestamptz)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  administered constant uuid[] := app.brokerages_as('admin');
begin
  return query
    select w.id, w.at from (
      select of_broker.id, (select a.at from public.audit_records a
          where a.deal_id = of_broker.id and a.outcome = 'done' and a.action not like 'tool:%' order by a.at desc, a.id desc limit 1)
        from (select unnest(deals) intersect select unnest(app.deals_acting_as('broker'))) of_broker (id)
      union all
      select other.id, (select a.at from public.audit_records a
          where a.deal_id = other.id and a.outcome = 'done' and a.action not like 'tool:%'
            and (a.user_id = me or a.brokerage_id = any (administered)) order by a.at desc, a.id desc limit 1)
        from (select unnest(deals) except select unnest(app.deals_acting_as('broker'))) other (id)) w (id, at)
    where w.at is not null;
end
$$;

-- What a list says beside that, of those of these deals that the caller sees: the brokerage's name, the rest of the deal, and
-- how many questions wait for the caller and how many current offers they see. As the policies of deals, brokerages,
-- questions and offers have it.
create function app.listed_deals(deals uuid[])
returns table (id uuid, organization_name text, summary text, currency text, needs_nda boolean, questions_waiting int, offers int)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  administered constant uuid[] := app.brokerages_as('admin');
begin
  return query
    with own as materialized (select p.* from app.participations() p where p.deal_id = any (deals))
    select d.id, b.name, d.summary, d.currency, d.needs_nda,
      (select count(*) from public.questions q where q.deal_id = d.id and (
        (own.role = 'broker' and q.status in ('pending_broker_review', 'answered'))
        or (own.role = 'seller' and q.status = 'with_seller')
        or (q.status = 'distributed' and q.participant_id = own.principal_id and not exists (
          select from public.answer_readings r
          where r.deal_id = d.id and r.user_id = me and r.read_until >= coalesce(q.distributed_at, '-infinity')))))::int,
      (select count(*) from public.offers o where o.deal_id = d.id and o.is_current
        and (own.principal_role in ('broker', 'seller') or o.participant_id = own.principal_id))::int
    from public.deals d
    join public.brokerages b on b.id = d.organization_id
    left join own on own.deal_id = d.id
    where d.id = any (deals)
      and (own.principal_role in ('broker', 'seller', 'buyer', 'viewer') or d.organization_id = any (administered));
end
$$;

-- What waits for the caller on each of their deals that goes on, what is due or has waited longest first, at most 200.
-- As the policies of questions, ndas, offers, exclusivities, closing_conditions and findings have it.
create function app.home_queue(with_findings boolean)
returns table (kind text, deal_id uuid, deal_title text, count int, due_at timestamptz, waiting_since timestamptz)
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  administered constant uuid[] := app.brokerages_as('admin');
  goes_on uuid[];
  own_deals uuid[];
  own_parts uuid[];
  own_roles text[];
  principals uuid[];
  sides text[];
  broker uuid[];
  seller uuid[];
  offered uuid[];
begin
  goes_on := array(select d.id from public.deals d
    where d.id = any (array(select p.deal_id from app.participations() p)) and d.state not in ('closed', 'withdrawn'));
  select array_agg(p.deal_id), array_agg(p.participant_id), array_agg(p.role), array_agg(p.principal_id), array_agg(p.principal_role),
      array_agg(p.deal_id) filter (where p.role = 'broker'), array_agg(p.deal_id) filter (where p.role = 'seller')
    into own_deals, own_parts, own_roles, principals, sides, broker, seller
    from app.participations() p join unnest(goes_on) open (id) on open.id = p.deal_id;
  -- Where offers can still be accepted: listed or under offer, also again, after an exclusivity that has lapsed.
  offered := array(
    select d.id from public.deals d
    left join (select s.* from public.deal_stages s where s.deal_id = any (broker || seller)) g on g.deal_id = d.id
    left join (select e.* from public.exclusivities e where e.deal_id = any (broker || seller) and e.ended_at is null) x on x.deal_id = d.id
    where d.id = any (broker || seller) and d.state in ('listed', 'under_offer')
      and (g.state is null or (g.state = 'exclusivity' and not coalesce(x.expires_at > app.now(), false))));
  return query
    with waiting (kind, deal_id, count, due_at, since) as (
      select case t.status when 'pending_broker_review' then 'questions_to_review' else 'answers_to_distribute' end, t.deal_id, count(*),
          null::timestamptz, min(case t.status when 'answered' then t.updated_at else t.asked_at end)
        from public.questions t where t.deal_id = any (broker) and t.status in ('pending_broker_review', 'answered') group by t.deal_id, t.status
      union all
      select 'questions_to_answer', t.deal_id, count(*), null, min(t.updated_at)
        from public.questions t where t.deal_id = any (seller) and t.status = 'with_seller' group by t.deal_id
      union all
      select 'answers_to_read', t.deal_id, count(*), null, min(t.distributed_at)
        from public.questions t
        left join (select r.* from public.answer_readings r where r.deal_id = any (own_deals) and r.user_id = me) r on r.deal_id = t.deal_id
        where t.status = 'distributed' and t.participant_id = any (principals)
          and (r.read_until is null or r.read_until < coalesce(t.distributed_at, '-infinity'))
        group by t.deal_id
      union all
      select 'ndas_to_sign', t.deal_id, count(*), null, min(t.sent_at)
        from public.ndas t
        where t.status = 'sent' and (t.expires_at is null or t.expires_at > app.now()) and t.participant_id = any (array(
          select o.part from unnest(own_parts, principals) o (part, principal) where o.part = o.principal))
        group by t.deal_id
      union all
      select 'ndas_unsigned', t.deal_id, count(*), null, min(t.sent_at)
        from public.ndas t
        where t.status = 'sent' and (t.expires_at is null or t.expires_at > app.now()) and t.deal_id = any (broker) group by t.deal_id
      union all
      select 'offers_to_consider', t.deal_id, count(*), null, min(t.submitted_at)
        from public.offers t where t.is_current and t.deal_id = any (offered) group by t.deal_id
      union all
      -- Who does not decide, the seller and the buyer's side, is told whom it waits for.
      select change.kind, t.deal_id, count(*), null, min(t.submitted_at)
        from unnest(own_deals, own_roles, principals) own (deal_id, role, principal_id)
        join (select e.* from public.exclusivities e where e.deal_id = any (own_deals) and e.ended_at is null) x on x.deal_id = own.deal_id
        join (select o.* from public.offers o where o.deal_id = any (own_deals) and o.is_current) t on t.participant_id = x.participant_id
        left join (select s.* from public.deal_stages s where s.deal_id = any (own_deals)) g on g.deal_id = own.deal_id
        cross join lateral (select case when own.role = 'broker' then 'offer_changes_to_decide'
          when own.role = 'seller' or t.participant_id = own.principal_id then 'offer_changes_with_broker' end) change (kind)
        where change.kind is not null and (x.expires_at > app.now() or g.state in ('diligence', 'closing'))
          and not exists (select from public.offer_decisions c where c.deal_id = any (own_deals) and c.offer_id = t.id)
          and exists (select from public.offer_decisions c
            where c.deal_id = any (own_deals) and c.participant_id = x.participant_id and c.decision = 'accepted' and c.decided_at >= x.granted_at)
        group by change.kind, t.deal_id
      union all
      -- A week ahead: one's own, and for brokers those that nobody has or nobody has met in time.
      select 'conditions_due', t.deal_id, count(*), min(app.end_of(t.deadline)), null
        from (
          select c.id, c.deal_id, c.deadline from public.closing_conditions c
          left join unnest(own_deals, principals, sides) own (deal_id, principal_id, side) on own.deal_id = c.deal_id
          left join (select s.* from vault.selected_buyers s where s.deal_id = any (own_deals)) chosen on chosen.participant_id = own.principal_id
          where c.owner_user_id = me and c.status in ('open', 'in_progress') and app.end_of(c.deadline) <= app.now() + interval '7 days'
            and (own.side in ('broker', 'seller', 'viewer') or (own.side = 'buyer' and chosen.participant_id is not null)
              or (administered <> '{}' and exists (select from public.deals d
                where d.id = c.deal_id and d.organization_id = any (administered) and d.state not in ('closed', 'withdrawn'))))
          union
          select c.id, c.deal_id, c.deadline from public.closing_conditions c
          where c.deal_id = any (broker) and c.status in ('open', 'in_progress') and app.end_of(c.deadline) <= app.now() + interval '7 days'
            and (c.owner_user_id is null or app.end_of(c.deadline) <= app.now())) t
        group by t.deal_id
      union all
      select 'findings_open', t.deal_id, count(*), null, min(t.created_at)
        from public.findings t
        join unnest(own_deals, principals, sides) own (deal_id, principal_id, side) on own.deal_id = t.deal_id
        where with_findings and t.status = 'open' and t.owner_user_id = me
          and (own.side in ('broker', 'seller') or t.participant_id = own.principal_id)
        group by t.deal_id),
    first as (select w.* from waiting w order by coalesce(w.due_at, w.since), w.deal_id, w.kind limit 200)
    select f.kind, f.deal_id, d.title, f.count::int, f.due_at, f.since
    from first f join (select d.id, d.title from public.deals d where d.id = any (array(select first.deal_id from first))) d on d.id = f.deal_id
    order by coalesce(f.due_at, f.since), f.deal_id, f.kind;
end
$$;

-- The last eight things that were done on deals that the caller sees, as far as they may see them: as the policies of audit_records
-- have it. Brokers see what is done on their deals, admins what is done in their brokerages, and everybody what they did.
create function app.latest_activity() returns setof uuid
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  administered constant uuid[] := app.brokerages_as('admin');
  brokered constant uuid[] := app.deals_acting_as('broker');
  other constant uuid[] := array(select unnest(app.deals_as('broker', 'seller', 'buyer', 'viewer')) except select unnest(brokered));
  busiest uuid[];
begin
  if me is null then
    return;
  end if;
  -- The last eight records are on the eight deals with the last ones.
  busiest := array(
    select b.id from unnest(brokered) b (id) cross join lateral (
      select a.at, a.id as record from public.audit_records a
      where a.deal_id = b.id and a.outcome = 'done' and a.action not like 'tool:%' order by a.at desc, a.id desc limit 1) a
    order by a.at desc, a.record desc limit 8);
  return query
    select found.id from (
      select a.id, a.at from unnest(busiest) b (id) cross join lateral (
        select a.id, a.at from public.audit_records a
        where a.deal_id = b.id and a.outcome = 'done' and a.action not like 'tool:%' order by a.at desc, a.id desc limit 8) a
      union
      select a.id, a.at from unnest(administered) b (id) cross join lateral (
        select a.id, a.at from public.audit_records a
        where a.brokerage_id = b.id and a.outcome = 'done' and a.action not like 'tool:%' and a.deal_id is not null
        order by a.at desc, a.id desc limit 8) a
      union
      (select a.id, a.at from public.audit_records a
        where a.user_id = me and a.outcome = 'done' and a.action not like 'tool:%' and a.deal_id = any (other)
        order by a.at desc, a.id desc limit 8)) found
    order by found.at desc, found.id desc limit 8;
end
$$;

grant execute on function app.deals_in_sight(), app.last_activity(uuid[]), app.listed_deals(uuid[]), app.home_queue(boolean),
  app.latest_activity() to dealkeep_server;
