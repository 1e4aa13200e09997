-- compatible: nodes of the release before do not know this kind of notification: the list tells of it in general words, and its mails wait for a newer node.
--
-- That a broker changed the end of an exclusivity was told to nobody, also not to the buyer who lost days of it.

INSERT INTO app.notification_kinds VALUES ('exclusivity_changed', 135, 'at_once', false);

CREATE FUNCTION app.queue_changed_exclusivity()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.has_caller() then
    perform app.queue_event('exclusivity_changed', new.deal_id, tg_table_name, new.id, app.user_id(), null);
  end if;
  return null;
end
$function$;

CREATE TRIGGER queue_change AFTER UPDATE OF expires_at ON public.exclusivities FOR EACH ROW WHEN (new.expires_at IS DISTINCT FROM old.expires_at) EXECUTE FUNCTION app.queue_changed_exclusivity();
