-- no transaction
-- compatible: one index more.
--
-- By whom they name, answers that are remembered are found when somebody is erased.

set lock_timeout = '5s';
create index concurrently if not exists idempotency_keys_by_named on vault.idempotency_keys using gin (app.named_in(answer)) with (fastupdate = off)
  where answer is not null;
