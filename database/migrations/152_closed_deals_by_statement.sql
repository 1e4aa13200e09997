-- compatible: refuses the same.
-- Whether its deal is closed was asked for each of the five thousand rows of an upload, which took two fifths of its time: it is asked once for a statement.

create function app.keep_closed_rows() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if tg_op = 'UPDATE' then
    perform app.refuse_if_closed(c.deal_id) from (select deal_id from changed union select deal_id from before) c;
  else
    perform app.refuse_if_closed(c.deal_id) from (select distinct deal_id from changed) c;
  end if;
  return null;
end
$$;

do $$
declare
  kept text;
begin
  foreach kept in array array['pl_periods', 'customer_revenues']
  loop
    execute format('drop trigger a_keep_closed on public.%I', kept);
    execute format('create trigger a_keep_closed_new after insert on public.%I referencing new table as changed
      for each statement execute function app.keep_closed_rows()', kept);
    execute format('create trigger a_keep_closed_changed after update on public.%I referencing old table as before new table as changed
      for each statement execute function app.keep_closed_rows()', kept);
    execute format('create trigger a_keep_closed_removed after delete on public.%I referencing old table as changed
      for each statement execute function app.keep_closed_rows()', kept);
  end loop;
end
$$;
