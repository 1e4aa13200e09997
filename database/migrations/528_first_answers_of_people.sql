-- compatible: a column more, which is empty until it is filled, and functions that do what they did.
--
-- Since when there are answers for somebody on a deal. Of deals where they have read none the first page shows those that have waited longest, and need not count all others.

alter table vault.answers_of_people add column first_at timestamptz;

create or replace view vault.answers_of_parts as
  select p.user_id, p.deal_id, max(coalesce(q.distributed_at, '-infinity')) as at, min(coalesce(q.distributed_at, '-infinity')) as first_at
  from public.participants p
  join public.questions q on q.participant_id = coalesce(p.advises, p.id) and q.status = 'distributed'
  where p.status = 'active'
  group by p.user_id, p.deal_id;

CREATE OR REPLACE FUNCTION app.note_answer()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform from public.deals d where d.id = new.deal_id for share;
  insert into vault.answers_of_people as known (user_id, deal_id, at, first_at)
    select p.user_id, p.deal_id, coalesce(new.distributed_at, '-infinity'), coalesce(new.distributed_at, '-infinity') from public.participants p
    where p.deal_id = new.deal_id and p.status = 'active' and coalesce(p.advises, p.id) = new.participant_id
    order by p.user_id
    on conflict (user_id, deal_id) do update
      set at = greatest(known.at, excluded.at), first_at = case when known.first_at is not null then least(known.first_at, excluded.first_at) end
      where known.at < excluded.at or known.first_at > excluded.first_at;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.keep_answers_of_people()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_op <> 'DELETE' and new.status = 'active' then
    -- Whoever distributes an answer meanwhile is waited for, or waits and finds the part.
    perform from public.deals d where d.id = new.deal_id for no key update;
  end if;
  if tg_op <> 'INSERT' then
    delete from vault.answers_of_people o where o.user_id = old.user_id and o.deal_id = old.deal_id;
  end if;
  if tg_op <> 'DELETE' and new.status = 'active' then
    insert into vault.answers_of_people (user_id, deal_id, at, first_at)
      select p.user_id, p.deal_id, p.at, p.first_at from vault.answers_of_parts p where p.user_id = new.user_id and p.deal_id = new.deal_id;
  end if;
  return null;
end
$function$;

-- Used once: the next migration calls it, and another drops it. Person by person, so that nobody who distributes an answer meanwhile waits for long.
create procedure app.fill_first_answers()
language plpgsql as $$
declare
  last uuid := '00000000-0000-0000-0000-000000000000';
  people uuid[];
begin
  loop
    people := array(select distinct k.user_id from (
      select a.user_id from vault.answers_of_people a where a.user_id > last order by a.user_id limit 5000) k order by k.user_id);
    exit when people = '{}';
    last := people[cardinality(people)];
    update vault.answers_of_people a
      set first_at = (select min(coalesce(q.distributed_at, '-infinity'))
        from public.participants p join public.questions q on q.participant_id = coalesce(p.advises, p.id) and q.status = 'distributed'
        where p.user_id = a.user_id and p.deal_id = a.deal_id and p.status = 'active')
      where a.user_id = any (people) and a.first_at is null;
    commit;
  end loop;
end
$$;
