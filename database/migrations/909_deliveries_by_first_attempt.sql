-- no transaction
-- compatible: an index more.
--
-- Of what failed and waits, by which a webhook that accepts nothing is turned off.

set lock_timeout = '5s';
create index concurrently if not exists webhook_deliveries_failing on public.webhook_deliveries (endpoint_id, first_attempt_at, nr) where state = 'waiting' and first_attempt_at is not null;
