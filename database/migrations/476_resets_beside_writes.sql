-- compatible: a function does the same, and fails less.
--
-- A sandbox was not reset while somebody wrote there: what was added and not yet committed was not deleted, and what it refers to could not be. Now that is done again, up to five times, when
-- what was in the way is committed. To lock the deals first would be another order than that of those who change what belongs to a deal: these have its row before they ask for the deal.

create or replace function app.set_up_sandbox(of_brokerage uuid, anew boolean)
returns void
language plpgsql
set search_path = ''
as $$
declare
  identity constant text := coalesce(current_setting('dealkeep.identity', true), '');
  seal constant text := coalesce(current_setting('dealkeep.seal', true), '');
  sandbox uuid;
begin
  insert into public.brokerages (slug, name, sandbox_of, reset_at, admit_keys_by_default)
    select 'sandbox-' || replace(b.id::text, '-', ''), left(b.name, 190) || ' (sandbox)', b.id, app.now(), true
    from public.brokerages b where b.id = of_brokerage and b.sandbox_of is null
    on conflict (sandbox_of) do nothing returning id into sandbox;
  if sandbox is null and not anew then
    return;
  end if;
  perform set_config('dealkeep.identity', '', true), set_config('dealkeep.seal', '', true);
  if sandbox is null then
    update public.brokerages b set reset_at = app.now() where b.sandbox_of = of_brokerage returning b.id into sandbox;
    for attempt in 1..5 loop
      begin
        perform app.empty_sandbox(sandbox);
        exit;
      exception when foreign_key_violation then
        if attempt = 5 then
          raise;
        end if;
      end;
    end loop;
  end if;
  perform app.fill_sandbox(sandbox);
  perform set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', seal, true);
end
$$;
