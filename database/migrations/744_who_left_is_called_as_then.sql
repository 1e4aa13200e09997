-- compatible: the release before shows people who have left under the name that they have now, as it did.
--
-- Somebody who had left a deal or a brokerage was followed for ever: whoever still saw them there saw each new name and address, of another employer too, and webhooks sent it. Now they are shown
-- there as they were called when they left. Null, as in all rows of before, is the present name: whoever has left since then changes it next, and it is written down first (app.note_renamed).

alter table public.participants add column left_name text, add column left_email text;
alter table public.members add column left_name text, add column left_email text;

CREATE OR REPLACE FUNCTION app.note_joining()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $$
begin
  if new.status = 'active' and old.status <> 'active' then
    new.joined_at := app.now();
  elsif new.status = 'active' or (tg_op = 'INSERT' and new.status = 'removed') then
    new.joined_at := coalesce(new.joined_at, app.now());
  elsif new.joined_at is null and new.invited_email is null then
    select u.name, u.email into new.invited_name, new.invited_email from public.users u where u.id = new.user_id;
  end if;
  -- Inviting somebody back tells nobody what they are called now: that takes their answer.
  if new.status = 'active' then
    new.left_name := null;
    new.left_email := null;
  elsif new.status = 'removed' and new.joined_at is not null and (tg_op = 'INSERT' or old.status = 'active') then
    select u.name, u.email into new.left_name, new.left_email from public.users u where u.id = new.user_id;
  end if;
  return new;
end
$$;

CREATE OR REPLACE FUNCTION app.note_renamed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $$
begin
  -- Counted as mails from somebody are, which goes with their account; whoever is erased is not refused.
  if new.name is distinct from old.name and new.id = app.user_id() and new.erased_at is null
    and not app.count_mail('renames from ' || new.id, 'day', 20)
  then
    perform app.refuse_until('too_many_today', 'You have changed your name 20 times today, which is the limit: change it again after %s.',
      date_trunc('day', app.now(), 'UTC') + interval '1 day');
  end if;
  insert into public.change_events (brokerage_id, about_deal, object_type, object_id, change)
    select p.brokerage_id, p.deal_id, 'participant', p.id, 'updated' from public.participants p
    where p.user_id = new.id and p.joined_at is not null and (p.status = 'active' or new.erased_at is not null);
  -- Where they left before this was written down, they are called as until now.
  if new.erased_at is null then
    update public.participants p set left_name = old.name, left_email = old.email
      where p.user_id = new.id and p.status <> 'active' and p.joined_at is not null and p.left_name is null;
    update public.members m set left_name = old.name, left_email = old.email
      where m.user_id = new.id and m.status <> 'active' and m.joined_at is not null and m.left_name is null;
  end if;
  return null;
end
$$;

CREATE OR REPLACE FUNCTION app.closing_warnings(deal_id uuid)
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $$
declare
  warnings text[] := '{}';
  open_conditions text[];
  questions int;
  selected uuid;
  buyer text;
  takes_part boolean;
begin
  if not deal_id = any (app.deals_acting_as('broker', 'deals:write')) then
    return '{}';
  end if;
  select array_agg(c.name order by c.deadline nulls last, c.id) into open_conditions from public.closing_conditions c
    where c.deal_id = closing_warnings.deal_id and c.status in ('open', 'in_progress');
  if cardinality(open_conditions) = 1 then
    warnings := array_append(warnings, format('A closing condition is not met: %s.', open_conditions[1]));
  elsif cardinality(open_conditions) > 1 then
    warnings := array_append(warnings, format('%s closing conditions are not met: %s%s.', cardinality(open_conditions),
      array_to_string(open_conditions[1:5], ', '), case when cardinality(open_conditions) > 5 then ' and others' end));
  end if;
  select x.participant_id, coalesce(p.left_name, u.name), p.role = 'buyer' and p.status = 'active' into selected, buyer, takes_part
    from public.exclusivities x
    join public.participants p on p.id = x.participant_id
    join public.users u on u.id = x.buyer_user_id
    where x.deal_id = closing_warnings.deal_id and x.ended_at is null;
  if selected is null then
    warnings := array_append(warnings, 'No buyer holds the exclusivity: the record will not say who bought.');
  elsif not takes_part then
    warnings := array_append(warnings, format('%s, who holds the exclusivity, is no longer a buyer on the deal.', buyer));
  end if;
  if app.accepted_offer(deal_id) is null then
    warnings := array_append(warnings, 'No offer is accepted: the record will not say on which terms.');
  elsif exists (select from public.offers o where o.deal_id = closing_warnings.deal_id and o.participant_id = selected and o.is_current
    and not exists (select from public.offer_decisions c where c.offer_id = o.id))
  then
    warnings := array_append(warnings, 'A proposed change to the accepted terms is not decided.');
  end if;
  if not (select d.needs_nda from public.deals d where d.id = closing_warnings.deal_id) then
    null;
  elsif selected is not null and not exists (select from vault.active_ndas n where n.participant_id = selected) then
    warnings := array_append(warnings, format('%s has no active NDA.', buyer));
  elsif selected is null and not exists (select from vault.active_ndas n where n.deal_id = closing_warnings.deal_id) then
    warnings := array_append(warnings, 'Nobody has an active NDA.');
  end if;
  select count(*) into questions from public.questions q
    where q.deal_id = closing_warnings.deal_id and q.status in ('pending_broker_review', 'with_seller', 'answered');
  if questions = 1 then
    warnings := array_append(warnings, 'A question is still without its answer.');
  elsif questions > 1 then
    warnings := array_append(warnings, format('%s questions are still without their answers.', questions));
  end if;
  -- A key has to confirm what is missing (app.may_move); what it is may be of scopes that the key lacks.
  if warnings <> '{}' and app.key_id() is not null then
    return '{"Something is missing for a closing."}';
  end if;
  return warnings;
end
$$;

CREATE OR REPLACE FUNCTION app.enter_with_token(presented bytea, resource text, of_table text DEFAULT NULL::text, record uuid DEFAULT NULL::uuid, tool text DEFAULT NULL::text, subject text DEFAULT NULL::text, on_deal uuid DEFAULT NULL::uuid, address inet DEFAULT NULL::inet, request_id text DEFAULT NULL::text, record_id uuid DEFAULT NULL::uuid, tells text DEFAULT NULL::text, most_uploads integer DEFAULT NULL::integer, most_adjustments integer DEFAULT NULL::integer, held text[] DEFAULT NULL::text[])
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET enable_seqscan TO 'off'
AS $$
declare
  deal constant uuid := case when of_table = 'deals' then record when of_table is not null then app.deal_of(of_table, record) end;
  person uuid;
  user_name text;
  client_id uuid;
  client_name text;
  family_id uuid;
  scopes text[];
  expires_at timestamptz;
  asking uuid[];
  administered uuid[];
  secret bytea;
  identity text;
  participant uuid;
  deal_role text;
  principal uuid;
  principal_role text;
  side text;
  tenant uuid;
  title text;
  state text;
  closed_at timestamptz;
  created_at timestamptz;
  updated_at timestamptz;
  stage text;
  staged_at timestamptz;
  holder uuid;
  buyer uuid;
  granted_at timestamptz;
  ends_at timestamptz;
  knows_all boolean;
  knows_seller boolean;
  knows_stage boolean;
  is_selected boolean;
  runs boolean;
  settled text;
  is_unheld boolean;
  told json;
begin
  -- The client works for the person as vault.working_clients has it. An answer to a call that reads does not wait for the disk.
  select f.user_id, u.name, f.client_id, c.name, f.id, t.scopes, t.expires_at,
    array(select k.brokerage_id from public.members k where k.user_id = f.user_id and k.status = 'active'
      and (select b.requires_second_factor from public.brokerages b where b.id = k.brokerage_id)),
    d.participant_id, d.role, d.principal_id, d.side, case when tells is not null then d.side end, coalesce(d.side, '') <> 'buyer',
    d.organization_id, d.title, d.state, d.closed_at, d.created_at, d.updated_at, d.stage, d.stage_updated_at,
    d.holder_id, d.buyer_user_id, d.granted_at, d.expires_at,
    case when tool is not null then set_config('synchronous_commit', 'off', true) end
  into person, user_name, client_id, client_name, family_id, scopes, expires_at,
    asking, participant, deal_role, principal, principal_role, side, knows_all,
    tenant, title, state, closed_at, created_at, updated_at, stage, staged_at,
    holder, buyer, granted_at, ends_at,
    identity
  from (select k.family_id, k.scopes, k.expires_at from vault.access_tokens k
    where k.digest = presented and k.expires_at > app.now() and k.revoked_at is null offset 0) t
  cross join lateral (select y.id, y.user_id, y.client_id from vault.token_families y
    where y.id = t.family_id and y.revoked_at is null and y.ends_at > app.now() and y.resource = enter_with_token.resource offset 0) f
  cross join lateral (select k.name, k.brokerage_id, k.created_by from public.connected_clients k
    where k.id = f.client_id and k.deleted_at is null and not k.disabled offset 0) c
  cross join lateral (select k.name from public.users k where k.id = f.user_id and k.suspended_at is null offset 0) u
  left join lateral (select k.participant_id, k.role, k.principal_id, k.side, k.organization_id, k.title, k.state, k.closed_at, k.created_at, k.updated_at,
      k.stage, k.stage_updated_at, k.holder_id, k.buyer_user_id, k.granted_at, k.expires_at from vault.deals_of_people k
    where k.user_id = f.user_id and k.deal_id = deal offset 0) d on true
  where case when c.brokerage_id is null then c.created_by = f.user_id
    else exists (select from public.members k where k.brokerage_id = c.brokerage_id and k.user_id = f.user_id and k.status = 'active') end;
  if not found then
    return null;
  end if;
  if asking <> '{}' or side is null or side not in ('broker', 'seller') then
    if asking <> '{}' then
      -- A client shows no second factor: it is enough that the person has one.
      if app.has_second_factor(person) then
        asking := '{}';
      elsif tenant = any (asking) then
        side := null;
      end if;
    end if;
    -- Who has no part in it may be an admin of its brokerage.
    if tenant is null and deal is not null then
      select d.organization_id into tenant from public.deals d where d.id = deal;
    end if;
    if asking <> '{}' or side is null or side not in ('broker', 'seller') then
      if participant is null and of_table is not null then
        -- The same work whether there is such a deal or not.
        administered := array(select m.brokerage_id from public.members m where m.user_id = person
          and m.status = 'active' and m.role = 'admin' and m.brokerage_id <> all (asking));
      end if;
      select s.secret into secret from vault.seal s;
      identity := concat(person, ',', client_id, ',,,', array_to_string(scopes, ' '), ',,', array_to_string(asking, ' '),
        case when of_table is not null then ',' || app.standing_of(deal, tenant, asking, administered, participant, deal_role,
          principal, principal_role) end);
      identity := concat(set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', app.seal_of(identity, secret), true));
      if tool is not null and asking <> '{}' then
        perform app.check_second_factor();
      end if;
      if tells is not null then
        side := coalesce(side, case when tenant = any (administered) then '' end);
      end if;
    end if;
    if tells = 'deal' and side is not null and title is null then
      -- An admin has no row of their own.
      select d.title, d.state, d.closed_at, d.created_at, d.updated_at, g.state, g.updated_at, x.participant_id, x.buyer_user_id, x.granted_at, x.expires_at
      into title, state, closed_at, created_at, updated_at, stage, staged_at, holder, buyer, granted_at, ends_at
      from public.deals d
      left join public.deal_stages g on g.deal_id = d.id
      left join public.exclusivities x on x.deal_id = d.id and x.ended_at is null
      where d.id = deal;
    end if;
  end if;
  if tells = 'deal' and title is not null and side in ('', 'broker', 'seller', 'viewer', 'buyer') then
    -- All but a buyer's side know of everybody and how it stands.
    if not knows_all then
      knows_all := tenant = any (app.brokerages_as('admin'));
      if not knows_all then
        knows_seller := exists (select from public.deals d where d.id = deal and not d.needs_nda)
          or exists (select from vault.active_ndas n where n.participant_id = principal);
      end if;
    end if;
    if stage is not null or holder is not null then
      is_selected := coalesce(holder = principal, false);
      runs := coalesce(ends_at > app.now(), false);
      knows_stage := knows_all or is_selected and (runs or stage is distinct from 'exclusivity');
      if not ((knows_all or is_selected) and (runs or state = 'closed' or coalesce(knows_stage and stage <> 'exclusivity', false))) then
        buyer := null;
        granted_at := null;
        ends_at := null;
      end if;
      if knows_stage then
        state := coalesce(stage, state);
        updated_at := greatest(updated_at, staged_at);
      end if;
      if stage = 'exclusivity' and not runs and state in ('under_offer', 'exclusivity') then
        state := 'listed';
      end if;
    end if;
    -- One table after the other, each by its index, however few rows there are.
    told := json_build_array(deal, title, state, tenant, buyer, granted_at::text, ends_at::text, closed_at::text, created_at::text, updated_at::text, (
      select json_agg(json_build_array(k.person_id, k.role, k.status, k.name, k.advises, k.nda_status)) from (
        select p.person_id, p.role, p.status, case when p.joined_at is null then p.invited_name else coalesce(p.left_name, u.name) end as name,
          case when p.role = 'advisor' then (select a.role from public.participants a where a.id = p.advises) end as advises,
          case when p.role = 'buyer' and (side in ('broker', 'seller') or p.id = principal) then coalesce((
            select case when n.status in ('sent', 'active') and n.expires_at <= app.now() then 'expired' else n.status end
            from public.ndas n where n.participant_id = p.id order by n.status = 'active' desc, n.sent_at desc, n.id desc limit 1), 'none') end as nda_status
        from public.participants p
        cross join lateral (select k.name from public.users k where k.id = p.user_id offset 0) u
        where p.deal_id = deal and (knows_all or coalesce(p.advises, p.id) = principal
          or p.status = 'active' and (p.role = 'broker' or p.role = 'seller' and knows_seller))
        order by p.created_at, p.id) k));
  elsif tells = 'offers' and side is not null then
    settled := vault.digest_of_books(deal, side in ('broker', 'seller') or deal = any (app.qoe_deals(false)), most_uploads, most_adjustments);
    is_unheld := settled <> all (held);
    told := case when is_unheld then 'false'
      else json_build_array(vault.offers_told(deal, side, principal), settled, app.now()::text) end;
  end if;
  if tool is not null and is_unheld is not true then
    -- A record is filed under the brokerage of its deal: on a deal that the caller does not see it names the deal, and stays theirs alone.
    if participant is null and (tenant = any (administered)) is not true then
      subject := coalesce(subject, on_deal::text);
      on_deal := null;
    end if;
    insert into public.audit_records (id, at, brokerage_id, deal_id, user_id, client_id, address, request_id, action, subject_id, outcome, noted)
    values (record_id, app.now(), case when on_deal = deal then tenant end, on_deal, person, client_id, enter_with_token.address,
      enter_with_token.request_id, 'tool:' || tool, subject, 'ok', false);
  end if;
  return json_build_array(person, client_id, client_name, family_id, scopes, expires_at::text, user_name, deal_role, told);
end
$$;

CREATE OR REPLACE FUNCTION app.latest_deals(in_state text, brokerage text, at_most integer)
 RETURNS TABLE(id uuid, title text, state text, organization_id uuid, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamp with time zone, exclusivity_expires_at timestamp with time zone, closed_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone, caller_role text, exclusive_buyer_person text[])
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_nestloop TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  administered constant uuid[] := app.brokerages_as('admin');
  -- A stage that not everybody may know stands beside this state; a state may also be shown because that stage is over.
  states constant text[] := array[in_state, 'under_offer', 'exclusivity'];
  of_brokerage constant uuid := app.brokerage_named(brokerage);
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
    return query
      select k.id, k.title, k.state, k.organization_id, k.exclusive_buyer_user_id, k.exclusivity_granted_at, k.exclusivity_expires_at, k.closed_at,
        k.created_at, k.updated_at, k.caller_role,
        case when k.exclusive_buyer_user_id is not null then (
          select array[p.user_id::text, coalesce(p.left_name, (select u.name from public.users u where u.id = p.user_id)), p.role]
          from public.participants p where p.deal_id = k.id and p.user_id = k.exclusive_buyer_user_id and p.joined_at is not null) end
      from app.deals_as_known(me, administered, barred, narrowed, candidates[begun + 1 : begun + of_part]) k
      where in_state is null or k.state = in_state
      order by k.created_at desc, k.id desc limit at_most - told;
    get diagnostics more = row_count;
    told := told + more;
    begun := begun + of_part;
    of_part := of_part * 8;
  end loop;
end
$$;

CREATE OR REPLACE FUNCTION app.person_in_sight(person uuid, deal uuid)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $$
declare
  narrowed constant uuid := app.narrowed_to();
  whole constant text := app.whole_identity();
  identity constant text := current_setting('dealkeep.identity', true);
  seal constant text := current_setting('dealkeep.seal', true);
  part uuid;
  found text;
begin
  if app.user_id() is null or (narrowed is not null and narrowed <> deal) then
    return null;
  end if;
  select p.id, coalesce(p.left_name, u.name) into part, found from public.participants p join public.users u on u.id = p.user_id
    where p.deal_id = deal and p.user_id = person and p.joined_at is not null;
  if part is null then
    return null;
  end if;
  if narrowed is null then
    perform app.seal(whole || ',' || app.standing(app.user_id(), app.barred_in(whole), app.brokerages_as('admin'), deal));
  end if;
  if not app.could_open('participants', part, deal) then
    found := null;
  end if;
  if narrowed is null then
    perform set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', seal, true);
  end if;
  return found;
end
$$;

CREATE OR REPLACE FUNCTION vault.offers_told(deal uuid, side text, principal uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
AS $$
declare
  of_deal_side constant boolean := side in ('broker', 'seller');
  agreed uuid;
begin
  -- On most deals nothing was accepted, and what is agreed is found in five tables.
  if exists (select from public.offer_decisions c where c.deal_id = deal and c.decision = 'accepted') then
    agreed := app.accepted_offer(deal);
  end if;
  return (
    select json_agg(json_build_array(o.id, o.buyer_user_id, o.revision_number, o.is_current, o.submitted_at::text, o.payload::text,
      case when o.is_current then (
        select json_build_array(u.id, coalesce(p.left_name, u.name), p.role) from public.participants p
        cross join lateral (select k.id, k.name from public.users k where k.id = p.user_id offset 0) u
        where p.deal_id = deal and p.user_id = o.buyer_user_id and p.joined_at is not null) end,
      (select json_build_array(c.decision, c.decided_at::text) from public.offer_decisions c where c.offer_id = o.id),
      coalesce(o.id = agreed, false)))
    from (
      select l.* from (
        select k.id, k.buyer_user_id, k.revision_number, k.is_current, k.submitted_at, k.payload from public.offers k
        where k.deal_id = deal and (of_deal_side or k.participant_id = principal)
        order by k.is_current desc, coalesce(k.id = agreed, false) desc, k.submitted_at desc, k.id desc limit 50) l
      order by l.submitted_at desc, l.id desc) o);
end
$$;

CREATE OR REPLACE FUNCTION app.notifications_in_sight(after_at timestamp with time zone, after_id uuid, most integer)
 RETURNS TABLE(id uuid, kind text, deal_id uuid, deal_title text, subject_id uuid, at timestamp with time zone, read_at timestamp with time zone, subject_name text, actor_name text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET enable_sort TO 'off'
AS $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  administered constant uuid[] := app.brokerages_as('admin');
  one record;
  looked int := 0;
  told int := 0;
begin
  if me is null or app.client_id() is not null or app.narrowed_to() is not null then
    return;
  end if;
  -- Read for all at once; what they may not open, and whom they may not see, is left out.
  for one in
    select n.*,
      case when n.opens then
        case n.subject
          when 'documents' then (select d.filename from public.documents d where d.id = n.subject_id)
          when 'production_documents' then (select d.filename from public.production_documents d where d.id = n.subject_id)
          when 'closing_conditions' then (select c.name from public.closing_conditions c where c.id = n.subject_id)
          when 'findings' then (select f.title from public.findings f where f.id = n.subject_id)
          when 'api_keys' then (select k.name from public.api_keys k where k.id = n.subject_id)
          else (
            select case when p.joined_at is null then p.invited_name else coalesce(p.left_name, u.name) end
            from public.participants p left join public.users u on u.id = p.user_id
            where p.id = case n.subject when 'participants' then n.subject_id
                when 'ndas' then (select a.participant_id from public.ndas a where a.id = n.subject_id) end
              and app.could_open_as('participants', p.id, n.standing, administered)) end end as name,
      case when n.opens then (
        select coalesce(p.left_name, u.name) from public.participants p join public.users u on u.id = p.user_id
        where p.deal_id = n.deal_id and p.user_id = n.actor_id and p.joined_at is not null
          and app.could_open_as('participants', p.id, n.standing, administered)) end as actor
    from (
      select n.*, n.subject is null or n.subject = 'deals' or app.could_open_as(n.subject, n.subject_id, n.standing, administered) as opens
      from (
        select n.id, n.kind, n.deal_id, n.subject, n.subject_id, n.actor_id, n.at, n.read_at, s.title, s.standing
        from vault.notifications n
        left join lateral (
          select o.title, app.standing_of(o.deal_id, o.organization_id, barred, administered, o.participant_id, o.role, o.principal_id, o.side) as standing
          from vault.deals_of_people o where o.user_id = me and o.deal_id = n.deal_id and o.organization_id <> all (barred) limit 1) s on true
        where n.user_id = me and (n.at, n.id) < (coalesce(after_at, 'infinity'), coalesce(after_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
          and (n.deal_id is null or s.standing is not null)
        order by n.at desc, n.id desc limit 400) n
      offset 0) n
  loop
    looked := looked + 1;
    continue when not one.opens;
    id := one.id;
    kind := one.kind;
    deal_id := one.deal_id;
    deal_title := one.title;
    subject_id := one.subject_id;
    at := one.at;
    read_at := one.read_at;
    subject_name := one.name;
    actor_name := one.actor;
    return next;
    told := told + 1;
    exit when told = most;
  end loop;
  -- Hidden as far as was looked: where to go on from.
  if told < most and looked = 400 then
    return query select one.id, null::text, null::uuid, null::text, null::uuid, one.at, null::timestamptz, null::text, null::text;
  end if;
end
$$;

CREATE OR REPLACE FUNCTION app.people_on_deal(deal uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_seqscan TO 'off'
AS $$
declare
  identity constant text := app.identity();
  -- In a request about this deal alone, what the reader is on it has been found already.
  knows_all boolean := split_part(identity, ',', 8) = deal::text and split_part(identity, ',', 12) in ('broker', 'seller', 'viewer');
  principals uuid[];
  is_buyer boolean := false;
  knows_seller boolean := false;
begin
  if coalesce(split_part(identity, ',', 1), '') = '' then
    return null;
  end if;
  if not knows_all then
    knows_all := deal = any (app.deals_as('broker', 'seller', 'viewer'))
      or coalesce((select d.organization_id from public.deals d where d.id = deal) = any (app.brokerages_as('admin')), false);
  end if;
  if not knows_all then
    principals := app.principals();
    is_buyer := deal = any (app.deals_as('buyer'));
    knows_seller := is_buyer and deal = any (app.deals_with_known_seller());
  end if;
  -- One table after the other, each by its index, however few rows there are.
  return (
    select jsonb_object_agg(u.id, jsonb_build_array(u.id, coalesce(p.left_name, u.name), p.role, p.advises))
    from (select k.user_id, k.role, k.left_name,
        case when k.role = 'advisor' then (select a.role from public.participants a where a.id = k.advises) end as advises
      from public.participants k
      where k.deal_id = deal and k.joined_at is not null
        and (knows_all or coalesce(k.advises, k.id) = any (principals)
          or k.status = 'active' and (k.role = 'broker' and is_buyer or k.role = 'seller' and knows_seller)) offset 0) p
    cross join lateral (select k.id, k.name from public.users k where k.id = p.user_id offset 0) u);
end
$$;

CREATE OR REPLACE FUNCTION app.export_people(brokerage uuid, deals uuid[])
 RETURNS TABLE(content text, cells text[])
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $$
  select jsonb_build_object('id', k.id, 'name', k.name, 'email', k.email)::text, array[k.id::text, k.name, k.email]
  from (
    -- Whoever is still somewhere in the brokerage is called as they are now.
    select u.id, coalesce(l.left_name, u.name) as name, coalesce(l.left_email, u.email) as email
    from public.users u
    left join lateral (
      select x.* from (
        select m.left_name, m.left_email, m.updated_at from public.members m
          where m.brokerage_id = export_people.brokerage and m.user_id = u.id and m.joined_at is not null
        union all
        select p.left_name, p.left_email, p.updated_at from public.participants p
          where p.deal_id = any (export_people.deals) and p.user_id = u.id and p.joined_at is not null) x
      order by x.left_name is null desc, x.updated_at desc limit 1) l on true
    where u.id in (select m.person_id from public.members m where m.brokerage_id = export_people.brokerage
      union select p.person_id from public.participants p where p.deal_id = any (export_people.deals))) k
  order by k.id
$$;

CREATE OR REPLACE FUNCTION app.brokerage_deletion(brokerage uuid)
 RETURNS TABLE(due_at timestamp with time zone, asked_at timestamp with time zone, asked_by text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $$
  select d.due_at, d.asked_at, coalesce(m.left_name, u.name) from vault.brokerage_deletions d
  left join public.users u on u.id = d.asked_by
  left join public.members m on m.brokerage_id = d.brokerage_id and m.user_id = d.asked_by
  where d.brokerage_id = brokerage and brokerage = any (app.brokerages_as('admin', 'broker', 'staff'))
$$;
