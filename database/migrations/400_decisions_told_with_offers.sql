-- compatible: what is told of an offer only gets longer at its end, which old nodes do not read.
--
-- Who lists the offers of a deal by a tool is told what was decided of each and which one is agreed, as the page is, and the agreed one is among the 50:
-- a proposed change that was declined stood there as the current offer, and nothing said that other terms had been accepted.
create or replace function vault.offers_told(deal uuid, side text, principal uuid) returns json
language plpgsql stable as $$
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
        select json_build_array(u.id, u.name, p.role) from public.participants p
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
