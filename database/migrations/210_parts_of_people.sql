-- compatible: a table is replaced by one with more columns, which triggers keep as before; functions answer the same.
--
-- Lists of everything looked for the parts of somebody, and then for what lists tell of these deals: two ranges of ten thousand rows, joined. An advisor's part holds while those
-- whom they advise have theirs, which was looked for with each of a thousand among millions: 4 ms of every list. Now one range has all of it, and an advisor of whoever left has
-- no row.

create table vault.deals_of_people_anew (
  user_id uuid not null,
  deal_id uuid not null,
  organization_id uuid not null,
  title text not null,
  industry text,
  location text,
  asking_price numeric(20,4),
  state text not null,
  closed_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- Of its stage, and of the exclusivity that has not ended.
  stage text,
  stage_updated_at timestamptz,
  holder_id uuid,
  buyer_user_id uuid,
  granted_at timestamptz,
  expires_at timestamptz,
  -- What the person is on it; of an advisor also whom they advise, and what these are.
  participant_id uuid not null,
  role text not null,
  principal_id uuid not null,
  side text not null,
  constraint deals_of_people_anew_pkey primary key (user_id, deal_id) include (organization_id, title, industry, location, asking_price, state, closed_at, created_at, updated_at,
    stage, stage_updated_at, holder_id, buyer_user_id, granted_at, expires_at, participant_id, role, principal_id, side)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
select app.protect('vault.deals_of_people_anew');

-- What the rows of the table are made of.
create view vault.deals_of_parts_anew as
  select p.user_id, p.deal_id, d.organization_id, d.title, d.industry, d.location, d.asking_price, d.state, d.closed_at, d.created_at, d.updated_at,
    g.state as stage, g.updated_at as stage_updated_at, x.participant_id as holder_id, x.buyer_user_id, x.granted_at, x.expires_at,
    p.id as participant_id, p.role, coalesce(p.advises, p.id) as principal_id, case when p.advises is null then p.role else a.role end as side
  from public.participants p
  join public.deals d on d.id = p.deal_id
  left join public.deal_stages g on g.deal_id = d.id
  left join public.exclusivities x on x.deal_id = d.id and x.ended_at is null
  left join public.participants a on a.id = p.advises and a.status = 'active'
  where p.status = 'active' and (p.advises is null or a.id is not null);

-- Everything that is there, while others write; then, while they wait, what came meanwhile.
insert into vault.deals_of_people_anew select p.* from vault.deals_of_parts_anew p order by p.user_id, p.deal_id;
lock table public.participants, public.deals, public.deal_stages, public.exclusivities in share row exclusive mode;
do $$
declare
  since constant timestamptz := now() - interval '1 day';
  changed constant uuid[] := array(
    select d.id from public.deals d where d.updated_at > since
    union select g.deal_id from public.deal_stages g where g.updated_at > since
    union select p.deal_id from public.participants p where p.updated_at > since
    union select x.deal_id from public.exclusivities x where greatest(x.granted_at, x.changed_at, x.ended_at) > since);
begin
  -- For others wait meanwhile.
  perform set_config('work_mem', '256MB', true);
  delete from vault.deals_of_people_anew o where o.deal_id = any (changed);
  insert into vault.deals_of_people_anew select p.* from vault.deals_of_parts_anew p where p.deal_id = any (changed);
  -- Of brokerages that were deleted and sandboxes that were reset meanwhile.
  delete from vault.deals_of_people_anew o
    where o.organization_id not in (select b.id from public.brokerages b)
      or (o.organization_id in (select b.id from public.brokerages b where b.sandbox_of is not null)
        and not exists (select from public.deals d where d.id = o.deal_id));
end
$$;
drop view vault.deals_of_parts;
drop table vault.deals_of_people;
alter view vault.deals_of_parts_anew rename to deals_of_parts;
alter table vault.deals_of_people_anew rename to deals_of_people;
do $$
declare
  own record;
begin
  for own in select k.conname from pg_catalog.pg_constraint k where k.conrelid = 'vault.deals_of_people'::regclass loop
    execute format('alter table vault.deals_of_people rename constraint %I to %I', own.conname, replace(own.conname, '_anew', ''));
  end loop;
end
$$;

create or replace function app.keep_deals_of_people() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
  people uuid[];
begin
  if tg_op <> 'DELETE' and new.status = 'active' then
    -- Whoever changes the deal meanwhile is waited for, or waits and finds the row.
    perform from public.deals d where d.id = new.deal_id for no key update;
  elsif tg_op <> 'INSERT' and old.status = 'active' then
    -- Whoever writes the rows of those whom they advise, or of their advisors, meanwhile is waited for, or waits and finds that they have left.
    perform from public.deals d where d.id = old.deal_id for share;
  end if;
  if tg_op <> 'INSERT' then
    delete from vault.deals_of_people o where o.user_id = old.user_id and o.deal_id = old.deal_id;
  end if;
  if tg_op <> 'DELETE' then
    people := array[new.user_id];
    if tg_op = 'UPDATE' and new.advises is null then
      people := people || array(select a.user_id from public.participants a where a.advises = new.id);
    end if;
    delete from vault.deals_of_people o where o.user_id = any (people) and o.deal_id = new.deal_id;
    insert into vault.deals_of_people select p.* from vault.deals_of_parts p where p.user_id = any (people) and p.deal_id = new.deal_id;
  end if;
  return null;
end
$$;
create or replace trigger keep_deals_of_people after insert or delete or update of user_id, deal_id, role, status, advises on participants
  for each row execute function app.keep_deals_of_people();

-- What somebody takes an active part in.
create or replace function app.own_parts(me uuid, barred uuid[], narrowed uuid)
returns table (deal_id uuid, participant_id uuid, role text, principal_id uuid, side text)
language sql stable
begin atomic
  select o.deal_id, o.participant_id, o.role, o.principal_id, o.side from vault.deals_of_people o
  where o.user_id = me and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed);
end;

-- From here on functions answer as before, from one range of the table each.
create or replace function app.deals_in_sight(patterns text[] default null, dated boolean default false)
returns table(id uuid, organization_id uuid, title text, industry text, location text, asking_price numeric, state text, acts_as text, caller_role text, side text, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamptz, exclusivity_expires_at timestamptz, closed_at timestamptz, created_at timestamptz, updated_at timestamptz, active_at timestamptz)
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
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
    -- The others of the brokerages that the caller administers.
    others as materialized (
      select d.id, d.organization_id, d.title, d.industry, d.location, d.asking_price, d.state, d.closed_at, d.created_at, d.updated_at from public.deals d
      where d.organization_id = any (administered) and (patterns is null or lower(concat_ws(' ', d.title, d.industry, d.location)) like all (patterns))
        and not exists (select from seen where seen.deal_id = d.id)),
    known as (
      select s.deal_id as id, s.organization_id, s.title, s.industry, s.location, s.asking_price, s.state, s.closed_at, s.created_at, s.updated_at, s.role, s.principal_id,
        s.side, s.stage, s.stage_updated_at, s.holder_id, s.buyer_user_id, s.granted_at, s.expires_at
      from seen s
      union all
      select d.id, d.organization_id, d.title, d.industry, d.location, d.asking_price, d.state, d.closed_at, d.created_at, d.updated_at, null, null,
        null, g.state, g.updated_at, x.participant_id, x.buyer_user_id, x.granted_at, x.expires_at
      from others d
      left join (select s.* from public.deal_stages s where s.deal_id = any (array(select o.id from others o))) g on g.deal_id = d.id
      left join (select e.* from public.exclusivities e where e.deal_id = any (array(select o.id from others o)) and e.ended_at is null) x on x.deal_id = d.id)
    select d.id, d.organization_id, d.title, d.industry, d.location, d.asking_price,
      case when k.lapsed and d.state in ('under_offer', 'exclusivity') then 'listed' when k.knows_stage then coalesce(d.stage, d.state) else d.state end,
      d.role,
      case
        when d.role = 'broker' then 'broker_assigned'
        when k.shows_exclusivity and d.buyer_user_id = me and k.runs then 'exclusive_buyer'
        when d.role in ('seller', 'buyer', 'advisor') then 'participant'
        else 'viewer'
      end,
      case when d.side in ('broker', 'seller', 'buyer') then d.side else 'viewer' end,
      case when k.shows_exclusivity then d.buyer_user_id end, case when k.shows_exclusivity then d.granted_at end,
      case when k.shows_exclusivity then d.expires_at end, d.closed_at, d.created_at,
      greatest(d.updated_at, case when k.knows_stage then d.stage_updated_at end),
      case when dated then greatest(d.updated_at, case when k.knows_stage then d.stage_updated_at end, 
        case when d.role = 'broker' or d.organization_id = any (administered) then of_all.at else of_own.at end) end
    from known d
    -- Who runs a deal is told when something was last done on it, everybody else when they did; nothing is read where nobody asks.
    left join (select a.deal_id, a.at from vault.deal_activity a
      where a.deal_id = any (case when dated then array(
        select s.deal_id from seen s where s.role = 'broker' or s.organization_id = any (administered) union all select o.id from others o) end)) of_all
      on of_all.deal_id = d.id
    left join (select a.deal_id, a.at from vault.own_activity a where a.user_id = case when dated then me end) of_own
      on of_own.deal_id = d.id
    cross join lateral (select
      d.side in ('broker', 'seller', 'viewer') or d.organization_id = any (administered) as of_the_deal,
      coalesce(d.holder_id = d.principal_id, false) as of_the_exclusive_buyer,
      coalesce(d.expires_at > now, false) as runs) w
    cross join lateral (select coalesce(w.of_the_deal, false)
        or (d.side = 'buyer' and w.of_the_exclusive_buyer and (w.runs or d.stage is distinct from 'exclusivity')) as knows_stage,
      d.stage is not null and d.stage = 'exclusivity' and not w.runs as lapsed) s
    cross join lateral (select s.knows_stage, s.lapsed, w.runs,
      (coalesce(w.of_the_deal, false) or w.of_the_exclusive_buyer)
        and (w.runs or (s.knows_stage and d.stage is not null and d.stage <> 'exclusivity') or d.state = 'closed') as shows_exclusivity) k;
end
$$;

create or replace function app.brokerages_of_deals()
returns uuid[]
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
declare
  identity constant text := app.identity();
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(identity);
  narrowed constant uuid := app.narrowed_to();
begin
  if current_setting('dealkeep.identity', true) like ',%' then
    return array_remove(array[nullif(split_part(identity, ',', 4), '')::uuid], null);
  elsif narrowed is not null then
    return array(select d.organization_id from public.deals d where d.id = narrowed and split_part(identity, ',', 12) <> '');
  end if;
  return array(
    select distinct o.organization_id from vault.deals_of_people o where o.user_id = me and o.organization_id <> all (barred));
end
$$;

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
    -- What the caller is on these, and on no others: ten thousand would be looked through with each of them.
    select coalesce(array_agg(p.deal_id), '{}'), array_agg(p.role), array_agg(p.principal_id), array_agg(p.side)
      into own_deals, own_roles, principals, sides
      from app.own_parts(me, barred, narrowed) p where p.deal_id = any (candidates[begun + 1 : begun + of_part]);
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
    -- What the caller is on these, and on no others: ten thousand would be looked through with each of them.
    select coalesce(array_agg(p.deal_id), '{}'), array_agg(p.role), array_agg(p.principal_id), array_agg(p.side)
      into own_deals, own_roles, principals, sides
      from app.own_parts(me, barred, narrowed) p where p.deal_id = any (candidates[begun + 1 : begun + of_part]);
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

create or replace function app.home(with_findings boolean)
returns table(part text, kind text, deal_id uuid, deal_title text, count integer, due_at timestamptz, waiting_since timestamptz, id uuid, at timestamptz, user_id uuid, client_id uuid, action text, subject_id text, outcome text, details jsonb, is_own boolean)
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

create or replace function app.deadlines()
returns table(subject text, subject_id uuid, deal_id uuid, deal_title text, due_at timestamptz, due_on date, own boolean, begun_at timestamptz, changed_at timestamptz)
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  now constant timestamptz := app.now();
  until constant timestamptz := now + interval '2 years';
  deals uuid[];
  principals uuid[];
  sides text[];
  titles text[];
  -- Of buyers only that with the exclusivity is told when it ends, and of conditions.
  informed uuid[];
  -- Which of these are exclusive yet.
  exclusive uuid[];
  -- Who the conditions are for.
  selected uuid[];
begin
  if me is null or app.client_id() is not null then
    return;
  end if;
  select array_agg(o.deal_id), array_agg(o.principal_id), array_agg(o.side), array_agg(o.title),
      array_agg(case when o.expires_at > now or o.stage is distinct from 'exclusivity' then o.holder_id end),
      array_agg(o.deal_id) filter (where o.side <> 'buyer' or o.holder_id = o.principal_id),
      array_agg(o.deal_id) filter (where (o.side <> 'buyer' or o.holder_id = o.principal_id) and o.expires_at > now and o.expires_at <= until)
    into deals, principals, sides, titles, selected, informed, exclusive
    from vault.deals_of_people o
    where o.user_id = me and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed) and o.state not in ('closed', 'withdrawn');
  return query
    -- `participant_id`: whose side it concerns, where the others on the buyers' side do not see it.
    with due (subject, subject_id, deal_id, participant_id, due_at, due_on, owner_user_id, begun_at, changed_at) as (
      select 'offers', t.id, t.deal_id, t.participant_id, t.expires_at, null::date, null::uuid, t.submitted_at, t.submitted_at
        from (select c.id, c.deal_id, c.participant_id, c.submitted_at, app.time_in(c.payload ->> 'expires_at') as expires_at
          from public.offers c where c.deal_id = any (deals) and c.is_current and c.payload ->> 'expires_at' is not null
          offset 0) t
        where t.expires_at > now and t.expires_at <= until
          and t.id <> all (array(select x.offer_id from public.offer_decisions x where x.deal_id = any (deals)))
      union all
      select 'exclusivities', x.id, x.deal_id, x.participant_id, x.expires_at, null, null, x.granted_at, coalesce(x.changed_at, x.granted_at)
        from public.exclusivities x
        where x.deal_id = any (exclusive) and x.ended_at is null and x.expires_at > now and x.expires_at <= until
      union all
      select 'ndas', n.id, n.deal_id, n.participant_id, n.expires_at, null, null, n.signed_at, n.signed_at
        from public.ndas n
        where n.deal_id = any (deals) and n.status = 'active' and n.expires_at > now and n.expires_at <= until
      union all
      select 'closing_conditions', c.id, c.deal_id, null, app.end_of(c.deadline), c.deadline, c.owner_user_id, c.created_at, c.updated_at
        from public.closing_conditions c
        where c.deal_id = any (informed) and c.status in ('open', 'in_progress')
          and c.deadline between (now - interval '60 days')::date and until::date),
    first as (
      select w.*, o.title, case w.subject when 'closing_conditions' then w.owner_user_id is not distinct from me else w.participant_id = o.principal_id end as own
      from due w join unnest(deals, principals, sides, titles, selected) o (deal_id, principal_id, side, title, selected) on o.deal_id = w.deal_id
      where o.side in ('broker', 'seller') or o.principal_id = case w.subject when 'closing_conditions' then o.selected else w.participant_id end
        or (o.side = 'viewer' and w.subject in ('exclusivities', 'closing_conditions'))
      order by w.due_at, w.subject_id limit 1000)
    select f.subject, f.subject_id, f.deal_id, f.title, f.due_at, f.due_on, f.own, f.begun_at, f.changed_at
    from first f order by f.due_at, f.subject_id;
end
$$;
