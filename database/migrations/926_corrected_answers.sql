-- compatible: a column that may be null, which a trigger fills, and a function with the same parameters.
--
-- A corrected answer kept the time of the first one: nobody saw that it had been corrected, and whoever had read the first was not shown that there was anything new.
-- Each correction was told anew, also to those who had not seen the answer yet.

set lock_timeout = '5s';

alter table question_answers add column corrected_at timestamptz;

create function app.stamp_correction() returns trigger
language plpgsql set search_path = '' as $$
begin
  new.corrected_at := app.now();
  return new;
end $$;

create trigger stamp_correction before update of answer_text on question_answers
  for each row when (new.answer_text <> old.answer_text) execute function app.stamp_correction();

CREATE OR REPLACE FUNCTION app.tell(event vault.events)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  is_security constant boolean := (select k.security from app.notification_kinds k where k.kind = event.kind);
  people constant uuid[] := array(select c from app.candidates(event) c where is_security or c is distinct from event.actor_id);
begin
  insert into vault.notifications (event_id, user_id, kind, deal_id, subject, subject_id, actor_id, at, mail, mail_due_at)
    select event.id, p.id, event.kind, event.deal_id, event.subject, event.subject_id, event.actor_id, event.at,
      nullif(d.delivery, 'app'),
      case
        when d.delivery = 'daily' then app.next_digest(p.id)
        -- What concerns the security of an account never waits.
        when d.delivery = 'at_once' and is_security then app.now()
        -- The first goes at once, what follows on the same deal within five minutes together.
        when d.delivery = 'at_once' and event.deal_id is not null then greatest(app.now(), (
          select max(n.mailed_at) + interval '5 minutes' from vault.notifications n
          where n.user_id = p.id and n.deal_id = event.deal_id and n.mail = 'at_once' and n.mailed_at is not null))
        when d.delivery = 'at_once' then greatest(app.now(), (
          select max(n.mailed_at) + interval '5 minutes' from vault.notifications n
          where n.user_id = p.id and n.deal_id is null and n.mail = 'at_once' and n.mailed_at is not null))
      end
    from app.who_could_open(people, event.subject, event.subject_id, event.deal_id) p (id)
    cross join lateral (select app.delivery_of(p.id, event.kind, event.deal_id) as delivery offset 0) d
    where d.delivery <> 'off'
      -- Whoever has not seen yet that there is an answer finds the corrected one.
      and not (event.kind = 'question_answered' and exists (select from vault.notifications n
        where n.user_id = p.id and n.read_at is null and n.at > event.at - interval '1 day'
          and n.kind = event.kind and n.subject_id = event.subject_id))
    on conflict (event_id, user_id) do nothing;
end
$function$;
