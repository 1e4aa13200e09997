-- compatible: a function that allows more; nodes of the release before do not offer it.
--
-- A broker could only accept an offer: one that was no good stayed among those to consider, and its buyer without an answer.

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
  if granted is null and decide_offer.decision = 'accepted' then
    perform app.refuse('no_exclusivity', 'This buyer holds no exclusivity: accept the offer by granting it.');
  elsif granted is null and app.actual_state(deal) in ('draft', 'withdrawn') then
    perform app.refuse('no_offers_now', 'Offers are decided on while the deal is on the market: from listed to closing.');
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
