-- compatible: functions, and a trigger that takes no time to add; nodes of the release before answer a repeated move of a deal with a refusal instead of a second record.
--
-- A step that was made already is not made again: no second record, and nobody is notified twice.
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

CREATE FUNCTION app.check_repeated_step()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.user_id() is null then
    return new;  -- the owner, loading data
  end if;
  -- A step that was made already is nobody else's to make again.
  if new.status = 'with_seller' and not new.deal_id = any (app.deals_acting_as('broker')) then
    perform app.refuse('broker_only', 'Only a broker of the deal can release, reject or distribute a question.');
  elsif new.status = 'answered' and not new.deal_id = any (app.deals_acting_as('seller')) then
    perform app.refuse('seller_only', 'Only a seller of the deal can answer a question.');
  end if;
  return new;
end
$function$;
CREATE TRIGGER check_c_repeat BEFORE UPDATE OF status ON public.questions FOR EACH ROW WHEN (new.status = old.status) EXECUTE FUNCTION app.check_repeated_step();
