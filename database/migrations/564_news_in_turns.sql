-- compatible: a column more, and functions that take the same in another order.
--
-- Events become notifications in the order of what cannot wait: what concerns the security of an account, then what people did, then what programs and the clock bring. They went by when they were
-- queued, so that whatever a brokerage had many of held up everybody's news, those of a new device as well.

alter table vault.events add column rank smallint not null default 1;
create index events_in_turn on vault.events (rank, next_attempt_at, id);
drop index vault.events_by_attempt;

CREATE OR REPLACE FUNCTION app.queue_event(kind text, deal uuid, subject text, subject_id uuid, actor uuid, person uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if app.is_sandbox((select d.organization_id from public.deals d where d.id = deal)) then
    return;
  end if;
  insert into vault.events (kind, deal_id, subject, subject_id, actor_id, person_id, rank)
    values (kind, deal, subject, subject_id, actor, person,
      case when (select k.security from app.notification_kinds k where k.kind = queue_event.kind) then 0 when actor is not null then 1 else 2 end);
  perform pg_notify('dealkeep_mail', '');
end
$function$;

CREATE OR REPLACE FUNCTION app.tell_events(most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  -- A statement that runs into its limit takes back what it has told, and would be given the same again.
  until constant timestamptz := statement_timestamp() + nullif(current_setting('statement_timeout')::interval, '0') / 4;
  event vault.events;
  taken int := 0;
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Events are told by the worker.');
  end if;
  for event in
    select e.* from vault.events e where e.next_attempt_at <= app.now() order by e.rank, e.next_attempt_at, e.id
      limit least(most, 100) for update skip locked
  loop
    taken := taken + 1;
    begin
      perform app.tell(event);
      delete from vault.events e where e.id = event.id;
    exception when others then
      if event.attempts >= 20 then
        delete from vault.events e where e.id = event.id;
      else
        update vault.events e set attempts = e.attempts + 1, last_error = left(sqlerrm, 500),
            next_attempt_at = app.now() + least(interval '1 minute' * 2 ^ least(e.attempts, 10), interval '6 hours')
          where e.id = event.id;
      end if;
    end;
    exit when clock_timestamp() > until;
  end loop;
  return taken;
end
$function$;
