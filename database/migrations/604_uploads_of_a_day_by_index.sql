-- compatible: a function that reads less for the same answer.
--
-- At each upload all documents of the deal were read, to find how many this person, or a key, added within a day: no index serves `is not distinct from`.

CREATE OR REPLACE FUNCTION app.limit_a_day()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person constant uuid := app.user_id();
  most constant int := tg_argv[0];
  last_in_the_way timestamptz;
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
  execute format('select %3$I from %1$s where deal_id = $1 and %2$I %4$s and %3$I > $3 order by %3$I desc offset $4 limit 1',
      coalesce(tg_argv[4], format('public.%I', tg_table_name)), tg_argv[1], tg_argv[2], case when person is null then 'is null' else '= $2' end)
    into last_in_the_way using new.deal_id, person, app.now() - interval '1 day', most - 1;
  if last_in_the_way is not null then
    perform app.refuse_until('too_many_today', format('At most %s %s a %s a day on a deal: go on after %%s.', to_char(most, 'FM999,999'), tg_argv[3],
      case when person is null then 'brokerage''s keys' else 'person' end), last_in_the_way + interval '1 day');
  end if;
  return new;
end
$function$;
