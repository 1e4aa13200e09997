-- no transaction
-- compatible: the release before inserts without the column, and a trigger fills it in.
-- The brokerage of every row that hangs on a deal, a finding or an API key (055_tenant_of_rows.sql).

call vault.give_tenant('public.accounting_snapshots', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.answer_readings', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.closing_conditions', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.customer_revenues', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.deal_opt_ins', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.deal_stages', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.deal_tool_stops', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.document_openings', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.documents', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.exclusivities', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.financing_sources', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.findings', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.ndas', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.normalizations', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.offer_decisions', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.offers', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.participants', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.pl_periods', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.production_documents', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.qoe_checklist', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.qoe_workspace_members', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.question_answers', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.questions', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('vault.deal_notification_choices', 'deal_id', 'public.deals', 'organization_id');
call vault.give_tenant('public.finding_changes', 'finding_id', 'public.findings', 'brokerage_id');
call vault.give_tenant('public.finding_comments', 'finding_id', 'public.findings', 'brokerage_id');
call vault.give_tenant('vault.api_key_digests', 'key_id', 'public.api_keys', 'brokerage_id');
