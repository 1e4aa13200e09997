-- compatible: refuses as the owner of a finding whom old nodes offer but who cannot open it.
--
-- A broker could make a viewer or a buyer the owner of a finding of the deal's side, which these cannot open, and of which they are not told. The side of a finding is known by the caller alone
-- where it is inserted: it is set after this.

CREATE OR REPLACE FUNCTION app.check_owner_takes_part()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  reader uuid;
begin
  if new.owner_user_id is null or (tg_op = 'UPDATE' and new.owner_user_id is not distinct from old.owner_user_id) then
    return new;
  end if;
  if not exists (
    select from public.participants p
    where p.deal_id = new.deal_id and p.user_id = new.owner_user_id and p.status = 'active')
  then
    perform app.refuse('owner_takes_no_part', 'The owner must be an active participant of the deal.');
  end if;
  if tg_table_name = 'findings' and app.has_caller() and not exists (
    select from public.participants p
    left join public.participants advised on advised.id = p.advises
    where p.deal_id = new.deal_id and p.user_id = new.owner_user_id and p.status = 'active'
      and (coalesce(advised.role, p.role) in ('broker', 'seller')
        or coalesce(p.advises, p.id) = (to_jsonb(new) ->> 'participant_id')::uuid
        or (tg_op = 'INSERT' and coalesce(p.advises, p.id) = any (app.principals()))))
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
