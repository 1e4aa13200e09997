-- Two plans went through more than they needed: every decision on an offer of the platform, and every contact of a brokerage.

-- What waits for the caller on each of their deals that goes on, what is due or has waited longest first, at most 200.
-- As the policies of questions, ndas, offers, exclusivities, closing_conditions and findings have it.
create or replace function app.home_queue(with_findings boolean)
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

-- The contacts of a brokerage whose text is like all of the patterns, in an order ('created_at', 'display_name', with '-' in front
-- backwards), those behind a place, at most so many; none when the caller may not read them. Words
-- are found first and sorted then: one that nobody has would otherwise be looked for in all contacts in their order.
create or replace function app.contact_list(brokerage uuid, archived boolean, patterns text[], sort text, after_key text, after_id uuid, most int)
returns table (id uuid, type text, display_name text, email text, phone text, archived_at timestamptz, created_at timestamptz,
  updated_at timestamptz, place text)
language plpgsql stable security definer set search_path = '' as $$
declare
  by_name constant boolean := ltrim(sort, '-') = 'display_name';
  key constant text := case when by_name then '"left"(lower(c.display_name), 100)' else 'c.created_at' end;
  backwards constant boolean := starts_with(sort, '-');
begin
  if not brokerage = any (app.brokerages_for('contacts:read')) or (archived and app.key_id() is not null) then
    return;
  end if;
  return query execute format(
    case when cardinality(patterns) = 0 then
      'select c.id, c.type, c.display_name, c.email, c.phone, c.archived_at::timestamptz, c.created_at::timestamptz, c.updated_at::timestamptz, (%1$s)::text
       from public.contacts c where c.brokerage_id = $1 and c.archived_at is %2$s null %4$s'
    else
      'with c as materialized (
         select c.* from public.contacts c where c.brokerage_id = $1 and c.archived_at is %2$s null %3$s)
       select c.id, c.type, c.display_name, c.email, c.phone, c.archived_at::timestamptz, c.created_at::timestamptz, c.updated_at::timestamptz, (%1$s)::text
       from c where true %4$s'
    end || ' order by %1$s %5$s, c.id %5$s limit $4',
    key,
    case when archived then 'not' end,
    (select string_agg(format('and app.contact_text(c.display_name, c.email, c.phone) like %L', pattern), ' ') from unnest(patterns) pattern),
    case when after_key is not null
      then format('and (%s, c.id) %s ($2::%s, $3)', key, case when backwards then '<' else '>' end, case when by_name then 'text' else 'timestamptz' end) end,
    case when backwards then 'desc' else 'asc' end)
    using brokerage, after_key, after_id, most;
end
$$;
