-- compatible: only when a mail is due changes.
--
-- A mail about the security of an account is due at once, also within five minutes of another: that an assistant had been connected, a minute after somebody had signed in from
-- a new device, was told four minutes late.

create or replace function app.tell(event vault.events) returns void
language plpgsql set search_path = '' as $$
declare
  is_security constant boolean := (select k.security from app.notification_kinds k where k.kind = event.kind);
  person uuid;
  delivery text;
begin
  for person in select c from app.candidates(event) c loop
    continue when person = event.actor_id and not is_security;
    delivery := app.delivery_of(person, event.kind, event.deal_id);
    continue when delivery = 'off' or not app.person_could_open(person, event.subject, event.subject_id, event.deal_id);
    insert into vault.notifications (event_id, user_id, kind, deal_id, subject, subject_id, actor_id, at, mail, mail_due_at)
      values (event.id, person, event.kind, event.deal_id, event.subject, event.subject_id, event.actor_id, event.at,
        nullif(delivery, 'app'),
        case
          when delivery = 'daily' then app.next_digest(person)
          -- What concerns the security of an account never waits.
          when delivery = 'at_once' and is_security then app.now()
          -- The first goes at once, what follows on the same deal within five minutes together.
          when delivery = 'at_once' then greatest(app.now(), (
            select max(n.mailed_at) + interval '5 minutes' from vault.notifications n
            where n.user_id = person and n.deal_id is not distinct from event.deal_id and n.mail = 'at_once' and n.mailed_at is not null))
        end)
      on conflict (event_id, user_id) do nothing;
  end loop;
end
$$;
