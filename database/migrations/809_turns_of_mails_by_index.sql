-- no transaction
-- compatible: indexes alone, of the mails that wait.

set lock_timeout = '5s';
create index concurrently if not exists outbox_by_turn on vault.outbox (rank, turn_at) where sent_at is null and given_up_at is null;
create index concurrently if not exists outbox_turns_of_brokerages on vault.outbox (brokerage_id, rank, turn_at) where sent_at is null and given_up_at is null;
