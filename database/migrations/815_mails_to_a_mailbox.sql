-- compatible: functions and triggers more, and the content of a function.
--
-- Two accounts that entered somebody's address as their new one stopped the invitations of everybody else to it, and whoever wrote to ann+1@, ann+2@ and so on
-- reached the same mailbox as often as they wanted.

-- The address without the tag that many mail servers ignore: ann@example.com for ann+deals@example.com.
create function app.mailbox_of(address text) returns text
  language sql immutable set search_path = '' as $$
  select regexp_replace(lower(address), '^([^"+@][^+@]*)\+[^@]*@', '\1@')
$$;

create or replace function app.count_mail_to(sender uuid, brokerage uuid, mailbox text, or_link boolean)
  returns void
  language plpgsql security definer set search_path = '' as $$
declare
  address constant text := app.mailbox_of(mailbox);
  -- Whoever enters addresses as new ones of their account acts for no brokerage, and takes nothing from what brokerages may send there.
  total constant text := case when brokerage is null then 'change to ' else 'to ' end;
  again constant text := 'try again after %s' || case when or_link then ', or create a link and pass it on.' else '.' end;
begin
  if not app.count_mail('from ' || sender, 'minute', 20) then
    perform app.refuse_mail('minute', 'You have sent 20 e-mails within a minute: continue in a minute.');
  end if;
  if not app.count_mail('from ' || sender, 'hour', 60) then
    perform app.refuse_mail('hour', 'You have sent 60 e-mails within this hour: ' || again);
  end if;
  if not app.count_mail('from ' || sender, 'day', 100) then
    perform app.refuse_mail('day', 'You have sent 100 e-mails today: ' || again);
  end if;
  if brokerage is not null and not app.count_mail('for ' || brokerage, 'day', 500) then
    perform app.refuse_mail('day', 'Your brokerage has sent 500 e-mails today: ' || again);
  end if;
  if not app.count_mail(total || address, 'hour', 10) then
    perform app.refuse_mail('hour', 'This address was sent many e-mails within this hour: ' || again);
  end if;
  if not app.count_mail('from ' || coalesce(brokerage, sender) || ' to ' || address, 'day', 5)
    or not app.count_mail(total || address, 'day', 20)
  then
    perform app.refuse_mail('day', 'This address was sent many e-mails today: ' || again);
  end if;
end
$$;

-- An erased or deleted person is named by the address without the tag, too.
create function app.forget_mailbox() returns trigger
  language plpgsql security definer set search_path = '' as $$
declare
  address constant text := app.mailbox_of(old.email);
begin
  delete from vault.mail_counts m
    where app.counted_of(m.subject) @> array[address] and right(m.subject, length(address) + 4) = ' to ' || address;
  return null;
end
$$;
create trigger forget_mailbox after update of erased_at on public.users
  for each row when (old.email like '%+%' and old.erased_at is null and new.erased_at is not null) execute function app.forget_mailbox();
create trigger forget_deleted_mailbox after delete on public.users
  for each row when (old.email like '%+%') execute function app.forget_mailbox();
