-- compatible: a table more, which triggers keep; functions answer the same.
--
-- When a buyer's NDAs end was looked for with each of their deals, and so for who advises one: 7,500 searches among millions, four fifths of what a calendar took.

-- The NDAs in force that have an end, of somebody's own side on a deal: where to look, and not whether they take part.
create table vault.ndas_of_people (
  user_id uuid not null,
  deal_id uuid not null,
  nda_id uuid not null,
  participant_id uuid not null,
  signed_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (user_id, deal_id, nda_id) include (participant_id, signed_at, expires_at)
) with (autovacuum_vacuum_scale_factor = 0.05);
select app.protect('vault.ndas_of_people');

-- What the rows of the table are made of.
create view vault.ndas_of_parts as
  select p.user_id, p.deal_id, n.id as nda_id, n.participant_id, n.signed_at, n.expires_at
  from public.participants p
  join public.ndas n on n.participant_id = coalesce(p.advises, p.id)
  where p.status = 'active' and n.status = 'active' and n.expires_at is not null;

create function app.keep_ndas_of_people() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
  if tg_op <> 'DELETE' and new.status = 'active' then
    -- Whoever signs meanwhile is waited for, or waits and finds the part.
    perform from public.deals d where d.id = new.deal_id for no key update;
  end if;
  if tg_op <> 'INSERT' then
    delete from vault.ndas_of_people o where o.user_id = old.user_id and o.deal_id = old.deal_id;
  end if;
  if tg_op <> 'DELETE' and new.status = 'active' then
    insert into vault.ndas_of_people
      select p.* from vault.ndas_of_parts p where p.user_id = new.user_id and p.deal_id = new.deal_id and p.participant_id = coalesce(new.advises, new.id);
  end if;
  return null;
end
$$;

-- For an NDA that is in force or was.
create function app.change_ndas_of_people() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
  if tg_op <> 'DELETE' then
    perform from public.deals d where d.id = new.deal_id for share;
  end if;
  if tg_op <> 'INSERT' then
    delete from vault.ndas_of_people o using public.participants p
      where p.deal_id = old.deal_id and coalesce(p.advises, p.id) = old.participant_id
        and o.user_id = p.user_id and o.deal_id = old.deal_id and o.nda_id = old.id;
  end if;
  if tg_op <> 'DELETE' then
    insert into vault.ndas_of_people
      select p.* from vault.ndas_of_parts p where p.deal_id = new.deal_id and p.nda_id = new.id order by p.user_id;
  end if;
  return null;
end
$$;

-- Everything that is there, before the triggers, which wait for those who write and keep them waiting; then what came meanwhile.
insert into vault.ndas_of_people select p.* from vault.ndas_of_parts p order by p.user_id, p.deal_id, p.nda_id;
create trigger keep_ndas_of_people after insert or delete or update of user_id, deal_id, status, advises on participants
  for each row execute function app.keep_ndas_of_people();
create trigger add_ndas_of_people after insert on ndas for each row when (new.status = 'active') execute function app.change_ndas_of_people();
create trigger change_ndas_of_people after update on ndas
  for each row when (old.* is distinct from new.* and (old.status = 'active' or new.status = 'active')) execute function app.change_ndas_of_people();
create trigger remove_ndas_of_people after delete on ndas for each row when (old.status = 'active') execute function app.change_ndas_of_people();
do $$
declare
  since constant timestamptz := now() - interval '1 day';
  changed constant uuid[] := array(
    select p.deal_id from public.participants p where p.updated_at > since
    union select n.deal_id from public.ndas n where greatest(n.sent_at, n.signed_at, n.revoked_at) > since or n.expires_at between since and now());
begin
  -- For others wait meanwhile.
  perform set_config('work_mem', '256MB', true);
  delete from vault.ndas_of_people o where o.deal_id = any (changed);
  insert into vault.ndas_of_people select p.* from vault.ndas_of_parts p where p.deal_id = any (changed);
  -- Of brokerages that were deleted and sandboxes that were reset meanwhile.
  delete from vault.ndas_of_people o where not exists (select from public.ndas n where n.id = o.nda_id);
end
$$;

-- The rows of the table go with the parts, too.
create or replace function app.rows_of_brokerage(deals text, parts boolean)
returns table(name text, condition text)
language plpgsql stable set search_path = '' as $$
declare
  -- By their names in the catalogue: not everybody who asks may look a name of the vault up.
  left_out constant oid[] := array(select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'vault' and c.relname in ('brokerage_deletions', 'deals_of_people', 'answers_of_people', 'ndas_of_people'));
  conditions jsonb := '{}';
  found record;
  added int;
begin
  for found in
    select c.oid, string_agg(case a.attname when 'deal_id' then 't.deal_id = ' || deals else 't.' || a.attname || ' = $1' end,
        ' or ' order by a.attname) as condition
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      join pg_catalog.pg_attribute a on a.attrelid = c.oid and not a.attisdropped and a.atttypid = 'uuid'::regtype
        and a.attname in ('brokerage_id', 'organization_id', 'deal_id') and not (a.attname = 'brokerage_id' and app.has_tenant_by_trigger(c.oid))
    where n.nspname in ('public', 'vault') and c.relpersistence = 'p' and c.oid <> all (left_out)
      and (c.relkind = 'r' and (parts or not c.relispartition) or c.relkind = 'p' and not parts)
    group by c.oid
  loop
    conditions := conditions || jsonb_build_object(found.oid::text, found.condition);
  end loop;
  conditions := conditions || jsonb_build_object('public.brokerages'::regclass::oid::text, 't.id = $1');
  -- What refers to these and has no such column, or one that may be empty.
  loop
    added := 0;
    for found in
      select k.conrelid as oid, string_agg(format('t.%I in (select t.%I from %s t where %s)',
          a.attname, f.attname, k.confrelid::regclass, conditions ->> k.confrelid::text), ' or ' order by k.conname) as condition
      from pg_catalog.pg_constraint k
        join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
        join pg_catalog.pg_attribute f on f.attrelid = k.confrelid and f.attnum = k.confkey[1]
      where k.contype = 'f' and array_length(k.conkey, 1) = 1 and k.conrelid <> k.confrelid
        and conditions ? k.confrelid::text and not k.confrelid in ('public.brokerages'::regclass, 'public.deals'::regclass)
        and k.conrelid <> all (left_out) and strpos(coalesce(conditions ->> k.conrelid::text, ''), ' in (select ') = 0
        and not exists (select from pg_catalog.pg_attribute o where o.attrelid = k.conrelid and not o.attisdropped
          and (o.attname in ('deal_id', 'organization_id') or (o.attname = 'brokerage_id' and o.attnotnull and not app.has_tenant_by_trigger(k.conrelid))))
      group by k.conrelid
    loop
      conditions := conditions || jsonb_build_object(found.oid::text,
        concat_ws(' or ', conditions ->> found.oid::text, found.condition));
      added := added + 1;
    end loop;
    exit when added = 0;
  end loop;
  -- Those to which nothing that is left refers come first.
  while conditions <> '{}' loop
    added := 0;
    for found in
      select o.key, o.key::oid::regclass::text as name, o.value as condition from jsonb_each_text(conditions) o
      where not exists (select from pg_catalog.pg_constraint k
        where k.contype = 'f' and k.confrelid = o.key::oid and k.conrelid <> k.confrelid and conditions ? k.conrelid::text)
      order by 2
    loop
      name := case when strpos(found.name, '.') = 0 then 'public.' || found.name else found.name end;
      condition := found.condition;
      return next;
      conditions := conditions - found.key;
      added := added + 1;
    end loop;
    if added = 0 then
      raise exception 'Tables refer to one another in a circle: %', conditions;
    end if;
  end loop;
end
$$;

create or replace function app.deadlines()
returns table(subject text, subject_id uuid, deal_id uuid, deal_title text, due_at timestamptz, due_on date, own boolean, begun_at timestamptz, changed_at timestamptz)
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  now constant timestamptz := app.now();
  until constant timestamptz := now + interval '2 years';
  deals uuid[];
  principals uuid[];
  sides text[];
  titles text[];
  -- Brokers and sellers know of every NDA on them.
  run uuid[];
  -- Of buyers only that with the exclusivity is told when it ends, and of conditions.
  informed uuid[];
  -- Which of these are exclusive yet.
  exclusive uuid[];
  -- Who the conditions are for.
  selected uuid[];
begin
  if me is null or app.client_id() is not null then
    return;
  end if;
  select array_agg(o.deal_id), array_agg(o.principal_id), array_agg(o.side), array_agg(o.title),
      array_agg(o.deal_id) filter (where o.side in ('broker', 'seller')),
      array_agg(case when o.expires_at > now or o.stage is distinct from 'exclusivity' then o.holder_id end),
      array_agg(o.deal_id) filter (where o.side <> 'buyer' or o.holder_id = o.principal_id),
      array_agg(o.deal_id) filter (where (o.side <> 'buyer' or o.holder_id = o.principal_id) and o.expires_at > now and o.expires_at <= until)
    into deals, principals, sides, titles, run, selected, informed, exclusive
    from vault.deals_of_people o
    where o.user_id = me and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed) and o.state not in ('closed', 'withdrawn');
  return query
    -- `participant_id`: whose side it concerns, where the others on the buyers' side do not see it. `own_side`: it was looked for among what is of the caller's side.
    with due (subject, subject_id, deal_id, participant_id, due_at, due_on, owner_user_id, begun_at, changed_at, own_side) as (
      select 'offers', t.id, t.deal_id, t.participant_id, t.expires_at, null::date, null::uuid, t.submitted_at, t.submitted_at, false
        from (select c.id, c.deal_id, c.participant_id, c.submitted_at, app.time_in(c.payload ->> 'expires_at') as expires_at
          from public.offers c where c.deal_id = any (deals) and c.is_current and c.payload ->> 'expires_at' is not null
          offset 0) t
        where t.expires_at > now and t.expires_at <= until
          and t.id <> all (array(select x.offer_id from public.offer_decisions x where x.deal_id = any (deals)))
      union all
      select 'exclusivities', x.id, x.deal_id, x.participant_id, x.expires_at, null, null, x.granted_at, coalesce(x.changed_at, x.granted_at), false
        from public.exclusivities x
        where x.deal_id = any (exclusive) and x.ended_at is null and x.expires_at > now and x.expires_at <= until
      union all
      select 'ndas', n.id, n.deal_id, n.participant_id, n.expires_at, null, null, n.signed_at, n.signed_at, false
        from public.ndas n
        where n.deal_id = any (run) and n.status = 'active' and n.expires_at > now and n.expires_at <= until
      union all
      select 'ndas', n.nda_id, n.deal_id, n.participant_id, n.expires_at, null, null, n.signed_at, n.signed_at, true
        from vault.ndas_of_people n
        where n.user_id = me and (narrowed is null or n.deal_id = narrowed) and n.expires_at > now and n.expires_at <= until
      union all
      select 'closing_conditions', c.id, c.deal_id, null, app.end_of(c.deadline), c.deadline, c.owner_user_id, c.created_at, c.updated_at, false
        from public.closing_conditions c
        where c.deal_id = any (informed) and c.status in ('open', 'in_progress')
          and c.deadline between (now - interval '60 days')::date and until::date),
    first as (
      select w.*, o.title, case w.subject when 'closing_conditions' then w.owner_user_id is not distinct from me else w.participant_id = o.principal_id end as own
      from due w join unnest(deals, principals, sides, titles, selected) o (deal_id, principal_id, side, title, selected) on o.deal_id = w.deal_id
      where case when o.side in ('broker', 'seller') then not w.own_side
          else o.principal_id = case w.subject when 'closing_conditions' then o.selected else w.participant_id end end
        or (o.side = 'viewer' and w.subject in ('exclusivities', 'closing_conditions'))
      order by w.due_at, w.subject_id limit 1000)
    select f.subject, f.subject_id, f.deal_id, f.title, f.due_at, f.due_on, f.own, f.begun_at, f.changed_at
    from first f order by f.due_at, f.subject_id;
end
$$;
