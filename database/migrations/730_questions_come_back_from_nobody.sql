-- compatible: nodes of the release before show a question that came back as one that was not released yet. They do not know this kind of notification: the list
-- tells of it in general words, and its mails wait for a newer node.
--
-- A question that waited for the seller stayed there when the last seller left the deal. Nobody could answer, reject or withdraw it, and no broker was told.

INSERT INTO app.moves VALUES ('question', 'with_seller', 'pending_broker_review');
INSERT INTO app.notification_kinds VALUES ('question_returned', 15, 'at_once', false);

-- Whether somebody takes part in a deal who can answer questions.
CREATE FUNCTION app.has_seller(deal uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (select from public.participants p join public.users u on u.id = p.user_id and u.suspended_at is null
    where p.deal_id = has_seller.deal and p.role = 'seller' and p.status = 'active');
end
$function$;

CREATE OR REPLACE FUNCTION app.check_question_mover()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  is_broker boolean := new.deal_id = any (app.deals_acting_as('broker'));
  is_seller boolean := new.deal_id = any (app.deals_acting_as('seller'));
begin
  if app.user_id() is null then
    return new;  -- the owner, loading data
  end if;
  if (new.distributed_response, new.rejection_reason) is distinct from (old.distributed_response, old.rejection_reason)
    and not is_broker
  then
    perform app.refuse('broker_only', 'Only a broker of the deal can write the response to the person who asked.');
  end if;
  if new.status is distinct from old.status then
    if new.status in ('with_seller', 'rejected', 'distributed') and not is_broker then
      perform app.refuse('broker_only', 'Only a broker of the deal can release, reject or distribute a question.');
    elsif new.status = 'answered' and not is_seller then
      perform app.refuse('seller_only', 'Only a seller of the deal can answer a question.');
    elsif new.status = 'withdrawn' and new.asked_by is distinct from app.user_id() then
      perform app.refuse('asker_only', 'Only the person who asked can withdraw a question.');
    end if;
    if new.status = 'with_seller' and not app.has_seller(new.deal_id) then
      perform app.refuse('no_seller', 'No seller is on this deal to answer: invite one, who must accept first.');
    elsif new.status = 'pending_broker_review' and app.has_seller(new.deal_id) then
      perform app.refuse('seller_answers', 'A seller of the deal can answer this question.');
    end if;
    if new.status = 'answered' and not exists (select from public.question_answers a where a.question_id = new.id) then
      perform app.refuse('answer_missing', 'Write the answer first.');
    end if;
    if new.status = 'distributed' then
      if new.distributed_response is null then
        perform app.refuse('response_missing', 'Write a response to the person who asked.');
      end if;
      new.distributed_at := app.now();
    end if;
  elsif old.status in ('distributed', 'rejected', 'withdrawn') then
    perform app.refuse('question_closed', format('The question is %s and no longer changes.', old.status));
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.lock_deal_of_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_table_name = 'participants' then
    if new.role <> old.role or (new.status = 'removed' and old.status <> 'removed') then
      -- Those who leave with them (app.remove_advisors), before the deal, as whoever answers an invitation takes it.
      perform from public.participants p where p.advises = new.id order by p.id for no key update;
    end if;
    -- Sellers leave one after the other, or two who leave at once would each leave the questions to the other.
    if old.role = 'seller' and old.status = 'active' then
      perform from public.deals d where d.id = new.deal_id for no key update;
    end if;
  end if;
  if tg_table_name = 'participants' and new.status = 'active' then
    perform from public.deals d where d.id = new.deal_id for no key update;
  elsif old.status = 'active' then
    perform from public.deals d where d.id = new.deal_id for share;
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.lock_parts(person uuid, of_brokerage uuid DEFAULT NULL::uuid, successor uuid DEFAULT NULL::uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  part record;
begin
  -- Theirs, and those of who leaves with them (app.remove_advisors).
  perform from public.participants p
    where p.user_id = person and (of_brokerage is null or p.brokerage_id = of_brokerage)
      or p.user_id = successor and p.brokerage_id = of_brokerage and exists (
        select from public.participants o where o.deal_id = p.deal_id and o.user_id = person and o.role = 'broker' and o.status = 'active')
      or p.advises = any (array(select o.id from public.participants o
        where o.user_id in (person, successor) and (of_brokerage is null or o.brokerage_id = of_brokerage)))
    order by p.advises is not null, p.id for no key update;
  for part in
    select p.deal_id, bool_or(p.role in ('broker', 'seller')) as runs from public.participants p
    where (p.user_id = person or p.advises = any (array(select o.id from public.participants o where o.user_id = person)))
      and p.status = 'active' and (of_brokerage is null or p.brokerage_id = of_brokerage)
    group by p.deal_id order by p.deal_id
  loop
    -- Brokers and sellers leave a deal one after the other, or two who leave at once would each count on the other. Others leave it while people write on it.
    if part.runs then
      perform from public.deals d where d.id = part.deal_id for no key update;
    else
      perform from public.deals d where d.id = part.deal_id for share;
    end if;
  end loop;
end
$function$;

-- Questions that wait for the seller come back to the broker with the last seller who leaves.
CREATE FUNCTION app.return_questions()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  returned uuid;
begin
  if app.actual_state(new.deal_id) = 'closed' or app.has_seller(new.deal_id) then
    return null;
  end if;
  for returned in
    update public.questions q set status = 'pending_broker_review' where q.deal_id = new.deal_id and q.status = 'with_seller' returning q.id
  loop
    if app.actual_state(new.deal_id) <> 'withdrawn' then
      perform app.queue_event('question_returned', new.deal_id, 'questions', returned, app.user_id(), null);
    end if;
  end loop;
  return null;
end
$function$;

CREATE TRIGGER return_questions AFTER UPDATE OF role, status ON public.participants FOR EACH ROW
  WHEN (old.role = 'seller' AND old.status = 'active' AND (new.role <> 'seller' OR new.status <> 'active')) EXECUTE FUNCTION app.return_questions();

CREATE OR REPLACE FUNCTION app.candidates(event vault.events)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if event.person_id is not null then
    return query select event.person_id;
  elsif event.subject = 'api_keys' then
    return query
      select m.user_id from public.api_keys k
      join public.members m on m.brokerage_id = k.brokerage_id and m.role = 'admin' and m.status = 'active'
      where k.id = event.subject_id;
  elsif event.kind in ('condition_due', 'condition_overdue') then
    return query
      select p.user_id from public.closing_conditions c
      join public.participants p on p.deal_id = c.deal_id and p.status = 'active'
        and (p.role = 'broker' or p.user_id = c.owner_user_id)
      where c.id = event.subject_id;
  elsif event.kind = 'question_returned' then
    return query
      select o.user_id from public.participants p
      join vault.deals_of_people o on o.user_id = p.user_id and o.deal_id = p.deal_id and o.side = 'broker'
      where p.deal_id = event.deal_id and p.status = 'active';
  elsif event.opened_from is not null then
    return query
      select o.user_id from public.participants p
      join vault.deals_of_people o on o.user_id = p.user_id and o.deal_id = p.deal_id
      where p.deal_id = event.deal_id and p.status = 'active'
        and app.document_opens_to(event.opened_from, o.deal_id, o.side, o.principal_id) is not true;
  else
    return query select p.user_id from public.participants p where p.deal_id = event.deal_id and p.status = 'active';
  end if;
end
$function$;
