-- What belongs to a closed deal stays as it is, for everybody but the owner. What is no change of the record stays possible:
-- reading, leaving (taking a person off the deal, an NDA back, somebody out of the workspace), accepting an invitation
-- that was sent before, and putting a broker on the deal, without whom its brokerage could not read it.

-- Refuses a change of a deal that is closed. It waits for a closing that is under way, and a closing for it. Who has no
-- part in the deal is turned away by the policies, like from a deal that does not exist.
create function app.refuse_if_closed(deal_id uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  deal public.deals;
begin
  if app.user_id() is null then
    return;
  end if;
  select d.* into deal from public.deals d where d.id = refuse_if_closed.deal_id for share;
  if deal.state = 'closed' and app.seen_deal(deal.id) is not null then
    perform app.refuse('deal_closed', 'The deal is closed and takes no more changes.');
  end if;
end
$$;

create function app.keep_closed() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  changed jsonb := to_jsonb(case when tg_op = 'DELETE' then old else new end);
begin
  perform app.refuse_if_closed(case tg_table_name
    when 'deals' then (changed ->> 'id')::uuid
    when 'finding_comments' then (select f.deal_id from public.findings f where f.id = (changed ->> 'finding_id')::uuid)
    else (changed ->> 'deal_id')::uuid
  end);
  return case when tg_op = 'DELETE' then old else new end;
end
$$;

-- The names put these triggers in front of all others of their tables.
do $$
declare
  kept text;
begin
  foreach kept in array array['offers', 'offer_decisions', 'qoe_checklist', 'pl_periods', 'customer_revenues', 'normalizations',
    'questions', 'question_answers', 'documents', 'production_documents', 'closing_conditions', 'findings', 'finding_comments',
    'financing_sources']
  loop
    execute format('create trigger a_keep_closed before insert or update or delete on %I for each row execute function app.keep_closed()', kept);
  end loop;
  foreach kept in array array['qoe_workspace_members', 'exclusivities', 'accounting_snapshots', 'ndas'] loop
    execute format('create trigger a_keep_closed before insert on %I for each row execute function app.keep_closed()', kept);
  end loop;
end
$$;
create trigger a_keep_closed_update before update on qoe_workspace_members for each row execute function app.keep_closed();
create trigger a_keep_closed_update before update on exclusivities for each row execute function app.keep_closed();
create trigger a_keep_closed_update before update on accounting_snapshots for each row
  when (new.status <> 'failed') execute function app.keep_closed();
create trigger a_keep_closed_update before update on ndas for each row
  when (new.status not in ('revoked', 'expired')) execute function app.keep_closed();
create trigger a_keep_closed before insert on participants for each row
  when (new.role <> 'broker') execute function app.keep_closed();
create trigger a_keep_closed_update before update on participants for each row
  when (new.role <> 'broker' and new.status = 'invited') execute function app.keep_closed();

create trigger a_keep_closed before update on deals for each row
  when (old.state = 'closed') execute function app.keep_closed();
