-- no transaction
-- compatible: an index more.
--
-- Which brokerages have something new is read from the latest changes, once for the webhooks of all: by the number of a change alone, whosever it is. Of an expression, so that no other plan takes it: the changes of
-- one brokerage in their order would be looked for among those of all.

set lock_timeout = '5s';
create index concurrently if not exists change_events_by_number on public.change_events ((seq + 0));
