-- compatible: functions are added; app.audit keeps the key of an act that has a person too, and app.closing_warnings is told to keys.
-- What a key writes, it writes itself, by its scopes, where a broker has let the brokerage's keys in to the deal: the policies say so. Two things need a person: a
-- deal has a broker who opened it, and an invitation is mailed in somebody's name and counts for them. They are done for whoever issued the token, who
-- must be allowed to do them at that moment.

-- Who issued a token of the calling key, as the presented one has it: they may have rotated a key that somebody else made.
create function app.issuer_of(presented bytea) returns uuid
language sql stable
return (select d.issued_by from vault.api_key_digests d where d.digest = presented and d.key_id = app.key_id());

-- What follows in the transaction is done by the calling key for whoever issued its token, on one deal that the key reaches: with the rights of that person there,
-- and no others. Denied to a key without the scope.
create function app.act_for_issuer(presented bytea, scope text, deal uuid) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  key constant uuid := app.key_id();
  brokerage constant uuid := app.key_brokerage(scope);
  issuer constant uuid := app.issuer_of(presented);
  member record;
begin
  if key is null or brokerage is null or issuer is null or not deal = any (app.deals_acting_as(scope)) then
    raise insufficient_privilege using message = 'not a key that acts on this deal';
  end if;
  select m.administered into member from app.memberships_of(issuer) m;
  -- A token shows no second factor: entering with it has seen that its issuer has one where the brokerage asks for it.
  perform app.seal(concat(issuer, ',,', key, ',', brokerage, ',,,,', app.standing(issuer, '{}', member.administered, deal)));
end
$$;
grant execute on function app.act_for_issuer(bytea, text, uuid) to dealkeep_server;

-- Opens a deal in draft whose broker is whoever issued the token of the calling key; it is open to the brokerage's keys. Denied to a key without the scope, and when
-- that person is not an admin or broker of the brokerage.
create function app.open_deal_with_key(presented bytea, title text, industry text, location text, summary text, asking_price numeric, currency text,
  needs_nda boolean)
returns setof public.deals
language plpgsql volatile security definer set search_path = '' rows 1 as $$
declare
  brokerage constant uuid := app.key_brokerage('deals:write');
  issuer constant uuid := app.issuer_of(presented);
  opened public.deals;
begin
  if brokerage is null or not exists (
    select from public.members m
    where m.brokerage_id = brokerage and m.user_id = issuer and m.status = 'active' and m.role in ('admin', 'broker'))
  then
    raise insufficient_privilege using message = 'not a key of an admin or broker of this brokerage';
  end if;
  insert into public.deals (organization_id, title, industry, location, summary, asking_price, currency, needs_nda, created_by, keys_admitted)
    values (brokerage, open_deal_with_key.title, open_deal_with_key.industry, open_deal_with_key.location, open_deal_with_key.summary,
      open_deal_with_key.asking_price, coalesce(open_deal_with_key.currency, 'USD'), coalesce(open_deal_with_key.needs_nda, true), issuer, true)
    returning * into opened;
  insert into public.participants (deal_id, user_id, role, status) values (opened.id, issuer, 'broker', 'active');
  return next opened;
end
$$;
grant execute on function app.open_deal_with_key(bytea, text, text, text, text, numeric, text, boolean) to dealkeep_server;

-- A key moves deals as a broker does: it confirms as well that a deal is closed though something is missing.
create or replace function app.closing_warnings(deal_id uuid) returns text[]
language plpgsql stable security definer set search_path = '' as $$
declare
  warnings text[] := '{}';
  open_conditions text[];
  questions int;
  selected uuid;
  buyer text;
begin
  if not deal_id = any (app.deals_acting_as('broker', 'deals:write')) then
    return '{}';
  end if;
  select array_agg(c.name order by c.deadline nulls last, c.id) into open_conditions from public.closing_conditions c
    where c.deal_id = closing_warnings.deal_id and c.status in ('open', 'in_progress');
  if cardinality(open_conditions) = 1 then
    warnings := array_append(warnings, format('A closing condition is not met: %s.', open_conditions[1]));
  elsif cardinality(open_conditions) > 1 then
    warnings := array_append(warnings, format('%s closing conditions are not met: %s%s.', cardinality(open_conditions),
      array_to_string(open_conditions[1:5], ', '), case when cardinality(open_conditions) > 5 then ' and others' end));
  end if;
  select x.participant_id, u.name into selected, buyer
    from public.exclusivities x
    join public.participants p on p.id = x.participant_id and p.status = 'active'
    join public.users u on u.id = x.buyer_user_id
    where x.deal_id = closing_warnings.deal_id and x.ended_at is null;
  if selected is null then
    warnings := array_append(warnings, 'No buyer holds the exclusivity: the record will not say who bought.');
  end if;
  if app.accepted_offer(deal_id) is null then
    warnings := array_append(warnings, 'No offer is accepted: the record will not say on which terms.');
  elsif exists (select from public.offers o where o.participant_id = selected and o.is_current
    and not exists (select from public.offer_decisions c where c.offer_id = o.id))
  then
    warnings := array_append(warnings, 'A proposed change of the accepted terms is not decided.');
  end if;
  if not (select d.needs_nda from public.deals d where d.id = closing_warnings.deal_id) then
    null;
  elsif selected is not null and not exists (select from vault.active_ndas n where n.participant_id = selected) then
    warnings := array_append(warnings, format('%s has no active NDA.', buyer));
  elsif selected is null and not exists (select from vault.active_ndas n where n.deal_id = closing_warnings.deal_id) then
    warnings := array_append(warnings, 'Nobody has an active NDA.');
  end if;
  select count(*) into questions from public.questions q
    where q.deal_id = closing_warnings.deal_id and q.status in ('pending_broker_review', 'with_seller', 'answered');
  if questions = 1 then
    warnings := array_append(warnings, 'A question is still without its answer.');
  elsif questions > 1 then
    warnings := array_append(warnings, format('%s questions are still without their answers.', questions));
  end if;
  return warnings;
end
$$;

create or replace function app.audit(action text, subject_id text, outcome text, brokerage_id uuid, deal_id uuid, address inet, request_id text, details jsonb)
returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  identity constant text := app.identity();
  -- A person calls through a client, a key that acts for them, or neither.
  person constant uuid := nullif(split_part(identity, ',', 1), '');
begin
  insert into public.audit_records
    (brokerage_id, deal_id, user_id, client_id, key_id, address, request_id, action, subject_id, outcome, details)
  values (
    coalesce((select d.organization_id from public.deals d where d.id = audit.deal_id), audit.brokerage_id,
      case when person is null then nullif(split_part(identity, ',', 4), '')::uuid end),
    audit.deal_id, person, case when person is not null then nullif(split_part(identity, ',', 2), '')::uuid end,
    nullif(split_part(identity, ',', 3), '')::uuid, audit.address, audit.request_id, audit.action,
    audit.subject_id, audit.outcome, coalesce(audit.details, '{}'));
end
$$;
