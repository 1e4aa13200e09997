-- What changes is told to whoever shows it: each change of a record of a deal is announced on the channel
-- `dealkeep_changes`, and the server passes it on to the people who can see the record, and to nobody else.

-- Trigger arguments: the topic, and the column that names the record. A document that is taken out is gone for whoever
-- saw it.
create function app.announce() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  changed jsonb := to_jsonb(case when tg_op = 'DELETE' then old else new end);
begin
  perform pg_notify('dealkeep_changes', json_build_object(
    'topic', tg_argv[0], 'table', tg_table_name, 'record', changed ->> tg_argv[1],
    'deal_id', coalesce(changed ->> 'deal_id', case when tg_table_name = 'deals' then changed ->> 'id' end),
    'gone', tg_op = 'DELETE' or changed ->> 'removed_at' is not null)::text);
  return null;
end
$$;

do $$
declare
  announced record;
begin
  for announced in
    select * from (values
      ('deal_stages', 'deal', 'deal_id'), ('exclusivities', 'deal', 'id'), ('participants', 'participants', 'id'), ('ndas', 'ndas', 'id'),
      ('documents', 'documents', 'id'), ('production_documents', 'documents', 'id'), ('document_openings', 'documents', 'id'),
      ('questions', 'questions', 'id'), ('question_answers', 'questions', 'question_id'),
      ('qoe_checklist', 'qoe', 'id'), ('accounting_snapshots', 'qoe', 'id'), ('normalizations', 'qoe', 'id'),
      ('qoe_workspace_members', 'qoe', 'participant_id'), ('offers', 'offers', 'id'), ('offer_decisions', 'offers', 'offer_id'),
      ('closing_conditions', 'conditions', 'id'), ('findings', 'findings', 'id'), ('finding_comments', 'findings', 'finding_id'),
      ('financing_sources', 'financing', 'id'), ('deal_opt_ins', 'tools', 'user_id'), ('deal_tool_stops', 'tools', 'deal_id')
    ) t (of_table, topic, record)
  loop
    execute format('create trigger announce after insert or update or delete on %I for each row execute function app.announce(%L, %L)',
      announced.of_table, announced.topic, announced.record);
  end loop;
end
$$;

-- A move that not everybody may know of leaves the deal's row as it was: its stage is announced, to those who see it.
create trigger announce after insert or delete on deals for each row execute function app.announce('deal', 'id');
create trigger announce_update after update on deals for each row
  when (old.* is distinct from new.*) execute function app.announce('deal', 'id');

-- A session that ends is announced to every node, so that its streams end with it; nobody else is told.
create function app.announce_session_end() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform pg_notify('dealkeep_changes', json_build_object(
    'topic', 'session', 'table', 'sessions', 'record', old.id, 'deal_id', null, 'gone', true)::text);
  return null;
end
$$;
create trigger announce_end after update of ended_at on vault.sessions for each row
  when (old.ended_at is null and new.ended_at is not null) execute function app.announce_session_end();

-- Whether the caller may learn of a change: they see the record; of one that is gone, whether they saw its kind on the
-- deal. Runs as the caller, so that row-level security answers.
create function app.sees_change(of_table text, record uuid, deal_id uuid, gone boolean) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  if gone then
    return case
      when of_table in ('documents', 'production_documents') then app.saw_document(record)
      when of_table in ('qoe_checklist', 'normalizations') then deal_id = any (app.qoe_deals(false))
      when of_table = 'qoe_workspace_members'
        then deal_id = any (app.deals_as('broker', 'seller')) or record = any (app.principals())
      when of_table = 'deal_stages' then false  -- the deal itself has changed, for everybody
      when of_table = 'closing_conditions'
        then deal_id = any (app.deals_as('broker', 'seller', 'viewer') || app.deals_as_selected_buyer())
      when of_table = 'deal_opt_ins' then record = app.user_id()
      else exists (select from public.deals d where d.id = sees_change.deal_id)
    end;
  end if;
  return case of_table
    when 'deals' then exists (select from public.deals r where r.id = record)
    when 'deal_stages' then exists (select from public.deal_stages r where r.deal_id = record)
    when 'exclusivities' then exists (select from public.exclusivities r where r.id = record)
    when 'participants' then exists (select from public.participants r where r.id = record)
    when 'ndas' then exists (select from public.ndas r where r.id = record)
    when 'documents' then exists (select from public.documents r where r.id = record)
    when 'production_documents' then exists (select from public.production_documents r where r.id = record)
    when 'document_openings' then exists (select from public.document_openings r where r.id = record)
    when 'questions' then exists (select from public.questions r where r.id = record)
    when 'question_answers' then exists (select from public.question_answers r where r.question_id = record)
    when 'qoe_checklist' then exists (select from public.qoe_checklist r where r.id = record)
    when 'accounting_snapshots' then exists (select from public.accounting_snapshots r where r.id = record)
    when 'normalizations' then exists (select from public.normalizations r where r.id = record)
    when 'qoe_workspace_members' then exists (select from public.qoe_workspace_members r
      where r.participant_id = record and r.deal_id = sees_change.deal_id)
    when 'offers' then exists (select from public.offers r where r.id = record)
    when 'offer_decisions' then exists (select from public.offers r where r.id = record)
    when 'closing_conditions' then exists (select from public.closing_conditions r where r.id = record)
    when 'findings' then exists (select from public.findings r where r.id = record)
    when 'finding_comments' then exists (select from public.findings r where r.id = record)
    when 'financing_sources' then exists (select from public.financing_sources r where r.id = record)
    when 'deal_opt_ins' then record = app.user_id()
    when 'deal_tool_stops' then exists (select from public.deals r where r.id = record)
    else false
  end;
end
$$;
grant execute on function app.sees_change(text, uuid, uuid, boolean) to dealkeep_server;
