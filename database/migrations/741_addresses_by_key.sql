-- no transaction
-- compatible: indexes more.
--
-- What a key did keeps the network address of whoever used it, and names no person: an erasure finds it by the key. And of failed sign-ins it is not known whose they are, so their addresses go
-- by time. Cleared addresses are in neither index. Of records of people both conditions are false, and cost next to nothing.

create index concurrently if not exists addresses_by_key on public.audit_records (key_id, at) where key_id is not null and address is not null;
create index concurrently if not exists addresses_of_nobody on public.audit_records (at) where user_id is null and brokerage_id is null and address is not null;
