-- compatible: old nodes are refused what they offer on a withdrawn deal.
--
-- An NDA that waited when its deal was withdrawn was no longer counted anywhere, and could still be signed, which opened documents. A broker could send one, too, though no page offers it.

create or replace function app.sign_nda(nda_id uuid, signed_name text, signed_address inet)
returns boolean
language plpgsql
security definer
set search_path to ''
as $function$
declare
  deal uuid;
begin
  if length(trim(coalesce(sign_nda.signed_name, ''))) = 0 then
    perform app.refuse('name_missing', 'Type your full name to sign.');
  end if;
  update public.ndas n
    set status = 'active', signed_at = app.now(), signed_name = trim(sign_nda.signed_name),
      signed_address = sign_nda.signed_address
    from public.participants p
    where n.id = nda_id and p.id = n.participant_id and p.user_id = app.user_id() and p.status = 'active'
      and n.status = 'sent' and (n.expires_at is null or n.expires_at > app.now())
    returning n.deal_id into deal;
  if not found then
    return false;
  end if;
  -- The change has locked the deal: whoever withdraws it meanwhile was waited for, or waits.
  if app.actual_state(deal) = 'withdrawn' then
    perform app.refuse('deal_withdrawn', 'The deal is withdrawn: NDAs are no longer signed on it.');
  end if;
  return true;
end
$function$;

create or replace function app.take_nda()
returns trigger
language plpgsql
security definer
set search_path to ''
as $function$
begin
  if not new.deal_id = any (app.deals_acting_as('broker')) then
    return new;  -- the owner, loading data; anybody else is turned away by the policy
  end if;
  if app.actual_state(new.deal_id) = 'withdrawn' then
    perform app.refuse('deal_withdrawn', 'The deal is withdrawn: NDAs are no longer sent on it.');
  end if;
  if not exists (select from public.participants p
    where p.id = new.participant_id and p.deal_id = new.deal_id and p.role = 'buyer' and p.status <> 'removed')
  then
    perform app.refuse('not_a_buyer', 'An NDA is sent to a buyer who takes part in the deal or is invited to it.');
  end if;
  if new.expires_at <= app.now() then
    perform app.refuse('expires_in_the_past', 'The NDA must end in the future, or not at all.');
  end if;
  if exists (select from public.ndas n
    where n.participant_id = new.participant_id and n.status in ('sent', 'active')
      and (n.expires_at is null or n.expires_at > app.now()))
  then
    perform app.refuse('nda_there_already', 'This buyer has an NDA that waits or is active: revoke it first.');
  end if;
  return new;
end
$function$;
