-- compatible: the same is answered.
--
-- PostgreSQL may look at conditions in any order. Where it read the secret of cursors as a text before it looked whether it is one, no node could start: on 15, once there was
-- such a secret. CASE is looked at in order.

create or replace function app.keys_of_secrets() returns text[]
language sql stable security definer set search_path = '' as $$
  select coalesce(array_agg(distinct split_part(s.secret, '.', 2)), '{}') from (
    select t.secret from vault.totp t
    union all select case when substring(c.secret from 1 for 4) = '\x646b312e' then convert_from(c.secret, 'UTF8') end from vault.cursor_secret c
    union all select o.secret from vault.outbox o where o.sent_at is null and o.given_up_at is null
    union all select w.secret from vault.webhook_secrets w
  ) s
  where s.secret like 'dk1.%'
$$;
