-- no transaction
-- compatible: indexes more.
--
-- Notifications whose mail is yet to be written, those of one person by when it is due; and of all that are due, the ones about an account, which go first.

set lock_timeout = '5s';
create index concurrently if not exists notifications_to_mail_by_user on vault.notifications (user_id, mail_due_at) where mail_due_at is not null;
create index concurrently if not exists notifications_to_mail_of_accounts on vault.notifications (mail_due_at)
  where mail_due_at is not null and mail = 'at_once' and deal_id is null;
