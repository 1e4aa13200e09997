-- compatible: a function more.

-- How much the caller has heard of, not read, and may still open, at most 100: the bell of every page asks. One deal is looked at at a
-- time, as in a request about it: joins with the tables of the records ask their policies of all deals of the reader.
create function app.unread_notifications() returns int
language plpgsql volatile security definer set search_path = '' as $$
declare
  me constant uuid := app.user_id();
  whole constant text := app.whole_identity();
  barred constant uuid[] := app.barred_in(whole);
  administered constant uuid[] := app.brokerages_as('admin');
  identity constant text := current_setting('dealkeep.identity', true);
  seal constant text := current_setting('dealkeep.seal', true);
  entered uuid;
  one record;
  unread int := 0;
begin
  if me is null or app.client_id() is not null or app.narrowed_to() is not null then
    return 0;
  end if;
  for one in
    select l.* from (
      select n.deal_id, n.subject, n.subject_id from vault.notifications n
      where n.user_id = me and n.read_at is null and (n.deal_id is null or exists (
        select from vault.parts p join public.deals d on d.id = p.deal_id
        where p.user_id = me and p.deal_id = n.deal_id and p.principal_role in ('broker', 'seller', 'buyer', 'viewer')
          and d.organization_id <> all (barred)))
      order by n.at desc, n.id desc limit 100) l
    order by l.deal_id nulls first
  loop
    if one.deal_id is not null and one.deal_id is distinct from entered then
      entered := one.deal_id;
      perform app.seal(whole || ',' || app.standing(me, barred, administered, entered));
    end if;
    if one.subject is null or one.subject = 'deals' or app.could_open(one.subject, one.subject_id, one.deal_id) then
      unread := unread + 1;
    end if;
  end loop;
  perform set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', seal, true);
  return unread;
end
$$;
grant execute on function app.unread_notifications() to dealkeep_server;
