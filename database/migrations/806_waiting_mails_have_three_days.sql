-- compatible: later times in rows.
--
-- Mails that wait are given up after three days, too. Apart from the new column, as nobody could read or write mails until all are changed.

update vault.outbox o set give_up_at = greatest(o.give_up_at, o.created_at + interval '3 days') where o.sent_at is null and o.given_up_at is null;
