-- compatible: people who do not see a deal yet are no longer taken as owners of its records.
--
-- An advisor who joined before the person whom they advise sees nothing of the deal, but could be given a finding or a closing condition: they were not told of it, also later, and a reminder was
-- refused.

CREATE OR REPLACE FUNCTION app.check_owner_takes_part()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  reader uuid;
  owner_role text;
begin
  if new.owner_user_id is null or (tg_op = 'UPDATE' and new.owner_user_id is not distinct from old.owner_user_id) then
    return new;
  end if;
  select p.role into owner_role from public.participants p
    where p.deal_id = new.deal_id and p.user_id = new.owner_user_id and p.status = 'active'
      and (p.advises is null or exists (select from public.participants a where a.id = p.advises and a.status = 'active'));
  if not found then
    perform app.refuse('owner_takes_no_part', 'The owner must be an active participant of the deal, and so must whom they advise.');
  end if;
  if tg_table_name = 'closing_conditions' and app.has_caller() and owner_role = 'viewer' then
    perform app.refuse('owner_is_viewer',
      'A viewer cannot report progress on a condition: choose a broker, the seller, the buyer or one of their advisors.');
  end if;
  if tg_table_name = 'findings' and app.has_caller() and not exists (
    select from public.participants p
    left join public.participants advised on advised.id = p.advises
    where p.deal_id = new.deal_id and p.user_id = new.owner_user_id and p.status = 'active'
      and app.finding_opens_to(coalesce(advised.role, p.role), coalesce(p.advises, p.id),
        (to_jsonb(new) ->> 'participant_id')::uuid || case when tg_op = 'INSERT' then app.principals() end))
  then
    perform app.refuse('owner_cannot_open_finding',
      'This person cannot open the finding: choose a broker, the seller, one of their advisors or somebody of your own side.');
  end if;
  reader := case when tg_table_name = 'closing_conditions' then app.selected_side(new.deal_id)
    else (to_jsonb(new) ->> 'participant_id')::uuid end;
  if app.has_caller() and reader is not null and not app.side_knows(reader, new.owner_user_id) then
    perform app.refuse('owner_not_known_to_buyer',
      'The buyer who reads this may not know of this person: choose a broker, somebody of the buyer''s side or, under an NDA, the seller.');
  end if;
  return new;
end
$function$;
