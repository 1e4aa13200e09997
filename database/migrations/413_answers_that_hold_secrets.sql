-- no transaction
-- compatible: one index more.
--
-- Which keys encrypt what the database keeps is asked at every start, and remembered answers that show a secret once are among it. There are few of them among many.

create index concurrently if not exists idempotency_keys_with_secrets on vault.idempotency_keys (made_at) where answer like '{"sealed":%';
