-- compatible: a new function, and functions with the same parameters.
--
-- Questions of a buyer who has left the deal, or is no buyer on it any more, still waited for the broker and the seller: on the home page, in counts, in reminders and in the
-- warnings before a closing. Only the side that asked would read the answer. The home page follows in the next file, which changes something else of it, too.

create function app.is_buyer_still(participant uuid) returns boolean
language sql stable
return exists (select from public.participants p where p.id = participant and p.role = 'buyer' and p.status <> 'removed');
grant execute on function app.is_buyer_still(uuid) to dealkeep_server;

CREATE OR REPLACE FUNCTION app.deal_rows(deals uuid[])
 RETURNS TABLE(id uuid, organization_id uuid, organization_name text, title text, industry text, location text, summary text, asking_price numeric, currency text, needs_nda boolean, state text, caller_role text, side text, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamp with time zone, exclusivity_expires_at timestamp with time zone, closed_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone, questions_waiting integer, offers integer)
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
begin
  return query
    with known as materialized (select k.* from app.deals_as_known(me, administered, barred, narrowed, deals) k)
    select k.id, k.organization_id, b.name, k.title, d.industry, d.location, d.summary, d.asking_price, d.currency, d.needs_nda, k.state, k.caller_role, k.side,
      k.exclusive_buyer_user_id, k.exclusivity_granted_at, k.exclusivity_expires_at, k.closed_at, k.created_at, k.updated_at,
      -- Each kind by an index that has nothing else.
      (case
          -- Nobody has to do anything about these any more; what was distributed can still be read.
          when d.state in ('closed', 'withdrawn') then 0
          when own.role = 'broker' then (select count(*) from public.questions q where q.deal_id = d.id and q.status in ('pending_broker_review', 'answered')
            and app.is_buyer_still(q.participant_id))
          when own.role = 'seller' then (select count(*) from public.questions q where q.deal_id = d.id and q.status = 'with_seller'
            and app.is_buyer_still(q.participant_id))
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
$function$;

CREATE OR REPLACE FUNCTION app.closing_warnings(deal_id uuid)
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
    where q.deal_id = closing_warnings.deal_id and q.status in ('pending_broker_review', 'with_seller', 'answered')
      and app.is_buyer_still(q.participant_id);
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
$function$;

CREATE OR REPLACE FUNCTION app.awaited(of_table text, record uuid)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  case of_table
    when 'ndas' then
      return query
        select p.user_id from public.ndas n join public.participants p on p.id = n.participant_id and p.status = 'active'
        where n.id = record and n.status = 'sent' and (n.expires_at is null or n.expires_at > app.now());
    when 'questions' then
      return query
        select p.user_id from public.questions q
        join public.participants p on p.deal_id = q.deal_id and p.role = 'seller' and p.status = 'active'
        where q.id = record and q.status = 'with_seller' and p.user_id is distinct from app.user_id() and app.is_buyer_still(q.participant_id);
    when 'closing_conditions' then
      return query
        select c.owner_user_id from public.closing_conditions c
        where c.id = record and c.status in ('open', 'in_progress') and c.owner_user_id is not null and c.owner_user_id is distinct from app.user_id();
  end case;
end
$function$;
