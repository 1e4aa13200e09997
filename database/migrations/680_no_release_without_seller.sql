-- compatible: one release more is refused; nodes of the release before answer it as they answer other refusals of the database.
--
-- A question could be released where no seller took part. It could then be neither answered, rejected nor withdrawn until one did.

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
    perform app.refuse('broker_only', 'Only a broker of the deal words what the asker is told.');
  end if;
  if new.status is distinct from old.status then
    if new.status in ('with_seller', 'rejected', 'distributed') and not is_broker then
      perform app.refuse('broker_only', 'Only a broker of the deal releases, rejects or distributes a question.');
    elsif new.status = 'answered' and not is_seller then
      perform app.refuse('seller_only', 'Only a seller of the deal answers a question.');
    elsif new.status = 'withdrawn' and new.asked_by is distinct from app.user_id() then
      perform app.refuse('asker_only', 'Only the person who asked can withdraw a question.');
    end if;
    if new.status = 'with_seller' and not exists (
      select from public.participants p join public.users u on u.id = p.user_id and u.suspended_at is null
      where p.deal_id = new.deal_id and p.role = 'seller' and p.status = 'active')
    then
      perform app.refuse('no_seller', 'No seller is on this deal to answer: invite one, who has to accept.');
    end if;
    if new.status = 'answered' and not exists (select from public.question_answers a where a.question_id = new.id) then
      perform app.refuse('answer_missing', 'Write the answer first.');
    end if;
    if new.status = 'distributed' then
      if new.distributed_response is null then
        perform app.refuse('response_missing', 'Write what the asker is to read.');
      end if;
      new.distributed_at := app.now();
    end if;
  elsif old.status in ('distributed', 'rejected', 'withdrawn') then
    perform app.refuse('question_closed', format('The question is %s and no longer changes.', old.status));
  end if;
  return new;
end
$function$;
