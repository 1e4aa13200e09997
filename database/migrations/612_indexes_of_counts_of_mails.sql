-- no transaction
-- compatible: indexes more.
--
-- Counts of mails are found by whom they name when somebody is deleted (611), and by their time when they have run out.

set lock_timeout = '5s';
create index concurrently if not exists mail_counts_by_named on vault.mail_counts using gin (app.counted_of(subject)) with (fastupdate = off);
create index concurrently if not exists mail_counts_by_time on vault.mail_counts (since);
