-- compatible: no release has delivered books by the API, the one statement that read the column.
-- What the accounts of an upload count to is read by app.remembered_account_lines alone, which gives it to the side that uploaded it: the service cannot read the column.

revoke select on accounting_snapshots from dealkeep_server;
grant select (id, deal_id, snapshot_type, status, source_name, failure, requested_by, requested_at, completed_at, brokerage_id) on accounting_snapshots to dealkeep_server;
