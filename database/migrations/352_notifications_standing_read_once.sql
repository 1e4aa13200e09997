-- compatible: answers the same.
--
-- What somebody is to the deal of a notification is read once, with it. The limit keeps the lookup per notification: joined, it is planned for all parts of a person.

create or replace function app.notifications_in_sight(after_at timestamptz, after_id uuid, most integer)
returns table(id uuid, kind text, deal_id uuid, deal_title text, subject_id uuid, at timestamptz, read_at timestamptz, subject_name text, actor_name text)
language plpgsql
security definer
set search_path = ''
as $$
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
  told int := 0;
begin
  if me is null or app.client_id() is not null or app.narrowed_to() is not null then
    return;
  end if;
  -- Read for all at once; what they may not open, and whom they may not see, is left out below.
  for one in
    select n.*,
      case n.subject
        when 'documents' then (select d.filename from public.documents d where d.id = n.subject_id)
        when 'production_documents' then (select d.filename from public.production_documents d where d.id = n.subject_id)
        when 'closing_conditions' then (select c.name from public.closing_conditions c where c.id = n.subject_id)
        when 'findings' then (select f.title from public.findings f where f.id = n.subject_id)
        when 'api_keys' then (select k.name from public.api_keys k where k.id = n.subject_id) end as name,
      person.part, person.name as person_name, actor.part as actor_part, actor.name as actor
    from (
      select n.id, n.kind, n.deal_id, n.subject, n.subject_id, n.actor_id, n.at, n.read_at, s.title, s.standing from vault.notifications n
      left join lateral (
        select d.title, app.standing_of(p.deal_id, d.organization_id, barred, administered, p.participant_id, p.role, p.principal_id, p.principal_role) as standing
        from vault.parts p join public.deals d on d.id = p.deal_id
        where p.user_id = me and p.deal_id = n.deal_id and p.principal_role in ('broker', 'seller', 'buyer', 'viewer')
          and d.organization_id <> all (barred) limit 1) s on true
      where n.user_id = me and (after_at is null or (n.at, n.id) < (after_at, after_id)) and (n.deal_id is null or s.standing is not null)
      order by n.at desc, n.id desc limit 200) n
    left join lateral (
      select p.id as part, case when p.joined_at is null then p.invited_name else u.name end as name
      from public.participants p left join public.users u on u.id = p.user_id
      where p.id = case n.subject when 'participants' then n.subject_id
        when 'ndas' then (select a.participant_id from public.ndas a where a.id = n.subject_id) end) person on true
    left join lateral (
      select p.id as part, u.name from public.participants p join public.users u on u.id = p.user_id
      where p.deal_id = n.deal_id and p.user_id = n.actor_id and p.joined_at is not null) actor on true
    order by n.at desc, n.id desc
  loop
    exit when told >= most;
    if one.deal_id is not null and one.deal_id is distinct from entered then
      entered := one.deal_id;
      perform app.seal(whole || ',' || one.standing);
    end if;
    continue when not (one.subject is null or one.subject = 'deals' or app.could_open(one.subject, one.subject_id, one.deal_id));
    id := one.id;
    kind := one.kind;
    deal_id := one.deal_id;
    deal_title := one.title;
    subject_id := one.subject_id;
    at := one.at;
    read_at := one.read_at;
    subject_name := case when one.part is null then one.name when app.could_open('participants', one.part, one.deal_id) then one.person_name end;
    actor_name := case when one.actor_part is not null and app.could_open('participants', one.actor_part, one.deal_id) then one.actor end;
    told := told + 1;
    return next;
  end loop;
  perform set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', seal, true);
end
$$;

create or replace function app.unread_notifications()
returns integer
language plpgsql
security definer
set search_path = ''
as $$
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
      select n.deal_id, n.subject, n.subject_id, s.standing from vault.notifications n
      left join lateral (
        select app.standing_of(p.deal_id, d.organization_id, barred, administered, p.participant_id, p.role, p.principal_id, p.principal_role) as standing
        from vault.parts p join public.deals d on d.id = p.deal_id
        where p.user_id = me and p.deal_id = n.deal_id and p.principal_role in ('broker', 'seller', 'buyer', 'viewer')
          and d.organization_id <> all (barred) limit 1) s on true
      where n.user_id = me and n.read_at is null and (n.deal_id is null or s.standing is not null)
      order by n.at desc, n.id desc limit 100) l
    order by l.deal_id nulls first
  loop
    if one.deal_id is not null and one.deal_id is distinct from entered then
      entered := one.deal_id;
      perform app.seal(whole || ',' || one.standing);
    end if;
    if one.subject is null or one.subject = 'deals' or app.could_open(one.subject, one.subject_id, one.deal_id) then
      unread := unread + 1;
    end if;
  end loop;
  perform set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', seal, true);
  return unread;
end
$$;
