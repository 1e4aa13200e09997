-- compatible: refuses less, and in an order in which nobody waits for each other.
-- A page of the deal tells all of its people, and links cost no mail: somebody who invites all day would make it as large as they like. Who has a part
-- already and who is a broker always find room, so that a full deal can be handed over and its people invited anew.
create function app.limit_people() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  part constant int := 2000;
  ever constant int := 10000;
  there record;
begin
  if not app.has_caller() or new.role = 'broker' then
    return new;
  end if;
  perform from public.deals d where d.id = new.deal_id for no key update;
  if exists (select from public.participants p where p.deal_id = new.deal_id and p.user_id = new.user_id) then
    return new;
  end if;
  select count(*) as ever, count(*) filter (where p.status in ('invited', 'active')) as now into there
    from public.participants p where p.deal_id = new.deal_id;
  if there.now >= part or there.ever >= ever then
    perform app.refuse('deal_full', format('A deal has room for %s people.', part));
  end if;
  return new;
end
$$;
-- Triggers go by their names, and this one takes a stronger lock of the deal than `a_keep_closed`: after it, two who invite would wait for each other.
drop trigger limit_of_deal on public.participants;
create trigger a_has_room before insert on public.participants for each row execute function app.limit_people();
alter trigger limit_of_deal on public.closing_conditions rename to a_has_room;
alter trigger limit_of_deal on public.contradiction_answers rename to a_has_room;
alter trigger limit_of_deal on public.qoe_checklist rename to a_has_room;
-- Those of keys lock the deal too.
do $$
declare
  named text;
begin
  for named in select tgrelid::regclass::text from pg_trigger where tgname = 'limit_a_day'
  loop
    execute format('alter trigger limit_a_day on %s rename to a_has_room_today', named);
  end loop;
end
$$;
