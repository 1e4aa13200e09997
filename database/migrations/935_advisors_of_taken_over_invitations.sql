-- compatible: a function with the same parameters, which nodes of the release before call in the same way.
--
-- Who made an address their own at which a deal's buyer was still invited, and advised that buyer themselves, lost their place without being told: the trail named
-- them as who removed "someone", and nobody hears of what they do themselves. The trail did not have that the invitation was withdrawn. Both are now recorded as
-- what nobody did: whoever leaves the deal by it is told, and so are the deal's people.

CREATE OR REPLACE FUNCTION app.take_over_invitations(unused uuid, person uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  brokerages uuid[];
  parts uuid[];
  withdrawn uuid[];
begin
  perform from public.members m where m.user_id in (unused, person) order by m.brokerage_id, m.user_id for no key update;
  perform app.lock_parts(unused);
  update public.members m set status = 'removed'
    where m.user_id = unused and m.status = 'invited'
      and exists (select from public.members o where o.brokerage_id = m.brokerage_id and o.user_id = person);
  withdrawn := array(
    select p.id from public.participants p
    where p.user_id = unused and p.status = 'invited'
      and exists (select from public.participants o where o.deal_id = p.deal_id and o.user_id = person));
  -- Their advisors first, who would otherwise leave as if the person had removed them.
  with gone as (
    update public.participants p set status = 'removed' from public.participants was
      where p.advises = any (withdrawn) and p.status <> 'removed' and was.id = p.id
      returning p.id, p.brokerage_id, p.deal_id, was.status)
  insert into public.audit_records (brokerage_id, deal_id, action, subject_id, outcome, details)
    select g.brokerage_id, g.deal_id, 'participant.remove', g.id::text, 'done', case when g.status = 'invited' then '{"withdrawn": true}' else '{}' end::jsonb
    from gone g;
  with gone as (
    update public.participants p set status = 'removed' where p.id = any (withdrawn) returning p.id, p.brokerage_id, p.deal_id)
  insert into public.audit_records (brokerage_id, deal_id, action, subject_id, outcome, details)
    select g.brokerage_id, g.deal_id, 'participant.remove', g.id::text, 'done', '{"withdrawn": true}' from gone g;
  brokerages := array(select m.brokerage_id from public.members m where m.user_id = unused and m.status = 'invited');
  update public.members m set user_id = person where m.user_id = unused and m.status = 'invited';
  parts := array(select p.id from public.participants p where p.user_id = unused and p.status = 'invited');
  update public.participants p set user_id = person where p.id = any (parts);
  with theirs as (
    update vault.invitations i set user_id = person
      where i.user_id = unused and (i.brokerage_id = any (brokerages) or i.participant_id = any (parts))
      returning i.digest)
  update vault.outbox o set recipient_id = person from theirs t where o.recipient_id = unused and o.link = t.digest;
  perform app.forget_accounts(array[unused]);
end
$function$;
