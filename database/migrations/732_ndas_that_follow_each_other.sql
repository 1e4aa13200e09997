-- compatible: nodes of the release before can have an NDA sent that they would have been refused, and read one that was replaced as one that has ended.
--
-- A buyer whose NDA was about to end could not be sent the next one: it had to be revoked first, which closed everything to them, or to end. Now one that ends can be
-- followed by another, which replaces it when it is signed.

ALTER TABLE public.ndas ADD replaced_at timestamp with time zone;

CREATE OR REPLACE FUNCTION app.take_nda()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
    where n.participant_id = new.participant_id and n.status = 'sent' and (n.expires_at is null or n.expires_at > app.now()))
  then
    perform app.refuse('nda_there_already', 'This buyer has a pending NDA: withdraw it first.');
  end if;
  -- One that ends can be followed by another, which replaces it when it is signed.
  if exists (select from public.ndas n where n.participant_id = new.participant_id and n.status = 'active' and n.expires_at is null) then
    perform app.refuse('nda_there_already', 'This buyer has an active NDA without an end: revoke it first.');
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.sign_nda(nda_id uuid, signed_name text, signed_address inet)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  deal uuid;
  part uuid;
  lapsed uuid[];
begin
  if length(trim(coalesce(sign_nda.signed_name, ''))) = 0 then
    perform app.refuse('name_missing', 'Enter your full name to sign.');
  end if;
  select n.participant_id into part
    from public.ndas n join public.participants p on p.id = n.participant_id and p.user_id = app.user_id() and p.status = 'active' and p.role = 'buyer'
    where n.id = nda_id and n.status = 'sent' and (n.expires_at is null or n.expires_at > app.now());
  if not found then
    return false;
  end if;
  -- What has ended has ended, with the places in the workspace, also where that was not noted yet.
  with ended as (
    update public.ndas n set status = 'expired' where n.participant_id = part and n.status = 'active' and n.expires_at <= app.now()
      returning n.id)
    select array(select e.id from ended e) into lapsed;
  update public.ndas n
    set status = 'active', signed_at = app.now(), signed_name = trim(sign_nda.signed_name),
      signed_address = sign_nda.signed_address
    from public.participants p
    where n.id = nda_id and p.id = n.participant_id and p.user_id = app.user_id() and p.status = 'active' and p.role = 'buyer'
      and n.status = 'sent' and (n.expires_at is null or n.expires_at > app.now())
    returning n.deal_id into deal;
  if not found then
    return false;
  end if;
  -- After the other has begun, so that nothing closes in between.
  update public.ndas n set status = 'expired', replaced_at = app.now() where n.participant_id = part and n.status = 'active' and n.id <> nda_id;
  -- The change has locked the deal: whoever withdraws it meanwhile was waited for, or waits.
  if app.actual_state(deal) = 'withdrawn' then
    perform app.refuse('deal_withdrawn', 'The deal is withdrawn: NDAs are no longer signed on it.');
  end if;
  -- Nobody ended it, as where a job notes it.
  insert into public.audit_records (brokerage_id, deal_id, action, subject_id, outcome)
    select d.organization_id, d.id, 'nda.expire', e.id::text, 'done' from unnest(lapsed) e (id) join public.deals d on d.id = deal;
  perform app.queue_ended_ndas(lapsed, null);
  return true;
end
$function$;
