-- compatible: the same is answered but to somebody who leaves the brokerage meanwhile.
--
-- Somebody who was removed from the brokerage, or made staff, while they opened a deal (in the web application, or with an API key that they had made) stayed its broker: leaving ends the
-- parts that are there, and theirs was not yet to be seen. Now whoever opens a deal holds their membership, which whoever removes them locks first.

create or replace function app.open_deal(
  organization_id uuid, title text, industry text, location text, summary text, asking_price numeric, currency text, needs_nda boolean default null
) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  opened uuid;
begin
  if open_deal.organization_id is null or not open_deal.organization_id = any (app.brokerages_as('admin', 'broker')) then
    raise insufficient_privilege using message = 'not an admin or broker of this brokerage';
  end if;
  -- Who leaves meanwhile is waited for, or waits and leaves this deal too.
  perform from public.members m
    where m.brokerage_id = open_deal.organization_id and m.user_id = app.user_id() and m.status = 'active' and m.role in ('admin', 'broker')
    for share;
  if not found then
    raise insufficient_privilege using message = 'no longer an admin or broker of this brokerage';
  end if;
  insert into public.deals (organization_id, title, industry, location, summary, asking_price, currency, needs_nda, created_by, keys_admitted)
    values (open_deal.organization_id, open_deal.title, open_deal.industry, open_deal.location, open_deal.summary,
      open_deal.asking_price, coalesce(open_deal.currency, 'USD'), coalesce(open_deal.needs_nda, true), app.user_id(),
      (select b.admit_keys_by_default from public.brokerages b where b.id = open_deal.organization_id))
    returning id into opened;
  insert into public.participants (deal_id, user_id, role, status) values (opened, app.user_id(), 'broker', 'active');
  return opened;
end
$$;

create or replace function app.open_deal_with_key(
  presented bytea, title text, industry text, location text, summary text, asking_price numeric, currency text, needs_nda boolean
) returns setof public.deals
language plpgsql security definer rows 1 set search_path = '' as $$
declare
  brokerage constant uuid := app.key_brokerage('deals:write');
  issuer constant uuid := app.issuer_of(presented);
  opened public.deals;
begin
  -- Who leaves meanwhile is waited for, or waits and leaves this deal too.
  perform from public.members m
    where m.brokerage_id = brokerage and m.user_id = issuer and m.status = 'active' and m.role in ('admin', 'broker')
    for share;
  if not found and not exists (select from public.users u where u.id = issuer and u.sandbox_id = brokerage) then
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
