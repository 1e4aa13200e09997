-- compatible: the same functions answer the same, with less work.
--
-- The calendar of somebody on ten thousand deals: its query read every NDA that ends and every deal of the platform.

-- As before, in operators that hang on no setting, so that PostgreSQL puts them in the place of the call.
create or replace function app.end_of(day date) returns timestamptz
language sql immutable parallel safe
return ((day + 1)::timestamp + interval '12 hours') at time zone 'UTC';

create or replace function app.last_day_over(at timestamptz) returns date
language sql immutable parallel safe
return ((at at time zone 'UTC') - interval '12 hours')::date - 1;

-- What ends or is due on the open deals in which the caller takes part, as far as the policies of its tables show it to them: within two years,
-- and closing conditions that should have been met within the last 60 days; the soonest first, 1,000 at most. `own`: theirs to see to.
create or replace function app.deadlines()
returns table (subject text, subject_id uuid, deal_id uuid, deal_title text, due_at timestamptz, due_on date, own boolean,
  begun_at timestamptz, changed_at timestamptz)
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
  bought uuid[];
begin
  if me is null or app.client_id() is not null then
    return;
  end if;
  select array_agg(p.deal_id), array_agg(p.principal_id), array_agg(p.side), array_agg(p.deal_id) filter (where p.side = 'buyer')
    into deals, principals, sides, bought
    from app.own_parts(me, barred, narrowed) p
    join (select d.id from public.deals d
      where d.id = any (array(select o.deal_id from public.participants o where o.user_id = me and o.status = 'active'))
        and d.state not in ('closed', 'withdrawn')) d on d.id = p.deal_id;
  return query
    -- `participant_id`: whose side it concerns, where the others on the buyers' side do not see it.
    with due (subject, subject_id, deal_id, participant_id, due_at, due_on, owner_user_id, begun_at, changed_at) as (
      select 'offers', t.id, t.deal_id, t.participant_id, t.expires_at, null::date, null::uuid, t.submitted_at, t.submitted_at
        from (select c.id, c.deal_id, c.participant_id, c.submitted_at, app.time_in(c.payload ->> 'expires_at') as expires_at
          from public.offers c where c.deal_id = any (deals) and c.is_current and c.payload ->> 'expires_at' is not null
          offset 0) t
        where t.expires_at > now and t.expires_at <= until
          and t.id <> all (array(select x.offer_id from public.offer_decisions x where x.deal_id = any (deals)))
      union all
      select 'exclusivities', x.id, x.deal_id, x.participant_id, x.expires_at, null, null, x.granted_at, coalesce(x.changed_at, x.granted_at)
        from public.exclusivities x
        where x.deal_id = any (deals) and x.ended_at is null and x.expires_at > now and x.expires_at <= until
      union all
      select 'ndas', n.id, n.deal_id, n.participant_id, n.expires_at, null, null, n.signed_at, n.signed_at
        from public.ndas n
        where n.deal_id = any (deals) and n.status = 'active' and n.expires_at > now and n.expires_at <= until
      union all
      select 'closing_conditions', c.id, c.deal_id, b.participant_id, app.end_of(c.deadline), c.deadline, c.owner_user_id, c.created_at, c.updated_at
        from (select c.* from public.closing_conditions c
          where c.deal_id = any (deals) and c.status in ('open', 'in_progress')
            and c.deadline between (now - interval '60 days')::date and until::date) c
        left join (select s.* from vault.selected_buyers s where s.deal_id = any (bought)) b on b.deal_id = c.deal_id),
    first as (
      select w.*, case w.subject when 'closing_conditions' then w.owner_user_id is not distinct from me else w.participant_id = o.principal_id end as own
      from due w join unnest(deals, principals, sides) o (deal_id, principal_id, side) on o.deal_id = w.deal_id
      where o.side in ('broker', 'seller') or o.principal_id = w.participant_id
        or (o.side = 'viewer' and w.subject in ('exclusivities', 'closing_conditions'))
      order by w.due_at, w.subject_id limit 1000)
    select f.subject, f.subject_id, f.deal_id, d.title, f.due_at, f.due_on, f.own, f.begun_at, f.changed_at
    from first f join (select d.id, d.title from public.deals d where d.id = any (array(select first.deal_id from first))) d on d.id = f.deal_id
    order by f.due_at, f.subject_id;
end
$$;
