-- compatible: the function that lists the offers of a deal names two facts more for each, after those that nodes of the release before read.
--
-- An assistant was told another debt than the page: without what the buyer had recorded as sources of financing.

CREATE OR REPLACE FUNCTION vault.offers_told(deal uuid, side text, principal uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
AS $function$
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
      case when b.joined_at is not null then (
        select json_build_array(k.id, coalesce(b.left_name, k.name), b.role) from public.users k where k.id = o.buyer_user_id) end,
      (select json_build_array(c.decision, c.decided_at::text) from public.offer_decisions c where c.offer_id = o.id),
      coalesce(o.id = agreed, false),
      o.is_current and (b.role = 'buyer' and b.status = 'active') is not true, o.participant_id,
      -- Whoever sees an offer sees the sources of financing of its side. Those that ended count in no total.
      case when o.is_current or o.id = agreed then (
        select json_agg(json_build_array(t.source_type, t.currency, t.total) order by t.source_type, t.currency) from (
          select s.source_type, s.currency, sum(s.commitment_amount)::text as total from public.financing_sources s
          where s.deal_id = deal and s.participant_id = o.participant_id and s.commitment_status not in ('expired', 'withdrawn')
          group by s.source_type, s.currency) t) end))
    from (
      select l.* from (
        select k.id, k.buyer_user_id, k.participant_id, k.revision_number, k.is_current, k.submitted_at, k.payload from public.offers k
        where k.deal_id = deal and (of_deal_side or k.participant_id = principal)
        order by k.is_current desc, coalesce(k.id = agreed, false) desc, k.submitted_at desc, k.id desc limit 51) l
      order by l.submitted_at desc, l.id desc) o
    left join lateral (select p.role, p.status, p.joined_at, p.left_name from public.participants p
      where o.is_current and p.deal_id = deal and p.user_id = o.buyer_user_id offset 0) b on true);
end
$function$;
