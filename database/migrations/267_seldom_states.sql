-- no transaction
-- compatible: the same is answered.
--
-- Of a month's log of a busy webhook, the few deliveries that failed were found by reading all of it; and an erasure looked for mail to an address, also to who had no account yet, through all mail that is kept.

create index concurrently if not exists webhook_deliveries_undelivered on public.webhook_deliveries (endpoint_id, state, created_at desc, nr desc)
  where state in ('failed', 'dropped');
create index concurrently if not exists outbox_by_address on vault.outbox (recipient);
