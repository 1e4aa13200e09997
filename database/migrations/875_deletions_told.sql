-- compatible: nodes of the release before call the same functions; mails of the new kind wait for a newer node.
--
-- That a brokerage would be deleted was told to its admins alone: other members, buyers and sellers lost their deals without notice.

-- Mails that a brokerage is going to be deleted, or no longer: to its admins, and without a name to everybody else who is with it or on one of its deals.
CREATE FUNCTION app.mail_deletion(of_brokerage uuid, by_whom uuid, due timestamp with time zone, cancelled boolean)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  facts constant jsonb := jsonb_build_object('brokerage', (select b.name from public.brokerages b where b.id = of_brokerage), 'due_at', due, 'cancelled', cancelled);
  author constant jsonb := jsonb_build_object('by', (select w.name from public.users w where w.id = by_whom));
begin
  perform app.queue_mail(case when p.administers then 'brokerage_deletion' else 'deletion_of_deals' end, u.email, u.id, of_brokerage, null, false,
      facts || jsonb_build_object('name', u.name) || case when p.administers then author else '{}' end, null, null)
    from (
      select a.user_id, bool_or(a.administers) as administers
      from (
        select m.user_id, m.role = 'admin' as administers from public.members m where m.brokerage_id = of_brokerage and m.status = 'active'
        union all
        select p.user_id, false from public.deals d join public.participants p on p.deal_id = d.id
          where d.organization_id = of_brokerage and p.status = 'active') a
      group by a.user_id) p
    join public.users u on u.id = p.user_id and u.suspended_at is null
    order by p.administers desc, u.id;
end
$function$;

CREATE OR REPLACE FUNCTION app.mark_brokerage(brokerage uuid, days integer, by_whom uuid)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  due timestamptz := app.now() + make_interval(days => days);
begin
  perform from public.brokerages b where b.id = brokerage for update;
  if not found then
    return null;
  end if;
  if days is null or days not between 7 and 365 then
    perform app.refuse('days_out_of_bounds', 'A brokerage is deleted after 7 to 365 days.');
  end if;
  if exists (select from app.hold_on_brokerage(brokerage)) then
    perform app.refuse('legal_hold', case when by_whom is null
      then (select format('A legal hold on the %s %s stops this: when it has ended, dealkeep hold off %s %s.', h.kind, h.subject_id, h.kind, h.subject_id)
        from app.hold_on_brokerage(brokerage) h)
      else 'The data of the brokerage must be kept for now because of a legal hold: the operator of this service can tell you more.' end);
  end if;
  insert into vault.brokerage_deletions (brokerage_id, asked_by, due_at) values (brokerage, by_whom, due) on conflict do nothing;
  if not found then
    perform app.refuse('deletion_asked', 'This brokerage is going to be deleted already.');
  end if;
  perform app.mail_deletion(brokerage, by_whom, due, false);
  return due;
end
$function$;

CREATE OR REPLACE FUNCTION app.unmark_brokerage(brokerage uuid, by_whom uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  marked vault.brokerage_deletions;
begin
  select d.* into marked from vault.brokerage_deletions d where d.brokerage_id = brokerage for update;
  if not found then
    return false;
  end if;
  if marked.begun_at is not null then
    perform app.refuse('deletion_begun', 'The deletion has begun and can no longer be canceled.');
  end if;
  delete from vault.brokerage_deletions d where d.brokerage_id = brokerage;
  perform app.mail_deletion(brokerage, by_whom, marked.due_at, true);
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION app.is_needed(mail vault.outbox)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if mail.link is not null and not app.is_live_link(mail.link) then
    return false;
  end if;
  if mail.kind not in ('brokerage_deletion', 'deletion_of_deals', 'webhook_off') then
    return true;
  end if;
  if mail.kind = 'deletion_of_deals' then
    -- Others than its admins: as long as they are with the brokerage or on one of its deals.
    if not exists (select from public.users u where u.id = mail.recipient_id and u.suspended_at is null and (
      exists (select from public.members m where m.brokerage_id = mail.brokerage_id and m.user_id = u.id and m.status = 'active')
      or exists (select from public.participants p join public.deals d on d.id = p.deal_id
        where p.user_id = u.id and p.status = 'active' and d.organization_id = mail.brokerage_id)))
    then
      return false;
    end if;
  elsif not exists (select from public.members m join public.users u on u.id = m.user_id
    where m.brokerage_id = mail.brokerage_id and m.user_id = mail.recipient_id and m.role = 'admin' and m.status = 'active' and u.suspended_at is null)
  then
    return false;
  end if;
  if mail.kind <> 'webhook_off' then
    return case when (mail.facts ->> 'cancelled')::boolean
      then not exists (select from vault.brokerage_deletions d where d.brokerage_id = mail.brokerage_id)
      else exists (select from vault.brokerage_deletions d
        where d.brokerage_id = mail.brokerage_id and d.due_at = (mail.facts ->> 'due_at')::timestamptz) end;
  end if;
  -- Mails of the release before do not name the webhook. One that was turned off again since has a mail of its own.
  return mail.facts ->> 'webhook' is null or exists (select from public.webhook_endpoints e
    where e.id = (mail.facts ->> 'webhook')::uuid and e.state = 'off' and e.off_reason = 'failing' and e.off_since <= mail.created_at);
end
$function$;
