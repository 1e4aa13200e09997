-- compatible: the release before shows people what is refused here as any refusal.
--
-- An offer stands until the time that its buyer gave it. One that had expired could still be accepted, by granting exclusivity and as a change of accepted terms, and stood as agreed: terms that the
-- buyer no longer offered. It is refused now, with the time in UTC. Declining it stays possible.

create function app.refuse_if_expired(offer public.offers) returns void
language plpgsql stable set search_path = '' as $$
declare
  expires constant timestamptz := app.time_in(offer.payload ->> 'expires_at');
begin
  if expires <= app.now() then
    perform app.refuse('offer_expired', format('This offer expired on %s: ask the buyer to submit it again.',
      to_char(expires at time zone 'UTC', 'FMDD FMMonth YYYY "at" HH24:MI "UTC"')));
  end if;
end
$$;
revoke execute on function app.refuse_if_expired(public.offers) from public;

create or replace function app.check_accepted_offer()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
declare
  offer public.offers;
begin
  select o.* into offer from public.offers o where o.id = new.offer_id and o.is_current for share;
  if not found then
    perform app.refuse('offer_superseded', 'The buyer has revised this offer since: look at the latest one.');
  end if;
  if app.has_caller() then
    perform app.refuse_if_expired(offer);
  end if;
  return new;
end
$$;

create or replace function app.decide_offer(offer_id uuid, decision text)
returns uuid
language plpgsql
security definer
set search_path = ''
as $$
declare
  deal constant uuid := app.lock_deal((select o.deal_id from public.offers o where o.id = decide_offer.offer_id));
  offer public.offers;
begin
  if deal is null then
    return null;
  end if;
  select o.* into offer from public.offers o where o.id = decide_offer.offer_id and o.deal_id = deal for share;
  if not offer.is_current then
    perform app.refuse('offer_superseded', 'The buyer has revised this offer since: look at the latest one.');
  end if;
  if not exists (select from public.exclusivities x
    where x.participant_id = offer.participant_id and x.ended_at is null
      and (x.expires_at > app.now() or app.actual_state(x.deal_id) in ('diligence', 'closing')))
  then
    perform app.refuse('no_exclusivity', 'This buyer holds no exclusivity: accept the offer by granting it.');
  end if;
  if exists (select from public.offer_decisions c where c.offer_id = offer.id and c.decision = 'accepted') then
    perform app.refuse('offer_accepted', 'These terms are accepted already.');
  end if;
  if decide_offer.decision = 'accepted' then
    perform app.refuse_if_expired(offer);
  end if;
  insert into public.offer_decisions as c (offer_id, deal_id, participant_id, decision)
    values (offer.id, offer.deal_id, offer.participant_id, decide_offer.decision)
    on conflict on constraint offer_decisions_pkey do update
      set decision = excluded.decision, decided_by = excluded.decided_by, decided_at = excluded.decided_at;
  return offer.deal_id;
end
$$;
