-- Who comes and goes: the first brokerage, invitations, what a brokerage asks of its members, and leaving.

-- Set-up --------------------------------------------------------------------------------------------------------------

create table vault.set_up_links (
  digest bytea primary key check (length(digest) = 32),
  expires_at timestamptz not null default app.now() + interval '24 hours'
);
select app.protect('vault.set_up_links');

-- Keeps a link that creates the first brokerage; false, and nothing kept, when there is a brokerage already.
create function app.offer_set_up(token bytea) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  if exists (select from public.brokerages) then
    return false;
  end if;
  delete from vault.set_up_links l where l.expires_at <= app.now();
  insert into vault.set_up_links (digest) values (token);
  return true;
end
$$;

-- Whether there is no brokerage and nobody yet, so that a link can set it up.
create function app.is_set_up_open() returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return not exists (select from public.brokerages);
end
$$;

create function app.is_set_up_link(token bytea) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from vault.set_up_links l where l.digest = token and l.expires_at > app.now())
    and not exists (select from public.brokerages);
end
$$;

-- Creates the first brokerage and its admin, who is signed in; true when it did.
create function app.set_up(set_up_token bytea, brokerage_name text, brokerage_slug text, admin_email text, admin_name text,
  new_phc text, token bytea, earlier bytea, address inet, agent text, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  brokerage uuid;
  admin uuid;
begin
  -- Two people with two links: the second waits here and finds the brokerage made.
  lock table vault.set_up_links in exclusive mode;
  if not app.is_set_up_link(set_up_token) then
    return false;
  end if;
  insert into public.brokerages (name, slug) values (brokerage_name, brokerage_slug) returning id into brokerage;
  insert into public.users (email, name) values (lower(admin_email), admin_name) returning id into admin;
  insert into public.members (brokerage_id, user_id, role) values (brokerage, admin, 'admin');
  -- Whoever has the link holds the server: there is nobody else whose mailbox it could be.
  insert into vault.passwords (user_id, phc, address_proven_at) values (admin, new_phc, app.now());
  delete from vault.set_up_links;
  perform app.open_session(admin, token, earlier, 'set_up', address, agent, request_id);
  insert into public.audit_records (brokerage_id, user_id, action, outcome, address, request_id)
    values (brokerage, admin, 'brokerage.set_up', 'done', address, request_id);
  return true;
end
$$;
grant execute on function app.offer_set_up(bytea), app.is_set_up_open(), app.is_set_up_link(bytea),
  app.set_up(bytea, text, text, text, text, text, bytea, bytea, inet, text, text) to dealkeep_server;

-- Invitations ---------------------------------------------------------------------------------------------------------

-- Exactly one of brokerage and participant: the membership or the participation that the link makes active.
create table vault.invitations (
  digest bytea primary key check (length(digest) = 32),
  user_id uuid not null references users,
  brokerage_id uuid references brokerages,
  participant_id uuid references participants,
  mailed boolean not null,
  created_at timestamptz not null default app.now(),
  expires_at timestamptz not null default app.now() + interval '14 days',
  used_at timestamptz,
  check (num_nonnulls(brokerage_id, participant_id) = 1)
);
create index invitations_by_user on vault.invitations (user_id);
select app.protect('vault.invitations');

create function app.count_invitation() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform app.count_mail_to(app.user_id(),
    coalesce(new.brokerage_id, (select d.organization_id
      from public.participants p join public.deals d on d.id = p.deal_id where p.id = new.participant_id)),
    (select u.email from public.users u where u.id = new.user_id));
  return null;
end
$$;
create trigger count_invitation after insert on vault.invitations for each row
  when (new.mailed) execute function app.count_invitation();

-- Invites a person, known by e-mail or new, to a brokerage; for its admins. Inviting again puts a new link in the place
-- of the old one. `mailed`: the link goes to the mailbox and nowhere else. The id by which the member is known.
create function app.invite_member(to_brokerage uuid, given_email text, given_name text, as_role text, token bytea,
  mailed boolean, address inet, request_id text) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  invited uuid;
  known_as uuid;
begin
  if to_brokerage is null or not to_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    raise insufficient_privilege using message = 'not an admin of this brokerage';
  end if;
  insert into public.users (email, name) values (lower(given_email), given_name) on conflict (email) do nothing;
  select u.id into invited from public.users u where u.email = lower(given_email);
  if exists (select from public.members m
    where m.brokerage_id = to_brokerage and m.user_id = invited and m.status = 'active')
  then
    perform app.refuse('already_member', 'This person is a member already.');
  end if;
  insert into public.members as m (brokerage_id, user_id, role, status, invited_name, invited_email)
    values (to_brokerage, invited, as_role, 'invited', given_name, lower(given_email))
    on conflict (brokerage_id, user_id) do update set role = excluded.role, status = 'invited',
      invited_name = excluded.invited_name, invited_email = excluded.invited_email
    returning m.person_id into known_as;
  delete from vault.invitations i where i.user_id = invited and i.brokerage_id = to_brokerage and i.used_at is null;
  insert into vault.invitations (digest, user_id, brokerage_id, mailed) values (token, invited, to_brokerage, invite_member.mailed);
  perform app.audit('member.invite', known_as::text, 'done', to_brokerage, null, address, request_id,
    jsonb_build_object('role', as_role));
  return known_as;
end
$$;

-- Makes a link for somebody who was invited to a deal (app.invite_to_deal); for its brokers, and admins of its
-- brokerage. The earlier link is worth nothing. Where to send it, and what the mail says.
create function app.link_deal_invitation(to_participation uuid, token bytea, mailed boolean)
returns table (email text, name text, deal_title text, brokerage_name text)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  invited public.participants;
begin
  select p.* into invited from public.participants p join public.deals d on d.id = p.deal_id
    where p.id = to_participation and p.status = 'invited' and app.client_id() is null
      and (d.id = any (app.deals_acting_as('broker')) or d.organization_id = any (app.brokerages_as('admin')));
  if not found then
    raise insufficient_privilege using message = 'not a broker of this deal, or nobody is invited';
  end if;
  delete from vault.invitations i where i.participant_id = invited.id and i.used_at is null;
  insert into vault.invitations (digest, user_id, participant_id, mailed)
    values (token, invited.user_id, invited.id, link_deal_invitation.mailed);
  return query
    select coalesce(invited.invited_email, u.email), coalesce(invited.invited_name, u.name), d.title, b.name
    from public.users u, public.deals d join public.brokerages b on b.id = d.organization_id
    where u.id = invited.user_id and d.id = invited.deal_id;
end
$$;

-- What a link invites to, with the name and address that were typed; no row when it is used up, too old, taken back or
-- unknown. `has_password`: the person has an account already and accepts by signing in; null where whoever made the link
-- may be reading, for it was not mailed. A suspended person's link looks like any other, and is good for nothing.
create function app.invitation(token bytea)
returns table (user_id uuid, email text, name text, role text, brokerage_name text, deal_id uuid, deal_title text,
  has_password boolean)
language plpgsql stable security definer set search_path = '' as $$
begin
  return query
    select u.id, coalesce(m.invited_email, p.invited_email, u.email), coalesce(m.invited_name, p.invited_name, u.name),
      coalesce(m.role, p.role), b.name, d.id, d.title,
      case when i.mailed then exists (select from vault.passwords w where w.user_id = u.id) end
    from vault.invitations i
    join public.users u on u.id = i.user_id
    left join public.members m on m.brokerage_id = i.brokerage_id and m.user_id = i.user_id and m.status = 'invited'
    left join public.participants p on p.id = i.participant_id and p.status = 'invited'
    left join public.deals d on d.id = p.deal_id
    join public.brokerages b on b.id = coalesce(m.brokerage_id, d.organization_id)
    where i.digest = token and i.used_at is null and i.expires_at > app.now();
end
$$;

-- Makes the membership or participation of a link active, once, for this person; true when it did.
create function app.use_invitation(token bytea, person uuid, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  used vault.invitations;
begin
  update vault.invitations i set used_at = app.now()
    where i.digest = token and i.user_id = person and i.used_at is null and i.expires_at > app.now()
    returning i.* into used;
  if not found then
    return false;
  end if;
  if used.brokerage_id is not null then
    update public.members m set status = 'active'
      where m.brokerage_id = used.brokerage_id and m.user_id = person and m.status = 'invited';
  else
    update public.participants p set status = 'active' where p.id = used.participant_id and p.status = 'invited';
  end if;
  if not found then
    perform app.refuse('invitation_withdrawn', 'This invitation was taken back. Ask for a new one.');
  end if;
  insert into public.audit_records (brokerage_id, deal_id, user_id, action, outcome, address, request_id)
    values (used.brokerage_id, (select p.deal_id from public.participants p where p.id = used.participant_id), person,
      'invitation.accept', 'done', address, request_id);
  return true;
end
$$;

-- The session's owner accepts an invitation that is theirs; true when they did.
create function app.accept_invitation(session bytea, token bytea, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  return coalesce((select app.use_invitation(token, l.user_id, accept_invitation.address, accept_invitation.request_id)
    from vault.live_sessions l where l.digest = session), false);
end
$$;

-- Somebody without an account accepts: chooses name and password and is signed in. True when they did.
create function app.accept_first_invitation(invitation_token bytea, chosen_name text, new_phc text, token bytea, earlier bytea,
  address inet, agent text, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  person uuid;
  by_mail boolean;
begin
  select i.user_id, i.mailed into person, by_mail from vault.invitations i join public.users u on u.id = i.user_id
    where i.digest = invitation_token and u.suspended_at is null for update of i;
  -- Whoever already has a password signs in with it instead: a link alone opens no account.
  insert into vault.passwords (user_id, phc, address_proven_at)
    select person, new_phc, case when by_mail then app.now() end where person is not null
    on conflict (user_id) do nothing;
  if not found then
    return false;
  end if;
  if not app.use_invitation(invitation_token, person, address, request_id) then
    perform app.refuse('invitation_expired', 'This invitation is used up or too old. Ask for a new one.');
  end if;
  update public.users u set name = chosen_name where u.id = person;
  perform app.open_session(person, token, earlier, 'invitation', address, agent,
    request_id);
  return true;
end
$$;

-- Whether the caller's account could be a stranger's to this brokerage: its password was chosen with a link that did not
-- come by mail, nobody has shown since that the mailbox is theirs, and no admin of the brokerage has made them a member.
create function app.address_in_doubt(brokerage uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from vault.passwords w where w.user_id = app.user_id() and w.address_proven_at is null)
    and not brokerage = any (app.brokerages_as('admin', 'broker', 'staff'));
end
$$;

-- Invitations that wait for the caller: no more of the deal than they need to answer. Any broker may pass a link on, and
-- with it somebody else's account can be opened: such an account learns of invitations by their links alone.
create function app.deal_invitations()
returns table (participant_id uuid, role text, brokerage_name text, deal_title text, invited_at timestamptz)
language sql stable security definer set search_path = '' as $$
  select p.id, p.role, b.name, d.title, p.updated_at
  from public.participants p
  join public.deals d on d.id = p.deal_id
  join public.brokerages b on b.id = d.organization_id
  where p.user_id = app.user_id() and p.status = 'invited' and not app.address_in_doubt(d.organization_id)
  order by p.updated_at desc
$$;

-- The caller joins a deal that they were invited to, or declines; the deal, or null when no such invitation waits for them.
create function app.answer_deal_invitation(participation uuid, accepts boolean, address inet, request_id text)
returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  answered uuid;
  had_joined boolean;
  known_as text;
begin
  if app.client_id() is not null then
    return null;
  end if;
  select p.joined_at is not null, p.invited_name into had_joined, known_as from public.participants p where p.id = participation;
  update public.participants p set status = case when accepts then 'active' else 'removed' end
    from public.deals d
    where p.id = participation and p.user_id = app.user_id() and p.status = 'invited'
      and d.id = p.deal_id and not app.address_in_doubt(d.organization_id)
    returning p.deal_id into answered;
  if found then
    delete from vault.invitations i where i.participant_id = participation and i.used_at is null;
    if accepts or had_joined then
      perform app.audit(case when accepts then 'invitation.accept' else 'invitation.decline' end, participation::text, 'done',
        null, answered, address, request_id, '{}');
    else
      -- The person's own record, and another for the deal's people, who do not learn whose account it was.
      perform app.record(app.user_id(), 'invitation.decline', 'done', null, address, request_id);
      insert into public.audit_records (brokerage_id, deal_id, action, subject_id, outcome, details)
        select d.organization_id, d.id, 'invitation.decline', participation, 'done', jsonb_build_object('name', known_as)
        from public.deals d where d.id = answered;
    end if;
  end if;
  return answered;
end
$$;
grant execute on function
  app.invite_member(uuid, text, text, text, bytea, boolean, inet, text), app.link_deal_invitation(uuid, bytea, boolean),
  app.invitation(bytea), app.accept_invitation(bytea, bytea, inet, text),
  app.accept_first_invitation(bytea, text, text, bytea, bytea, inet, text, text),
  app.deal_invitations(), app.answer_deal_invitation(uuid, boolean, inet, text) to dealkeep_server;

-- Making somebody an admin, and inviting them as one, hands out every right there is in a brokerage. The invited person's
-- own acceptance needs no more than the link.
create trigger guard_admins before insert on members for each row
  when (new.role = 'admin') execute function app.guard_recent_sign_in();
create trigger guard_admins_update before update of role, status on members for each row
  when (new.role = 'admin' and (new.role <> old.role or new.status = 'invited')) execute function app.guard_recent_sign_in();

-- What a brokerage asks of its members ----------------------------------------------------------------------------------

-- Asks the members of a brokerage for a second factor, or no longer; for its admins, who have shown one in this session,
-- after a recent sign-in. False: the caller is no admin of such a brokerage.
create function app.require_second_factor(of_brokerage uuid, required boolean, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return false;
  end if;
  perform app.check_recent_sign_in();
  if required and not (app.has_second_factor(app.user_id()) and exists (
    select from vault.sessions s where s.id = app.identity_part(6)::uuid and s.second_factor_at is not null))
  then
    perform app.refuse('second_factor_missing', 'Set up a second factor of your own first, and sign in with it.');
  end if;
  update public.brokerages b set requires_second_factor = required
    where b.id = of_brokerage and b.requires_second_factor <> required;
  if found then
    perform app.audit('brokerage.second_factor', of_brokerage::text, 'done', of_brokerage, null, address, request_id,
      jsonb_build_object('required', required));
  end if;
  return true;
end
$$;

-- The brokerages that are closed to the caller until they show a second factor; `has_one`: signing in with it is enough.
create function app.second_factor_owed() returns table (brokerage_id uuid, brokerage_name text, has_one boolean)
language plpgsql stable security definer set search_path = '' as $$
begin
  return query select b.id, b.name, app.has_second_factor(app.user_id()) from public.brokerages b
    where b.id = any (app.barred_in(app.identity())) order by b.name, b.id;
end
$$;

-- Refuses (second_factor_required) whoever owes some brokerage of theirs a second factor: their connected clients do
-- nothing meanwhile, rather than tell half.
create function app.check_second_factor() returns void
language plpgsql stable security definer set search_path = '' as $$
declare
  asking text;
begin
  if app.barred_in(app.identity()) <> '{}' then
    select string_agg(o.brokerage_name, ' and ') into asking from app.second_factor_owed() o;
    perform app.refuse('second_factor_required', format('%s asks its members for a second factor.', asking));
  end if;
end
$$;

-- Whether a member has a second factor; null to all but admins of the brokerage, and of who has not accepted yet.
create function app.member_has_second_factor(of_brokerage uuid, member uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return (select app.has_second_factor(m.user_id) from public.members m
    where m.brokerage_id = of_brokerage and m.person_id = member and m.status = 'active'
      and of_brokerage = any (app.brokerages_as('admin')));
end
$$;

-- Ends every session of a member and what they granted to connected clients, wherever they use them; for admins of the
-- brokerage, after a recent sign-in. How many sessions; null: there is no such active member.
create function app.end_member_sessions(of_brokerage uuid, member uuid, address inet, request_id text) returns int
language plpgsql security definer set search_path = '' as $$
declare
  person uuid;
  alive int;
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return null;
  end if;
  select m.user_id into person from public.members m
    where m.brokerage_id = of_brokerage and m.person_id = member and m.status = 'active';
  if not found then
    return null;
  end if;
  perform app.check_recent_sign_in();
  select count(*) into alive from vault.live_sessions l where l.user_id = person;
  perform app.audit('member.end_sessions', member::text, 'done', of_brokerage, null, address, request_id,
    jsonb_build_object('sessions', alive));
  perform app.end_sessions_of(person);
  return alive;
end
$$;
grant execute on function app.require_second_factor(uuid, boolean, inet, text), app.second_factor_owed(),
  app.check_second_factor(), app.member_has_second_factor(uuid, uuid), app.end_member_sessions(uuid, uuid, inet, text)
  to dealkeep_server;

-- Leaving a brokerage ---------------------------------------------------------------------------------------------------------

-- Ends what somebody had as a member, whoever ends the membership and however. They leave the brokerage's deals, active or
-- invited, in every role but seller and buyer, which are business of their own; what they gave the brokerage's clients ends,
-- and so do the opt-ins for deals that they saw as an admin. Staff run no deals: whoever is made staff leaves them as broker.
create function app.end_parts_of_member() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  leaves constant boolean := new.status <> 'active';
  client uuid;
  left_deal record;
begin
  for left_deal in
    update public.participants p set status = 'removed'
      from public.deals d
      where d.organization_id = new.brokerage_id and p.deal_id = d.id and p.user_id = new.user_id and p.status <> 'removed'
        and ((leaves and p.role in ('broker', 'advisor', 'viewer')) or (new.role = 'staff' and p.role = 'broker'))
      returning p.id, p.deal_id
  loop
    perform app.audit('participant.remove', left_deal.id::text, 'done', null, left_deal.deal_id, null, null, '{}');
  end loop;
  if leaves then
    for client in select c.id from public.connected_clients c where c.brokerage_id = new.brokerage_id loop
      perform app.revoke_families(new.user_id, client);
      delete from public.tool_grants g where g.user_id = new.user_id and g.client_id = client;
    end loop;
  end if;
  delete from public.deal_opt_ins o using public.deals d
    where d.id = o.deal_id and d.organization_id = new.brokerage_id and o.user_id = new.user_id
      and not exists (select from public.participants p
        where p.deal_id = d.id and p.user_id = new.user_id and p.status = 'active');
  return null;
end
$$;
create trigger end_parts after update of role, status on members for each row
  when (old.status = 'active' and (new.status <> 'active' or new.role <> old.role))
  execute function app.end_parts_of_member();

-- The deals, not closed and not withdrawn, that a member alone runs: nobody else who can act is their broker. For admins.
create function app.deals_run_alone(by_brokerage uuid, by_member uuid) returns table (id uuid, title text)
language plpgsql stable security definer set search_path = '' as $$
begin
  return query
    select d.id, d.title from public.deals d
    join public.participants own on own.deal_id = d.id and own.user_id = by_member and own.role = 'broker' and own.status = 'active'
    where d.organization_id = by_brokerage and d.state not in ('closed', 'withdrawn')
      and by_brokerage = any (app.brokerages_as('admin')) and app.client_id() is null
      and not exists (select from public.participants p join public.users u on u.id = p.user_id and u.suspended_at is null
        where p.deal_id = d.id and p.user_id <> by_member and p.role = 'broker' and p.status = 'active')
    order by d.created_at desc, d.id desc;
end
$$;

-- Makes a member of the deal's brokerage its broker, whatever they were there before; their part in it.
create function app.appoint_broker(to_deal uuid, person uuid) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  appointed uuid;
  identity constant text := current_setting('dealkeep.identity', true);
  seal constant text := current_setting('dealkeep.seal', true);
begin
  insert into public.participants as p (deal_id, user_id, role, status) values (to_deal, person, 'broker', 'active')
    on conflict (deal_id, user_id) do nothing returning p.id into appointed;
  if appointed is not null then
    return appointed;
  end if;
  select p.id into appointed from public.participants p
    where p.deal_id = to_deal and p.user_id = person and p.role in ('seller', 'buyer') and p.status <> 'removed';
  if found then
    perform app.refuse('successor_takes_part', 'The successor is a seller or buyer of one of these deals: choose somebody else.');
  end if;
  -- One part a person and deal: the one that is there becomes the broker's, as if they were invited and accepted.
  update public.participants p
    set role = 'broker', advises = null, status = case when p.status = 'removed' then 'invited' else p.status end
    where p.deal_id = to_deal and p.user_id = person returning p.id into appointed;
  perform app.enter(person, null, null, null, null);
  update public.participants p set status = 'active' where p.id = appointed and p.status <> 'active';
  perform set_config('dealkeep.identity', coalesce(identity, ''), true), set_config('dealkeep.seal', coalesce(seal, ''), true);
  return appointed;
end
$$;

-- Removes a member, known by their person_id, or takes an invitation back; for admins of the brokerage. A successor, an
-- admin or broker of it, becomes the broker of the deals that would have none otherwise. No row: there is no such
-- member. Else these deals, as one JSON array of {id, title}, and whether the successor has them now.
create function app.remove_member(from_brokerage uuid, member uuid, successor uuid, address inet, request_id text)
returns table (deals jsonb, handed_over boolean)
language plpgsql security definer set search_path = '' as $$
declare
  alone jsonb;
  deal uuid;
begin
  if from_brokerage is null or not from_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return;
  end if;
  select coalesce(jsonb_agg(jsonb_build_object('id', a.id, 'title', a.title)), '[]') into alone
    from app.deals_run_alone(from_brokerage, member) a;
  update public.members m set status = 'removed'
    where m.brokerage_id = from_brokerage and m.person_id = member and m.status <> 'removed';
  if not found then
    return;
  end if;
  perform app.audit('member.remove', member::text, 'done', from_brokerage, null, address, request_id,
    case when jsonb_array_length(alone) = 0 then '{}' else jsonb_build_object('deals', jsonb_array_length(alone)) end);
  if successor is not null then
    perform from public.members m join public.users u on u.id = m.user_id
      where m.brokerage_id = from_brokerage and m.user_id = successor and m.status = 'active' and m.role in ('admin', 'broker')
        and u.suspended_at is null for update of m;
    if not found then
      perform app.refuse('not_a_broker', 'The successor is an active admin or broker of the brokerage: choose one.');
    end if;
    for deal in select (a.deal ->> 'id')::uuid from jsonb_array_elements(alone) a (deal) loop
      perform app.audit('deal.hand_over', app.appoint_broker(deal, successor)::text, 'done', null, deal, address, request_id, '{}');
    end loop;
  end if;
  return query select alone, successor is not null;
end
$$;
grant execute on function app.deals_run_alone(uuid, uuid), app.remove_member(uuid, uuid, uuid, inet, text) to dealkeep_server;
