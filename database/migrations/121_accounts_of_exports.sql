-- compatible: a column more, which nothing needs.
-- What each account of a bookkeeping program's export was counted to ("Income / Sales": "revenue", null for nothing), by the editor
-- who uploaded it: the next export of the same deal proposes it again.
alter table accounting_snapshots
  add column account_lines jsonb
  constraint accounting_snapshots_account_lines_check check (jsonb_typeof(account_lines) = 'object' and length(account_lines::text) <= 262144);
grant insert (account_lines) on accounting_snapshots to dealkeep_server;
