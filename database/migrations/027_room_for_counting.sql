-- A counter of requests is written again and again within its minute. With room on its page the new version of a row stays
-- there and leaves the indexes as they are.
alter table limits.counters set (fillfactor = 50);
