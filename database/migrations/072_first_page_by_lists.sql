-- compatible: the same functions answer the same, with less work.
--
-- The first page for somebody on ten thousand deals, and for an admin of as many: each deal of the caller is read once, and one pass over them makes
-- the lists that the queries of what waits are about.

-- The caller's parts in deals, as vault.parts and app.participations have them, with one look at whom an advisor advises and not two.
create or replace function app.own_parts(me uuid, barred uuid[], narrowed uuid)
returns table (deal_id uuid, participant_id uuid, role text, principal_id uuid, side text)
language sql stable
begin atomic
  select s.deal_id, s.participant_id, s.role, s.principal_id, s.side from (
    select o.deal_id, o.id as participant_id, o.role, coalesce(o.advises, o.id) as principal_id,
      case when o.advises is null then o.role
        else (select p.role from public.participants p where p.id = o.advises and p.status = 'active') end as side
    from public.participants o
    where o.user_id = me and o.status = 'active' and (narrowed is null or o.deal_id = narrowed)
      and ((select barred = '{}') or (select d.organization_id from public.deals d where d.id = o.deal_id) <> all (barred))
    offset 0) s
  where s.side is not null;
end;

-- What others did within the last 30 days, at most eight acts on each of the 50 deals that the caller came to last and does not run: to
-- records that the caller could open, as app.could_open has it and the policies of the tables. Which deals are looked at does not hang
-- on what the caller may not see; of each the last 200 acts are. One query: to enter each deal, as a request about it does, and to ask
-- app.could_open of each record costs a third of a millisecond a deal, and most acts of others are hidden from who takes part.
create or replace function app.activity_in_sight()
returns table (id uuid, at timestamptz, user_id uuid, client_id uuid, deal_id uuid, action text, subject_id text, outcome text, details jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  administered constant uuid[] := app.brokerages_as('admin');
  since constant timestamptz := app.now() - interval '30 days';
begin
  if me is null or app.narrowed_to() is not null then
    return;
  end if;
  return query
    -- What the caller is to each of these deals, and what follows from it whatever the record.
    with own as materialized (
      select o.*,
        o.side in ('broker', 'seller') as sells,
        exists (select from vault.active_ndas n where n.participant_id = o.principal_id) as signed,
        o.side = 'buyer' and exists (select from public.exclusivities x
          where x.deal_id = o.deal_id and x.participant_id = o.principal_id and x.ended_at is null and x.expires_at > app.now()) as holds,
        o.side = 'buyer' and exists (select from vault.selected_buyers x
          where x.deal_id = o.deal_id and x.participant_id = o.principal_id) as selected,
        (select d.needs_nda from public.deals d where d.id = o.deal_id) as needs_nda,
        o.side in ('broker', 'seller', 'viewer')
          or (select d.organization_id from public.deals d where d.id = o.deal_id) = any (administered) as sees_all
      from (
        select p.deal_id, p.principal_id, s.side from (
          select o.deal_id, o.id, o.role, o.advises, coalesce(o.advises, o.id) as principal_id from public.participants o
          where o.user_id = me and o.status = 'active' and o.role <> 'broker'
            and (barred = '{}' or (select d.organization_id from public.deals d where d.id = o.deal_id) <> all (barred))
          order by o.id desc offset 0) p
        cross join lateral (select case when p.advises is null then p.role
          else (select a.role from public.participants a where a.id = p.advises and a.status = 'active') end as side offset 0) s
        where s.side is not null order by p.id desc limit 50) o)
    select s.id, s.at, s.user_id, s.client_id, own.deal_id, s.action, s.subject_id, s.outcome, s.details
    from own
    cross join lateral (
      select a.id, a.at, a.user_id, a.client_id, a.action, a.subject_id, a.outcome, a.details
      from (
        select l.*, app.subject_of(l.action, l.details) as subject from public.audit_records l
        where l.deal_id = own.deal_id and l.outcome = 'done' and l.action not like 'tool:%' and l.at > since
          and l.user_id is distinct from me and app.subject_of(l.action, l.details) is not null
          and l.subject_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
        order by l.at desc, l.id desc limit 200) a
      where case a.subject
        when 'questions' then (select true from public.questions q
          where q.id = a.subject_id::uuid and q.deal_id = own.deal_id and (own.side = 'broker' or q.participant_id = own.principal_id
            or (own.side = 'seller' and q.status in ('with_seller', 'answered', 'distributed'))))
        when 'question_answers' then own.sells and (select true from public.question_answers q
          where q.question_id = a.subject_id::uuid and q.deal_id = own.deal_id limit 1)
        when 'ndas' then (select true from public.ndas n
          where n.id = a.subject_id::uuid and n.deal_id = own.deal_id and (own.sells or n.participant_id = own.principal_id))
        when 'documents' then (select true from public.documents d
          where d.id = a.subject_id::uuid and d.deal_id = own.deal_id and d.removed_at is null
            and (own.sells or d.confidentiality = 'public' or (d.confidentiality = 'nda_gated' and own.signed)
              or (d.confidentiality = 'selected_buyer_only' and own.holds)))
        when 'production_documents' then (select true from public.production_documents d
          where d.id = a.subject_id::uuid and d.deal_id = own.deal_id and d.removed_at is null
            and (own.sells or d.confidentiality = 'public' or (d.confidentiality = 'nda_gated' and own.signed)
              or (d.confidentiality = 'selected_buyer_only' and own.holds)))
        when 'offers' then (select true from public.offers o
          where o.id = a.subject_id::uuid and o.deal_id = own.deal_id and (own.sells or o.participant_id = own.principal_id))
        when 'closing_conditions' then (own.sees_all or own.selected) and (select true from public.closing_conditions c
          where c.id = a.subject_id::uuid and c.deal_id = own.deal_id)
        when 'findings' then (select true from public.findings f
          where f.id = a.subject_id::uuid and f.deal_id = own.deal_id and (own.sells or f.participant_id = own.principal_id))
        when 'participants' then (select true from public.participants p
          where p.id = a.subject_id::uuid and p.deal_id = own.deal_id and (own.sees_all or coalesce(p.advises, p.id) = own.principal_id
            or (own.side = 'buyer' and p.status = 'active'
              and (p.role = 'broker' or (p.role = 'seller' and (own.signed or not own.needs_nda))))))
        else false end
      order by a.at desc, a.id desc limit 8) s;
end
$$;

-- The first page, from one look at the caller's parts and at how their deals stand. Four kinds of rows, each in its order: `queue`,
-- what waits for them on deals that go on, what is due or has waited longest first, at most 200; `state`, how many deals are in each
-- state as far as they may know, in `kind` and `count`; `exclusivity`, those that run and that they know of, the first to end first, at
-- most 20, with the end in `due_at`; `activity`, the last eight acts that they may see in the audit trail (`is_own`) or that
-- app.activity_in_sight shows. As the policies of deals, deal_stages, exclusivities, questions, ndas, offers, closing_conditions, findings
-- and audit_records have it. The release before calls app.home_queue, app.home_deals and app.latest_activity for it.
create or replace function app.home(with_findings boolean)
returns table (part text, kind text, deal_id uuid, deal_title text, count int, due_at timestamptz, waiting_since timestamptz,
  id uuid, at timestamptz, user_id uuid, client_id uuid, action text, subject_id text, outcome text, details jsonb, is_own boolean)
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
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
      select p.deal_id as id, t.state, p.role, p.principal_id, p.side, t.state not in ('closed', 'withdrawn') as goes_on,
        t.state not in ('draft', 'listed', 'withdrawn', 'closed') as is_sold, t.organization_id = any (administered) as by_brokerage
      from app.own_parts(me, barred, narrowed) p
      join (select t.id, t.state, t.organization_id from public.deals t
        where t.id = any (array(select o.deal_id from public.participants o where o.user_id = me and o.status = 'active'))) t on t.id = p.deal_id),
    administered_only as materialized (
      select t.id, t.state, t.state not in ('draft', 'listed', 'withdrawn', 'closed') as is_sold from public.deals t
      where t.organization_id = any (administered) and not exists (select from mine where mine.id = t.id)),
    -- Which deals each of the queries below is about, from one pass.
    lists as materialized (
      select array_agg(m.id) filter (where m.role = 'broker' and m.goes_on) as run,
        array_agg(m.id) filter (where m.role = 'seller' and m.goes_on) as sells,
        array_agg(m.id) filter (where m.side = 'buyer' and m.goes_on) as bought,
        array_agg(m.principal_id) filter (where m.side = 'buyer' and m.goes_on) as principals,
        array_agg(m.principal_id) filter (where m.role = 'buyer' and m.goes_on) as signers,
        array_agg(m.id) filter (where m.state = 'listed' and m.role in ('broker', 'seller')) as listed,
        array_agg(m.id) filter (where m.role = 'broker') as brokered,
        array_agg(m.id) filter (where m.role <> 'broker') as taken_part
      from mine m),
    -- Deals before an offer was accepted have neither a stage nor an exclusivity that has not ended.
    sold_ids as materialized (
      select array(select m.id from mine m where m.is_sold union all select b.id from administered_only b where b.is_sold) as deals),
    sold as materialized (
      select d.*, g.state as stage, x.participant_id as holder, x.granted_at, x.expires_at, coalesce(x.expires_at > now, false) as runs
      from (select m.id, m.state, m.role, m.principal_id, m.side, true as mine, m.by_brokerage from mine m where m.is_sold
        union all select b.id, b.state, null, null, null, false, true from administered_only b where b.is_sold) d
      left join (select s.deal_id, s.state from public.deal_stages s where s.deal_id = any ((select sold_ids.deals from sold_ids)::uuid[])) g
        on g.deal_id = d.id
      left join (select e.deal_id, e.participant_id, e.granted_at, e.expires_at from public.exclusivities e
        where e.deal_id = any ((select sold_ids.deals from sold_ids)::uuid[]) and e.ended_at is null) x on x.deal_id = d.id),
    -- Of these the caller may know who holds the exclusivity, and what was offered and decided.
    held as materialized (select array(select s.id from sold s where s.mine and s.holder is not null) as deals),
    waiting (kind, deal_id, count, due_at, since) as (
      select case t.status when 'pending_broker_review' then 'questions_to_review' else 'answers_to_distribute' end, t.deal_id, count(*),
          null::timestamptz, min(case t.status when 'answered' then t.updated_at else t.asked_at end)
        from public.questions t
        where t.deal_id = any ((select l.run from lists l)::uuid[]) and t.status in ('pending_broker_review', 'with_seller', 'answered') and t.status <> 'with_seller'
        group by t.deal_id, t.status
      union all
      select 'questions_to_answer', t.deal_id, count(*), null, min(t.updated_at)
        from public.questions t
        where t.deal_id = any ((select l.sells from lists l)::uuid[]) and t.status = 'with_seller' group by t.deal_id
      union all
      select 'answers_to_read', t.deal_id, count(*), null, min(t.distributed_at)
        from public.questions t
        left join (select r.deal_id, r.read_until from public.answer_readings r
          where r.deal_id = any ((select l.bought from lists l)::uuid[]) and r.user_id = me) r on r.deal_id = t.deal_id
        where t.status = 'distributed' and t.participant_id = any ((select l.principals from lists l)::uuid[])
          and (r.read_until is null or r.read_until < coalesce(t.distributed_at, '-infinity'))
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
        group by t.deal_id
      union all
      -- Where offers can still be accepted: listed or under offer, also again, after an exclusivity that has lapsed.
      select 'offers_to_consider', t.deal_id, count(*), null, min(t.submitted_at)
        from public.offers t
        where t.is_current and t.deal_id = any (array_cat((select l.listed from lists l),
          array(select s.id from sold s where s.role in ('broker', 'seller') and s.state = 'under_offer'
            and (s.stage is null or (s.stage = 'exclusivity' and not s.runs)))))
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
          and not exists (select from public.offer_decisions c
            where c.deal_id = any ((select held.deals from held)::uuid[]) and c.offer_id = t.id)
          and exists (select from public.offer_decisions c
            where c.deal_id = any ((select held.deals from held)::uuid[])
              and c.participant_id = s.holder and c.decision = 'accepted' and c.decided_at >= s.granted_at)
        group by change.kind, t.deal_id
      union all
      -- A week ahead: one's own, and for brokers those that nobody has or nobody has met in time.
      select 'conditions_due', t.deal_id, count(*), app.end_of(min(t.deadline)), null
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
            and (c.owner_user_id is null or c.deadline <= overdue_by)) t
        group by t.deal_id
      union all
      select 'findings_open', t.deal_id, count(*), null, min(t.created_at)
        from public.findings t
        join mine d on d.id = t.deal_id and d.goes_on
        where with_findings and t.status = 'open' and t.owner_user_id = me
          and (d.side in ('broker', 'seller') or t.participant_id = d.principal_id)
        group by t.deal_id),
    first as materialized (select w.* from waiting w order by coalesce(w.due_at, w.since), w.deal_id, w.kind limit 200),
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
    -- The last eight records of activity are on the eight deals with the last ones.
    busiest as materialized (
      select a.deal_id from vault.deal_activity a where a.deal_id = any ((select l.brokered from lists l)::uuid[])
      order by a.at desc, a.record_id desc limit 8),
    own_busiest as materialized (
      select array(select a.deal_id from vault.own_activity a
        where a.user_id = me and a.deal_id = any ((select l.taken_part from lists l)::uuid[])
        order by a.at desc, a.record_id desc limit 8) as deals),
    acts as materialized (
      select c.*, true as is_own from (
        select a.id, a.at, a.user_id, a.client_id, a.deal_id, a.action, a.subject_id, a.outcome, a.details from busiest b cross join lateral (
          select a.* from public.audit_records a
          where a.deal_id = b.deal_id and a.outcome = 'done' and a.action not like 'tool:%' order by a.at desc, a.id desc limit 8) a
        union
        select a.id, a.at, a.user_id, a.client_id, a.deal_id, a.action, a.subject_id, a.outcome, a.details
        from unnest(administered) b (id) cross join lateral (
          select a.* from public.audit_records a
          where a.brokerage_id = b.id and a.outcome = 'done' and a.action not like 'tool:%' and a.deal_id is not null
          order by a.at desc, a.id desc limit 8) a
        union
        (select a.id, a.at, a.user_id, a.client_id, a.deal_id, a.action, a.subject_id, a.outcome, a.details
          from own_busiest b cross join lateral (
            select a.* from public.audit_records a
            where b.deals <> '{}' and a.user_id = me and a.outcome = 'done' and a.action not like 'tool:%' and a.deal_id = any (b.deals)
            order by a.at desc, a.id desc limit 8) a)
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
    (select 'queue', f.kind, f.deal_id, n.title, f.count::int, f.due_at, f.since, null::uuid, null::timestamptz, null::uuid, null::uuid, null, null, null, null::jsonb, null::boolean
     from first f join named n on n.id = f.deal_id order by coalesce(f.due_at, f.since), f.deal_id, f.kind)
    union all
    (select 'state', c.state, null, null, sum(c.count)::int, null, null, null, null, null, null, null, null, null, null, null
     from (select m.state, count(*) as count from mine m group by m.state
       union all select b.state, count(*) from administered_only b group by b.state
       union all select s.state_for_all, - count(*) from staged s group by s.state_for_all
       union all select s.state, count(*) from staged s group by s.state) c
     group by c.state having sum(c.count) > 0 order by c.state)
    union all
    (select 'exclusivity', null, r.id, n.title, null, r.expires_at, null, null, null, null, null, null, null, null, null, null
     from running r join named n on n.id = r.id order by r.expires_at, r.id)
    union all
    (select 'activity', null, l.deal_id, n.title, null, null, null, l.id, l.at, l.user_id, l.client_id, l.action, l.subject_id, l.outcome, l.details,
       l.is_own
     from latest l join named n on n.id = l.deal_id order by l.at desc, l.id desc);
end
$$;
