-- compatible: refuses what no version does.
-- An upload that has ended gets no more rows: what was computed of it is kept, and pages of its customers are counted through.

create function app.upload_has_ended(snapshot uuid) returns boolean language sql stable security definer set search_path = '' as $$
  select exists (select from public.accounting_snapshots s where s.id = snapshot and s.status in ('completed', 'failed'))
$$;
revoke execute on function app.upload_has_ended(uuid) from public;
grant execute on function app.upload_has_ended(uuid) to dealkeep_server;

create policy not_after_the_end on public.pl_periods as restrictive for insert to dealkeep_server
  with check (not app.upload_has_ended(snapshot_id));
create policy not_after_the_end on public.customer_revenues as restrictive for insert to dealkeep_server
  with check (not app.upload_has_ended(snapshot_id));
