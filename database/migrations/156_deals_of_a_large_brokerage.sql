-- compatible: answers the same.
-- The deals of a key are read in their order: where most brokerages are small, all deals of a large one were read and sorted for each page of fifty,
-- 30 ms of PostgreSQL for 12,000 of them.
alter function app.deals_for_key(text[], text, timestamptz, timestamptz, uuid, int) set enable_sort to off;

-- What is the first of a brokerage is its oldest, but for transactions that took long: while it is young, nothing of that brokerage is looked for.
create or replace function app.purge_changes() returns integer language plpgsql security definer set search_path = '' as $$
declare
  of_brokerage uuid;
  purged int := 0;
  part int;
begin
  for of_brokerage in
    select b.id from public.brokerages b
    where (select f.at from public.change_events f where f.brokerage_id = b.id order by f.seq limit 1) < app.now() - interval '31 days'
  loop
    delete from public.change_events e
      where e.brokerage_id = of_brokerage and e.at < app.now() - interval '31 days'
        and e.seq <= (select max(o.seq) from (
          select f.seq from public.change_events f where f.brokerage_id = of_brokerage order by f.seq limit 10000) o);
    get diagnostics part = row_count;
    purged := purged + part;
  end loop;
  return purged;
end
$$;
