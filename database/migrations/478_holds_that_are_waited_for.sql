-- compatible: functions that old nodes call keep their names and arguments, and answer the same; two are new.
--
-- A legal hold that was placed while something was deleted said that it was, and what it protects went all the same: a batch of bodies that had been looked up before, a part of a brokerage, or a
-- person who was being erased. Whoever deletes now takes a lock on the table of holds before looking at it, which whoever places one waits for; and bodies are asked about one by one. What is
-- deleted at that moment has been decided on before the hold was.

create function app.is_document_held(deal uuid, uploaded_by uuid)
  returns boolean language sql stable
  return exists (select from vault.legal_holds h join public.deals l on l.id = deal
    where (h.kind = 'deal' and h.subject_id = l.id) or (h.kind = 'brokerage' and h.subject_id = l.organization_id)
      or (h.kind = 'person' and h.subject_id = uploaded_by));

create or replace function app.bodies_to_clear()
returns setof text
language sql
stable
security definer
set search_path = ''
as $$
  (select u.storage_key from vault.uploads u where u.begun_at < app.now() - interval '2 days'
   union all
   select d.storage_key from (
       select s.storage_key, s.deal_id, s.uploaded_by from public.documents s
         where s.removed_at < app.now() - interval '7 days' and s.body_cleared_at is null
       union all
       select p.storage_key, p.deal_id, p.uploaded_by from public.production_documents p
         where p.removed_at < app.now() - interval '7 days' and p.body_cleared_at is null) d
     where not app.is_document_held(d.deal_id, d.uploaded_by))
  limit 500
$$;

-- Notes that a body is about to be taken out of the store, unless a hold has come to protect it. Were it not taken out after this, it would be named again like that of an upload that failed.
create function app.begin_to_clear(storage_key text)
returns boolean
language plpgsql
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  marked int;
begin
  lock table vault.legal_holds in row share mode;
  with simple as (
    update public.documents d set body_cleared_at = app.now()
      where d.storage_key = begin_to_clear.storage_key and d.removed_at < app.now() - interval '7 days' and d.body_cleared_at is null
        and not app.is_document_held(d.deal_id, d.uploaded_by) returning 1),
  production as (
    update public.production_documents d set body_cleared_at = app.now()
      where d.storage_key = begin_to_clear.storage_key and d.removed_at < app.now() - interval '7 days' and d.body_cleared_at is null
        and not app.is_document_held(d.deal_id, d.uploaded_by) returning 1)
  select count(*) into marked from (select from simple union all select from production) m;
  if marked > 0 then
    insert into vault.uploads (storage_key, begun_at) values (begin_to_clear.storage_key, app.now() - interval '3 days') on conflict do nothing;
  end if;
  return exists (select from vault.uploads u where u.storage_key = begin_to_clear.storage_key and u.begun_at < app.now() - interval '2 days');
end
$$;
grant execute on function app.begin_to_clear(text) to dealkeep_server;

create or replace function app.body_cleared(storage_key text)
returns void
language sql
security definer
set search_path = ''
as $$
  delete from vault.uploads u where u.storage_key = body_cleared.storage_key;
  update public.documents d set body_cleared_at = app.now()
    where d.storage_key = body_cleared.storage_key and d.removed_at is not null and d.body_cleared_at is null;
  update public.production_documents d set body_cleared_at = app.now()
    where d.storage_key = body_cleared.storage_key and d.removed_at is not null and d.body_cleared_at is null
$$;

-- Each statement of a function that is not stable sees what was committed before it: also the hold that the lock waited for.

create or replace function app.hold_on_brokerage(brokerage uuid)
returns table(kind text, subject_id uuid)
language plpgsql
security definer
set search_path = ''
as $$
#variable_conflict use_column
begin
  lock table vault.legal_holds in row share mode;
  return query
    select h.kind, h.subject_id from vault.legal_holds h
    where not app.is_sandbox(brokerage) and case h.kind
      when 'brokerage' then h.subject_id = brokerage
      when 'deal' then exists (select from public.deals d where d.id = h.subject_id and d.organization_id = brokerage)
      else exists (select from public.members m where m.user_id = h.subject_id and m.brokerage_id = brokerage)
        or exists (select from public.participants p join public.deals d on d.id = p.deal_id
          where p.user_id = h.subject_id and d.organization_id = brokerage)
        or exists (select from public.contacts c join public.users u on u.id = h.subject_id and lower(c.email) = u.email
          where c.brokerage_id = brokerage)
      end
    order by h.kind, h.subject_id limit 1;
end
$$;

create or replace function app.hold_on_person(person uuid)
returns table(kind text, subject_id uuid, title text)
language plpgsql
security definer
set search_path = ''
as $$
#variable_conflict use_column
begin
  lock table vault.legal_holds in row share mode;
  return query
    with parts as (
      select d.id, d.title, d.organization_id from public.participants p join public.deals d on d.id = p.deal_id where p.user_id = person
    ), brokerages as (
      select m.brokerage_id as id from public.members m where m.user_id = person
      union select s.organization_id from parts s
      union select c.brokerage_id from public.users u cross join lateral app.contacts_with_address(u.email) c where u.id = person
    )
    select h.kind, h.subject_id, coalesce(s.title, b.name, u.name)
    from vault.legal_holds h
    left join parts s on h.kind = 'deal' and s.id = h.subject_id
    left join public.brokerages b on h.kind = 'brokerage' and b.id = h.subject_id
    left join public.users u on h.kind = 'person' and u.id = h.subject_id
    where s.id is not null or (h.kind = 'person' and h.subject_id = person)
      or (h.kind = 'brokerage' and h.subject_id in (select g.id from brokerages g))
    order by h.kind desc, h.subject_id limit 1;
end
$$;
