-- compatible: nodes of the previous release read each record that they change, which is held to the policies of SELECT already.
--
-- A change that reads no column is not held to the policies of SELECT, so those of UPDATE and DELETE have to say themselves that a record is seen. Whoever could send any statement as
-- the server's role would have changed findings and sources of financing of other buyers, questions that the seller is not shown yet, conditions of whoever is not selected any more,
-- and by a key what it may write and not read.

set lock_timeout = '5s';

alter policy those_in_diligence_change on public.findings
  using (deal_id = any ((select app.diligence_deals())::uuid[])
    and (deal_id = any ((select app.deals_as('broker', 'seller'))::uuid[]) or participant_id = any ((select app.principals())::uuid[])));
alter policy those_in_diligence_change on public.financing_sources
  using (deal_id = any ((select app.diligence_deals())::uuid[])
    and (deal_id = any ((select app.deals_as('broker', 'seller'))::uuid[]) or participant_id = any ((select app.principals())::uuid[])));

alter policy each_moves_it_on on public.questions
  using (deal_id = any ((select app.deals_acting_as('broker'))::uuid[])
    or status in ('with_seller', 'answered', 'distributed') and deal_id = any ((select app.deals_acting_as('seller'))::uuid[])
    or asked_by = (select app.user_id()) and participant_id = any ((select app.principals())::uuid[]));

alter policy brokers_and_owners_change on public.closing_conditions
  using (deal_id = any ((select app.deals_acting_as('broker'))::uuid[])
    or deal_id = any ((select app.deals_acting_as('conditions:write'))::uuid[]) and deal_id = any ((select app.deals_acting_as('conditions:read'))::uuid[])
    or owner_user_id = (select app.user_id()) and deal_id = any ((select app.deals_acting_as('seller', 'buyer', 'advisor'))::uuid[])
      and (deal_id = any ((select app.deals_as('broker', 'seller', 'viewer'))::uuid[]) or deal_id = any ((select app.deals_as_selected_buyer())::uuid[])));
alter policy brokers_take_out on public.closing_conditions
  using (deal_id = any ((select app.deals_acting_as('broker'))::uuid[])
    or deal_id = any ((select app.deals_acting_as('conditions:write'))::uuid[]) and deal_id = any ((select app.deals_acting_as('conditions:read'))::uuid[]));

alter policy brokers_change_it on public.deals
  using (id = any ((select app.deals_acting_as('broker', 'deals:write'))::uuid[]) and id = any ((select app.deals_acting_as('broker', 'deals:read'))::uuid[]));
alter policy members_and_keys_change_them on public.contacts
  using (brokerage_id = any ((select app.brokerages_for('contacts:write'))::uuid[]) and brokerage_id = any ((select app.brokerages_for('contacts:read'))::uuid[]));
alter policy editors_change on public.accounting_snapshots
  using (deal_id = any ((select app.qoe_deals(true))::uuid[])
    or deal_id = any ((select app.deals_acting_as('qoe:write'))::uuid[]) and deal_id = any ((select app.qoe_deals(false))::uuid[]));
