-- no transaction
-- compatible: the functions of migration 810 do not use this index.

set lock_timeout = '5s';
drop index concurrently if exists vault.outbox_waiting;
