-- compatible: the refusals stay what they were; they tell beside it when the count begins anew.
-- Refuses one mail too many in the minute or day (UTC), and tells in how many seconds the next one begins.
create function app.refuse_mail(part text, message text) returns void
language plpgsql set search_path = '' as $$
begin
  raise exception using errcode = 'DK001', message = message, hint = 'too_many_mails',
    detail = ceil(extract(epoch from date_trunc(part, app.now(), 'UTC') + ('1 ' || part)::interval - app.now()))::text;
end
$$;

create or replace function app.count_mail_to(sender uuid, brokerage uuid, mailbox text) returns void
language plpgsql security definer set search_path = '' as $$
begin
  if not app.count_mail('from ' || sender, 'minute', 20) then
    perform app.refuse_mail('minute', 'You have sent 20 mails within a minute: go on in a minute.');
  end if;
  if not app.count_mail('from ' || sender, 'day', 100) then
    perform app.refuse_mail('day', 'You have sent 100 mails today: go on tomorrow, or make a link and hand it on.');
  end if;
  if brokerage is not null and not app.count_mail('for ' || brokerage, 'day', 500) then
    perform app.refuse_mail('day', 'Your brokerage has sent 500 mails today: go on tomorrow, or make a link and hand it on.');
  end if;
  if not app.count_mail('from ' || coalesce(brokerage, sender) || ' to ' || mailbox, 'day', 5)
    or not app.count_mail('to ' || mailbox, 'day', 20)
  then
    perform app.refuse_mail('day',
      'This address was sent many mails today: go on tomorrow, or make a link and hand it on.');
  end if;
end
$$;

create or replace function app.count_notice(person uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  if not app.count_mail('notice to ' || person, 'day', 20) then
    perform app.refuse_mail('day', 'The protection of this account was changed 20 times today: go on tomorrow.');
  end if;
end
$$;
