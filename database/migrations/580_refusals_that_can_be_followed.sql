-- compatible: the same rules, in other words; the function that goes is called by those below alone.
--
-- Refusals that told people to do what they could not do, or when it would not have worked. What is counted by the day says when there is room again, and in how many seconds.

-- Refuses what there is room for again at `again`, which `message` has as its %s.
create function app.refuse_until(reason text, message text, again timestamptz) returns void
  language plpgsql set search_path = '' as $$
declare
  -- The first whole minute at which there is room.
  moment constant timestamptz := date_trunc('minute', again + interval '59.999999 seconds', 'UTC');
begin
  raise exception using errcode = 'DK001', hint = reason, detail = ceil(extract(epoch from moment - app.now()))::text,
    message = format(message, to_char(moment at time zone 'UTC',
      case when date_trunc('day', moment, 'UTC') = date_trunc('day', app.now(), 'UTC') then 'HH24:MI "UTC"' else 'HH24:MI "UTC on" FMDD FMMonth' end));
end
$$;

CREATE OR REPLACE FUNCTION app.refuse_mail(part text, message text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform app.refuse_until('too_many_mails', message, date_trunc(part, app.now(), 'UTC') + ('1 ' || part)::interval);
end
$function$;

drop function app.count_mail_to(uuid, uuid, text);

CREATE FUNCTION app.count_mail_to(sender uuid, brokerage uuid, mailbox text, or_link boolean)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
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
  if not app.count_mail('to ' || mailbox, 'hour', 10) then
    perform app.refuse_mail('hour', 'This address was sent many e-mails within this hour: ' || again);
  end if;
  if not app.count_mail('from ' || coalesce(brokerage, sender) || ' to ' || mailbox, 'day', 5)
    or not app.count_mail('to ' || mailbox, 'day', 20)
  then
    perform app.refuse_mail('day', 'This address was sent many e-mails today: ' || again);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION app.count_address_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.count_mail_to(new.user_id, null, new.new_email, false);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.count_invitation()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.count_mail_to(app.user_id(),
    coalesce(new.brokerage_id, (select d.organization_id
      from public.participants p join public.deals d on d.id = p.deal_id where p.id = new.participant_id)),
    (select u.email from public.users u where u.id = new.user_id), app.key_id() is null);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.resend_mail(of_brokerage uuid, mail uuid, new_token bytea, new_secret text, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  to_whom text;
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return false;
  end if;
  select o.recipient into to_whom from vault.outbox o
    where o.id = mail and o.brokerage_id = of_brokerage and o.sent_at is null;
  if not found or not app.retry_mail(mail, new_token, new_secret) then
    return false;
  end if;
  perform app.count_mail_to(app.user_id(), of_brokerage, to_whom, false);
  perform app.audit('mail.resend', mail::text, 'done', of_brokerage, null, address, request_id, '{}');
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION app.count_notice(person uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if not app.count_mail('notice to ' || person, 'day', 20) then
    perform app.refuse_mail('day', 'The protection of this account was changed 20 times today: try again after %s.');
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION app.note_renamed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  -- Counted as mails from somebody are, which goes with their account; whoever is erased is not refused.
  if new.name is distinct from old.name and new.id = app.user_id() and new.erased_at is null
    and not app.count_mail('renames from ' || new.id, 'day', 20)
  then
    perform app.refuse_until('too_many_today', 'You have changed your name 20 times today, which is the most: change it again after %s.',
      date_trunc('day', app.now(), 'UTC') + interval '1 day');
  end if;
  insert into public.change_events (brokerage_id, about_deal, object_type, object_id, change)
    select p.brokerage_id, p.deal_id, 'participant', p.id, 'updated' from public.participants p where p.user_id = new.id and p.joined_at is not null;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.limit_a_day()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person constant uuid := app.user_id();
  most constant int := tg_argv[0];
  last_in_the_way timestamptz;
begin
  if not app.has_caller() then
    return new;  -- the owner, loading data
  end if;
  -- One after the other, or several at once would all be the last that there is room for.
  if person is null then
    perform from public.deals d where d.id = new.deal_id for no key update;
  else
    perform from public.users u where u.id = person for no key update;
  end if;
  execute format('select %3$I from %1$s where deal_id = $1 and %2$I is not distinct from $2 and %3$I > $3 order by %3$I desc offset $4 limit 1',
      coalesce(tg_argv[4], format('public.%I', tg_table_name)), tg_argv[1], tg_argv[2])
    into last_in_the_way using new.deal_id, person, app.now() - interval '1 day', most - 1;
  if last_in_the_way is not null then
    perform app.refuse_until('too_many_today', format('At most %s %s a %s a day on a deal: go on after %%s.', to_char(most, 'FM999,999'), tg_argv[3],
      case when person is null then 'brokerage''s keys' else 'person' end), last_in_the_way + interval '1 day');
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.limit_of_deal()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  there int;
begin
  if not app.has_caller() then
    return new;  -- the owner, loading data
  end if;
  perform from public.deals d where d.id = new.deal_id for no key update;
  execute format('select count(*) from public.%I where deal_id = $1', tg_table_name) into there using new.deal_id;
  if there >= tg_argv[0]::int then
    perform app.refuse('deal_full', format('A deal has room for %s %s.', to_char(tg_argv[0]::int, 'FM999,999'), tg_argv[1]));
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.limit_people()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  part constant int := 2000;
  ever constant int := 10000;
  there record;
begin
  if not app.has_caller() or new.role = 'broker' then
    return new;
  end if;
  perform from public.deals d where d.id = new.deal_id for no key update;
  if exists (select from public.participants p where p.deal_id = new.deal_id and p.user_id = new.user_id) then
    return new;
  end if;
  select count(*) as ever, count(*) filter (where p.status in ('invited', 'active')) as now into there
    from public.participants p where p.deal_id = new.deal_id;
  if there.ever >= ever then
    perform app.refuse('deal_full', format('%s people have been on this deal, which is the most: go on with a new deal.', to_char(ever, 'FM999,999')));
  end if;
  if there.now >= part then
    perform app.refuse('deal_full', format('A deal has room for %s people at once: remove somebody first.', to_char(part, 'FM999,999')));
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.refresh_tokens(client_id uuid, presented bytea, wanted text[], resource text, began double precision, overlap double precision, access_token bytea, refresh_token bytea, sealed bytea, address inet, request_id text, OUT outcome text, OUT scopes text[], OUT answer bytea, OUT expires_in integer)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  family vault.token_families;
  token vault.refresh_tokens;
  overlapping boolean;
  left_of_family int;
  today constant date := (app.now() at time zone 'UTC')::date;
  apart constant interval := make_interval(secs => overlap / 1000);
begin
  outcome := 'invalid_client';
  if not app.client_lives(client_id) then
    return;
  end if;
  outcome := 'invalid_grant';
  -- The lock first, the token after it: whoever waited sees what the one before has done.
  select f.* into family from vault.token_families f
    where f.id = (select t.family_id from vault.refresh_tokens t where t.digest = presented) for no key update;
  if not found or family.client_id <> refresh_tokens.client_id or family.revoked_at is not null
    or family.ends_at <= app.now() or not app.client_works_for(family.client_id, family.user_id)
  then
    return;
  end if;
  select t.* into token from vault.refresh_tokens t where t.digest = presented;
  overlapping := coalesce(
    to_timestamp(began / 1000) < token.consumed_clock
      and to_timestamp(began / 1000) >= token.consumed_clock - apart
      and clock_timestamp() <= token.consumed_clock + apart,
    false);
  if token.consumed_at is not null and not overlapping then
    update vault.token_families f set revoked_at = app.now() where f.id = family.id;
    update vault.refresh_tokens t set answer = null where t.family_id = family.id and t.answer is not null;
    perform app.audit_family(family.user_id, family.client_id, family.id, 'tokens.replay', 'revoked', address, request_id, '{}');
    return;
  end if;
  if token.expires_at <= app.now() then
    return;
  end if;
  if not coalesce(wanted, family.scopes) <@ family.scopes or not 'mcp:read' = any (coalesce(wanted, family.scopes)) then
    outcome := 'invalid_scope';
    return;
  end if;
  if coalesce(resource, family.resource) <> family.resource then
    outcome := 'invalid_target';
    return;
  end if;
  left_of_family := least(3600, floor(extract(epoch from family.ends_at - app.now())));
  if token.consumed_at is not null then
    -- Once the successor was used there is no answer to give any more, and nothing to revoke either.
    if token.answer is not null then
      outcome := 'overlapping';
      scopes := token.answer_scopes;
      answer := token.answer;
      expires_in := least(left_of_family, 3600 - extract(epoch from app.now() - token.consumed_at)::int);
    end if;
    return;
  end if;
  if family.refreshed_on = today and family.refreshes >= 1000 then
    perform app.refuse_until('too_many_today',
      'This grant was refreshed 1,000 times today, which is the most: use its access token until that expires, and refresh again after %s.',
      date_trunc('day', app.now(), 'UTC') + interval '1 day');
  end if;
  update vault.token_families f
    set refreshed_on = today, refreshes = case when f.refreshed_on = today then f.refreshes + 1 else 1 end where f.id = family.id;
  scopes := coalesce(wanted, family.scopes);
  expires_in := left_of_family;
  update vault.refresh_tokens t
    set consumed_at = app.now(), consumed_clock = clock_timestamp(), answer = sealed, answer_scopes = refresh_tokens.scopes
    where t.digest = presented and t.consumed_at is null;
  -- Whoever holds this token has received the answer that made it: the one kept for it is no longer needed.
  update vault.refresh_tokens t set answer = null
    where t.family_id = family.id and t.answer is not null and t.digest <> presented;
  perform app.issue_tokens(family.id, scopes, access_token, refresh_token);
  perform app.audit_family(family.user_id, family.client_id, family.id, 'tokens.refresh', 'done', address, request_id,
    jsonb_build_object('scopes', scopes));
  outcome := 'issued';
end
$function$;

CREATE OR REPLACE FUNCTION app.take_offer()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  deal_state text;
  last_in_the_way timestamptz;
begin
  if app.user_id() is null and new.buyer_user_id is not null then
    return new;  -- the owner, loading data
  end if;
  new.buyer_user_id := app.user_id();
  select p.id into new.participant_id from public.participants p
    where p.deal_id = new.deal_id and p.user_id = app.user_id() and p.role = 'buyer' and p.status = 'active';
  if not found then
    return new;  -- the policy refuses it
  end if;
  select d.state into deal_state from public.deals d where d.id = new.deal_id;
  if deal_state in ('draft', 'closed', 'withdrawn') then
    perform app.refuse('deal_takes_no_offers', case deal_state
      when 'draft' then 'This deal is not listed yet: offers can be made once a broker has listed it.'
      else format('The deal is %s and takes no offers.', deal_state) end);
  end if;
  perform app.check_payload(new.payload);
  select o.submitted_at into last_in_the_way from public.offers o
    where o.deal_id = new.deal_id and o.buyer_user_id = new.buyer_user_id and o.submitted_at > app.now() - interval '1 day'
    order by o.submitted_at desc offset 19 limit 1;
  if found then
    perform app.refuse_until('too_many_today', 'At most 20 revisions a day on a deal: revise the offer again after %s.',
      last_in_the_way + interval '1 day');
  end if;
  select coalesce(max(o.revision_number), 0) + 1 into new.revision_number from public.offers o
    where o.deal_id = new.deal_id and o.buyer_user_id = new.buyer_user_id;
  new.is_current := true;
  update public.offers o set is_current = false
    where o.deal_id = new.deal_id and o.buyer_user_id = new.buyer_user_id and o.is_current;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.take_question()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  principal_role text;
  deal_state text;
begin
  if app.user_id() is null and new.asked_by is not null then
    return new;  -- the owner, loading data
  end if;
  new.asked_by := app.user_id();
  select p.principal_id, p.principal_role into new.participant_id, principal_role
    from app.participations() p where p.deal_id = new.deal_id;
  if not found then
    return new;
  end if;
  if principal_role <> 'buyer' then
    perform app.refuse('not_a_buyer', 'Questions are asked by the buyer''s side of a deal.');
  end if;
  select d.state into deal_state from public.deals d where d.id = new.deal_id;
  if deal_state in ('closed', 'withdrawn') then
    perform app.refuse('deal_over', format('The deal is %s and takes no more questions.', deal_state));
  end if;
  if not new.deal_id = any (app.deals_under_nda()) then
    perform app.refuse('no_active_nda', 'There is no active NDA for the buyer''s side on this deal. If one waits, the buyer signs it on the deal''s NDA page; otherwise ask a broker of the deal to send one.');
  end if;
  if not app.has_broker(new.deal_id) then
    perform app.refuse('no_broker_review', 'No broker is on this deal to review questions: ask the brokerage to assign one.');
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.check_second_factor()
 RETURNS void
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  asking text;
begin
  if app.barred_in(app.identity()) <> '{}' then
    select string_agg(o.brokerage_name, ', ') into asking from app.second_factor_owed() o;
    perform app.refuse('second_factor_required', format('A second factor is required by: %s.', asking));
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION app.check_move()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  earlier text := to_jsonb(old) ->> tg_argv[1];
  later text := to_jsonb(new) ->> tg_argv[1];
  allowed text;
begin
  if earlier = later or exists (
    select from app.moves m where m.subject = tg_argv[0] and m.from_state = earlier and m.to_state = later)
  then
    return new;
  end if;
  select string_agg(m.to_state, ', ' order by m.to_state) into allowed
    from app.moves m where m.subject = tg_argv[0] and m.from_state = earlier;
  perform app.refuse('move_not_allowed', format('%s cannot go from %s to %s. From %s it can go to: %s.',
    case tg_argv[0] when 'nda' then 'An NDA' else 'A ' || replace(tg_argv[0], '_', ' ') end, earlier, later, earlier, coalesce(allowed, 'nothing')));
  return null;
end
$function$;
