-- compatible: people see more of what is of their own side.
--
-- An advisor with a place of their own in the QoE workspace did not see it, nor did whom they advise: an editor read that they could only view, and an open page showed
-- neither that they were admitted nor that they were removed.

set lock_timeout = '5s';

alter policy deal_side_and_own_see_it on public.qoe_workspace_members
  using (deal_id = any ((select app.deals_as('broker', 'seller', 'qoe:read'))::uuid[])
    or exists (select from public.participants p
      where p.id = qoe_workspace_members.participant_id and coalesce(p.advises, p.id) = any ((select app.principals())::uuid[])));

CREATE OR REPLACE FUNCTION app.sees_any(of_table text, records uuid[], deal uuid, gone boolean)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if gone then
    case of_table
      when 'documents', 'production_documents' then return app.saw_any_document(deal, records);
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
$function$;
