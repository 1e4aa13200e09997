-- compatible: old nodes call these functions without the new last argument, which has a default.
--
-- Whoever opened a deal became its broker, so that what an admin, or their key, opened for a colleague had to be handed over.

-- Who becomes the broker of a deal that the opener opens: themselves, or another admin or broker, whom only an admin chooses. Whoever of the two leaves meanwhile is
-- waited for, or waits and leaves this deal too.
create function app.broker_of_new_deal(of_brokerage uuid, opener uuid, chosen uuid) returns uuid
  language plpgsql set search_path = ''
as $$
declare
  opens_as text;
begin
  perform from public.members m
    where m.brokerage_id = of_brokerage and m.user_id in (opener, chosen) order by m.user_id for share;
  select m.role into opens_as from public.members m
    where m.brokerage_id = of_brokerage and m.user_id = opener and m.status = 'active' and m.role in ('admin', 'broker');
  if opens_as is null and not exists (select from public.users u where u.id = opener and u.sandbox_id = of_brokerage) then
    raise insufficient_privilege using message = 'not an admin or broker of this brokerage';
  end if;
  if chosen = opener then
    return opener;
  end if;
  if opens_as is distinct from 'admin' then
    raise insufficient_privilege using message = 'only an admin opens a deal for another member';
  end if;
  if not exists (
    select from public.members m join public.users u on u.id = m.user_id and u.suspended_at is null
    where m.brokerage_id = of_brokerage and m.user_id = chosen and m.status = 'active' and m.role in ('admin', 'broker'))
  then
    perform app.refuse('not_a_broker', 'The broker of a new deal is an active admin or broker of the brokerage: choose one.');
  end if;
  return chosen;
end
$$;

drop function app.open_deal(uuid, text, text, text, text, numeric, text, boolean);
create function app.open_deal(organization_id uuid, title text, industry text, location text, summary text, asking_price numeric, currency text,
  needs_nda boolean default null, broker uuid default null) returns uuid
  language plpgsql security definer set search_path = ''
as $$
declare
  runs uuid;
  opened uuid;
begin
  if open_deal.organization_id is null or not open_deal.organization_id = any (app.brokerages_as('admin', 'broker')) then
    raise insufficient_privilege using message = 'not an admin or broker of this brokerage';
  end if;
  runs := app.broker_of_new_deal(open_deal.organization_id, app.user_id(), coalesce(open_deal.broker, app.user_id()));
  insert into public.deals (organization_id, title, industry, location, summary, asking_price, currency, needs_nda, created_by, keys_admitted)
    values (open_deal.organization_id, open_deal.title, open_deal.industry, open_deal.location, open_deal.summary,
      open_deal.asking_price, coalesce(open_deal.currency, 'USD'), coalesce(open_deal.needs_nda, true), app.user_id(),
      (select b.admit_keys_by_default from public.brokerages b where b.id = open_deal.organization_id))
    returning id into opened;
  insert into public.participants (deal_id, user_id, role, status) values (opened, runs, 'broker', 'active');
  return opened;
end
$$;
grant execute on function app.open_deal(uuid, text, text, text, text, numeric, text, boolean, uuid) to dealkeep_server;

drop function app.open_deal_with_key(bytea, text, text, text, text, numeric, text, boolean);
create function app.open_deal_with_key(presented bytea, title text, industry text, location text, summary text, asking_price numeric, currency text,
  needs_nda boolean, broker_email text default null) returns setof public.deals
  language plpgsql security definer rows 1 set search_path = ''
as $$
declare
  brokerage constant uuid := app.key_brokerage('deals:write');
  issuer constant uuid := app.issuer_of(presented);
  runs uuid;
  opened public.deals;
begin
  -- An address that nobody has is an id that nobody has.
  runs := app.broker_of_new_deal(brokerage, issuer, case when broker_email is null then issuer
    else coalesce((select u.id from public.users u where u.email = lower(broker_email)), '00000000-0000-0000-0000-000000000000') end);
  insert into public.deals (organization_id, title, industry, location, summary, asking_price, currency, needs_nda, created_by, keys_admitted)
    values (brokerage, open_deal_with_key.title, open_deal_with_key.industry, open_deal_with_key.location, open_deal_with_key.summary,
      open_deal_with_key.asking_price, coalesce(open_deal_with_key.currency, 'USD'), coalesce(open_deal_with_key.needs_nda, true), issuer, true)
    returning * into opened;
  insert into public.participants (deal_id, user_id, role, status) values (opened.id, runs, 'broker', 'active');
  return next opened;
end
$$;
grant execute on function app.open_deal_with_key(bytea, text, text, text, text, numeric, text, boolean, text) to dealkeep_server;
