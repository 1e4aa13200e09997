-- no transaction
-- compatible: the same is answered.
--
-- An erasure looked through all brokerages for sandboxes in which somebody fictive has an address made of the person's. People of sandboxes are now found by the part of
-- their address that is made of it (333_erased_from_sandboxes.sql).

create index concurrently if not exists users_by_sandbox_mailbox on public.users (split_part(email, '@', 1)) where sandbox_id is not null;
