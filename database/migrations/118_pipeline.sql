-- compatible: tells people what the deals that they run ask for, for their first page.

-- Of the deals that the caller runs and that are neither closed nor withdrawn: how many there are in each currency, how many of them name a price, and
-- what these come to ('total'); and the highest priced of them, at most `most` ('deal'). One look at the caller's parts, one at their deals.
create function app.pipeline(most integer)
  returns table (part text, id uuid, title text, asking_price numeric, currency text, deals integer, priced integer)
  language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  run uuid[];
begin
  if app.user_id() is null then
    return;
  end if;
  run := app.deals_acting_as('broker');
  return query
    with mine as materialized (
      select d.id, d.title, d.asking_price, d.currency from public.deals d
      where d.id = any (run) and d.state not in ('closed', 'withdrawn'))
    (select 'total', null::uuid, null::text, sum(m.asking_price), m.currency, count(*)::int, count(m.asking_price)::int
      from mine m group by m.currency order by count(*) desc, m.currency limit 20)
    union all
    (select 'deal', m.id, m.title, m.asking_price, m.currency, null, null
      from mine m order by m.asking_price desc nulls last, m.id limit least(greatest(most, 0), 50));
end $$;
revoke execute on function app.pipeline(integer) from public;
grant execute on function app.pipeline(integer) to dealkeep_server;
