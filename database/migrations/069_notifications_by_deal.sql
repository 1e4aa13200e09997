-- compatible: a function more.

-- What the caller has heard of and may still open, the latest first, with the names of what it is about: of the next 200, at most so many. One deal is looked at at
-- a time, as by app.unread_notifications, and for the same reason. A name is told where its record could be opened, a person's where they are known from the deal.
create function app.notifications_in_sight(after_at timestamptz, after_id uuid, most int)
returns table (id uuid, kind text, deal_id uuid, deal_title text, subject_id uuid, at timestamptz, read_at timestamptz, subject_name text, actor_name text)
language plpgsql volatile security definer set search_path = '' as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  whole constant text := app.whole_identity();
  barred constant uuid[] := app.barred_in(whole);
  administered constant uuid[] := app.brokerages_as('admin');
  identity constant text := current_setting('dealkeep.identity', true);
  seal constant text := current_setting('dealkeep.seal', true);
  entered uuid;
  one record;
  part uuid;
  told int := 0;
begin
  if me is null or app.client_id() is not null or app.narrowed_to() is not null then
    return;
  end if;
  for one in
    select n.id, n.kind, n.deal_id, n.subject, n.subject_id, n.actor_id, n.at, n.read_at from vault.notifications n
    where n.user_id = me and (after_at is null or (n.at, n.id) < (after_at, after_id)) and (n.deal_id is null or exists (
      select from vault.parts p join public.deals d on d.id = p.deal_id
      where p.user_id = me and p.deal_id = n.deal_id and p.principal_role in ('broker', 'seller', 'buyer', 'viewer')
        and d.organization_id <> all (barred)))
    order by n.at desc, n.id desc limit 200
  loop
    exit when told >= most;
    if one.deal_id is not null and one.deal_id is distinct from entered then
      entered := one.deal_id;
      perform app.seal(whole || ',' || app.standing(me, barred, administered, entered));
    end if;
    continue when not (one.subject is null or one.subject = 'deals' or app.could_open(one.subject, one.subject_id, one.deal_id));
    id := one.id;
    kind := one.kind;
    deal_id := one.deal_id;
    deal_title := (select d.title from public.deals d where d.id = one.deal_id);
    subject_id := one.subject_id;
    at := one.at;
    read_at := one.read_at;
    part := case one.subject when 'participants' then one.subject_id
      when 'ndas' then (select n.participant_id from public.ndas n where n.id = one.subject_id) end;
    subject_name := case one.subject
      when 'documents' then (select d.filename from public.documents d where d.id = one.subject_id)
      when 'production_documents' then (select d.filename from public.production_documents d where d.id = one.subject_id)
      when 'closing_conditions' then (select c.name from public.closing_conditions c where c.id = one.subject_id)
      when 'findings' then (select f.title from public.findings f where f.id = one.subject_id)
      when 'api_keys' then (select k.name from public.api_keys k where k.id = one.subject_id) end;
    if part is not null and app.could_open('participants', part, one.deal_id) then
      subject_name := (select case when p.joined_at is null then p.invited_name else u.name end
        from public.participants p left join public.users u on u.id = p.user_id where p.id = part);
    end if;
    actor_name := (select u.name from public.participants p join public.users u on u.id = p.user_id
      where p.deal_id = one.deal_id and p.user_id = one.actor_id and p.joined_at is not null and app.could_open('participants', p.id, one.deal_id));
    told := told + 1;
    return next;
  end loop;
  perform set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', seal, true);
end
$$;
grant execute on function app.notifications_in_sight(timestamptz, uuid, int) to dealkeep_server;
