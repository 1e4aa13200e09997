-- compatible: nodes pass on a further kind of change as they do any other.
--
-- A document that is closed to some stays on their open pages until these hear of it. As after a removal, whoever could open it before is told. So is an advisor, and whom they
-- advise, of the advisor's place in the QoE workspace (916_places_of_advisors.sql).

create or replace function app.announce()
  returns trigger
  language plpgsql security definer set search_path = '' as $$
declare
  changed jsonb;
  deal text;
begin
  if tg_op = 'DELETE' and current_setting('dealkeep.deleting', true) = 'on' then
    return null;
  end if;
  changed := to_jsonb(case when tg_op = 'DELETE' then old else new end);
  deal := changed ->> case when tg_table_name = 'deals' then 'id' else 'deal_id' end;
  if tg_table_name = 'finding_comments' then
    select f.deal_id into deal from public.findings f where f.id = (changed ->> 'finding_id')::uuid;
  end if;
  perform pg_notify('dealkeep_changes', json_build_object(
    'topic', tg_argv[0], 'table', tg_table_name, 'record', changed ->> tg_argv[1], 'deal_id', deal,
    'gone', tg_op = 'DELETE' or changed ->> 'removed_at' is not null)::text);
  if tg_op = 'UPDATE' and tg_argv[0] = 'documents' and to_jsonb(old) ->> 'confidentiality' <> changed ->> 'confidentiality' then
    perform pg_notify('dealkeep_changes', json_build_object(
      'topic', tg_argv[0], 'table', (to_jsonb(old) ->> 'confidentiality') || ' documents', 'record', changed ->> 'id', 'deal_id', deal, 'gone', true)::text);
  end if;
  return null;
end
$$;

create or replace function app.sees_any(of_table text, records uuid[], deal uuid, gone boolean)
  returns boolean
  language plpgsql stable set search_path = '' as $$
begin
  if gone then
    case of_table
      when 'documents', 'production_documents' then return app.saw_any_document(deal, records);
      -- What was open to these before.
      when 'public documents', 'nda_gated documents', 'selected_buyer_only documents' then
        return app.document_is_visible(deal, split_part(of_table, ' ', 1), app.seen_deal(deal) is not null,
          app.deals_as('broker', 'seller'), app.deals_under_nda(), app.deals_held_exclusively());
      when 'qoe_checklist', 'normalizations' then return deal = any (app.qoe_deals(false));
      when 'contradiction_answers' then return deal = any (app.deals_as('broker', 'seller'));
      when 'released_answers' then return deal = any (app.qoe_deals(false));
      when 'qoe_workspace_members' then
        return deal = any (app.deals_as('broker', 'seller'))
          or exists (select from public.participants p where p.id = any (records) and coalesce(p.advises, p.id) = any (app.principals()));
      when 'closing_conditions' then
        return deal = any (app.deals_as('broker', 'seller', 'viewer') || app.deals_as_selected_buyer())
          or exists (select from public.deals d where d.id = deal and d.organization_id = any (app.brokerages_as('admin')));
      when 'deal_opt_ins' then return app.user_id() = any (records);
      when 'deal_tool_stops' then return exists (select from public.deals d where d.id = deal);
      else return false;
    end case;
  end if;
  case of_table
    when 'deals' then return exists (select from public.deals r where r.id = any (records));
    when 'deal_stages' then return exists (select from public.deal_stages r where r.deal_id = any (records));
    when 'exclusivities' then return exists (select from public.exclusivities r where r.id = any (records));
    when 'participants' then return exists (select from public.participants r where r.id = any (records));
    when 'ndas' then return exists (select from public.ndas r where r.id = any (records));
    when 'documents' then return exists (select from public.documents r where r.id = any (records));
    when 'production_documents' then return exists (select from public.production_documents r where r.id = any (records));
    when 'document_openings' then return exists (select from public.document_openings r where r.id = any (records));
    when 'questions' then return exists (select from public.questions r where r.id = any (records));
    when 'question_answers' then return exists (select from public.question_answers r where r.question_id = any (records));
    when 'qoe_checklist' then return exists (select from public.qoe_checklist r where r.id = any (records));
    when 'accounting_snapshots' then return exists (select from public.accounting_snapshots r where r.id = any (records));
    when 'normalizations' then return exists (select from public.normalizations r where r.id = any (records));
    when 'contradiction_answers' then return exists (select from public.contradiction_answers r where r.id = any (records));
    when 'qoe_workspace_members' then return exists (select from public.qoe_workspace_members r
      where r.participant_id = any (records) and r.deal_id = deal);
    when 'offers', 'offer_decisions' then return exists (select from public.offers r where r.id = any (records));
    when 'closing_conditions' then return exists (select from public.closing_conditions r where r.id = any (records));
    when 'findings', 'finding_comments' then return exists (select from public.findings r where r.id = any (records));
    when 'financing_sources' then return exists (select from public.financing_sources r where r.id = any (records));
    when 'deal_opt_ins', 'notifications' then return app.user_id() = any (records);
    when 'deal_tool_stops' then return exists (select from public.deals r where r.id = any (records));
    else return false;
  end case;
end
$$;
