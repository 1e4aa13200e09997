-- compatible: a function answers as before, with a word more.
--
-- That a deal was opened to the API keys of its brokerage is a change of its own for who follows: its records, which changed before, are to be read then.

create or replace function app.note_deals() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if tg_op = 'UPDATE' then
    insert into public.change_events (brokerage_id, about_deal, object_type, object_id, change)
      select n.organization_id, n.id, 'deal', n.id, case when n.keys_admitted and not o.keys_admitted then 'admitted' else 'updated' end
      from changed n join before o on o.id = n.id
      where n is distinct from o;
  else
    insert into public.change_events (brokerage_id, about_deal, object_type, object_id, change)
      select n.organization_id, n.id, 'deal', n.id, 'created' from changed n;
  end if;
  return null;
end
$$;
