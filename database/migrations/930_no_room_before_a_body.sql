-- compatible: the added parameter comes last and has a default, so that nodes of the previous release go on calling the function.
--
-- That a person had added all the documents of a day was found only once the body of the next had arrived, up to 2 GB of it.

create function app.refuse_if_full_today(of_table text, author text, at text, what text, most int, deal uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  person constant uuid := app.user_id();
  last_in_the_way timestamptz;
begin
  execute format('select %3$I from %1$s where deal_id = $1 and %2$I %4$s and %3$I > $3 order by %3$I desc offset $4 limit 1',
      of_table, author, at, case when person is null then 'is null' else '= $2' end)
    into last_in_the_way using deal, person, app.now() - interval '1 day', most - 1;
  if last_in_the_way is not null then
    perform app.refuse_until('too_many_today', format('At most %s %s a %s a day on a deal: continue after %%s.', to_char(most, 'FM999,999'), what,
      case when person is null then 'brokerage''s keys' else 'person' end), last_in_the_way + interval '1 day');
  end if;
end $$;

create or replace function app.limit_a_day() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  person constant uuid := app.user_id();
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
  perform app.refuse_if_full_today(coalesce(tg_argv[4], format('public.%I', tg_table_name)), tg_argv[1], tg_argv[2], tg_argv[3], tg_argv[0]::int,
    new.deal_id);
  return new;
end $$;

drop function app.begin_upload(uuid, text);
create function app.begin_upload(deal_id uuid, storage_key text, of_table text default null) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  if not deal_id = any (app.deals_acting_as('broker', 'seller', 'documents:write')) then
    return false;
  end if;
  perform app.refuse_if_closed(begin_upload.deal_id);
  -- What arrives meanwhile is counted once more when the document is added.
  if of_table in ('documents', 'production_documents') then
    perform app.refuse_if_full_today('public.' || of_table, 'uploaded_by', 'uploaded_at', 'documents', 1000, begin_upload.deal_id);
  end if;
  insert into vault.uploads (storage_key) values (begin_upload.storage_key);
  return true;
end $$;
grant execute on function app.begin_upload(uuid, text, text) to dealkeep_server;
