-- compatible: triggers are added, which look at rows that test keys add to their sandbox.
-- A sandbox has room for what somebody tries out, and no more: whoever fills it resets it.
create function app.limit_sandbox() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  -- Of a key's identity its brokerage; of a person's nothing. It is only held back by it.
  brokerage constant uuid := nullif(split_part(current_setting('dealkeep.identity', true), ',', 4), '');
  most constant int := tg_argv[0];
  bytes constant bigint := tg_argv[2];
  held int;
  size numeric;
begin
  if brokerage is null or not app.is_sandbox(brokerage) then
    return null;
  end if;
  case tg_table_name
    when 'contacts' then select count(*) into held from public.contacts c where c.brokerage_id = brokerage;
    when 'deals' then select count(*) into held from public.deals d where d.organization_id = brokerage;
    else execute format('select count(*), %s from public.deals d join public.%I t on t.deal_id = d.id where d.organization_id = $1',
      case when bytes is null then 'null' else 'sum(t.size_bytes)' end, tg_table_name) into held, size using brokerage;
  end case;
  if held > most or size > bytes then
    perform app.refuse('sandbox_full', format('The sandbox has no more room: at most %s %s%s. Reset it.', to_char(most, 'FM999,999'), tg_argv[1],
      case when size > bytes then format(' of %s MB together', bytes / 1000000) end));
  end if;
  return null;
end
$$;
create trigger limit_sandbox after insert on contacts for each statement execute function app.limit_sandbox('5000', 'contacts');
create trigger limit_sandbox after insert on deals for each statement execute function app.limit_sandbox('100', 'deals');
create trigger limit_sandbox after insert on participants for each statement execute function app.limit_sandbox('1000', 'people on deals');
create trigger limit_sandbox after insert on documents for each statement execute function app.limit_sandbox('500', 'documents', '100000000');
create trigger limit_sandbox after insert on production_documents for each statement execute function app.limit_sandbox('500', 'documents', '100000000');
create trigger limit_sandbox after insert on closing_conditions for each statement execute function app.limit_sandbox('1000', 'closing conditions');
create trigger limit_sandbox after insert on accounting_snapshots for each statement execute function app.limit_sandbox('500', 'snapshots');
