-- compatible: columns with defaults.
-- What mails are sent by from migration 810 on.

-- 0: a person waits for it (a link) or it concerns the security of an account; 1: others; 2: daily mails. 10, 11 and 12: the same, not accepted so far.
alter table vault.outbox add rank smallint not null default 1;
-- The mails of a rank go by their turns.
alter table vault.outbox add turn_at timestamptz not null default app.now();
