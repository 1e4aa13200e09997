-- compatible: a function that refuses more.
--
-- A person changes their name at most 20 times a day: each time a change is written for other systems on every deal on which they take part, which may be ten thousand.

CREATE OR REPLACE FUNCTION app.note_renamed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  -- Counted as mails from somebody are, which goes with their account; whoever is erased is not refused.
  if new.name is distinct from old.name and new.id = app.user_id() and new.erased_at is null
    and not app.count_mail('renames from ' || new.id, 'day', 20)
  then
    perform app.refuse('too_many_today', 'You have changed your name 20 times today, which is the most: change it again tomorrow.');
  end if;
  insert into public.change_events (brokerage_id, about_deal, object_type, object_id, change)
    select p.brokerage_id, p.deal_id, 'participant', p.id, 'updated' from public.participants p where p.user_id = new.id and p.joined_at is not null;
  return null;
end
$function$;
