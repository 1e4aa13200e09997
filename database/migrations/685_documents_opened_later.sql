-- compatible: the column is left empty by events as they were; the function with a parameter more answers the calls of before.
--
-- Of a document whose confidentiality was made wider nobody was told to whom it was opened. Who could open it before is not told again.

-- The documents before the events, as an upload takes them.
CREATE FUNCTION app.queue_opened_document()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  -- One that waits is told to everybody who may open it by then.
  if app.has_caller() and not exists (select from vault.events e
    where e.deal_id = new.deal_id and e.kind = 'document_added' and e.subject = tg_table_name and e.subject_id = new.id)
  then
    perform app.queue_event('document_added', new.deal_id, tg_table_name, new.id, app.user_id(), null, old.confidentiality);
  end if;
  return null;
end
$function$;

CREATE TRIGGER queue_opened AFTER UPDATE OF confidentiality ON public.documents FOR EACH ROW WHEN (new.confidentiality <> old.confidentiality) EXECUTE FUNCTION app.queue_opened_document();
CREATE TRIGGER queue_opened AFTER UPDATE OF confidentiality ON public.production_documents FOR EACH ROW WHEN (new.confidentiality <> old.confidentiality) EXECUTE FUNCTION app.queue_opened_document();

ALTER TABLE vault.events ADD COLUMN opened_from text;

DROP FUNCTION app.queue_event(text, uuid, text, uuid, uuid, uuid);

CREATE FUNCTION app.queue_event(kind text, deal uuid, subject text, subject_id uuid, actor uuid, person uuid, opened_from text DEFAULT NULL)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if app.is_sandbox((select d.organization_id from public.deals d where d.id = deal)) then
    return;
  end if;
  insert into vault.events (kind, deal_id, subject, subject_id, actor_id, person_id, opened_from, rank)
    values (kind, deal, subject, subject_id, actor, person, opened_from,
      case when (select k.security from app.notification_kinds k where k.kind = queue_event.kind) then 0 when actor is not null then 1 else 2 end);
  perform pg_notify('dealkeep_mail', '');
end
$function$;

CREATE OR REPLACE FUNCTION app.candidates(event vault.events)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if event.person_id is not null then
    return query select event.person_id;
  elsif event.subject = 'api_keys' then
    return query
      select m.user_id from public.api_keys k
      join public.members m on m.brokerage_id = k.brokerage_id and m.role = 'admin' and m.status = 'active'
      where k.id = event.subject_id;
  elsif event.kind in ('condition_due', 'condition_overdue') then
    return query
      select p.user_id from public.closing_conditions c
      join public.participants p on p.deal_id = c.deal_id and p.status = 'active'
        and (p.role = 'broker' or p.user_id = c.owner_user_id)
      where c.id = event.subject_id;
  elsif event.opened_from is not null then
    return query
      select o.user_id from public.participants p
      join vault.deals_of_people o on o.user_id = p.user_id and o.deal_id = p.deal_id
      where p.deal_id = event.deal_id and p.status = 'active'
        and app.document_opens_to(event.opened_from, o.deal_id, o.side, o.principal_id) is not true;
  else
    return query select p.user_id from public.participants p where p.deal_id = event.deal_id and p.status = 'active';
  end if;
end
$function$;
