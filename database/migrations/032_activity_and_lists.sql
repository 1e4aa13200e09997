-- compatible: the release before goes on with the functions that it calls.
--
-- The first page and the list of deals for somebody on ten thousand deals: when something was last done is kept where it is done,
-- and no longer looked up in the audit trail of each deal.

-- When something was last done on a deal, and when by whom: the time and id of the last record of its activity. Those who see all
-- that is done on a deal are told the one, everybody else the other (app.last_activity).
create table vault.deal_activity (
  deal_id uuid primary key,
  at timestamptz not null,
  record_id uuid not null
) with (fillfactor = 70);
select app.protect('vault.deal_activity');
create table vault.own_activity (
  user_id uuid not null,
  deal_id uuid not null,
  at timestamptz not null,
  record_id uuid not null,
  primary key (user_id, deal_id)
) with (fillfactor = 70);
select app.protect('vault.own_activity');

create function app.note_activity() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
  insert into vault.deal_activity as known (deal_id, at, record_id) values (new.deal_id, new.at, new.id)
    on conflict (deal_id) do update set at = excluded.at, record_id = excluded.record_id
      where (known.at, known.record_id) < (excluded.at, excluded.record_id);
  if new.user_id is not null then
    insert into vault.own_activity as known (user_id, deal_id, at, record_id) values (new.user_id, new.deal_id, new.at, new.id)
      on conflict (user_id, deal_id) do update set at = excluded.at, record_id = excluded.record_id
        where (known.at, known.record_id) < (excluded.at, excluded.record_id);
  end if;
  return null;
end
$$;

-- Takes over what is done in records with an id from this one on.
create function app.take_over_activity(first_record uuid) returns void
language sql volatile
begin atomic
  insert into vault.deal_activity as known (deal_id, at, record_id)
    select distinct on (r.deal_id) r.deal_id, r.at, r.id from public.audit_records r
    where r.id >= first_record and r.deal_id is not null and r.outcome = 'done' and r.action not like 'tool:%'
    order by r.deal_id, r.at desc, r.id desc
    on conflict (deal_id) do update set at = excluded.at, record_id = excluded.record_id
      where (known.at, known.record_id) < (excluded.at, excluded.record_id);
  insert into vault.own_activity as known (user_id, deal_id, at, record_id)
    select distinct on (r.user_id, r.deal_id) r.user_id, r.deal_id, r.at, r.id from public.audit_records r
    where r.id >= first_record and r.user_id is not null and r.deal_id is not null and r.outcome = 'done' and r.action not like 'tool:%'
    order by r.user_id, r.deal_id, r.at desc, r.id desc
    on conflict (user_id, deal_id) do update set at = excluded.at, record_id = excluded.record_id
      where (known.at, known.record_id) < (excluded.at, excluded.record_id);
end;

-- Everything before the trigger is there, which waits for those who write and keeps them waiting; then what came meanwhile: ids begin
-- with the time.
select app.take_over_activity('00000000-0000-0000-0000-000000000000');
create trigger note_activity after insert on audit_records for each row
  when (new.outcome = 'done' and new.action not like 'tool:%' and new.deal_id is not null) execute function app.note_activity();
select app.take_over_activity((lpad(to_hex((extract(epoch from now() - interval '10 minutes') * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid);
drop function app.take_over_activity(uuid);

-- The last day that is over at a time, as app.end_of has it: a condition on a day that an index serves.
create function app.last_day_over(at timestamptz) returns date
language sql immutable parallel safe
return ((at - interval '12 hours') at time zone 'UTC')::date - 1;

-- As it was, but so that PostgreSQL puts it in the place of each call.
create or replace function app.end_of(day date) returns timestamptz
language sql immutable parallel safe
return (day + 1)::timestamp at time zone 'UTC' + interval '12 hours';

-- Lists -------------------------------------------------------------------------------------------------------------------

-- Every deal that the caller sees, with what they are to it and as far as they may know how it stands: as the policies of
-- deals, deal_stages and exclusivities have it. `acts_as` is their own role, null where they see it as an admin only.
-- With patterns: those whose title, industry and location, in lower case, are like all of them. With `dated`, also when something on
-- them changed last, as far as the caller may know: as the policies of audit_records have it.
drop function app.deals_in_sight();
create function app.deals_in_sight(patterns text[] default null, dated boolean default false)
returns table (id uuid, organization_id uuid, title text, industry text, location text, asking_price numeric, state text,
  acts_as text, caller_role text, side text, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamptz,
  exclusivity_expires_at timestamptz, closed_at timestamptz, created_at timestamptz, updated_at timestamptz, active_at timestamptz)
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  administered constant uuid[] := app.brokerages_as('admin');
begin
  return query
    with own as materialized (
      select p.deal_id, p.role, p.principal_id, p.principal_role as side from app.participations() p
      where p.principal_role in ('broker', 'seller', 'buyer', 'viewer')),
    d as materialized (
      select d.id, d.organization_id, d.title, d.industry, d.location, d.asking_price, d.state, d.closed_at, d.created_at, d.updated_at,
        d.organization_id = any (administered) as administered
      from public.deals d
      where d.id = any (array(select own.deal_id from own))
        and (patterns is null or lower(concat_ws(' ', d.title, d.industry, d.location)) like all (patterns))
      union all
      select d.id, d.organization_id, d.title, d.industry, d.location, d.asking_price, d.state, d.closed_at, d.created_at, d.updated_at, true
      from public.deals d
      where d.organization_id = any (administered) and not exists (select from own where own.deal_id = d.id)
        and (patterns is null or lower(concat_ws(' ', d.title, d.industry, d.location)) like all (patterns))),
    -- Deals in other states have neither a stage nor an exclusivity that has not ended.
    sold as materialized (select array(select d.id from d where d.state not in ('draft', 'listed', 'withdrawn')) as ids)
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
        case when own.role = 'broker' or d.administered then of_all.at else of_own.at end) end
    from d
    left join own on own.deal_id = d.id
    left join (select s.* from public.deal_stages s where s.deal_id = any ((select sold.ids from sold)::uuid[])) g on g.deal_id = d.id
    left join (select e.* from public.exclusivities e
      where e.deal_id = any ((select sold.ids from sold)::uuid[]) and e.ended_at is null) x on x.deal_id = d.id
    left join (select a.deal_id, a.at from vault.deal_activity a where dated and a.deal_id = any (array(select d.id from d))) of_all
      on of_all.deal_id = d.id
    left join (select a.deal_id, a.at from vault.own_activity a where dated and a.user_id = me) of_own on of_own.deal_id = d.id
    cross join lateral (select
      own.side in ('broker', 'seller', 'viewer') or d.administered as of_the_deal,
      coalesce(x.participant_id = own.principal_id, false) as of_the_exclusive_buyer,
      coalesce(x.expires_at > app.now(), false) as runs) w
    cross join lateral (select coalesce(w.of_the_deal, false)
        or (own.side = 'buyer' and w.of_the_exclusive_buyer and (w.runs or g.state is distinct from 'exclusivity')) as knows_stage,
      g.state is not null and g.state = 'exclusivity' and not w.runs as lapsed) s
    cross join lateral (select s.knows_stage, s.lapsed,
      (coalesce(w.of_the_deal, false) or w.of_the_exclusive_buyer)
        and (w.runs or (s.knows_stage and g.state is not null and g.state <> 'exclusivity') or d.state = 'closed') as shows_exclusivity) k;
end
$$;
grant execute on function app.deals_in_sight(text[], boolean) to dealkeep_server;

-- When something was last done on each of these deals, as far as the caller sees: as the policies of audit_records have it.
-- Deals on which they see nothing done are left out.
create or replace function app.last_activity(deals uuid[]) returns table (deal_id uuid, at timestamptz)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  administered constant uuid[] := app.brokerages_as('admin');
begin
  return query
    with whole as materialized (
      select p.deal_id from app.participations() p where p.role = 'broker' and p.deal_id = any (deals)
      union
      select d.id from public.deals d where administered <> '{}' and d.id = any (deals) and d.organization_id = any (administered))
    select a.deal_id, a.at from vault.deal_activity a where a.deal_id = any (array(select whole.deal_id from whole))
    union all
    select a.deal_id, a.at from vault.own_activity a
    where a.user_id = me and a.deal_id = any (array(select unnest(deals) except select whole.deal_id from whole));
end
$$;

-- The last eight things that were done on deals that the caller sees, as far as they may see them: as the policies of audit_records
-- have it. Brokers see what is done on their deals, admins what is done in their brokerages, and everybody what they did.
create or replace function app.latest_activity() returns setof uuid
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  administered constant uuid[] := app.brokerages_as('admin');
  busiest uuid[];
  own_busiest uuid[];
begin
  if me is null then
    return;
  end if;
  -- The last eight records are on the eight deals with the last ones.
  with own as materialized (
    select p.deal_id, p.role from app.participations() p where p.principal_role in ('broker', 'seller', 'buyer', 'viewer'))
  select
    array(select a.deal_id from vault.deal_activity a
      where a.deal_id = any (array(select own.deal_id from own where own.role = 'broker')) order by a.at desc, a.record_id desc limit 8),
    array(select a.deal_id from vault.own_activity a
      where a.user_id = me and a.deal_id = any (array(select own.deal_id from own where own.role <> 'broker'))
      order by a.at desc, a.record_id desc limit 8)
    into busiest, own_busiest;
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
        where own_busiest <> '{}' and a.user_id = me and a.outcome = 'done' and a.action not like 'tool:%' and a.deal_id = any (own_busiest)
        order by a.at desc, a.id desc limit 8)) found
    order by found.at desc, found.id desc limit 8;
end
$$;

-- What waits for the caller on each of their deals that goes on, what is due or has waited longest first, at most 200.
-- As the policies of questions, ndas, offers, exclusivities, closing_conditions and findings have it.
create or replace function app.home_queue(with_findings boolean)
returns table (kind text, deal_id uuid, deal_title text, count int, due_at timestamptz, waiting_since timestamptz)
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  administered constant uuid[] := app.brokerages_as('admin');
  due_by constant date := app.last_day_over(app.now() + interval '7 days');
  overdue_by constant date := app.last_day_over(app.now());
begin
  return query
    with every as materialized (
      select p.deal_id, p.participant_id, p.role, p.principal_id, p.principal_role as side from app.participations() p),
    open as materialized (
      select d.id, d.state from public.deals d
      where d.id = any (array(select every.deal_id from every)) and d.state not in ('closed', 'withdrawn')),
    own as materialized (select every.*, open.state from every join open on open.id = every.deal_id),
    ids as materialized (select
      array(select own.deal_id from own where own.role = 'broker') as broker,
      array(select own.deal_id from own where own.role = 'seller') as seller,
      array(select own.principal_id from own where own.side = 'buyer') as buyers,
      array(select own.participant_id from own where own.participant_id = own.principal_id and own.role = 'buyer') as own_parts,
      -- Deals before an offer was accepted have neither a stage nor an exclusivity that has not ended.
      array(select own.deal_id from own where own.state not in ('draft', 'listed')) as sold),
    stages as materialized (select s.deal_id, s.state from public.deal_stages s where s.deal_id = any ((select ids.sold from ids)::uuid[])),
    held as materialized (select e.deal_id, e.participant_id, e.granted_at, e.expires_at from public.exclusivities e
      where e.deal_id = any ((select ids.sold from ids)::uuid[]) and e.ended_at is null),
    waiting (kind, deal_id, count, due_at, since) as (
      select case t.status when 'pending_broker_review' then 'questions_to_review' else 'answers_to_distribute' end, t.deal_id, count(*),
          null::timestamptz, min(case t.status when 'answered' then t.updated_at else t.asked_at end)
        from public.questions t
        where t.deal_id = any ((select ids.broker from ids)::uuid[]) and t.status in ('pending_broker_review', 'answered') group by t.deal_id, t.status
      union all
      select 'questions_to_answer', t.deal_id, count(*), null, min(t.updated_at)
        from public.questions t where t.deal_id = any ((select ids.seller from ids)::uuid[]) and t.status = 'with_seller' group by t.deal_id
      union all
      select 'answers_to_read', t.deal_id, count(*), null, min(t.distributed_at)
        from public.questions t
        left join (select r.deal_id, r.read_until from public.answer_readings r
          where r.user_id = me and r.deal_id = any (array(select own.deal_id from own where own.side = 'buyer'))) r on r.deal_id = t.deal_id
        where t.status = 'distributed' and t.participant_id = any ((select ids.buyers from ids)::uuid[])
          and (r.read_until is null or r.read_until < coalesce(t.distributed_at, '-infinity'))
        group by t.deal_id
      union all
      select 'ndas_to_sign', t.deal_id, count(*), null, min(t.sent_at)
        from public.ndas t
        where t.status = 'sent' and (t.expires_at is null or t.expires_at > app.now())
          and t.participant_id = any ((select ids.own_parts from ids)::uuid[])
        group by t.deal_id
      union all
      select 'ndas_unsigned', t.deal_id, count(*), null, min(t.sent_at)
        from public.ndas t
        where t.status = 'sent' and (t.expires_at is null or t.expires_at > app.now()) and t.deal_id = any ((select ids.broker from ids)::uuid[])
        group by t.deal_id
      union all
      -- Where offers can still be accepted: listed or under offer, also again, after an exclusivity that has lapsed.
      select 'offers_to_consider', t.deal_id, count(*), null, min(t.submitted_at)
        from public.offers t
        where t.is_current and t.deal_id = any (array(
          select own.deal_id from own
          left join stages g on g.deal_id = own.deal_id
          left join held x on x.deal_id = own.deal_id
          where own.role in ('broker', 'seller') and own.state in ('listed', 'under_offer')
            and (g.state is null or (g.state = 'exclusivity' and not coalesce(x.expires_at > app.now(), false)))))
        group by t.deal_id
      union all
      -- Who does not decide, the seller and the buyer's side, is told whom it waits for.
      select change.kind, t.deal_id, count(*), null, min(t.submitted_at)
        from own
        join held x on x.deal_id = own.deal_id
        join (select o.* from public.offers o where o.is_current and o.deal_id = any (array(select held.deal_id from held))) t
          on t.participant_id = x.participant_id
        left join stages g on g.deal_id = own.deal_id
        cross join lateral (select case when own.role = 'broker' then 'offer_changes_to_decide'
          when own.role = 'seller' or t.participant_id = own.principal_id then 'offer_changes_with_broker' end) change (kind)
        where change.kind is not null and (x.expires_at > app.now() or g.state in ('diligence', 'closing'))
          and not exists (select from public.offer_decisions c where c.deal_id = any (array(select held.deal_id from held)) and c.offer_id = t.id)
          and exists (select from public.offer_decisions c where c.deal_id = any (array(select held.deal_id from held))
            and c.participant_id = x.participant_id and c.decision = 'accepted' and c.decided_at >= x.granted_at)
        group by change.kind, t.deal_id
      union all
      -- A week ahead: one's own, and for brokers those that nobody has or nobody has met in time.
      select 'conditions_due', t.deal_id, count(*), app.end_of(min(t.deadline)), null
        from (
          select c.id, c.deal_id, c.deadline from public.closing_conditions c
          left join own on own.deal_id = c.deal_id
          left join (select s.* from vault.selected_buyers s where s.deal_id = any (array(select held.deal_id from held))) chosen
            on chosen.participant_id = own.principal_id
          where c.owner_user_id = me and c.status in ('open', 'in_progress') and c.deadline <= due_by
            and (own.side in ('broker', 'seller', 'viewer') or (own.side = 'buyer' and chosen.participant_id is not null)
              or (administered <> '{}' and exists (select from public.deals d
                where d.id = c.deal_id and d.organization_id = any (administered) and d.state not in ('closed', 'withdrawn'))))
          union
          select c.id, c.deal_id, c.deadline from public.closing_conditions c
          where c.deal_id = any ((select ids.broker from ids)::uuid[]) and c.status in ('open', 'in_progress') and c.deadline <= due_by
            and (c.owner_user_id is null or c.deadline <= overdue_by)) t
        group by t.deal_id
      union all
      select 'findings_open', t.deal_id, count(*), null, min(t.created_at)
        from public.findings t
        join own on own.deal_id = t.deal_id
        where with_findings and t.status = 'open' and t.owner_user_id = me
          and (own.side in ('broker', 'seller') or t.participant_id = own.principal_id)
        group by t.deal_id),
    first as materialized (select w.* from waiting w order by coalesce(w.due_at, w.since), w.deal_id, w.kind limit 200)
    select f.kind, f.deal_id, d.title, f.count::int, f.due_at, f.since
    from first f join (select d.id, d.title from public.deals d where d.id = any (array(select first.deal_id from first))) d on d.id = f.deal_id
    order by coalesce(f.due_at, f.since), f.deal_id, f.kind;
end
$$;

-- How the deals stand that the caller sees, as app.deals_in_sight has it: how many there are in each state, and the twenty
-- exclusivities that run and end first.
create function app.home_deals() returns table (state text, count int, deal_id uuid, deal_title text, expires_at timestamptz)
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  administered constant uuid[] := app.brokerages_as('admin');
begin
  return query
    with own as materialized (
      select p.deal_id, p.principal_id, p.principal_role as side from app.participations() p
      where p.principal_role in ('broker', 'seller', 'buyer', 'viewer')),
    d as materialized (
      select d.id, d.state, d.organization_id = any (administered) as administered
      from public.deals d where d.id = any (array(select own.deal_id from own))
      union all
      select d.id, d.state, true from public.deals d
      where d.organization_id = any (administered) and not exists (select from own where own.deal_id = d.id)),
    stages as materialized (
      select s.deal_id, s.state from public.deal_stages s
      where s.deal_id = any (array(select d.id from d where d.state not in ('draft', 'listed', 'withdrawn', 'closed')))),
    -- Of a deal without a stage everybody sees the same state.
    staged as materialized (
      select d.id, d.state as state_for_all, k.expires_at,
        case when k.lapsed and d.state in ('under_offer', 'exclusivity') then 'listed' when k.knows_stage then k.stage else d.state end as state,
        (k.of_the_deal or k.of_the_exclusive_buyer) and (k.runs or (k.knows_stage and k.stage <> 'exclusivity')) as shows_exclusivity
      from d
      join stages g on g.deal_id = d.id
      left join own on own.deal_id = d.id
      left join (select e.deal_id, e.participant_id, e.expires_at from public.exclusivities e
        where e.deal_id = any (array(select stages.deal_id from stages)) and e.ended_at is null) x on x.deal_id = d.id
      cross join lateral (select g.state as stage, x.expires_at, coalesce(own.side in ('broker', 'seller', 'viewer') or d.administered, false) as of_the_deal,
        coalesce(x.participant_id = own.principal_id, false) as of_the_exclusive_buyer, coalesce(x.expires_at > app.now(), false) as runs) w
      cross join lateral (select w.*, w.of_the_deal or (own.side = 'buyer' and w.of_the_exclusive_buyer and (w.runs or w.stage <> 'exclusivity')) as knows_stage,
        w.stage = 'exclusivity' and not w.runs as lapsed) k),
    running as (
      select s.id, s.expires_at from staged s
      where s.shows_exclusivity and s.expires_at > app.now() and s.state in ('exclusivity', 'diligence', 'closing')
      order by s.expires_at, s.id limit 20)
    (select n.state, sum(n.count)::int, null::uuid, null, null::timestamptz
     from (select d.state, count(*) as count from d group by d.state
       union all select s.state_for_all, - count(*) from staged s group by s.state_for_all
       union all select s.state, count(*) from staged s group by s.state) n
     group by n.state having sum(n.count) > 0 order by n.state)
    union all
    (select null, null, r.id, t.title, r.expires_at
     from running r join (select d.id, d.title from public.deals d where d.id = any (array(select running.id from running))) t on t.id = r.id
     order by r.expires_at, r.id);
end
$$;
grant execute on function app.home_deals() to dealkeep_server;

-- What time has done -----------------------------------------------------------------------------------------------------------

-- The exclusivities that have not ended, by when they lapse. What the exclusivity of a deal in diligence or further on would
-- have done then, it does no more: it is taken out when its time comes.
create table vault.lapsing_exclusivities (
  exclusivity_id uuid primary key references exclusivities on delete cascade,
  expires_at timestamptz not null
);
create index lapsing_exclusivities_in_order on vault.lapsing_exclusivities (expires_at);
select app.protect('vault.lapsing_exclusivities');

create function app.watch_exclusivity() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
  if new.ended_at is null then
    insert into vault.lapsing_exclusivities as known (exclusivity_id, expires_at) values (new.id, new.expires_at)
      on conflict (exclusivity_id) do update set expires_at = excluded.expires_at;
  else
    delete from vault.lapsing_exclusivities l where l.exclusivity_id = new.id;
  end if;
  return null;
end
$$;
create trigger watch after insert or update of expires_at, ended_at on exclusivities for each row execute function app.watch_exclusivity();
insert into vault.lapsing_exclusivities (exclusivity_id, expires_at)
  select x.id, x.expires_at from exclusivities x join deal_stages g on g.deal_id = x.deal_id
  where x.ended_at is null and g.state = 'exclusivity';

-- Writes down what time has done, at most a thousand of each at once: what is left over the next run finds. It holds without, from
-- its very second.
create or replace function app.sweep() returns int
language plpgsql volatile security definer set search_path = '' as $$
declare
  due uuid[];
  lapsed int;
  expired int;
begin
  due := array(
    select x.id from public.exclusivities x
    where x.id = any (array(
        select l.exclusivity_id from vault.lapsing_exclusivities l where l.expires_at <= app.now() order by l.expires_at limit 1000))
      and x.expires_at <= app.now()
    for no key update skip locked);
  update public.exclusivities x set ended_at = x.expires_at
    from public.deal_stages g
    where x.id = any (due) and g.deal_id = x.deal_id and g.state = 'exclusivity' and x.ended_at is null;
  get diagnostics lapsed = row_count;
  delete from vault.lapsing_exclusivities l where l.exclusivity_id = any (due);
  update public.ndas n set status = 'expired'
    where n.id = any (array(
        select e.id from public.ndas e where e.status in ('sent', 'active') and e.expires_at <= app.now()
        order by e.expires_at limit 1000 for no key update skip locked))
      and n.status in ('sent', 'active') and n.expires_at <= app.now();
  get diagnostics expired = row_count;
  return lapsed + expired;
end
$$;
drop index if exists stages_of_exclusivity;
