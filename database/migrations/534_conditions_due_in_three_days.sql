-- compatible: the function answers the same columns.
--
-- That a condition is due in three days was told two days before its day.

CREATE OR REPLACE FUNCTION app.deadlines_of(of_table text, record jsonb)
 RETURNS TABLE(kind text, remind_at timestamp with time zone, due_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  ends constant timestamptz := case of_table
    when 'ndas' then case when record ->> 'status' = 'active' then (record ->> 'expires_at')::timestamptz end
    when 'offers' then
      case when (record ->> 'is_current')::boolean and not exists (select from public.offer_decisions x where x.offer_id = (record ->> 'id')::uuid)
          and exists (select from public.participants p where p.id = (record ->> 'participant_id')::uuid and p.role = 'buyer' and p.status = 'active')
        then app.time_in(record #>> '{payload,expires_at}') end
    when 'exclusivities' then case when record ->> 'ended_at' is null then (record ->> 'expires_at')::timestamptz end
    when 'closing_conditions' then
      case when record ->> 'status' in ('open', 'in_progress') then app.end_of((record ->> 'deadline')::date) end
  end;
begin
  return query
    select r.kind, ends - r.before, ends
    -- A condition ends at noon of the day after its own, in UTC, when that is over everywhere: three days before its day are four before then.
    from (values ('ndas', 'nda_ending', interval '7 days'), ('offers', 'offer_expiring', interval '2 days'),
      ('exclusivities', 'exclusivity_ending', interval '7 days'), ('exclusivities', 'exclusivity_ending', interval '1 day'),
      ('closing_conditions', 'condition_due', interval '4 days'), ('closing_conditions', 'condition_overdue', interval '0'))
      r (subject, kind, before)
    where r.subject = of_table and ends is not null;
end
$function$;

update vault.reminders set remind_at = remind_at - interval '1 day' where kind = 'condition_due';
