-- compatible: the same result, with more in it.
--
-- Remembered answers that show a secret once, such as that to the making of a webhook, are encrypted, too. A rotation left them under the old key, and the repeated request was
-- answered with 500 once that key was taken out of SECRETS_KEY. Those that are not given again any more count no longer.

create or replace function app.keys_of_secrets()
returns text[]
language sql
stable security definer
set search_path = ''
as $$
  select coalesce(array_agg(distinct split_part(s.secret, '.', 2)), '{}') from (
    select t.secret from vault.totp t
    union all select case when substring(c.secret from 1 for 4) = '\x646b312e' then convert_from(c.secret, 'UTF8') end from vault.cursor_secret c
    union all select o.secret from vault.outbox o where o.sent_at is null and o.given_up_at is null
    union all select w.secret from vault.webhook_secrets w
    union all select split_part(i.answer, '"', 4) from vault.idempotency_keys i
      where i.answer like '{"sealed":%' and i.made_at > app.now() - interval '24 hours'
  ) s
  where s.secret like 'dk1.%'
$$;
