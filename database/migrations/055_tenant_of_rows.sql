-- compatible: functions and a procedure more.
--
-- Rows that hang on a deal, a finding or an API key carry the id of their brokerage: whoever moves a brokerage to another database, or divides
-- tables by it, finds them without looking the deal up. It is written by triggers, whoever inserts and whatever they say, so it cannot be
-- another's; a deal stays with its brokerage. 056_tenant_on_rows.sql puts it on the tables.

create function app.set_tenant_by_deal() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  -- The stage of a deal is written before the deal: a foreign key that is looked at in the end holds it to there being one.
  new.brokerage_id := coalesce((select d.organization_id from public.deals d where d.id = new.deal_id), new.brokerage_id);
  return new;
end
$$;

create function app.set_tenant_by_finding() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  new.brokerage_id := (select f.brokerage_id from public.findings f where f.id = new.finding_id);
  return new;
end
$$;

create function app.set_tenant_by_key() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  new.brokerage_id := (select k.brokerage_id from public.api_keys k where k.id = new.key_id);
  return new;
end
$$;

create function app.keep_tenant() returns trigger
language plpgsql set search_path = '' as $$
begin
  raise exception 'A deal stays with its brokerage.' using errcode = 'restrict_violation';
end
$$;
create trigger keep_tenant before update of organization_id on public.deals for each row
  when (new.organization_id <> old.organization_id) execute function app.keep_tenant();

alter table public.deal_stages add column brokerage_id uuid;
-- As before, and with the brokerage, which cannot be looked up yet.
create or replace function app.load_deal() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into public.deal_stages (deal_id, state, updated_at, brokerage_id)
    values (new.id, new.state, new.updated_at, new.organization_id);
  new.state := 'under_offer';
  return new;
end
$$;

-- Gives a table the column and the trigger, and fills it for the rows that are there: so many pages at a time, in transactions of their own in which
-- no trigger tells of a change. Others write between them, and read all the time. Can be repeated when it broke off.
create procedure vault.give_tenant(to_table regclass, parent text, parent_table regclass, tenant text)
language plpgsql as $$
declare
  together constant int := 50;
  pages constant bigint := pg_relation_size(to_table) / current_setting('block_size')::int;
  fill constant text := format('update %s r set brokerage_id = p.%I from %s p where p.id = r.%I and r.brokerage_id is null',
    to_table, tenant, parent_table, parent);
  page bigint := 0;
  missed tid[];
begin
  execute format('alter table %s add column if not exists brokerage_id uuid', to_table);
  execute format('create or replace trigger set_tenant before insert or update of %I, brokerage_id on %s for each row execute function app.%I()',
    parent, to_table, 'set_tenant_by_' || replace(parent, '_id', ''));
  commit;
  loop
    if page > pages then
      -- What somebody has changed meanwhile lies elsewhere since: it is looked for without a lock.
      execute format('select array(select r.ctid from %s r where r.brokerage_id is null limit 500)', to_table) into missed;
      exit when missed = '{}';
    end if;
    execute format('alter table %s disable trigger user', to_table);
    execute fill || case when page > pages then format(' and r.ctid = any (%L::tid[])', missed)
      else format(' and r.ctid >= %L::tid and r.ctid < %L::tid', format('(%s,0)', page), format('(%s,0)', page + together)) end;
    execute format('alter table %s enable trigger user', to_table);
    commit;
    page := page + together;
  end loop;
  -- With a condition that is known to hold, PostgreSQL takes the column as never null without a look at the rows.
  execute format('alter table %s drop constraint if exists has_tenant', to_table);
  execute format('alter table %s add constraint has_tenant check (brokerage_id is not null) not valid', to_table);
  commit;
  execute format('alter table %s validate constraint has_tenant', to_table);
  commit;
  execute format('alter table %s alter brokerage_id set not null', to_table);
  execute format('alter table %s drop constraint has_tenant', to_table);
end
$$;
