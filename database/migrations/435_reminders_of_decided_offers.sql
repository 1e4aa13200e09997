-- compatible: reminders are kept and queued as before, but of fewer offers.
--
-- Reminders are queued of what is still so. That an offer expires was told of offers that had been accepted or declined, which the calendar leaves out: a decision is not in the
-- row of the offer, whose trigger would have deleted the reminder.

-- The deadlines of a record while it is open, and since when each is told.
create function app.deadlines_of(of_table text, record jsonb)
returns table (kind text, remind_at timestamptz, due_at timestamptz)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  ends constant timestamptz := case of_table
    when 'ndas' then case when record ->> 'status' = 'active' then (record ->> 'expires_at')::timestamptz end
    when 'offers' then
      case when (record ->> 'is_current')::boolean and not exists (select from public.offer_decisions x where x.offer_id = (record ->> 'id')::uuid)
        then app.time_in(record #>> '{payload,expires_at}') end
    when 'exclusivities' then case when record ->> 'ended_at' is null then (record ->> 'expires_at')::timestamptz end
    when 'closing_conditions' then
      case when record ->> 'status' in ('open', 'in_progress') then app.end_of((record ->> 'deadline')::date) end
  end;
begin
  return query
    select r.kind, ends - r.before, ends
    from (values ('ndas', 'nda_ending', interval '7 days'), ('offers', 'offer_expiring', interval '2 days'),
      ('exclusivities', 'exclusivity_ending', interval '7 days'), ('exclusivities', 'exclusivity_ending', interval '1 day'),
      ('closing_conditions', 'condition_due', interval '3 days'), ('closing_conditions', 'condition_overdue', interval '0'))
      r (subject, kind, before)
    where r.subject = of_table and ends is not null;
end
$$;

-- Those that are yet to be told.
create or replace function app.reminders_of(of_table text, record jsonb)
returns table (kind text, remind_at timestamptz, due_at timestamptz)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
begin
  return query select d.kind, d.remind_at, d.due_at from app.deadlines_of(of_table, record) d where d.remind_at > app.now();
end
$$;

-- Whether what is told of a deadline is so at this moment.
create function app.is_deadline_near(of_kind text, of_table text, record uuid, deal uuid) returns boolean
language plpgsql stable set search_path = '' as $$
declare
  found jsonb;
begin
  case of_table
    when 'ndas' then select to_jsonb(n) into found from public.ndas n where n.id = record;
    when 'offers' then select to_jsonb(o) into found from public.offers o where o.id = record;
    when 'exclusivities' then select to_jsonb(x) into found from public.exclusivities x where x.id = record;
    when 'closing_conditions' then select to_jsonb(c) into found from public.closing_conditions c where c.id = record;
  end case;
  return app.actual_state(deal) not in ('closed', 'withdrawn') and exists (
    select from app.deadlines_of(of_table, found) d
    where d.kind = of_kind and d.remind_at <= app.now() and (of_kind = 'condition_overdue' or d.due_at > app.now()));
end
$$;

create or replace function app.queue_reminders() returns integer
language plpgsql security definer set search_path = '' as $$
declare
  due vault.reminders;
  done int := 0;
begin
  for due in
    delete from vault.reminders r using (
      select d.ctid from vault.reminders d where d.remind_at <= app.now() order by d.remind_at limit 500 for update skip locked) found
    where r.ctid = found.ctid returning r.*
  loop
    done := done + 1;
    if app.is_deadline_near(due.kind, due.subject, due.subject_id, due.deal_id) then
      perform app.queue_event(due.kind, due.deal_id, due.subject, due.subject_id, null, null);
    end if;
  end loop;
  return done;
end
$$;
