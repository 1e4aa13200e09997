-- compatible: a trigger more, which refuses the release before as it does this one, with a reason that it knows.
--
-- Of the changes of findings a person could record as many as there are requests, each with 8,000 characters of notes: everything else that people add to a deal has a limit a day.

-- Where a change of a finding is counted: on its deal.
create view vault.changes_of_findings as
  select f.deal_id, c.changed_by, c.changed_at from public.finding_changes c join public.findings f on f.id = c.finding_id;

-- The fifth argument names what is counted, where it is not the table itself.
create or replace function app.limit_a_day()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
declare
  person constant uuid := app.user_id();
  added int;
begin
  if not app.has_caller() then
    return new;  -- the owner, loading data
  end if;
  -- One after the other, or several at once would all be the last that there is room for.
  if person is null then
    perform from public.deals d where d.id = new.deal_id for no key update;
  else
    perform from public.users u where u.id = person for no key update;
  end if;
  execute format('select count(*) from %s where deal_id = $1 and %I is not distinct from $2 and %I > $3',
      coalesce(tg_argv[4], format('public.%I', tg_table_name)), tg_argv[1], tg_argv[2])
    into added using new.deal_id, person, app.now() - interval '1 day';
  if added >= tg_argv[0]::int then
    perform app.refuse('too_many_today', format('At most %s %s a %s a day on a deal: go on tomorrow.', tg_argv[0], tg_argv[3],
      case when person is null then 'brokerage''s keys' else 'person' end));
  end if;
  return new;
end
$$;

create trigger a_has_room_today_update before update of status, status_notes on public.findings for each row
  when ((new.status, new.status_notes) is distinct from (old.status, old.status_notes))
  execute function app.limit_a_day('1000', 'changed_by', 'changed_at', 'changes of findings', 'vault.changes_of_findings');
