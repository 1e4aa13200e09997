-- compatible: a function with the same parameters.
--
-- A closing condition whose owner has left the deal came to the home page of its brokers only once it was overdue, unlike one without an owner.
-- The page also leaves out questions by app.is_buyer_still(), of the file before.

CREATE OR REPLACE FUNCTION app.home(with_findings boolean)
 RETURNS TABLE(part text, kind text, deal_id uuid, deal_title text, count integer, due_at timestamp with time zone, waiting_since timestamp with time zone, id uuid, at timestamp with time zone, user_id uuid, client_id uuid, action text, subject_id text, outcome text, details jsonb, is_own boolean, due_on date)
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
  now constant timestamptz := app.now();
  due_by constant date := app.last_day_over(now + interval '7 days');
  overdue_by constant date := app.last_day_over(now);
begin
  if me is null then
    return;
  end if;
  return query
    with mine as materialized (
      select o.deal_id as id, o.state, o.role, o.principal_id, o.side, o.state not in ('closed', 'withdrawn') as goes_on,
        o.state not in ('draft', 'listed', 'withdrawn', 'closed') as is_sold, o.organization_id = any (administered) as by_brokerage,
        o.stage, o.holder_id, o.granted_at, o.expires_at
      from vault.deals_of_people o
      where o.user_id = me and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed)),
    administered_only as materialized (
      select t.id, t.state, t.state not in ('draft', 'listed', 'withdrawn', 'closed') as is_sold from public.deals t
      where t.organization_id = any (administered) and not exists (select from mine where mine.id = t.id)),
    -- Which deals each of the queries below is about, from one pass.
    lists as materialized (
      select array_agg(m.id) filter (where m.role = 'broker' and m.goes_on) as run,
        array_agg(m.id) filter (where m.role = 'seller' and m.goes_on) as sells,
        array_agg(m.principal_id) filter (where m.role = 'buyer' and m.goes_on) as signers,
        array_agg(m.id) filter (where m.state = 'listed' and m.role in ('broker', 'seller')) as listed,
        array_agg(m.id) filter (where m.role = 'broker') as brokered,
        array_agg(m.id) filter (where m.role <> 'broker') as taken_part
      from mine m),
    -- Deals before an offer was accepted have neither a stage nor an exclusivity that has not ended.
    sold as materialized (
      select m.id, m.state, m.role, m.principal_id, m.side, true as mine, m.by_brokerage, m.stage, m.holder_id as holder, m.granted_at, m.expires_at,
        coalesce(m.expires_at > now, false) as runs
      from mine m where m.is_sold
      union all
      select b.id, b.state, null, null, null, false, true, g.state, x.participant_id, x.granted_at, x.expires_at, coalesce(x.expires_at > now, false)
      from administered_only b
      left join (select s.deal_id, s.state from public.deal_stages s where s.deal_id = any (array(select b.id from administered_only b where b.is_sold))) g
        on g.deal_id = b.id
      left join (select e.deal_id, e.participant_id, e.granted_at, e.expires_at from public.exclusivities e
        where e.deal_id = any (array(select b.id from administered_only b where b.is_sold)) and e.ended_at is null) x on x.deal_id = b.id
      where b.is_sold),
    -- Where offers can still be accepted: listed or under offer, also again, after an exclusivity that has lapsed.
    acceptable as materialized (select array_cat((select l.listed from lists l),
      array(select s.id from sold s where s.role in ('broker', 'seller') and s.state = 'under_offer'
        and (s.stage is null or (s.stage = 'exclusivity' and not s.runs)))) as deals),
    -- Of these the caller may know who holds the exclusivity, and what was offered and decided.
    held as materialized (select array(
      select s.id from sold s where s.mine and (s.role in ('broker', 'seller') or s.holder = s.principal_id) and s.holder is not null) as deals),
    decided as materialized (
      select c.offer_id, c.participant_id, c.decision, c.decided_at from public.offer_decisions c
      where c.deal_id = any ((select held.deals from held)::uuid[])),
    -- Answers to the caller that they have not read. They are looked for before the deals are: there are few.
    unread as materialized (
      select m.id, m.principal_id, a.read_until, a.first_at
      from (select a.deal_id, a.first_at, r.read_until from (select a.deal_id, a.at, a.first_at from vault.answers_of_people a where a.user_id = me) a
        left join (select r.deal_id, r.read_until from public.answer_readings r where r.user_id = me) r on r.deal_id = a.deal_id
        where r.read_until is null or r.read_until < a.at offset 0) a
      join mine m on m.id = a.deal_id
      where m.side = 'buyer' and m.goes_on),
    -- Where they have read none, it is known since when they wait: of these no more are counted than the page shows.
    unread_longest as materialized (
      select u.id, u.principal_id, u.read_until from unread u where u.read_until is not null or u.first_at is null
      union all
      (select u.id, u.principal_id, null from unread u where u.read_until is null and u.first_at is not null order by u.first_at, u.id limit 200)),
    findings as materialized (
      select f.deal_id, f.participant_id, f.created_at from public.findings f where with_findings and f.status = 'open' and f.owner_user_id = me),
    waiting (kind, deal_id, count, due_on, since) as (
      select case t.status when 'pending_broker_review' then 'questions_to_review' else 'answers_to_distribute' end, t.deal_id, count(*),
          null::date, min(case t.status when 'answered' then t.updated_at else t.asked_at end)
        from public.questions t
        where t.deal_id = any ((select l.run from lists l)::uuid[]) and t.status in ('pending_broker_review', 'with_seller', 'answered') and t.status <> 'with_seller'
        group by t.deal_id, t.status
      union all
      select 'questions_to_answer', t.deal_id, count(*), null, min(t.updated_at)
        from public.questions t
        where t.deal_id = any ((select l.sells from lists l)::uuid[]) and t.status = 'with_seller' group by t.deal_id
      union all
      select 'answers_to_read', t.deal_id, count(*), null, min(t.distributed_at)
        from unread_longest u
        join (select q.deal_id, q.distributed_at from public.questions q
          where q.status = 'distributed' and q.participant_id = any (array(select u.principal_id from unread_longest u))) t on t.deal_id = u.id
        where u.read_until is null or u.read_until < coalesce(t.distributed_at, '-infinity')
        group by t.deal_id
      union all
      select 'ndas_to_sign', t.deal_id, count(*), null, min(t.sent_at)
        from public.ndas t
        where t.status = 'sent' and (t.expires_at is null or t.expires_at > now)
          and t.participant_id = any ((select l.signers from lists l)::uuid[])
        group by t.deal_id
      union all
      select 'ndas_unsigned', t.deal_id, count(*), null, min(t.sent_at)
        from public.ndas t
        where t.status = 'sent' and (t.expires_at is null or t.expires_at > now) and t.deal_id = any ((select l.run from lists l)::uuid[])
          and not exists (select from public.participants x
            where x.deal_id = any ((select l.run from lists l)::uuid[]) and x.status = 'removed' and x.id = t.participant_id)
        group by t.deal_id
      union all
      select 'offers_to_consider', t.deal_id, count(*), null, min(t.submitted_at)
        from public.offers t
        where t.is_current and t.deal_id = any ((select a.deals from acceptable a)::uuid[])
          and not exists (select from public.offers x
            where x.is_current and x.deal_id = any ((select a.deals from acceptable a)::uuid[]) and x.payload ->> 'expires_at' is not null
              and app.time_in(x.payload ->> 'expires_at') <= now and x.id = t.id)
          and not exists (select from public.participants x
            where x.deal_id = any ((select a.deals from acceptable a)::uuid[]) and x.status <> 'active' and x.id = t.participant_id)
          and not exists (select from public.offer_decisions x
            where x.deal_id = any ((select a.deals from acceptable a)::uuid[]) and x.decision = 'declined' and x.offer_id = t.id)
        group by t.deal_id
      union all
      -- Who does not decide, the seller and the buyer's side, is told whom it waits for.
      select change.kind, t.deal_id, count(*), null, min(t.submitted_at)
        from sold s
        join (select o.id, o.deal_id, o.participant_id, o.submitted_at from public.offers o
          where o.deal_id = any ((select held.deals from held)::uuid[]) and o.is_current) t
          on t.participant_id = s.holder
        cross join lateral (select case when s.role = 'broker' then 'offer_changes_to_decide'
          when s.role = 'seller' or s.holder = s.principal_id then 'offer_changes_with_broker' end) change (kind)
        where s.mine and change.kind is not null and (s.runs or s.stage in ('diligence', 'closing'))
          and not exists (select from decided c where c.offer_id = t.id)
          and exists (select from decided c where c.participant_id = s.holder and c.decision = 'accepted' and c.decided_at >= s.granted_at)
        group by change.kind, t.deal_id
      union all
      -- A week ahead: one's own, and for brokers those that nobody has, or somebody who left, or that nobody has met in time.
      select 'conditions_due', t.deal_id, count(*), min(t.deadline), null
        from (
          select c.id, c.deal_id, c.deadline from public.closing_conditions c
          left join mine d on d.id = c.deal_id and d.goes_on
          left join sold s on s.id = d.id and d.side = 'buyer' and s.holder = d.principal_id and (s.runs or s.stage is distinct from 'exclusivity')
          where c.owner_user_id = me and c.status in ('open', 'in_progress') and c.deadline <= due_by
            and (d.side in ('broker', 'seller', 'viewer') or s.id is not null
              or (administered <> '{}' and exists (select from public.deals a
                where a.id = c.deal_id and a.organization_id = any (administered) and a.state not in ('closed', 'withdrawn'))))
          union
          select c.id, c.deal_id, c.deadline from public.closing_conditions c
          where c.deal_id = any ((select l.run from lists l)::uuid[]) and c.status in ('open', 'in_progress') and c.deadline <= due_by
            and (c.owner_user_id is null or c.deadline <= overdue_by
              or (select p.status <> 'active' from public.participants p where p.deal_id = c.deal_id and p.user_id = c.owner_user_id))) t
        group by t.deal_id
      union all
      select 'findings_open', t.deal_id, count(*), null, min(t.created_at)
        from findings t
        -- Without findings no table is made of all deals to look for theirs in.
        join (select m.id, m.side, m.principal_id from mine m where m.goes_on and exists (select from findings)) d on d.id = t.deal_id
        where d.side in ('broker', 'seller') or t.participant_id = d.principal_id
        group by t.deal_id),
    first as materialized (select w.*, app.end_of(w.due_on) as due_at from waiting w order by coalesce(app.end_of(w.due_on), w.since), w.deal_id, w.kind limit 200),
    -- Of these, what is of somebody who was a buyer and has another role by now, and the questions of those who left: nobody has to do anything about it. It is
    -- looked for last, being rare.
    not_buyers as materialized (
      select 'offers_to_consider' as kind, o.deal_id, count(*) as count
        from (select o.deal_id, o.participant_id from public.offers o
          where o.is_current and o.deal_id = any (array(select f.deal_id from first f where f.kind = 'offers_to_consider'))
            and (o.payload ->> 'expires_at' is null or app.time_in(o.payload ->> 'expires_at') > now)
            and not exists (select from public.offer_decisions x
              where x.deal_id = any (array(select f.deal_id from first f where f.kind = 'offers_to_consider')) and x.decision = 'declined' and x.offer_id = o.id)
          offset 0) o
        where (select p.role <> 'buyer' and p.status = 'active' from public.participants p where p.id = o.participant_id)
        group by o.deal_id
      union all
      select 'ndas_unsigned', n.deal_id, count(*)
        from (select n.deal_id, n.participant_id from public.ndas n
          where n.status = 'sent' and (n.expires_at is null or n.expires_at > now)
            and n.deal_id = any (array(select f.deal_id from first f where f.kind = 'ndas_unsigned')) offset 0) n
        where (select p.role <> 'buyer' and p.status <> 'removed' from public.participants p where p.id = n.participant_id)
        group by n.deal_id
      union all
      select q.kind, q.deal_id, count(*)
        from (select case q.status when 'pending_broker_review' then 'questions_to_review' when 'with_seller' then 'questions_to_answer'
            else 'answers_to_distribute' end as kind, q.deal_id, q.participant_id
          from public.questions q
          where q.status in ('pending_broker_review', 'with_seller', 'answered') and q.deal_id = any (array(
            select f.deal_id from first f where f.kind in ('questions_to_review', 'questions_to_answer', 'answers_to_distribute'))) offset 0) q
        where not app.is_buyer_still(q.participant_id)
        group by q.kind, q.deal_id),
    -- Of a deal without a stage everybody sees the same state.
    staged as materialized (
      select s.id, s.state as state_for_all, s.expires_at,
        case when k.lapsed and s.state in ('under_offer', 'exclusivity') then 'listed' when k.knows_stage then s.stage else s.state end as state,
        (k.of_the_deal or k.of_the_exclusive_buyer) and (s.runs or (k.knows_stage and s.stage <> 'exclusivity')) as shows_exclusivity
      from sold s
      cross join lateral (select coalesce(s.side in ('broker', 'seller', 'viewer') or s.by_brokerage, false) as of_the_deal,
        coalesce(s.holder = s.principal_id, false) as of_the_exclusive_buyer) w
      cross join lateral (select w.*, w.of_the_deal or (s.side = 'buyer' and w.of_the_exclusive_buyer and (s.runs or s.stage <> 'exclusivity')) as knows_stage,
        s.stage = 'exclusivity' and not s.runs as lapsed) k
      where s.stage is not null),
    running as materialized (
      select s.id, s.expires_at from staged s
      where s.shows_exclusivity and s.expires_at > now and s.state in ('exclusivity', 'diligence', 'closing')
      order by s.expires_at, s.id limit 20),
    -- The last eight records of activity are on the eight deals with the last ones, also those of a brokerage.
    busiest as materialized (
      (select a.deal_id, null::uuid as tenant from vault.deal_activity a where a.deal_id = any ((select l.brokered from lists l)::uuid[])
        order by a.at desc, a.record_id desc limit 8)
      union all
      select a.deal_id, b.id from unnest(administered) b (id) cross join lateral (
        select a.deal_id from vault.deal_activity a where a.brokerage_id = b.id order by a.at desc, a.record_id desc limit 8) a),
    own_busiest as materialized (
      select a.deal_id from vault.own_activity a
      where a.user_id = me and a.deal_id = any ((select l.taken_part from lists l)::uuid[])
      order by a.at desc, a.record_id desc limit 8),
    acts as materialized (
      select c.*, true as is_own from (
        select a.id, a.at, a.user_id, a.client_id, a.deal_id, a.action, a.subject_id, a.outcome, a.details from busiest b cross join lateral (
          select a.* from public.audit_records a
          where a.deal_id = b.deal_id and a.noted and (b.tenant is null or a.brokerage_id = b.tenant)
          order by a.at desc, a.id desc limit 8) a
        union
        select a.id, a.at, a.user_id, a.client_id, a.deal_id, a.action, a.subject_id, a.outcome, a.details from own_busiest b cross join lateral (
          select a.* from public.audit_records a
          where a.user_id = me and case when a.noted then a.deal_id end = b.deal_id and a.noted and a.deal_id is not null
          order by a.at desc, a.id desc limit 8) a
        order by at desc, id desc limit 8) c),
    latest as materialized (
      select l.* from (
        select acts.* from acts
        union all
        select s.*, false from app.activity_in_sight() s where not exists (select from acts where acts.id = s.id)) l
      order by l.at desc, l.id desc limit 8),
    named as materialized (
      select t.id, t.title from public.deals t
      where t.id = any (array(select first.deal_id from first union select running.id from running union select latest.deal_id from latest)))
    (select 'queue', f.kind, f.deal_id, n.title, (f.count - coalesce(b.count, 0))::int, f.due_at, f.since, null::uuid, null::timestamptz, null::uuid, null::uuid, null, null, null, null::jsonb, null::boolean, f.due_on
     from first f join named n on n.id = f.deal_id left join not_buyers b on b.kind = f.kind and b.deal_id = f.deal_id
     where f.count > coalesce(b.count, 0) order by coalesce(f.due_at, f.since), f.deal_id, f.kind)
    union all
    (select 'state', c.state, null, null, sum(c.count)::int, null, null, null, null, null, null, null, null, null, null, null, null
     from (select m.state, count(*) as count from mine m group by m.state
       union all select b.state, count(*) from administered_only b group by b.state
       union all select s.state_for_all, - count(*) from staged s group by s.state_for_all
       union all select s.state, count(*) from staged s group by s.state) c
     group by c.state having sum(c.count) > 0 order by c.state)
    union all
    (select 'exclusivity', null, r.id, n.title, null, r.expires_at, null, null, null, null, null, null, null, null, null, null, null
     from running r join named n on n.id = r.id order by r.expires_at, r.id)
    union all
    (select 'activity', null, l.deal_id, n.title, null, null, null, l.id, l.at, l.user_id, l.client_id, l.action, l.subject_id, l.outcome, l.details,
       l.is_own, null
     from latest l join named n on n.id = l.deal_id order by l.at desc, l.id desc);
end
$function$;
