-- compatible: functions alone; nodes of the release before answer a repeated move of a deal with a refusal instead of a second record.
--
-- A step that was made already is not made again: no second record, and nobody is notified twice.
CREATE OR REPLACE FUNCTION app.check_question_mover()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  is_broker boolean := new.deal_id = any (app.deals_acting_as('broker'));
  is_seller boolean := new.deal_id = any (app.deals_acting_as('seller'));
begin
  if app.user_id() is null then
    return new;  -- the owner, loading data
  end if;
  if (new.distributed_response, new.rejection_reason) is distinct from (old.distributed_response, old.rejection_reason)
    and not is_broker
  then
    perform app.refuse('broker_only', 'Only a broker of the deal can write the response to the person who asked.');
  end if;
  if new.status is distinct from old.status then
    if new.status in ('with_seller', 'rejected', 'distributed') and not is_broker then
      perform app.refuse('broker_only', 'Only a broker of the deal can release, reject or distribute a question.');
    elsif new.status = 'answered' and not is_seller then
      perform app.refuse('seller_only', 'Only a seller of the deal can answer a question.');
    elsif new.status = 'withdrawn' and new.asked_by is distinct from app.user_id() then
      perform app.refuse('asker_only', 'Only the person who asked can withdraw a question.');
    end if;
    if new.status = 'with_seller' and not app.has_seller(new.deal_id) then
      perform app.refuse('no_seller', 'No seller is on this deal to answer: invite one, who must accept first.');
    elsif new.status = 'pending_broker_review' and app.has_seller(new.deal_id) then
      perform app.refuse('seller_answers', 'A seller of the deal can answer this question.');
    end if;
    if new.status = 'answered' and not exists (select from public.question_answers a where a.question_id = new.id) then
      perform app.refuse('answer_missing', 'Write the answer first.');
    end if;
    if new.status = 'distributed' then
      if new.distributed_response is null then
        perform app.refuse('response_missing', 'Write a response to the person who asked.');
      end if;
      new.distributed_at := app.now();
    end if;
  elsif old.status in ('distributed', 'rejected', 'withdrawn') then
    perform app.refuse('question_closed', format('The question is %s and no longer changes.', old.status));
  elsif new is not distinct from old then
    -- A step that was made already is nobody else's to make again.
    if new.status = 'with_seller' and not is_broker then
      perform app.refuse('broker_only', 'Only a broker of the deal can release, reject or distribute a question.');
    elsif new.status = 'answered' and not is_seller then
      perform app.refuse('seller_only', 'Only a seller of the deal can answer a question.');
    end if;
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.may_move(deal_id uuid, target text, confirmed boolean)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if target = 'closed' and not coalesce(confirmed, false) then
    -- For nobody who may not change it: its policies hold here, too.
    perform from public.deals d where d.id = may_move.deal_id for no key update;
    if app.state_shown(deal_id) = 'closing' and app.closing_warnings(deal_id) <> '{}' then
      perform app.refuse('closing_unconfirmed', 'Something is missing for the closing: review it, and confirm that the deal is closed anyway.');
    end if;
  end if;
  -- A deal that is closed already is updated all the same, so that the trigger refuses it.
  return target = 'closed' or app.state_shown(deal_id) is distinct from target;
end
$function$;

CREATE OR REPLACE FUNCTION app.decide_offer(offer_id uuid, decision text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  deal constant uuid := app.lock_deal((select o.deal_id from public.offers o where o.id = decide_offer.offer_id));
  offer public.offers;
  granted timestamptz;
begin
  if deal is null then
    return null;
  end if;
  select o.* into offer from public.offers o where o.id = decide_offer.offer_id and o.deal_id = deal for share;
  if not offer.is_current then
    perform app.refuse('offer_superseded', 'The buyer has revised this offer since: look at the latest one.');
  end if;
  select x.granted_at into granted from public.exclusivities x
    where x.participant_id = offer.participant_id and x.ended_at is null
      and (x.expires_at > app.now() or app.actual_state(x.deal_id) in ('diligence', 'closing'));
  if granted is null then
    perform app.refuse('no_exclusivity', 'This buyer holds no exclusivity: accept the offer by granting it.');
  end if;
  if exists (select from public.offer_decisions c where c.offer_id = offer.id and c.decision = 'accepted' and c.decided_at >= granted) then
    perform app.refuse('offer_accepted', 'These terms are accepted already.');
  end if;
  if decide_offer.decision = 'accepted' then
    perform app.refuse_if_expired(offer);
  elsif exists (select from public.offer_decisions c where c.offer_id = offer.id and c.decision = 'declined') then
    perform app.refuse('offer_declined', 'This offer is declined already.');
  elsif exists (select from public.offer_decisions c where c.offer_id = offer.id and c.decision = 'accepted') then
    perform app.refuse('offer_accepted', 'These terms were accepted in an earlier exclusivity, which stays on record.');
  end if;
  insert into public.offer_decisions as c (offer_id, deal_id, participant_id, decision)
    values (offer.id, offer.deal_id, offer.participant_id, decide_offer.decision)
    on conflict on constraint offer_decisions_pkey do update
      set decision = excluded.decision, decided_by = excluded.decided_by, decided_at = excluded.decided_at;
  return offer.deal_id;
end
$function$;
