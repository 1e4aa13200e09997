-- compatible: the release before asks the same of the same tables.
-- A buyer and their advisors lose their places in the QoE workspace with the NDA. They were closed to them until a later NDA was signed, and then open again
-- without a broker who let them in.

CREATE OR REPLACE FUNCTION app.check_workspace_member()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  side text;
  principal uuid;
begin
  if not new.deal_id = any (app.deals_acting_as('broker')) then
    return new;  -- the owner, loading data; anybody else is turned away by the policy
  end if;
  select coalesce(advised.role, p.role), coalesce(advised.id, p.id) into side, principal
    from public.participants p
    left join public.participants advised on advised.id = p.advises
    where p.id = new.participant_id and p.deal_id = new.deal_id and p.status = 'active' and p.role not in ('broker', 'seller');
  if not found then
    perform app.refuse('not_to_let_in', 'Only active buyers, advisors and viewers of the deal are let in; brokers and sellers are in already.');
  end if;
  if side = 'buyer' then
    -- Whoever ends the NDA meanwhile is waited for, or waits and finds the place.
    perform from public.ndas n where n.participant_id = principal and n.status = 'active' for share;
    if not exists (select from vault.active_ndas n where n.participant_id = principal) then
      perform app.refuse('no_active_nda', 'The buyer has no active NDA: have it signed first.');
    end if;
  end if;
  return new;
end
$function$;

create function app.end_places_without_nda() returns trigger
  language plpgsql
  security definer
  set search_path to ''
as $$
begin
  if not exists (select from vault.active_ndas n where n.participant_id = new.participant_id) then
    delete from public.qoe_workspace_members w using public.participants p, public.participants side
      where side.id = new.participant_id and side.role = 'buyer' and p.deal_id = side.deal_id and coalesce(p.advises, p.id) = side.id
        and w.deal_id = p.deal_id and w.participant_id = p.id;
  end if;
  return null;
end
$$;

create trigger end_places after update of status on public.ndas
  for each row when (old.status <> new.status and new.status in ('revoked', 'expired')) execute function app.end_places_without_nda();
-- One that has run out is marked within a minute; the next may be sent before.
create trigger end_places_before after insert on public.ndas
  for each row when (new.status = 'sent') execute function app.end_places_without_nda();

delete from public.qoe_workspace_members w using public.participants p, public.participants side
  where p.id = w.participant_id and side.id = coalesce(p.advises, p.id) and side.role = 'buyer'
    and not exists (select from vault.active_ndas n where n.participant_id = side.id);
