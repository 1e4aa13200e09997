-- compatible: an event more is queued, which nodes of the release before tell as they do others of its kind.
--
-- Reminders are kept for what is ahead. Of a condition whose deadline was moved to within the days before it is due, its owner heard nothing until it was overdue,
-- and nothing at all where it was moved to a day that is over.

CREATE FUNCTION app.queue_moved_deadline()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.has_caller() and app.is_deadline_near('condition_due', tg_table_name, new.id, new.deal_id) then
    perform app.queue_event('condition_due', new.deal_id, tg_table_name, new.id, app.user_id(), null);
  elsif app.has_caller() and app.is_deadline_near('condition_overdue', tg_table_name, new.id, new.deal_id) then
    perform app.queue_event('condition_overdue', new.deal_id, tg_table_name, new.id, app.user_id(), null);
  end if;
  return null;
end
$function$;

CREATE TRIGGER queue_moved_deadline AFTER UPDATE OF deadline ON public.closing_conditions FOR EACH ROW WHEN (new.deadline IS DISTINCT FROM old.deadline) EXECUTE FUNCTION app.queue_moved_deadline();
