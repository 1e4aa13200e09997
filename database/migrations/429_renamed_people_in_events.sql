-- compatible: a trigger more.
--
-- Who gets another name or address is another participant on each of their deals, and no row of these changed: nobody who follows the changes heard of it. Who was invited and has not
-- accepted yet is shown as they were invited, and so is not told of.

create function app.note_renamed()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  insert into public.change_events (brokerage_id, about_deal, object_type, object_id, change)
    select p.brokerage_id, p.deal_id, 'participant', p.id, 'updated' from public.participants p where p.user_id = new.id and p.joined_at is not null;
  return null;
end
$$;
create trigger note_renamed after update of name, email on users for each row when (old.name is distinct from new.name or old.email is distinct from new.email)
  execute function app.note_renamed();
