-- compatible: the release before reads the activity of one deal by the index of all records of the deal, and all else by these functions.
--
-- What reads activity asks for the column of 247_noted_records.sql, by the indexes of 248_indexes_of_noted_records.sql. An export is what it was: the column says nothing that its other
-- columns do not.

create or replace function app.home(with_findings boolean) returns table (part text, kind text, deal_id uuid, deal_title text, count integer, due_at timestamp with time zone, waiting_since timestamp with time zone, id uuid, at timestamp with time zone, user_id uuid, client_id uuid, action text, subject_id text, outcome text, details jsonb, is_own boolean)
language plpgsql stable security definer set search_path = '' set enable_nestloop = 'off' set plan_cache_mode = 'force_generic_plan' as $$
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
    -- Of these the caller may know who holds the exclusivity, and what was offered and decided.
    held as materialized (select array(
      select s.id from sold s where s.mine and (s.role in ('broker', 'seller') or s.holder = s.principal_id) and s.holder is not null) as deals),
    -- What somebody has read, and where there may be more.
    readings as materialized (select r.deal_id, r.read_until from public.answer_readings r where r.user_id = me),
    unread as materialized (
      select array(
        select m.principal_id from mine m
        join (select a.deal_id, a.at from vault.answers_of_people a where a.user_id = me) a on a.deal_id = m.id
        left join readings r on r.deal_id = m.id
        where m.side = 'buyer' and m.goes_on and (r.read_until is null or r.read_until < a.at)) as principals),
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
        left join readings r on r.deal_id = t.deal_id
        where t.status = 'distributed' and t.participant_id = any ((select u.principals from unread u)::uuid[])
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
          where a.deal_id = b.deal_id and a.noted order by a.at desc, a.id desc limit 8) a
        union
        select a.id, a.at, a.user_id, a.client_id, a.deal_id, a.action, a.subject_id, a.outcome, a.details
        from unnest(administered) b (id) cross join lateral (
          select a.* from public.audit_records a
          where a.brokerage_id = b.id and a.noted and a.deal_id is not null
          order by a.at desc, a.id desc limit 8) a
        union
        (select a.id, a.at, a.user_id, a.client_id, a.deal_id, a.action, a.subject_id, a.outcome, a.details
          from own_busiest b cross join lateral (
            select a.* from public.audit_records a
            where b.deals <> '{}' and a.user_id = me and a.noted and a.deal_id = any (b.deals)
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

create or replace function app.latest_activity() returns setof uuid
language plpgsql stable security definer set search_path = '' set plan_cache_mode = 'force_generic_plan' as $$
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
        where a.deal_id = b.id and a.noted order by a.at desc, a.id desc limit 8) a
      union
      select a.id, a.at from unnest(administered) b (id) cross join lateral (
        select a.id, a.at from public.audit_records a
        where a.brokerage_id = b.id and a.noted and a.deal_id is not null
        order by a.at desc, a.id desc limit 8) a
      union
      (select a.id, a.at from public.audit_records a
        where own_busiest <> '{}' and a.user_id = me and a.noted and a.deal_id = any (own_busiest)
        order by a.at desc, a.id desc limit 8)) found
    order by found.at desc, found.id desc limit 8;
end
$$;

create or replace function app.activity_in_sight() returns table (id uuid, at timestamp with time zone, user_id uuid, client_id uuid, deal_id uuid, action text, subject_id text, outcome text, details jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = 'force_generic_plan' as $$
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
        where l.deal_id = own.deal_id and l.noted and l.at > since
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

create or replace function app.deal_activity_in_sight(deal uuid, after_at timestamp with time zone, after_id uuid, most integer) returns table (id uuid, at timestamp with time zone, user_id uuid, client_id uuid, deal_id uuid, action text, subject_id text, outcome text, details jsonb)
language plpgsql stable security definer set search_path = '' as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  one public.audit_records;
  shown int := 0;
begin
  if me is null or app.narrowed_to() is distinct from deal or deal = any (app.deals_acting_as('broker'))
    or (select d.organization_id from public.deals d where d.id = deal) = any (app.brokerages_as('admin'))
  then
    return;
  end if;
  for one in
    select a.* from public.audit_records a
    where a.deal_id = deal and a.noted
      and (after_at is null or (a.at, a.id) < (after_at, after_id))
      and a.user_id is distinct from me and app.subject_of(a.action, a.details) is not null
      and a.subject_id ~ '^[0-9a-f-]{36}$'
    order by a.at desc, a.id desc limit 2000
  loop
    if app.could_open(app.subject_of(one.action, one.details), one.subject_id::uuid, deal) then
      id := one.id; at := one.at; user_id := one.user_id; client_id := one.client_id; deal_id := one.deal_id;
      action := one.action; subject_id := one.subject_id; outcome := one.outcome; details := one.details;
      return next;
      shown := shown + 1;
      exit when shown >= least(most, 200);
    end if;
  end loop;
end
$$;

create or replace function app.export_tables() returns table (name text, columns text[], texts boolean[], by_deal boolean, query text)
language sql stable set search_path = '' as $$
  select t.name, c.columns, c.texts, strpos(r.condition, '$1') = 0,
    format('%sselect to_jsonb(r)::text, array[%s], array[%s] from %s t cross join lateral (select %s) r
      where (%s) and ($3 is null or (%s) > (%s)) order by %s limit $4',
      case when o.key is not null then '/* in order */ ' end, c.cells, k.place, coalesce(o.source, format('public.%I', t.name)), c.taken,
      case when o.key is not null then 't.brokerage_id = $1' else r.condition end, k.key, k.beyond, k.key)
  from app.rows_of_brokerage('any ($2)', false) r
    cross join lateral (select split_part(r.name, '.', 2) as name, case when r.name like 'public.%' then r.name::regclass end as id) t
    -- Of what a brokerage may have very much, in the order of an index that begins with the brokerage: by their primary key it would be read through those of all.
    left join (values
      ('audit_records', null, '{at,id}'::name[]),
      -- Those that are archived have an index of their own.
      ('contacts', (
        select format('(%s)', string_agg(format('(select c.* from public.contacts c where c.brokerage_id = $1 and c.archived_at is %s null
          and ($3 is null or (c.created_at, c.id) > ($3[1]::timestamptz(3), $3[2]::uuid)) order by c.created_at, c.id limit $4)', isnt), ' union all '))
        from unnest('{"",not}'::text[]) isnt), '{created_at,id}')
      ) o (name, source, key) on o.name = t.name
    cross join lateral (
      select array_agg(a.attname::text order by a.attnum) as columns, array_agg(y.typcategory in ('S', 'U', 'A') order by a.attnum) as texts,
        string_agg(format('r.%I::text', a.attname), ', ' order by a.attnum) as cells,
        string_agg(
          case when exists (
            select from pg_catalog.pg_constraint k where k.contype = 'f' and k.conrelid = t.id and k.confrelid = 'public.users'::regclass
              and k.conkey = array[a.attnum])
          then format('case when %s then t.%I end as %I', case
              when t.name = 'deals' or exists (select from pg_catalog.pg_attribute d where d.attrelid = t.id and d.attname = 'deal_id') then 'app.user_id() is null'
              else format('exists (select from public.users u where u.id = t.%I)', a.attname) end, a.attname, a.attname)
          else format('t.%I', a.attname) end, ', ' order by a.attnum) as taken
      from pg_catalog.pg_attribute a join pg_catalog.pg_type y on y.oid = a.atttypid
      where a.attrelid = t.id and a.attnum > 0 and not a.attisdropped and a.attname not in ('storage_key', 'body_cleared_at', 'picture', 'noted')
        and not (a.attname = 'user_id' and t.name in ('members', 'participants')) and has_column_privilege(a.attrelid, a.attnum, 'select')) c
    cross join lateral (
      select string_agg(format('t.%I', p.attname), ', ' order by p.place) as key,
        string_agg(format('t.%I::text', p.attname), ', ' order by p.place) as place,
        string_agg(format('$3[%s]::%s', p.place, format_type(p.atttypid, p.atttypmod)), ', ' order by p.place) as beyond
      from (
        select a.attname, a.atttypid, a.atttypmod, p.place
        from pg_catalog.pg_index i cross join lateral unnest(i.indkey) with ordinality p (attnum, place)
          join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = p.attnum
        where i.indrelid = t.id and i.indisprimary and o.key is null
        union all
        select a.attname, a.atttypid, a.atttypmod, p.place
        from unnest(o.key) with ordinality p (name, place) join pg_catalog.pg_attribute a on a.attrelid = t.id and a.attname = p.name) p) k
  where t.id is not null and c.columns is not null
  order by 1
$$;

drop index public.activity_by_deal, public.activity_by_brokerage, public.activity_by_user, public.audit_by_deal, public.audit_by_brokerage, public.audit_by_user;
drop procedure vault.note_earlier_records();
