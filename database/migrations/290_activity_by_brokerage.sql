-- no transaction
-- compatible: nobody waits while rows are filled and the index is built.
-- The deals of a brokerage on which something was last done, for its admins: their last records are found there, and not by an index of all records (291_one_index_of_activity.sql).

call vault.give_tenant('vault.deal_activity', 'deal_id', 'public.deals', 'organization_id');
create index concurrently if not exists deal_activity_by_brokerage on vault.deal_activity (brokerage_id, at desc, record_id desc);
