-- compatible: API keys of the environment 'test' work on another brokerage, their sandbox, from now on; releases before cannot tell the files of its documents.
-- A test key works on its brokerage's sandbox: a brokerage of its own, with fictive people and demo data, that has no members. Nobody but test keys ever enters it, so
-- that policies, which compare with the brokerage of the caller, keep both apart like any two brokerages. Nothing in it is mailed to anybody.

alter table brokerages add column sandbox_of uuid unique references brokerages,
  add column reset_at timestamptz,
  add constraint brokerages_reset_check check ((sandbox_of is null) = (reset_at is null)),
  add constraint brokerages_sandbox_check check (sandbox_of <> id);
-- Of fictive people: the sandbox in which they are.
alter table users add column sandbox_id uuid references brokerages,
  add constraint users_sandbox_check check ((sandbox_id is null) = (email not like '%.sandbox.invalid')),
  add constraint users_fictive_check check (sandbox_id is null or suspended_at is not null);
create index users_by_sandbox on users (sandbox_id) where sandbox_id is not null;

-- The same word gives the same id at each reset, and another one in each sandbox. In the form of version 7 (RFC 9562), like all ids.
create function app.sandbox_id(sandbox uuid, word text) returns uuid
language sql immutable parallel safe
return (overlay(overlay(overlay(md5(sandbox || ' ' || word) placing '019000000000' from 1) placing '7' from 13) placing 'a' from 17))::uuid;

-- An address of somebody in a sandbox. Mail to .invalid goes nowhere (RFC 2606), and nobody can prove that it is theirs.
create function app.sandbox_address(sandbox uuid, name text) returns text
language sql immutable parallel safe
return name || '@' || replace(sandbox::text, '-', '') || '.sandbox.invalid';

create function app.is_sandbox(brokerage uuid) returns boolean
language sql stable
return exists (select from public.brokerages b where b.id = brokerage and b.sandbox_of is not null);

-- On whose records a key works: its brokerage's, or, of a test key, those of the sandbox.
create function app.brokerage_of_key(key uuid) returns uuid
language sql stable
return (select case k.environment when 'test' then (select s.id from public.brokerages s where s.sandbox_of = k.brokerage_id) else k.brokerage_id end
  from public.api_keys k where k.id = key);

-- Somebody of a sandbox takes part there and nowhere else, and nobody else does.
create function app.keep_in_sandbox() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  named constant jsonb := to_jsonb(new);
  brokerage constant uuid := coalesce(named ->> 'brokerage_id', (select d.organization_id::text from public.deals d where d.id = (named ->> 'deal_id')::uuid))::uuid;
begin
  if (select u.sandbox_id from public.users u where u.id = new.user_id) is distinct from (select b.id from public.brokerages b where b.id = brokerage and b.sandbox_of is not null) then
    perform app.refuse('address_not_taken', 'Nobody can be written to at this address.');
  end if;
  return new;
end
$$;
create trigger zz_keep_in_sandbox before insert or update of user_id on participants for each row execute function app.keep_in_sandbox();
create trigger zz_keep_in_sandbox before insert or update of user_id, brokerage_id on members for each row execute function app.keep_in_sandbox();

-- Entering -----------------------------------------------------------------------------------------------------------------------

-- A key that enters by its id, for its deliveries, enters the sandbox if it is a test key, whatever brokerage is named.
create or replace function app.enter(user_id uuid, client_id uuid, key_id uuid, brokerage_id uuid, scopes text[], session_id uuid default null, barred uuid[] default '{}')
returns void
language plpgsql security definer set search_path = '' as $$
declare
  identity constant text := concat_ws(',', coalesce(user_id::text, ''), coalesce(client_id::text, ''),
    coalesce(key_id::text, ''), coalesce(case (select k.environment from public.api_keys k where k.id = enter.key_id) when 'test' then app.brokerage_of_key(enter.key_id)
      else enter.brokerage_id end::text, ''),
    coalesce(array_to_string(scopes, ' '), ''), coalesce(session_id::text, ''), array_to_string(barred, ' '));
  secret bytea;
begin
  select s.secret into secret from vault.seal s;
  perform set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', app.seal_of(identity, secret), true);
end
$$;

create or replace function app.enter_with_api_key(presented bytea, of_table text default null, record uuid default null)
returns table (key_id uuid, brokerage_id uuid, scopes text[], ceiling integer)
language plpgsql volatile security definer set search_path = '' as $$
declare
  now constant timestamptz := app.now();
  key record;
begin
  -- Without its sandbox a test key works on nothing.
  select k.id, case k.environment when 'test' then s.id else b.id end as brokerage_id, k.scopes, k.ceiling into key
  from vault.api_key_digests d
  join public.api_keys k on k.id = d.key_id
  join public.users u on u.id = d.issued_by
  join public.members m on m.brokerage_id = k.brokerage_id and m.user_id = d.issued_by
  join public.brokerages b on b.id = k.brokerage_id
  left join public.brokerages s on s.sandbox_of = b.id and k.environment = 'test'
  where d.digest = presented
    and (d.valid_until is null or d.valid_until > now)
    and k.revoked_at is null
    and (k.expires_at is null or k.expires_at > now)
    and u.suspended_at is null
    and m.status = 'active'
    and (not b.requires_second_factor or app.has_second_factor(d.issued_by));
  if key.brokerage_id is null then
    return;
  end if;
  perform app.seal(concat_ws(',', '', '', key.id, key.brokerage_id, array_to_string(key.scopes, ' '), '', '',
    case when of_table is not null then
      app.standing_of_key(key.brokerage_id, key.scopes, case of_table when 'deals' then record else app.deal_of(of_table, record) end) end));
  return query select key.id, key.brokerage_id, key.scopes, key.ceiling;
end
$$;

-- The name of a sandbox is that of its brokerage.
create or replace function app.calling_key()
returns table (id uuid, name text, environment text, last_four text, scopes text[], ceiling int, expires_at timestamptz, brokerage_id uuid, brokerage_name text)
language sql stable security definer set search_path = ''
begin atomic
  select k.id, k.name, k.environment, k.last_four, k.scopes, k.ceiling, k.expires_at, b.id,
    case k.environment when 'test' then of_key.name || ' (sandbox)' else b.name end
  from public.api_keys k
  join public.brokerages of_key on of_key.id = k.brokerage_id
  join public.brokerages b on b.id = app.identity_part(4)::uuid
  where k.id = app.key_id();
end;

-- In whose name the calling key acts: whoever issued its token; in a sandbox the broker there, as long as the issuer may open deals of the brokerage.
create or replace function app.issuer_of(presented bytea) returns uuid
language sql stable
return (select case k.environment
    when 'live' then d.issued_by
    else (select app.sandbox_id(app.brokerage_of_key(k.id), 'broker') from public.members m
      where m.brokerage_id = k.brokerage_id and m.user_id = d.issued_by and m.status = 'active' and m.role in ('admin', 'broker'))
  end
  from vault.api_key_digests d join public.api_keys k on k.id = d.key_id where d.digest = presented and d.key_id = app.key_id());

create or replace function app.open_deal_with_key(presented bytea, title text, industry text, location text, summary text, asking_price numeric, currency text,
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
    where m.brokerage_id = brokerage and m.user_id = issuer and m.status = 'active' and m.role in ('admin', 'broker')
    union all select from public.users u where u.id = issuer and u.sandbox_id = brokerage)
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

-- Inviting in a sandbox makes somebody fictive, who is shown by what was typed and has nothing to do with whoever has the address.
create or replace function app.invite_to_deal(deal_id uuid, email text, name text, role text, advises uuid) returns table (participant_id uuid)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  sandbox uuid;
  address text := lower(invite_to_deal.email);
  invited uuid;
begin
  select b.id into sandbox from public.deals d join public.brokerages b on b.id = d.organization_id and b.sandbox_of is not null where d.id = invite_to_deal.deal_id;
  if not exists (select from public.deals d where d.id = invite_to_deal.deal_id
    and (d.id = any (app.deals_acting_as('broker')) or d.organization_id = any (app.brokerages_as('admin'))))
  then
    raise insufficient_privilege using message = 'not a broker of this deal';
  end if;
  if sandbox is not null then
    address := coalesce((select u.email from public.users u where u.email = address and u.sandbox_id = sandbox), app.sandbox_address(sandbox, md5(address)));
  elsif address like '%.sandbox.invalid' then
    perform app.refuse('address_not_taken', 'Nobody can be written to at this address.');
  end if;
  insert into public.users (email, name, sandbox_id, suspended_at)
    values (address, invite_to_deal.name, sandbox, case when sandbox is not null then app.now() end)
    on conflict (email) do nothing;
  select u.id into invited from public.users u where u.email = address;
  if exists (select from public.participants p where p.deal_id = invite_to_deal.deal_id and p.user_id = invited
    and p.status = 'active')
  then
    perform app.refuse('already_participant', 'This person already takes part in the deal.');
  end if;
  return query
    insert into public.participants as p (deal_id, user_id, role, advises, invited_name, invited_email)
    values (invite_to_deal.deal_id, invited, invite_to_deal.role, invite_to_deal.advises, invite_to_deal.name,
      lower(invite_to_deal.email))
    on conflict (deal_id, user_id) do update
      set status = 'invited', role = excluded.role, advises = excluded.advises, invited_name = excluded.invited_name,
        invited_email = excluded.invited_email
    returning p.id;
end
$$;

-- Nothing of a sandbox is mailed, nor told to anybody in the web application.
create or replace function app.queue_mail(kind text, recipient text, recipient_id uuid, brokerage uuid, deal uuid, urgent boolean, facts jsonb, secret text, link bytea)
returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  queued uuid;
begin
  if recipient is null or lower(recipient) like '%.sandbox.invalid'
    or app.is_sandbox(coalesce((select d.organization_id from public.deals d where d.id = queue_mail.deal), queue_mail.brokerage))
  then
    return null;
  end if;
  insert into vault.outbox (kind, recipient, recipient_id, brokerage_id, deal_id, caused_by, urgent, facts, secret, link)
    values (queue_mail.kind, lower(queue_mail.recipient),
      coalesce(queue_mail.recipient_id, (select u.id from public.users u where u.email = lower(queue_mail.recipient))),
      coalesce(queue_mail.brokerage, (select d.organization_id from public.deals d where d.id = queue_mail.deal)),
      queue_mail.deal, app.user_id(), queue_mail.urgent, coalesce(queue_mail.facts, '{}'), queue_mail.secret, queue_mail.link)
    returning id into queued;
  perform pg_notify('dealkeep_mail', '');
  return queued;
end
$$;

create or replace function app.queue_event(kind text, deal uuid, subject text, subject_id uuid, actor uuid, person uuid) returns void
language plpgsql set search_path = '' as $$
begin
  if app.is_sandbox((select d.organization_id from public.deals d where d.id = deal)) then
    return;
  end if;
  insert into vault.events (kind, deal_id, subject, subject_id, actor_id, person_id) values (kind, deal, subject, subject_id, actor, person);
  perform pg_notify('dealkeep_mail', '');
end
$$;

-- Webhooks of test keys are told what changes in the sandbox; admins of the brokerage see and manage them like those of live keys.
create or replace function app.set_tenant_by_key() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  new.brokerage_id := case tg_table_name when 'webhook_endpoints' then app.brokerage_of_key(new.key_id)
    else (select k.brokerage_id from public.api_keys k where k.id = new.key_id) end;
  return new;
end
$$;

alter policy admins_and_their_key on webhook_endpoints
  using ((select true from public.api_keys k where k.id = key_id)
    or (key_id = (select app.key_id()) and brokerage_id = (select app.key_brokerage('webhooks:read'))));

create or replace function app.webhook_to_manage(endpoint uuid) returns public.webhook_endpoints
language plpgsql security definer set search_path = '' as $$
declare
  found public.webhook_endpoints;
begin
  select e.* into found from public.webhook_endpoints e join public.api_keys k on k.id = e.key_id
    where e.id = endpoint and app.client_id() is null
      and (k.brokerage_id = any (app.brokerages_as('admin'))
        or (e.key_id = app.key_id() and e.brokerage_id = app.key_brokerage('webhooks:write')))
    for no key update of e;
  if found.id is null then
    perform app.refuse('webhook_not_found', 'There is no such webhook.');
  end if;
  return found;
end
$$;

create or replace function app.add_webhook(endpoint uuid, of_key uuid, url text, description text, types text[], secret_id uuid, secret text, address inet, request_id text)
returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  key public.api_keys;
begin
  if app.key_id() is not null then
    select k.* into key from public.api_keys k
      where k.id = app.key_id() and app.key_brokerage('webhooks:write') is not null for no key update;
    if key.id is null then
      return false;
    end if;
  else
    key := app.key_to_manage(of_key);
    perform app.check_recent_sign_in();
  end if;
  if not app.is_key_in_force(key.id) then
    perform app.refuse('api_key_ended', 'This API key has ended: choose one that is in force.');
  end if;
  if 20 <= (select count(*) from public.webhook_endpoints e where e.key_id = key.id) then
    perform app.refuse('too_many_webhooks', 'This API key has 20 webhooks: take one out before you add another.');
  end if;
  insert into public.webhook_endpoints (id, brokerage_id, key_id, url, description, types, created_by, place, history)
    select endpoint, key.brokerage_id, key.id, add_webhook.url, add_webhook.description, add_webhook.types, app.user_id(), s.published, s.history
    from vault.change_stream s;
  insert into vault.webhook_secrets (id, endpoint_id, secret) values (secret_id, endpoint, add_webhook.secret);
  perform app.audit('webhook.create', endpoint::text, 'done', key.brokerage_id, null, address, request_id, jsonb_build_object('key_id', key.id));
  return true;
end
$$;

-- Test keys reach no deal that somebody sees.
create or replace function app.keys_for_deal(deal uuid)
returns table(id uuid, name text, environment text, scopes text[], created_by uuid, created_at timestamp with time zone, expires_at timestamp with time zone, last_used_at timestamp with time zone)
language plpgsql stable security definer set search_path = '' as $$
declare
  run constant uuid[] := app.deals_acting_as('broker');
  administered constant uuid[] := app.brokerages_as('admin');
begin
  return query
    select k.id, k.name, k.environment, reaching.scopes, k.created_by, k.created_at, k.expires_at, k.last_used_at
    from public.deals d
    join public.api_keys k on k.brokerage_id = d.organization_id
    cross join lateral (select array(select s from unnest(k.scopes) s where s = any (app.deal_scopes())) as scopes) reaching
    where d.id = deal and (d.id = any (run) or d.organization_id = any (administered)) and k.environment = 'live' and k.revoked_at is null and (k.expires_at is null or k.expires_at > app.now()) and reaching.scopes <> '{}'
    order by k.created_at desc, k.id desc
    limit 100;
end
$$;

-- Whoever names a brokerage never means a sandbox.
create or replace function app.brokerage_named(named text) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  if named ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    return (select b.id from public.brokerages b where b.id = named::uuid and b.sandbox_of is null);
  end if;
  return (select b.id from public.brokerages b where b.slug = named and b.sandbox_of is null);
end
$$;

-- What was typed about somebody in a sandbox goes with them.
create function app.forget_in_sandboxes() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  update public.participants p set invited_name = 'Former participant', invited_email = new.email
    from public.brokerages s join public.users u on u.email = app.sandbox_address(s.id, md5(old.email))
    where s.sandbox_of is not null and p.user_id = u.id;
  update public.users u set name = 'Former participant'
    from public.brokerages s where s.sandbox_of is not null and u.email = app.sandbox_address(s.id, md5(old.email));
  return null;
end
$$;
create trigger forget_in_sandboxes after update of erased_at on public.users
  for each row when (old.erased_at is null and new.erased_at is not null) execute function app.forget_in_sandboxes();

-- What is in it ---------------------------------------------------------------------------------------------------------------------

-- Puts the demo data into an empty sandbox. The files of its documents are a part of the program (server/storage/samples.ts), each under a key of this sandbox.
create function app.fill_sandbox(sandbox uuid) returns void
language plpgsql volatile set search_path = '' as $$
declare
  now constant timestamptz := date_trunc('milliseconds', app.now());
  today constant date := (now at time zone 'UTC')::date;
  read_at constant timestamptz := now - interval '20 days';
  -- The first day after the last month that was over when the books were read.
  books_to constant date := date_trunc('month', read_at at time zone 'UTC');
  listed constant uuid := app.sandbox_id(sandbox, 'deal listed');
  diligence constant uuid := app.sandbox_id(sandbox, 'deal diligence');
  draft constant uuid := app.sandbox_id(sandbox, 'deal draft');
  closed constant uuid := app.sandbox_id(sandbox, 'deal closed');
  snapshot constant uuid := app.sandbox_id(sandbox, 'snapshot');
  accepted constant uuid := app.sandbox_id(sandbox, 'offer rosa 2');
begin
  insert into public.users (id, email, name, sandbox_id, suspended_at, created_at, updated_at)
    select app.sandbox_id(sandbox, p.who), app.sandbox_address(sandbox, p.mailbox), p.name, sandbox, now, now - interval '90 days', now - interval '90 days'
    from (values ('broker', 'avery.lindgren', 'Avery Lindgren'), ('seller', 'marta.oduya', 'Marta Oduya'), ('owner', 'glenn.tasker', 'Glenn Tasker'),
      ('rosa', 'rosa.ferreira', 'Rosa Ferreira'), ('theo', 'theo.blackwood', 'Theo Blackwood'), ('ines', 'ines.varga', 'Ines Varga'),
      ('advisor', 'samuel.okafor', 'Samuel Okafor, CPA')) p (who, mailbox, name);

  insert into public.contacts (id, brokerage_id, type, display_name, email, phone, external_id, created_by, created_at, updated_at, archived_at)
    select app.sandbox_id(sandbox, 'contact ' || c.nr), sandbox, c.type, c.name, c.mailbox || '.example', c.phone, c.external,
      app.sandbox_id(sandbox, 'broker'), now - make_interval(days => 60 - c.nr * 4), now - make_interval(days => case when c.nr = 12 then 2 else 60 - c.nr * 4 end),
      case when c.nr = 12 then now - interval '2 days' end
    from (values
      (1, 'company', 'Northside Mechanical', 'office@northside', '+1 614-555-0101', 'crm-1001'),
      (2, 'person', 'Marta Oduya', 'marta@northside', '+1 614-555-0102', 'crm-1002'),
      (3, 'company', 'Harbor Lane Print Shop', 'hello@harborlane', '+1 216-555-0103', 'crm-1003'),
      (4, 'person', 'Glenn Tasker', 'glenn@harborlane', '+1 216-555-0104', null),
      (5, 'person', 'Rosa Ferreira', 'rosa@ferreirasearch', '+1 312-555-0105', 'crm-1005'),
      (6, 'company', 'Ferreira Search Partners', 'desk@ferreirasearch', null, null),
      (7, 'person', 'Theo Blackwood', 'theo@blackwood', '+1 412-555-0107', null),
      (8, 'company', 'Blackwood Holdings', null, '+1 412-555-0108', null),
      (9, 'person', 'Ines Varga', 'ines@varga', null, 'crm-1009'),
      (10, 'person', 'Samuel Okafor, CPA', 'samuel@okaforcpa', '+1 312-555-0110', null),
      (11, 'company', 'Three Ferries Bank', 'sba@threeferries', '+1 513-555-0111', null),
      (12, 'person', 'Dale Whitmore', 'dale@whitmore', '+1 937-555-0112', 'crm-1012')) c (nr, type, name, mailbox, phone, external);

  insert into public.deals (id, organization_id, title, state, industry, location, summary, asking_price, currency, needs_nda, closed_at, created_by, keys_admitted, created_at, updated_at)
    values
      (draft, sandbox, 'Two-van mobile dog grooming', 'draft', 'Pet services', 'Dayton, OH', null, null, 'USD', true, null, app.sandbox_id(sandbox, 'broker'), true,
        now - interval '3 days', now - interval '3 days'),
      (listed, sandbox, 'Print shop with 60 standing accounts', 'listed', 'Commercial printing', 'Cleveland, OH',
        'Offset and digital printing for schools, parishes and restaurants. The owner wants to retire within a year.', 890000, 'USD', true, null,
        app.sandbox_id(sandbox, 'broker'), true, now - interval '45 days', now - interval '12 days'),
      (diligence, sandbox, 'Heating and cooling contractor, 11 technicians', 'diligence', 'Heating and cooling', 'Columbus, OH',
        'Residential service and replacement, 2,300 maintenance agreements, no new construction.', 3400000, 'USD', true, null,
        app.sandbox_id(sandbox, 'broker'), true, now - interval '80 days', now - interval '20 days'),
      (closed, sandbox, 'Neighborhood hardware store', 'closed', 'Retail', 'Akron, OH', null, 410000, 'USD', true, now - interval '30 days',
        app.sandbox_id(sandbox, 'broker'), true, now - interval '88 days', now - interval '30 days');

  insert into public.participants (id, deal_id, user_id, role, status, advises, invited_name, invited_email, created_at, updated_at)
    select app.sandbox_id(sandbox, concat(p.deal, ' ', p.who)), app.sandbox_id(sandbox, 'deal ' || p.deal), app.sandbox_id(sandbox, p.who), p.role, p.status,
      case when p.role = 'advisor' then app.sandbox_id(sandbox, p.deal || ' rosa') end,
      case when p.status = 'invited' then 'Ines Varga' end, case when p.status = 'invited' then app.sandbox_address(sandbox, 'ines.varga') end, p.since, p.since
    from (values
      ('draft', 'broker', 'broker', 'active', now - interval '3 days'),
      ('listed', 'broker', 'broker', 'active', now - interval '45 days'), ('listed', 'owner', 'seller', 'active', now - interval '44 days'),
      ('listed', 'theo', 'buyer', 'active', now - interval '30 days'), ('listed', 'ines', 'buyer', 'invited', now - interval '2 days'),
      ('diligence', 'broker', 'broker', 'active', now - interval '80 days'), ('diligence', 'seller', 'seller', 'active', now - interval '79 days'),
      ('diligence', 'rosa', 'buyer', 'active', now - interval '60 days'), ('diligence', 'theo', 'buyer', 'active', now - interval '58 days'),
      ('diligence', 'advisor', 'advisor', 'active', now - interval '40 days'),
      ('closed', 'broker', 'broker', 'active', now - interval '88 days'), ('closed', 'ines', 'buyer', 'active', now - interval '70 days')) p (deal, who, role, status, since)
    order by p.role = 'advisor', p.since;

  insert into public.ndas (id, deal_id, participant_id, status, terms, sent_by, sent_at, signed_at, signed_name, expires_at)
    select app.sandbox_id(sandbox, concat('nda ', n.deal, n.who)), app.sandbox_id(sandbox, 'deal ' || n.deal), app.sandbox_id(sandbox, n.deal || ' ' || n.who), n.status,
      'What is shown here is confidential. This is a sample in a sandbox and binds nobody.', app.sandbox_id(sandbox, 'broker'), n.sent, n.signed, n.signer, n.ends
    from (values
      ('listed', 'theo', 'active', now - interval '29 days', now - interval '28 days', 'Theo Blackwood', now + interval '700 days'),
      ('listed', 'ines', 'sent', now - interval '1 day', null::timestamptz, null, now + interval '60 days'),
      ('diligence', 'rosa', 'active', now - interval '59 days', now - interval '58 days', 'Rosa Ferreira', now + interval '650 days'),
      ('diligence', 'theo', 'active', now - interval '57 days', now - interval '56 days', 'Theo Blackwood', now + interval '650 days')) n (deal, who, status, sent, signed, signer, ends);

  insert into public.offers (id, deal_id, participant_id, buyer_user_id, revision_number, is_current, submitted_at, payload)
    select case o.id when 'rosa 2' then accepted else app.sandbox_id(sandbox, 'offer ' || o.id) end, app.sandbox_id(sandbox, 'deal ' || o.deal),
      app.sandbox_id(sandbox, o.deal || ' ' || o.who), app.sandbox_id(sandbox, o.who), o.nr, o.current, o.at,
      jsonb_build_object('currency', 'USD', 'purchase_price', o.price, 'cash_at_close', o.cash, 'seller_note', o.note, 'financing_contingency', o.financed,
        'target_close_date', today + 70, 'terms', o.terms)
    from (values
      ('rosa 1', 'diligence', 'rosa', 1, false, now - interval '45 days', '3050000.00', '2450000.00', '600000.00', true, 'Subject to the books of the last three years.'),
      ('rosa 2', 'diligence', 'rosa', 2, true, now - interval '38 days', '3300000.00', '2700000.00', '600000.00', true, 'As before, with a seller note at six percent over five years.'),
      ('theo 1', 'diligence', 'theo', 1, true, now - interval '41 days', '2900000.00', '2900000.00', null, false, 'All cash, sixty days to close.'),
      ('theo 2', 'listed', 'theo', 1, true, now - interval '9 days', '820000.00', '500000.00', '320000.00', true, null))
      o (id, deal, who, nr, current, at, price, cash, note, financed, terms);

  insert into public.exclusivities (id, deal_id, participant_id, buyer_user_id, offer_id, granted_by, granted_at, expires_at)
    values (app.sandbox_id(sandbox, 'exclusivity'), diligence, app.sandbox_id(sandbox, 'diligence rosa'), app.sandbox_id(sandbox, 'rosa'), accepted,
      app.sandbox_id(sandbox, 'broker'), now - interval '35 days', now + interval '55 days');

  insert into public.questions (id, deal_id, category, status, question_text, asked_by, participant_id, asked_at, rejection_reason, distributed_response, distributed_at, updated_at)
    select app.sandbox_id(sandbox, 'question ' || q.nr), app.sandbox_id(sandbox, 'deal ' || q.deal), q.category, q.status, q.text, app.sandbox_id(sandbox, q.who),
      app.sandbox_id(sandbox, q.deal || ' ' || q.who), q.asked, q.rejection, q.response, case when q.response is not null then q.moved end, q.moved
    from (values
      (1, 'diligence', 'rosa', 'customers', 'distributed', 'How many maintenance agreements were renewed last year?', now - interval '25 days', null,
        '2,118 of 2,301, with the list in the data room.', now - interval '22 days'),
      (2, 'diligence', 'rosa', 'employees', 'answered', 'Which technicians hold a license in their own name?', now - interval '10 days', null, null, now - interval '8 days'),
      (3, 'diligence', 'rosa', 'legal', 'with_seller', 'Is any warranty claim above $5,000 open?', now - interval '4 days', null, null, now - interval '3 days'),
      (4, 'listed', 'theo', 'operations', 'pending_broker_review', 'Does the press lease end with the sale?', now - interval '1 day', null, null, now - interval '1 day'),
      (5, 'listed', 'theo', 'other', 'rejected', 'May I call the landlord?', now - interval '20 days', 'Before an offer is accepted nobody outside is contacted.', null, now - interval '19 days'))
      q (nr, deal, who, category, status, text, asked, rejection, response, moved);
  insert into public.question_answers (question_id, deal_id, answer_text, answered_by, answered_at)
    values (app.sandbox_id(sandbox, 'question 1'), diligence, '2,118 of 2,301.', app.sandbox_id(sandbox, 'seller'), now - interval '23 days'),
      (app.sandbox_id(sandbox, 'question 2'), diligence, 'Four of them, and I do.', app.sandbox_id(sandbox, 'seller'), now - interval '8 days');

  insert into public.documents (id, deal_id, filename, category, confidentiality, size_bytes, media_type, sha256, storage_key, uploaded_by, uploaded_at)
    select app.sandbox_id(sandbox, 'document ' || d.nr), app.sandbox_id(sandbox, 'deal ' || d.deal), d.filename, d.category, d.confidentiality, d.size, d.media, decode(d.sha256, 'hex'),
      concat('sandbox-', d.nr, '-', replace(sandbox::text, '-', '')), app.sandbox_id(sandbox, d.who), d.at
    from (values
      (1, 'listed', 'broker', 'Teaser.txt', 'marketing', 'public', 234, 'text/plain', 'b7eae4fd904bb277c7053db979e27ff9598a1d3a217f3858d8652a9867d881d4', now - interval '40 days'),
      (2, 'diligence', 'seller', 'Maintenance agreements.csv', 'customers', 'nda_gated', 73, 'text/csv', '57371c6fc11f092b6eb7cc83fb9786ca6a0fcc8e72ee4c195f7aae8066cc2af9', now - interval '50 days'),
      (3, 'diligence', 'broker', 'Lease summary.txt', 'legal', 'selected_buyer_only', 209, 'text/plain', '7eb8c4c3d28f121627037f3c350f30a7a92fb5212f02e278f4924f0b2bae36f5', now - interval '18 days'))
      d (nr, deal, who, filename, category, confidentiality, size, media, sha256, at);
  insert into public.production_documents (id, deal_id, filename, category, confidentiality, size_bytes, media_type, sha256, storage_key, uploaded_by, uploaded_at, diligence_request)
    values (app.sandbox_id(sandbox, 'document 4'), diligence, 'Profit and loss.csv', 'financials', 'selected_buyer_only', 166, 'text/csv', decode('824c8b7f394a9eec1b2a1c8a92bc3589ea76189cba8e98bfb0f42a51be53d4a0', 'hex'),
      'sandbox-4-' || replace(sandbox::text, '-', ''), app.sandbox_id(sandbox, 'seller'), now - interval '16 days', 'Monthly profit and loss of the last year');

  insert into public.qoe_checklist (id, deal_id, category, title, status, completed_at, position, created_at, updated_at)
    select app.sandbox_id(sandbox, 'check ' || c.nr), diligence, c.category, c.title, c.status, case c.status when 'completed' then now - interval '15 days' end, c.nr,
      now - interval '30 days', now - interval '15 days'
    from (values (1, 'revenue', 'Tie monthly revenue to bank deposits', 'completed'), (2, 'expenses', 'Owner''s pay and personal expenses', 'in_progress'),
      (3, 'customers', 'Concentration of the ten largest customers', 'not_started')) c (nr, category, title, status);
  insert into public.accounting_snapshots (id, deal_id, snapshot_type, status, source_name, requested_by, requested_at, completed_at)
    values (snapshot, diligence, 'full', 'completed', 'Bookkeeping', app.sandbox_id(sandbox, 'seller'), read_at, read_at);
  insert into public.pl_periods (id, deal_id, snapshot_id, period_label, period_start_date, period_end_date, currency, revenue, cost_of_goods_sold, gross_profit, operating_expenses,
      owner_compensation, depreciation_amortization, interest_expense, tax_expense, net_income, ebitda)
    select app.sandbox_id(sandbox, 'period ' || m.nr), diligence, snapshot, to_char(m.first, 'YYYY-MM'), m.first, (m.first + interval '1 month')::date - 1, 'USD',
      m.revenue, m.revenue * 0.55, m.revenue * 0.45, m.revenue * 0.22, 12500, 4200, 900, 1100, m.revenue * 0.23 - 18700, m.revenue * 0.23 - 12500
    from (select n.nr, (books_to - make_interval(months => 13 - n.nr))::date as first, 390000.00 + n.nr * 4150 as revenue
      from generate_series(1, 12) n (nr)) m;
  insert into public.customer_revenues (id, deal_id, snapshot_id, customer_name, period_start_date, period_end_date, currency, revenue_total)
    select app.sandbox_id(sandbox, 'customer ' || c.nr), diligence, snapshot, c.name, (books_to - interval '12 months')::date, books_to - 1, 'USD', c.revenue
    from (values (1, 'Oak Terrace Homeowners', 214300.00), (2, 'St. Brendan Parish', 141900.50), (3, 'Lakeview Apartments', 98750.00)) c (nr, name, revenue);
  insert into public.normalizations (id, deal_id, period_label, adjustment_category, adjustment_amount, rationale, created_by, created_at)
    select app.sandbox_id(sandbox, 'normalization ' || n.nr), diligence, 'TTM', n.category, n.amount, n.rationale, app.sandbox_id(sandbox, 'broker'), now - interval '14 days'
    from (values (1, 'owner_comp', 65000.00, 'The owner''s pay above that of a hired manager.'), (2, 'one_time', 18250.00, 'Settlement of a claim that cannot come again.')) n (nr, category, amount, rationale);

  insert into public.closing_conditions (id, deal_id, name, status, owner_user_id, deadline, completed_at, created_at, updated_at)
    select app.sandbox_id(sandbox, 'condition ' || c.nr), diligence, c.name, c.status, app.sandbox_id(sandbox, c.owner), today + c.days, case c.status when 'satisfied' then now - interval '5 days' end,
      now - interval '30 days', now - interval '5 days'
    from (values (1, 'Landlord agrees to the new lease', 'in_progress', 'broker', 21), (2, 'Bank commits to the loan', 'open', 'rosa', 35),
      (3, 'Licenses transferred', 'satisfied', 'seller', 10)) c (nr, name, status, owner, days);
  insert into public.findings (id, deal_id, participant_id, category, title, description, severity, status, status_notes, owner_user_id, created_by, created_at, updated_at)
    select app.sandbox_id(sandbox, 'finding ' || f.nr), diligence, app.sandbox_id(sandbox, 'diligence rosa'), f.category, f.title, f.description, f.severity, f.status, f.notes,
      app.sandbox_id(sandbox, 'advisor'), app.sandbox_id(sandbox, 'advisor'), now - interval '12 days', now - interval '6 days'
    from (values (1, 'financials', 'Deferred revenue of agreements is not in the books', 'Customers pay a year ahead; the books take it in at once.', 'major', 'open', null),
      (2, 'operations', 'Two vans are past 200,000 miles', null, 'minor', 'accepted', 'Priced into the offer.')) f (nr, category, title, description, severity, status, notes);
  -- Recording them has written down how they are, as of now.
  delete from public.finding_changes c using public.findings f where f.id = c.finding_id and f.deal_id = diligence;
  insert into public.finding_changes (finding_id, from_status, to_status, notes, changed_by, changed_at)
    select app.sandbox_id(sandbox, 'finding ' || c.nr), c.was, c.is_now, c.notes, app.sandbox_id(sandbox, 'advisor'), c.at
    from (values (1, null, 'open', null, now - interval '12 days'), (2, null, 'open', null, now - interval '12 days'),
      (2, 'open', 'accepted', 'Priced into the offer.', now - interval '6 days')) c (nr, was, is_now, notes, at);
  insert into public.finding_comments (id, finding_id, body, created_by, created_at)
    values (app.sandbox_id(sandbox, 'comment'), app.sandbox_id(sandbox, 'finding 1'), 'About $310,000 by our count.', app.sandbox_id(sandbox, 'advisor'), now - interval '11 days');
  insert into public.financing_sources (id, deal_id, participant_id, source_type, source_name, commitment_amount, currency, commitment_status, created_by, created_at, updated_at)
    select app.sandbox_id(sandbox, 'source ' || s.nr), diligence, app.sandbox_id(sandbox, 'diligence rosa'), s.type, s.name, s.amount, 'USD', s.status,
      app.sandbox_id(sandbox, 'rosa'), now - interval '33 days', now - interval '9 days'
    from (values (1, 'sba_7a', 'Three Ferries Bank', 2300000, 'term_sheet'), (2, 'seller_note', 'Marta Oduya', 600000, 'identified'),
      (3, 'cash_buyer_equity', 'Ferreira Search Partners', 400000, 'committed')) s (nr, type, name, amount, status);
end
$$;

-- Takes everything out of a sandbox but its webhooks, what was followed of it, and the audit trail.
create function app.empty_sandbox(sandbox uuid) returns void
language plpgsql volatile set search_path = '' as $$
declare
  part record;
begin
  delete from vault.idempotency_keys i using public.api_keys k, public.brokerages s
    where s.id = sandbox and k.brokerage_id = s.sandbox_of and k.environment = 'test' and i.key_id = k.id
      -- Not that of the request which asks for this.
      and num_nonnulls(i.answer, i.contact_id) > 0;
  -- The bodies of its documents are cleared out of the store like those of uploads that failed.
  insert into vault.uploads (storage_key, begun_at)
    select b.storage_key, app.now() - interval '3 days' from (
      select o.storage_key, o.deal_id, o.body_cleared_at from public.documents o
      union all select o.storage_key, o.deal_id, o.body_cleared_at from public.production_documents o) b
    join public.deals d on d.id = b.deal_id
    where d.organization_id = sandbox and b.body_cleared_at is null and b.storage_key not like 'sandbox-%'
    on conflict (storage_key) do update set begun_at = excluded.begun_at;
  for part in
    select r.name, r.condition from app.rows_of_brokerage('any (array(select d.id from public.deals d where d.organization_id = $1))', false) r
    where r.name not in ('public.brokerages', 'public.audit_records', 'public.change_events', 'public.webhook_endpoints', 'public.webhook_deliveries', 'vault.webhook_secrets')
  loop
    execute format('delete from %s t where %s', part.name, part.condition) using sandbox;
  end loop;
  delete from vault.mail_counts m where m.subject = 'for ' || sandbox or m.subject like '%' || app.sandbox_address(sandbox, '');
  delete from public.users u where u.sandbox_id = sandbox;
end
$$;

-- Makes the sandbox of a brokerage, or puts it back to how it was made. `anew`: also when there is one. Nobody's doing, whoever is calling.
create function app.set_up_sandbox(of_brokerage uuid, anew boolean) returns void
language plpgsql volatile set search_path = '' as $$
declare
  identity constant text := coalesce(current_setting('dealkeep.identity', true), '');
  seal constant text := coalesce(current_setting('dealkeep.seal', true), '');
  sandbox uuid;
begin
  insert into public.brokerages (slug, name, sandbox_of, reset_at, admit_keys_by_default)
    select 'sandbox-' || replace(b.id::text, '-', ''), left(b.name, 190) || ' (sandbox)', b.id, app.now(), true
    from public.brokerages b where b.id = of_brokerage and b.sandbox_of is null
    on conflict (sandbox_of) do nothing returning id into sandbox;
  if sandbox is null and not anew then
    return;
  end if;
  perform set_config('dealkeep.identity', '', true), set_config('dealkeep.seal', '', true);
  if sandbox is null then
    update public.brokerages b set reset_at = app.now() where b.sandbox_of = of_brokerage returning b.id into sandbox;
    perform app.empty_sandbox(sandbox);
  end if;
  perform app.fill_sandbox(sandbox);
  perform set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', seal, true);
end
$$;

create function app.make_sandbox() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform app.set_up_sandbox(new.brokerage_id, false);
  return null;
end
$$;
create trigger make_sandbox after insert on api_keys for each row when (new.environment = 'test') execute function app.make_sandbox();

-- For test keys: puts their sandbox back to how it was made. False for everybody else.
create function app.reset_sandbox_with_key(address inet, request_id text) returns boolean
language plpgsql volatile security definer set search_path = '' as $$
declare
  of_brokerage uuid;
begin
  select k.brokerage_id into of_brokerage from public.api_keys k where k.id = app.key_id() and k.environment = 'test';
  if of_brokerage is null then
    return false;
  end if;
  perform app.set_up_sandbox(of_brokerage, true);
  perform app.audit('sandbox.reset', of_brokerage::text, 'done', null, null, address, request_id, '{}');
  return true;
end
$$;
grant execute on function app.reset_sandbox_with_key(inet, text) to dealkeep_server;

-- The same for admins of the brokerage, in the web application. Null: they are none; false: there is no sandbox, since no test key was ever made.
create function app.reset_sandbox(of_brokerage uuid, address inet, request_id text) returns boolean
language plpgsql volatile security definer set search_path = '' as $$
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return null;
  end if;
  if not exists (select from public.brokerages b where b.sandbox_of = of_brokerage) then
    return false;
  end if;
  perform app.set_up_sandbox(of_brokerage, true);
  perform app.audit('sandbox.reset', of_brokerage::text, 'done', of_brokerage, null, address, request_id, '{}');
  return true;
end
$$;
grant execute on function app.reset_sandbox(uuid, inet, text) to dealkeep_server;

-- For admins: since when the sandbox is as it was made, and how much is in it.
create function app.sandbox_of(of_brokerage uuid) returns table (reset_at timestamptz, contacts bigint, deals bigint)
language sql stable security definer set search_path = '' as $$
  select b.reset_at, (select count(*) from public.contacts c where c.brokerage_id = b.id), (select count(*) from public.deals d where d.organization_id = b.id)
  from public.brokerages b
  where b.sandbox_of = sandbox_of.of_brokerage and sandbox_of.of_brokerage = any (app.brokerages_as('admin'))
$$;
grant execute on function app.sandbox_of(uuid) to dealkeep_server;

-- A brokerage is deleted after its sandbox.
create or replace function app.delete_brokerage_part(most int) returns table (brokerage uuid, name text, finished boolean)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_variable
declare
  this vault.brokerage_deletions;
  chosen uuid[];
  people uuid[];
  part record;
  bodies text[];
  counted int;
  room int := most;
  of_brokerage uuid;
begin
  select d.* into this from vault.brokerage_deletions d
    where d.due_at <= app.now() and not exists (select from app.hold_on_brokerage(d.brokerage_id))
      and not exists (select from public.brokerages s join vault.brokerage_deletions o on o.brokerage_id = s.id where s.sandbox_of = d.brokerage_id)
    order by d.begun_at, d.due_at limit 1 for update skip locked;
  if not found then
    return;
  end if;
  brokerage := this.brokerage_id;
  finished := false;
  select b.name into name from public.brokerages b where b.id = brokerage;
  -- Nobody is told of each row: app.announce.
  perform set_config('dealkeep.deleting', 'on', true);

  -- First nobody gets in any more, as a member or by a key, so that nothing is added.
  if this.begun_at is null then
    select coalesce(array_agg(m.user_id), '{}') into people from public.members m where m.brokerage_id = brokerage;
    update vault.brokerage_deletions d set begun_at = app.now(), asked_by = null where d.brokerage_id = brokerage;
    update public.api_keys k set revoked_at = app.now() where k.brokerage_id = brokerage and k.revoked_at is null;
    delete from public.members m where m.brokerage_id = brokerage;
    insert into vault.brokerage_deletions (brokerage_id, due_at) select s.id, app.now() from public.brokerages s where s.sandbox_of = brokerage;
    counted := app.forget_unattached(people);
    update vault.brokerage_deletions d set people = d.people + counted where d.brokerage_id = brokerage;
    return next;
    return;
  end if;

  -- Then its deals, the first twenty at once, and when there are none any more what the brokerage itself has.
  select coalesce(array_agg(d.id), '{}') into chosen
    from (select l.id from public.deals l where l.organization_id = brokerage order by l.id limit 20) d;
  select coalesce(array_agg(distinct p.user_id), '{}') into people from public.participants p join public.users u on u.id = p.user_id and u.sandbox_id is null
    where p.deal_id = any (chosen);
  for part in
    select r.name, r.condition,
      exists (select from pg_catalog.pg_attribute a where a.attrelid = r.name::regclass and a.attname = 'storage_key') as has_bodies,
      exists (select from pg_catalog.pg_constraint k where k.conrelid = r.name::regclass and k.confrelid = k.conrelid) as refers_to_itself
    from app.rows_of_brokerage('any ($2)', true) r where r.name <> 'public.brokerages'
  loop
    if part.has_bodies then
      -- The bodies are cleared out of the store like those of uploads that failed.
      execute format('with gone as (delete from %1$s t where t.ctid = any (array(select t.ctid from %1$s t where %2$s limit $3))
          returning t.storage_key, t.body_cleared_at)
        select coalesce(array_agg(g.storage_key) filter (where g.body_cleared_at is null), ''{}''), count(*) from gone g', part.name, part.condition)
        into bodies, counted using case when chosen = '{}' then brokerage end, chosen, room;
      insert into vault.uploads (storage_key, begun_at) select b.key, app.now() - interval '3 days' from unnest(bodies) b (key)
        on conflict (storage_key) do update set begun_at = excluded.begun_at;
      update vault.brokerage_deletions d set documents = d.documents + counted where d.brokerage_id = brokerage;
    else
      execute format('delete from %1$s t where t.ctid = any (array(select t.ctid from %1$s t where %2$s limit $3))', part.name, part.condition)
        using case when chosen = '{}' then brokerage end, chosen, case when not part.refers_to_itself then room end;
      get diagnostics counted = row_count;
    end if;
    room := room - counted;
    exit when room <= 0;
  end loop;
  if room > 0 and chosen <> '{}' then
    delete from public.deals l where l.id = any (chosen);
    get diagnostics counted = row_count;
    update vault.brokerage_deletions d set deals = d.deals + counted where d.brokerage_id = brokerage;
  end if;
  if room <= 0 or chosen <> '{}' then
    counted := app.forget_unattached(people);
    update vault.brokerage_deletions d set people = d.people + counted where d.brokerage_id = brokerage;
    return next;
    return;
  end if;

  delete from vault.mail_counts m where m.subject = 'for ' || brokerage or m.subject like 'from ' || brokerage || ' to %';
  delete from vault.brokerage_deletions d where d.brokerage_id = brokerage returning d.* into this;
  delete from public.users u where u.sandbox_id = brokerage;
  delete from public.brokerages b where b.id = brokerage returning b.sandbox_of into of_brokerage;
  if of_brokerage is not null then
    return next;
    return;
  end if;
  insert into public.audit_records (action, subject_id, outcome, details) values ('brokerage.delete', brokerage::text, 'done',
    jsonb_build_object('deals', this.deals, 'documents', this.documents, 'people', this.people, 'asked_at', this.asked_at));
  finished := true;
  return next;
end
$$;

-- Test keys that are there already.
select app.set_up_sandbox(k.brokerage_id, false) from (select distinct o.brokerage_id from api_keys o where o.environment = 'test') k;
update webhook_endpoints e set key_id = e.key_id from api_keys k where k.id = e.key_id and k.environment = 'test';
