-- compatible: functions that old nodes call keep their names, arguments and answers.
--
-- Whether somebody could open a record was asked with the identity sealed anew for each deal, and up to eight functions that each verify the seal. A buyer whose notifications are hidden
-- waited for 400 such questions on each page of the list, and for 300 at the bell. What opens a record follows from what the person is on its deal, which the list reads with the
-- notification: it is decided from that, in one function, and the identity stays as it is.

-- Whether a brokerage that is among these runs the deal.
create function app.is_administered(deal uuid, administered uuid[])
  returns boolean language sql stable
  return exists (select from public.deals d where d.id = deal and d.organization_id = any (administered));

-- Whether a document of a deal is open to who acts there for this side and this participant.
create function app.document_opens_to(confidentiality text, deal uuid, side text, principal uuid)
  returns boolean language sql stable
  return app.document_is_visible(deal, confidentiality, true,
    case when side in ('broker', 'seller') then array[deal] end,
    case when exists (select from vault.active_ndas n where n.participant_id = principal) then array[deal] end,
    case when side = 'buyer' and exists (
      select from public.exclusivities x where x.participant_id = principal and x.ended_at is null and x.expires_at > app.now())
    then array[deal] end);

-- Whether a person with this standing (app.standing_of), who administers these brokerages, could open the record. Without a deal: only what belongs to a brokerage or to themselves.
create function app.could_open_as(of_table text, record uuid, standing text, administered uuid[])
returns boolean
language plpgsql
stable
set search_path = ''
as $$
declare
  deal constant uuid := nullif(split_part(standing, ',', 1), '');
  principal constant uuid := nullif(split_part(standing, ',', 4), '');
  side constant text := split_part(standing, ',', 5);
begin
  case of_table
    when 'questions' then
      return exists (select from public.questions q where q.id = record and q.deal_id = deal
        and (side = 'broker' or q.participant_id = principal or (q.status in ('with_seller', 'answered', 'distributed') and side = 'seller')));
    when 'question_answers' then
      return side in ('broker', 'seller') and exists (select from public.question_answers a where a.question_id = record and a.deal_id = deal);
    when 'ndas' then
      return exists (select from public.ndas n where n.id = record and n.deal_id = deal
        and (side in ('broker', 'seller') or n.participant_id = principal));
    when 'documents' then
      return exists (select from public.documents d where d.id = record and d.deal_id = deal and d.removed_at is null
        and app.document_opens_to(d.confidentiality, deal, side, principal));
    when 'production_documents' then
      return exists (select from public.production_documents d where d.id = record and d.deal_id = deal and d.removed_at is null
        and app.document_opens_to(d.confidentiality, deal, side, principal));
    when 'offers' then
      return exists (select from public.offers o where o.id = record and o.deal_id = deal
        and (side in ('broker', 'seller') or o.participant_id = principal));
    when 'exclusivities' then
      return exists (select from public.exclusivities x where x.id = record and x.deal_id = deal
        and (side in ('broker', 'seller', 'viewer') or x.participant_id = principal or app.is_administered(deal, administered)));
    when 'closing_conditions' then
      return exists (select from public.closing_conditions c where c.id = record and c.deal_id = deal
        and (side in ('broker', 'seller', 'viewer') or app.is_administered(deal, administered)
          or (side = 'buyer' and exists (select from vault.selected_buyers s where s.participant_id = principal))));
    when 'findings' then
      return exists (select from public.findings f where f.id = record and f.deal_id = deal
        and (side in ('broker', 'seller') or f.participant_id = principal));
    when 'participants' then
      return exists (select from public.participants p where p.id = record and p.deal_id = deal
        and (side in ('broker', 'seller', 'viewer') or coalesce(p.advises, p.id) = principal or app.is_administered(deal, administered)
          or (side = 'buyer' and p.status = 'active' and (p.role = 'broker' or (p.role = 'seller'
            and (exists (select from public.deals d where d.id = deal and not d.needs_nda)
              or exists (select from vault.active_ndas n where n.participant_id = principal)))))));
    when 'deals' then
      return exists (select from public.deals d where d.id = record and d.id = deal);
    when 'api_keys' then
      return exists (select from public.api_keys k where k.id = record and k.brokerage_id = any (administered));
    else return of_table is null;
  end case;
end
$$;

-- The same of the caller, on the deal to which the request is narrowed.
create or replace function app.could_open(of_table text, record uuid, deal uuid)
returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return app.could_open_as(of_table, record, array_to_string((string_to_array(app.identity(), ','))[8:12], ','), app.brokerages_as('admin'));
end
$$;

create or replace function app.notifications_in_sight(after_at timestamptz, after_id uuid, most integer)
returns table(id uuid, kind text, deal_id uuid, deal_title text, subject_id uuid, at timestamptz, read_at timestamptz, subject_name text, actor_name text)
language plpgsql
security definer
set search_path = ''
set enable_sort = off
as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  administered constant uuid[] := app.brokerages_as('admin');
  one record;
  looked int := 0;
  told int := 0;
begin
  if me is null or app.client_id() is not null or app.narrowed_to() is not null then
    return;
  end if;
  -- Read for all at once; what they may not open, and whom they may not see, is left out.
  for one in
    select n.*,
      case when n.opens then
        case n.subject
          when 'documents' then (select d.filename from public.documents d where d.id = n.subject_id)
          when 'production_documents' then (select d.filename from public.production_documents d where d.id = n.subject_id)
          when 'closing_conditions' then (select c.name from public.closing_conditions c where c.id = n.subject_id)
          when 'findings' then (select f.title from public.findings f where f.id = n.subject_id)
          when 'api_keys' then (select k.name from public.api_keys k where k.id = n.subject_id)
          else (
            select case when p.joined_at is null then p.invited_name else u.name end
            from public.participants p left join public.users u on u.id = p.user_id
            where p.id = case n.subject when 'participants' then n.subject_id
                when 'ndas' then (select a.participant_id from public.ndas a where a.id = n.subject_id) end
              and app.could_open_as('participants', p.id, n.standing, administered)) end end as name,
      case when n.opens then (
        select u.name from public.participants p join public.users u on u.id = p.user_id
        where p.deal_id = n.deal_id and p.user_id = n.actor_id and p.joined_at is not null
          and app.could_open_as('participants', p.id, n.standing, administered)) end as actor
    from (
      select n.*, n.subject is null or n.subject = 'deals' or app.could_open_as(n.subject, n.subject_id, n.standing, administered) as opens
      from (
        select n.id, n.kind, n.deal_id, n.subject, n.subject_id, n.actor_id, n.at, n.read_at, s.title, s.standing
        from vault.notifications n
        left join lateral (
          select o.title, app.standing_of(o.deal_id, o.organization_id, barred, administered, o.participant_id, o.role, o.principal_id, o.side) as standing
          from vault.deals_of_people o where o.user_id = me and o.deal_id = n.deal_id and o.organization_id <> all (barred)) s on true
        where n.user_id = me and (n.at, n.id) < (coalesce(after_at, 'infinity'), coalesce(after_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
          and (n.deal_id is null or s.standing is not null)
        order by n.at desc, n.id desc limit 400) n
      offset 0) n
  loop
    looked := looked + 1;
    continue when not one.opens;
    id := one.id;
    kind := one.kind;
    deal_id := one.deal_id;
    deal_title := one.title;
    subject_id := one.subject_id;
    at := one.at;
    read_at := one.read_at;
    subject_name := one.name;
    actor_name := one.actor;
    return next;
    told := told + 1;
    exit when told = most;
  end loop;
  -- Hidden as far as was looked: where to go on from.
  if told < most and looked = 400 then
    return query select one.id, null::text, null::uuid, null::text, null::uuid, one.at, null::timestamptz, null::text, null::text;
  end if;
end
$$;

create or replace function app.unread_notifications()
returns integer
language plpgsql
security definer
set search_path = ''
set enable_sort = off
as $$
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  administered constant uuid[] := app.brokerages_as('admin');
begin
  if me is null or app.client_id() is not null or app.narrowed_to() is not null then
    return 0;
  end if;
  return (
    select count(*) from (
      select from (
        select n.subject, n.subject_id, s.standing
        from vault.notifications n
        left join lateral (
          select app.standing_of(o.deal_id, o.organization_id, barred, administered, o.participant_id, o.role, o.principal_id, o.side) as standing
          from vault.deals_of_people o where o.user_id = me and o.deal_id = n.deal_id and o.organization_id <> all (barred)) s on true
        where n.user_id = me and n.read_at is null and (n.deal_id is null or s.standing is not null)
        order by n.at desc, n.id desc limit 400) n
      where n.subject is null or n.subject = 'deals' or app.could_open_as(n.subject, n.subject_id, n.standing, administered)
      limit 100) n);
end
$$;
