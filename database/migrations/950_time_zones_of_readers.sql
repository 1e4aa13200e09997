-- compatible: a function more.
--
-- Mails give times in the time zone of their reader, as the pages do, where it is known. The mailbox of a new address may be a stranger's, who learns no zone.

create function app.zone_of_mail(mail uuid) returns text language plpgsql stable security definer set search_path = '' as $$
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Mails are made by those who deliver them.');
  end if;
  return (
    select s.time_zone from vault.outbox o join vault.notification_settings s on s.user_id = o.recipient_id
    where o.id = zone_of_mail.mail and o.kind <> 'address_change');
end
$$;
grant execute on function app.zone_of_mail(uuid) to dealkeep_server;
