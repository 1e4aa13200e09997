-- compatible: the function answers the same columns, with one more possible warning.
--
-- An exclusive buyer who was removed holds the exclusivity until it is released, and a closed deal keeps it as the record of who bought. Closing warned that nobody held it, kept silent about their
-- undecided proposal, and asked after the NDAs of other buyers.

create or replace function app.closing_warnings(deal_id uuid)
returns text[]
language plpgsql
stable security definer
set search_path to ''
as $function$
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
  select x.participant_id, u.name, p.role = 'buyer' and p.status = 'active' into selected, buyer, takes_part
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
$function$;

