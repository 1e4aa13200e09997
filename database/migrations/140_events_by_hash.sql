-- compatible: shows the same.
-- The deals of a key are looked up by a hash: an array of them was gone through for each event, in a brokerage of thousands of deals most of the time of a page.
alter policy keys_with_the_scope on public.change_events using (
  case object_type
    when 'contact' then brokerage_id = (select app.key_brokerage('contacts:read'))
    when 'deal' then about_deal in (select unnest((select app.deals_as('deals:read'))))
    when 'participant' then about_deal in (select unnest((select app.deals_as('participants:read'))))
    when 'nda' then about_deal in (select unnest((select app.deals_as('ndas:read'))))
    when 'offer' then about_deal in (select unnest((select app.deals_as('offers:read'))))
    when 'question' then about_deal in (select unnest((select app.deals_as('questions:read'))))
    when 'document' then about_deal in (select unnest((select app.deals_as('documents:read'))))
    when 'production_document' then about_deal in (select unnest((select app.deals_as('documents:read'))))
    when 'qoe_checklist_item' then about_deal in (select unnest((select app.deals_as('qoe:read'))))
    when 'accounting_snapshot' then about_deal in (select unnest((select app.deals_as('qoe:read'))))
    when 'normalization' then about_deal in (select unnest((select app.deals_as('qoe:read'))))
    when 'closing_condition' then about_deal in (select unnest((select app.deals_as('conditions:read'))))
    when 'finding' then about_deal in (select unnest((select app.deals_as('findings:read'))))
    when 'financing_source' then about_deal in (select unnest((select app.deals_as('financing:read'))))
    else false
  end);
