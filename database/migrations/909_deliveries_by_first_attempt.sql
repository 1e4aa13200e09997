-- no transaction
-- compatible: an index more.
--
-- Of what waits and is next of its record: what failed, by which a webhook that accepts nothing is turned off, and what was never tried, of which a few go after each rest.

set lock_timeout = '5s';
create index concurrently if not exists webhook_deliveries_by_first_attempt on public.webhook_deliveries (endpoint_id, first_attempt_at, nr) where state = 'waiting' and next_attempt_at is not null;
