-- compatible: the functions that the release before calls take and answer the same.
--
-- Adding a contact by REST: who calls is looked at once, not for each thing that is asked of the caller, and what nearly every
-- address is like is told by one expression.

-- As it was, with what most addresses look like said first.
create or replace function app.is_email_address(email text) returns boolean
language plpgsql immutable strict parallel safe set search_path = '' as $$
declare
  parts text[];
  host text;
  byte constant text := '(25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])';
  ipv4 text;
  address text;
begin
  if length(email) <= 64 and email ~ '^[A-Za-z0-9_+-]+(\.[A-Za-z0-9_+-]+)*@([A-Za-z0-9]+(-+[A-Za-z0-9]+)*\.)+[A-Za-z0-9]+$' then
    -- Not even a label of the host is too long.
    return true;
  end if;
  parts := regexp_match(email, '^(.*)@([^@]*)$');
  host := parts[2];
  if length(email) > 254 or email ~ '[^ -~]' or parts is null or length(parts[1]) > 64
    or parts[1] !~ '^[A-Za-z0-9!#$%&''*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&''*+/=?^_`{|}~-]+)*$'
      and parts[1] !~ '^"([^"\\]|\\.)*"$'
  then
    return false;
  end if;
  if host ~ '^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$' then
    return true;
  end if;
  ipv4 := byte || '(\.' || byte || '){3}';
  if host ~ ('^\[' || ipv4 || '\]$') then
    return true;
  end if;
  if host !~* '^\[ipv6:.*\]$' then
    return false;
  end if;
  -- An IPv4 address at the end stands for two groups.
  address := regexp_replace(substr(host, 7, length(host) - 7), ':' || ipv4 || '$', ':0:0');
  return address ~ '^[0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4}){7}$'
    or address ~ '^([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4}){0,5})?::([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4}){0,5})?$'
      and cardinality(array_remove(regexp_split_to_array(address, ':+'), '')) <= 6;
end
$$;

-- As it was, but that the seal of the identity is looked at once: the contact and its record are written with what it says.
create or replace function app.create_contact(type text, display_name text, email text, phone text, idempotency_key text,
  body_digest bytea, address inet, request_id text)
returns table (id uuid, created_at timestamptz, repeated boolean)
language plpgsql volatile security definer set search_path = '' as $$
declare
  identity constant text := app.identity();
  caller constant uuid := nullif(split_part(identity, ',', 3), '');
  brokerage constant uuid := case when 'contacts:write' = any (string_to_array(split_part(identity, ',', 5), ' '))
    then nullif(split_part(identity, ',', 4), '') end;
  now constant timestamptz(3) := app.now();
  made constant uuid := app.uuid_v7();
  earlier vault.idempotency_keys;
begin
  if brokerage is null or caller is null then
    return;
  end if;
  if idempotency_key is not null then
    insert into vault.idempotency_keys as kept (key_id, idempotency_key, body_digest, contact_id, made_at)
    values (caller, create_contact.idempotency_key, create_contact.body_digest, made, now)
    on conflict on constraint idempotency_keys_pkey do update
      set body_digest = excluded.body_digest, contact_id = excluded.contact_id, made_at = excluded.made_at
      where kept.made_at <= now - interval '24 hours';
    if not found then
      select k.* into strict earlier from vault.idempotency_keys k
      where k.key_id = caller and k.idempotency_key = create_contact.idempotency_key;
      if earlier.body_digest <> create_contact.body_digest then
        perform app.refuse('idempotency_key_reused',
          'This Idempotency-Key was used with another body within the last 24 hours: send the same body, or use a new key.');
      end if;
      perform app.audit('contact.create', earlier.contact_id::text, 'repeated', brokerage, null, address, request_id, '{}');
      return query select earlier.contact_id, earlier.made_at::timestamptz, true;
      return;
    end if;
    delete from vault.idempotency_keys k using (
      select o.key_id, o.idempotency_key from vault.idempotency_keys o
      where o.made_at <= now - interval '24 hours' order by o.made_at limit 5 for update skip locked) o
    where k.key_id = o.key_id and k.idempotency_key = o.idempotency_key;
  end if;
  insert into public.contacts (id, brokerage_id, type, display_name, email, phone, created_by, created_by_key, created_at, updated_at)
  values (made, brokerage, create_contact.type, create_contact.display_name, create_contact.email,
    create_contact.phone, null, caller, now, now);
  insert into public.audit_records (brokerage_id, key_id, address, request_id, action, subject_id, outcome, details)
  values (brokerage, caller, create_contact.address, create_contact.request_id, 'contact.create', made::text, 'done',
    jsonb_build_object('type', create_contact.type));
  id := made;
  created_at := now;
  repeated := false;
  return next;
end
$$;

-- Lists of everything ----------------------------------------------------------------------------------------------------------
--
-- As they were in what they list, with the caller's deals in arrays: what is found by them comes in their order, and is merged without
-- being sorted or kept a second time.

create or replace function app.deals_in_sight(patterns text[] default null, dated boolean default false)
returns table (id uuid, organization_id uuid, title text, industry text, location text, asking_price numeric, state text,
  acts_as text, caller_role text, side text, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamptz,
  exclusivity_expires_at timestamptz, closed_at timestamptz, created_at timestamptz, updated_at timestamptz, active_at timestamptz)
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
  if patterns is not null then
    seen := array(
      select d.id from public.deals d
      where d.id = any (own_deals) and lower(concat_ws(' ', d.title, d.industry, d.location)) like all (patterns)
      union
      select d.id from public.deals d
      where d.organization_id = any (administered) and lower(concat_ws(' ', d.title, d.industry, d.location)) like all (patterns));
  elsif administered <> '{}' then
    seen := array(select unnest(own_deals) union select d.id from public.deals d where d.organization_id = any (administered));
  else
    seen := own_deals;
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
      greatest(d.updated_at, case when k.knows_stage then g.updated_at end),
      case when dated then greatest(d.updated_at, case when k.knows_stage then g.updated_at end,
        case when own.role = 'broker' or d.organization_id = any (administered) then of_all.at else of_own.at end) end
    from public.deals d
    left join unnest(own_deals, own_roles, principals, sides) own (deal_id, role, principal_id, side) on own.deal_id = d.id
    left join (select s.* from public.deal_stages s where s.deal_id = any (seen)) g on g.deal_id = d.id
    left join (select e.* from public.exclusivities e where e.deal_id = any (seen) and e.ended_at is null) x on x.deal_id = d.id
    left join (select a.deal_id, a.at from vault.deal_activity a where dated and a.deal_id = any (seen)) of_all on of_all.deal_id = d.id
    left join (select a.deal_id, a.at from vault.own_activity a where dated and a.user_id = me) of_own on of_own.deal_id = d.id
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

create or replace function app.home_queue(with_findings boolean)
returns table (kind text, deal_id uuid, deal_title text, count int, due_at timestamptz, waiting_since timestamptz)
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  administered constant uuid[] := app.brokerages_as('admin');
  due_by constant date := app.last_day_over(app.now() + interval '7 days');
  overdue_by constant date := app.last_day_over(app.now());
  own_deals uuid[];
  buyers uuid[];
  own_parts uuid[];
  principals uuid[];
  sides text[];
  broker uuid[];
  seller uuid[];
  listed uuid[];
  under_offer uuid[];
  -- Deals before an offer was accepted have neither a stage nor an exclusivity that has not ended.
  sold uuid[];
  sold_roles text[];
  sold_principals uuid[];
  offered uuid[];
begin
  with every as materialized (select p.* from app.participations() p)
    select array_agg(p.deal_id), array_agg(p.principal_id), array_agg(p.principal_role),
        array_agg(p.principal_id) filter (where p.principal_role = 'buyer'), array_agg(p.participant_id) filter (where p.role = 'buyer'),
        array_agg(p.deal_id) filter (where p.role = 'broker'), array_agg(p.deal_id) filter (where p.role = 'seller'),
        array_agg(p.deal_id) filter (where p.role in ('broker', 'seller') and d.state = 'listed'),
        array_agg(p.deal_id) filter (where p.role in ('broker', 'seller') and d.state = 'under_offer'),
        array_agg(p.deal_id) filter (where d.state not in ('draft', 'listed')),
        array_agg(p.role) filter (where d.state not in ('draft', 'listed')), array_agg(p.principal_id) filter (where d.state not in ('draft', 'listed'))
      into own_deals, principals, sides, buyers, own_parts, broker, seller, listed, under_offer, sold, sold_roles, sold_principals
      from every p
      join (select d.id, d.state from public.deals d
        where d.id = any (array(select every.deal_id from every)) and d.state not in ('closed', 'withdrawn')) d on d.id = p.deal_id;
  -- Where offers can still be accepted: listed or under offer, also again, after an exclusivity that has lapsed.
  offered := listed || array(
    select u.id from unnest(under_offer) u (id)
    left join (select s.* from public.deal_stages s where s.deal_id = any (under_offer)) g on g.deal_id = u.id
    left join (select e.* from public.exclusivities e where e.deal_id = any (under_offer) and e.ended_at is null) x on x.deal_id = u.id
    where g.state is null or (g.state = 'exclusivity' and not coalesce(x.expires_at > app.now(), false)));
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
        where t.status = 'distributed' and t.participant_id = any (buyers)
          and (r.read_until is null or r.read_until < coalesce(t.distributed_at, '-infinity'))
        group by t.deal_id
      union all
      select 'ndas_to_sign', t.deal_id, count(*), null, min(t.sent_at)
        from public.ndas t
        where t.status = 'sent' and (t.expires_at is null or t.expires_at > app.now()) and t.participant_id = any (own_parts)
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
        from unnest(sold, sold_roles, sold_principals) own (deal_id, role, principal_id)
        join (select e.* from public.exclusivities e where e.deal_id = any (sold) and e.ended_at is null) x on x.deal_id = own.deal_id
        join (select o.* from public.offers o where o.deal_id = any (sold) and o.is_current) t on t.participant_id = x.participant_id
        left join (select s.* from public.deal_stages s where s.deal_id = any (sold)) g on g.deal_id = own.deal_id
        cross join lateral (select case when own.role = 'broker' then 'offer_changes_to_decide'
          when own.role = 'seller' or t.participant_id = own.principal_id then 'offer_changes_with_broker' end) change (kind)
        where change.kind is not null and (x.expires_at > app.now() or g.state in ('diligence', 'closing'))
          and not exists (select from public.offer_decisions c where c.deal_id = any (sold) and c.offer_id = t.id)
          and exists (select from public.offer_decisions c
            where c.deal_id = any (sold) and c.participant_id = x.participant_id and c.decision = 'accepted' and c.decided_at >= x.granted_at)
        group by change.kind, t.deal_id
      union all
      -- A week ahead: one's own, and for brokers those that nobody has or nobody has met in time.
      select 'conditions_due', t.deal_id, count(*), app.end_of(min(t.deadline)), null
        from (
          select c.id, c.deal_id, c.deadline from public.closing_conditions c
          left join unnest(own_deals, principals, sides) own (deal_id, principal_id, side) on own.deal_id = c.deal_id
          left join (select s.* from vault.selected_buyers s where s.deal_id = any (sold)) chosen on chosen.participant_id = own.principal_id
          where c.owner_user_id = me and c.status in ('open', 'in_progress') and c.deadline <= due_by
            and (own.side in ('broker', 'seller', 'viewer') or (own.side = 'buyer' and chosen.participant_id is not null)
              or (administered <> '{}' and exists (select from public.deals d
                where d.id = c.deal_id and d.organization_id = any (administered) and d.state not in ('closed', 'withdrawn'))))
          union
          select c.id, c.deal_id, c.deadline from public.closing_conditions c
          where c.deal_id = any (broker) and c.status in ('open', 'in_progress') and c.deadline <= due_by
            and (c.owner_user_id is null or c.deadline <= overdue_by)) t
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
